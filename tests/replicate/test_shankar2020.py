"""Shankar et al. 2020: the printed figures and their outcomes."""

import json

import numpy as np
import pytest
from running import run, run_well

from regrade.replicate import CellKind, CellOutcome, papers, replicate
from regrade.replicate.shankar2020 import _COUNTS, _DISCORDANT, _SIZES
from regrade.stats import mcnemar

RESULT = replicate("shankar2020")
CELLS = {(cell.printed.where, cell.printed.row, cell.printed.column, cell.basis): cell for cell in RESULT.cells}

RELEASED = {
    "ResNet50": (84.15, 75.71),
    "FixRes": (95.53, 89.59),
    "Human A": (91.87, 91.12),
    "Human B": (94.72, 93.88),
    "Human C": (96.24, 96.73),
    "Human D": (95.73, 94.80),
    "Human E": (97.26, 96.53),
}
"""Accuracies in the authors' notebook, of their repository at commit 3b54b99."""


def test_nothing_is_recomputed_from_data():
    assert {cell.kind for cell in RESULT.cells} == {CellKind.CONSTRUCTION}


def test_table_1_is_complete_and_two_figures_are_a_tenth_off():
    cells = [cell for cell in RESULT.cells if cell.printed.where == "Table 1" and cell.basis.startswith("984 and 980")]
    assert len(cells) == 56
    off = {
        (cell.printed.row, cell.printed.column, cell.ours) for cell in cells if cell.outcome is CellOutcome.EXPLAINED
    }
    assert off == {("ResNet50", "Original low", 81.7), ("AdvProp", "Original high", 95.1)}


def test_notes_state_how_many_figures_each_size_matches():
    words = " ".join(RESULT.notes)
    assert "984 and 980 give 54 of the 56" in words and "982 and 978 give 49 of the 56" in words


def test_new_intervals_are_explained_by_the_sizes():
    for side, printed, proper in (("low", 73.2, 72.9), ("high", 78.7, 78.4)):
        cell = CELLS["Table 1", "ResNet50", f"V2 {side}", "980 images"]
        assert (cell.printed.value, round(cell.ours, 1), cell.outcome) == (printed, proper, CellOutcome.EXPLAINED)
        assert "mixed up" in cell.why
        mixed = CELLS["Table 1", "ResNet50", f"V2 {side}", "984 and 980 images, sizes mixed up"]
        assert mixed.outcome is CellOutcome.MATCH


def test_p_values_of_mcnemar():
    labeler, second = (cell for cell in RESULT.cells if cell.printed.column == "p-value")
    assert (labeler.printed.value, round(labeler.ours, 4), labeler.outcome) == (0.037, 0.0372, CellOutcome.MATCH)
    assert (second.printed.value, second.outcome) == (2e-4, CellOutcome.MATCH)
    ahead = [only_labeler - only_model for only_labeler, only_model in _DISCORDANT.values()]
    validation, new = _COUNTS["Human E"][0] - _COUNTS["FixRes"][0], _COUNTS["Human B"][1] - _COUNTS["FixRes"][1]
    assert ahead == [validation, new] == [17, 42]


def test_no_other_variant_of_the_test_gives_the_printed_p_value():
    fewer = np.arange(1, 480)
    tests = mcnemar(fewer + 17, fewer)
    for variant in (tests.exact, tests.mid_p, tests.chi_square):
        assert not (np.abs(variant - 0.037) < 0.0005).any()


def test_gains_follow_from_table_2():
    row = "{}, mean accuracy increase of human labelers"
    dogs = CELLS["Section 5 text", row.format("without dogs"), "ImageNet", "Table 2"]
    objects = CELLS["Section 5 text", row.format("objects only"), "ImageNet", "Table 2"]
    assert (dogs.ours, objects.ours) == (pytest.approx(1.96), pytest.approx(3.26))
    for test_set in ("ImageNet", "ImageNetV2"):
        model = CELLS["Section 5 text", "without dogs, accuracy increase of the best model", test_set, "Table 2"]
        assert "disagree" in model.why


def test_released_accuracies_determine_the_sizes():
    """Only these sizes give whole counts for all 14 accuracies."""
    for place, size in enumerate(_SIZES):
        shares = np.array([accuracies[place] for accuracies in RELEASED.values()])
        sizes = np.arange(970, 995)[:, None]
        near = np.abs(100 * np.round(shares * sizes / 100) / sizes - shares) <= 0.005 + 1e-9
        assert sizes[near.all(axis=1)].ravel().tolist() == [size]
        counts = [_COUNTS[name][place] for name in RELEASED]
        assert np.round(shares * size / 100).astype(int).tolist() == counts


def test_replicate_command_needs_no_data(tmp_path):
    assert "shankar2020" in papers()
    content = json.loads(run_well("replicate", "shankar2020", "--json").out)
    assert content["paper"] == "shankar2020" and len(content["cells"]) == 131
    assert list(content["cells"][0]) == [
        "table", "cell", "basis", "kind", "published", "ours", "tolerance", "expected", "outcome", "why",
    ]  # fmt: skip
    refused = run("replicate", "shankar2020", "--data", tmp_path)
    assert refused.code == 1 and "leave out --data" in refused.err
