"""Writing a report folder atomically: the page, figures, tables and results."""

import csv
import json
from dataclasses import replace
from importlib import import_module

import altair
import numpy as np
import pytest

from regrade.core import AlreadyStored, Column, MissingExtra, Table, WriteError
from regrade.display import Figure, Finding, FindingKind
from regrade.reports import Gallery, GalleryTile, Provenance, Report, Section, write_report
from regrade.studies.compare.analysis import compare_correctness
from regrade.studies.image_basis import Basis

CHART = altair.Chart(altair.InlineData(values=[{"model": "a", "x": 1}])).mark_point().encode(x="x:Q")
FIGURE = Figure("points", "One point.", CHART.properties(title="A point"))
TABLE = Table("numbers", (Column("model", "model"), Column("n", "n")), (("a", 1), ("b", 2)), ("a note",))
KIND = FindingKind("a point: where", "Looked at.", claims=True)
SECTION = Section(
    "points", "Where is it?", "here", (Finding(KIND, "It is there", "At 1.", 0.5),), (FIGURE,), (TABLE, TABLE)
)
TROUBLE = Section("trouble", "What else?", trouble="This could not be answered: no one knows.")
PROVENANCE = Provenance({"confidence": "95%", "regrade": "0"}, (TABLE,), {"test_sets": [{"digest": "abc"}]})
REPORT = Report(
    "A <title>", "sub", "2026-11-15", (SECTION, TROUBLE), ("a", "b"), PROVENANCE, (("Why?", "It takes time."),)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("reports") / "deep" / "one"
    assert write_report(REPORT, target) == target / "index.html"
    return target


class TestFiles:
    def test_folder_contains_all_files(self, folder):
        names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        stems = ("points", "points--2", "behind-1")
        tables = {f"tables/{name}.{end}" for name in stems for end in ("csv", "md", "tex")}
        assert names == {
            "index.html", "results.json", *tables, *(f"figures/points.{end}" for end in ("svg", "png", "pdf")),
        }  # fmt: skip
        assert [path.name for path in folder.parent.iterdir()] == ["one"]

    def test_figures_have_the_format_of_their_suffix(self, folder):
        for ending, start in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
            assert (folder / f"figures/points.{ending}").read_bytes().startswith(start)
        assert "A point" in (folder / "figures/points.svg").read_text()

    def test_tables_contain_the_numbers(self, folder):
        with (folder / "tables/points.csv").open() as file:
            assert list(csv.reader(file)) == [["model", "n"], ["a", "1"], ["b", "2"]]

    def test_long_lists_are_cut_and_counted(self, tmp_path, monkeypatch):
        monkeypatch.setattr(import_module("regrade.reports.write_report"), "_MOST_ITEMS", 2)
        correct = np.arange(12).reshape(4, 3) % 4 > 0
        compared = compare_correctness(tuple("abcd"), correct, basis=Basis("set", 3))
        write_report(replace(REPORT, sections=(Section("c", "C?", result=compared),)), tmp_path / "R")
        (section,) = json.loads((tmp_path / "R" / "results.json").read_text())["sections"]
        assert [(pair["first"], pair["second"]) for pair in section["result"]["pairs"]] == [("a", "b"), ("a", "c")]
        assert section["result"]["all_pairs"] == 6 and len(section["result"]["ranks"]) == 4

    def test_sections_do_not_share_file_names(self, tmp_path):
        """Test sets may be called `points` and `points-2`, and the first have two tables."""
        second = Section("points-2", "Where is it?", "there", tables=(replace(TABLE, rows=(("c", 3),)),))
        write_report(replace(REPORT, sections=(replace(SECTION, figures=()), second)), tmp_path / "R")
        results = json.loads((tmp_path / "R" / "results.json").read_text())
        paths = [path for section in results["sections"] for path in section["tables"]]
        assert len(set(paths)) == 3
        assert ["c," in (tmp_path / "R" / path).read_text() for path in paths] == [False, False, True]

    def test_results_contain_findings_sections_and_provenance(self, folder):
        results = json.loads((folder / "results.json").read_text())
        assert results["title"] == "A <title>"
        assert results["key_findings"] == [
            {
                "kind": "a point: where",
                "headline": "It is there",
                "text": "At 1.",
                "test": "Looked at.",
                "weight": 0.5,
                "section": "points",
            }
        ]
        assert [section["anchor"] for section in results["sections"]] == ["points", "trouble"]
        assert results["sections"][0]["tables"] == ["tables/points.csv", "tables/points--2.csv"]
        assert results["sections"][1]["trouble"] == TROUBLE.trouble
        assert results["behind"] == {
            "settings": {"confidence": "95%", "regrade": "0"},
            "test_sets": [{"digest": "abc"}],
        }

    def test_page_lists_troubles_and_open_questions(self, folder):
        page = (folder / "index.html").read_text()
        assert "<title>A &lt;title&gt;</title>" in page
        assert '<p class="trouble">This could not be answered: no one knows.</p>' in page
        assert "<strong>Why?</strong> It takes time." in page
        assert "Ranges in brackets are 95% intervals." in page

    def test_gallery_images_are_embedded(self, tmp_path):
        tile = GalleryTile(b"\xff\xd8jpeg", (28, 28), "i<1>", "cat", "taken for dog (2)", "2 of 2 models wrong")
        section = Section("hard", "Which?", gallery=Gallery("The hardest", (tile,), ("how they were chosen",)))
        page = write_report(Report("t", "", "", (section,), (), Provenance()), tmp_path / "r").read_text()
        assert 'class="blocks" src="data:image/jpeg;base64,/9hqcGVn" width="28" height="28"' in page
        assert 'alt="i&lt;1&gt;: cat"' in page
        assert "how they were chosen" in page
        assert "There are no findings yet: add models or test sets." in page
        assert len(page) < 40_000  # the scripts that draw figures stay out


QUIET = replace(REPORT, sections=(replace(SECTION, figures=()),))


class TestReplacing:
    def test_existing_report_is_replaced_only_with_force(self, tmp_path):
        write_report(QUIET, tmp_path / "r")
        before = (tmp_path / "r" / "index.html").read_text()
        new = Report("Another", "", "", (), (), Provenance())
        with pytest.raises(AlreadyStored, match="exists already: choose another name, or replace it with --force"):
            write_report(new, tmp_path / "r")
        assert (tmp_path / "r" / "index.html").read_text() == before
        write_report(new, tmp_path / "r", force=True)
        assert "Another" in (tmp_path / "r" / "index.html").read_text()
        assert not list((tmp_path / "r").glob("tables/points*"))
        assert [path.name for path in tmp_path.iterdir()] == ["r"]

    def test_folder_without_a_report_is_never_replaced(self, tmp_path):
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis.tex").write_text("years of work")
        with pytest.raises(AlreadyStored, match=r"is not replaced: it has no index.html and results.json"):
            write_report(QUIET, tmp_path / "mine", force=True)
        assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"

    def test_full_disk_leaves_the_old_report(self, tmp_path, monkeypatch):
        from pathlib import Path

        write_report(QUIET, tmp_path / "r")
        before = (tmp_path / "r" / "index.html").read_text()
        write = Path.write_bytes

        def refuse(path, content):
            if path.name == "results.json":
                raise OSError(28, "No space left on device")
            return write(path, content)

        monkeypatch.setattr(Path, "write_bytes", refuse)
        with pytest.raises(WriteError, match="nothing was left half-written"):
            write_report(QUIET, tmp_path / "r", force=True)
        assert (tmp_path / "r" / "index.html").read_text() == before
        assert [path.name for path in tmp_path.iterdir()] == ["r"]

    def test_failed_rename_restores_the_old_report(self, tmp_path, monkeypatch):
        from pathlib import Path

        write_report(QUIET, tmp_path / "r")
        rename = Path.rename

        def refuse(path, target):
            if path.name.endswith(".new"):
                raise OSError(13, "Permission denied")
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", refuse)
        monkeypatch.setattr("regrade.store.atomic._exchange", lambda *_: False)  # as on a disk that cannot
        with pytest.raises(WriteError):
            write_report(QUIET, tmp_path / "r", force=True)
        assert (tmp_path / "r" / "index.html").is_file()
        assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_missing_extra_names_the_install_command(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"pip install 'regrade\[figures\]'$"):
        write_report(REPORT, tmp_path / "r")
    assert not list(tmp_path.iterdir())


def test_large_figure_becomes_an_image_in_the_page(tmp_path):
    values = [{"x": number, "y": number % 7} for number in range(3000)]
    chart = altair.Chart(altair.InlineData(values=values)).mark_point().encode(x="x:Q", y="y:Q")
    section = Section("many", "Many?", figures=(Figure("many", "Many points.", chart),))
    page = write_report(Report("t", "", "", (section,), (), Provenance()), tmp_path / "r").read_text()
    assert '<div class="still"><img alt="" src="data:image/png;base64,' in page
    assert len((tmp_path / "r" / "figures" / "many.svg").read_bytes()) > 130_000
