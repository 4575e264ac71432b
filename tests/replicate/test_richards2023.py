"""Richards et al. 2023: known progress and disparity recovered from simulated models, and what cannot be recomputed."""

import json

import numpy as np
import pytest
from running import run, run_well

from regrade.replicate import Outcome, papers, replicate
from regrade.replicate.richards2023_population import MODELS, model_name, populations
from regrade.testsets import entry


@pytest.fixture(scope="module")
def result():
    return replicate("richards2023")


@pytest.fixture(scope="module")
def cells(result):
    return {(cell.table, cell.cell): cell for cell in result.cells}


def test_every_figure_comes_out_or_is_explained(result):
    assert result.count(Outcome.MISS) == 0
    assert all(cell.why for cell in result.cells if cell.outcome is Outcome.EXPLAINED)


def test_progress_is_recovered(cells):
    table = "Simulated models, median of 100 populations"
    assert cells[table, "progress gap, ratio"].published == 2.5
    recovered = (
        "progress rate, standard", "progress rate, geographic", "progress gap, difference", "progress gap, ratio",
        "Europe - Africa, slope", "disparity, best over weakest quarter",
    )  # fmt: skip
    for what in recovered:
        assert cells[table, what].outcome is Outcome.MATCH, what
    drawn = cells[table, "disparity, slope"]
    assert drawn.ours < drawn.published and "towards 0" in drawn.why


def test_intervals_hold_the_truth(cells):
    covered = {cell: found.ours for (table, cell), found in cells.items() if "hold the truth" in table}
    assert len(covered) == 9
    assert all(ours >= 90 for ours in covered.values()), covered
    assert cells["Simulated models, all regions equal", "disparity, by model, intervals that hold 0, %"].ours >= 95


def test_what_needs_unpublished_results_is_listed_and_not_claimed(cells):
    printed = [cell for (table, _), cell in cells.items() if table == "Printed, not recomputed"]
    assert {cell.published for cell in printed} == {2.5, 3.0, 7.0, 20.0, 11.5, -3.2, 53.4, -11.7, 2 / 3}
    assert all(cell.ours is None and "not published" in cell.why for cell in printed)


def test_geode_s_counts(cells):
    assert cells["GeoDE", "images, summed over regions"].ours == entry("geode").examples == 10_333
    assert cells["Dollar Street", "countries"].published == 54


def test_a_population_has_the_truth_it_is_made_to_have():
    """With so many images that chance is small, the best quarter's disparity is three times the weakest's."""
    (one,) = populations(1, 0.05, np.random.default_rng(1))
    apart = one.truth.disparities
    quarter = MODELS // 4
    assert apart[:quarter].mean() / apart[-quarter:].mean() == pytest.approx(3.0)
    assert one.found.growth.best == tuple(model_name(place) for place in range(quarter))
    assert {group.name: group.images for group in one.found.groups}["Africa"] == 2_049


def test_the_command_needs_no_data(tmp_path, monkeypatch):
    monkeypatch.setattr("regrade.replicate.richards2023._COUNT", 4)
    monkeypatch.setattr("regrade.replicate.richards2023._EQUAL", 3)
    assert "richards2023" in papers()
    found = json.loads(run_well("replicate", "richards2023", "--json").out)
    assert found["paper"] == "richards2023" and len(found["cells"]) == 31
    refused = run("replicate", "richards2023", "--data", tmp_path)
    assert refused.code == 1 and "leave out --data" in refused.err
