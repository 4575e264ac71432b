"""Coverage of the effect of duplicates; the number of duplicates and the correct predictions are random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core import Estimate
from regrade.core.arrays import IntArray
from regrade.stats import independent_difference
from regrade.studies.leakage.analysis import duplicate_effects


@dataclass(frozen=True)
class _Simulation:
    """The number of images, the expected number of duplicates, and the accuracies on duplicates and on the rest."""

    images: int
    expected: int
    duplicates: float
    rest: float

    def counts(self, rng: np.random.Generator, runs: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Correct and total duplicates, correct and total rest, in runs with at least one duplicate."""
        duplicates = rng.binomial(self.images, self.expected / self.images, runs)
        duplicates = duplicates[duplicates > 0]
        rest_images = self.images - duplicates
        return rng.binomial(duplicates, self.duplicates), duplicates, rng.binomial(rest_images, self.rest), rest_images

    def difference(self, rng: np.random.Generator, runs: int) -> Drawn:
        estimates = [both[0] for both in _effects(self.counts(rng, runs))]
        return Drawn(
            [e.low for e in estimates], [e.high for e in estimates], self.duplicates - self.rest
        )  # fmt: skip

    def change(self, rng: np.random.Generator, runs: int) -> Drawn:
        counts = self.counts(rng, runs)
        estimates = [both[1] for both in _effects(counts)]
        fixed, share = independent_difference(*counts), counts[1] / self.images
        return Drawn(
            [estimate.low for estimate in estimates],
            [estimate.high for estimate in estimates],
            self.expected / self.images * (self.duplicates - self.rest),
            (share * fixed.low, share * fixed.high),
            "share of duplicates as if fixed",
        )


def _effects(counts: tuple[IntArray, ...]) -> list[tuple[Estimate, Estimate]]:
    rows = zip(*(column.tolist() for column in counts), strict=True)
    return [duplicate_effects(*row, confidence=0.95) for row in rows]


_ACCURACIES = {"equally hard": (0.8, 0.8), "all right": (1.0, 0.5), "harder": (0.3, 0.8)}

for _kind, (_duplicates, _rest) in _ACCURACIES.items():
    for _images, _expected in ((200, 3), (1_000, 10), (2_000, 200)):
        _simulation = _Simulation(_images, _expected, _duplicates, _rest)
        for _interval, _draw in (
            ("accuracy on duplicates minus the rest", _simulation.difference),
            ("change by duplicates", _simulation.change),
        ):
            coverage_check(
                _interval,
                maker="studies.leakage.analysis.duplicate_effects",
                case=f"{_kind}, {_expected} duplicates expected",
                n=_images,
                draw=_draw,
            )
