"""The highest inner products of queries with references, without writing all the products to memory."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

GROUP = 64
"""References per group."""

_QUERIES, _REFERENCES, _WIDTH = 128, 256, 64  # of a program's tile


def group_maxima(queries: Any, references: Any, penalties: Any) -> Any:
    """Shape (q, ceil(n / GROUP)): the highest value of query @ reference - penalty in each group of references.

    ``queries`` (q, d) and ``references`` (n, d) are in half precision on a GPU, ``penalties`` (n,) in single precision.
    """
    count, width = queries.shape
    groups = triton.cdiv(len(references), GROUP)
    maxima = torch.empty((count, groups), dtype=torch.float32, device=queries.device)
    grid = (triton.cdiv(count, _QUERIES) * triton.cdiv(len(references), _REFERENCES),)
    _group_maxima[grid](
        queries, references, penalties, maxima, count, len(references), width, groups,
        QUERIES=_QUERIES, REFERENCES=_REFERENCES, WIDTH=_WIDTH, GROUP=GROUP, TILES=16, num_warps=8, num_stages=3,
    )  # fmt: skip
    return maxima


def group_scores(queries: Any, groups: Any, rows: Any, *, shift: Any, factors: Any, penalties: Any) -> Any:
    """Shape (q, g, GROUP): query @ ((row - shift) * factor) - penalty in single precision, for groups of each query.

    ``queries`` (q, d) are in single precision, ``groups`` (q, g) are numbers of groups of ``rows`` (n, d), which may
    have any floating-point type; ``shift`` (d,), ``factors`` and ``penalties`` (n,). Beyond the last row it is -inf.
    """
    count, chosen = groups.shape
    scores = torch.empty((count, chosen, GROUP), dtype=torch.float32, device=queries.device)
    _group_scores[(count, chosen)](
        queries, groups, rows, shift, factors, penalties, scores, len(rows), queries.shape[1], chosen,
        GROUP=GROUP, WIDTH=64, num_warps=4,
    )  # fmt: skip
    return scores


@triton.jit
def _group_maxima(
    queries, references, penalties, maxima, count, size, width, groups,
    QUERIES: tl.constexpr, REFERENCES: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """One tile; programs go through ``TILES`` tiles of references for each tile of queries, so both stay in cache."""
    query_tiles = tl.cdiv(count, QUERIES)
    band = tl.program_id(0) // (TILES * query_tiles)
    reference_tiles = tl.cdiv(size, REFERENCES)
    in_band = tl.minimum(reference_tiles - band * TILES, TILES)
    inside = tl.program_id(0) % (TILES * query_tiles)
    first_query = (inside // in_band) * QUERIES
    first_reference = (band * TILES + inside % in_band) * REFERENCES

    rows = (first_query + tl.arange(0, QUERIES)).to(tl.int64)
    columns = (first_reference + tl.arange(0, REFERENCES)).to(tl.int64)
    depth = tl.arange(0, WIDTH)
    left = queries + (rows % count)[:, None] * width + depth[None, :]
    right = references + (columns % size)[None, :] * width + depth[:, None]
    products = tl.zeros((QUERIES, REFERENCES), dtype=tl.float32)
    for start in range(0, width, WIDTH):
        inside_width = start + depth < width
        a = tl.load(left + start, mask=inside_width[None, :], other=0.0)
        b = tl.load(right + start, mask=inside_width[:, None], other=0.0)
        products = tl.dot(a, b, products)
    products -= tl.load(penalties + columns, mask=columns < size, other=float("inf"))[None, :]
    highest = tl.max(tl.reshape(products, (QUERIES, REFERENCES // GROUP, GROUP)), axis=2)
    group = first_reference // GROUP + tl.arange(0, REFERENCES // GROUP)
    target = maxima + rows[:, None] * groups + group[None, :]
    tl.store(target, highest, mask=(rows < count)[:, None] & (group < groups)[None, :])


@triton.jit
def _group_scores(
    queries, groups, rows, shift, factors, penalties, scores, size, width, chosen,
    GROUP: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """One query and one of its groups."""
    query = tl.program_id(0).to(tl.int64)
    place = query * chosen + tl.program_id(1)
    members = tl.load(groups + place) * GROUP + tl.arange(0, GROUP)
    inside = members < size
    depth = tl.arange(0, WIDTH)
    products = tl.zeros((GROUP, WIDTH), dtype=tl.float32)
    for start in range(0, width, WIDTH):
        inside_width = start + depth < width
        own = tl.load(queries + query * width + start + depth, mask=inside_width, other=0.0)
        moved = tl.load(shift + start + depth, mask=inside_width, other=0.0)
        source = rows + members[:, None] * width + (start + depth)[None, :]
        values = tl.load(source, mask=inside[:, None] & inside_width[None, :], other=0.0).to(tl.float32)
        products += (values - moved[None, :]) * own[None, :]
    factor = tl.load(factors + members, mask=inside, other=0.0)
    penalty = tl.load(penalties + members, mask=inside, other=float("inf"))
    tl.store(scores + place * GROUP + tl.arange(0, GROUP), tl.sum(products, axis=1) * factor - penalty)
