"""Findings of a grade under corruptions: the most robust model, and the hardest corruption."""

from __future__ import annotations

from regrade.core.amounts import amount
from regrade.display.finding import Finding, claim, no_claim
from regrade.display.wording import listed, share
from regrade.studies.corruptions.analysis import CorruptionGrade, CorruptionRow
from regrade.studies.scoring import EVERYTHING

_MODELS_TEST = (
    "Paired t tests of the first model against every other on the same images, one-sided, Bonferroni-corrected."
)
_KINDS_TEST = (
    "Paired t tests of the corruption with the highest error against every other on the same images, one-sided, "
    "Bonferroni-corrected."
)
_ERROR = no_claim("corruption: error of one model")
_MOST_ROBUST = claim("corruption: most robust model", _MODELS_TEST)
_MOST_ROBUST_OPEN = no_claim("corruption: most robust model is open", _MODELS_TEST)
_HARDEST = claim("corruption: hardest corruption", _KINDS_TEST)
_HARDEST_OPEN = no_claim("corruption: hardest corruption is open", _KINDS_TEST)


def corruption_findings(result: CorruptionGrade) -> tuple[Finding, ...]:
    """The most robust model with its error, and the corruption with its highest error."""
    overall = [row for row in result.rows if row.corruption == EVERYTHING]
    kinds = [row for row in result.rows if row.model == overall[0].model and row.corruption != EVERYTHING]
    candidates = (_most_robust(result, overall), _hardest(result, overall[0], kinds))
    return tuple(finding for finding in candidates if finding)


def _most_robust(result: CorruptionGrade, overall: list[CorruptionRow]) -> Finding:
    best = overall[0]
    clean = f", compared with {share(best.clean)} on clean images" if best.clean else ""
    text = f"{best.model} errs on {share(best.error)} of corrupted images of {result.test_set}{clean}."
    if result.most_robust is None:
        return Finding(_ERROR, f"{best.model} errs on {100 * best.error.value:.1f}% of corrupted images", text, 0.5)
    text += f" Next is {overall[1].model} with {share(overall[1].error)}"
    if result.most_robust.settled:
        among = amount(len(overall), "model")
        headline = f"{best.model} is the most robust of {among} on {result.test_set}"
        text += "; it and every other model are less robust on the same images."
        return Finding(_MOST_ROBUST, headline, text, 0.6)
    text += f". No difference detected between {listed((best.model, *result.most_robust.open))}."
    headline = f"Not enough data to tell which model is the most robust on {result.test_set}"
    return Finding(_MOST_ROBUST_OPEN, headline, text, 0.5)


def _hardest(result: CorruptionGrade, best: CorruptionRow, kinds: list[CorruptionRow]) -> Finding | None:
    if result.hardest is None:
        return None
    hardest, model = result.hardest, best.model
    error = next(row.error for row in kinds if row.corruption == hardest.name)
    text = f"{model} errs on {share(error)} of images under {hardest.name}, and on {share(best.error)} under all."
    if hardest.settled:
        headline = f"{hardest.name} is the hardest of {amount(len(kinds), 'corruption')} for {model}"
        return Finding(_HARDEST, f"{headline} on {result.test_set}", text, 0.4)
    verb = "does" if len(hardest.open) == 1 else "do"
    text += f" {listed(hardest.open)} {verb} not have a significantly lower error."
    headline = f"Not enough data to tell which corruption is the hardest for {model} on {result.test_set}"
    return Finding(_HARDEST_OPEN, headline, text, 0.35)
