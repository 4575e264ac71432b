"""A gate: rules about a candidate and its baseline, each with one-sided bounds and a verdict.

PASS of a rule uses a bound that errs with at most 1 - confidence, without correction: a gate passes only if all rules
do, so that a candidate that violates any rule passes with at most this probability (an intersection-union test, Berger
1982). FAIL uses a bound corrected for the number of rules (Bonferroni): a candidate that meets all rules fails with at
most this probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.core import Estimate, InputError, Predictions, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import bonferroni_confidence
from regrade.stats.intervals import method_name
from regrade.studies.gate.measures import (
    Advice,
    CoverageMeasure,
    DifferenceMeasure,
    Measure,
    MetricMeasure,
    ShareMeasure,
    flip_share,
    stacked,
)
from regrade.studies.gate.result import FlipCount, GateResult, GateRow, GateRule, GateVerdict
from regrade.studies.gate.rules import TOP5, GateRules, is_percent, rule_metric
from regrade.studies.grade.analysis import slice_masks, top5_of
from regrade.studies.grade.metrics import graded_images
from regrade.studies.image_basis import JudgedPredictions, judge_predictions
from regrade.studies.image_clusters import ImageClusters
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.scoring import EVERYTHING, Scoring
from regrade.studies.seeded_methods import MethodPair, SeededMethod, paired_methods


@dataclass(frozen=True, eq=False)
class GateSet:
    """A test set of a gate with its rules, and the predictions of the candidate's and the baseline's models by name."""

    test_set: TestSet
    rules: GateRules
    predictions: Mapping[str, tuple[Predictions, Scoring]]
    candidate: SeededMethod
    baseline: SeededMethod | None = None
    labels: ReviewedLabels | None = None
    clusters: ImageClusters | None = None

    @property
    def members(self) -> IntArray | None:
        """Shape (n,): the cluster of each image, if there are clusters."""
        return None if self.clusters is None else self.clusters.numbers

    @cached_property
    def judged(self) -> Mapping[str, JudgedPredictions]:
        """Which predictions of each model are right."""
        return {model: judge_predictions(*pair, self.labels) for model, pair in self.predictions.items()}

    @cached_property
    def pair(self) -> MethodPair | None:
        """The pairs of models with the same seed."""
        return None if self.baseline is None else paired_methods(self.baseline, self.candidate)

    @cached_property
    def candidates(self) -> list[JudgedPredictions]:
        """The models of the candidate."""
        return [self.judged[model] for model in self.candidate.models.values()]


@dataclass(frozen=True, eq=False)
class RuleDraft:
    """A rule before its verdict: ``measure`` must be at least ``threshold``, above it if ``strict``, or ``at_most``."""

    gate_set: GateSet
    kind: GateRule
    measure: Measure
    threshold: float
    slice: str = EVERYTHING
    metric: str = ""
    at_most: bool = False
    percent: bool = True

    @property
    def strict(self) -> bool:
        """Whether the threshold itself is not enough: a difference at the margin is not within it."""
        return self.kind in (GateRule.NOT_WORSE, GateRule.BETTER)

    @property
    def required(self) -> str:
        """The requirement in words."""
        sign = "≤" if self.at_most else ">" if self.strict else "≥"
        number = f"{100 * self.threshold:.2f}" if self.percent else f"{self.threshold:.3f}"
        return f"{sign} {number}"


def gate(sets: Sequence[GateSet], *, confidence: float = 0.95) -> GateResult:
    """Decide the rules of every test set, and the gate; one without a rule raises."""
    if not 0.5 < confidence < 1:
        raise InputError(f"the confidence of a gate must lie between 0.5 and 1, got {confidence:g}")
    drafts = [draft for each in sets for draft in _drafts(each)]
    tested = sum(draft.kind is not GateRule.COVERAGE for draft in drafts)
    if not tested:
        raise InputError(
            "a gate needs at least one rule: --baseline with --margin, --require-better, --slice-margin or "
            "--max-negative-flips; or --floor, --at-least or --at-most"
        )
    rows = tuple(_decided(draft, confidence, tested) for draft in drafts)
    first = sets[0]
    return GateResult(
        GateVerdict.of([row.verdict for row in rows]),
        first.candidate.name,
        None if first.baseline is None else first.baseline.name,
        confidence,
        rows,
        tuple(flip for each in sets if each.pair is not None for flip in _flips(each, confidence)),
        tuple(_notes(sets, rows, confidence, tested)),
    )


def _decided(draft: RuleDraft, confidence: float, tested: int) -> GateRow:
    alpha = 1 - confidence
    try:
        measured = _sided(draft, confidence, tested)
        verdict = _verdict(draft, measured)
        advice = Advice("") if verdict is GateVerdict.PASS else _advice(draft, verdict, alpha)
    except UndefinedError as error:
        measured, verdict, advice = None, GateVerdict.INCONCLUSIVE, Advice(str(error))
    return GateRow(
        draft.metric or draft.kind.value,
        draft.gate_set.test_set.name,
        draft.slice,
        draft.kind,
        measured,
        draft.threshold,
        draft.required,
        verdict,
        advice.reason,
        advice.images,
        draft.measure.images,
        draft.percent,
    )


def _sided(draft: RuleDraft, confidence: float, tested: int) -> Estimate:
    """The value with the bound that PASS uses on one side, and the corrected bound that FAIL uses on the other."""
    passing, failing = (
        draft.measure.estimate(1 - 2 * (1 - level)) for level in (confidence, bonferroni_confidence(tested, confidence))
    )
    if draft.kind is GateRule.COVERAGE:
        return passing
    low, high = (failing.low, passing.high) if draft.at_most else (passing.low, failing.high)
    corrected = "" if tested == 1 else f" to FAIL {100 * bonferroni_confidence(tested, confidence):.4g}%, to PASS"
    method = method_name(f"{passing.method.rpartition(' ')[0]}, one-sided{corrected}", confidence)
    return Estimate(passing.value, low, high, passing.n, method)


def _verdict(draft: RuleDraft, measured: Estimate) -> GateVerdict:
    if draft.at_most:
        passes, fails = measured.high <= draft.threshold, measured.low > draft.threshold
    else:
        passes = measured.low > draft.threshold if draft.strict else measured.low >= draft.threshold
        fails = measured.high < draft.threshold and draft.kind is not GateRule.COVERAGE
    return GateVerdict.PASS if passes else GateVerdict.FAIL if fails else GateVerdict.INCONCLUSIVE


def _advice(draft: RuleDraft, verdict: GateVerdict, alpha: float) -> Advice:
    if draft.kind is GateRule.COVERAGE:
        return Advice("predictions are missing: add them, or accept part of the images with --min-coverage")
    if verdict is GateVerdict.FAIL:
        return Advice("significantly outside the requirement")
    return draft.measure.advice(draft.threshold, alpha, at_most=draft.at_most)


def _drafts(each: GateSet) -> Iterator[RuleDraft]:
    """The rules of a test set in a fixed order: coverage, differences, flips, floors, metrics."""
    rules = each.rules
    if rules.comparing and each.pair is None:
        raise InputError("margins and negative flips are compared with a baseline: name it with --baseline")
    yield from _coverage(each)
    for slice_name, mask, margin in _by_slice(each.test_set, rules.margins):
        kind = GateRule.NOT_WORSE if margin else GateRule.BETTER
        yield RuleDraft(each, kind, _difference(each, mask), 0.0 - margin, slice_name)
    if rules.max_negative_flips is not None:
        yield RuleDraft(each, GateRule.NEGATIVE_FLIPS, _negative_flips(each), rules.max_negative_flips, at_most=True)
    for slice_name, mask, floor in _by_slice(each.test_set, rules.slice_floors):
        yield RuleDraft(each, GateRule.ACCURACY, _accuracy(each, mask), floor, slice_name)
    for thresholds, at_most in ((rules.at_least, False), (rules.at_most, True)):
        for name, threshold in thresholds.items():
            measure = _metric(each, name)
            yield RuleDraft(
                each, GateRule.METRIC, measure, threshold, metric=name, at_most=at_most, percent=is_percent(name)
            )


def _by_slice(test_set: TestSet, thresholds: Mapping[str, float]) -> Iterator[tuple[str, BoolArray, float]]:
    """Each slice with its images and its threshold; a column stands for its values, and an empty slice raises."""
    for name, threshold in thresholds.items():
        everything, *parts = slice_masks(test_set, () if name == EVERYTHING else (name,)).items()
        yield from ((part, mask, threshold) for part, mask in parts or [everything])


def _coverage(each: GateSet) -> Iterator[RuleDraft]:
    """The rule that all labeled images are covered; none is written if they are and no other share is required."""
    labeled = each.test_set.labeled if each.labels is None else each.labels.scored
    covered = np.logical_and.reduce([predictions.counted for predictions, _ in each.predictions.values()])
    measure = CoverageMeasure(int((covered & labeled).sum()), int(labeled.sum()))
    if not measure.images:
        raise UndefinedError(f"{each.test_set.name} has no labeled image")
    if measure.covered < measure.images or each.rules.min_coverage is not None:
        least = 1.0 if each.rules.min_coverage is None else each.rules.min_coverage
        yield RuleDraft(each, GateRule.COVERAGE, measure, least)


def _accuracy(each: GateSet, mask: BoolArray) -> ShareMeasure:
    models = each.candidates
    return ShareMeasure(
        stacked([model.right for model in models]),
        stacked([model.right for model in models]),
        stacked([model.right | model.novel for model in models]),
        stacked([model.counted & mask for model in models]),
        each.members,
    )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of models on the images that count for all of them.

    ``right`` (2, k, n) is that of candidate and baseline; ``least`` and ``most`` are the worst and the best case of
    what no one has judged, for the candidate compared with the baseline, and ``clusters`` (n,) those of the images.
    """

    right: BoolArray
    least: BoolArray
    most: BoolArray
    clusters: IntArray | None

    def flips(self, case: BoolArray) -> BoolArray:
        """Shape (k, n): right for the baseline only."""
        flips: BoolArray = case[1] & ~case[0]
        return flips


def _pairs(each: GateSet, mask: BoolArray | bool = True) -> _Pairs:
    assert each.pair is not None
    rows = [(each.judged[baseline], each.judged[candidate]) for baseline, candidate in each.pair.rows]
    shared = np.logical_and.reduce([model.counted for row in rows for model in row]) & mask

    def case(choose: Callable[[JudgedPredictions, JudgedPredictions], tuple[BoolArray, BoolArray]]) -> BoolArray:
        return np.stack([np.stack([part[shared] for part in choose(*row)]) for row in rows], axis=1)

    def extreme(better: JudgedPredictions, worse: JudgedPredictions) -> BoolArray:
        # equal predictions are judged alike: they are no case for either model
        same = (better.classes == worse.classes) & (better.class_space == worse.class_space)
        raised: BoolArray = better.right | (better.novel & ~(worse.novel & same))
        return raised

    return _Pairs(
        case(lambda baseline, candidate: (candidate.right, baseline.right)),
        case(lambda baseline, candidate: (candidate.right, extreme(baseline, candidate))),
        case(lambda baseline, candidate: (extreme(candidate, baseline), baseline.right)),
        None if each.members is None else each.members[shared],
    )


def _difference(each: GateSet, mask: BoolArray) -> DifferenceMeasure:
    pairs = _pairs(each, mask)
    return DifferenceMeasure(pairs.right, pairs.least, pairs.most, pairs.clusters)


def _negative_flips(each: GateSet) -> ShareMeasure:
    pairs = _pairs(each)
    flips = pairs.flips(pairs.right)
    # the worst case of the difference has most flips
    fewest, most = pairs.flips(pairs.most), pairs.flips(pairs.least)
    return ShareMeasure(flips, fewest, most, np.ones_like(flips), pairs.clusters)


def _metric(each: GateSet, name: str) -> Measure:
    metric = rule_metric(name)
    if each.labels is not None:
        raise InputError(f"{name} needs one label per image: leave out the label set")
    if metric is None:
        return _top5(each)
    if len(each.candidates) > 1:
        raise InputError(f"{name} is computed for a single candidate: {each.candidate.name} has several models")
    (model,), (judged,) = each.candidate.models.values(), each.candidates
    predictions, scoring = each.predictions[model]
    graded = graded_images(predictions, scoring.labels, judged.right, judged.counted)
    return MetricMeasure(metric, graded, scoring.class_map is not None)


def _top5(each: GateSet) -> Measure:
    rows = {model: top5_of(*each.predictions[model]) for model in each.candidate.models.values()}
    credits = [row.credit for row in rows.values() if row is not None]
    if len(credits) < len(rows):
        raise InputError(f"{TOP5} needs five classes per image, which {next(m for m in rows if rows[m] is None)} lacks")
    top5: FloatArray = np.stack(credits)
    return ShareMeasure(top5, top5, top5, stacked([model.counted for model in each.candidates]), each.members)


def _flips(each: GateSet, confidence: float) -> Iterator[FlipCount]:
    """The flips on a test set; none where too few images count for all models."""
    pairs = _pairs(each)
    candidate, baseline = pairs.right
    negative, positive = baseline & ~candidate, candidate & ~baseline
    if negative.shape[1] < min(len(negative), 2):
        return
    yield FlipCount(
        each.test_set.name,
        negative.shape[1],
        int(negative.sum()),
        int(positive.sum()),
        flip_share(negative, pairs.clusters, confidence=confidence),
        flip_share(positive, pairs.clusters, confidence=confidence),
    )


def _hard_notes(test_set: TestSet, slices: Iterable[str]) -> Iterator[str]:
    """Which slices were chosen by what models find hard, or leave such images out."""
    hard = [name for name in slices if test_set.base_slice(name) in test_set.hard_slices]
    if chosen := [name for name in hard if name in test_set.hard_slices]:
        yield f"chosen because models find them hard, which biases models that took part: {', '.join(chosen)}"
    if rest := [name for name in hard if name not in test_set.hard_slices]:
        yield f"without images that models find hard, which favors models that took part: {', '.join(rest)}"


def _notes(sets: Sequence[GateSet], rows: Sequence[GateRow], confidence: float, tested: int) -> Iterator[str]:
    level = f"{100 * (1 - confidence):g} %"
    yield (
        f"bounds are one-sided: a candidate that violates any rule gets PASS with probability at most {level}, and one "
        f"that meets all rules FAIL with at most {level}, corrected for {amount(tested, 'rule')}"
    )
    yield f"bounds: {'; '.join(sorted({row.measured.method for row in rows if row.measured}))}"
    yield from dict.fromkeys(note for each in sets if each.pair for note in each.pair.notes if len(each.pair.rows) > 1)
    yield from dict.fromkeys(model.rule for each in sets for model in each.judged.values() if model.rule)
    for each in sets:
        labels = each.labels
        yield from _hard_notes(each.test_set, dict.fromkeys(r.slice for r in rows if r.test_set == each.test_set.name))
        yield from _cluster_notes(each, rows)
        if labels is not None:
            yield f"accuracies on {each.test_set.name} are multi-label, against {labels.scoring.labels.full_name}"
        if any(model.novel.any() for model in each.judged.values()):
            yield (
                f"no one has judged some predictions on {each.test_set.name}: they count against PASS and against FAIL"
            )


def _cluster_notes(each: GateSet, rows: Sequence[GateRow]) -> Iterator[str]:
    """The clusters of a test set, and the metrics whose bounds do not account for them."""
    if each.clusters is None:
        return
    yield from (f"{each.test_set.name}: {note}" for note in each.clusters.notes(each.test_set.labeled))
    own = [row.rule for row in rows if row.test_set == each.test_set.name and row.kind is GateRule.METRIC]
    if metrics := [name for name in dict.fromkeys(own) if name != TOP5]:
        yield f"not over clusters, but as if images were independent: bounds of {', '.join(metrics)}"
