"""Recht et al. 2019 as printed: Tables 1 and 2, and the lines of section 3.

The accuracies and intervals of Table 1 were written down from memory of the paper and await a check against
a copy of it. Its gaps, and all but two models' ranks, are left out: no one could vouch for them.
"""

from __future__ import annotations

from dataclasses import dataclass

Printed = tuple[float, float, float]
"""A value and the bounds of its 95% interval, in percent."""


@dataclass(frozen=True)
class PrintedRow:
    """A row of Table 1: accuracies in percent, and ranks where they could be checked."""

    original: Printed
    new: Printed
    original_rank: int | None = None
    new_rank: int | None = None
    rank_change: int | None = None


@dataclass(frozen=True)
class PrintedLine:
    """A line through models in percent, with bootstrap intervals."""

    slope: Printed
    offset: Printed


IMAGENET = {
    "pnasnet_large_tf": PrintedRow((82.9, 82.5, 83.2), (72.2, 71.3, 73.1), 1, 3, -2),
    "nasnetalarge": PrintedRow((82.5, 82.2, 82.8), (72.2, 71.3, 73.1), 4, 1, 3),
    "resnet152": PrintedRow((78.3, 77.9, 78.7), (67.0, 66.1, 67.9)),
    "inception_v3_tf": PrintedRow((78.0, 77.6, 78.3), (66.1, 65.1, 67.0)),
    "densenet161": PrintedRow((77.1, 76.8, 77.5), (65.3, 64.4, 66.2)),
    "vgg19_bn": PrintedRow((74.2, 73.8, 74.6), (61.9, 60.9, 62.8)),
    "alexnet": PrintedRow((56.5, 56.1, 57.0), (44.0, 43.0, 45.0)),
    "fv_64k": PrintedRow((35.1, 34.7, 35.5), (24.1, 23.2, 24.9)),
}
CIFAR = {
    "autoaug_pyramid_net_tf": PrintedRow((98.4, 98.1, 98.6), (95.5, 94.5, 96.4)),
    "shake_shake_64d_cutout": PrintedRow((97.1, 96.8, 97.4), (93.0, 91.8, 94.1)),
    "wide_resnet_28_10": PrintedRow((95.9, 95.5, 96.3), (89.7, 88.3, 91.0)),
    "resnet_basic_110": PrintedRow((93.5, 93.0, 93.9), (85.2, 83.5, 86.7)),
    "vgg_15_BN_64": PrintedRow((93.0, 92.5, 93.5), (84.9, 83.2, 86.4)),
    "cudaconvnet": PrintedRow((88.5, 87.9, 89.2), (77.5, 75.7, 79.3)),
    "random_features_256k_aug": PrintedRow((85.6, 84.9, 86.3), (73.1, 71.1, 75.1)),
}
CIFAR_COLUMNS = {
    "shake_shake_64d_cutout": "shake_shake_26_2x64d_SSI_cutout16",
    "wide_resnet_28_10": "wrn_28_10",
}
"""The names in the published predictions, where they differ."""

MEAN_CHANGES = {
    "imagenetv2-matched-frequency": (-11.8, -8.2),
    "imagenetv2-threshold-0.7": (-3.2, -1.2),
    "imagenetv2-top-images": (2.1, 1.8),
}
"""Table 2: mean change of top-1 and of top-5 accuracy, in points."""

IMAGENET_LINE = PrintedLine((1.11, 1.07, 1.19), (-20.2, -26.0, -17.8))
CIFAR_LINE = PrintedLine((1.69, 1.63, 1.76), (-72.7, -78.6, -67.5))
