"""Complements of slices in studies: their images, and those of slices that models find hard."""

import numpy as np
import pytest

from regrade.core import ClassSpace, InputError, Predictions, SliceSet, TestSet
from regrade.studies import Scoring, findings
from regrade.studies.grade.analysis import grade
from regrade.studies.image_basis import same_images

PETS = ClassSpace("pets", ("cat", "dog", "carp"), groups={"furry": (0, 1)})
HARD = np.arange(60) < 20
IMAGES = TestSet(
    "images",
    PETS,
    tuple(f"x{place}" for place in range(60)),
    np.arange(60) % 3,
    slice_sets=(SliceSet("hard", "images", 60, {"hard": HARD}, chosen_hard=True),),
)


def predictions(*wrong):
    """Models that are wrong where the masks (n,) say so."""
    for number, mask in enumerate(wrong):
        classes = np.where(mask, (IMAGES.labels + 1) % 3, IMAGES.labels)
        yield Predictions(f"m{number}", "images", "pets", classes[:, None]), Scoring(IMAGES)


def test_grade_of_a_slice_and_its_complement():
    rows = {row.slice: row.top1 for row in grade(IMAGES, predictions(HARD), slices=["furry", "not furry"]).rows}
    assert {name: top1.n for name, top1 in rows.items()} == {"all": 60, "furry": 40, "not furry": 20}
    assert rows["not furry"].value == np.mean(~HARD[IMAGES.labels == 2])


def test_comparison_on_a_complement():
    aligned = same_images(IMAGES, predictions(HARD, ~HARD), slice_name="not hard")
    assert aligned.basis.title == "images, slice not hard"
    assert aligned.correct.tolist() == [[True] * 40, [False] * 40]


def test_the_complement_of_a_hard_slice_is_never_called_weak():
    """What models find hard is left out of it, so that its accuracy is no finding."""
    result = grade(IMAGES, predictions(~HARD), slices=["not hard"])
    assert result.hard_slices == ("not hard",)
    assert "what is left without images that models find hard: not hard" in result.notes
    assert not any("slice" in finding.kind.name for finding in findings(result))


def test_an_empty_complement_raises():
    with pytest.raises(InputError, match="unknown slice of images 'reptile'"):
        grade(IMAGES, predictions(HARD), slices=["not not reptile"])
    everything = SliceSet("every", "images", 60, {"every": np.ones(60, dtype=bool)})
    full = TestSet("images", PETS, IMAGES.ids, IMAGES.labels, slice_sets=(everything,))
    with pytest.raises(InputError, match="slice 'not every' of images contains no images"):
        grade(full, predictions(HARD), slices=["not every"])
