"""The easiest and the hardest images with their confusion scores, on one offline page."""

from __future__ import annotations

import numpy as np

from regrade.core import UNLABELED, TestSet
from regrade.core.amounts import amount
from regrade.studies.confusion.result import Confusion
from regrade.studies.image_page import CaptionedImage, ImageSection, image_page
from regrade.studies.thumbnails import ThumbnailLoader

SHOWN = 24
"""How many images of either kind a page shows."""


def gallery_page(result: Confusion, test_set: TestSet, load: ThumbnailLoader, *, shown: int = SHOWN) -> str:
    """The images with the lowest and with the highest scores, captioned with score and label; ties by position."""
    ensemble = result.ensemble
    order = np.argsort(result.scores, kind="stable")
    count = min(shown, len(order) // 2)
    about = (
        f"By the confusion score of {ensemble.name} ({amount(len(ensemble.members), 'member')} x "
        f"{amount(len(ensemble.epochs), 'epoch')}), from 0 to {ensemble.top:.2f} {ensemble.unit}; labels are not used."
    )
    parts = {"Easiest": order[:count], "Hardest": np.argsort(-result.scores, kind="stable")[:count]}
    sections = (
        ImageSection(name, [_captioned(result, test_set, int(position)) for position in positions])
        for name, positions in parts.items()
    )
    return image_page(f"The easiest and the hardest images of {result.test_set}", about, sections, load)


def _captioned(result: Confusion, test_set: TestSet, position: int) -> CaptionedImage:
    name, label = test_set.ids[position], int(test_set.labels[position])
    words = "no label" if label == UNLABELED else test_set.class_space.names[label]
    return CaptionedImage(position, name, f"{result.scores[position]:.3f} {result.ensemble.unit}", (words, name))
