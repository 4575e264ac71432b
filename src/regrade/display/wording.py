"""Numbers and names formatted for sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from regrade.core import Estimate

_NAMED = 3  # the most names that a sentence lists


def share(estimate: Estimate) -> str:
    """A share with its interval.

    >>> share(Estimate(0.8286, 0.8253, 0.8319, 50_000, ""))
    '82.9% (82.5 to 83.2)'
    """
    value, low, high = (f"{100 * part:.1f}" for part in (estimate.value, estimate.low, estimate.high))
    return f"{value}% ({low} to {high})"


def right_counts(accuracies: Sequence[Estimate]) -> tuple[list[int], list[int]]:
    """The number of correct predictions and of images of each accuracy."""
    return [round(accuracy.value * accuracy.n) for accuracy in accuracies], [accuracy.n for accuracy in accuracies]


def points(estimate: Estimate) -> str:
    """A difference of shares with its interval, in points and with its sign.

    >>> points(Estimate(-0.118, -0.122, -0.114, 67, ""))
    '−11.8 points (−12.2 to −11.4)'
    """
    value, low, high = (signed(100 * part) for part in (estimate.value, estimate.low, estimate.high))
    return f"{value} points ({low} to {high})"


def signed(number: float) -> str:
    """A number with one decimal and its sign; a number that rounds to 0 has no sign."""
    text = f"{number:+.1f}".replace("-", "−")
    return text if float(f"{number:.1f}") else "0.0"


def plain(estimate: Estimate) -> str:
    """A number that is not a share, with its interval.

    >>> plain(Estimate(0.712, -0.6, 0.8, 10, ""))
    '0.71 (−0.60 to 0.80)'
    """
    value, low, high = (f"{part:z.2f}".replace("-", "−") for part in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high})"


def listed(names: Sequence[str], *, most: int = _NAMED) -> str:
    """Names as a list in a sentence; of many names only the first ones.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 more')
    """
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def confidence_of(estimate: Estimate) -> float:
    """The confidence of an interval, taken from the end of its method; default: 0.95.

    >>> confidence_of(Estimate(0.5, 0.4, 0.6, 10, "clopper-pearson 99%"))
    0.99
    """
    percentages = re.findall(r"([0-9.]+)%", estimate.method)
    return float(percentages[-1]) / 100 if percentages else 0.95
