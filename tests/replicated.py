"""Checks that hold for the replication of every paper, and the documented counts."""

from collections import Counter
from dataclasses import replace

from regrade.replicate import CellKind, CellOutcome, Replication, printed_figures
from regrade.replicate.cell import deviation_key, number, packaged_rows

HEADLINES = {
    "recht2019": "recomputed from data: 173 match, 0 miss, 48 explained; by construction: 6 match, 0 miss, 6 explained",
    "shankar2020": "recomputed from data: none; by construction: 106 match, 0 miss, 25 explained",
    "vasudevan2022": "recomputed from data: 17 match, 0 miss, 17 explained; "
    "by construction: 37 match, 0 miss, 7 explained",
    "albiero2023": "recomputed from data: none; by construction: 8 match, 0 miss, 1 explained",
    "richards2023": "recomputed from data: none; by construction: 15 match, 0 miss, 4 explained",
}


def assert_sound(replication: Replication) -> None:
    """Check the documented counts, that every cell can fail, and that the packaged lists are complete and current."""
    assert replication.headline == HEADLINES[replication.paper]
    _assert_figures_are_listed(replication)
    _assert_deviations_are_used(replication)
    _assert_cells_can_miss(replication)
    _assert_rest_has_a_reason(replication)


def _assert_figures_are_listed(replication: Replication) -> None:
    for cell in replication.cells:
        if cell.printed.where == "Simulated models":
            assert replication.paper == "richards2023" and cell.kind is CellKind.CONSTRUCTION
        else:
            assert printed_figures(replication.paper)[cell.printed.place] == cell.printed
    assert max(Counter(map(deviation_key, replication.cells)).values()) == 1


def _assert_deviations_are_used(replication: Replication) -> None:
    explained = {deviation_key(cell) for cell in replication.cells if cell.expected}
    rows = [tuple(row.values())[:5] for row in packaged_rows("deviations.csv") if row["paper"] == replication.paper]
    assert set(rows) == explained and len(rows) == len(explained) == replication.count(CellOutcome.EXPLAINED)


def _assert_cells_can_miss(replication: Replication) -> None:
    """A value outside the tolerance is a miss, and so is a stale explanation."""
    for cell in replication.cells:
        if cell.expected:
            assert replace(cell, ours=number(cell.expected)[0], expected="", why="").outcome is CellOutcome.MISS
            assert replace(cell, ours=cell.printed.value).outcome is CellOutcome.MISS
        margin = number(cell.expected)[1] if cell.expected else cell.tolerance
        for ours in (cell.ours + 2.1 * margin, cell.ours - 2.1 * margin, None):
            assert replace(cell, ours=ours).outcome is CellOutcome.MISS


def _assert_rest_has_a_reason(replication: Replication) -> None:
    listed = {row["where"] for row in packaged_rows("coverage.csv") if row["paper"] == replication.paper}
    parts = replication.coverage.parts
    incomplete = {part.where for part in parts if part.from_data + part.by_construction < part.printed}
    assert incomplete == listed
    assert all(part.coverable or part.not_coverable or part.no_result for part in parts if part.where in incomplete)
