"""The entropies of the kernel equal the formula in double precision."""

import numpy as np
import pytest

from regrade import metrics
from regrade.core import InputError, ScoreKind, checkpoints_of

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

pytestmark = pytest.mark.filterwarnings("ignore:divide by zero|invalid value:RuntimeWarning")  # of the interpreter

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def entropies(members):
    """By the formula: the entropy, in bits, of the mean of the softmaxes."""
    softmaxes = [np.exp(m - m.max(1, keepdims=True)) for m in members]
    mean = np.mean([s / s.sum(1, keepdims=True) for s in softmaxes], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.where(mean > 0, mean * np.log2(mean), 0).sum(1)


def by_kernel(members, dtype=torch.float32):
    from regrade.kernels.confusion import mean_entropies

    return mean_entropies([torch.tensor(m, dtype=dtype, device=DEVICE) for m in members]).cpu().numpy()


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_mean_entropies_equal_the_formula(members, classes):
    logits = np.random.default_rng(0).normal(size=(members, 6, classes)) * 5
    np.testing.assert_allclose(by_kernel(logits), entropies(logits), atol=2e-5)


def test_mean_entropies_of_half_precision_and_large_logits():
    logits = np.random.default_rng(1).normal(size=(2, 4, 20)) * 1000
    half = logits.astype(np.float16).astype(float)
    np.testing.assert_allclose(by_kernel(logits, torch.float16), entropies(half), atol=2e-5)


def test_mean_entropies_by_hand():
    """Two members that are sure of different classes of four: one bit; equal scores: two bits."""
    sure = np.array([[90.0, 0, 0, 0], [0.0, 0, 0, 0]]), np.array([[0.0, 90, 0, 0], [0.0, 0, 0, 0]])
    np.testing.assert_allclose(by_kernel(sure), [1, 2], atol=1e-5)


def test_confusion_score_is_the_mean_over_epochs_and_that_of_stored_scores():
    from regrade.kernels.confusion import confusion_score

    logits = np.random.default_rng(2).normal(size=(3, 2, 5, 12)).astype(np.float32) * 3  # epochs, members
    given = confusion_score([torch.from_numpy(m).to(DEVICE) for m in epoch] for epoch in logits).cpu().numpy()
    np.testing.assert_allclose(given, np.mean([entropies(epoch) for epoch in logits], axis=0), atol=2e-5)
    stored = checkpoints_of([list(member) for member in logits.swapaxes(0, 1)], kind=ScoreKind.LOGITS)
    np.testing.assert_allclose(given, metrics.confusion_score(stored), atol=2e-5)


def test_confusion_score_refuses_members_of_different_shape_and_no_epoch():
    from regrade.kernels.confusion import confusion_score

    with pytest.raises(InputError, match="an epoch at least"):
        confusion_score([])
    with pytest.raises(InputError, match="same shape"):
        confusion_score([[torch.zeros((3, 4), device=DEVICE), torch.zeros((3, 5), device=DEVICE)]])


def test_a_class_that_is_ruled_out_counts_nothing():
    logits = np.array([[[0.0, 0.0, -np.inf]]])
    np.testing.assert_allclose(by_kernel(logits), [1], atol=1e-6)
