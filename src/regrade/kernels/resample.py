"""Crop and resize images of different sizes at once, with the filters and the rounding of Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from regrade.core.arrays import IntArray
from regrade.kernels.regions import DeviceImage, Region

_BLOCK = 256  # values of a row per program
_ROWS = 8  # rows per program


def resampled(
    images: Sequence[DeviceImage],
    regions: Sequence[Region],
    output: Any,
    rows: Sequence[int],
    *,
    bicubic: bool,
    mean: Any,
    std: Any,
) -> None:
    """Resize regions of images into ``rows`` of ``output`` (n, size, size, 3), on their device, and normalize them.

    As in Pillow, the horizontal pass comes first, the result of each pass is rounded to a byte, and the filter is
    widened where an image shrinks. A byte v becomes (v / 255 - mean) / std in the type of ``output``; ``mean`` and
    ``std`` (3,) are tensors.
    """
    size = output.shape[1]
    places = zip(images, regions, rows, strict=True)
    table = np.array([(*image, *region, row) for image, region, row in places], dtype=np.int64)
    spans = _needed_rows(table, size, radius=2 if bicubic else 1)
    counts = spans[:, 1] - spans[:, 0]
    starts = np.cumsum(counts) - counts
    layout = torch.from_numpy(np.column_stack([table, spans, starts])).to(output.device, non_blocking=True)
    narrow = torch.empty(int(counts.sum()) * size * 3, dtype=torch.uint8, device=output.device)
    blocks = triton.cdiv(3 * size, _BLOCK)
    _resample_rows[(len(images), triton.cdiv(int(counts.max()), _ROWS), blocks)](
        layout, narrow, size, BICUBIC=bicubic, BLOCK=_BLOCK, ROWS=_ROWS
    )
    _resample_columns[(len(images), triton.cdiv(size, _ROWS), blocks)](
        layout, narrow, output, 1 / (255 * std), -mean / std, size, BICUBIC=bicubic, BLOCK=_BLOCK, ROWS=_ROWS
    )


def _needed_rows(table: IntArray, size: int, *, radius: int) -> IntArray:
    """Shape (n, 2): the first of the rows of each region that the square to keep depends on, and the one after them."""
    height, resized, keep_top = table[:, 7], table[:, 9], table[:, 11]
    scale = height / resized
    support = radius * np.maximum(scale, 1) + 1
    first = np.floor((keep_top + 0.5) * scale - support)
    last = np.ceil((keep_top + size - 0.5) * scale + support)
    return np.column_stack([np.maximum(first, 0), np.minimum(last, height)]).astype(np.int64)


@triton.jit
def _weight(distance, BICUBIC: tl.constexpr):
    """The triangle filter, or Keys' cubic with a = -0.5, at a distance in units of the filter."""
    x = tl.abs(distance)
    if BICUBIC:
        near = (1.5 * x - 2.5) * x * x + 1
        far = ((-0.5 * x + 2.5) * x - 4) * x + 2
        return tl.where(x < 1, near, tl.where(x < 2, far, 0.0))
    return tl.maximum(1 - x, 0.0)


@triton.jit
def _span(place, length, resized, support):
    """Of an output pixel: the whole and the fractional part of its center, and the input pixels under the filter."""
    doubled = (2 * place + 1) * length
    whole = doubled // (2 * resized)
    fraction = (doubled - whole * 2 * resized).to(tl.float32) / (2 * resized).to(tl.float32)
    first = tl.maximum(whole + tl.floor(fraction - support + 0.5).to(tl.int32), 0)
    last = tl.minimum(whole + tl.floor(fraction + support + 0.5).to(tl.int32), length)
    return whole, fraction, first, last


@triton.jit
def _byte(value):
    return tl.minimum(tl.maximum(tl.floor(value + 0.5), 0.0), 255.0)


@triton.jit
def _field(layout, NUMBER: tl.constexpr):
    return tl.load(layout + tl.program_id(0) * 16 + NUMBER)


@triton.jit
def _stretch(length, resized):
    """How much the filter is widened, and the number of input pixels under it."""
    return tl.maximum(length.to(tl.float32) / resized.to(tl.float32), 1.0)


@triton.jit
def _resample_rows(layout, narrow, size, BICUBIC: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """The horizontal pass: the needed rows of each region, at the width of the output."""
    first_row = _field(layout, 13).to(tl.int32)
    rows = _field(layout, 14).to(tl.int32) - first_row
    start_row = tl.program_id(1) * ROWS
    if start_row < rows:
        pitch = _field(layout, 3)
        width = _field(layout, 6).to(tl.int32)
        resized = _field(layout, 8).to(tl.int32)
        radius: tl.constexpr = 2.0 if BICUBIC else 1.0
        stretch = _stretch(width, resized)
        places = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)  # of bytes of an output row
        inside = places < 3 * size
        column = _field(layout, 10).to(tl.int32) + places // 3
        whole, fraction, first, last = _span(column, width, resized, radius * stretch)
        taps = 2 * tl.ceil(radius * stretch).to(tl.int32) + 1
        source = _field(layout, 0).to(tl.pointer_type(tl.uint8))
        source += (_field(layout, 5) + first_row + start_row) * pitch + _field(layout, 4) * 3
        target = narrow + ((_field(layout, 15) + start_row) * size * 3 + places)
        lines = tl.arange(0, ROWS)[:, None]
        sums = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for tap in range(taps):
            place = first + tap
            weight = _weight(((place - whole).to(tl.float32) - fraction + 0.5) / stretch, BICUBIC)
            weight = tl.where(place < last, weight, 0.0)
            total += weight
            used = (inside & (place < last))[None, :] & (start_row + lines < rows)
            values = tl.load(source + lines * pitch + (place * 3 + places % 3)[None, :], mask=used, other=0)
            sums += values.to(tl.float32) * weight[None, :]
        levels = _byte(sums / tl.where(inside, total, 1.0)[None, :])
        tl.store(target + lines * size * 3, levels.to(tl.uint8), mask=inside[None, :] & (start_row + lines < rows))


@triton.jit
def _resample_columns(
    layout, narrow, output, scale, offset, size, BICUBIC: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr
):
    """The vertical pass, and the normalization."""
    first_row = _field(layout, 13).to(tl.int32)
    height = _field(layout, 7).to(tl.int32)
    resized = _field(layout, 9).to(tl.int32)
    keep_top = _field(layout, 11).to(tl.int32)
    radius: tl.constexpr = 2.0 if BICUBIC else 1.0
    stretch = _stretch(height, resized)
    places = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    inside = places < 3 * size
    source = narrow + _field(layout, 15) * size * 3 + places
    target = output + _field(layout, 12) * size * size * 3 + places
    channel_scale = tl.load(scale + places % 3)
    channel_offset = tl.load(offset + places % 3)
    for step in range(ROWS):
        y = tl.program_id(1) * ROWS + step
        if y < size:
            whole, fraction, first, last = _span(keep_top + y, height, resized, radius * stretch)
            level = tl.zeros((BLOCK,), dtype=tl.float32)
            total = 0.0
            for row in range(first, last):
                weight = _weight(((row - whole).to(tl.float32) - fraction + 0.5) / stretch, BICUBIC)
                values = tl.load(source + (row - first_row) * size * 3, mask=inside, other=0)
                level += weight * values.to(tl.float32)
                total += weight
            value = _byte(level / total) * channel_scale + channel_offset
            tl.store(target + y * size * 3, value.to(output.dtype.element_ty), mask=inside)
