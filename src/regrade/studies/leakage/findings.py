"""Findings of a leakage study: near duplicates, accuracy on them, and their labels."""

from __future__ import annotations

from regrade.core.amounts import amount
from regrade.display.finding import Finding, by_weight, claim, no_claim
from regrade.display.wording import points, share
from regrade.stats import agreeing_with_test, widen_for_comparisons
from regrade.studies.leakage.result import ANY, DistanceResult, Leakage, LeakedModel

_MANY = 0.01  # from this share on, duplicates are an important finding

_ACCURACY_TEST = (
    "Fisher's exact test of each model's accuracy on the duplicates against that on other images, Holm-corrected for "
    "all models."
)
_NONE_FOUND = no_claim("leakage: none found")
_FOUND = no_claim("leakage: share of duplicates")
_NO_MODEL_MOVED = no_claim("leakage: no accuracy is shown to move", _ACCURACY_TEST)
_ALIKE_MOVE = claim("leakage: similar images move accuracies", _ACCURACY_TEST)
_DUPLICATES_MOVE = claim("leakage: duplicates move accuracies", _ACCURACY_TEST)
_OTHER_LABELS = no_claim("leakage: duplicates with another label")


def leakage_findings(result: Leakage) -> tuple[Finding, ...]:
    """How many images have near duplicates, how accurate models are on them, and pairs with different labels."""
    candidates = (_share(result), _accuracy(result), _labels(result))
    return by_weight(candidates)


def _share(result: Leakage) -> Finding | None:
    whole = result.by(ANY)
    if whole.share is None:
        return None
    where = f"in {result.against}" if result.against else "in the set itself"
    methods = ", ".join(by_distance.distance for by_distance in result.results if by_distance.distance != ANY)
    if not whole.images:
        text = (
            f"None of {amount(whole.share.n, 'image')} has a near duplicate {where} (by {methods}); the upper end of "
            f"the {100 * result.confidence:g}% interval of the share is {100 * whole.share.high:.2g}%."
        )
        text += _unconfirmed(whole)
        return Finding(_NONE_FOUND, f"No near duplicate of {result.test_set} was found {where}", text, 0.3)
    kind = "have a near duplicate" if result.against else "are surplus copies"
    exact = _exact(result)
    also = f"; {amount(exact.images, 'of them is', 'of them are')} equal pixel by pixel" if exact else ""
    text = f"{share(whole.share)} of {amount(whole.share.n, 'image')} {kind} {where} by any of {methods}{also}."
    if not result.against:
        text = text.replace(f" {where} by", " by")
    weight = 0.45 if _only_similar(result) else 0.7 if whole.share.low >= _MANY else 0.5
    headline = f"{amount(whole.images, 'image')} of {result.test_set} {_verb(whole, result.against)} {where}"
    return Finding(_FOUND, headline, f"{text}{_unconfirmed(whole)} {_next_step(result)}", weight)


def _unconfirmed(whole: DistanceResult) -> str:
    """A sentence on the similar pairs that do not count."""
    if not whole.unconfirmed:
        return ""
    pairs = amount(whole.unconfirmed, "further pair is", "further pairs are")
    return f" {pairs} similar, but not near duplicates by the pixels, and not counted."


def _next_step(result: Leakage) -> str:
    if result.decided is None:
        return "People should judge the pairs."
    count = result.decided.duplicates + result.decided.different
    decided = f"People decided about {amount(count, 'pair')}"
    return f"{decided}; {result.decided.undecided:,} are undecided." if result.decided.undecided else f"{decided}."


def _verb(whole: DistanceResult, against: str | None) -> str:
    single = whole.images == 1
    if against:
        return "has a near duplicate" if single else "have a near duplicate"
    return "is a surplus copy of another" if single else "are surplus copies of others"


def _accuracy(result: Leakage) -> Finding | None:
    rows = [model for model in result.models_by() if model.change is not None]
    if not rows:
        return None
    most = max(rows, key=lambda model: abs(_change(model)))
    change, difference = most.change, most.difference
    if change is None or difference is None:
        return None
    clean = "without them" if result.against else "with one copy of each"
    moved = [model for model in rows if model.holm is not None and model.holm <= 1 - result.confidence]
    together = agreeing_with_test(
        widen_for_comparisons(change, len(rows), confidence=result.confidence), differs=most in moved
    )
    corrected = f", corrected for {len(rows):,} models" if len(rows) > 1 else ""
    text = (
        f"Accuracy on all images minus accuracy {clean} is {points(together)}{corrected}, for {most.model}; "
        "it is the largest of these differences."
    )
    if not moved:
        headline = "No difference in accuracy on near duplicates detected"
        return Finding(_NO_MODEL_MOVED, headline, f"{text} {_NONE_SHOWN}", 0.4)
    ups = sum(_change(model) > 0 for model in moved)
    text += f" {_CORRECTED} Near duplicates may be easier or harder for other reasons than leakage."
    than = "more accurate" if ups == len(moved) else "less accurate" if not ups else "more or less accurate"
    which = f"{len(moved):,} of {amount(len(rows), 'model')} {'is' if len(moved) == 1 else 'are'} {than}"
    if _only_similar(result):
        return Finding(_ALIKE_MOVE, f"{which} on images with a near duplicate than on others", text, 0.4)
    weight = 0.75 if abs(change.value) >= 0.005 else 0.55
    return Finding(_DUPLICATES_MOVE, f"{which} on duplicates than on other images", text, weight)


_CORRECTED = "The count is corrected for the number of models."
_NONE_SHOWN = "The tests are corrected for the number of models."


def _exact(result: Leakage) -> DistanceResult | None:
    return next((by_distance for by_distance in result.results if by_distance.distance == "exact"), None)


def _only_similar(result: Leakage) -> bool:
    """Whether a search for exact duplicates found none: similar images may then be similar by chance."""
    exact = _exact(result)
    return exact is not None and not exact.images


def _change(model: LeakedModel) -> float:
    return model.change.value if model.change else 0.0


def _labels(result: Leakage) -> Finding | None:
    exact = _exact(result)
    chosen = exact if exact and exact.labeled else result.by(ANY)
    if chosen.differing is None or not chosen.differing.value:
        return None
    count = round(chosen.differing.value * chosen.labeled)
    what = "equal pixel by pixel" if chosen is exact else "similar"
    text = (
        f"Of {amount(chosen.labeled, 'labeled image')} with a labeled near duplicate ({what}), "
        f"{share(chosen.differing)} have one with another label: one of the labels is wrong, or both are correct."
    )
    return Finding(
        _OTHER_LABELS, f"{amount(count, 'image has', 'images have')} a near duplicate with another label", text, 0.6
    )
