"""Means of softmaxes and their entropies, block by block: the inner loop of the confusion score.

Everything is computed in single precision, in blocks that fit in the CPU caches. Exponentials of half-precision input
are looked up in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError
from regrade.core.half_table import HalfTable
from regrade.core.predictions import ScoreKind

_CACHE = 4_000_000  # bytes per block: larger blocks gain little, smaller ones add calls
_ONE_THREAD = 8_192  # largest matrix product that runs in a single thread
_LOG2_E = 1.4426950408889634
_TINY = np.float32(1e-38)  # makes 0 log 0 = 0
_FLOOR = np.float32(-1e5)  # used as the logarithm of 0
_FEWEST, _MOST = 1e-20, 1e30  # sums of exponentials that single precision represents well
_NEAR_ONE = 0.01  # tolerance for the sum of half-precision probabilities

_Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Block:
    """A block of rows of all members: ``parts`` / ``sums`` are probabilities, of shapes (b, m, c) and (b, m).

    ``logs`` (b, m, c) are the base-2 logarithms of the parts, or None if they would not save work.
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
        entropies = np.log2(self.sums) - _row_products(self.logs, self.parts) / self.sums
        return np.clip(entropies, 0.0, np.log2(self.parts.shape[2]))

    def first_member(self) -> _Singles:
        """Shape (b, c): the probabilities of the first member; valid until the next entropy."""
        return self._own(0)

    def label_probabilities(self, labels: IntArray) -> FloatArray:
        """Shape (b, m): the probability of the label (b,) by each member."""
        return self.parts[np.arange(len(labels)), :, labels] / self.sums

    def error_norms(self, labels: IntArray) -> FloatArray:
        """Shape (b,): the L2 norm of probabilities minus one-hot labels (b,), mean over members."""
        own = self.label_probabilities(labels)
        squares = _without_labels(self.parts, labels, 0.0, lambda: _row_products(self.parts, self.parts))
        return np.sqrt(squares / self.sums**2 + (1 - own) ** 2).mean(axis=1)

    def label_margins(self, labels: IntArray, *, smallest: float) -> FloatArray:
        """Shape (b,): the first member's logarithm of the label's (b,) probability minus the largest other, in nats.

        Without logarithms, probabilities below ``smallest`` count as that.
        """
        values = (self.parts if self.logs is None else self.logs)[:, :1]
        own = values[np.arange(len(labels)), 0, labels].astype(np.float64)
        rest = _without_labels(values, labels, -np.inf, lambda: values[:, 0].max(axis=1).astype(np.float64))
        if self.logs is not None:
            return (own - rest) / _LOG2_E
        return np.log(np.maximum(own, smallest) / np.maximum(rest, smallest))

    def _own(self, member: int) -> _Singles:
        weights = (1.0 / self.sums[:, member]).astype(np.float32)
        return np.multiply(self.parts[:, member], weights[:, None], out=self._mean)


def _without_labels(
    values: _Singles, labels: IntArray, substitute: float, compute: Callable[[], FloatArray]
) -> FloatArray:
    """The result of ``compute`` while the values (b, m, c) of the labels (b,) are replaced: faster than a copy."""
    rows = np.arange(len(labels))
    kept = values[rows, :, labels]
    values[rows, :, labels] = substitute
    result = compute()
    values[rows, :, labels] = kept
    return result


def blocks(
    scores: Sequence[FloatArray], kind: ScoreKind, names: Sequence[str], *, first: int = 0, own: bool = False
) -> Iterator[Block]:
    """Yield the members' scores, each (n, c), as blocks of probabilities; a block is valid until the next one.

    ``first`` is the number of the first row; set ``own`` if the members' own entropies are needed. Logits and
    log-probabilities are converted by softmax; minus infinity becomes a probability of 0. Probabilities that are
    negative or do not sum to 1 within 1%, and NaN scores, raise an error that names the member and the row.
    """
    members, (examples, classes) = len(scores), scores[0].shape
    logarithmic = kind is not ScoreKind.PROBABILITIES
    keeps_logs = logarithmic and (own or members == 1)
    size = min(examples, max(1, _CACHE // (4 * classes * (members * (1 + keeps_logs) + 2))))
    reader_type = _HalfReader if all(array.dtype == np.float16 for array in scores) else _SingleReader
    reader = reader_type((size, members, classes), logarithmic=logarithmic, keeps_logs=keeps_logs)
    mean, spare = (np.empty((size, classes), dtype=np.float32) for _ in range(2))
    for start in range(0, examples, size):
        rows = slice(start, min(start + size, examples))
        count = rows.stop - start
        member_scores = [array[rows] for array in scores]
        logs, parts = reader.read(member_scores)
        sums = _row_sums(parts)
        _Checked(member_scores, kind, names, first + start).check(logs, parts, sums)
        yield Block(rows, logs, parts, sums, mean[:count], spare[:count])


class _SingleReader:
    """Reads blocks of scores of any precision; the arrays that it returns are valid until the next block."""

    def __init__(self, shape: tuple[int, int, int], *, logarithmic: bool, keeps_logs: bool) -> None:
        self._logarithmic, self._keeps_logs = logarithmic, keeps_logs
        self._values = np.empty(shape, dtype=np.float32)
        self._powers = np.empty(shape, dtype=np.float32) if keeps_logs else self._values

    def read(self, scores: list[FloatArray]) -> tuple[_Singles | None, _Singles]:
        """Return the base-2 logarithms, if they are kept, and their powers, both (b, m, c)."""
        values = self._values[: len(scores[0])]
        for member, array in enumerate(scores):
            np.multiply(array, _LOG2_E if self._logarithmic else 1.0, out=values[:, member], casting="same_kind")
        if not self._logarithmic:
            return None, values
        np.maximum(values, _FLOOR, out=values)
        with np.errstate(over="ignore", under="ignore"):
            powers = np.exp2(values, out=self._powers[: len(values)])
        return (values if self._keeps_logs else None), powers


class _HalfReader:
    """Reads blocks of scores in half precision."""

    def __init__(self, shape: tuple[int, int, int], *, logarithmic: bool, keeps_logs: bool) -> None:
        self._logarithmic, self._keeps_logs = logarithmic, keeps_logs
        self._halves = np.empty(shape, dtype=np.float16).ravel()

    def read(self, scores: list[FloatArray]) -> tuple[_Singles | None, _Singles]:
        """Return the base-2 logarithms, if they are kept, and their powers, both (b, m, c)."""
        shape = len(scores), *scores[0].shape  # members first: a member's rows are copied as one, twice as fast
        halves = self._halves[: prod(shape)].reshape(shape)
        for member, array in enumerate(scores):
            halves[member] = array
        logs = _half_logs()(halves).swapaxes(0, 1) if self._keeps_logs else None
        return logs, (_half_powers() if self._logarithmic else _half_values())(halves).swapaxes(0, 1)


@cache
def _half_values() -> HalfTable:
    return HalfTable(lambda numbers: numbers)


@cache
def _half_logs() -> HalfTable:
    return HalfTable(lambda logits: np.maximum(logits * _LOG2_E, _FLOOR))


@cache
def _half_powers() -> HalfTable:
    return HalfTable(np.exp)


@dataclass(frozen=True)
class _Checked:
    """The original rows of a block, for validation and for recomputing rare rows in double precision."""

    scores: list[FloatArray]
    kind: ScoreKind
    names: Sequence[str]
    start: int

    def check(self, logs: _Singles | None, parts: _Singles, sums: FloatArray) -> None:
        """Raise for rows that cannot be probabilities; recompute logits too large or small for single precision."""
        if self.kind is ScoreKind.LOGITS:
            good = (sums >= _FEWEST) & (sums <= _MOST)  # False for NaN
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
            if np.isnan(self.scores[member][row]).any():
                self._refuse(far, "not a number")
            self._refuse(far, f"the probabilities add up to {sums[row, member]:.4g}, not to 1; are these logits?")

    def _redo(self, bad: BoolArray, logs: _Singles | None, parts: _Singles, sums: FloatArray) -> None:
        for row, member in np.argwhere(bad):
            logits = np.asarray(self.scores[member][row], dtype=np.float64)
            top = logits.max()
            if not np.isfinite(top):
                _refuse(
                    self.names[member],
                    self.start + int(row),
                    "not a number" if np.isnan(top) else f"the largest logit is {top}",
                )
            powers = np.exp(logits - top)
            parts[row, member], sums[row, member] = powers, powers.sum()
            if logs is not None:
                logs[row, member] = np.maximum((logits - top) * _LOG2_E, _FLOOR)

    def _refuse(self, bad: BoolArray, why: str) -> NoReturn:
        row, member = np.argwhere(bad)[0]
        _refuse(self.names[member], self.start + int(row), why)


def _refuse(name: str, row: int, why: str) -> NoReturn:
    raise InputError(f"scores of {name}, row {row + 1}: {why}")


def _row_sums(parts: _Singles) -> FloatArray:
    """Shape (b, m): sums over classes, as a product with ones, which is the fastest sum of many short rows."""
    ones = np.ones((parts.shape[2], 1), dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.matmul(parts[:, :, None, :], ones)[:, :, 0, 0].astype(np.float64)


def _row_products(first: _Singles, second: _Singles) -> FloatArray:
    return np.matmul(first[..., None, :], second[..., :, None])[..., 0, 0].astype(np.float64)


def _entropy(probabilities: _Singles, spare: _Singles) -> FloatArray:
    """Shape (b,): -sum p log2 p, clipped to its range; rows with a probability of 0 are recomputed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        entropies = -_row_products(probabilities, np.log2(probabilities, out=spare))
    zero = np.isnan(entropies)
    if zero.any():
        rows = probabilities[zero]
        entropies[zero] = -_row_products(rows, np.log2(rows + _TINY))
    return np.clip(entropies, 0.0, np.log2(probabilities.shape[1]))
