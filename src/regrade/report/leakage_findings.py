"""What a study of leakage says in words: duplicates, accuracy on them, and their labels."""

from __future__ import annotations

from regrade.core.amounts import amount
from regrade.report.finding import Finding, claim, findings, no_claim
from regrade.report.wording import points, share
from regrade.studies import ANY, DistanceResult, Leakage, LeakedModel

_MANY = 0.01  # the share from which duplicates are a finding of their own

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


@findings.register
def leakage_findings(result: Leakage) -> tuple[Finding, ...]:
    """How many images have near duplicates, how accurate models are on them, and pairs with two labels."""
    told = (_share(result), _accuracy(result), _labels(result))
    return tuple(sorted((one for one in told if one), key=lambda one: -one.weight))


def _share(result: Leakage) -> Finding | None:
    whole = result.by(ANY)
    if whole.share is None:
        return None
    where = f"in {result.against}" if result.against else "in the set itself"
    ways = ", ".join(one.distance for one in result.results if one.distance != ANY)
    if not whole.images:
        text = (
            f"None of {amount(whole.share.n, 'image')} has a near duplicate {where} (by {ways}); the upper end of the "
            f"{100 * result.confidence:g}% interval of the share is {100 * whole.share.high:.2g}%."
        )
        return Finding(_NONE_FOUND, f"No near duplicate of {result.test_set} was found {where}", text, 0.3)
    kind = "have a near duplicate" if result.against else "are surplus copies"
    exact = _exact(result)
    also = f"; {amount(exact.images, 'of them is', 'of them are')} equal pixel by pixel" if exact else ""
    text = f"{share(whole.share)} of {amount(whole.share.n, 'image')} {kind} {where} by any of {ways}{also}."
    if not result.against:
        text = text.replace(f" {where} by", " by")
    weight = 0.45 if _only_alike(result) else 0.7 if whole.share.low >= _MANY else 0.5
    headline = f"{amount(whole.images, 'image')} of {result.test_set} {_verb(whole, result.against)} {where}"
    return Finding(_FOUND, headline, text + " People should judge the pairs.", weight)


def _verb(whole: DistanceResult, against: str | None) -> str:
    one = whole.images == 1
    if against:
        return "has a near duplicate" if one else "have a near duplicate"
    return "is a surplus copy of another" if one else "are surplus copies of others"


def _accuracy(result: Leakage) -> Finding | None:
    rows = [one for one in result.models_by() if one.change is not None]
    if not rows:
        return None
    most = max(rows, key=lambda one: abs(_change(one)))
    change, difference = most.change, most.difference
    if change is None or difference is None:
        return None
    clean = "without them" if result.against else "with one copy of each"
    moved = [one for one in rows if one.holm is not None and one.holm <= 1 - result.confidence]
    text = f"It changes most for {most.model}: its accuracy on all images less that {clean} is {points(change)}."
    if not moved:
        headline = "No difference in accuracy on near duplicates detected"
        return Finding(_NO_MODEL_MOVED, headline, f"{text} {_NONE_SHOWN}", 0.4)
    ups = sum(_change(one) > 0 for one in moved)
    text += f" {_CORRECTED} Near duplicates may be easier or harder for other reasons than leakage."
    than = "more accurate" if ups == len(moved) else "less accurate" if not ups else "more or less accurate"
    which = f"{len(moved):,} of {amount(len(rows), 'model')} {'is' if len(moved) == 1 else 'are'} {than}"
    if _only_alike(result):
        return Finding(_ALIKE_MOVE, f"{which} on images with a near duplicate than on others", text, 0.4)
    weight = 0.75 if abs(change.value) >= 0.005 else 0.55
    return Finding(_DUPLICATES_MOVE, f"{which} on duplicates than on other images", text, weight)


_CORRECTED = "The count is corrected for the number of models."
_NONE_SHOWN = "No model is shown to differ on these images, corrected for the number of models."


def _exact(result: Leakage) -> DistanceResult | None:
    return next((one for one in result.results if one.distance == "exact"), None)


def _only_alike(result: Leakage) -> bool:
    """Whether equal pixels were looked for and none found: what is alike may then be alike by chance."""
    exact = _exact(result)
    return exact is not None and not exact.images


def _change(one: LeakedModel) -> float:
    return one.change.value if one.change else 0.0


def _labels(result: Leakage) -> Finding | None:
    exact = _exact(result)
    chosen = exact if exact and exact.labeled else result.by(ANY)
    if chosen.differing is None or not chosen.differing.value:
        return None
    count = round(chosen.differing.value * chosen.labeled)
    what = "equal pixel by pixel" if chosen is exact else "alike"
    text = (
        f"Of {amount(chosen.labeled, 'labeled image')} with a labeled near duplicate ({what}), "
        f"{share(chosen.differing)} have one with another label: one of the two is wrong, or both are right."
    )
    return Finding(
        _OTHER_LABELS, f"{amount(count, 'image has', 'images have')} a near duplicate with another label", text, 0.6
    )
