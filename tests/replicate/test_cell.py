"""Cells: match, miss and explained; the headline; deviations and coverage that are listed with the package."""

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from regrade.core import FormatError, InputError, UnknownName
from regrade.replicate import (
    Cell,
    Kind,
    Outcome,
    PrintedFigure,
    Replication,
    papers,
    printed_figure,
    printed_figures,
    shankar2020,
)
from regrade.replicate.cell import deviation_key
from regrade.replicate.printed import number, packaged_rows
from regrade.replicate.recht2019 import recht2019

FIGURE = PrintedFigure("paper1999", "Table 1", "model", "accuracy", "97.9")
WITHOUT_NUMBERS = {"name", "names", "identifier", "date", "year", "ordinal"}  # units of rows that are no results


@pytest.mark.parametrize(
    ("ours", "outcome"),
    [(97.9, "match"), (97.95, "match"), (97.8501, "match"), (97.951, "miss"), (97.0, "miss"), (None, "miss")],
)
def test_cell_matches_within_half_a_unit_of_the_last_printed_digit(ours, outcome):
    assert Cell(FIGURE, ours).outcome.value == outcome


@pytest.mark.parametrize(
    ("ours", "outcome"),
    [(97.978, "explained"), (97.9784, "explained"), (97.979, "miss"), (97.9, "miss"), (90.0, "miss"), (None, "miss")],
)
def test_explained_cell_is_a_miss_when_ours_moves_away_from_the_expected_value(ours, outcome):
    assert Cell(FIGURE, ours, expected="97.978", why="a mean over images").outcome.value == outcome


@pytest.mark.parametrize(("expected", "why"), [("97.978", ""), ("", "a reason alone")])
def test_cell_rejects_a_reason_without_a_value_and_a_value_without_a_reason(expected, why):
    with pytest.raises(InputError, match="model, accuracy"):
        Cell(FIGURE, 97.9, expected=expected, why=why)


def test_cell_tolerance_can_be_given():
    assert Cell(FIGURE, 98.8, within=1.0).outcome is Outcome.MATCH
    assert Cell(FIGURE, 99.0, within=1.0).outcome is Outcome.MISS


def test_headline_counts_figures_by_construction_apart():
    cells = (Cell(FIGURE, 97.9), Cell(FIGURE, 1.0), Cell(FIGURE, 97.9, kind=Kind.CONSTRUCTION))
    replication = Replication("recht2019", cells)
    assert replication.headline == (
        "recomputed from data: 1 match, 1 miss, 0 explained; by construction: 1 match, 0 miss, 0 explained"
    )
    assert replication.as_dict()["counts"]["by construction"] == {"match": 1, "miss": 0, "explained": 0}
    assert Replication("recht2019", cells[2:]).headline.startswith("recomputed from data: none; by construction: 1")


@pytest.mark.parametrize(
    ("text", "value", "margin"),
    [
        ("20,683", 20_683, 0.5), ("-0.5", -0.5, 0.05), ("+2.1", 2.1, 0.05), (".55", 0.55, 0.005), ("±1", 1, 0.5),
        ("Two", 2, 0.5), ("more than tripled", 3, 0.5), ("2 x 10^-4", 2e-4, 5e-5), ("-17.87 ± 0.2", -17.87, 0.2),
    ],
)  # fmt: skip
def test_number_reads_what_papers_print(text, value, margin):
    assert number(text) == pytest.approx((value, margin))


@pytest.mark.parametrize("text", ["", "nearly half", "99+", "20k", "3B"])
def test_number_rejects_texts_without_a_number(text):
    with pytest.raises(FormatError, match="states no number"):
        number(text)


def test_printed_figure_that_is_not_listed_raises():
    with pytest.raises(UnknownName, match="printed figure"):
        printed_figure("recht2019", "Table 1", "alexnet", "ImageNet Top-1, Gaps")


def test_printed_figures_are_those_of_the_checked_transcription(published):
    with (published / "printed" / "printed.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.pop("note") is not None]
    assert [row for row in rows if row["unit"] not in WITHOUT_NUMBERS] == list(packaged_rows("printed.csv"))
    assert {row["paper"] for row in rows} == set(papers())


def test_printed_places_are_unique():
    assert sum(len(printed_figures(paper)) for paper in papers()) == len(packaged_rows("printed.csv"))


@pytest.fixture(scope="module")
def replications(replication_of):
    return {paper: replication_of(paper) for paper in papers()}


HEADLINES = {
    "recht2019": "recomputed from data: 158 match, 0 miss, 42 explained; by construction: 6 match, 0 miss, 6 explained",
    "shankar2020": "recomputed from data: none; by construction: 91 match, 0 miss, 24 explained",
    "vasudevan2022": "recomputed from data: 17 match, 0 miss, 17 explained; "
    "by construction: 37 match, 0 miss, 7 explained",
    "albiero2023": "recomputed from data: none; by construction: 8 match, 0 miss, 1 explained",
    "richards2023": "recomputed from data: none; by construction: 15 match, 0 miss, 4 explained",
}


def test_headlines(replications):
    assert {paper: replication.headline for paper, replication in replications.items()} == HEADLINES


def test_headlines_are_those_of_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "replicate.md").read_text()
    assert all(f"\n{paper}: {headline}\n" in page for paper, headline in HEADLINES.items())


def test_every_cell_has_a_printed_figure_or_is_a_simulation(replications):
    for paper, replication in replications.items():
        for cell in replication.cells:
            if cell.printed.where == "Simulated models":
                assert paper == "richards2023" and cell.kind is Kind.CONSTRUCTION
            else:
                assert printed_figures(paper)[cell.printed.place] == cell.printed


def test_no_cell_is_listed_twice(replications):
    keys = Counter(deviation_key(cell) for replication in replications.values() for cell in replication.cells)
    assert not [key for key, count in keys.items() if count > 1 and "degrees of freedom" not in key]


def test_every_listed_deviation_belongs_to_a_cell(replications):
    explained = {
        deviation_key(cell) for replication in replications.values() for cell in replication.cells if cell.expected
    }
    rows = packaged_rows("deviations.csv")
    assert {tuple(row[key] for key in ("paper", "where", "row", "column", "basis")) for row in rows} == explained
    assert len(rows) == len(explained) == 101


def test_every_explained_cell_can_miss(replications):
    """A change as large as the printed figure's own tolerance, or the margin of the expected value, is a miss."""
    cells = [cell for replication in replications.values() for cell in replication.cells]
    for cell in cells:
        if cell.outcome is Outcome.EXPLAINED:
            assert replace(cell, ours=number(cell.expected)[0], expected="", why="").outcome is Outcome.MISS
            step = 2.1 * max(number(cell.expected)[1], 1e-9)
            assert replace(cell, ours=cell.ours + step).outcome is Outcome.MISS
            assert replace(cell, ours=cell.ours - step).outcome is Outcome.MISS
            assert replace(cell, ours=cell.printed.value).outcome is Outcome.MISS
        else:
            assert replace(cell, ours=cell.ours + 2.1 * cell.tolerance).outcome is Outcome.MISS


def test_figures_without_a_cell_have_a_reason(replications):
    for paper, replication in replications.items():
        listed = {row["where"] for row in packaged_rows("coverage.csv") if row["paper"] == paper}
        parts = replication.coverage.parts
        incomplete = {part.where for part in parts if part.from_data + part.by_construction < part.printed}
        assert incomplete == listed
        assert all(part.coverable or part.not_coverable or part.no_result for part in parts if part.where in incomplete)


def test_coverage_tells_data_from_construction(replications):
    parts = {part.where: part for part in replications["recht2019"].coverage.parts}
    table = parts["Table 1"]
    assert (table.printed, table.from_data, table.by_construction) == (150, 140, 4)
    covered, coverable, not_coverable, _ = replications["recht2019"].coverage.lines()
    assert "Table 1 (140 from data and 4 by construction, of 150)" in covered
    assert coverable.startswith("not covered although data would allow: Section 4 text (")
    assert "autoaug_pyramid_net_tf" in not_coverable
    assert replications["shankar2020"].coverage.lines()[0].count("from data") == 0


def test_changed_count_makes_an_explained_cell_a_miss(monkeypatch):
    monkeypatch.setitem(shankar2020._COUNTS, "Human E", (956, 946))
    cells = [cell for cell in shankar2020.shankar2020().cells if cell.printed.row == "Human E"]
    assert {cell.printed.column for cell in cells if cell.outcome is Outcome.MISS} >= {"All Images, Original", "Gap"}
    (changed,) = (cell for cell in cells if cell.printed.column == "All Images, Original")
    assert changed.ours == changed.printed.value == 97.2  # the printed figure, and yet not what is expected


def test_changed_reading_of_predictions_makes_explained_lines_a_miss(published, monkeypatch):
    """Without reversing the columns of fv_16k the line through all models moves; that without Fisher vectors stays."""
    monkeypatch.setattr("regrade.replicate.recht2019_data._REVERSED", "")
    lines = [cell for cell in recht2019(published / "recht2019").cells if cell.printed.row.startswith("linear fit, I")]
    outcomes = {cell.basis: {c.outcome for c in lines if c.basis == cell.basis and c.expected} for cell in lines}
    assert outcomes["models without Fisher vectors"] == {Outcome.EXPLAINED}
    assert Outcome.MISS in outcomes["all models"]
