"""Null checks and coverage checks, and their registry.

A null check draws data in which some kinds of finding or conclusion are false, and counts how often they are stated. A
coverage check draws data with known truth, and counts how often an interval contains it. Tests check that every kind
of claim and every function that computes an interval has a check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from regrade.studies import findings, verdict_kinds, verdicts

NOMINAL = 0.05
"""The nominal share of runs in which a false claim is stated, or an interval misses the truth."""


@dataclass(frozen=True)
class NullCheck:
    """Kinds of finding, and a function that returns a study's result on random data in which they are false."""

    kinds: tuple[str, ...]
    case: str
    draw: Callable[[np.random.Generator], object]

    def false_claims(self, runs: int, rng: np.random.Generator) -> Counter[str]:
        """The number of runs that state each kind."""
        stated = Counter({kind: 0 for kind in self.kinds})
        for _ in range(runs):
            stated.update(stated_kinds(self.draw(rng)) & set(self.kinds))
        return stated


def stated_kinds(result: object) -> set[str]:
    """The kinds of findings and conclusions that a study's result states, by name."""
    kinds = verdict_kinds()
    return {finding.kind.name for finding in findings(result)} | {kinds[verdict].name for verdict in verdicts(result)}


@dataclass(frozen=True)
class Drawn:
    """Intervals (runs,) on fresh data, the truth they should contain, and optionally those of a baseline."""

    low: ArrayLike
    high: ArrayLike
    truth: ArrayLike
    baseline: tuple[ArrayLike, ArrayLike] | None = None
    baseline_name: str = ""

    @property
    def coverage(self) -> float:
        """The fraction of intervals that contain the truth."""
        return _coverage(self.low, self.high, self.truth)

    @property
    def baseline_coverage(self) -> float | None:
        return None if self.baseline is None else _coverage(*self.baseline, self.truth)

    @property
    def width_ratio(self) -> float | None:
        """The mean width divided by that of the baseline."""
        if self.baseline is None:
            return None
        ours, theirs = (np.mean(np.subtract(high, low)) for low, high in ((self.low, self.high), self.baseline))
        return float(ours / theirs)


def _coverage(low: ArrayLike, high: ArrayLike, truth: ArrayLike) -> float:
    return float(np.mean((np.asarray(low) <= truth) & (np.asarray(high) >= truth)))


class Interval(Protocol):
    """Has a lower and an upper bound; None if there is no bound."""

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...


def repeated(
    draw: Callable[[np.random.Generator], Interval], truth: ArrayLike
) -> Callable[[np.random.Generator, int], Drawn]:
    """Draw intervals one by one, for functions that are not vectorized."""

    def draw_all(rng: np.random.Generator, runs: int) -> Drawn:
        intervals = [draw(rng) for _ in range(runs)]
        low = [-np.inf if interval.low is None else interval.low for interval in intervals]
        high = [np.inf if interval.high is None else interval.high for interval in intervals]
        return Drawn(low, high, truth)

    return draw_all


@dataclass(frozen=True)
class CoverageCheck:
    """An interval by its name in the docs, the function that computes it, and how to draw it ``runs`` times.

    ``maker`` is the function as ``package.module.function``, which ``draw`` calls. ``least`` is the smallest coverage
    that is accepted (default: 0.93).
    """

    interval: str
    maker: str
    case: str
    n: int
    draw: Callable[[np.random.Generator, int], Drawn]
    least: float


_Draw = Callable[[np.random.Generator], object]

NULL_CHECKS: list[NullCheck] = []
COVERAGE_CHECKS: list[CoverageCheck] = []


def null_check(*kinds: str, case: str) -> Callable[[_Draw], _Draw]:
    """Register a function that draws a result in which findings of these kinds are false."""

    def register(draw: _Draw) -> _Draw:
        NULL_CHECKS.append(NullCheck(kinds, case, draw))
        return draw

    return register


def coverage_check(
    interval: str,
    *,
    maker: str,
    case: str,
    n: int,
    draw: Callable[[np.random.Generator, int], Drawn],
    least: float = 0.93,
) -> None:
    """Register a simulation of an interval at one size."""
    COVERAGE_CHECKS.append(CoverageCheck(interval, maker, case, n, draw, least))
