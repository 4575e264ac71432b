"""The ladder of a held-back test set: the models that were submitted to it, and which of them became the best."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from regrade.core.errors import InputError


@dataclass(frozen=True)
class Submission:
    """A model that was compared with the best one before it: its name, the digest of its predictions, and the verdict.

    ``level`` is the significance level of its test on ``images`` images, and ``time`` when it was submitted, in UTC.
    """

    model: str
    digest: str
    passed: bool
    level: float
    images: int
    time: str


@dataclass(frozen=True)
class Ladder:
    """The submissions to a test set in their order, each tested against the best model before it.

    The first best model is ``baseline``, with the digest of its predictions. ``confidence`` holds for all submissions
    together.
    """

    test_set: str
    baseline: str
    baseline_digest: str
    confidence: float
    submissions: tuple[Submission, ...] = ()

    @property
    def passes(self) -> int:
        """The number of submissions that became the best."""
        return sum(submission.passed for submission in self.submissions)

    @property
    def best(self) -> str:
        """The name of the best model so far."""
        return next((each.model for each in reversed(self.submissions) if each.passed), self.baseline)

    @property
    def best_digest(self) -> str:
        """The digest of the best model's predictions."""
        return next((each.digest for each in reversed(self.submissions) if each.passed), self.baseline_digest)

    def find(self, digest: str) -> int | None:
        """The number of the submission with these predictions, from 1; None if there is none."""
        return next((number for number, each in enumerate(self.submissions, 1) if each.digest == digest), None)

    def before(self, number: int) -> Ladder:
        """The ladder before a submission, counted from 1."""
        return replace(self, submissions=self.submissions[: number - 1])

    def with_submission(self, submission: Submission) -> Ladder:
        """The ladder with one more submission; one with the predictions of an earlier one raises."""
        if self.find(submission.digest) or submission.digest == self.baseline_digest:
            raise InputError(f"the predictions of {submission.model} were submitted before")
        return replace(self, submissions=(*self.submissions, submission))

    def continues(self, earlier: Ladder) -> bool:
        """Whether this is an earlier ladder with more submissions, or with none."""
        return self.before(len(earlier.submissions) + 1) == earlier

    @cached_property
    def digest(self) -> str:
        """A hash of all submissions, without the name of the test set."""
        content = {**asdict(self), "test_set": ""}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
