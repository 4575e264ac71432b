"""Findings of a grade: the range of accuracies, the effect of multi-label references, and the weakest slice."""

from __future__ import annotations

from statistics import median

import numpy as np

from regrade.core import PERSON_PREFIX, Estimate
from regrade.core.amounts import amount
from regrade.display.finding import Finding, by_weight, claim, no_claim
from regrade.display.wording import confidence_of, listed, points, right_counts, share
from regrade.stats import (
    SampledShares,
    lower_share_p_values,
    proportion,
    widen_for_comparisons,
)
from regrade.studies.grade.result import Grade, GradeRow
from regrade.studies.lowest import may_be_lowest
from regrade.studies.scoring import EVERYTHING

_LABELS_TEST = (
    "Paired interval of multi-label minus top-1 accuracy on the same images, compared with 0, Bonferroni-corrected for "
    "all models, since the best is selected; predictions that no one has judged count against the claim."
)
_EFFECTIVE = "of counts divided by their design effect if images come in clusters"
_WEAKEST_TEST = (
    f"Fisher's exact tests of the slice against every other slice, one-sided, {_EFFECTIVE}, Bonferroni-corrected."
)
_SLICES_TEST = f"Fisher's exact tests of all ordered pairs of slices, one-sided, {_EFFECTIVE}, Holm-corrected."
_REST_TEST = f"Fisher's exact test of the slice against the rest of the images, one-sided, {_EFFECTIVE}."
_NOT_BY_INTERVALS = "Slices are compared with each other by corrected tests, not by these intervals."
_ACCURACY = no_claim("grade: accuracy of one model")
_RANGE = no_claim("grade: range of accuracies")
_SAME_BY_LABELS = no_claim("grade: labels change nothing shown", _LABELS_TEST)
_CHANGED_BY_LABELS = claim("grade: labels change the accuracy", _LABELS_TEST)
_WEAKEST_SLICE = claim("grade: weakest slice", _WEAKEST_TEST)
_WEAK_SLICES = claim("grade: some slices are not the weakest", _SLICES_TEST)
_NO_WEAK_SLICE = no_claim("grade: no weak slice shown", _SLICES_TEST)
_HARDER_SLICE = claim("grade: harder slice", _REST_TEST)
_NOT_HARDER = no_claim("grade: slice is not shown to be harder", _REST_TEST)


def grade_findings(result: Grade) -> tuple[Finding, ...]:
    """The range of accuracies, the change by multi-label accuracy, and the weakest slice."""
    rows = [row for row in result.rows if row.slice == EVERYTHING and row.seeds is None]  # tests are for single models
    models = [row for row in rows if not row.model.startswith(PERSON_PREFIX)]
    candidates = (_range(result, rows), _labels(result, models), _slices(result, models))
    return by_weight(candidates)


def _range(result: Grade, rows: list[GradeRow]) -> Finding | None:
    accuracies = [(row.model, row.top1) for row in rows if row.top1]
    if not accuracies:
        return None
    (best, alone), (worst, _) = accuracies[0], accuracies[-1]
    if len(accuracies) == 1:
        text = f"{best} is right on {share(alone)} of {amount(alone.n, 'image')}."
        return Finding(_ACCURACY, f"{best} is right on {100 * alone.value:.1f}% of {result.test_set}", text, 0.5)
    shares, level = _shares_of(rows), confidence_of(alone)
    highest, lowest = shares.best(level), shares.worst(level)
    text = f"{best} is right on {share(highest)} of {amount(highest.n, 'image')}"
    middle = 100 * median(accuracy.value for _, accuracy in accuracies)
    also = "" if len(accuracies) < 4 else f", the median of all on {middle:.1f}%"
    ends = f"{100 * lowest.value:.1f}% to {100 * highest.value:.1f}%"
    if accuracies[0][1].value == accuracies[-1][1].value:
        tied = f"Each is right on {share(highest)} of {amount(highest.n, 'image')}, corrected for selecting the best."
        return Finding(_RANGE, f"All {len(accuracies):,} models are tied on {result.test_set}", tied, 0.45)
    people = any(name.startswith(PERSON_PREFIX) for name, _ in accuracies)
    among = f"{len(accuracies):,} models and people" if people else amount(len(accuracies), "model")
    text = (
        f"Of {among}, {text}{also}, and {worst} on {share(lowest)}. Both intervals are corrected for selecting the "
        "best and the worst."
    )
    return Finding(_RANGE, f"Top-1 accuracy on {result.test_set} ranges from {ends}", text, 0.45)


def _shares_of(rows: list[GradeRow]) -> SampledShares:
    """The top-1 accuracies of the rows that have one."""
    graded = [row for row in rows if row.top1]
    right, images = right_counts([row.top1 for row in graded if row.top1])
    worth = tuple(row.worth for row in graded if row.worth)
    return SampledShares(np.array(right), np.array(images), worth if len(worth) == len(graded) else None)


def _labels(result: Grade, rows: list[GradeRow]) -> Finding | None:
    """The best model's accuracy under multi-label references, on the images that they score."""
    best = next((row for row in rows if row.top1_same_images and row.labels_change), None)
    if result.labels is None or best is None or best.top1_same_images is None or best.labels_change is None:
        return None
    top1, change = best.top1_same_images, best.labels_change
    now, by = best.reviewed or best.multilabel, f"{result.labels}@{result.labels_version}"
    assert now is not None
    text = (
        f"On the {amount(change.n, 'image')} that {by} scores, {best.model} is right on {share(top1)} by top-1, with "
        f"one label per image, and on {share(now)} under {by}: {points(change)}."
    )
    unjudged = 0.0 if best.reviewed or best.multilabel_upper is None else best.multilabel_upper.value - now.value
    if unjudged:
        text += (
            f" No one has judged {amount(best.novel, 'prediction')} of {best.model} yet: if all were correct, the "
            f"accuracy would be {100 * (now.value + unjudged):.1f}%."
        )
    wider = widen_for_comparisons(change, len(rows), confidence=confidence_of(change))
    if wider.low <= 0 <= wider.high + unjudged:
        headline = f"No difference detected between the best model's top-1 accuracy and its accuracy under {by}"
        return Finding(_SAME_BY_LABELS, headline, text, 0.3)
    headline = (
        f"The best model's accuracy is {'higher' if wider.low > 0 else 'lower'} under {by} than by top-1: "
        f"{100 * now.value:.1f}% instead of {100 * top1.value:.1f}% of the same images"
    )
    return Finding(_CHANGED_BY_LABELS, headline, text, 0.8)


def _slices(result: Grade, rows: list[GradeRow]) -> Finding | None:
    """Which slices are hard for the best model, by tests corrected for all slices; without slices selected as hard."""
    best = next((row for row in rows if row.top1), None)
    if best is None or best.top1 is None:
        return None
    parts = {
        row.slice: row
        for row in result.rows
        if row.model == best.model and row.slice not in (EVERYTHING, *result.hard_slices) and row.top1
    }
    if not parts:
        return None
    level = 1 - confidence_of(best.top1)
    return (_against_rest if len(parts) == 1 else _weakest)(result, best.top1, parts, level)


def _against_rest(result: Grade, everything: Estimate, parts: dict[str, GradeRow], level: float) -> Finding | None:
    """One slice, tested against the rest of the images; None if it contains all images, or if the rest is not known."""
    ((name, row),) = parts.items()
    accuracy, dependence = row.top1, row.dependence
    assert accuracy is not None
    (right, all_right), (images, all_images) = right_counts([accuracy, everything])
    if all_images <= images:
        return None
    rest = dependence.rest if dependence else proportion(all_right - right, all_images - images, confidence=1 - level)
    if rest is None:
        return None
    text = (
        f"{row.model} is right on {share(accuracy)} of {amount(accuracy.n, 'image')} there, and on {share(rest)} of "
        "the rest."
    )
    effects = [dependence.effect, dependence.rest_effect] if dependence else None
    p_value = lower_share_p_values([right, all_right - right], [images, all_images - images], effects)[0, 1]
    if p_value <= level:
        return Finding(
            _HARDER_SLICE, f"{name} is harder for the best model than the rest of {result.test_set}", text, 0.6
        )
    headline = f"No evidence that {name} is harder for the best model than the rest of {result.test_set}"
    return Finding(_NOT_HARDER, headline, text, 0.25)


def _weakest(result: Grade, everything: Estimate, rows: dict[str, GradeRow], level: float) -> Finding:
    parts = {name: row.top1 for name, row in rows.items() if row.top1}
    effects = {name: row.dependence.effect for name, row in rows.items() if row.dependence}
    candidates = may_be_lowest(parts, level=level, design_effects=effects or None)
    lowest, among = candidates[0], amount(len(parts), "slice")
    text = (
        f"{rows[lowest].model} is right on {share(parts[lowest])} of {amount(parts[lowest].n, 'image')} of {lowest}, "
        f"and on {share(everything)} of all. {_NOT_BY_INTERVALS}"
    )
    if len(candidates) == 1:
        headline = f"The best model is weakest on {lowest}, of {among} of {result.test_set}"
        return Finding(_WEAKEST_SLICE, headline, text, 0.6)
    if len(candidates) < len(parts):
        headline = f"{len(candidates):,} of {among} of {result.test_set} may be the hardest for the best model"
        text = f"These are {listed(candidates)}; every other slice is significantly easier than one of them. {text}"
        return Finding(_WEAK_SLICES, headline, text, 0.5)
    headline = f"No difference between slices of {result.test_set} detected for the best model"
    text = f"The lowest accuracy of {among} is that on {lowest}. {text}"
    return Finding(_NO_WEAK_SLICE, headline, text, 0.25)
