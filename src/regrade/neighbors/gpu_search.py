"""Exact nearest neighbors on a GPU: products in half precision select groups, single precision their references.

A bound of the rounding error decides whether the selection is certain for a query; the few others are compared with
every reference in single precision. As on the CPU, the neighbors are then measured and sorted in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core import InputError, MissingExtra
from regrade.core.arrays import BoolArray, FloatArray, IntArray

_SPARE_GROUPS = 6  # more groups than neighbors are looked at, which makes most queries certain
_TILE_BYTES = 1 << 30  # for the queries at a time
_TILES = 8  # of that size, at least, fit into the free memory
_FEWEST_ROWS = 4096  # references at a time; less free memory is an error
_FULL_ROWS = 1 << 15  # references at a time for queries that are not certain
_LARGEST = 256.0  # to which values are scaled: their products stay far from the limits of half precision
_QUERIES = 1 << 17  # at a time
_SHARE = 0.6  # of the free memory, for references
_UPLOADED = 1 << 27  # bytes at a time, through pinned memory
_MEASURED = 1 << 22  # values that are measured in double precision at a time
_EPSILON = 2.0**-23  # of single precision


@dataclass(frozen=True, eq=False)
class _Vectors:
    """Rows (n, d) on the device, as given, and what is derived of their vectors (row - shift) * factor.

    ``half`` are the vectors over ``scale`` in half precision, ``errors`` (n,) the lengths of what that has changed, and
    ``lengths`` those of the vectors over ``scale``. Rows that are not ``valid`` have vectors of zeros.
    """

    rows: Any
    valid: Any
    factors: Any
    squares: Any
    half: Any
    lengths: Any
    errors: Any
    scale: float

    def __getitem__(self, part: slice) -> _Vectors:
        return _Vectors(
            self.rows[part], self.valid[part], self.factors[part], self.squares[part],
            self.half[part], self.lengths[part], self.errors[part], self.scale,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest references (q, k) of queries, on the device: their indices and squared distances.

    Where there are fewer references, the index is -1 and the distance infinite. Squared distances between vectors of
    length 1 are twice their cosine distances.
    """

    indices: Any
    squares: Any


class GpuReferences:
    """References (n, d) on a GPU, for many searches; ``first`` is the index of the first one."""

    def __init__(
        self,
        rows: Any,
        *,
        shift: FloatArray,
        cosine: bool,
        usable: BoolArray | None = None,
        first: int = 0,
        device: str = "cuda",
    ) -> None:
        torch = _torch()
        self._first = first
        self._cosine = cosine
        self._device = device
        self._tile_bytes = _TILE_BYTES if device != "cuda" else min(_TILE_BYTES, free_bytes() // _TILES)
        self._shift = torch.from_numpy(shift).to(device)
        self._vectors = self._prepared(uploaded(rows, device))
        valid = self._vectors.valid
        if usable is not None:
            valid = valid & torch.from_numpy(usable).to(device)
        halves = torch.zeros_like(self._vectors.squares) if cosine else self._vectors.squares / 2
        self._penalties = torch.where(valid, halves, torch.inf)  # subtracted from the products
        self._longest, self._roughest, self._heaviest = (
            float(torch.where(valid, values, 0).max())
            for values in (self._vectors.lengths, self._vectors.errors, halves)
        )

    def search(self, queries: Any, k: int, *, kept: int, own: int | None = None) -> Neighbors:
        """The nearest ``kept`` references of each of ``queries`` (q, d) on the device, of which k are certain.

        ``own`` is the index of the first query among the references if both are the same set.
        """
        from regrade.kernels.group_maxima import GROUP

        torch = _torch()
        groups, width = -(-len(self._penalties) // GROUP), queries.shape[1]
        per_query = 4 * groups + 28 * (kept + _SPARE_GROUPS) * GROUP + 24 * width
        step = max(self._tile_bytes // per_query, 1)
        prepared = self._prepared(queries)
        neighbors = []
        for start in range(0, len(queries), step):
            part = prepared[start : start + step]
            numbers = None
            if own is not None:
                first = own - self._first + start
                numbers = torch.arange(first, first + len(part.rows), device=self._device)
            neighbors.append(self._search(part, k, kept, numbers))
        fields = zip(*((part.indices, part.squares) for part in neighbors), strict=True)
        return Neighbors(*map(torch.cat, fields))

    def _search(self, queries: _Vectors, k: int, kept: int, own: Any) -> Neighbors:
        """``own`` (q,) are the columns of the queries among the references, or None."""
        from regrade.kernels.group_maxima import GROUP, group_maxima, group_scores

        torch = _torch()
        maxima = group_maxima(queries.half, self._vectors.half, self._penalties / (queries.scale * self._vectors.scale))
        chosen = min(kept + _SPARE_GROUPS, maxima.shape[1])
        best = torch.topk(maxima, min(chosen + 1, maxima.shape[1]), dim=1)
        groups = best.indices[:, :chosen].contiguous()
        scores = group_scores(
            self._single(queries), groups, self._vectors.rows,
            shift=self._shift, factors=self._vectors.factors, penalties=self._penalties,
        )  # fmt: skip
        columns = groups[:, :, None] * GROUP + torch.arange(GROUP, device=self._device)
        top, columns = self._highest(scores.flatten(1), columns.flatten(1), kept, own)
        if chosen < maxima.shape[1]:
            missed = best.values[:, chosen] * queries.scale * self._vectors.scale + self._error(queries)
            certain = (missed < top[:, :k].min(dim=1).values) | ~queries.valid | torch.isinf(missed)
            rest = (~certain).nonzero()[:, 0]
            if len(rest):
                everything = self._full_search(self._single(queries)[rest], kept, None if own is None else own[rest])
                top[rest], columns[rest] = everything
        usable = torch.isfinite(top) & queries.valid[:, None]
        squares = torch.where(usable, self._measured(queries.rows, columns), torch.inf)
        return Neighbors(torch.where(usable, columns + self._first, -1), squares)

    def _full_search(self, vectors: Any, kept: int, own: Any) -> tuple[Any, Any]:
        """The highest ``kept`` scores of vectors (q, d) and their columns, compared with every reference."""
        torch = _torch()
        top = torch.full((len(vectors), kept), -torch.inf, device=self._device)
        columns = torch.zeros((len(vectors), kept), dtype=torch.int64, device=self._device)
        precision = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            for start in range(0, len(self._penalties), _FULL_ROWS):
                part = slice(start, start + _FULL_ROWS)
                scores = vectors @ self._single(self._vectors[part]).T - self._penalties[part]
                numbers = torch.arange(start, start + scores.shape[1], device=self._device).expand(scores.shape)
                block, places = self._highest(scores, numbers, kept, own)
                top, columns = self._highest(torch.cat([top, block], 1), torch.cat([columns, places], 1), kept, None)
        finally:
            torch.set_float32_matmul_precision(precision)
        return top, columns

    def _highest(self, scores: Any, columns: Any, kept: int, own: Any) -> tuple[Any, Any]:
        """The highest ``kept`` scores and their columns, without a query's own; -inf where there are fewer."""
        torch = _torch()
        if own is not None:
            scores = scores.masked_fill(columns == own[:, None], -torch.inf)
        top = torch.topk(scores, min(kept, scores.shape[1]), dim=1)
        missing = (0, kept - top.values.shape[1])
        places = torch.gather(columns, 1, top.indices)
        pad = torch.nn.functional.pad
        return pad(top.values, missing, value=-torch.inf), pad(places, missing)

    def _error(self, queries: _Vectors) -> Any:
        """Shape (q,): a bound of the difference between scores in half and in single precision."""
        longest, width = self._longest + self._roughest, self._vectors.half.shape[1]
        rounding = queries.errors * longest + queries.lengths * self._roughest
        products = 3 * width * _EPSILON * (queries.lengths + queries.errors) * longest
        return (rounding + products) * queries.scale * self._vectors.scale + 4 * _EPSILON * self._heaviest

    def _measured(self, queries: Any, columns: Any) -> Any:
        """Shape (q, kept): the squared distances in double precision."""
        torch = _torch()
        squares = torch.empty(columns.shape, dtype=torch.float64, device=self._device)
        step = max(_MEASURED // max(columns.shape[1] * queries.shape[1], 1), 1)
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            differences = self._in_double_precision(self._vectors.rows[columns[part]])
            differences -= self._in_double_precision(queries[part])[:, None]
            squares[part] = differences.square_().sum(dim=2)
        return squares

    def _in_double_precision(self, rows: Any) -> Any:
        double = rows.double()
        if not self._cosine:
            return double
        lengths = double.norm(dim=-1, keepdim=True)
        return double / lengths.where(lengths > 0, 1)

    def _single(self, vectors: _Vectors) -> Any:
        """The vectors in single precision."""
        single = (vectors.rows.float() - self._shift) * vectors.factors[:, None]
        return single.where(vectors.valid[:, None], 0)

    def _prepared(self, rows: Any) -> _Vectors:
        torch = _torch()
        vectors = rows.float() - self._shift
        squares = vectors.square().sum(dim=1)
        valid = squares.isfinite() & (squares > 0) if self._cosine else squares.isfinite()
        factors = torch.where(valid, squares.rsqrt(), 0) if self._cosine else valid.float()
        vectors = torch.where(valid[:, None], vectors * factors[:, None], 0)
        largest = float(vectors.abs().max()) if vectors.numel() else 0.0
        scale = 2.0 ** math.ceil(math.log2(largest / _LARGEST)) if largest > 0 else 1.0
        vectors /= scale
        half = vectors.half()
        errors = (vectors - half.float()).norm(dim=1)
        return _Vectors(rows, valid, factors, torch.where(valid, squares, 0), half, vectors.norm(dim=1), errors, scale)


@contextmanager
def _memory_in_one_line() -> Iterator[None]:
    """Around a search: memory that is missing after all becomes one line."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise InputError(
            "the memory of the GPU ran out during the search: free some of it, or search with another engine"
        ) from None


@_memory_in_one_line()
def nearest_on_gpu(
    queries: NDArray[Any],
    references: NDArray[Any],
    *,
    k: int,
    kept: int,
    shift: FloatArray,
    cosine: bool,
    within: bool,
    usable: BoolArray | None,
    progress: Callable[[Sequence[int]], Iterable[int]],
) -> tuple[IntArray, FloatArray]:
    """The indices and distances (q, k) of the nearest references, see `regrade.neighbors.nearest.nearest`.

    The references go through the GPU once, in as few blocks as its free memory allows.
    """
    torch = _torch()
    if not torch.cuda.is_available():
        raise InputError(f"torch {torch.__version__} finds no GPU: search with another engine")
    indices = np.full((len(queries), k), -1, dtype=np.int64)
    distances = np.full((len(queries), k), np.nan)
    parts = [slice(start, start + _QUERIES) for start in range(0, len(queries), _QUERIES)]
    neighbors: list[Neighbors | None] = [None] * len(parts)
    size = min(rows_that_fit(references.shape[1], references.dtype.itemsize), len(references))
    for first in progress(range(0, len(references), size)):
        rows = slice(first, first + size)
        block = GpuReferences(
            references[rows], shift=shift, cosine=cosine, usable=None if usable is None else usable[rows], first=first
        )
        for number, part in enumerate(parts):
            own = part.start if within else None
            nearer = block.search(uploaded(queries[part]), k, kept=kept, own=own)
            neighbors[number] = merged(neighbors[number], nearer)
        del block  # before the next one is uploaded
    for part, best in zip(parts, neighbors, strict=True):
        if best is None:
            continue
        width = min(k, kept)
        indices[part, :width] = best.indices[:, :width].cpu().numpy()
        squares = best.squares[:, :width].cpu().numpy()
        distances[part, :width] = np.where(np.isfinite(squares), squares / 2 if cosine else squares, np.nan)
    return indices, distances


def merged(before: Neighbors | None, neighbors: Neighbors) -> Neighbors:
    """The nearest of those among earlier references and among others; of equally near ones, the lower index first."""
    torch = _torch()
    indices, squares = (
        (neighbors.indices, neighbors.squares)
        if before is None
        else (torch.cat([before.indices, neighbors.indices], 1), torch.cat([before.squares, neighbors.squares], 1))
    )
    by_index = torch.sort(indices, dim=1)
    by_square = torch.sort(torch.gather(squares, 1, by_index.indices), dim=1, stable=True)
    order = torch.gather(by_index.indices, 1, by_square.indices)[:, : neighbors.indices.shape[1]]
    return Neighbors(torch.gather(indices, 1, order), torch.gather(squares, 1, order))


def rows_that_fit(width: int, itemsize: int) -> int:
    """How many references fit into the free memory of the GPU, with what a search needs; raises if too few do."""
    free = free_bytes()
    per_row = width * (itemsize + 2 + 16) + 64  # as given, in half precision, and temporary copies
    rows = int(_SHARE * free) // per_row
    if rows < _FEWEST_ROWS:
        raise InputError(f"the GPU has only {free / 1e9:.2g} GB of free memory: search with another engine")
    return rows


def free_bytes() -> int:
    """Free memory of the GPU."""
    return int(_torch().cuda.mem_get_info()[0])


def uploaded(rows: Any, device: str = "cuda") -> Any:
    """Rows (n, d), an array or a tensor, on the device: through pinned memory, integers in double precision."""
    torch = _torch()
    if isinstance(rows, torch.Tensor):
        return rows.to(device)
    kind = rows.dtype if rows.dtype in (np.float16, np.float32, np.float64) else np.dtype(np.float64)
    if device != "cuda":
        return torch.from_numpy(np.array(rows, dtype=kind))
    size = max(_UPLOADED // max(rows.shape[1] * kind.itemsize, 1), 1)
    types = {2: torch.float16, 4: torch.float32, 8: torch.float64}
    target = torch.empty(rows.shape, dtype=types[kind.itemsize], device=device)
    shape = min(size, len(rows)), rows.shape[1]
    pinned = [torch.empty(shape, dtype=target.dtype, pin_memory=True) for _ in range(2)]
    copied: list[Any] = [None, None]
    for number, start in enumerate(range(0, len(rows), size)):
        part, turn = rows[start : start + size], number % 2
        if copied[turn] is not None:
            copied[turn].synchronize()
        pinned[turn][: len(part)].copy_(torch.from_numpy(np.array(part, dtype=kind)))
        target[start : start + len(part)].copy_(pinned[turn][: len(part)], non_blocking=True)
        copied[turn] = torch.cuda.current_stream().record_event()
    return target


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtra("searching on a GPU", "cuda") from error
    return torch
