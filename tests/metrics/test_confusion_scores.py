"""Tests of the confusion score: by hand, against a slow reference, bounds, and invalid scores."""

import subprocess
import sys
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special, stats

from regrade.core import InputError, ScoreKind, checkpoints_of
from regrade.metrics import confusion_entropies, confusion_score, confusion_scores, final_predictions, mean_softmax

KINDS = {
    ScoreKind.LOGITS: lambda logits: logits,
    ScoreKind.LOG_PROBABILITIES: lambda logits: special.log_softmax(logits, axis=-1),
    ScoreKind.PROBABILITIES: lambda logits: special.softmax(logits, axis=-1),
}
LOGITS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 6), st.integers(2, 8)),
    elements=st.floats(-30, 30, width=32),
)


def slow(logits, base=2.0):
    """Slow reference: the definition in double precision."""
    logits = np.asarray(logits, dtype=np.float64)
    probabilities = special.softmax(logits, axis=-1)
    mean = probabilities.mean(axis=0)
    return stats.entropy(mean, base=base, axis=-1).mean(axis=0)


def score(scores, kind=ScoreKind.LOGITS, **options):
    return confusion_score(checkpoints_of(np.asarray(scores), kind=kind), **options)


def test_by_hand():
    """Two seeds, two epochs, one image.

    First epoch: both (1/2, 1/2), entropy 1. Second: (1, 0) and (0, 1), mean (1/2, 1/2), entropy 1 again, though each
    seed alone is sure: their own scores are (1 + 0) / 2.
    """
    scores = [[[[0.5, 0.5]], [[1.0, 0.0]]], [[[0.5, 0.5]], [[0.0, 1.0]]]]
    entropies = confusion_entropies(checkpoints_of(np.array(scores), kind=ScoreKind.PROBABILITIES))
    assert entropies.epochs.tolist() == [[1.0], [1.0]]
    assert entropies.members.tolist() == [[0.5], [0.5]]
    assert score(scores, ScoreKind.PROBABILITIES) == pytest.approx([1.0])
    assert score(scores, ScoreKind.PROBABILITIES, base=np.e) == pytest.approx([np.log(2)])


def test_probabilities_are_averaged_before_the_entropy():
    """(3/4, 1/4) and (1/4, 3/4) have 0.811 bits each, and 1 bit together."""
    scores = np.array([[[[0.75, 0.25]]], [[[0.25, 0.75]]]])
    entropies = confusion_entropies(checkpoints_of(scores, kind=ScoreKind.PROBABILITIES))
    assert entropies.score == pytest.approx([1.0])
    assert entropies.members.ravel() == pytest.approx([0.8113, 0.8113], abs=1e-4)


@given(LOGITS, st.sampled_from(list(KINDS)), st.sampled_from([2.0, np.e, 10.0]))
@settings(deadline=None)
def test_confusion_score_matches_slow_reference(logits, kind, base):
    scores = score(KINDS[kind](logits), kind, base=base)
    assert scores == pytest.approx(slow(logits, base), abs=2e-5)


@given(LOGITS, st.sampled_from(list(KINDS)))
@settings(deadline=None)
def test_entropies_lie_within_bounds(logits, kind):
    checkpoints = checkpoints_of(KINDS[kind](logits), kind=kind)
    entropies = confusion_entropies(checkpoints)
    top = log2(logits.shape[-1])
    for part in (entropies.epochs, entropies.members, entropies.score):
        assert (part >= 0).all() and (part <= top + 1e-6).all()
    for member, own in enumerate(entropies.members):
        assert own == pytest.approx(slow(logits[member : member + 1]), abs=2e-5)
    assert entropies.score == pytest.approx(confusion_score(checkpoints), abs=1e-5)
    mean = entropies.members.mean(axis=0)
    assert (mean <= entropies.score + 1e-4).all()  # averaging probabilities can only make them less certain


ANY_HALF = st.one_of(st.floats(-30, 30, width=16), st.floats(-65_504, 65_504, width=16), st.just(-np.inf), st.just(7.5))


@given(hnp.arrays(np.float16, st.tuples(*[st.integers(1, 3)] * 3, st.integers(2, 8)), elements=ANY_HALF))
@settings(deadline=None)
def test_half_precision_matches_slow_reference(logits):
    """Logits of any size, -inf and constant rows: to 2e-5 bits, the error of single precision."""
    logits[..., 0] = np.where(np.isneginf(logits).all(axis=-1), 0, logits[..., 0])
    expected = slow(logits)
    assert score(logits) == pytest.approx(expected, abs=2e-5)
    entropies = confusion_entropies(checkpoints_of(logits, kind=ScoreKind.LOGITS))
    assert entropies.score == pytest.approx(expected, abs=2e-5)
    for member, own in enumerate(entropies.members):
        assert own == pytest.approx(slow(logits[member : member + 1]), abs=2e-5)


def test_half_precision_gives_the_score_of_single_precision():
    """The same logits, by table and by arithmetic: a thousand classes, 200 images of different certainty."""
    rng = np.random.default_rng(0)
    logits = (rng.normal(size=(3, 2, 200, 1000)) * rng.uniform(0.2, 8, (200, 1))).astype(np.float16)
    by_table, by_arithmetic = score(logits), score(logits.astype(np.float32))
    assert np.abs(by_table - by_arithmetic).max() < 1e-5
    assert np.abs(by_table - slow(logits)).max() < 1e-5


@pytest.mark.parametrize("kind", [ScoreKind.LOGITS, ScoreKind.LOG_PROBABILITIES])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_minus_infinity_is_probability_0(kind, dtype):
    logits = np.array([[[np.log(0.5), np.log(0.5), -np.inf]]], dtype=dtype)
    assert score(logits, kind) == pytest.approx([1.0], abs=1e-3)
    assert confusion_entropies(checkpoints_of(logits, kind=kind)).members == pytest.approx(np.array([[1.0]]), abs=1e-3)


@pytest.mark.parametrize("shift", [-60_000, -500, 88, 500, 60_000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_logits_of_any_size(shift, dtype):
    """Softmax is invariant to shifts of the logits, also where single precision overflows."""
    logits = (np.array([[[[3.0, 1.0, 0.0]]], [[[0.0, 2.0, 2.0]]]]) * 32 + shift).astype(dtype)
    expected = slow(logits)
    assert score(logits) == pytest.approx(expected, abs=1e-4)
    assert confusion_entropies(checkpoints_of(logits, kind=ScoreKind.LOGITS)).score == pytest.approx(expected, abs=1e-4)


def test_many_rows_and_blocks_and_tasks(monkeypatch):
    """More images than fit into a block, and more than a thread takes at a time."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (2, 3, 500, 7)).astype(np.float16)
    expected = slow(logits)
    monkeypatch.setattr(mean_softmax, "_CACHE", 4 * 7 * 4 * 11)
    monkeypatch.setattr(confusion_scores, "_TASK", 7 * 2 * 37)
    assert score(logits) == pytest.approx(expected, abs=1e-5)
    assert confusion_entropies(checkpoints_of(logits, kind=ScoreKind.LOGITS)).score == pytest.approx(expected, abs=1e-5)


def test_many_members_are_averaged_too(monkeypatch):
    """With some thousands of scores per image another averaging path is used."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (5, 1, 20, 6))
    expected = score(logits)
    monkeypatch.setattr(mean_softmax, "_ONE_THREAD", 10)
    assert score(logits) == pytest.approx(expected, abs=1e-6)
    assert expected == pytest.approx(slow(logits), abs=1e-5)


def test_one_image_one_member_one_epoch():
    assert score([[[[0.0, 0.0, 0.0, 0.0]]]]) == pytest.approx([2.0])


def test_final_predictions_by_hand():
    scores = np.array([[[[0.6, 0.4, 0.0]], [[0.5, 0.3, 0.2]]], [[[0.0, 1.0, 0.0]], [[0.1, 0.7, 0.2]]]])
    predictions = final_predictions(checkpoints_of(scores, kind=ScoreKind.PROBABILITIES))
    assert predictions.classes.tolist() == [1]  # (0.3, 0.5, 0.2) after the last epoch
    assert predictions.confidence == pytest.approx([0.5])
    tied = final_predictions(checkpoints_of(np.zeros((1, 1, 1, 3)), kind=ScoreKind.LOGITS))
    assert tied.classes.tolist() == [0]


class TestInvalidScores:
    ROWS = np.full((1, 2, 5, 4), 0.25)

    def refused(self, scores, kind, dtype):
        checkpoints = checkpoints_of(scores.astype(dtype), kind=kind, ensemble="E")
        with pytest.raises(InputError) as error:
            confusion_score(checkpoints)
        return str(error.value)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    @pytest.mark.parametrize("kind", list(ScoreKind))
    def test_nan_scores_raise(self, kind, dtype):
        scores = KINDS[kind](self.ROWS.copy())
        for bad in (np.nan, -np.nan):
            scores[0, 1, 3, 2] = bad
            assert self.refused(scores, kind, dtype) == "scores of E, member 0, epoch 1, row 4: not a number"

    @pytest.mark.parametrize("dtype", [np.float16, np.float64])
    def test_probabilities_that_are_negative(self, dtype):
        scores = self.ROWS.copy()
        scores[0, 0, 4] = [1.25, -0.25, 0, 0]
        message = "scores of E, member 0, epoch 0, row 5: a probability is negative; are these logits?"
        assert self.refused(scores, ScoreKind.PROBABILITIES, dtype) == message

    @pytest.mark.parametrize("dtype", [np.float16, np.float64])
    def test_probabilities_that_do_not_add_up(self, dtype):
        scores = self.ROWS.copy()
        scores[0, 0, 2] = [0.5, 0.5, 0.5, 0.0]
        assert "row 3: the probabilities add up to 1.5, not to 1" in self.refused(
            scores, ScoreKind.PROBABILITIES, dtype
        )
        with np.errstate(divide="ignore"):
            logs = np.log(scores)
        assert "row 3: the probabilities add up to 1.5" in self.refused(logs, ScoreKind.LOG_PROBABILITIES, dtype)

    @pytest.mark.parametrize("dtype", [np.float16, np.float64])
    def test_infinite_logits_raise(self, dtype):
        scores = self.ROWS.copy()
        scores[0, 0, 1] = -np.inf
        assert "row 2: the largest logit is -inf" in self.refused(scores, ScoreKind.LOGITS, dtype)
        scores[0, 0, 1] = [0, np.inf, 0, 0]
        assert "row 2: the largest logit is inf" in self.refused(scores, ScoreKind.LOGITS, dtype)

    def test_rows_are_counted_from_the_first_of_all(self, monkeypatch):
        monkeypatch.setattr(mean_softmax, "_CACHE", 1)
        monkeypatch.setattr(confusion_scores, "_TASK", 8)
        scores = np.full((1, 1, 50, 4), 0.25)
        scores[0, 0, 43, 1] = 2.0
        assert "row 44:" in self.refused(scores, ScoreKind.PROBABILITIES, np.float32)

    @pytest.mark.parametrize("base", [1.0, 0.5, -2.0, np.nan, np.inf])
    def test_invalid_base_raises(self, base):
        with pytest.raises(InputError, match="base of a logarithm must be above 1"):
            score(self.ROWS, ScoreKind.PROBABILITIES, base=base)


def test_sum_within_one_percent_is_accepted():
    """Half precision changes the sum of probabilities, which is normalized."""
    exact = np.array([[[0.7, 0.2, 0.1]]])
    assert score(exact * 1.005, ScoreKind.PROBABILITIES) == pytest.approx(
        score(exact, ScoreKind.PROBABILITIES), abs=1e-6
    )


_MEMORY = """
import resource, sys
import numpy as np
from regrade.core import Checkpoints, ScoreKind
from regrade.metrics import confusion_score
def read(member, epoch):
    return np.load(sys.argv[1], mmap_mode="r")
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
small = Checkpoints("E", "", "", ScoreKind.LOGITS, ("0",), (0,), 100_000, 400, read)
many = Checkpoints("E", "", "", ScoreKind.LOGITS, ("0", "1", "2"), tuple(range(4)), 100_000, 400, read)
confusion_score(small)
before = peak()
confusion_score(many)
print(before, peak())
"""


def test_memory_does_not_grow_with_what_is_stored(tmp_path):
    """Twelve files of 80 MB instead of one, read as memory maps: the same peak to within two files."""
    path = tmp_path / "scores.npy"
    np.save(path, np.zeros((100_000, 400), dtype=np.float16))
    done = subprocess.run([sys.executable, "-c", _MEMORY, path], capture_output=True, text=True, check=True)
    before, after = (int(each) for each in done.stdout.split())
    assert after - before < 200_000  # kB
