"""Findings of a confusion study: whether confusing images are hard for other models, and the expected error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from regrade.core import Estimate, UndefinedError
from regrade.core.amounts import amount
from regrade.display.finding import Finding, by_weight, claim, no_claim
from regrade.display.wording import confidence_of, listed, plain, points, share
from regrade.stats import spearman, widen_for_comparisons
from regrade.studies.confusion.expected_error import ExpectedError
from regrade.studies.confusion.result import ConfusedModel, Confusion
from regrade.studies.confusion.rivals import TrainingCost
from regrade.studies.confusion.trends import ACCURACY, ScoreRelation, ScoreTrend
from regrade.studies.models.result import TrendVerdict

_MOST = 4

_TRANSFER_TEST = (
    "Newcombe intervals of each model's error on hard images minus that on the rest, Bonferroni-corrected for all "
    "models outside the ensemble, compared with 0; a model counts where its own interval is above 0."
)
_ORDER_TEST = (
    "Interval over models of Kendall's tau between errors on hard images and on the rest, compared with 0.6; its upper "
    "end allows for the noise of images in both."
)
_SHARED_TEST = (
    "Intervals over images of Kendall's tau between the scores of the ensemble and of each further one, "
    "Bonferroni-corrected for all of them, compared with 0."
)
_OWN_TEST = "Interval of the correlation between score and error over images."
_LEVEL_TEST = "Interval of each model's expected minus actual error, Bonferroni-corrected for all models."
_WORTH_TEST = (
    "Paired DeLong intervals over images of each other score's AUROC minus that of the confusion score, "
    "Bonferroni-corrected for all scores: below 0 for every cheaper score without labels, or above 0 for any."
)
_BANDS_TEST = "Paired score intervals of the change on easy and on hard images, Bonferroni-corrected for both."
_TREND_TEST = (
    "Cluster-robust t interval over models and images, by family, of the slope of the biserial correlation of score "
    "and error, Bonferroni-corrected for all slopes, compared with 0."
)
_FAMILY_TEST = (
    "Robust t interval over models and images of a family's mean biserial correlation minus that of the others, "
    "Bonferroni-corrected for all families, compared with 0."
)
_TREND = claim("confusion: the score goes more closely with the errors of some models", _TREND_TEST)
_NO_TREND = no_claim("confusion: no trend over models", _TREND_TEST)
_FAMILY = claim("confusion: the score goes more closely with the errors of a family", _FAMILY_TEST)
_WORTH = claim("confusion: the score is worth its cost", _WORTH_TEST)
_NOT_WORTH = claim("confusion: a cheaper score is better", _WORTH_TEST)
_WORTH_OPEN = no_claim("confusion: the score is not shown to be worth its cost", _WORTH_TEST)
_BAND_CHANGES = claim("confusion: the error changes after a remedy", _BANDS_TEST)
_BANDS_OPEN = no_claim("confusion: no change after a remedy", _BANDS_TEST)
_HARDER = claim("confusion: hard for others", _TRANSFER_TEST)
_NOT_HARDER = no_claim("confusion: not shown to be hard for others", _TRANSFER_TEST)
_OWN_ERRORS = claim("confusion: the score tells own errors", _OWN_TEST)
_NOT_OWN_ERRORS = no_claim("confusion: the score is not shown to tell errors", _OWN_TEST)
_SHARED = claim("confusion: another ensemble is confused by the same images", _SHARED_TEST)
_NOT_SHARED = no_claim("confusion: another ensemble is not shown to be confused by the same images", _SHARED_TEST)
_ORDER_KEPT = claim("confusion: the order is kept", _ORDER_TEST)
_ORDER_CHANGES = claim("confusion: the order changes", _ORDER_TEST)
_ORDER_OPEN = no_claim("confusion: the order is open", _ORDER_TEST)
_LEVEL_OFF = claim("confusion: the expected error is off", _LEVEL_TEST)
_EXPECTED = no_claim("confusion: expected error", _LEVEL_TEST)


def confusion_findings(result: Confusion) -> tuple[Finding, ...]:
    """Hard images and other models, the order of models there, the expected error, rivals, and a remedy."""
    parts = (_transfer, _shared, _own, _ranking, _expected, worth_findings, band_findings, trend_findings)
    candidates = [finding for part in parts for finding in part(result)]
    return by_weight(candidates)[:_MOST]


def with_difference(models: tuple[ConfusedModel, ...]) -> list[ConfusedModel]:
    """The models with errors both on hard images and on the rest."""
    return [model for model in models if model.transfer and model.transfer.difference]


def shown_harder(models: list[ConfusedModel]) -> int:
    """How many of the models err significantly more on hard images, by simultaneous intervals for all of them."""
    differences = [model.transfer.difference for model in models if model.transfer and model.transfer.difference]
    return sum(
        widen_for_comparisons(part, len(differences), confidence=confidence_of(part)).low > 0 for part in differences
    )


def harder_for(result: Confusion) -> str | None:
    """The headline on models outside the ensemble; None if no model errs significantly more on hard images."""
    models = with_difference(result.outsiders)
    harder = shown_harder(models)
    if not harder:
        return None
    who = f"{harder:,} of {len(models):,} other models"
    if harder == len(models):
        who = models[0].model if harder == 1 else f"all {harder:,} other models"
    return f"Images that confuse {result.ensemble.name} are harder for {who}"


def _transfer(result: Confusion) -> list[Finding]:
    models = with_difference(result.outsiders)
    if not models or result.hard is None:
        return []
    hard, rest = (
        100 * median(getattr(model.transfer, part).value for model in models if model.transfer)
        for part in ("hard", "rest")
    )
    errors = f"Their median error there is {hard:.1f}%, compared with {rest:.1f}% on the rest"
    if len(models) == 1:
        own = models[0].transfer
        shares = "" if not (own and own.hard and own.rest) else f"{share(own.hard)}, compared with {share(own.rest)}"
        errors = f"Its error there is {shares} on the rest"
    together = f", tested for each of {len(models):,} models with a correction for all" if len(models) > 1 else ""
    text = (
        f"{errors}{together}. Hard images are {result.hard.rule} ({result.hard.images:,} of "
        f"{amount(result.images, 'image')}), selected without using labels."
    )
    headline = harder_for(result)
    if headline:
        return [Finding(_HARDER, headline, text, 0.7)]
    name = result.ensemble.name
    return [Finding(_NOT_HARDER, f"No evidence that images that confuse {name} are hard for other models", text, 0.5)]


def _shared(result: Confusion) -> list[Finding]:
    """Whether further ensembles find the same images confusing."""
    name = result.ensemble.name
    further = [summary.ensemble for summary in result.ensembles if summary.ensemble != name]
    taus = {
        agreement.second: widen_for_comparisons(agreement.tau, len(further), confidence=result.confidence)
        for agreement in result.agreements
        if agreement.first == name and agreement.second in further and agreement.tau
    }
    if not taus:
        return []
    together = ", corrected for all of them" if len(taus) > 1 else ""
    values = [f"{plain(tau)} for {ensemble}" for ensemble, tau in taus.items()]
    images = amount(result.images, "image")
    text = (
        f"Kendall's tau between its confusion scores and those of another ensemble, over {images}, is "
        f"{listed(values)}{together}; 1 means the same order."
    )
    shared = [ensemble for ensemble, tau in taus.items() if tau.low > 0]
    if shared:
        return [Finding(_SHARED, f"The images that confuse {name} also confuse {listed(shared)}", text, 0.55)]
    headline = f"No evidence that the images that confuse {name} confuse {listed(list(taus))}"
    return [Finding(_NOT_SHARED, headline, text, 0.5)]


def _own(result: Confusion) -> list[Finding]:
    """The score and the ensemble's own errors, if there are no other models."""
    if result.outsiders or not result.models:
        return []
    model = result.models[0]
    r = model.curve.single
    if r is None:
        return []
    text = f"Over {amount(r.n, 'image')} the correlation of score and error is {plain(r)} for {model.model}."
    if r.low > 0:
        headline = f"{model.model} errs more on images on which the ensemble was uncertain during training"
        return [Finding(_OWN_ERRORS, headline, text, 0.45)]
    return [Finding(_NOT_OWN_ERRORS, "No positive correlation between confusion score and errors detected", text, 0.4)]


def _ranking(result: Confusion) -> list[Finding]:
    tau = result.ranking
    if tau is None or result.hard is None:
        return []
    text = (
        f"Kendall's tau between the errors of {amount(tau.n, 'model')} on hard images and on the rest is {plain(tau)}; "
        "1 means the same order."
    )
    if tau.low >= 0.6:
        return [Finding(_ORDER_KEPT, "The order of models is largely kept on confusing images", text, 0.4)]
    if tau.high < 0.6:
        return [Finding(_ORDER_CHANGES, "The order of models changes on confusing images", text, 0.65)]
    headline = "Not enough data to tell whether models keep their order on confusing images"
    return [Finding(_ORDER_OPEN, headline, text, 0.3)]


def _expected(result: Confusion) -> list[Finding]:
    if result.unlabeled is None:
        return []
    rows = result.unlabeled.errors
    first = min(rows, key=lambda row: row.by_score.value)
    where = result.unlabeled.test_set
    text = (
        f"Estimated from the score, {first.model} errs on {share(first.by_score)}, compared with "
        f"{share(first.labeled)} on {result.test_set}. This assumes equal error rates at equal scores in both sets."
    )
    gaps = {row.model: row.gap for row in rows if row.gap}
    if not gaps:
        return [Finding(_EXPECTED, f"Expected error on {where}, estimated without its labels", text, 0.5)]
    wider = [widen_for_comparisons(gap, len(gaps), confidence=result.confidence) for gap in gaps.values()]
    off = [gap for gap in wider if gap.low > 0 or gap.high < 0]
    text += f" The labels of {where} are known: {_gaps_in_words(gaps)}{_order_in_words(rows)} {_CORRECTED}"
    if not off:
        text += f" No difference between expected and actual error detected for any of {amount(len(gaps), 'model')}."
        return [Finding(_EXPECTED, f"Expected error on {where}, estimated without its labels", text, 0.5)]
    above = sum(gap.value > 0 for gap in off)
    side = "too high" if above == len(off) else "off" if above else "too low"
    models = amount(len(gaps), "model")
    headline = f"The error estimated from the score on {where} is {side} for {len(off):,} of {models}"
    return [Finding(_LEVEL_OFF, headline, text, 0.6)]


_CORRECTED = "Counts are corrected for the number of models."


def _gaps_in_words(gaps: Mapping[str, Estimate]) -> str:
    """The largest gap and, for several models, the median."""
    model, largest = max(gaps.items(), key=lambda item: abs(item[1].value))
    middle = 100 * median(abs(gap.value) for gap in gaps.values())
    of_all = "" if len(gaps) == 1 else f"; half of the models are within {middle:.1f} points"
    return f"expected minus actual error is {points(largest)} for {model}{', the largest' if of_all else ''}{of_all}."


def _order_in_words(rows: Sequence[ExpectedError]) -> str:
    """The rank correlation of expected and actual errors; empty if there are too few models."""
    errors = [(row.by_score.value, row.actual.value) for row in rows if row.actual]
    try:
        rho = spearman(*zip(*errors, strict=True))
    except UndefinedError:
        return ""
    return f" Spearman's rank correlation of expected and actual errors over models is {plain(rho)}."


def worth_findings(result: Confusion) -> list[Finding]:
    """Whether the ensemble identifies errors better than every cheaper score that uses no labels."""
    first = result.rivals[0] if result.rivals else None
    differences = {
        rival.score: rival.difference
        for rival in result.rivals
        if rival.cheaper and not rival.uses_labels and rival.difference
    }
    if not differences or first is None or first.auroc is None or first.cost is None:
        return []
    is_better = any(difference.low > 0 for difference in differences.values())
    score = max(differences, key=lambda name: differences[name].low if is_better else differences[name].high)
    cost = next(rival.cost for rival in result.rivals if rival.score == score)
    tested = amount(sum(rival.difference is not None for rival in result.rivals), "score")
    text = (
        f"The confusion score ranks errors of other models above correct predictions with an AUROC of "
        f"{plain(first.auroc)}, from {_cost(first.cost)}. The AUROC of {score}, from {_cost(cost)}, minus that is "
        f"{_fine(differences[score])}, corrected for {tested}."
    )
    name = result.ensemble.name
    if is_better:
        headline = f"A cheaper score identifies errors better than the confusion score of {name}: {score}"
        return [Finding(_NOT_WORTH, headline, text, 0.68)]
    if differences[score].high < 0:
        headline = f"The confusion score of {name} identifies errors better than every cheaper score without labels"
        return [Finding(_WORTH, headline, text, 0.55)]
    headline = f"No evidence that the confusion score of {name} is worth its cost: no difference from {score} detected"
    return [Finding(_WORTH_OPEN, headline, text, 0.5)]


def _cost(cost: TrainingCost | None) -> str:
    if cost is None:
        return ""
    return f"{amount(cost.training_epochs, 'epoch')} of training and {amount(cost.checkpoints, 'checkpoint')}"


def _fine(estimate: Estimate) -> str:
    value, low, high = (f"{part:+z.3f}".replace("-", "−") for part in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high})"


def trend_findings(result: Confusion) -> list[Finding]:
    """Whether the score goes with the errors of some models more closely than with those of others."""
    rows = result.trends.rows if result.trends else ()
    shown = [row for row in rows if row.relation is ScoreRelation.BISERIAL]
    slopes = sorted((row for row in shown if row.family is None), key=_clearness)
    families = sorted((row for row in shown if row.family is not None), key=_clearness)
    attributes = list(dict.fromkeys(row.attribute for row in shown if row.family is None))
    return [*_slope_finding(result, slopes, attributes), *_family_finding(result, families)]


def _clearness(row: ScoreTrend) -> float:
    return abs(row.effect.value) / max(row.effect.half_width, 1e-12)


def _slope_finding(result: Confusion, slopes: Sequence[ScoreTrend], attributes: list[str]) -> list[Finding]:
    if not slopes:
        return []
    row, name = slopes[-1], result.ensemble.name
    unit = f"{row.per} more accuracy" if row.attribute == ACCURACY else f"one more {row.per}"
    if row.is_per_tenfold:
        unit = f"a {row.per}"
    text = (
        f"{unit[0].upper()}{unit[1:]} goes with a change of {_fine(row.effect)} in the biserial correlation of score "
        f"and error, over {amount(row.models, 'model')}, corrected for all trends. This is an association: models that "
        "differ in it also differ in many other ways."
    )
    if row.verdict is TrendVerdict.NOT_DETECTED:
        headline = f"No trend of the relation between confusion score and errors with {listed(attributes)} detected"
        return [Finding(_NO_TREND, headline, text, 0.2)]
    closely = "more" if row.verdict is TrendVerdict.RISES else "less"
    headline = (
        f"The confusion score of {name} goes {closely} closely with the errors of models {_HIGHER[row.attribute]}"
    )
    return [Finding(_TREND, headline, text, 0.45)]


_HIGHER = {
    ACCURACY: "of higher accuracy", "year": "of later years", "parameters": "with more parameters",
    "training images": "with more training images",
}  # fmt: skip


def _family_finding(result: Confusion, families: Sequence[ScoreTrend]) -> list[Finding]:
    if not families or families[-1].verdict is TrendVerdict.NOT_DETECTED:
        return []
    row = families[-1]
    closely = "more" if row.verdict is TrendVerdict.RISES else "less"
    headline = (
        f"The confusion score of {result.ensemble.name} goes {closely} closely with the errors of the family "
        f"{row.family} than with those of other models"
    )
    text = (
        f"The mean biserial correlation of score and error of {amount(row.models, 'model')} of the family minus that "
        f"of the others is {_fine(row.effect)}, corrected for all families."
    )
    return [Finding(_FAMILY, headline, text, 0.35)]


def band_findings(result: Confusion) -> list[Finding]:
    """Whether the error changes after a remedy, on easy and on hard images."""
    bands = result.bands
    if bands is None:
        return []
    changed = [band for band in bands.bands if band.change.low > 0 or band.change.high < 0]
    parts = [
        f"{points(band.change)} on {band.name} images ({share(band.before)} to {share(band.after)})"
        for band in bands.bands
    ]
    text = (
        f"From {bands.before} to {bands.after} the error changes by {' and by '.join(parts)}. Hard images have a "
        f"confusion score of {bands.threshold:.2f} {result.ensemble.unit} or more."
    )
    if not changed:
        headline = f"No change of the error from {bands.before} to {bands.after} detected on easy or on hard images"
        return [Finding(_BANDS_OPEN, headline, text, 0.5)]
    words = [f"{'lower' if band.change.value < 0 else 'higher'} on {band.name} images" for band in changed]
    headline = f"The error of {bands.after} is {' and '.join(words)} than that of {bands.before}"
    return [Finding(_BAND_CHANGES, headline, text, 0.6)]
