"""Check whether the images of a test set still exist."""

from __future__ import annotations

import numpy as np

from regrade.core import Images, ImageSource, InputError, UnreadableImage
from regrade.testsets.registry import open_images

_SAMPLE = 5  # number of images that are tried


def images_are_missing(source: ImageSource) -> bool:
    """Whether none of a few images can be read: the disk is not mounted, or the images were moved."""
    if not source.path.exists():
        return True
    positions = np.unique(np.linspace(0, len(source.locations) - 1, _SAMPLE).astype(int))
    try:
        images = open_images(source)
    except InputError:
        return True
    return not any(_can_be_read(images, int(position)) for position in positions)


def _can_be_read(images: Images, position: int) -> bool:
    try:
        images.read(position)
    except UnreadableImage:
        return False
    return True
