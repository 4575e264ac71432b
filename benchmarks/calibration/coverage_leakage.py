"""Coverage of what duplicates change: how many images are duplicates is random, as is what models have right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core import Estimate
from regrade.core.arrays import IntArray
from regrade.stats import independent_difference
from regrade.studies.leakage.study import duplicate_effects


@dataclass(frozen=True)
class _World:
    """So many images, how many duplicates are expected among them, and the accuracies on these and on the others."""

    images: int
    expected: int
    duplicates: float
    others: float

    def counts(self, rng: np.random.Generator, runs: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Right and all of the duplicates, right and all of the others, in runs with a duplicate."""
        duplicates = rng.binomial(self.images, self.expected / self.images, runs)
        duplicates = duplicates[duplicates > 0]
        rest = self.images - duplicates
        return rng.binomial(duplicates, self.duplicates), duplicates, rng.binomial(rest, self.others), rest

    def difference(self, rng: np.random.Generator, runs: int) -> Drawn:
        estimates = [both[0] for both in _effects(self.counts(rng, runs))]
        return Drawn(
            [one.low for one in estimates], [one.high for one in estimates], self.duplicates - self.others
        )  # fmt: skip

    def change(self, rng: np.random.Generator, runs: int) -> Drawn:
        counts = self.counts(rng, runs)
        estimates = [both[1] for both in _effects(counts)]
        fixed, share = independent_difference(*counts), counts[1] / self.images
        return Drawn(
            [one.low for one in estimates],
            [one.high for one in estimates],
            self.expected / self.images * (self.duplicates - self.others),
            (share * fixed.low, share * fixed.high),
            "share of duplicates as if fixed",
        )


def _effects(counts: tuple[IntArray, ...]) -> list[tuple[Estimate, Estimate]]:
    rows = zip(*(column.tolist() for column in counts), strict=True)
    return [duplicate_effects(*row, confidence=0.95) for row in rows]


_ACCURACIES = {"equally hard": (0.8, 0.8), "all right": (1.0, 0.5), "harder": (0.3, 0.8)}

for _kind, (_duplicates, _others) in _ACCURACIES.items():
    for _images, _expected in ((200, 3), (1_000, 10), (2_000, 200)):
        _world = _World(_images, _expected, _duplicates, _others)
        for _interval, _draw in (
            ("accuracy on duplicates less others", _world.difference),
            ("change by duplicates", _world.change),
        ):
            coverage_check(
                _interval,
                maker="studies.leakage.study.duplicate_effects",
                case=f"{_kind}, {_expected} duplicates expected",
                n=_images,
                draw=_draw,
            )
