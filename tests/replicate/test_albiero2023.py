"""Albiero et al. 2023: figures that follow from the definition of the score."""

import json
from math import log, log2

import numpy as np
import pytest
from running import assert_one_line, run, run_well

from regrade.metrics import confusion_entropies
from regrade.replicate import CellKind, CellOutcome, papers, replicate
from regrade.replicate.albiero2023 import simulated_training
from regrade.stats import robust_pearson
from regrade.studies.confusion.distribution import ScoreBins, peak

RESULT = replicate("albiero2023")


def cell(row, column):
    return next(cell for cell in RESULT.cells if (cell.printed.row, cell.printed.column) == (row, column))


def test_nothing_is_recomputed_from_data():
    assert {cell.kind for cell in RESULT.cells} == {CellKind.CONSTRUCTION}
    assert "albiero2023" in papers()


@pytest.mark.parametrize(("epochs", "theory"), [(10, 0.997), (5, 1.993)])
def test_peaks_are_where_log2_of_the_classes_puts_them(epochs, theory):
    bits = cell(f"peak of the distribution, every {epochs} epochs", "confusion score")
    assert bits.ours == pytest.approx(theory, abs=0.002) == pytest.approx(log2(1000) / epochs, abs=0.002)
    assert bits.outcome is CellOutcome.MATCH
    assert abs(bits.ours * log(2) - bits.printed.value) > bits.tolerance  # in nats it would be a miss


def test_middle_of_the_scores_is_printed_in_bits():
    middle = cell("bands of confusion scores, the middle", "threshold")
    assert middle.outcome is CellOutcome.MATCH
    assert abs(log(1000) / 2 - middle.printed.value) > middle.tolerance


def test_without_the_first_checkpoint_the_peak_is_at_0():
    entropies = confusion_entropies(simulated_training(np.random.default_rng(1), images=200))
    later = entropies.epochs[1:][::10].mean(axis=0)
    assert peak(later, ScoreBins(0.1, log2(1000))) < 0.1


def test_strides_give_the_number_of_epochs():
    cells = [cell("epochs used for the scores (Figure 5)", f"setting {used}") for used in (100, 33, 20, 10, 5)]
    assert [(row.printed.value, row.ours) for row in cells] == [(100, 100), (33, 34), (20, 20), (10, 10), (5, 5)]
    assert [row.outcome for row in cells].count(CellOutcome.EXPLAINED) == 1


def test_scores_of_fewer_epochs_correlate_less_with_those_of_all():
    entropies = confusion_entropies(simulated_training(np.random.default_rng(0), images=200))
    r = [robust_pearson(entropies.epochs[::stride].mean(axis=0), entropies.score).value for stride in (3, 5, 10, 20)]
    assert r == sorted(r, reverse=True) and r[0] < 1


def test_errors_under_group_dro_are_not_coverable():
    part = next(part for part in RESULT.coverage.parts if part.where == "Section 3.4 text")
    assert "GroupDRO" in part.not_coverable and (part.from_data, part.by_construction) == (0, 2)


def test_replicate_command():
    content = json.loads(run_well("replicate", "albiero2023", "--json").out)
    assert content["paper"] == "albiero2023" and len(content["cells"]) == 9
    assert_one_line(run("replicate", "albiero2023", "--data", "."), "leave out --data")
