"""What follows from the definition of the score in Albiero et al. 2023, and what is only listed."""

import json
from math import log2

import numpy as np
import pytest
from running import assert_one_line, run, run_well

from regrade.metrics import confusion_entropies
from regrade.replicate import Outcome, papers, replicate
from regrade.replicate.albiero2023 import simulated_training
from regrade.studies.confusion.distribution import ScoreBins, peak

RESULT = replicate("albiero2023")
CELLS = {(cell.table, cell.cell): cell for cell in RESULT.cells}


def test_every_figure_comes_out_or_is_explained():
    counts = {outcome: RESULT.count(outcome) for outcome in Outcome}
    assert counts == {Outcome.MATCH: 7, Outcome.MISS: 0, Outcome.EXPLAINED: 16}
    assert all(cell.why for cell in RESULT.cells if cell.outcome is Outcome.EXPLAINED)
    assert "albiero2023" in papers()


@pytest.mark.parametrize(("epochs", "theory"), [(10, 0.997), (5, 1.993)])
def test_the_peaks_are_where_log2_of_the_classes_puts_them(epochs, theory):
    bits = CELLS["Figure 5, peak", f"{epochs} epochs, bits"]
    assert bits.ours == pytest.approx(theory, abs=0.002) == pytest.approx(log2(1000) / epochs, abs=0.002)
    assert bits.outcome is Outcome.MATCH
    assert CELLS["Figure 5, peak", f"{epochs} epochs, nats"].outcome is Outcome.EXPLAINED


def test_without_the_first_checkpoint_the_peak_is_at_0():
    entropies = confusion_entropies(simulated_training(np.random.default_rng(1), images=200))
    later = entropies.epochs[1:][::10].mean(axis=0)
    assert peak(later, ScoreBins(0.1, log2(1000))) < 0.1


def test_strides_and_what_they_leave():
    left = [CELLS["Figure 5, epochs", f"at a stride of {stride}"] for stride in (1, 3, 5, 10, 20)]
    assert [(cell.published, cell.ours) for cell in left] == [(100, 100), (33, 34), (20, 20), (10, 10), (5, 5)]
    assert [cell.outcome for cell in left].count(Outcome.EXPLAINED) == 1


def test_fewer_epochs_say_less():
    r = [CELLS["Effect of epochs, simulated", f"{n} epochs, r with the score of 100"].ours for n in (33, 20, 10, 5)]
    assert r == sorted(r, reverse=True) and r[0] < 1


def test_group_dro_is_listed_and_not_reproduced():
    cells = [cell for cell in RESULT.cells if cell.table.startswith("GroupDRO")]
    assert [cell.published for cell in cells] == [25.8, 25.0, 80.6, 81.9]
    assert all(cell.ours is None and cell.outcome is Outcome.EXPLAINED for cell in cells)


def test_the_command():
    content = json.loads(run_well("replicate", "albiero2023", "--json").out)
    assert content["paper"] == "albiero2023" and len(content["cells"]) == 23
    assert_one_line(run("replicate", "albiero2023", "--data", "."), "leave out --data")
