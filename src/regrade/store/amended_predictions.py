"""Stored predictions in which some examples were computed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regrade.core import Predictions
from regrade.store.partial_predictions import Part

Array = np.ndarray[Any, Any]


def amended(predictions: Predictions, parts: Sequence[Part]) -> Predictions:
    """Predictions with the rows of some parts in place of their own; what has no such rows stays as it is."""
    changes: dict[str, Any] = {
        name: _amended(getattr(predictions, name), [(part, getattr(part, name)) for part in parts])
        for name in ("classes", "scores", "full_scores", "features", "fingerprints")
    }
    return replace(predictions, **changes)


def _amended(before: Array | None, parts: Sequence[tuple[Part, Array | None]]) -> Array | None:
    if before is None:
        return None
    after = np.array(before)
    for part, rows in parts:
        if rows is not None:
            after[part.start : part.start + len(part)] = rows
    return after
