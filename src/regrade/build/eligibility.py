"""Which candidates may enter a test set: the rules of Recht et al. 2019, checked in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

MIN_ASSIGNMENTS = 10
"""The number of answers that a candidate of ImageNetV2 needs."""


@dataclass(frozen=True)
class Candidate:
    """An image for one class: its selection frequency, the number of answers, and the keyword it was searched with."""

    image: str
    class_id: str
    frequency: float
    assignments: int
    keyword: str = ""


class Exclusion(StrEnum):
    """Why a candidate is not eligible, in the order in which the rules are checked."""

    BLACKLISTED = "blacklisted"
    FEW_ASSIGNMENTS = "few_assignments"
    BELOW_THRESHOLD = "below_threshold"
    NEAR_DUPLICATE = "near_duplicate"
    UNREVIEWED = "unreviewed"


@dataclass(frozen=True)
class Eligibility:
    """The images that are excluded by name, and the number of answers that a candidate needs.

    ``unreviewed`` images have a neighbor that is close enough to be a duplicate, and that nobody has looked at.
    """

    blacklist: frozenset[str] = frozenset()
    near_duplicates: frozenset[str] = frozenset()
    unreviewed: frozenset[str] = frozenset()
    min_assignments: int = MIN_ASSIGNMENTS

    def exclusion(self, candidate: Candidate, *, threshold: float = 0.0) -> Exclusion | None:
        """The first rule that excludes a candidate, or None; ``threshold`` is the lowest selection frequency."""
        if candidate.image in self.blacklist:
            return Exclusion.BLACKLISTED
        if candidate.assignments < self.min_assignments:
            return Exclusion.FEW_ASSIGNMENTS
        if candidate.frequency < threshold:
            return Exclusion.BELOW_THRESHOLD
        if candidate.image in self.near_duplicates:
            return Exclusion.NEAR_DUPLICATE
        if candidate.image in self.unreviewed:
            return Exclusion.UNREVIEWED
        return None

    def divide(
        self, candidates: Iterable[Candidate], *, threshold: float = 0.0
    ) -> tuple[list[Candidate], dict[str, Exclusion]]:
        """The eligible candidates, sorted by image, and the reason for each of the others."""
        eligible, excluded = [], {}
        for candidate in sorted(candidates, key=lambda candidate: candidate.image):
            reason = self.exclusion(candidate, threshold=threshold)
            if reason is None:
                eligible.append(candidate)
            else:
                excluded[candidate.image] = reason
        return eligible, excluded
