"""What a study of people says in words: how the best person and the best model stand, and how far people agree."""

from __future__ import annotations

from regrade.core.amounts import amount
from regrade.report.finding import Finding, claim, findings, no_claim
from regrade.report.wording import plain, share
from regrade.studies import EVERYTHING, Contender, People

_PAIRS_TEST = "Exact McNemar tests of all pairs of a person and a model on the same images, Holm-corrected."
_AGREEMENT_TEST = "Interval of Krippendorff's alpha over images, above 0.8 or below 0.667 as a whole."
_ACCURACY = no_claim("people: accuracy of people")
_NOT_TOLD_APART = no_claim("people: best person and best model are not told apart", _PAIRS_TEST)
_AHEAD = claim("people: best person or best model is ahead", _PAIRS_TEST)
_NO_PAIR = no_claim("people: no pair differs", _PAIRS_TEST)
_PAIRS = claim("people: pairs differ", _PAIRS_TEST)
_AGREEMENT = {
    "largely agree": claim("people: they largely agree", _AGREEMENT_TEST),
    "do not agree well": claim("people: they do not agree well", _AGREEMENT_TEST),
    "agree in part": no_claim("people: agreement is open", _AGREEMENT_TEST),
}


@findings.register
def people_findings(result: People) -> tuple[Finding, ...]:
    """The best person beside the best model, all pairs of both, and agreement."""
    told = (_best(result), _pairs(result), _agreement(result))
    return tuple(one for one in told if one)


def _best(result: People) -> Finding:
    people, models = result.names(Contender.PERSON), result.names(Contender.MODEL)
    accuracy = {row.who: row.accuracy for row in result.on(EVERYTHING)}
    on = result.basis.title
    images = amount(result.basis.images, "image")
    if not models:
        text = f"The best of {len(people):,}, {people[0]}, is right on {share(accuracy[people[0]])} of {images}."
        headline = f"People are right on up to {100 * accuracy[people[0]].value:.1f}% of {on}"
        return Finding(_ACCURACY, headline, text, 0.4)
    pair = next(one for one in result.tests if (one.first, one.second) == (people[0], models[0]))
    text = (
        f"On the same {images}, {people[0]} is right on {share(accuracy[people[0]])} and {models[0]} on "
        f"{share(accuracy[models[0]])}"
    )
    if pair.holm > 1 - result.basis.confidence:
        return Finding(
            _NOT_TOLD_APART,
            f"The best person and the best model cannot be told apart on {on}",
            f"{text}; the difference may be chance (McNemar, corrected for all pairs).",
            0.6,
        )
    ahead, behind = ("person", "model") if pair.difference.value > 0 else ("model", "person")
    return Finding(
        _AHEAD, f"The best {ahead} is ahead of the best {behind} on {on}", f"{text}: more than chance explains.", 0.75
    )


def _pairs(result: People) -> Finding | None:
    if not result.tests:
        return None
    level, total = 1 - result.basis.confidence, len(result.tests)
    ahead, behind = (
        sum(pair.holm <= level and sign * pair.difference.value > 0 for pair in result.tests) for sign in (1, -1)
    )
    text = (
        f"Of {amount(total, 'pair')} of a person and a model the person is ahead in {ahead:,}, the model in "
        f"{behind:,}, and {total - ahead - behind:,} cannot be told apart (McNemar, corrected)."
    )
    if not ahead + behind:
        return Finding(_NO_PAIR, "No person and no model are shown to differ", text, 0.35)
    return Finding(_PAIRS, f"People are ahead of models in {ahead:,} of {amount(total, 'pair')}", text, 0.4)


def _agreement(result: People) -> Finding | None:
    alpha = result.agreement.krippendorff if result.agreement else None
    if alpha is None:
        return None
    text = f"Krippendorff's alpha of their answers is {plain(alpha)}; 1 is full agreement, 0 is chance."
    word = "largely agree" if alpha.low >= 0.8 else "do not agree well" if alpha.high < 0.667 else "agree in part"
    return Finding(_AGREEMENT[word], f"People {word} on {result.basis.test_set}", text, 0.35)
