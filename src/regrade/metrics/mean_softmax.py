"""Means of softmaxes and their entropies, block by block: the inner loop of the confusion score.

Everything happens in single precision, in blocks that stay in the caches. What is stored in half precision is
widened by whole-number operations (its 15 bits of size are moved to where single precision has them, then scaled by
2^112), which is several times faster than numpy's own conversion; infinity becomes 65,536, beyond the largest half.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.errors import InputError
from regrade.core.predictions import ScoreKind

_CACHE = 4_000_000  # bytes of the caches that a block may fill: larger ones gain little, smaller ones cost calls
_ONE_THREAD = 8_192  # numbers up to which a matrix product stays in its thread
_LOG2_E = 1.4426950408889634
_WIDEN = 2.0**112  # what is between the exponents of half and single precision
_SIZE_AND_SIGN = np.int32(0x8FFFFFFF - (1 << 32))  # without the copies of the sign that a shift leaves
_HALF_MINUS_INFINITY = 0xFC00  # as bits; what is above is a negative not-a-number
_TINY = np.float32(1e-38)  # makes 0 log 0 = 0
_FLOOR = np.float32(-1e5)  # stands for the logarithm of 0
_FEWEST, _MOST = 1e-20, 1e30  # sums of exponentials that single precision holds well
_NEAR_ONE = 0.01  # how far half precision may bring the sum of probabilities from 1

_Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Block:
    """Some rows of all members: ``parts`` (b, m, c), probabilities once they are divided by their ``sums`` (b, m).

    ``logs`` (b, m, c) are the parts' logarithms to base 2. They are there where they save work, none elsewhere.
    """

    rows: slice
    logs: _Singles | None
    parts: _Singles
    sums: FloatArray
    _mean: _Singles
    _spare: _Singles

    def mean(self) -> _Singles:
        """Shape (b, c): the mean of the members' probabilities."""
        weights = (1.0 / (self.sums.shape[1] * self.sums)).astype(np.float32)
        if self.parts[0].size > _ONE_THREAD:
            return np.einsum("bmc,bm->bc", self.parts, weights, out=self._mean)
        np.matmul(weights[:, None, :], self.parts, out=self._mean[:, None, :])
        return self._mean

    def mean_entropy(self) -> FloatArray:
        """Shape (b,): the entropy of the mean, in bits."""
        if self.sums.shape[1] == 1:
            return self.own_entropies()[:, 0]
        return _entropy(self.mean(), self._spare)

    def own_entropies(self) -> FloatArray:
        """Shape (b, m): the entropy of each member's own probabilities, in bits."""
        if self.logs is None:
            own = [_entropy(self._own(member), self._spare) for member in range(self.sums.shape[1])]
            return np.stack(own, axis=1)
        found = np.log2(self.sums) - _row_products(self.logs, self.parts) / self.sums
        return np.clip(found, 0.0, np.log2(self.parts.shape[2]))

    def _own(self, member: int) -> _Singles:
        weights = (1.0 / self.sums[:, member]).astype(np.float32)
        return np.multiply(self.parts[:, member], weights[:, None], out=self._mean)


def blocks(
    scores: Sequence[FloatArray], kind: ScoreKind, names: Sequence[str], *, first: int = 0, own: bool = False
) -> Iterator[Block]:
    """The members' scores, each (n, c), as probabilities, some rows at a time; a block lasts until the next one.

    ``first`` is the number of the first row, and ``own`` says that the members' own entropies will be asked for.
    Softmax makes probabilities of logits and of log-probabilities, and minus infinity a probability of 0. Rows of
    probabilities (or of their logarithms) whose sum is not within 1% of 1, negative ones, and what is not a number
    raise with the member's name and the row.
    """
    members, (examples, classes) = len(scores), scores[0].shape
    logarithmic = kind is not ScoreKind.PROBABILITIES
    keeps_logs = logarithmic and (own or members == 1)
    size = min(examples, max(1, _CACHE // (4 * classes * (members * (1 + keeps_logs) + 2))))
    wide = np.empty((size, members, classes), dtype=np.int32)
    powers = np.empty(wide.shape, dtype=np.float32) if keeps_logs else wide.view(np.float32)
    mean, spare = (np.empty((size, classes), dtype=np.float32) for _ in range(2))
    for start in range(0, examples, size):
        rows = slice(start, min(start + size, examples))
        count = rows.stop - start
        found = [array[rows] for array in scores]
        values = _read(found, wide[:count], _LOG2_E if logarithmic else 1.0, names, first + start)
        parts = values
        if logarithmic:
            with np.errstate(over="ignore", under="ignore"):
                parts = np.exp2(values, out=powers[:count])
        sums = _row_sums(parts)
        _Checked(found, kind, names, first + start).check(values if keeps_logs else None, parts, sums)
        yield Block(rows, values if keeps_logs else None, parts, sums, mean[:count], spare[:count])


def _read(found: list[FloatArray], wide: NDArray[np.int32], scale: float, names: Sequence[str], start: int) -> _Singles:
    """The scores in single precision, scaled, in the memory of ``wide`` (b, m, c)."""
    values = wide.view(np.float32)
    if all(array.dtype == np.float16 for array in found):
        for member, array in enumerate(found):
            if array.view(np.uint16).max() > _HALF_MINUS_INFINITY:
                _refuse(names[member], start + int(np.argwhere(np.isnan(array))[0, 0]), "not a number")
            wide[:, member] = array.view(np.int16)
        np.left_shift(wide, 13, out=wide)
        np.bitwise_and(wide, _SIZE_AND_SIGN, out=wide)
        return np.multiply(values, np.float32(_WIDEN * scale), out=values)
    for member, array in enumerate(found):
        np.multiply(array, scale, out=values[:, member], casting="same_kind")
    if scale != 1.0:
        np.maximum(values, _FLOOR, out=values)
    return values


@dataclass(frozen=True)
class _Checked:
    """The rows of a block as they were given: the rare ones that need another look are taken from here."""

    found: list[FloatArray]
    kind: ScoreKind
    names: Sequence[str]
    start: int

    def check(self, logs: _Singles | None, parts: _Singles, sums: FloatArray) -> None:
        """Refuse rows that cannot be probabilities, and redo logits too large or small for single precision."""
        if self.kind is ScoreKind.LOGITS:
            good = (sums >= _FEWEST) & (sums <= _MOST)  # not a number is neither
            if not good.all():
                self._redo(~good, logs, parts, sums)
            return
        if self.kind is ScoreKind.PROBABILITIES and not parts.min() >= 0:
            negative: BoolArray = np.any(parts < 0, axis=2)
            if negative.any():
                self._refuse(negative, "a probability is negative; are these logits?")
        far = ~(np.abs(sums - 1) <= _NEAR_ONE)
        if far.any():
            row, member = np.argwhere(far)[0]
            if np.isnan(self.found[member][row]).any():
                self._refuse(far, "not a number")
            self._refuse(far, f"the probabilities add up to {sums[row, member]:.4g}, not to 1; are these logits?")

    def _redo(self, bad: BoolArray, logs: _Singles | None, parts: _Singles, sums: FloatArray) -> None:
        for row, member in np.argwhere(bad):
            logits = np.asarray(self.found[member][row], dtype=np.float64)
            top = logits.max()
            if not np.isfinite(top):
                one = np.zeros_like(bad)
                one[row, member] = True
                self._refuse(one, "not a number" if np.isnan(top) else f"the largest logit is {top}")
            powers = np.exp(logits - top)
            parts[row, member], sums[row, member] = powers, powers.sum()
            if logs is not None:
                logs[row, member] = np.maximum((logits - top) * _LOG2_E, _FLOOR)

    def _refuse(self, bad: BoolArray, why: str) -> NoReturn:
        row, member = np.argwhere(bad)[0]
        _refuse(self.names[member], self.start + int(row), why)


def _refuse(name: str, row: int, why: str) -> NoReturn:
    raise InputError(f"scores of {name}, row {row}: {why}")


def _row_sums(parts: _Singles) -> FloatArray:
    """Shape (b, m): sums over classes; a product with ones, as that is the fastest sum of many short rows."""
    ones = np.ones((parts.shape[2], 1), dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.matmul(parts[:, :, None, :], ones)[:, :, 0, 0].astype(np.float64)


def _row_products(first: _Singles, second: _Singles) -> FloatArray:
    return np.matmul(first[..., None, :], second[..., :, None])[..., 0, 0].astype(np.float64)


def _entropy(probabilities: _Singles, spare: _Singles) -> FloatArray:
    """Shape (b,): -sum p log2 p, within its bounds whatever rounding does; rows with a probability of 0 are redone."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = -_row_products(probabilities, np.log2(probabilities, out=spare))
    zero = np.isnan(found)
    if zero.any():
        rows = probabilities[zero]
        found[zero] = -_row_products(rows, np.log2(rows + _TINY))
    return np.clip(found, 0.0, np.log2(probabilities.shape[1]))
