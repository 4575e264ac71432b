"""Fingerprints of images, to detect later changes of their content."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regrade.core.images import FileStamp

FINGERPRINT = np.dtype([("digest", "<u8"), ("size", "<i8"), ("modified", "<i8")])
"""The first bytes of a hash of the content, and size and modification time of the file (-1 if unknown)."""

Fingerprints = NDArray[np.void]
"""Shape (n,), of type `FINGERPRINT`: one per image."""

UNKNOWN_STAMP = FileStamp(-1, -1)
"""The stamp of a file with unknown size and modification time."""


def no_fingerprints(count: int) -> Fingerprints:
    """Fingerprints of images that were not read."""
    return np.full(count, np.array((0, *UNKNOWN_STAMP), dtype=FINGERPRINT))
