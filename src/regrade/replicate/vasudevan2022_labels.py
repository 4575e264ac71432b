"""Vasudevan et al. 2022, what follows from the annotations with the mistakes: ImageNet-M, and means over classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from regrade.core import MistakeAnnotations, MistakeCategory
from regrade.core.arrays import BoolArray, IntArray
from regrade.replicate.annotations import PREDICTIONS, Annotations
from regrade.replicate.cell import Cell, printed_figure

_VERSION = "annotations, version 3"
_IMAGENET_M = "Section 5.1 text"
_KINDS = {
    MistakeCategory.FINE_GRAINED: "fine-grained",
    MistakeCategory.SPURIOUS: "spurious correlation",
    MistakeCategory.OUT_OF_VOCABULARY: "out-of-vocabulary",
    MistakeCategory.NON_PROTOTYPICAL: "non-prototypical",
}

_printed = partial(printed_figure, "vasudevan2022")


@dataclass(frozen=True, eq=False)
class AnnotatedMistakes:
    """The annotations, and the released mistakes of both models on a test set of these ``images``."""

    annotations: Annotations
    images: Sequence[str]
    vit: MistakeAnnotations
    soups: MistakeAnnotations

    def cells(self) -> Iterator[Cell]:
        """The figures that need the annotations."""
        yield from self._imagenet_m()
        if self.annotations.labeled:
            yield from self._class_means()

    def notes(self, scored: int) -> Iterator[str]:
        """How many images the annotations score (elsewhere: ``scored``), and what lacks the original labels."""
        ours = int(self.annotations.labels.scored.sum())
        same = "as" if ours == scored else f"and not {scored:,} as"
        yield f"the annotations have {ours:,} validation images that are not problematic, {same} other figures assume"
        if not self.annotations.labeled:
            yield f"means over classes need the images' own labels: no {PREDICTIONS} in or next to the data"

    def _imagenet_m(self) -> Iterator[Cell]:
        """Its size, the categories of ViT-3B's mistakes on it, and the scores of both models."""
        major = self.annotations.major
        size = int(major.sum())
        for row, column in (
            ("major mistakes selected (ImageNet-M)", "number"),
            ("ImageNet-M examples broken down", "number"),
            ("ImageNet-M", "examples"),
        ):
            yield Cell(_printed(_IMAGENET_M, row, column), size, _VERSION)
        for category, name in _KINDS.items():
            count = int((self._wrong(self.vit, self.vit.of_category(category)) & major).sum())
            yield Cell(_printed(_IMAGENET_M, f"ImageNet-M: {name} failures", "number"), count, _VERSION)
        vit, soups = (int((~self._wrong(review) & major).sum()) for review in (self.vit, self.soups))
        accuracy = 100 * vit / size if size else None
        yield Cell(_printed(_IMAGENET_M, "ViT-3B on ImageNet-M", "accuracy"), accuracy, _VERSION)
        yield Cell(_printed(_IMAGENET_M, "Greedy Soups on ImageNet-M", "correct"), soups, _VERSION)

    def _class_means(self) -> Iterator[Cell]:
        """Accuracies as means over the classes of the original labels, as the paper prints them."""
        space, basis = self.annotations.test_set.class_space, f"mean over classes, {_VERSION}"
        every = np.arange(len(space))
        for column, classes in (
            ("All", every),
            ("Organisms", space.group("organisms")),
            ("Objects", space.group("objects")),
        ):
            figure = _printed("Table 1", "ViT-3B", f"{column}, MLA Re-labeled")
            yield Cell(figure, self._mean(self.vit, classes), basis)
        yield Cell(_printed("Section 4.3 text", "Greedy Soups", "MLA in the end"), self._mean(self.soups, every), basis)

    def _mean(self, review: MistakeAnnotations, classes: IntArray) -> float | None:
        """The mean over classes, in %, of the share of scored images without a mistake; None without any image."""
        originals = self.annotations.test_set.labels
        scored = self.annotations.labels.scored & np.isin(originals, classes)
        if not scored.any():
            return None
        right = ~self._wrong(review)[scored]
        sizes = np.bincount(originals[scored])
        present = sizes > 0
        return 100 * float((np.bincount(originals[scored], weights=right)[present] / sizes[present]).mean())

    def _wrong(self, review: MistakeAnnotations, chosen: BoolArray | None = None) -> BoolArray:
        """Shape (n,): the annotated images among the mistakes, or among those chosen (r,)."""
        examples = review.examples if chosen is None else review.examples[chosen]
        images = [self.images[example] for example in examples.tolist()]
        return np.isin(self.annotations.test_set.ids, images)
