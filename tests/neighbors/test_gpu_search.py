"""The search on a GPU finds the neighbors of the search on the CPU; here Triton runs its kernels in Python."""

import numpy as np
import pytest

from regrade.core import InputError
from regrade.neighbors import Metric, NeighborEngine, gpu_search, nearest
from regrade.neighbors.gpu_search import GpuReferences, merged, uploaded
from regrade.neighbors.nearest import _shift

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of the interpreter

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def on_gpu(queries, references, *, k, metric, within=False, usable=None, blocks=1, full=None):
    """Indices and distances (q, k), with the references in several blocks; ``full`` counts uncertain queries."""
    width = references.shape[1]
    shift = _shift(references) if metric is Metric.EUCLIDEAN else np.zeros(width, np.float32)
    neighbors = None
    for rows in np.array_split(np.arange(len(references)), blocks):
        part = slice(rows[0], rows[-1] + 1)
        block = GpuReferences(
            references[part],
            shift=shift,
            cosine=metric is Metric.COSINE,
            usable=None if usable is None else usable[part],
            first=int(rows[0]),
            device=DEVICE,
        )
        if full is not None:
            search = block._full_search
            block._full_search = lambda *args, s=search: (full.append(len(args[0])), s(*args))[1]
        kept = min(k + 8, len(references))
        neighbors = merged(neighbors, block.search(uploaded(queries, DEVICE), k, kept=kept, own=0 if within else None))
    indices, squares = neighbors.indices[:, :k].cpu().numpy(), neighbors.squares[:, :k].cpu().numpy()
    squares = np.where(np.isfinite(squares), squares / 2 if metric is Metric.COSINE else squares, np.nan)
    return indices, squares


def assert_same(given, expected):
    np.testing.assert_array_equal(given[0], expected.indices)
    np.testing.assert_allclose(given[1], expected.distances, rtol=1e-9, atol=1e-12)


def rows(count, width=20, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=(count, width)).astype(dtype)


@pytest.mark.parametrize("metric", Metric)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_neighbors_are_those_of_the_cpu(metric, dtype):
    queries, references = rows(5, dtype=dtype), rows(1500, seed=1, dtype=dtype)
    references[10:20] = references[9]  # equally near: the lower index first
    queries[1] = references[9]
    assert_same(on_gpu(queries, references, k=3, metric=metric), nearest(queries, references, k=3, metric=metric))


@pytest.mark.parametrize("metric", Metric)
def test_unusable_rows_and_queries_themselves_are_not_found(metric):
    references = rows(200)
    references[3], references[4], references[5] = np.nan, np.inf, 0
    usable = np.random.default_rng(0).random(200) < 0.8
    given = on_gpu(references, references, k=2, metric=metric, within=True, usable=usable, blocks=3)
    assert_same(given, nearest(references, references, k=2, metric=metric, within=True, usable=usable))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_values_beyond_half_precision_are_scaled(scale):
    queries, references = rows(4) * np.float32(scale), rows(1500, seed=2) * np.float32(scale)
    given = on_gpu(queries, references, k=2, metric=Metric.EUCLIDEAN)
    np.testing.assert_array_equal(given[0], nearest(queries, references, k=2).indices)


def test_references_that_fit_go_with_the_free_memory(monkeypatch):
    """A row of 512 numbers in single precision takes 512 x (4 + 2 + 16) + 64 bytes, of 60 % of the memory."""
    monkeypatch.setattr(gpu_search, "free_bytes", lambda: 10**9)
    assert gpu_search.rows_that_fit(512, 4) == int(0.6e9) // 11_328
    monkeypatch.setattr(gpu_search, "free_bytes", lambda: 10**7)
    with pytest.raises(InputError, match=r"only 0\.01 GB of free memory"):
        gpu_search.rows_that_fit(512, 4)


def test_memory_that_runs_out_is_one_line(monkeypatch):
    def fail(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory\nmore")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(gpu_search, "rows_that_fit", lambda *_: 100)
    monkeypatch.setattr(gpu_search, "GpuReferences", fail)
    with pytest.raises(InputError, match="ran out during the search: free some of it"):
        nearest(rows(3), rows(200, seed=1), k=1, engine=NeighborEngine.CUDA)


def test_a_search_in_small_tiles_finds_the_same(monkeypatch):
    monkeypatch.setattr(gpu_search, "_TILE_BYTES", 50_000)
    given = on_gpu(rows(7), rows(300, seed=1), k=2, metric=Metric.EUCLIDEAN)
    assert_same(given, nearest(rows(7), rows(300, seed=1), k=2))


def test_references_may_be_a_tensor():
    block = GpuReferences(torch.from_numpy(rows(300)), shift=np.zeros(20, np.float32), cosine=False, device=DEVICE)
    neighbors = block.search(torch.from_numpy(rows(3, seed=1)).to(DEVICE), 1, kept=9)
    np.testing.assert_array_equal(neighbors.indices[:, :1].cpu(), nearest(rows(3, seed=1), rows(300), k=1).indices)


def test_fewer_references_than_neighbors():
    given = on_gpu(rows(3), rows(4, seed=1), k=6, metric=Metric.EUCLIDEAN)
    expected = nearest(rows(3), rows(4, seed=1), k=6)
    np.testing.assert_array_equal(given[0], expected.indices[:, : given[0].shape[1]])


def test_queries_that_half_precision_cannot_decide_are_compared_with_every_reference():
    """Thousands of references lie within the error of half precision around a query, one of them nearest."""
    center, full = rows(1)[0] * 10, []
    references = np.concatenate([rows(1100, seed=5), center + 1e-2 * rows(2000, seed=3)]).astype(np.float32)
    references[1700] = center + 1e-4
    queries = np.stack([center, rows(1, seed=4)[0]]).astype(np.float32)
    given = on_gpu(queries, references, k=1, metric=Metric.EUCLIDEAN, full=full)
    assert sum(full) >= 1
    assert given[0][0] == 1700
    np.testing.assert_array_equal(given[0], nearest(queries, references, k=1).indices)


def test_queries_that_are_far_apart_are_certain():
    full = []
    on_gpu(rows(4, 64), rows(1500, 64, seed=1), k=2, metric=Metric.EUCLIDEAN, full=full)
    assert not full
