"""The figures that Vasudevan et al. 2022 print, or that follow from what they print."""

from __future__ import annotations

from dataclasses import dataclass

CATEGORIES = ("fine-grained", "out of vocabulary", "spurious correlation", "non-prototypical")
"""The order of all counts by category."""

TABLE_2 = {"ViT-3B": (242, 54, 52, 30), "Greedy Soups": (172, 26, 32, 19)}
"""The counts behind Table 2: mistakes of each category that remain in the release."""

TABLE_2_MAJOR = {"ViT-3B": 154, "Greedy Soups": 89}
"""The major ones among them."""

MISTAKES = {"ViT-3B": 378, "Greedy Soups": 249}
"""The mistakes that remain (section 4); Figure 1 counts 382 of ViT-3B."""

VIT, VIT_MAJOR = (243, 54, 52, 31), 155
"""ViT-3B's mistakes by category, and the major ones, as the printed tests need them: 380 when they were run."""

NEW_IMAGES, NEW_IMAGES_MAJOR = (35, 5, 8, 5), 22
"""ViT-3B's 53 mistakes on ImageNetV2."""

RESOLVED, RESOLVED_NEW = (296, 676), (47, 100)
"""Mistakes of ViT-3B that turned out to be none, on the validation images and on the new ones."""


@dataclass(frozen=True)
class PrintedTest:
    """A chi-square test as printed: the statistic, the p-value and how many mistakes it says it rests on."""

    statistic: float
    p_value: float
    n: int


TESTS = {
    "resolved, validation and new images": PrintedTest(0.36, 0.55, 776),
    "severity, ViT-3B and Greedy Soups": PrintedTest(1.61, 0.20, 629),
    "categories, ViT-3B and Greedy Soups": PrintedTest(2.41, 0.49, 629),
    "severity, validation and new images": PrintedTest(0.01, 0.92, 434),
    "categories, validation and new images": PrintedTest(0.97, 0.80, 434),
}

PAIRS, CONFUSIONS, PAIRS_BY_FREQUENCY = 481, 545, {1: 441, 2: 23, 3: 12, 4: 3, 5: 2}
"""The long tail of confused pairs."""

BEFORE_REVIEW = {"fixed": 209, "new": 170, "common, other answer": 28}
"""Greedy Soups against ViT-3B before anyone judged its novel predictions."""

NOVEL, OVERTURNED, OVERTURNED_SHARE = 198, (82, 10), 46.5
"""Greedy Soups' novel predictions, those found correct or problematic, and their share in percent."""

REMAINING = {"fixed": 214, "new": 85, "common": 164, "common, same answer": 143, "common, other answer": 21}
"""The same in the released mistakes, those that remain after the review."""

SCORED_IMAGES, ACCURACIES = 18_692, {"ViT-3B": 97.9, "Greedy Soups": 98.6}
"""Images that are not problematic, and the multi-label accuracy after the review, in percent."""

FINE_GRAINED_AT = {1: 80.9, 3: 54.3}
"""The share of fine-grained mistakes at a distance in the hierarchy, in percent."""

GOBLET_TO_VASE = 4
"""The distance that the paper gives as an example."""

MAJOR_SLICE, MAJOR_SLICE_CATEGORIES = 68, (36, 12, 15, 5)
"""ImageNet-M: its images, and what kind of mistakes they are."""

MAJOR_SLICE_RIGHT = {"ViT-3B": 0, "Instagram": 9, "Greedy Soups": 19, "zero-shot CoCa": 24, "fine-tuned CoCa": 42}
"""ImageNet-M: how many of its images each model has right."""
