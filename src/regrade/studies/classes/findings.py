"""Findings of a study of classes: the weakest class of the best model, and its most frequent confusion."""

from __future__ import annotations

from regrade.core.amounts import amount
from regrade.display.finding import Finding, by_weight, claim, no_claim
from regrade.display.wording import listed, share
from regrade.studies.classes.result import ClassGrades
from regrade.studies.lowest import may_be_lowest

_WEAKEST_TEST = (
    "Fisher's exact tests of the recall of the class against every other class, one-sided, Bonferroni-corrected."
)
_CLASSES_TEST = "Fisher's exact tests of the recall of all ordered pairs of classes, one-sided, Holm-corrected."
_WEAKEST = claim("classes: weakest class", _WEAKEST_TEST)
_WEAK = claim("classes: some classes are not the weakest", _CLASSES_TEST)
_NO_WEAKEST = no_claim("classes: no weak class shown", _CLASSES_TEST)
_CONFUSED = no_claim("classes: most frequent confusion")


def class_findings(result: ClassGrades) -> tuple[Finding, ...]:
    """The weakest class by recall, and the most frequent confusion, of the most accurate model."""
    candidates = (_weakest(result), _confused(result))
    return by_weight(candidates)


def _weakest(result: ClassGrades) -> Finding | None:
    """Which classes may have the lowest recall; a class is called the weakest only if it is below every other one."""
    best = result.averages[0].model
    recalls = {row.name: row.recall for row in result.rows if row.model == best and row.recall}
    if len(recalls) < 2:
        return None
    candidates = may_be_lowest(recalls, level=1 - result.confidence, design_effects=result.design_effects)
    lowest, among = candidates[0], amount(len(recalls), "class", "classes")
    text = (
        f"{best} is right on {share(recalls[lowest])} of {amount(recalls[lowest].n, 'image')} of {lowest}, and on "
        f"{share(result.averages[0].accuracy)} of all."
    )
    if len(candidates) == 1:
        headline = f"The best model has its lowest recall on {lowest}, of {among} of {result.test_set}"
        return Finding(_WEAKEST, headline, text, 0.45)
    if len(candidates) < len(recalls):
        headline = f"{len(candidates):,} of {among} of {result.test_set} may have the lowest recall of the best model"
        text = f"These are {listed(candidates)}; every other class is significantly easier than one of them. {text}"
        return Finding(_WEAK, headline, text, 0.35)
    headline = f"No difference between the recalls of classes of {result.test_set} detected for the best model"
    return Finding(_NO_WEAKEST, headline, f"The lowest recall of {among} is that of {lowest}. {text}", 0.2)


def _confused(result: ClassGrades) -> Finding | None:
    best = result.averages[0].model
    pair = next((pair for pair in result.pairs if pair.model == best), None)
    if pair is None:
        return None
    text = (
        f"{best} predicts {pair.predicted} for {amount(pair.count, 'image')} of {pair.label}, which is "
        f"{share(pair.share)} of them; the interval is corrected for all pairs of classes."
    )
    headline = f"The most frequent confusion on {result.test_set} is {pair.label} predicted as {pair.predicted}"
    return Finding(_CONFUSED, headline, text, 0.3)
