"""The HTML of a report page: security, compressed data, tables and contrast."""

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from report_world import HOSTILE

from regrade.core import Column, Estimate, Table
from regrade.reports.report_table import MOST_ROWS, packed, packed_text, script_hash, table_endings, table_html


def unpacked(text):
    return gzip.decompress(base64.b64decode(text)).decode()


class Reader(HTMLParser):
    """Collects tags with their attributes, and scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self._script = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self._script = dict(attrs)

    def handle_data(self, data):
        if self._script is not None:
            self.scripts.append((self._script, data))
            self._script = None


@pytest.fixture(scope="module")
def page(report_page):
    return report_page.read_text()


@pytest.fixture(scope="module")
def read(page):
    return Reader(page)


class TestSafety:
    def test_page_makes_no_requests(self, read):
        linked = [value for _, attrs in read.tags for key, value in attrs.items() if key in ("src", "href")]
        assert linked
        assert all(re.match(r"#|data:image/|figures/|tables/|results\.json$", value) for value in linked)

    def test_policy_allows_only_the_two_own_scripts(self, read):
        policy = next(attrs["content"] for tag, attrs in read.tags if attrs.get("http-equiv"))
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe-eval" not in policy
        allowed = re.findall(r"'(sha256-[^']+)'", re.search("script-src ([^;]+)", policy)[1])
        run = [text for attrs, text in read.scripts if "type" not in attrs]
        library = next(unpacked(text) for attrs, text in read.scripts if attrs.get("id") == "vega")
        hashes = [
            "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (*run, library)
        ]
        assert hashes == allowed
        assert "'unsafe-inline'" not in re.search("script-src ([^;]+)", policy)[1]

    def test_hostile_names_are_escaped_everywhere(self, page, read):
        assert HOSTILE not in page
        assert not any("onerror" in attrs for _, attrs in read.tags)
        assert "<script>alert" not in page
        assert sum(tag == "script" and "type" not in attrs for tag, attrs in read.tags) == 1

    def test_ids_are_unique(self, read):
        ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
        assert len(ids) == len(set(ids))

    def test_every_internal_link_has_a_target(self, read):
        ids = {attrs["id"] for _, attrs in read.tags if "id" in attrs}
        links = {attrs["href"][1:] for tag, attrs in read.tags if tag == "a" and attrs["href"].startswith("#")}
        assert links <= ids
        assert len(links) > 10


class TestPacked:
    def test_packed_round_trips(self):
        assert unpacked(packed_text("ä </script>")) == "ä </script>"
        assert json.loads(unpacked(packed({"a": [1, None, "ä"]}))) == {"a": [1, None, "ä"]}

    def test_packed_is_deterministic(self):
        assert packed_text("x" * 1000) == packed_text("x" * 1000)

    def test_packed_rejects_nan(self):
        with pytest.raises(ValueError, match=r"not JSON compliant|Out of range"):
            packed([float("nan")])

    def test_script_hash_matches_the_specification(self):
        """The value of the specification's own example (CSP 3, section 6.6.2)."""
        assert script_hash("alert('Hello, world.');") == "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"


def rows(count):
    return Table("t", (Column("n", "n"),), tuple((number,) for number in range(count)))


class TestTables:
    def test_estimates_sort_by_their_exact_value(self):
        lower, higher = (Estimate(value, 0.8, 0.9, 10, "") for value in (0.82941, 0.82944))
        table = Table("t", (Column("a", "a"),), ((lower,), (higher,), (None,)))
        text = table_html(table, anchor="t", names=())
        data = json.loads(unpacked(re.search(r'class="data">([^<]+)<', text)[1]))
        assert data["keys"] == [[0.82941, 0.82944, None]]
        assert data["texts"] == [["82.9 [80.0, 90.0]"], ["82.9 [80.0, 90.0]"], ["–"]]
        assert '82.9 <span class="interval">[80.0, 90.0]</span>' in text

    def test_texts_and_headings_are_escaped(self):
        table = Table("<t>", (Column("a", "<h>"), Column("b", "")), (("<x> & y", "[b]"),))
        text = table_html(table, anchor="t", names=("<x> & y",))
        assert "<h>" not in text
        assert "<t>" not in text
        assert '<button type="button" class="name">&lt;x&gt; &amp; y</button>' in text
        assert '<button type="button">b</button>' in text

    @pytest.mark.parametrize(("count", "shown"), [(1, 1), (20, 20), (25, 25), (26, 20), (500, 20)])
    def test_a_few_extra_rows_are_shown(self, count, shown):
        text = table_html(rows(count), anchor="t", names=())
        assert text.count("<tr>") == shown + 1
        assert (f"The first {shown} of {count:,} rows" in text) == (count > shown)
        assert f"<output>{count} row{'' if count == 1 else 's'}</output>" in text

    def test_page_limits_the_rows_of_a_table(self):
        text = table_html(rows(MOST_ROWS + 1), anchor="t", names=())
        data = json.loads(unpacked(re.search(r'class="data">([^<]+)<', text)[1]))
        assert len(data["texts"]) == len(data["keys"][0]) == MOST_ROWS
        assert data["all"] == MOST_ROWS + 1
        assert "The first 20 of 3,001 rows; all of them are in tables/t.csv." in text
        assert "t.tex" not in text
        assert list(table_endings(MOST_ROWS + 1)) == ["csv"]
        assert list(table_endings(MOST_ROWS)) == ["csv", "md", "tex"]

    def test_empty_table_has_zero_rows(self):
        assert "<output>0 rows</output>" in table_html(rows(0), anchor="t", names=())
