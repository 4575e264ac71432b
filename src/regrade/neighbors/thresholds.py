"""Below which distance images count as near duplicates: measured, see docs/neighbors.md."""

from __future__ import annotations

from regrade.core import Distance
from regrade.neighbors.scaling import SIZE

_AT_USUAL_SIZE = {
    Distance.EXACT: 0.0,
    Distance.PIXELS: 6e7,
    Distance.DSSIM: 0.2,
    Distance.PHASH: 8.0,
    Distance.FEATURES: 0.1,
}


def default_cut(distance: Distance, *, size: int = SIZE) -> float:
    """The usual cut of a distance; that of pixels grows with how many there are at the common ``size``."""
    cut = _AT_USUAL_SIZE[distance]
    return cut * (size / SIZE) ** 2 if distance is Distance.PIXELS else cut
