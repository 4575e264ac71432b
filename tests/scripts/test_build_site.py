"""The documentation site: complete, nothing from other hosts, readable on a phone, searchable from a file."""

import re

import pytest
from browser import opened
from loaded_script import SCRIPTS, loaded_script

pytest.importorskip("zensical")


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        with loaded_script("build_site") as module:
            yield module


@pytest.fixture(scope="module")
def site(script, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    assert script.build_site(folder) == []
    return folder / "site"


@pytest.mark.parametrize(
    "page", ["index", "studies/grade", "tutorials/researcher", "notebooks/compare-two-models", "cli"]
)
def test_page_fits_a_phone_and_loads_nothing_from_elsewhere(browser, site, page):
    with opened(browser, site / f"{page}.html", width=360) as shown:
        assert shown.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert shown.requests == [] and shown.console == []


def test_search_works_in_a_page_opened_from_a_file(browser, site):
    with opened(browser, site / "index.html", width=1280) as shown:
        shown.page.keyboard.press("Control+k")
        shown.page.keyboard.type("paired_equivalence", delay=20)
        shown.page.get_by_text("paired_equivalence").first.wait_for()
        assert shown.console == [] and shown.requests == []


def test_every_study_has_a_page_with_its_question_and_options(site):
    text = (site / "studies" / "leakage.html").read_text()
    assert "Are images of a test set also in the training set?" in text and "--against" in text
    assert "It does not say" in text


def test_reference_has_signatures_and_parameters(site):
    text = re.sub(r"<[^>]+>", "", (site / "api" / "workspace.html").read_text())
    assert "ws.study.leakage" in text and "against: str | Path | None = None" in text.replace("&#x27;", "'")
    assert "Also compare the features of this model." in text


def test_faults_names_foreign_resources_and_broken_links(script, tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><script src="https://cdn.example/x.js"></script>'
        '<link rel="stylesheet" href="//f.example/s.css">'
        '<a href="b.html"></a><a href="#top"></a><a href="a.html#gone"></a><a href="https://example.org"></a>'
    )
    (tmp_path / "s.css").write_text("@import 'https://fonts.example/f.css';")
    assert list(script.faults(tmp_path)) == [
        "a.html loads https://cdn.example/x.js",
        "a.html loads //f.example/s.css",
        "a.html links to b.html, which does not exist",
        "a.html links to a.html#gone, and the page has no such heading",
        "s.css loads https://fonts.example/f.css",
    ]


def test_study_without_a_card_is_refused(script):
    with pytest.raises(script.SiteError, match="in one only: `b`"):
        script.study_pages("# S\n\n## `a`\n\nx\n\n## `b`\n\ny\n", "# C\n\n## `a`\n\n**Question.** Why?\n", "")
