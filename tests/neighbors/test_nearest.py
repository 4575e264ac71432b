"""Exact nearest neighbors of every engine are compared with brute force in double precision."""

import importlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skipping import skip

from regrade.core import InputError
from regrade.neighbors import Metric, NeighborEngine, nearest
from regrade.neighbors.engines import TopScores

ENGINES = [NeighborEngine.NUMPY, NeighborEngine.TORCH, NeighborEngine.FAISS]


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.value)
def engine(request):
    if request.param is not NeighborEngine.NUMPY:
        try:
            __import__(request.param.value)
        except ModuleNotFoundError:
            skip(f"{request.param.value} is not installed")
    return request.param


def brute_force(queries, references, metric, *, within=False):
    """All distances (q, n) in double precision; infinite for references that do not count."""
    first, second = np.asarray(queries, dtype=np.float64), np.asarray(references, dtype=np.float64)
    if metric is Metric.COSINE:
        with np.errstate(invalid="ignore", divide="ignore"):
            first, second = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (first, second))
    distances = ((first[:, None] - second[None]) ** 2).sum(axis=2) / (2 if metric is Metric.COSINE else 1)
    distances = np.where(np.isfinite(distances), distances, np.inf)
    if within:
        np.fill_diagonal(distances, np.inf)
    return distances


def check(result, distances, k):
    """Indices match distances, are sorted, and no nearer reference is missing, up to single precision."""
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    expected = np.take_along_axis(distances, order, axis=1)
    valid = np.isfinite(expected)
    np.testing.assert_array_equal(result.indices[:, : expected.shape[1]] >= 0, valid)
    chosen = np.take_along_axis(distances, np.maximum(result.indices[:, : expected.shape[1]], 0), axis=1)
    scale = np.abs(expected[valid]).max(initial=1e-9)
    np.testing.assert_allclose(chosen[valid], expected[valid], atol=1e-5 * scale)
    np.testing.assert_allclose(result.distances[:, : expected.shape[1]][valid], chosen[valid], atol=1e-9 * scale)
    assert np.isnan(result.distances[result.indices < 0]).all()


@pytest.mark.parametrize("metric", Metric)
@pytest.mark.parametrize("within", [False, True])
def test_nearest_equals_brute_force(engine, metric, within):
    rng = np.random.default_rng(5)
    references = rng.standard_normal((2_500, 24), dtype=np.float32) + 3
    queries = references if within else rng.standard_normal((300, 24), dtype=np.float32) + 3
    result = nearest(queries, references, k=7, metric=metric, within=within, engine=engine)
    distances = brute_force(queries[:300], references, metric)
    if within:
        distances[np.arange(300), np.arange(300)] = np.inf
    check(type(result)(result.indices[:300], result.distances[:300]), distances, 7)


def test_nearest_orders_ties_by_index(engine):
    rng = np.random.default_rng(0)
    rows = rng.integers(-1, 2, (40, 6)).astype(np.float32)  # few values: many are equally near
    references = np.concatenate([rows] * 60)
    result = nearest(rows[:10], references, k=12, engine=engine)
    distances = brute_force(rows[:10], references, Metric.EUCLIDEAN)
    np.testing.assert_array_equal(result.indices, np.argsort(distances, axis=1, kind="stable")[:, :12])


def test_nearest_of_equal_references(engine):
    result = nearest(np.ones((3, 4), np.float32), np.ones((5_000, 4), np.float32), k=3, engine=engine)
    np.testing.assert_array_equal(result.indices, [[0, 1, 2]] * 3)
    np.testing.assert_array_equal(result.distances, np.zeros((3, 3)))


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.tuples(st.integers(1, 12), st.integers(1, 40), st.integers(1, 6), st.integers(1, 30)),
    metric=st.sampled_from(Metric),
    within=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_nearest_of_any_sizes(sizes, metric, within, seed):
    queries, references, width, k = sizes
    rng = np.random.default_rng(seed)
    second = rng.integers(-2, 3, (references, width)).astype(np.float32)
    first = second if within else rng.integers(-2, 3, (queries, width)).astype(np.float32)
    second[rng.random(references) < 0.1] = np.nan
    result = nearest(first, second, k=k, metric=metric, within=within)
    assert result.indices.shape == (len(first), k)
    check(result, brute_force(first, second, metric, within=within), k)


def test_nearest_ignores_rows_that_are_not_finite(engine):
    references = np.array([[1, 0], [np.nan, 0], [np.inf, 1], [0, 0], [2, 0.1]], dtype=np.float32)
    result = nearest(references, references, k=4, metric=Metric.COSINE, within=True, engine=engine)
    np.testing.assert_array_equal(result.indices[:, 0], [4, -1, -1, -1, 0])
    assert (result.indices[:, 1:] == -1).all() and np.isnan(result.distances[:, 1:]).all()


def test_nearest_ignores_unusable_references(engine):
    references = np.arange(8, dtype=np.float32)[:, None]
    usable = np.array([True, False, True, True, False, True, True, True])
    result = nearest(np.array([[1.1]]), references, k=3, usable=usable, engine=engine)
    np.testing.assert_array_equal(result.indices, [[2, 0, 3]])


def test_nearest_measures_small_distances_exactly():
    # far from zero, where single precision resolves only integers
    rng = np.random.default_rng(1)
    references = rng.integers(0, 256, (3_000, 768)).astype(np.uint8)
    queries = references[:50].astype(np.float64)
    queries[:, 0] += 0.25
    result = nearest(queries, references, k=1)
    np.testing.assert_array_equal(result.indices[:, 0], np.arange(50))
    np.testing.assert_array_equal(result.distances[:, 0], np.full(50, 0.0625))


def test_nearest_of_a_memory_map_in_half_precision(tmp_path):
    rng = np.random.default_rng(2)
    np.save(tmp_path / "features.npy", rng.standard_normal((3_000, 16)).astype(np.float16))
    features = np.load(tmp_path / "features.npy", mmap_mode="r")
    result = nearest(features[:20], features, k=5, metric=Metric.COSINE)
    check(result, brute_force(features[:20], features, Metric.COSINE), 5)
    np.testing.assert_array_equal(result.indices[:, 0], np.arange(20))
    np.testing.assert_array_equal(result.distances[:, 0], np.zeros(20))


def test_nearest_of_queries_in_several_parts(monkeypatch):
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((500, 8), dtype=np.float32)
    whole = nearest(rows, rows, k=4, within=True)
    monkeypatch.setattr(importlib.import_module("regrade.neighbors.nearest"), "_QUERIES", 37)
    monkeypatch.setattr("regrade.neighbors.engines.NumpySearcher.block_rows", 41)
    monkeypatch.setattr("regrade.neighbors.engines.NumpySearcher.tile_rows", 13)
    numbers = []
    parts = nearest(rows, rows, k=4, within=True, progress=lambda parts: numbers.extend(parts) or parts)
    np.testing.assert_array_equal(parts.indices, whole.indices)
    np.testing.assert_allclose(parts.distances, whole.distances)
    assert numbers == list(range(14))


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from([-1e30, -2.5, -0.0, 0.0, 1e-30, 3.0]), max_size=9), max_size=12))
def test_top_scores_are_those_of_a_sort_of_all(blocks):
    """Scores of two queries, several candidates at a time; equal ones, 0 and -0 too, go to the lower index."""
    top = TopScores(2, 3)
    for start, scores in enumerate(blocks):
        values = np.array(scores + scores[::-1], dtype=np.float32)
        indices = 10 * start + np.arange(len(scores))
        top.add(np.repeat([0, 1], len(scores)), np.tile(indices, 2), values)
    top.flush()
    for row in range(2):
        everything = [value for scores in blocks for value in (scores, scores[::-1])[row]]
        indices = np.array([10 * start + i for start, scores in enumerate(blocks) for i in range(len(scores))])
        order = np.argsort(-np.array(everything), kind="stable")[:3]
        assert top.indices[row].tolist() == [*indices[order].tolist(), -1, -1, -1][:3]
        assert top.scores[row][: len(order)].tolist() == np.float32(everything)[order].tolist()


def test_nearest_without_references_or_queries():
    result = nearest(np.zeros((2, 3)), np.zeros((0, 3)), k=2)
    assert (result.indices == -1).all() and np.isnan(result.distances).all()
    assert nearest(np.zeros((0, 3)), np.zeros((4, 3)), k=2).indices.shape == (0, 2)


def test_nearest_rejects_invalid_arguments():
    rows = np.zeros((4, 3))
    with pytest.raises(InputError, match="rows of equal length"):
        nearest(rows, np.zeros((4, 2)), k=1)
    with pytest.raises(InputError, match="k must be at least 1, got 0"):
        nearest(rows, rows, k=0)
    with pytest.raises(InputError, match="queries and references are the same, got 4 and 5"):
        nearest(rows, np.zeros((5, 3)), k=1, within=True)
    with pytest.raises(InputError, match="one value for each of 4 references"):
        nearest(rows, rows, k=1, usable=np.ones(3, dtype=bool))
    try:
        import torch
    except ModuleNotFoundError:
        return
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="finds no GPU"):
            nearest(rows, rows, k=1, engine=NeighborEngine.CUDA)


def test_torch_searcher_uses_single_precision_and_restores_the_setting():
    torch = pytest.importorskip("torch")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        rng = np.random.default_rng(8)
        rows = rng.standard_normal((400, 12), dtype=np.float32)
        result = nearest(rows, rows, k=3, within=True, engine=NeighborEngine.TORCH)
        assert torch.get_float32_matmul_precision() == "medium"
        np.testing.assert_array_equal(result.indices, nearest(rows, rows, k=3, within=True).indices)
    finally:
        torch.set_float32_matmul_precision(before)


def test_nearest_uses_little_memory(tmp_path):
    references = np.lib.format.open_memmap(tmp_path / "r.npy", "w+", dtype=np.float16, shape=(100_000, 64))  # 13 MB
    references[:] = np.random.default_rng(0).standard_normal((1_000, 64)).repeat(100, axis=0)
    references.flush()
    tracemalloc.start()
    try:
        nearest(references[:50], references, k=3, metric=Metric.COSINE)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_nearest_of_small_differences_far_from_zero(engine):
    rng = np.random.default_rng(6)
    references = (1_000 + 0.01 * rng.standard_normal((3_000, 24))).astype(np.float32)
    queries = (1_000 + 0.01 * rng.standard_normal((40, 24))).astype(np.float32)
    check(nearest(queries, references, k=3, engine=engine), brute_force(queries, references, Metric.EUCLIDEAN), 3)
