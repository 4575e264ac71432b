"""Findings of a study of confidence: miscalibrated models, and promises that do not hold on new images."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from regrade.core.amounts import amount
from regrade.display.finding import Finding, by_weight, claim, no_claim, register_verdicts, verdict_kinds
from regrade.display.wording import listed, points, share
from regrade.studies.confidence.result import (
    AcceptanceVerdict,
    CalibrationVerdict,
    Confidence,
    ConformalSets,
    CoverageVerdict,
    ModelConfidence,
)

_CALIBRATION_TEST = (
    "Interval of mean confidence minus accuracy and lower bound of the debiased calibration error, compared with 0, "
    "Bonferroni-corrected for both and for all models and test sets."
)
_COVERAGE_TEST = (
    "Beta-binomial test of the number of covered labels under exchangeability, one-sided, Bonferroni-corrected for all "
    "models, test sets and scores."
)
_ACCEPTANCE_TEST = (
    "Exact binomial test of the accuracy above the threshold against the target, one-sided, Bonferroni-corrected for "
    "all models and test sets."
)
_OVERCONFIDENT = claim("confidence: overconfident", _CALIBRATION_TEST)
_UNDERCONFIDENT = claim("confidence: underconfident", _CALIBRATION_TEST)
_MISCALIBRATED = claim("confidence: miscalibrated", _CALIBRATION_TEST)
_CALIBRATION_NOT_SHOWN = no_claim("confidence: no miscalibration detected", _CALIBRATION_TEST)
_COVERS_LESS = claim("confidence: conformal sets cover less", _COVERAGE_TEST)
_COVERAGE_NOT_SHOWN = no_claim("confidence: conformal sets are not shown to cover less", _COVERAGE_TEST)
_BELOW_TARGET = claim("confidence: certified accuracy does not hold", _ACCEPTANCE_TEST)
_TARGET_NOT_REFUTED = no_claim("confidence: certified accuracy is not refuted", _ACCEPTANCE_TEST)
register_verdicts(
    {
        CalibrationVerdict.OVERCONFIDENT: _OVERCONFIDENT,
        CalibrationVerdict.UNDERCONFIDENT: _UNDERCONFIDENT,
        CalibrationVerdict.MISCALIBRATED: _MISCALIBRATED,
        CalibrationVerdict.NOT_SHOWN: _CALIBRATION_NOT_SHOWN,
        CoverageVerdict.BELOW: _COVERS_LESS,
        CoverageVerdict.NOT_SHOWN: _COVERAGE_NOT_SHOWN,
        AcceptanceVerdict.BELOW: _BELOW_TARGET,
        AcceptanceVerdict.NOT_SHOWN: _TARGET_NOT_REFUTED,
    }
)

_IN_WORDS = {
    CalibrationVerdict.OVERCONFIDENT: "overconfident",
    CalibrationVerdict.UNDERCONFIDENT: "underconfident",
    CalibrationVerdict.MISCALIBRATED: "miscalibrated in another way",
    CalibrationVerdict.NOT_SHOWN: "without a detected miscalibration",
}


def confidence_verdicts(result: Confidence) -> frozenset[Enum]:
    """The verdicts of all rows."""
    accepted = {row.accepted.verdict for row in result.rows if row.accepted and row.accepted.verdict}
    return frozenset(
        {row.verdict for row in result.rows} | {s.verdict for row in result.rows for s in row.sets} | accepted
    )


def confidence_findings(result: Confidence) -> tuple[Finding, ...]:
    """The calibration on the original, and on a new set what changes most, coverage, and the certified accuracy."""
    candidates: list[Finding | None] = [calibration_finding([row for row in result.rows if not row.shifted])]
    for name in result.new:
        rows = [row for row in result.rows if row.test_set == name]
        candidates += [_coverage(result, rows), _acceptance(result, rows)]
    return by_weight(candidates)


def calibration_finding(rows: Sequence[ModelConfidence]) -> Finding:
    """How many models are shown to be overconfident, underconfident or miscalibrated, whichever are most."""
    by_verdict = {verdict: [row for row in rows if row.verdict is verdict] for verdict in CalibrationVerdict}
    shown = [verdict for verdict in CalibrationVerdict if verdict is not CalibrationVerdict.NOT_SHOWN]
    most = max(shown, key=lambda verdict: len(by_verdict[verdict]))
    best, test_set = rows[0], rows[0].test_set
    text = (
        f"The mean confidence of {best.model} minus its accuracy is {points(best.overconfidence)}, on "
        f"{amount(best.images, 'image')}."
    )
    concerned = by_verdict[most]
    if not concerned:
        headline = f"No miscalibration of {_which(rows, rows)} detected on {test_set}"
        return Finding(_CALIBRATION_NOT_SHOWN, headline, text, 0.25)
    counts = {verdict: len(by_verdict[verdict]) for verdict in CalibrationVerdict if by_verdict[verdict]}
    if len(rows) > 1:
        furthest = max(concerned, key=lambda row: abs(row.overconfidence.value))
        parts = [f"{count:,} {_IN_WORDS[verdict]}" for verdict, count in counts.items()]
        text = f"Of {amount(len(rows), 'model')}, {listed(parts, most=len(parts))}. {text}"
        if furthest is not best and most is not CalibrationVerdict.MISCALIBRATED:
            text += f" The largest difference is that of {furthest.model}: {points(furthest.overconfidence)}."
    verb = "is" if len(concerned) == 1 else "are"
    headline = f"{_which(concerned, rows)} {verb} {most.value} on {test_set}"
    return Finding(verdict_kinds()[most], headline, text, 0.4)


def _coverage(result: Confidence, rows: Sequence[ModelConfidence]) -> Finding | None:
    """The coverage of conformal sets on a new set, for the most accurate model."""
    with_sets = [row for row in rows if row.sets]
    if not with_sets:
        return None
    promised, name = f"{100 * (1 - result.miss):g}%", with_sets[0].test_set
    below = [row for row in with_sets if _telling(row).verdict is CoverageVerdict.BELOW]
    best = (below or with_sets)[0]
    sets = _telling(best)
    text = (
        f"{sets.score.value} sets of {best.model} that are calibrated on {amount(sets.calibration_images, 'image')} of "
        f"{result.test_set} contain the label of {share(sets.coverage)} of {amount(sets.images, 'image')} of {name}; "
        f"they have {sets.mean_size.value:.1f} classes on average."
    )
    if not below:
        headline = f"No shortfall of conformal sets of {promised} detected on {name}"
        return Finding(_COVERAGE_NOT_SHOWN, headline, text, 0.3)
    headline = f"Conformal sets of {promised} cover {100 * sets.coverage.value:.1f}% on {name}"
    if len(with_sets) > 1:
        text += f" Sets of {_which(below, with_sets)} cover less than they would if {name} were like {result.test_set}."
    return Finding(_COVERS_LESS, headline, text, 0.5)


def _telling(row: ModelConfidence) -> ConformalSets:
    """The first sets that are shown to cover less, otherwise the first."""
    below = (sets for sets in row.sets if sets.verdict is CoverageVerdict.BELOW)
    return next(below, row.sets[0])


def _acceptance(result: Confidence, rows: Sequence[ModelConfidence]) -> Finding | None:
    """Whether the certified accuracy holds on a new set."""
    tested = [row for row in rows if row.accepted and row.accepted.accuracy]
    if not tested:
        return None
    target, name = f"{100 * result.target:g}%", tested[0].test_set
    below = [row for row in tested if row.accepted and row.accepted.verdict is AcceptanceVerdict.BELOW]
    best = (below or tested)[0]
    accepted = best.accepted
    assert accepted is not None and accepted.accuracy is not None
    text = (
        f"{best.model} is right on at least {target} of the images of {result.test_set} with a confidence above "
        f"{accepted.threshold:.2f}; of those of {name}, on {share(accepted.accuracy)}."
    )
    if not below:
        headline = f"No evidence that thresholds for {target} accuracy fail on {name}"
        return Finding(_TARGET_NOT_REFUTED, headline, text, 0.25)
    headline = f"A confidence that means {target} accuracy on {result.test_set} does not on {name}"
    if len(tested) > 1:
        text += f" The accuracy is below {target} for {_which(below, tested)}."
    return Finding(_BELOW_TARGET, headline, text, 0.45)


def _which(chosen: Sequence[ModelConfidence], rows: Sequence[ModelConfidence]) -> str:
    """The chosen of several models: by name if there is one, otherwise their number."""
    if len(chosen) == 1:
        return chosen[0].model
    return f"all {len(rows):,} models" if len(chosen) == len(rows) else f"{len(chosen):,} of {len(rows):,} models"
