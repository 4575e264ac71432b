"""What a grade says in words: how far models reach, what other labels make of it, and where the best is weak."""

from __future__ import annotations

from statistics import median

from regrade.core import PERSON_PREFIX, Estimate
from regrade.core.amounts import amount
from regrade.report.finding import Finding, claim, findings, no_claim
from regrade.report.wording import confidence_of, points, share
from regrade.stats import bonferroni_reach, proportion
from regrade.studies import EVERYTHING, Grade, GradeRow

_LABELS_TEST = (
    "Paired interval of multi-label less top-1 accuracy on the same images, compared with 0, Bonferroni-corrected for "
    "all models, of which the best is chosen; answers that no one has judged count against the claim."
)
_SLICE_TEST = "Exact intervals of the slice and of the rest, Bonferroni-corrected for all slices, do not overlap."
_ACCURACY = no_claim("grade: accuracy of one model")
_RANGE = no_claim("grade: range of accuracies")
_SAME_BY_LABELS = no_claim("grade: labels change nothing shown", _LABELS_TEST)
_CHANGED_BY_LABELS = claim("grade: labels change the accuracy", _LABELS_TEST)
_WEAKEST_SLICE = claim("grade: weakest slice", _SLICE_TEST)
_NO_WEAK_SLICE = no_claim("grade: no weak slice shown", _SLICE_TEST)


@findings.register
def grade_findings(result: Grade) -> tuple[Finding, ...]:
    """The range of accuracies, the change by multi-label accuracy, and the weakest slice."""
    rows = [row for row in result.rows if row.slice == EVERYTHING]
    models = [row for row in rows if not row.model.startswith(PERSON_PREFIX)]
    told = (_range(result, rows), _labels(result, models), _slices(result, models))
    return tuple(sorted((one for one in told if one), key=lambda one: -one.weight))


def _range(result: Grade, rows: list[GradeRow]) -> Finding | None:
    found = [(row.model, row.top1) for row in rows if row.top1]
    if not found:
        return None
    (best, highest), (worst, lowest) = found[0], found[-1]
    text = f"{best} is right on {share(highest)} of {amount(highest.n, 'image')}"
    if len(found) == 1:
        return Finding(
            _ACCURACY, f"{best} is right on {100 * highest.value:.1f}% of {result.test_set}", f"{text}.", 0.5
        )
    middle = "" if len(found) < 4 else f", the median of all on {100 * median(one.value for _, one in found):.1f}%"
    headline = f"Top-1 accuracy on {result.test_set} goes from {100 * lowest.value:.1f}% to {100 * highest.value:.1f}%"
    people = any(name.startswith(PERSON_PREFIX) for name, _ in found)
    among = f"{len(found):,} models and people" if people else amount(len(found), "model")
    text = f"Of {among}, {text}{middle}, and {worst} on {share(lowest)}."
    return Finding(_RANGE, headline, text, 0.45)


def _labels(result: Grade, rows: list[GradeRow]) -> Finding | None:
    """What labels that accept all right answers make of the best model, on the images that they score."""
    best = next((row for row in rows if row.top1_same_images and row.labels_change), None)
    if result.labels is None or best is None or best.top1_same_images is None or best.labels_change is None:
        return None
    top1, change = best.top1_same_images, best.labels_change
    now, by = best.reviewed or best.multilabel, f"{result.labels}@{result.labels_version}"
    assert now is not None
    text = (
        f"On the same {amount(change.n, 'image')}, those that {by} scores, {best.model} is right on {share(top1)} by "
        f"one label per image and on {share(now)} by {by}: {points(change)}."
    )
    unjudged = 0.0 if best.reviewed or best.multilabel_upper is None else best.multilabel_upper.value - now.value
    if unjudged:
        text += (
            f" No one has judged {amount(best.novel, 'answer')} of it yet: if all were right it would be "
            f"{100 * (now.value + unjudged):.1f}%."
        )
    low, high = _bounds_for_all(change, len(rows))
    if low <= 0 <= high + unjudged:
        return Finding(
            _SAME_BY_LABELS, f"No change of the best model's accuracy by {by} is shown on the same images", text, 0.3
        )
    headline = (
        f"The best model is {'better' if low > 0 else 'worse'} than top-1 says: {100 * now.value:.1f}%, not "
        f"{100 * top1.value:.1f}%, of the same images"
    )
    return Finding(_CHANGED_BY_LABELS, headline, text, 0.8)


def _bounds_for_all(change: Estimate, models: int) -> tuple[float, float]:
    """An interval as wide as it must be to hold for all models together."""
    wider = bonferroni_reach(models, confidence=confidence_of(change))
    return change.value - wider * (change.value - change.low), change.value + wider * (change.high - change.value)


def _slices(result: Grade, rows: list[GradeRow]) -> Finding | None:
    """The slice on which the best model is furthest below the rest, told by intervals corrected for all slices."""
    best = next((row for row in rows if row.top1), None)
    if best is None or best.top1 is None:
        return None
    model, everything = best.model, best.top1
    parts = [
        (row.slice, row.top1) for row in result.rows if row.model == model and row.slice != EVERYTHING and row.top1
    ]
    if not parts:
        return None
    name, lowest = min(parts, key=lambda part: part[1].value)
    among = amount(len(parts), "slice")
    text = (
        f"{model} is right on {share(lowest)} of {amount(lowest.n, 'image')} there, and on {share(everything)} of all."
    )
    if _below_the_rest(lowest, everything, len(parts)):
        return Finding(
            _WEAKEST_SLICE, f"The best model is weakest on {name}, of {among} of {result.test_set}", text, 0.6
        )
    headline = f"No slice of {result.test_set} is shown to be harder for the best model"
    return Finding(_NO_WEAK_SLICE, headline, f"The lowest of {among} is {name}: {text} That may be chance.", 0.25)


def _below_the_rest(part: Estimate, everything: Estimate, slices: int) -> bool:
    others = everything.n - part.n
    if others <= 0:
        return False
    right, all_right = (round(one.value * one.n) for one in (part, everything))
    level = 1 - (1 - confidence_of(part)) / slices
    inside = proportion(right, part.n, confidence=level)
    rest = proportion(all_right - right, others, confidence=level)
    return inside.high < rest.low
