"""Cells: match, miss and explained; the headline; deviations and coverage that are listed with the package."""

import csv
from pathlib import Path

import pytest
from replicated import HEADLINES, assert_sound

from regrade.core import FormatError, InputError, UnknownName
from regrade.replicate import (
    Cell,
    CellKind,
    CellOutcome,
    PrintedFigure,
    Replication,
    papers,
    printed_figure,
    printed_figures,
    shankar2020,
)
from regrade.replicate.cell import number, packaged_rows
from regrade.replicate.recht2019 import recht2019

FIGURE = PrintedFigure("paper1999", "Table 1", "model", "accuracy", "97.9")
WITHOUT_NUMBERS = {"name", "names", "identifier", "date", "year", "ordinal"}  # units of rows that are not results


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
    assert Cell(FIGURE, 98.8, within=1.0).outcome is CellOutcome.MATCH
    assert Cell(FIGURE, 99.0, within=1.0).outcome is CellOutcome.MISS


def test_headline_counts_figures_by_construction_separately():
    cells = (Cell(FIGURE, 97.9), Cell(FIGURE, 1.0), Cell(FIGURE, 97.9, kind=CellKind.CONSTRUCTION))
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
    with pytest.raises(FormatError, match="is not a number"):
        number(text)


def test_printed_figure_that_is_not_listed_raises():
    with pytest.raises(UnknownName, match="printed figure"):
        printed_figure("recht2019", "Table 1", "alexnet", "ImageNet Top-1, Gaps")


def test_printed_figures_match_the_checked_transcription(published):
    with (published / "printed" / "printed.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.pop("note") is not None]
    assert [row for row in rows if row["unit"] not in WITHOUT_NUMBERS] == list(packaged_rows("printed.csv"))
    assert {row["paper"] for row in rows} == set(papers())


def test_printed_places_are_unique():
    assert sum(len(printed_figures(paper)) for paper in papers()) == len(packaged_rows("printed.csv"))


@pytest.mark.parametrize("paper", ["recht2019", "shankar2020", "vasudevan2022", "albiero2023"])
def test_replication_is_sound(replication_of, paper):
    assert_sound(replication_of(paper))


def test_headlines_match_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "replicate.md").read_text()
    assert tuple(HEADLINES) == papers()
    assert all(f"\n{paper}: {headline}\n" in page for paper, headline in HEADLINES.items())


def test_coverage_distinguishes_data_from_construction(replication_of):
    parts = {part.where: part for part in replication_of("recht2019").coverage.parts}
    table = parts["Table 1"]
    assert (table.printed, table.from_data, table.by_construction) == (150, 140, 4)
    covered, coverable, not_coverable, _ = replication_of("recht2019").coverage.lines()
    assert "Table 1 (140 from data and 4 by construction, of 150)" in covered
    assert coverable.startswith("not covered although data would allow: Section 4 text (")
    assert "autoaug_pyramid_net_tf" in not_coverable
    assert replication_of("shankar2020").coverage.lines()[0].count("from data") == 0


def test_changed_count_makes_an_explained_cell_a_miss(monkeypatch):
    monkeypatch.setitem(shankar2020._COUNTS, "Human E", (956, 946))
    cells = [cell for cell in shankar2020.shankar2020().cells if cell.printed.row == "Human E"]
    assert {cell.printed.column for cell in cells if cell.outcome is CellOutcome.MISS} >= {
        "All Images, Original",
        "Gap",
    }
    (changed,) = (cell for cell in cells if cell.printed.column == "All Images, Original")
    assert changed.ours == changed.printed.value == 97.2  # the printed figure, and yet not what is expected


def test_changed_reading_of_predictions_makes_explained_lines_a_miss(published, monkeypatch):
    """Without reversing the columns of fv_16k the line through all models moves; that without Fisher vectors stays."""
    monkeypatch.setattr("regrade.replicate.recht2019._REVERSED", "")
    lines = [cell for cell in recht2019(published / "recht2019").cells if cell.printed.row.startswith("linear fit, I")]
    outcomes = {cell.basis: {c.outcome for c in lines if c.basis == cell.basis and c.expected} for cell in lines}
    assert outcomes["models without Fisher vectors"] == {CellOutcome.EXPLAINED}
    assert CellOutcome.MISS in outcomes["all models"]
