"""Albiero et al. 2023 as printed, as far as it can be recomputed or must be listed."""

from __future__ import annotations

CLASSES, EPOCHS, SEEDS = 1_000, 100, 3
"""ImageNet's classes, and the checkpoints behind every score."""

MIDDLE = 5.0
"""The score at which images are split into easy and hard, which the paper calls the middle."""

HIGH = 7.0
"""The paper speaks of images with scores above this."""

EPOCHS_LEFT = {1: 100, 3: 33, 5: 20, 10: 10, 20: 5}
"""Figure 5: every so many of the 100 epochs, and how many epochs that is said to be."""

PEAKS = {10: 1.0, 5: 2.0}
"""Figure 5: around where the histogram of scores peaks, by how many epochs are left."""

GROUP_DRO = {
    "score below 5, GroupDRO": 25.8,
    "score below 5, without it": 25.0,
    "score of 5 or more, GroupDRO": 80.6,
    "score of 5 or more, without it": 81.9,
}
"""Top-1 errors in percent on validation images below and above the middle."""
