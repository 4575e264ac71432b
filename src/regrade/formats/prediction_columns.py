"""Recognizing the columns of predictions in a table by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from regrade.core import ClassSpace, FormatError

PREDICTION_COLUMNS = (
    "prediction",
    "predictions",
    "predicted",
    "pred",
    "classes",
    "topk",
    "top5",
    "answer",
    "y_pred",
)
SCORE_COLUMNS = ("scores", "score", "confidence", "probability", "probabilities", "logits")
OPTIONAL_COLUMNS = ("scores", "probabilities", "logits")
NUMBERED = re.compile(r"(?:top|pred|prediction|class)_?(\d+)$")


@dataclass(frozen=True)
class ModelColumns:
    """The columns of one model: a score for every class, or the best classes and their scores."""

    all_scores: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    scores: str | None = None

    @classmethod
    def among(cls, names: list[str], space: ClassSpace) -> ModelColumns:
        distinct_names = set(names)
        missing = [class_id for class_id in space.ids if class_id not in distinct_names]
        if not missing:
            return cls(all_scores=space.ids)
        if len(missing) < len(space) / 2 and not any(name.casefold() in PREDICTION_COLUMNS for name in names):
            raise FormatError(
                f"expected a column of scores for every class of {space.name}, but {missing[0]!r} has none"
            )
        score_column = next((name for usual in SCORE_COLUMNS for name in names if name.casefold() == usual), None)
        class_columns = _class_columns([name for name in names if name != score_column])
        if not class_columns and score_column is None:
            raise FormatError(f"there is no column with predictions: name it {PREDICTION_COLUMNS[0]}")
        return cls(classes=tuple(class_columns), scores=score_column)

    @property
    def used(self) -> set[str]:
        return {*self.all_scores, *self.classes, *([self.scores] if self.scores else [])}


def _class_columns(names: list[str]) -> list[str]:
    """The columns of the predicted classes: one with a usual name, numbered ones in order, or the only column."""
    numbered = {int(match[1]): name for name in names if (match := NUMBERED.match(name.casefold()))}
    in_a_row = len(numbered) > 1 and max(numbered) - min(numbered) == len(numbered) - 1
    ranked = set(numbered.values()) if in_a_row else set()  # top5 has five classes, or the fifth after top1 to top4
    usual = [name for usual in PREDICTION_COLUMNS for name in names if name.casefold() == usual and name not in ranked]
    if usual:
        return usual[:1]
    if numbered:
        _refuse_gaps(numbered)
        return [numbered[rank] for rank in sorted(numbered)]
    if len(names) > 1:
        raise FormatError(
            f"the predictions could be in {', '.join(names[:6])}: name their column {PREDICTION_COLUMNS[0]}"
        )
    return names


def _refuse_gaps(numbered: Mapping[int, str]) -> None:
    """Raise if a rank is missing; ranks start at 0 or 1. A single column may contain lists, such as top3."""
    gap = next((rank for rank in range(min(1, *numbered), max(numbered)) if rank not in numbered), None)
    if len(numbered) > 1 and gap is not None:
        missing = re.sub(r"\d+$", str(gap), numbered[min(numbered)])
        raise FormatError(
            f"the columns {', '.join(numbered.values())} number the best classes, and {missing} is missing"
        )
