"""Figures: every file format, the offline page, and the common style."""

import json
import re
import subprocess
import sys
from base64 import b64decode
from html.parser import HTMLParser

import altair
import numpy as np
import pytest

from regrade.core import InputError, MissingExtra
from regrade.display import Figure
from regrade.display.parts import apart
from regrade.display.style import COLORS, FONT, SHAPES, config
from regrade.studies import figure

POINTS = [{"x": 1, "y": 2}, {"x": 3, "y": 4}]
TITLE = altair.TitleParams(text=["Two points, which", "</script> rise"], subtitle=["n = 2"])
CHART = altair.Chart(altair.InlineData(values=POINTS)).mark_point().encode(x="x:Q", y="y:Q").properties(title=TITLE)
FIGURE = Figure("points", "Two points & a <rise>, not a </script>.", CHART)


class TestSave:
    @pytest.mark.parametrize(
        ("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<svg"), ("html", b"<!doctype html>")]
    )
    def test_save_writes_the_format_of_the_suffix(self, tmp_path, ending, start):
        assert FIGURE.save(tmp_path / f"f.{ending}") == tmp_path / f"f.{ending}"
        assert (tmp_path / f"f.{ending}").read_bytes().startswith(start)
        assert [path.name for path in tmp_path.iterdir()] == [f"f.{ending}"]

    def test_save_accepts_upper_case_suffixes_and_text_paths(self, tmp_path):
        assert FIGURE.save(str(tmp_path / "F.SVG")).read_text().startswith("<svg")

    def test_json_is_the_chart_in_the_common_style(self, tmp_path):
        spec = json.loads(FIGURE.save(tmp_path / "f.json").read_text())
        assert spec["config"] == json.loads(json.dumps(config()))
        assert spec["description"] == FIGURE.alt
        assert list(spec["datasets"].values()) == [POINTS]

    def test_save_replaces_a_file(self, tmp_path):
        (tmp_path / "f.svg").write_text("what was here")
        assert "what was here" not in FIGURE.save(tmp_path / "f.svg").read_text()

    @pytest.mark.parametrize("name", ["f.bmp", "f", "png"])
    def test_save_rejects_unknown_suffixes_before_writing(self, tmp_path, name):
        with pytest.raises(InputError, match=r"cannot be saved as .*: use one of \.html, \.svg, \.png, \.pdf, \.json"):
            FIGURE.save(tmp_path / name)
        assert not list(tmp_path.iterdir())

    def test_save_without_the_extra_names_the_install_command(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "vl_convert", None)
        with pytest.raises(MissingExtra, match=r"saving figures .*: pip install 'regrade\[figures\]'$"):
            FIGURE.save(tmp_path / "f.png")
        assert not list(tmp_path.iterdir())
        assert FIGURE.save(tmp_path / "f.json").is_file()

    def test_a_notebook_shows_it(self):
        bundle = FIGURE._repr_mimebundle_(include=None, exclude=None)
        assert bundle["application/vnd.vegalite.v6+json"] == FIGURE.spec
        assert bundle["text/plain"] == FIGURE.alt
        assert bundle["image/svg+xml"].startswith("<svg ")
        assert b64decode(bundle["image/png"]).startswith(b"\x89PNG")

    def test_a_notebook_without_the_extra_says_how_to_draw_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "vl_convert", None)
        bundle = FIGURE._repr_mimebundle_()
        assert bundle.keys() == {"application/vnd.vegalite.v6+json", "text/plain"}
        assert bundle["text/plain"].startswith(FIGURE.alt) and "pip install 'regrade[figures]'" in bundle["text/plain"]

    def test_more_rows_than_altairs_limit_are_allowed(self):
        rows = [{"x": i, "y": i} for i in range(6000)]
        chart = altair.Chart({"values": rows}).mark_point().encode(x="x:Q", y="y:Q")
        assert len(next(iter(Figure("many", "", chart).spec["datasets"].values()))) == 6000


class Page(HTMLParser):
    """The elements of a page with their attributes, and the text by element."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self._open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data):
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return FIGURE.save(tmp_path_factory.mktemp("page") / "f.html").read_text()


class TestPage:
    def test_title_and_subtitle_are_text_of_the_page(self, text):
        page = Page(text)
        assert page.texts["title"] == page.texts["h1"] == ["Two points, which </script> rise"]
        assert page.texts["figcaption"] == ["n = 2"]
        assert ("html", {"lang": "en"}) in page.elements
        (chart,) = [a for tag, a in page.elements if a.get("id") == "chart"]
        assert chart["aria-label"] == FIGURE.alt and chart["role"] == "img"

    def test_page_fits_a_phone(self, text):
        (viewport,) = [a["content"] for tag, a in Page(text).elements if a.get("name") == "viewport"]
        assert "width=device-width" in viewport
        assert "max-width: 100%" in text

    def test_page_makes_no_requests(self, text):
        page = Page(text)
        assert not [a for tag, a in page.elements if {"src", "href"} & a.keys()]
        assert not [tag for tag, _ in page.elements if tag in ("link", "iframe", "img", "base")]
        own = text.split("<script>")[0] + text.split("<script>")[-1]
        assert not re.search(r"https?://(?!vega\.github\.io/schema/)", own)
        assert not re.search(r"@import|url\s*\(|cdn|fonts\.googleapis", own)
        library = text.split("<script>")[1]
        assert set(re.findall(r"https?://[\w.-]+", library)) <= {
            "http://www.w3.org",  # names of XML namespaces, which are not fetched
            "https://github.com",  # in the text of a warning
            "https://vega.github.io",  # the editor behind a button that is not shown, and the name of a schema
        }
        assert '"actions": false' in text

    def test_page_contains_the_whole_figure(self, text):
        data = re.search(r'<script type="application/json" id="figure">(.*?)</script>', text, re.DOTALL)[1]
        drawn = json.loads(data)
        assert drawn["datasets"] == FIGURE.spec["datasets"] and "title" not in drawn

    def test_page_without_a_title_uses_the_description(self, tmp_path):
        bare = Figure("bare", "No title.", altair.Chart(altair.InlineData(values=POINTS)).mark_point())
        assert Page(bare.save(tmp_path / "f.html").read_text()).texts["title"] == ["No title."]


class TestStyle:
    def test_fonts_are_available_to_the_renderer(self, tmp_path):
        """A renderer without any of the listed fonts draws no text; ours draws every letter."""
        drawn = [
            Figure("f", "", CHART.properties(title=word)).save(tmp_path / f"{word}.png").read_bytes()
            for word in ("mmmm", "iiii")
        ]
        assert drawn[0] != drawn[1]
        assert FONT in FIGURE.save(tmp_path / "f.svg").read_text()

    def test_colors_differ_in_lightness_and_come_with_a_shape_each(self):
        assert len(COLORS) == len(SHAPES) == len(set(COLORS)) == len(set(SHAPES))
        light = sorted(np.dot([int(c[i : i + 2], 16) for i in (1, 3, 5)], [0.2126, 0.7152, 0.0722]) for c in COLORS)
        assert light[-1] < 190  # dark enough on white paper

    def test_vega_lite_accepts_the_style(self):
        import vl_convert

        compiled = vl_convert.vegalite_to_vega(FIGURE.spec, vl_version="6.4")
        assert compiled["background"] == "white"
        assert compiled["config"]["axis"]["labelFontSize"] == 12


def test_figure_rejects_unknown_results():
    with pytest.raises(InputError, match="there is no figure for a dict"):
        figure({})


def test_tables_do_not_import_altair():
    code = "import sys; from regrade.display import print_table; import regrade.studies; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"altair", "vl_convert"} & set(loaded)


def test_names_apart_leave_out_those_that_cover_an_earlier_one():
    rows = [{"x": x, "y": y} for x, y in ((0, 0), (3, 1), (3, 2), (9, 1))]
    assert apart(rows, x="x", y="y", wide=5, high=2) == [rows[0], rows[2], rows[3]]
