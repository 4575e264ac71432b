"""How many more candidates a class needs until every bin of selection frequencies has enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regrade.build.samplers import largest_remainder
from regrade.core import InputError
from regrade.core.frequency_bins import EDGES, bin_names

_MOST = 10**6  # more candidates than anyone collects for a class


@dataclass(frozen=True)
class BinForecast:
    """One bin of a class: its target, the annotated candidates in it, and how many more candidates are needed.

    ``needed`` further candidates suffice with probability 1/2, ``needed_low`` and ``needed_high`` with those at the
    ends of the interval; None if more than a million would be needed.
    """

    class_id: str
    bin: str
    target: int
    available: int
    annotated: int
    needed: int | None
    needed_low: int | None
    needed_high: int | None

    @property
    def missing(self) -> int:
        """The candidates of the bin that are missing to the target."""
        return max(self.target - self.available, 0)


def candidates_needed(missing: int, hits: int, count: int, probability: float, *, prior: float = 0.5) -> int | None:
    """The fewest further candidates among which at least ``missing`` fall into a bin with this probability.

    ``hits`` of ``count`` candidates were in the bin. Its share has a Beta posterior with a symmetric ``prior`` (1/2:
    Jeffreys), so that the number of hits among further candidates is beta-binomial. None above a million.

    With a uniform prior and no data, some of m candidates hit with probability m / (m + 1):

    >>> candidates_needed(1, 0, 0, 0.9, prior=1), candidates_needed(1, 0, 0, 0.5, prior=1)
    (9, 1)
    """
    from scipy.stats import betabinom  # slow to import

    if not 0 <= hits <= count or not 0 < probability < 1:
        raise InputError(f"{hits} of {count} candidates and a probability of {probability} are impossible")
    if missing <= 0:
        return 0

    def suffice(further: int) -> bool:
        return bool(betabinom.sf(missing - 1, further, hits + prior, count - hits + prior) >= probability)

    high = missing
    while not suffice(high):
        if high >= _MOST:
            return None
        high = min(2 * high, _MOST)
    low = missing - 1  # does not suffice
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffice(middle) else (middle, high)
    return high


def forecast(
    candidates: Mapping[str, Sequence[int]],
    references: Mapping[str, Sequence[int]],
    *,
    per_class: int,
    confidence: float,
    edges: Sequence[float] = EDGES,
) -> tuple[BinForecast, ...]:
    """Forecast every bin with a target, from the numbers of annotated images per class and bin.

    Targets are those of matched-frequency sampling: ``per_class`` images, distributed as the reference images are.
    """
    rows = []
    tail = (1 - confidence) / 2
    for class_id in sorted(class_id for class_id, counts in references.items() if sum(counts)):
        available = candidates.get(class_id, [0] * (len(edges) + 1))
        targets = largest_remainder(references[class_id], per_class)
        for name, target, hits in zip(bin_names(edges), targets, available, strict=True):
            if target:
                low, median, high = (
                    candidates_needed(target - hits, hits, sum(available), probability)
                    for probability in (tail, 0.5, 1 - tail)
                )
                rows.append(BinForecast(class_id, name, target, hits, sum(available), median, low, high))
    return tuple(rows)
