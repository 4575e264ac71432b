"""What a study of confusion says in words: are confusing images hard for others, and what error is to be expected?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from regrade.core import Estimate, UndefinedError
from regrade.core.amounts import amount
from regrade.report.finding import Finding, claim, findings, no_claim
from regrade.report.wording import confidence_of, plain, points, share
from regrade.stats import spearman, widen_for_comparisons
from regrade.studies import Confusion
from regrade.studies.confusion import ConfusedModel, ExpectedError

_MOST = 3

_TRANSFER_TEST = (
    "Newcombe intervals of each model's error on hard images less that on the rest, Bonferroni-corrected for all "
    "models outside the ensemble, compared with 0; a model counts where its own interval is above 0."
)
_ORDER_TEST = (
    "Interval over models of Kendall's tau between errors on hard images and on the rest, compared with 0.6; its upper "
    "end allows for the noise of images in both."
)
_OWN_TEST = "Interval of the correlation between score and error over images."
_LEVEL_TEST = "Interval of each model's expected less actual error, Bonferroni-corrected for all models."
_HARDER = claim("confusion: hard for others", _TRANSFER_TEST)
_NOT_HARDER = no_claim("confusion: not shown to be hard for others", _TRANSFER_TEST)
_OWN_ERRORS = claim("confusion: the score tells own errors", _OWN_TEST)
_NOT_OWN_ERRORS = no_claim("confusion: the score is not shown to tell errors", _OWN_TEST)
_ORDER_KEPT = claim("confusion: the order is kept", _ORDER_TEST)
_ORDER_CHANGES = claim("confusion: the order changes", _ORDER_TEST)
_ORDER_OPEN = no_claim("confusion: the order is open", _ORDER_TEST)
_LEVEL_OFF = claim("confusion: the expected error is off", _LEVEL_TEST)
_EXPECTED = no_claim("confusion: expected error", _LEVEL_TEST)


@findings.register
def confusion_findings(result: Confusion) -> tuple[Finding, ...]:
    """Whether hard images are hard for others, whether models keep their order there, and what is to be expected."""
    found = [*_transfer(result), *_own(result), *_ranking(result), *_expected(result)]
    return tuple(sorted(found, key=lambda one: -one.weight)[:_MOST])


def moved(models: tuple[ConfusedModel, ...]) -> list[ConfusedModel]:
    """The models that were seen both on hard images and on the rest."""
    return [one for one in models if one.transfer and one.transfer.difference]


def shown_harder(models: list[ConfusedModel]) -> int:
    """How many of them are shown to err more on hard images, by intervals that hold for all of them together."""
    differences = [model.transfer.difference for model in models if model.transfer and model.transfer.difference]
    return sum(
        widen_for_comparisons(part, len(differences), confidence=confidence_of(part)).low > 0 for part in differences
    )


def harder_for(result: Confusion) -> str | None:
    """The headline on models outside the ensemble; none where no model is shown to err more on hard images."""
    models = moved(result.outsiders)
    harder = shown_harder(models)
    if not harder:
        return None
    who = f"{harder:,} of {len(models):,} other models"
    if harder == len(models):
        who = models[0].model if harder == 1 else f"all {harder:,} other models"
    return f"Images that confuse {result.ensemble.name} are harder for {who}"


def _transfer(result: Confusion) -> list[Finding]:
    models = moved(result.outsiders)
    if not models or result.hard is None:
        return []
    hard, rest = (
        100 * median(getattr(model.transfer, part).value for model in models if model.transfer)
        for part in ("hard", "rest")
    )
    errors = f"Their median error there is {hard:.1f}% against {rest:.1f}% on the rest"
    if len(models) == 1:
        own = models[0].transfer
        shares = "" if not (own and own.hard and own.rest) else f"{share(own.hard)} against {share(own.rest)}"
        errors = f"Its error there is {shares} on the rest"
    together = f", tested for each of {len(models):,} models at a level that holds for all" if len(models) > 1 else ""
    text = (
        f"{errors}{together}; hard are {result.hard.rule} ({result.hard.images:,} of "
        f"{amount(result.images, 'image')}), chosen without a look at any label."
    )
    headline = harder_for(result)
    if headline:
        return [Finding(_HARDER, headline, text, 0.7)]
    name = result.ensemble.name
    return [Finding(_NOT_HARDER, f"Images that confuse {name} are not shown to be hard for other models", text, 0.5)]


def _own(result: Confusion) -> list[Finding]:
    """The score against the ensemble's own errors, where there is no one else."""
    if result.outsiders or not result.models:
        return []
    one = result.models[0]
    r = one.curve.single
    if r is None:
        return []
    text = f"Over {amount(r.n, 'image')} the correlation of score and error is {plain(r)} for {one.model}."
    if r.low > 0:
        return [
            Finding(_OWN_ERRORS, f"{one.model} errs where the ensemble was unsure while it was trained", text, 0.45)
        ]
    return [Finding(_NOT_OWN_ERRORS, "The confusion score is not shown to tell errors from right answers", text, 0.4)]


def _ranking(result: Confusion) -> list[Finding]:
    tau = result.ranking
    if tau is None or result.hard is None:
        return []
    text = (
        f"Kendall's tau between the errors of {amount(tau.n, 'model')} on hard images and on the rest is {plain(tau)}; "
        "1 is the same order."
    )
    if tau.low >= 0.6:
        return [Finding(_ORDER_KEPT, "The order of models is largely kept on confusing images", text, 0.4)]
    if tau.high < 0.6:
        return [Finding(_ORDER_CHANGES, "The order of models changes on confusing images", text, 0.65)]
    return [Finding(_ORDER_OPEN, "Whether models keep their order on confusing images is not settled", text, 0.3)]


def _expected(result: Confusion) -> list[Finding]:
    if result.unlabeled is None:
        return []
    rows = result.unlabeled.errors
    first = min(rows, key=lambda one: one.by_score.value)
    where = result.unlabeled.test_set
    text = (
        f"By score, {first.model} is expected to err on {share(first.by_score)}, against {share(first.labeled)} on "
        f"{result.test_set}, if images of one score err alike in both."
    )
    gaps = {row.model: row.gap for row in rows if row.gap}
    if not gaps:
        return [Finding(_EXPECTED, f"The error to expect on {where}, without its labels", text, 0.5)]
    wider = [widen_for_comparisons(gap, len(gaps), confidence=result.confidence) for gap in gaps.values()]
    off = [gap for gap in wider if gap.low > 0 or gap.high < 0]
    text += f" The labels of {where} are known: {_gaps_in_words(gaps)}{_order_in_words(rows)} {_CORRECTED}"
    if not off:
        text += f" No model of {len(gaps):,} is shown to err more or less than expected."
        return [Finding(_EXPECTED, f"The error to expect on {where}, without its labels", text, 0.5)]
    above = sum(gap.value > 0 for gap in off)
    side = "too high" if above == len(off) else "off" if above else "too low"
    headline = f"The error expected by score on {where} is {side} for {len(off):,} of {amount(len(gaps), 'model')}"
    return [Finding(_LEVEL_OFF, headline, text, 0.6)]


_CORRECTED = "Counts are corrected for the number of models."


def _gaps_in_words(gaps: Mapping[str, Estimate]) -> str:
    """The largest gap, and the middle one of several."""
    model, gap = max(gaps.items(), key=lambda item: abs(item[1].value))
    middle = 100 * median(abs(each.value) for each in gaps.values())
    of_all = "" if len(gaps) == 1 else f"; half of the models are within {middle:.1f} points"
    return f"expected less actual error is {points(gap)} for {model}{', the largest' if of_all else ''}{of_all}."


def _order_in_words(rows: Sequence[ExpectedError]) -> str:
    """Whether expected and actual errors put models into the same order; nothing where there are too few."""
    errors = [(row.by_score.value, row.actual.value) for row in rows if row.actual]
    try:
        rho = spearman(*zip(*errors, strict=True))
    except UndefinedError:
        return ""
    return f" Spearman's rank correlation of expected and actual errors over models is {plain(rho)}."
