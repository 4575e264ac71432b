"""Findings of a study of people: the best person and the best model, and agreement between people."""

from __future__ import annotations

from collections.abc import Sequence

from regrade.core import Estimate
from regrade.core.amounts import amount
from regrade.display.finding import Finding, claim, no_claim
from regrade.display.wording import plain, share
from regrade.stats import best_share
from regrade.studies.people.accuracy import Contender
from regrade.studies.people.result import People
from regrade.studies.scoring import EVERYTHING

_PAIRS_TEST = "Exact McNemar tests of all pairs of a person and a model on the same images, Holm-corrected."
_BEST_TEST = (
    "Exact McNemar tests of all pairs of a person and a model on the same images, Holm-corrected: the best of one side "
    "must be ahead of everyone on the other."
)
_AGREEMENT_TEST = "Interval of Krippendorff's alpha over images, above 0.8 or below 0.667 as a whole."
_ACCURACY = no_claim("people: accuracy of people")
_NO_DIFFERENCE = no_claim("people: best person and best model are not told apart", _BEST_TEST)
_AHEAD = claim("people: best person or best model is ahead", _BEST_TEST)
_NO_PAIR = no_claim("people: no pair differs", _PAIRS_TEST)
_PAIRS = claim("people: pairs differ", _PAIRS_TEST)
_AGREEMENT = {
    "largely agree": claim("people: they largely agree", _AGREEMENT_TEST),
    "do not agree well": claim("people: they do not agree well", _AGREEMENT_TEST),
    "agree in part": no_claim("people: agreement is open", _AGREEMENT_TEST),
}


def people_findings(result: People) -> tuple[Finding, ...]:
    """The best person compared with the best model, all pairs of both, and agreement."""
    candidates = (_best(result), _pairs(result), _agreement(result))
    return tuple(finding for finding in candidates if finding)


def _best(result: People) -> Finding:
    people, models = result.names(Contender.PERSON), result.names(Contender.MODEL)
    on, images = result.basis.title, amount(result.basis.images, "image")
    if not models:
        best = _best_of(result, people)
        text = f"The best of {len(people):,}, {people[0]}, is right on {share(best)} of {images}."
        return Finding(_ACCURACY, f"People are right on up to {100 * best.value:.1f}% of {on}", text, 0.4)
    text = (
        f"On the same {images}, {_selected(people, 'people')} is right on {share(_best_of(result, people))} and "
        f"{_selected(models, 'models')} on {share(_best_of(result, models))}"
    )
    ahead = result.ahead()
    if ahead is None:
        headline = f"Not enough data to tell whether the best person or the best model is ahead on {on}"
        text += (
            "; neither is significantly ahead of everyone on the other side (exact McNemar tests, corrected for all "
            "pairs)."
        )
        return Finding(_NO_DIFFERENCE, headline, text, 0.6)
    first, kinds = (people[0], ("person", "model")) if ahead is Contender.PERSON else (models[0], ("model", "person"))
    headline = f"The best {kinds[0]} is ahead of the best {kinds[1]} on {on}"
    text += f": {first} is significantly more accurate than every {kinds[1]}."
    return Finding(_AHEAD, headline, text, 0.75)


def _selected(names: Sequence[str], kind: str) -> str:
    return names[0] if len(names) == 1 else f"the best of {len(names):,} {kind}, {names[0]},"


def _best_of(result: People, names: Sequence[str]) -> Estimate:
    """The highest accuracy of these, with an interval corrected for selecting the best."""
    accuracies = [row.accuracy for row in result.on(EVERYTHING) if row.who in names]
    right = [round(accuracy.value * accuracy.n) for accuracy in accuracies]
    return best_share(right, result.basis.images, confidence=result.basis.confidence)


def _pairs(result: People) -> Finding | None:
    if not result.tests:
        return None
    level, total = 1 - result.basis.confidence, len(result.tests)
    ahead, behind = (
        sum(pair.holm <= level and sign * pair.difference.value > 0 for pair in result.tests) for sign in (1, -1)
    )
    text = (
        f"Of {amount(total, 'pair')} of a person and a model, the person is ahead in {ahead:,} and the model in "
        f"{behind:,}; no difference is detected in {total - ahead - behind:,} (exact McNemar tests, corrected for all "
        "pairs)."
    )
    if not ahead + behind:
        return Finding(_NO_PAIR, "No difference detected between any person and any model", text, 0.35)
    return Finding(
        _PAIRS, f"People are ahead of models in {ahead:,} of {amount(total, 'pair')}, behind in {behind:,}", text, 0.4
    )


def _agreement(result: People) -> Finding | None:
    alpha = result.agreement.krippendorff if result.agreement else None
    if alpha is None:
        return None
    text = f"Krippendorff's alpha of their answers is {plain(alpha)}; 1 is perfect agreement, 0 is chance."
    word = "largely agree" if alpha.low >= 0.8 else "do not agree well" if alpha.high < 0.667 else "agree in part"
    return Finding(_AGREEMENT[word], f"People {word} on {result.basis.test_set}", text, 0.35)
