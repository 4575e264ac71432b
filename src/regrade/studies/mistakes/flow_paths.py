"""How a model's mistakes got from the first labels to their last state, and people's categories of what remains."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from regrade.core import NO_ANSWER, LabelState, Predictions
from regrade.core.arrays import BoolArray
from regrade.studies.mistakes.mistake_labels import MistakeLabels, ReviewedPredictions
from regrade.studies.mistakes.severity import CategoryCounts, SeveritySources, categorized_mistakes


class StateBefore(Enum):
    """States of a prediction under the first labels."""

    NOVEL = "novel"
    WRONG = "judged wrong before"
    ACCEPTED = "no mistake before"


class StateAfter(Enum):
    """States of a prediction after the review, or under later labels."""

    CORRECT = "now correct"
    UNCLEAR = "now unclear"
    PROBLEMATIC = "image not scored any more"
    NOVEL = "not judged yet"
    MISTAKE = "mistake"


@dataclass(frozen=True)
class FlowPaths:
    """One model's predictions that were a mistake before or are one after, by both states.

    ``counts`` has a number for each pair of states; ``categories`` count the judged mistakes that remain and have an
    answer, ``unanswered`` those without.
    """

    model: str
    counts: dict[tuple[StateBefore, StateAfter], int]
    categories: CategoryCounts
    unanswered: int

    def into(self, after: StateAfter) -> int:
        """Number of predictions in a state after the review."""
        return sum(number for (_, state), number in self.counts.items() if state is after)


def judged_mistakes(predictions: Predictions, judged: ReviewedPredictions) -> BoolArray:
    """Mask (n,) of the images with a prediction that is judged to be a mistake after the review."""
    after = judged.after
    return np.asarray(after.scored & ~after.right & ~after.novel & (predictions.top1 != NO_ANSWER))


def flow_paths(
    predictions: Predictions, ground: MistakeLabels, judged: ReviewedPredictions, sources: SeveritySources
) -> FlowPaths:
    """Count one model's mistakes by their state before and after the review."""
    before, after = judged.before, judged.after
    wrong = before.scored & ~before.right
    unclear = ground.states_after(predictions.top1) == LabelState.UNCLEAR
    starts = {
        StateBefore.NOVEL: before.novel & wrong,
        StateBefore.WRONG: wrong & ~before.novel,
        StateBefore.ACCEPTED: ~wrong,
    }
    left = after.scored & ~after.right
    ends = {
        StateAfter.CORRECT: wrong & after.right & ~unclear,
        StateAfter.UNCLEAR: wrong & after.right & unclear,
        StateAfter.PROBLEMATIC: wrong & ~after.scored,
        StateAfter.NOVEL: left & after.novel,
        StateAfter.MISTAKE: left & ~after.novel,
    }
    counts = {(start, end): int((starts[start] & ends[end]).sum()) for start in starts for end in ends}
    with_answer = judged_mistakes(predictions, judged)
    return FlowPaths(
        predictions.model,
        {states: number for states, number in counts.items() if number},
        categorized_mistakes(predictions, with_answer, sources),
        int((ends[StateAfter.MISTAKE] & ~with_answer).sum()),
    )
