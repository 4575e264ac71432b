"""The share of a finite list with some property, from a part of the list that was drawn at random."""

from __future__ import annotations

from collections.abc import Callable

from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share

_TIES = 1e-9  # a total whose tail probability is the limit itself, up to rounding, is within the bounds


def finite_share(count: int, drawn: int, population: int, *, unknown: int = 0, confidence: float = 0.95) -> Estimate:
    """Return the share of ``population`` items with a property that ``count`` of ``drawn`` items have.

    The items are drawn at random, without replacement. The bounds are exact: they invert both one-sided tests of the
    hypergeometric distribution, as Clopper and Pearson do for the binomial one, and coverage is at least
    ``confidence``. They include the value, which may be the share of no whole number of the items. If all items are
    drawn, they are the share itself. ``unknown`` drawn items may have the property or not: the bounds hold for every
    possibility, and the value is the share of the known ones. Without a known item the share is undefined and raises.

    >>> print(finite_share(1, 4, 6))
    25.0 [16.7, 50.0]
    >>> print(finite_share(2, 4, 4))
    50.0 [50.0, 50.0]
    """
    from scipy import stats  # slow to import

    _check(count, drawn, population, unknown)
    tail = tail_share(confidence) * (1 - _TIES)
    high_count = count + unknown
    low = _first(
        lambda total: stats.hypergeom.sf(count - 1, population, total, drawn) >= tail, count, population - drawn + count
    )
    high = population - _first(
        lambda rest: stats.hypergeom.cdf(high_count, population, population - rest, drawn) >= tail,
        drawn - high_count,
        population - high_count,
    )
    resolved = drawn - unknown
    value, method = count / resolved, method_name("exact, finite population", confidence)
    return Estimate(value, min(low / population, value), max(high / population, value), resolved, method)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest integer from ``low`` to ``high`` for which a condition holds that stays true once it is."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _check(count: int, drawn: int, population: int, unknown: int) -> None:
    if not (count >= 0 and unknown >= 0 and count + unknown <= drawn <= population):
        raise InputError(
            f"{count} items with the property and {unknown} unknown ones of {drawn} drawn out of {population}: the "
            "counts contradict each other"
        )
    if drawn == unknown:
        raise UndefinedError("a share needs at least one known item")
