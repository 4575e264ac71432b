"""What studies of the attributes of models share: families as clusters, families to compare, simultaneous effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from regrade.core import UndefinedError
from regrade.core.arrays import IntArray
from regrade.display.wording import listed

FEWEST_MODELS = 4
"""The fewest models of a trend."""

FEWEST_IN_FAMILY = 3
"""The fewest models of a family that is compared, and of other families."""

_FEWEST_CLUSTERS = 3  # families whose models are treated as dependent

M = TypeVar("M")
K = TypeVar("K")
R = TypeVar("R")


def family_clusters(models: Sequence[str], families: Sequence[str]) -> IntArray | None:
    """Numbers of the families (m,), each model without a family its own; None for fewer than three of them."""
    names = [family or f"\0{model}" for model, family in zip(models, families, strict=True)]
    numbers: IntArray = np.unique(names, return_inverse=True)[1]
    return numbers if any(families) and len(set(names)) >= _FEWEST_CLUSTERS else None


def families_to_compare(families: Sequence[str], reasons: list[str]) -> list[str]:
    """The families with enough models and enough others; the reason why others are not compared is added."""
    sizes = Counter(filter(None, families))
    most = len(families) - FEWEST_IN_FAMILY
    compared = [name for name, size in sorted(sizes.items()) if FEWEST_IN_FAMILY <= size <= most]
    if small := [name for name in sorted(sizes) if name not in compared]:
        fewest = f"fewer than {FEWEST_IN_FAMILY} models in or outside of the family"
        reasons.append(f"not compared, with {fewest}: {listed(small)}")
    return compared


def simultaneous_rows(
    cells: Sequence[tuple[M, K]],
    row: Callable[[M, K, int], R],
    reasons: list[str],
    named: Callable[[M, K], str],
) -> list[R]:
    """The rows of the cells that are defined, each as one of so many; the reasons of the others are added."""
    defined = []
    for measure, key in cells:
        try:
            row(measure, key, 1)
        except UndefinedError as error:
            reasons.append(f"{named(measure, key)}: {error}")
        else:
            defined.append((measure, key))
    return [row(measure, key, len(defined)) for measure, key in defined]
