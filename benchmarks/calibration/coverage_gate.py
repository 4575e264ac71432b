"""Coverage checks of the bounds of `gate`."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check
from benchmarks.calibration.null_gate import decided, paired
from regrade.studies import GateRules
from regrade.studies.gate.measures import DifferenceMeasure

_GAINED, _LOST = 0.02, 0.05


def margin_bounds(rng: np.random.Generator, runs: int, images: int) -> Drawn:
    """The difference of candidate and baseline, with a bound to PASS and one to FAIL."""
    rules = GateRules(margin=0.01, max_negative_flips=0.1)
    rows = [decided(paired(rng, images, _GAINED, _LOST), rules).rows[0].measured for _ in range(runs)]
    low, high = ([getattr(row, side) for row in rows] for side in ("low", "high"))
    return Drawn(low, high, _GAINED - _LOST)


def differences(rng: np.random.Generator, runs: int, images: int) -> Drawn:
    """The difference alone, with two-sided intervals at 90%."""
    pairs = (paired(rng, images, _GAINED, _LOST)[::-1, None] for _ in range(runs))
    measured = [DifferenceMeasure(pair, pair, pair).estimate(0.9) for pair in pairs]
    low, high = ([getattr(estimate, side) for estimate in measured] for side in ("low", "high"))
    return Drawn(low, high, _GAINED - _LOST)


coverage_check(
    "difference of a gate",
    maker="studies.gate.measures._difference",
    case="intervals at 90%",
    n=400,
    draw=lambda rng, runs: differences(rng, runs, 400),
    least=0.88,
)
coverage_check(
    "difference of a gate, one-sided bounds",
    maker="studies.gate.analysis._sided",
    case="a bound at 95% and one at 97.5%",
    n=400,
    draw=lambda rng, runs: margin_bounds(rng, runs, 400),
    least=0.905,
)
