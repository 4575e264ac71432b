"""Richards et al. 2023: known progress and disparity are recovered from simulated models."""

import json

import numpy as np
import pytest
from replicated import assert_sound
from running import run

from regrade.replicate import CellKind, CellOutcome, papers
from regrade.replicate.richards2023 import GEODE, MODELS, model_name, populations
from regrade.testsets import entry


@pytest.fixture(scope="module")
def result(replication_of):
    return replication_of("richards2023")


@pytest.fixture(scope="module")
def cells(result):
    return {(cell.printed.row, cell.printed.column): cell for cell in result.cells}


def test_replication_is_sound(result):
    assert_sound(result)


def test_nothing_is_recomputed_from_data(result):
    assert {cell.kind for cell in result.cells} == {CellKind.CONSTRUCTION}
    assert {cell.printed.where for cell in result.cells} == {
        "Simulated models",
        "Key Results",
        "Architecture Onboarding",
    }


def test_progress_is_recovered(cells):
    recovered = (
        ("progress rate, standard", "median"), ("progress rate, geographic", "median"),
        ("progress gap, difference", "median"), ("Europe - Africa, slope", "median"),
        ("progress on ImageNet benchmarks over geographic generalization", "ratio"),
        ("geographic disparities, early models to today's best", "ratio"),
    )  # fmt: skip
    for key in recovered:
        assert cells[key].outcome is CellOutcome.MATCH, key
    slope = cells["disparity, slope", "median"]
    assert slope.ours < slope.printed.value and "towards 0" in slope.why


def test_intervals_contain_the_truth(cells):
    covered = {row: cell.ours for (row, column), cell in cells.items() if "hold the truth" in column}
    assert len(covered) == 10
    assert all(ours >= 90 for ours in covered.values()), covered
    assert covered["disparity, by model, all regions equal"] >= 95


def test_results_of_unpublished_predictions_are_not_coverable(result):
    part = next(part for part in result.coverage.parts if part.where == "Mechanism 3")
    assert (part.printed, part.from_data, part.by_construction) == (6, 0, 0) and "not published" in part.not_coverable


def test_regions_of_geode_add_up_to_its_images():
    assert sum(GEODE.values()) == entry("geode").examples == 10_333


def test_population_has_the_requested_truth():
    """The disparity of the best quarter is three times that of the worst."""
    (population,) = populations(1, 0.05, np.random.default_rng(1))
    disparities = population.truth.disparities
    quarter = MODELS // 4
    assert disparities[:quarter].mean() / disparities[-quarter:].mean() == pytest.approx(3.0)
    assert population.result.growth.best == tuple(model_name(place) for place in range(quarter))
    assert {group.name: group.images for group in population.result.groups}["Africa"] == 2_049


def test_replicate_command_needs_no_data_and_reports_a_miss(tmp_path, monkeypatch):
    """With so few populations, the measured coverage differs from the expected one."""
    monkeypatch.setattr("regrade.replicate.richards2023._POPULATIONS", 4)
    monkeypatch.setattr("regrade.replicate.richards2023._EQUAL_POPULATIONS", 3)
    assert "richards2023" in papers()
    ran = run("replicate", "richards2023", "--json")
    content = json.loads(ran.out)
    assert content["paper"] == "richards2023" and len(content["cells"]) == 19
    assert ran.code == 1 and "misses in richards2023" in ran.err
    refused = run("replicate", "richards2023", "--data", tmp_path)
    assert refused.code == 1 and "leave out --data" in refused.err
