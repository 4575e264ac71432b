"""Shankar et al. 2020 as printed, with the counts that stand behind it, and the authors' released results."""

from __future__ import annotations

from dataclasses import dataclass

Printed = tuple[float, float, float]
"""A value and the bounds of its 95% interval, in percent."""

VALIDATION_IMAGES, NEW_IMAGES = 982, 978
"""The images of the evaluation that are not problematic, as the printed shares have it."""

RIGHT = {"ResNet-50": 827, "AdvProp": 919, "FixRes": 938, "A": 902, "B": 930, "C": 945, "D": 940, "E": 955}
"""Right answers among the validation images: the counts whose shares and intervals are printed."""

VALIDATION: dict[str, Printed] = {
    "ResNet-50": (84.2, 81.8, 86.4),
    "AdvProp": (93.6, 91.9, 95.0),
    "FixRes": (95.5, 94.0, 96.7),
    "A": (91.9, 90.0, 93.5),
    "B": (94.7, 93.1, 96.0),
    "C": (96.2, 94.9, 97.3),
    "D": (95.7, 94.3, 96.9),
    "E": (97.3, 96.0, 98.2),
}
"""Table 1 on the validation images."""

NEW: dict[str, Printed] = {"ResNet-50": (75.7, 73.2, 78.7)}
"""Table 1 on ImageNetV2, as far as it is certain."""

BEST_IN_TABLE_2 = 97.2
"""The accuracy of the best labeler, E, on the validation images in Table 2."""


@dataclass(frozen=True)
class PrintedTest:
    """A p-value of McNemar's test, and images that only the labeler and only the model could have right for it."""

    who: str
    p_value: float
    tolerance: float
    only_labeler: int
    only_model: int


TESTS = (
    PrintedTest("E against FixRes on the validation images", 0.037, 0.0005, 38, 21),
    PrintedTest("B against FixRes on ImageNetV2", 2e-4, 0.5e-4, 81, 39),
)
"""The labelers are 17 and 42 images ahead; how many images tell them and the model apart is not printed."""

GAINS = {"without dogs": (2.3, 2.2, 2.2, 1.6, 1.5), "objects": (5.1, 3.6, 2.9, 3.1, 1.6)}
"""Table 2: what each labeler gains on a subset of the validation images, in points."""

MEAN_GAINS = {"without dogs": 1.9, "objects": 3.3}
"""The means of these gains in the text."""

FIXRES_WITHOUT_DOGS = {"validation": (0.6, 0.5), "ImageNetV2": (1.1, 0.5)}
"""What FixRes gains without dogs: in the text, and in Table 2."""

FAST = {"validation": (77.0, 756, VALIDATION_IMAGES), "ImageNetV2": (73.0, 714, NEW_IMAGES)}
"""The share of fast images in percent, how many they are, and of how many."""

GROUPS = {"organisms": 410, "objects": 590, "dogs": 118, "without dogs": 882}
"""How many of the 1,000 classes are in each group."""

REVIEWED, REVIEW_PARTS = 2_000, (1_320, 531, 239)
"""The images of the evaluation, and those whose labels the last review left alone, added to and modified."""

RELEASED_IMAGES = (984, 980)
"""The images that are not problematic in the authors' released notebook, of the two sets."""

RELEASED = {
    "ResNet-50": ((84.15, 828), (75.71, 742)),
    "FixRes": ((95.53, 940), (89.59, 878)),
    "A": ((91.87, 904), (91.12, 893)),
    "B": ((94.72, 932), (93.88, 920)),
    "C": ((96.24, 947), (96.73, 948)),
    "D": ((95.73, 942), (94.80, 929)),
    "E": ((97.26, 957), (96.53, 946)),
}
"""Accuracies in that notebook, of the authors' repository at commit 3b54b99, and the counts behind them."""
