"""What a null check and a coverage check are, and all there are of them.

A null check draws data in which some kinds of finding or verdict are false, and counts how often they are stated all
the same. A coverage check draws data whose truth is known, and counts how often an interval contains it. Both register
themselves; tests hold that every kind that claims something, and every function that makes an interval, has one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from regrade.report import findings, verdict_kinds, verdicts

NOMINAL = 0.05
"""The share of runs in which a claim that is false may be stated, and in which an interval may miss."""


@dataclass(frozen=True)
class NullCheck:
    """Kinds of finding, and a function that draws data in which they are false and returns a study's result."""

    kinds: tuple[str, ...]
    case: str
    draw: Callable[[np.random.Generator], object]

    def false_claims(self, runs: int, rng: np.random.Generator) -> Counter[str]:
        """How many of the runs state each kind."""
        stated = Counter({kind: 0 for kind in self.kinds})
        for _ in range(runs):
            stated.update(stated_kinds(self.draw(rng)) & set(self.kinds))
        return stated


def stated_kinds(result: object) -> set[str]:
    """The kinds of the findings and of the verdicts that a study's result states, by name."""
    kinds = verdict_kinds()
    return {finding.kind.name for finding in findings(result)} | {kinds[verdict].name for verdict in verdicts(result)}


@dataclass(frozen=True)
class Drawn:
    """Intervals (runs,) of fresh data each, and what they should contain; a rival's of the same data where named."""

    low: ArrayLike
    high: ArrayLike
    truth: ArrayLike
    rival: tuple[ArrayLike, ArrayLike] | None = None
    rival_name: str = ""

    @property
    def coverage(self) -> float:
        """The share of intervals that contain the truth."""
        return _coverage(self.low, self.high, self.truth)

    @property
    def rival_coverage(self) -> float | None:
        return None if self.rival is None else _coverage(*self.rival, self.truth)

    @property
    def width_ratio(self) -> float | None:
        """The mean width over that of the rival."""
        if self.rival is None:
            return None
        ours, theirs = (np.mean(np.subtract(high, low)) for low, high in ((self.low, self.high), self.rival))
        return float(ours / theirs)


def _coverage(low: ArrayLike, high: ArrayLike, truth: ArrayLike) -> float:
    return float(np.mean((np.asarray(low) <= truth) & (np.asarray(high) >= truth)))


class Interval(Protocol):
    """What has a lower and an upper bound; none where there is no bound."""

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...


def repeated(
    draw: Callable[[np.random.Generator], Interval], truth: ArrayLike
) -> Callable[[np.random.Generator, int], Drawn]:
    """Draw intervals one by one, for what is not made for many at once."""

    def draw_all(rng: np.random.Generator, runs: int) -> Drawn:
        intervals = [draw(rng) for _ in range(runs)]
        low = [-np.inf if interval.low is None else interval.low for interval in intervals]
        high = [np.inf if interval.high is None else interval.high for interval in intervals]
        return Drawn(low, high, truth)

    return draw_all


@dataclass(frozen=True)
class CoverageCheck:
    """An interval in the words of the product, the function that makes it, and how to draw it ``runs`` times.

    ``maker`` is the function as ``package.module.function``, which ``draw`` calls. ``least`` is the smallest coverage
    that is accepted: 0.93 unless the documentation says otherwise.
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
