"""The review of a build: what people decided about its images, as numbered versions that are written once."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import BinaryIO

import pyarrow as pa

from regrade.core.panel import Fitness
from regrade.store.checked_files import PLACE, read_parquet, write_parquet
from regrade.store.collection import Collection
from regrade.store.layout import place_of

_REVIEW = "review-"

Example = tuple[str, str]
"""An image and its class."""


def review_queue(build: str) -> str:
    """The name of the queue in which the images of a build are reviewed."""
    return f"{build} review"


@dataclass(frozen=True)
class ReviewDecision:
    """Whether an image may stay in the set of a build, why not, who decided it, and when (ISO 8601)."""

    image: str
    class_id: str
    fitness: Fitness
    reason: str
    by: tuple[str, ...]
    at: str


@dataclass(frozen=True)
class BuildReview:
    """All decisions on the images of a build at one time; version 0 is stored when the review begins, without any."""

    build: str
    version: int
    queue: str
    decisions: tuple[ReviewDecision, ...] = field(default=(), repr=False)

    @property
    def digest(self) -> str:
        """A hash of the decisions."""
        rows = [{**asdict(decision), "fitness": decision.fitness.value} for decision in self.decisions]
        return hashlib.sha256(json.dumps([self.queue, rows], sort_keys=True).encode()).hexdigest()

    @cached_property
    def by_example(self) -> Mapping[Example, ReviewDecision]:
        """The decisions by image and class."""
        return {(decision.image, decision.class_id): decision for decision in self.decisions}

    @cached_property
    def flagged(self) -> Mapping[str, str]:
        """The images that must not be drawn again, with the reason."""
        return {row.image: row.reason for row in self.decisions if row.fitness is Fitness.PROBLEMATIC}

    def reviewed(self, examples: Iterable[Example]) -> int:
        """The number of images with a decision."""
        return sum(example in self.by_example for example in examples)

    def count_flagged(self, examples: Iterable[Example]) -> int:
        """The number of images that must not be drawn again."""
        return sum(image in self.flagged for image, _ in examples)


class BuildReviewCollection(Collection[BuildReview, None]):
    """The reviews of builds; every version contains all decisions of its time."""

    kind = "builds"

    def names_of(self, review: BuildReview, _context: None) -> tuple[str, ...]:
        """The build and the version."""
        return review.build, f"{_REVIEW}{review.version:04}"

    def refusal(self, review: BuildReview, _context: None) -> str:
        """The error for other decisions under the same version."""
        return f"version {review.version} of the review of {review.build} has other decisions already"

    def write(self, review: BuildReview, _context: None, file: BinaryIO) -> None:
        """Write one row per decision."""
        rows = review.decisions
        table = pa.table(
            {
                "image": pa.array([row.image for row in rows], pa.string()),
                "class": pa.array([row.class_id for row in rows], pa.string()),
                "decision": pa.array([row.fitness.value for row in rows], pa.string()),
                "reason": pa.array([row.reason for row in rows], pa.string()),
                "by": pa.array([row.by for row in rows], pa.list_(pa.string())),
                "at": pa.array([row.at for row in rows], pa.string()),
            }
        )
        meta = {
            PLACE: place_of(self.kind, *self.names_of(review, None)),
            "queue": review.queue,
            "version": review.version,
            "digest": review.digest,
        }
        write_parquet(table, meta, file)

    def versions(self, build: str) -> list[int]:
        """The versions of the review of a build, ascending; empty if it has no review."""
        return [int(name.removeprefix(_REVIEW)) for name in self.names(build) if name.startswith(_REVIEW)]

    def read(self, build: str, version: int) -> BuildReview:
        """Read a version."""
        table, meta = read_parquet(self.path(build, f"{_REVIEW}{version:04}"))
        decisions = (
            ReviewDecision(
                row["image"], row["class"], Fitness(row["decision"]), row["reason"], tuple(row["by"]), row["at"]
            )
            for row in table.to_pylist()
        )
        return BuildReview(build, version, meta["queue"], tuple(decisions))

    def newest(self, build: str) -> BuildReview | None:
        """The newest version; None if the build has no review."""
        versions = self.versions(build)
        return self.read(build, versions[-1]) if versions else None


def anonymous_review(review: BuildReview) -> tuple[ReviewDecision, ...]:
    """The decisions by image and class, without times, and with names such as ``reviewer-1`` for people.

    People with more decisions come first; among equals, those with a smaller hash of what they decided, so that the
    numbers tell nothing about names.
    """
    shares = Counter(name for row in review.decisions for name in row.by)
    content = {
        name: sorted((row.image, row.class_id, row.fitness.value) for row in review.decisions if name in row.by)
        for name in shares
    }
    digests = {name: hashlib.sha256(json.dumps(rows).encode()).hexdigest() for name, rows in content.items()}
    ordered = sorted(shares, key=lambda name: (-shares[name], digests[name]))
    anonymous = {name: f"reviewer-{number}" for number, name in enumerate(ordered, start=1)}
    rows = sorted(review.decisions, key=lambda row: (row.class_id, row.image))
    return tuple(replace(row, by=tuple(sorted(anonymous[name] for name in row.by)), at="") for row in rows)
