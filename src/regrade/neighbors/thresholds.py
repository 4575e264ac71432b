"""Default thresholds: the distances below which images count as near duplicates, measured in docs/neighbors.md."""

from __future__ import annotations

from regrade.core import Distance
from regrade.neighbors.scaling import SIZE

_AT_DEFAULT_SIZE = {
    Distance.EXACT: 0.0,
    Distance.PIXELS: 6e7,
    Distance.DSSIM: 0.2,
    Distance.PHASH: 8.0,
    Distance.FEATURES: 0.1,
}


def default_threshold(distance: Distance, *, size: int = SIZE) -> float:
    """The default threshold of a distance; that of pixels is proportional to their number at the common ``size``."""
    threshold = _AT_DEFAULT_SIZE[distance]
    return threshold * (size / SIZE) ** 2 if distance is Distance.PIXELS else threshold
