"""What visitors see who have a link for proposals: scored images that nobody has to answer about, and their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from regrade.app.hidden_images import HiddenImages
from regrade.app.image_lookup import JudgedLabels, LabelIndex
from regrade.app.images import DisplayImage
from regrade.app.site import Site
from regrade.core import InputError, TestSet, UnknownName
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.label_set import without_version
from regrade.core.panel import Claim
from regrade.ledger import Queue

PAGE_SIZE = 24
"""Images per page."""

VISITOR_SIDE = 640
"""Pixels along the longer side of the largest image that visitors get."""


@dataclass(frozen=True)
class PublicImages:
    """The images of a link: those scored under the newest labels, without any that is hidden from somebody.

    Images of examinations, the test sets of examinations and images with missing votes in any queue are left out: a
    visitor may be someone who still has to answer about them. Of images whose open items are proposals, the labels are
    withheld (`labels_of`), so that further visitors can support a proposal without telling its reviewers anything.
    """

    site: Site
    queue: Queue

    @cached_property
    def test_set(self) -> TestSet:
        """The test set of the link."""
        return self.site.test_set(self.queue.test_set)

    @cached_property
    def label_index(self) -> LabelIndex:
        """The newest labels."""
        return self.site.label_index(self.queue.test_set, without_version(self.queue.labels))

    @cached_property
    def hidden(self) -> HiddenImages:
        """The images that visitors do not see at all."""
        return self.site.hiding.hidden_from_public(leaving_out=self._proposal_queues)

    @cached_property
    def _withheld(self) -> HiddenImages:
        """The images whose labels visitors do not see."""
        return self.site.hiding.hidden_from_public()

    @cached_property
    def _proposal_queues(self) -> frozenset[int]:
        return frozenset(link.queue.id for link in self.site.ledger.proposals.links())

    @cached_property
    def _scored(self) -> BoolArray:
        """Shape (n,): the images that may be shown, unless they are hidden."""
        if self.queue.test_set in self.site.examined():
            return np.zeros(len(self.test_set), dtype=bool)
        scored: BoolArray = self.label_index.labels.scored
        return scored

    @cached_property
    def _order(self) -> IntArray:
        """All positions in a fixed random order, so that neighbors tell nothing about a hidden image."""
        seed = blake2b(f"proposals {self.queue.id}".encode(), digest_size=8, key=self.site.accounts.key()).digest()
        return np.random.default_rng(int.from_bytes(seed)).permutation(len(self.test_set))

    def page(self, number: int) -> tuple[Sequence[int], int]:
        """The positions of the images of a page, and the number of pages; the last page for larger numbers."""

        def choose(hidden: BoolArray) -> IntArray:
            return self._order[(self._scored & ~hidden)[self._order]]

        visible = self.hidden.choose_visible(self.test_set, choose, lambda chosen: _part(chosen, number).tolist())
        return self.hidden.visible(self.test_set, _part(visible, number).tolist()), max(
            1, -(-len(visible) // PAGE_SIZE)
        )

    def position(self, example: str) -> int:
        """The position of an image by its id; hidden and unknown images raise the same error."""
        position = self.test_set.position_of.get(example)
        if position is None or not self.may_show(position):
            raise UnknownName("image", example, None)
        return position

    def may_show(self, position: int) -> bool:
        """Whether visitors may see an image."""
        return bool(self._scored[position]) and bool(self.hidden.visible(self.test_set, [position]))

    def labels_of(self, position: int) -> JudgedLabels | None:
        """The labels of an image, or None if they are withheld."""
        withheld = self._withheld.asking(self.test_set, position)
        return None if withheld else self.label_index.of(position)

    def class_in_question(self, position: int, claim: Claim, class_id: str) -> str:
        """The class that a proposal is about; raises if the labels that visitors see contradict the claim."""
        space = self.test_set.class_space
        if claim is Claim.PROBLEMATIC:
            return space.ids[self._main_class(position)]
        if not class_id:
            raise InputError("choose a class")
        class_index, labels = space.index(class_id), self.labels_of(position)
        if labels is not None and claim is Claim.MISSING and class_index in labels.correct:
            raise InputError(f"{space.names[class_index]} is a label of this image already")
        if labels is not None and claim is Claim.WRONG and class_index not in labels.correct:
            raise InputError(f"{space.names[class_index]} is no label of this image")
        return space.ids[class_index]

    def _main_class(self, position: int) -> int:
        """The class that is asked about if the image itself is in question: its own label, or another judged class."""
        labels, own = self.label_index.of(position), int(self.test_set.labels[position])
        judged = (*labels.correct, *labels.unclear, *labels.wrong)
        if not judged:
            raise InputError("this image has no label: propose a class that it shows")
        return own if own in judged else judged[0]

    # Images by opaque ids

    def image_id(self, position: int) -> str:
        """The opaque id of an image, different for every link's queue and from those of all other pages."""
        return self.site.images.opaque_id(self._place, self.queue.test_set, position)

    def image(self, opaque_id: str, side: int) -> DisplayImage:
        """An image by its opaque id, if visitors may see it now."""
        return self.site.images.thumbnail(self.queue.test_set, self.located(opaque_id), side)

    def located(self, opaque_id: str) -> int:
        """The position of an image by its opaque id; hidden and unknown images raise the same error."""
        test_set, position = self.site.images.located(self._place, opaque_id)
        if test_set != self.queue.test_set or not self.may_show(position):
            raise UnknownName("image", opaque_id, None)
        return position

    @property
    def _place(self) -> str:
        return f"proposals {self.queue.id}"


def _part(positions: IntArray, number: int) -> IntArray:
    pages = max(1, -(-len(positions) // PAGE_SIZE))
    start = (min(number, pages) - 1) * PAGE_SIZE
    return positions[start : start + PAGE_SIZE]
