"""The printed figures of Shankar et al. 2020, and what becomes of each."""

import json

import numpy as np
import pytest
from running import run, run_well

from regrade.replicate import Outcome, papers, replicate
from regrade.replicate.shankar2020_printed import RELEASED, RELEASED_IMAGES, TESTS, VALIDATION
from regrade.stats import clopper_pearson, mcnemar

RESULT = replicate("shankar2020")
CELLS = {(cell.table, cell.cell): cell for cell in RESULT.cells}


def test_every_figure_comes_out_or_is_explained():
    counts = {outcome: RESULT.count(outcome) for outcome in Outcome}
    assert counts == {Outcome.MATCH: 48, Outcome.MISS: 0, Outcome.EXPLAINED: 8}
    assert all(cell.why for cell in RESULT.cells if cell.outcome is Outcome.EXPLAINED)


def test_the_validation_intervals():
    cells = [cell for cell in RESULT.cells if cell.table == "Table 1, validation"]
    assert len(cells) == 24
    assert [cell.cell for cell in cells if cell.outcome is not Outcome.MATCH] == ["C, low"]
    for who, (accuracy, low, high) in VALIDATION.items():
        published = [CELLS["Table 1, validation", f"{who}, {part}"].published for part in ("accuracy", "low", "high")]
        assert published == [accuracy, low, high]


def test_the_new_intervals_are_explained_by_the_sizes():
    for part, printed, proper in (("low", 73.2, 72.9), ("high", 78.7, 78.4)):
        ours = CELLS["Table 1, ImageNetV2", f"ResNet-50, {part}"]
        assert (ours.published, round(ours.ours, 1), ours.outcome) == (printed, proper, Outcome.EXPLAINED)
        assert "mixed up" in ours.why
        assert CELLS["Table 1, ImageNetV2", f"ResNet-50, {part}, sizes mixed up"].outcome is Outcome.MATCH


def test_the_tests():
    labeler, other = (cell for cell in RESULT.cells if cell.table == "McNemar")
    assert (labeler.published, round(labeler.ours, 4), labeler.outcome) == (0.037, 0.0372, Outcome.MATCH)
    assert (other.published, other.outcome) == (2e-4, Outcome.MATCH)
    assert [test.only_labeler - test.only_model for test in TESTS] == [17, 42]


def test_no_other_variant_of_the_test_gives_the_printed_p_value():
    fewer = np.arange(1, 480)
    found = mcnemar(fewer + 17, fewer)
    for variant in (found.exact, found.mid_p, found.chi_square):
        assert not (np.abs(variant - 0.037) < 0.0005).any()


def test_the_gains():
    assert CELLS["Table 2, validation", "labelers, mean gain on without dogs"].ours == pytest.approx(1.96)
    assert CELLS["Table 2, validation", "labelers, mean gain on objects"].ours == pytest.approx(3.26)
    for images in ("validation", "ImageNetV2"):
        assert "disagree" in CELLS[f"Table 2, {images}", "FixRes, gain without dogs"].why


def test_released_accuracies_are_shares_of_their_images_and_of_no_number_near():
    """That 14 shares in hundredths are those of whole counts singles out the sizes."""
    fitting = []
    for size in range(970, 995):
        shares = [sets[0][0] for sets in RELEASED.values()]
        near = [abs(100 * round(share * size / 100) / size - share) <= 0.005 + 1e-9 for share in shares]
        fitting += [size] if all(near) else []
    assert fitting == [RELEASED_IMAGES[0]]


def test_the_notes_say_what_it_rests_on_and_what_is_left_out():
    words = " ".join(RESULT.notes)
    assert "printed counts" in words and "left out" in words
    low, high = (100 * float(bound) for bound in vars(clopper_pearson(742, 980)).values())
    assert f"ResNet-50 75.7 [{low:.1f}, {high:.1f}]" in words


def test_the_command_needs_no_data(tmp_path):
    assert "shankar2020" in papers()
    found = json.loads(run_well("replicate", "shankar2020", "--json").out)
    assert found["paper"] == "shankar2020" and len(found["cells"]) == 56
    assert set(found["cells"][0]) == {"table", "cell", "published", "ours", "tolerance", "outcome", "why"}
    refused = run("replicate", "shankar2020", "--data", tmp_path)
    assert refused.code == 1 and "leave out --data" in refused.err
