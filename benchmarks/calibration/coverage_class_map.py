"""Coverage of the change of a disparity under another class map."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.calibration.checks import coverage_check, repeated
from benchmarks.calibration.null_class_map import audited
from regrade.core import Estimate

_FIRST, _SECOND = (0.5, 0.55, 0.65, 0.8), (0.3, 0.2, 0.1, 0.05)
_TRUTH = (0.85 - 0.75) - (0.8 - 0.5)


def change(rng: np.random.Generator, *, images: int, household: int) -> Estimate:
    """The disparity falls from 0.3 to 0.1."""
    row = audited(rng, first=_FIRST, second=_SECOND, images=images, household=household).maps[1]
    assert row.disparity_change is not None
    return row.disparity_change


def no_change(rng: np.random.Generator, *, images: int) -> Estimate:
    """A second class that is predicted equally often everywhere."""
    row = audited(rng, first=_FIRST, second=(0.1,) * 4, images=images).maps[1]
    assert row.disparity_change is not None
    return row.disparity_change


for images, household in ((60, 1), (400, 4)):
    coverage_check(
        "change of a disparity",
        maker="studies.class_map.model_audit.disparity_change",
        case=f"0.3 to 0.1, 4 groups, households of {household}",
        n=images,
        draw=repeated(partial(change, images=images, household=household), _TRUTH),
    )
coverage_check(
    "change of a disparity",
    maker="studies.class_map.model_audit.disparity_change",
    case="none, 4 groups",
    n=200,
    draw=repeated(partial(no_change, images=200), 0.0),
)
