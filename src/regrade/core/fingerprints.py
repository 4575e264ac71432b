"""Fingerprints of images: how a change of their content is noticed later."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regrade.core.images import FileStamp

FINGERPRINT = np.dtype([("digest", "<u8"), ("size", "<i8"), ("modified", "<i8")])
"""The first bytes of a hash of the content, then size and time of change of the file; -1 where these are unknown."""

Fingerprints = NDArray[np.void]
"""Shape (n,), of type `FINGERPRINT`: one per image."""

UNKNOWN_STAMP = FileStamp(-1, -1)
"""Stands for the size and time of change of a file that are not known."""


def no_fingerprints(count: int) -> Fingerprints:
    """Fingerprints of images that were not read."""
    return np.full(count, np.array((0, *UNKNOWN_STAMP), dtype=FINGERPRINT))
