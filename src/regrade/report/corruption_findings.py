"""What a grade under corruptions says in words: who bears them best, and which hurts most."""

from __future__ import annotations

from regrade.report.finding import Finding, claim, findings, no_claim
from regrade.report.wording import apart, share
from regrade.studies import EVERYTHING, CorruptionGrade, CorruptionRow

_MODELS_TEST = "Intervals of the two most robust models do not overlap."
_KINDS_TEST = "Intervals of the two corruptions with the highest error do not overlap."
_ERROR = no_claim("corruption: error of one model")
_MOST_ROBUST = claim("corruption: most robust model", _MODELS_TEST)
_EQUALLY_ROBUST = no_claim("corruption: most robust model is open", _MODELS_TEST)
_HARDEST = claim("corruption: hardest corruption", _KINDS_TEST)
_HARDEST_OPEN = no_claim("corruption: hardest corruption is open", _KINDS_TEST)


@findings.register
def corruption_findings(result: CorruptionGrade) -> tuple[Finding, ...]:
    """The most robust model, what corruptions cost it, and the corruption that costs it most."""
    overall = [row for row in result.rows if row.corruption == EVERYTHING]
    kinds = [row for row in result.rows if row.model == overall[0].model and row.corruption != EVERYTHING]
    told = (_most_robust(result, overall), _hardest(result, overall[0], kinds))
    return tuple(one for one in told if one)


def _most_robust(result: CorruptionGrade, overall: list[CorruptionRow]) -> Finding:
    best = overall[0]
    clean = f", against {share(best.clean)} on clean pictures" if best.clean else ""
    text = f"{best.model} errs on {share(best.error)} of corrupted pictures of {result.test_set}{clean}."
    if len(overall) == 1:
        return Finding(_ERROR, f"{best.model} errs on {100 * best.error.value:.1f}% of corrupted pictures", text, 0.5)
    next_best = overall[1]
    one, other = best.ratio or best.error, next_best.ratio or next_best.error
    text += f" Next is {next_best.model} with {share(next_best.error)}"
    if apart(one, other):
        return Finding(
            _MOST_ROBUST, f"{best.model} bears corruptions best", f"{text}: their intervals do not touch.", 0.6
        )
    text += ": their intervals overlap, so the order may be chance."
    return Finding(
        _EQUALLY_ROBUST, f"{best.model} and {next_best.model} bear corruptions about equally well", text, 0.5
    )


def _hardest(result: CorruptionGrade, best: CorruptionRow, kinds: list[CorruptionRow]) -> Finding | None:
    if len(kinds) < 2:
        return None
    worst, second = sorted(kinds, key=lambda row: -row.error.value)[:2]
    text = f"{best.model} errs on {share(worst.error)} of pictures under it, and on {share(best.error)} under all."
    if apart(worst.error, second.error):
        return Finding(_HARDEST, f"{worst.corruption} hurts the most robust model most on {result.test_set}", text, 0.4)
    text += f" {second.corruption}, next, is not shown to be milder."
    return Finding(
        _HARDEST_OPEN, f"{worst.corruption} and {second.corruption} hurt the most robust model most", text, 0.35
    )
