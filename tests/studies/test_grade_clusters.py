"""Findings of a grade over households: one image each, every image twice, no effect, and a slice that is harder."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.calibration.households import alike, correct_in_households, households
from benchmarks.calibration.worlds import labeled_set, predicted
from regrade.core import SliceSet
from regrade.stats import clustered_best_share, clustered_share
from regrade.studies import findings
from regrade.studies.grade.analysis import grade
from regrade.studies.image_clusters import image_clusters

CLAIMS = {"grade: weakest slice", "grade: some slices are not the weakest", "grade: harder slice"}
TESTED = {*CLAIMS, "grade: no weak slice shown", "grade: slice is not shown to be harder"}


def graded(correct, parts, homes, *slices):
    """The grade of models with correctness (m, n) on parts (n,) of a test set, in households (n,) unless None."""
    columns = {} if homes is None else {"household": tuple(map(str, homes))}
    test_set = labeled_set(len(parts), part=tuple(map(str, parts)), **columns)
    clusters = image_clusters(test_set, None)
    return grade(test_set, predicted(test_set, correct), slices=slices or ("part",), clusters=clusters)


def stated(result):
    return [(finding.kind.name, finding.headline, finding.text) for finding in findings(result)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 9999), st.sampled_from(["part", "part=0"]))
def test_households_of_one_image_change_nothing(seed, chosen):
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, 3, 400)
    correct = rng.random((4, 400)) < np.array([0.95, 0.8, 0.7])[parts]
    single = stated(graded(correct, parts, rng.permutation(400), chosen))
    plain = stated(graded(correct, parts, None, chosen))
    assert [part[:2] for part in single] == [part[:2] for part in plain]
    # with equal intervals, but of the best of several models, which over clusters are corrected on both sides
    assert [part for part in single if part[0] in TESTED] == [part for part in plain if part[0] in TESTED]


def test_images_twice_in_their_household_count_once():
    """A difference that is shown with all images of different households is not, if half of them are copies."""
    parts = np.arange(200) % 2
    correct = (np.arange(200) // 2 < np.where(parts, 85, 75))[None]
    twice = np.arange(400) // 2
    kinds = [
        {kind for kind, *_ in stated(graded(*data)) if kind.startswith("grade: ")}
        for data in (
            (correct, parts, None),
            (correct[:, twice], parts[twice], None),
            (correct[:, twice], parts[twice], twice),
        )
    ]
    assert "grade: weakest slice" not in kinds[0] and "grade: weakest slice" in kinds[1]
    assert kinds[2] == kinds[0]


def test_a_harder_slice_is_found():
    rng = np.random.default_rng(1)
    homes = households(rng, 300)
    right = correct_in_households(rng, np.array([0.6]), homes) & (homes % 2 == 0)
    right |= correct_in_households(rng, np.array([0.95]), homes) & (homes % 2 == 1)
    (kind, headline, text) = stated(graded(right, homes % 2, homes, "part=0"))[0]
    assert kind == "grade: harder slice" and headline.startswith("part=0 is harder")
    rest = clustered_share(right[0, homes % 2 == 1], homes[homes % 2 == 1])
    assert f"{100 * rest.value:.1f}% ({100 * rest.low:.1f} to {100 * rest.high:.1f}) of the rest" in text


def test_best_and_worst_model_are_over_households():
    rng = np.random.default_rng(2)
    homes = households(rng, 60)
    right = correct_in_households(rng, np.array([0.9, 0.7, 0.5]), homes)
    text = next(
        text for kind, _, text in stated(graded(right, homes % 2, homes)) if kind == "grade: range of accuracies"
    )
    best = clustered_best_share(right, homes)
    worst = clustered_best_share(~right, homes)
    assert f"{100 * best.value:.1f}% ({100 * best.low:.1f} to {100 * best.high:.1f})" in text
    assert f"{100 - 100 * worst.value:.1f}% ({100 - 100 * worst.high:.1f} to {100 - 100 * worst.low:.1f})" in text


def test_a_single_household_shows_nothing():
    parts = np.repeat([0, 1], 100)
    kinds = {kind for kind, *_ in stated(graded((parts == 0)[None], parts, np.zeros(200, dtype=int)))}
    assert kinds == {"grade: accuracy of one model", "grade: no weak slice shown"}


def test_a_slice_next_to_a_hard_one_is_compared_with_the_rest():
    parts, homes = np.arange(200) % 2, np.arange(200) // 2
    test_set = labeled_set(200, part=tuple(map(str, parts)), household=tuple(map(str, homes)))
    hard = SliceSet("hard", test_set.name, 200, {"hard": parts == 0}, chosen_hard=True)
    test_set = replace(test_set, slice_sets=(hard,))
    scored = predicted(test_set, (parts == 1)[None])
    result = grade(test_set, scored, slices=["hard", "part=0"], clusters=image_clusters(test_set, None))
    assert "grade: harder slice" in {kind for kind, *_ in stated(result)}


@pytest.mark.parametrize(("chosen", "most_plain"), [("part", 0.3), ("part=0", 0.12)])
def test_equal_slices_are_rarely_told_apart(chosen, most_plain):
    """Slices of 40 households of 1 to 8 images, equally hard; as if images were independent, often told apart."""
    rng, claimed = np.random.default_rng(3), []
    for _ in range(200):
        homes = households(rng, 160)
        right = alike(rng, homes, rows=1) < 0.8
        runs = [stated(graded(right, homes % 4, clusters, chosen)) for clusters in (homes, None)]
        claimed.append([any(kind in CLAIMS for kind, *_ in run) for run in runs])
    clustered, plain = np.mean(claimed, axis=0)
    assert clustered <= 0.05 and plain > most_plain
