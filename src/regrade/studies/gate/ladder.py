"""The ladder: is a candidate better than the best model submitted so far to a held-back test set?

Whoever tunes models on the answers of a test set wears it out. A ladder tells one bit per submission, and its tests pay
for all bits told before: over all submissions, the probability of a wrong PASS is at most 1 - confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from regrade.core import Column, InputError, Ladder, Submission, Table, Tabular
from regrade.core.amounts import amount
from regrade.stats import adaptive_level, better_p_value, smallest_passing_gain
from regrade.studies.gate.result import GateResult, GateRow, GateRule, GateVerdict
from regrade.studies.scoring import EVERYTHING

_DISAGREEMENTS = (0.02, 0.05, 0.1)
"""Shares of images with different correctness, for which the smallest gain that passes is told."""


@dataclass(frozen=True)
class Entrant:
    """A model that is submitted: its name, the digest of its predictions, and the time."""

    model: str
    digest: str
    time: str


@dataclass(frozen=True)
class Discordant:
    """The images that only the candidate or only the best model has right, and all images.

    The first two are effective counts if images belong to clusters.
    """

    only_candidate: float
    only_best: float
    images: int


def climb(ladder: Ladder, entrant: Entrant, count: Callable[[], Discordant]) -> GateResult:
    """Submit a model: PASS if it is significantly better than the best so far, otherwise INCONCLUSIVE.

    ``count`` counts the discordant images. Predictions that were submitted before get the same verdict again without a
    test. The result has the ladder with the submission, and tells nothing else about the test set.
    """
    if entrant.digest == ladder.baseline_digest:
        raise InputError(f"{entrant.model} has the predictions with which the ladder began: submit another model")
    number = ladder.find(entrant.digest)
    if number is None:
        ladder = ladder.with_submission(_tested(ladder, entrant, count()))
        return _result(ladder, len(ladder.submissions), ())
    return _result(ladder, number, ("these predictions were submitted before, and have the same verdict",))


def _tested(ladder: Ladder, entrant: Entrant, counts: Discordant) -> Submission:
    level = next_level(ladder)
    passed = better_p_value(counts.only_candidate, counts.only_best) <= level
    return Submission(entrant.model, entrant.digest, passed, level, counts.images, entrant.time)


def next_level(ladder: Ladder) -> float:
    """The significance level of the next submission."""
    return adaptive_level(len(ladder.submissions) + 1, ladder.passes, confidence=ladder.confidence)


def _result(ladder: Ladder, number: int, notes: tuple[str, ...]) -> GateResult:
    """The verdict of a submission."""
    submission, before = ladder.submissions[number - 1], ladder.before(number)
    verdict = GateVerdict.PASS if submission.passed else GateVerdict.INCONCLUSIVE
    row = GateRow(
        GateRule.LADDER.value,
        ladder.test_set,
        EVERYTHING,
        GateRule.LADDER,
        None,
        submission.level,
        f"p ≤ {submission.level:.2g}",
        verdict,
        "" if submission.passed else f"not shown to be better than {before.best}; the difference is not told",
        None,
        submission.images,
    )
    earlier = f"after {amount(number - 1, 'earlier submission')}, {before.passes or 'none'} of them PASS"
    when = "of the first submission" if number == 1 else earlier
    needed = f"required {when}: {_needed_gain(submission.images, submission.level, before.best)}"
    return GateResult(
        verdict,
        submission.model,
        before.best,
        ladder.confidence,
        (row,),
        (),
        (*notes, needed, _guarantee(ladder)),
        ladder,
    )


def _needed_gain(images: int, level: float, best: str) -> str:
    """What a model must be ahead by, for some shares of images on which only it or the best one is right."""
    gains = {share: smallest_passing_gain(images, share, level) for share in _DISAGREEMENTS}
    possible = {share: gain for share, gain in gains.items() if gain is not None}
    if not possible:
        return f"{amount(images, 'image')} cannot show it, even if {100 * _DISAGREEMENTS[-1]:g} % of them change"
    points = _choice(f"{100 * gain:.1f}" for gain in possible.values())
    shares = _choice(f"{100 * share:g}" for share in possible)
    return f"ahead of {best} by {points} points if {shares} % of the images are right for one of the two only"


def _choice(numbers: Iterable[str]) -> str:
    *first, last = numbers
    return f"{', '.join(first)} or {last}" if first else last


def _guarantee(ladder: Ladder) -> str:
    most = f"{100 * (1 - ladder.confidence):.3g} %"
    return (
        f"a wrong PASS has a probability of at most {most} over all submissions, however models were chosen, if "
        "nothing but these verdicts is told about the test set"
    )


@dataclass(frozen=True, repr=False)
class LadderStatus(Tabular, records="submissions"):
    """The submissions to the ladder of a test set, the best model, and what the next submission needs.

    ``images`` is the number of labeled images.
    """

    test_set: str
    baseline: str
    best: str
    confidence: float
    submissions: tuple[Submission, ...]
    next_level: float
    images: int

    @classmethod
    def of(cls, ladder: Ladder, images: int) -> LadderStatus:
        """The status of a ladder whose test set has so many labeled images."""
        facts = (ladder.test_set, ladder.baseline, ladder.best, ladder.confidence, ladder.submissions)
        return cls(*facts, next_level(ladder), images)

    def table(self) -> Table:
        """One row per submission, in their order."""
        columns = (
            Column("submission", "submission"),
            Column("model", "model"),
            Column("verdict", "verdict"),
            Column("level", "level of the test", percent=False, digits=6, floor=1e-6),
            Column("time", "time", detail=True),
        )
        rows = tuple(
            (number, each.model, GateVerdict.PASS.value if each.passed else "not shown", each.level, each.time)
            for number, each in enumerate(self.submissions, 1)
        )
        count = amount(len(self.submissions), "submission")
        title = f"ladder of {self.test_set}: {count}, best: {self.best}"
        notes = (f"required of the next submission: {_needed_gain(self.images, self.next_level, self.best)}",)
        return Table(title, columns, rows, notes)
