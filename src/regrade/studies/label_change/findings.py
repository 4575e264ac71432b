"""Findings of a comparison of label versions: what changed, and the effect on accuracies and ranks."""

from __future__ import annotations

from statistics import median

from regrade.core.amounts import amount
from regrade.display.finding import Finding, claim, no_claim
from regrade.display.wording import listed, points, share, signed
from regrade.studies.label_change.analysis import LabelChange, ModelChange

_MOVED_TEST = (
    "Intervals of the models' paired differences over the images that both versions score, Bonferroni-corrected for "
    "all models, compared with 0."
)
_SAME = no_claim("label change: same labels")
_DIFFER = no_claim("label change: different labels")
_NO_MODEL_MOVED = no_claim("label change: no model is shown to move", _MOVED_TEST)
_MODELS_MOVED = claim("label change: models move", _MOVED_TEST)
_SAME_ORDER = no_claim("label change: same order")
_NEW_FIRST = no_claim("label change: another model is first")
_NEW_RANKS = no_claim("label change: ranks change")


def label_change_findings(result: LabelChange) -> tuple[Finding, ...]:
    """The changes of labels, their effect on accuracies, and changes of ranks."""
    if not result.diff:
        return (Finding(_SAME, f"{_versions(result)} are the same", "No judgment and no image differs.", 0.2),)
    moved = [row for row in result.models if row.difference is not None]
    if not moved:
        return (Finding(_DIFFER, f"{_versions(result)} differ", _changed(result), 0.3),)
    return (_differences(result, moved), *_ranks(result))


def _differences(result: LabelChange, moved: list[ModelChange]) -> Finding:
    shown = [row for row in moved if row.difference and (row.difference.low > 0 or row.difference.high < 0)]
    most = moved[0]
    middle = median(row.difference.value for row in moved if row.difference)
    largest = f"{most.model} changed by {points(most.difference)}" if most.difference else ""
    if len(moved) == 1:
        text = f"{_changed(result)} {largest} over the images that both versions score{_own(most)}."
    else:
        text = (
            f"{_changed(result)} Over the images that both versions score, the median of {len(moved):,} models changed "
            f"by {signed(100 * middle)} points; the largest change: {largest}{_own(most)}."
        )
    on = result.test_set.name
    if not shown:
        headline = f"No difference in accuracy between {_versions(result)} detected for any model on {on}"
        return Finding(_NO_MODEL_MOVED, headline, text, 0.4)
    up, down = (sum(sign * row.difference.value > 0 for row in shown if row.difference) for sign in (1, -1))
    verb = "rises" if not down else "falls" if not up else "changes"
    headline = f"{_from(result)}, the accuracy of {up + down:,} of {amount(len(moved), 'model')} {verb} on {on}"
    return Finding(_MODELS_MOVED, headline, text, 0.55)


def _own(row: ModelChange) -> str:
    if row.before is None or row.after is None:
        return ""
    return f", from {share(row.before)} to {share(row.after)} over the images of each"


def _ranks(result: LabelChange) -> tuple[Finding, ...]:
    ranked = [row for row in result.models if row.rank_before is not None and row.rank_after is not None]
    if len(ranked) < 2:
        return ()
    changed = [row for row in ranked if row.rank_before != row.rank_after]
    first, then = (sorted(row.model for row in ranked if rank(row) == 1) for rank in (_before, _after))
    if not changed:
        return (
            Finding(
                _SAME_ORDER, "The order of the models stays the same", f"None of {len(ranked):,} changes its rank.", 0.3
            ),
        )
    verb = "changes its" if len(changed) == 1 else "change their"
    moves = f"{len(changed):,} of {len(ranked):,} models {verb} rank"
    text = f"{moves} by accuracy; ranks are not tested."
    if first != then:
        text += f" {listed(first)} ranked first before, {listed(then)} now."
    if not set(first) & set(then):
        return (Finding(_NEW_FIRST, f"Another model ranks first under {result.diff.after}", text, 0.5),)
    return (Finding(_NEW_RANKS, moves, text, 0.35),)


def _before(row: ModelChange) -> int | None:
    return row.rank_before


def _after(row: ModelChange) -> int | None:
    return row.rank_after


def _changed(result: LabelChange) -> str:
    counts = ", ".join(f"{number:,} {what}" for what, number in result.diff.counts().items())
    return f"Changed: {counts}."


def _versions(result: LabelChange) -> str:
    return f"{result.diff.before} and {result.diff.after}"


def _from(result: LabelChange) -> str:
    return f"From {result.diff.before} to {result.diff.after}"
