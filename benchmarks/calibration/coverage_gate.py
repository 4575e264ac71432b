"""Coverage checks of the bounds of `gate`."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check
from benchmarks.calibration.null_gate import decided, paired
from regrade.studies import GateRules

_GAINED, _LOST = 0.02, 0.05


def margin_bounds(rng: np.random.Generator, runs: int, images: int) -> Drawn:
    """The difference of candidate and baseline, with a bound to PASS and one to FAIL."""
    rules = GateRules(margin=0.01, max_negative_flips=0.1)
    rows = [decided(paired(rng, images, _GAINED, _LOST), rules).rows[0].measured for _ in range(runs)]
    low, high = ([getattr(row, side) for row in rows] for side in ("low", "high"))
    return Drawn(low, high, _GAINED - _LOST)


for _maker in ("studies.gate.measures._difference", "studies.gate.analysis._sided"):
    coverage_check(
        "difference of a gate, one-sided bounds",
        maker=_maker,
        case="a bound at 95% and one at 97.5%",
        n=400,
        draw=lambda rng, runs: margin_bounds(rng, runs, 400),
        least=0.905,
    )
