"""Group maxima and group scores equal those of all products."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def tensors(*arrays):
    return [torch.from_numpy(np.ascontiguousarray(array)).to(DEVICE) for array in arrays]


@pytest.mark.parametrize(("count", "size", "width"), [(3, 64, 8), (5, 130, 70), (130, 300, 20)])
def test_group_maxima_are_those_of_all_products(count, size, width):
    from regrade.kernels.group_maxima import GROUP, group_maxima

    rng = np.random.default_rng(0)
    queries, references = (rng.normal(size=(n, width)).astype(np.float16) for n in (count, size))
    penalties = rng.normal(size=size).astype(np.float32)
    penalties[7] = np.inf
    given = group_maxima(*tensors(queries, references, penalties)).cpu().numpy()
    scores = queries.astype(float) @ references.T.astype(float) - penalties
    starts = range(0, size, GROUP)
    np.testing.assert_allclose(given, np.stack([scores[:, s : s + GROUP].max(1) for s in starts], 1), atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_group_scores_are_those_of_the_references(dtype):
    from regrade.kernels.group_maxima import GROUP, group_scores

    rng = np.random.default_rng(0)
    queries, rows = rng.normal(size=(4, 70)).astype(np.float32), rng.normal(size=(150, 70)).astype(dtype)
    shift, factors, penalties = (rng.random(n).astype(np.float32) for n in (70, 150, 150))
    groups = np.array([[0, 2], [1, 0], [2, 1], [2, 0]])
    own = tensors(queries, groups, rows, shift, factors, penalties)
    given = group_scores(*own[:3], shift=own[3], factors=own[4], penalties=own[5]).cpu().numpy()
    scores = queries @ ((rows.astype(np.float32) - shift) * factors[:, None]).T - penalties
    padded = np.pad(scores, ((0, 0), (0, 3 * GROUP - 150)), constant_values=-np.inf)
    expected = padded.reshape(4, 3, GROUP)[np.arange(4)[:, None], groups]
    np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-4)
