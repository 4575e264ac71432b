"""Tests of the scores of hard images: by hand, against slow references and scipy, bounds, and invalid input."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special, stats

from regrade.core import InputError, ScoreKind, checkpoints_of
from regrade.metrics import (
    area_under_margin,
    confusion_entropies,
    confusion_scores,
    el2n,
    human_entropies,
    label_confidence,
    label_variability,
    mean_softmax,
    prediction_entropies,
    prediction_margins,
    training_scores,
)

KINDS = {
    ScoreKind.LOGITS: lambda logits: logits,
    ScoreKind.LOG_PROBABILITIES: lambda logits: special.log_softmax(logits, axis=-1),
    ScoreKind.PROBABILITIES: lambda logits: special.softmax(logits, axis=-1),
}
LOGITS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 3), st.integers(2, 4), st.integers(1, 6), st.integers(2, 8)),
    elements=st.floats(-6, 6, width=32),
)  # (m, t, n, c)
LABELS = np.array([0, 1, 0, 1, 1, 0])


class TestByHand:
    """Three classes; an image that is learned between two epochs, one that is certain and wrong, one with a tie."""

    PROBABILITIES = np.array([
        [[0.25, 0.25, 0.5], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]],
        [[0.75, 0.25, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]],
    ])  # fmt: skip
    LABELS = np.array([0, 1, 1])

    def test_entropy_and_margin(self):
        assert prediction_entropies(self.PROBABILITIES[0]) == pytest.approx([1.5, 0.0, 1.0])
        assert prediction_margins(self.PROBABILITIES[0]) == pytest.approx([0.25, 1.0, 0.0])
        assert prediction_margins(self.PROBABILITIES[1]) == pytest.approx([0.5, 1.0, 0.0])

    def test_el2n(self):
        """Squared residuals of the first image: 9/16 + 1/16 + 4/16, then 1/16 + 1/16."""
        expected = [(np.sqrt(14) / 4 + np.sqrt(2) / 4) / 2, np.sqrt(2), np.sqrt(0.5)]
        assert el2n(self.PROBABILITIES, self.LABELS) == pytest.approx(expected)

    def test_area_under_margin(self):
        logits = np.array([[[1.0, 2.0, 4.0], [3.0, 3.0, 0.0]], [[6.0, 2.0, 4.0], [3.0, 3.0, 9.0]]])
        assert area_under_margin(logits, np.array([0, 1])).tolist() == [(-3 + 2) / 2, (0 - 6) / 2]

    def test_confidence_and_variability(self):
        assert label_confidence(self.PROBABILITIES, self.LABELS) == pytest.approx([0.5, 0.0, 0.5])
        assert label_variability(self.PROBABILITIES, self.LABELS) == pytest.approx([0.25, 0.0, 0.0])

    def test_human_entropy_needs_two_answers(self):
        counts = np.array([[2, 1, 1], [0, 7, 0], [0, 0, 1], [0, 0, 0]], dtype=np.uint8)
        assert human_entropies(counts) == pytest.approx([1.5, 0.0, np.nan, np.nan], nan_ok=True)

    def test_all_scores_in_one_pass(self):
        """Two members with the same probabilities, 0 logs of which count as the smallest half-precision number."""
        checkpoints = checkpoints_of(np.stack([self.PROBABILITIES] * 2), kind=ScoreKind.PROBABILITIES)
        scores = training_scores(checkpoints, self.LABELS, early=1)
        assert scores.entropies.epochs[0] == pytest.approx([1.5, 0.0, 1.0])
        assert scores.first_member == pytest.approx(scores.entropies.epochs)
        assert scores.final_margin == pytest.approx([0.5, 1.0, 0.0])
        assert scores.by_label.el2n == pytest.approx([np.sqrt(14) / 4, np.sqrt(2), np.sqrt(0.5)])
        assert scores.by_label.confidence == pytest.approx([0.5, 0.0, 0.5])
        assert scores.by_label.variability == pytest.approx([0.25, 0.0, 0.0], abs=1e-7)
        margins = [(np.log(0.25 / 0.5) + np.log(3)) / 2, -24 * np.log(2), 0.0]
        assert scores.by_label.area_under_margin == pytest.approx(margins, abs=1e-5)


@given(LOGITS)
@settings(deadline=None)
def test_scores_match_slow_references(logits):
    probabilities = special.softmax(logits[0], axis=-1)
    n, labels = logits.shape[2], LABELS[: logits.shape[2]]
    assert prediction_entropies(probabilities[0]) == pytest.approx(stats.entropy(probabilities[0], base=2, axis=1))
    ordered = np.sort(probabilities[0], axis=1)
    assert prediction_margins(probabilities[0]) == pytest.approx(ordered[:, -1] - ordered[:, -2])
    for image in range(n):
        own = probabilities[:, image, labels[image]]
        target = np.eye(logits.shape[-1])[labels[image]]
        norms = [np.linalg.norm(row - target) for row in probabilities[:, image]]
        assert el2n(probabilities, labels)[image] == pytest.approx(np.mean(norms))
        margins = [row[labels[image]] - np.delete(row, labels[image]).max() for row in logits[0][:, image]]
        assert area_under_margin(logits[0], labels)[image] == pytest.approx(np.mean(margins))
        assert label_confidence(probabilities, labels)[image] == pytest.approx(np.mean(own))
        assert label_variability(probabilities, labels)[image] == pytest.approx(np.std(own))


@given(LOGITS, st.sampled_from(list(KINDS)), st.integers(1, 12))
@settings(deadline=None)
def test_one_pass_equals_the_plain_functions(logits, kind, early):
    labels = LABELS[: logits.shape[2]]
    checkpoints = checkpoints_of(KINDS[kind](logits), kind=kind)
    probabilities = special.softmax(logits, axis=-1)
    scores = training_scores(checkpoints, labels, early=early)
    first = np.concatenate(probabilities[:, :early])  # members and early epochs alike
    assert scores.by_label.el2n == pytest.approx(el2n(first, labels), abs=1e-5)
    assert scores.by_label.area_under_margin == pytest.approx(area_under_margin(logits[0], labels), abs=1e-3)
    assert scores.by_label.confidence == pytest.approx(label_confidence(probabilities[0], labels), abs=1e-5)
    assert scores.by_label.variability == pytest.approx(label_variability(probabilities[0], labels), abs=1e-3)
    assert scores.final_margin == pytest.approx(prediction_margins(probabilities[0, -1]), abs=1e-5)
    for epoch, own in enumerate(scores.first_member):
        assert own == pytest.approx(prediction_entropies(probabilities[0, epoch]), abs=2e-5)
    entropies = confusion_entropies(checkpoints)
    assert (scores.entropies.epochs == entropies.epochs).all()
    assert (scores.entropies.members == entropies.members).all()


@given(LOGITS)
@settings(deadline=None)
def test_scores_lie_within_bounds(logits):
    labels, classes = LABELS[: logits.shape[2]], logits.shape[-1]
    probabilities = special.softmax(logits[0], axis=-1)
    for values, most in (
        (prediction_entropies(probabilities[0]), np.log2(classes)),
        (prediction_margins(probabilities[0]), 1.0),
        (el2n(probabilities, labels), np.sqrt(2)),
        (label_confidence(probabilities, labels), 1.0),
        (label_variability(probabilities, labels), 0.5),
    ):
        assert (values >= 0).all() and (values <= most + 1e-12).all()
    right = (logits[0].argmax(axis=2) == labels).all(axis=0)
    assert (area_under_margin(logits[0], labels)[right] >= 0).all()


def test_images_without_a_label_have_no_label_scores(monkeypatch):
    """Also over several blocks and tasks."""
    monkeypatch.setattr(mean_softmax, "_CACHE", 4 * 5 * 4 * 7)
    monkeypatch.setattr(confusion_scores, "_TASK", 5 * 2 * 23)
    logits = np.random.default_rng(0).normal(0, 2, (2, 3, 100, 5)).astype(np.float32)
    labels = np.arange(100) % 6 - 1
    scores = training_scores(checkpoints_of(logits, kind=ScoreKind.LOGITS), labels).by_label
    labeled = labels >= 0
    assert scores.area_under_margin[labeled] == pytest.approx(
        area_under_margin(logits[0], np.maximum(labels, 0))[labeled], abs=1e-4
    )
    for column in vars(scores).values():
        assert (np.isnan(column) == ~labeled).all()


def test_one_epoch_has_no_variability_and_no_labels_no_label_scores():
    one_epoch = checkpoints_of(np.zeros((1, 1, 2, 3)), kind=ScoreKind.LOGITS)
    assert training_scores(one_epoch, np.array([0, 1])).by_label.variability is None
    assert training_scores(one_epoch).by_label is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: prediction_entropies(np.zeros(3)), "expected an array of 2 dimensions"),
        (lambda: prediction_margins(np.zeros((3, 1))), "two or more classes"),
        (lambda: el2n(np.zeros((3, 2)), np.zeros(3, int)), "expected an array of 3 dimensions"),
        (lambda: label_variability(np.zeros((1, 3, 2)), np.zeros(3, int)), "at least two epochs"),
        (lambda: human_entropies([[1, -1]]), "at least 0"),
        (lambda: training_scores(checkpoints_of(np.zeros((1, 2, 3)), kind=ScoreKind.LOGITS), early=0), "early"),
        (lambda: training_scores(checkpoints_of(np.zeros((1, 2, 3)), kind=ScoreKind.LOGITS), LABELS), "as many labels"),
    ],
)
def test_invalid_input_raises(call, message):
    with pytest.raises(InputError, match=message):
        call()


_MEMORY = """
import resource, sys
import numpy as np
from regrade.core import Checkpoints, ScoreKind
from regrade.metrics import training_scores
def read(member, epoch):
    return np.load(sys.argv[1], mmap_mode="r")
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
labels = np.zeros(100_000, dtype=int)
small = Checkpoints("E", "", "", ScoreKind.LOGITS, ("0",), (0,), 100_000, 400, read)
many = Checkpoints("E", "", "", ScoreKind.LOGITS, ("0", "1", "2"), tuple(range(4)), 100_000, 400, read)
training_scores(small, labels)
before = peak()
training_scores(many, labels)
print(before, peak())
"""


def test_memory_does_not_grow_with_what_is_stored(tmp_path):
    """Twelve files of 80 MB instead of one, read as memory maps: the same peak to within two files."""
    path = tmp_path / "scores.npy"
    np.save(path, np.zeros((100_000, 400), dtype=np.float16))
    done = subprocess.run([sys.executable, "-c", _MEMORY, path], capture_output=True, text=True, check=True)
    before, after = (int(each) for each in done.stdout.split())
    assert after - before < 200_000  # kB
