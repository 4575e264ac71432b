"""Test sets that a ladder holds back: what tells more about them than its verdicts wears them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regrade.store import Store


def ladder_notes(store: Store, test_sets: Sequence[str], what: str) -> tuple[str, ...]:
    """One note per test set with a ladder that ``what``, such as this report, tells more than the ladder."""
    return tuple(
        f"{name} has a ladder: {what} tells more than the verdicts of its submissions, whose error rate no longer "
        "holds for those who see this"
        for name in test_sets
        if store.ladders.has(name)
    )
