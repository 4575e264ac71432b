"""Train small ensembles, capture scores during any training, and store what was trained as models like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from regrade.train.registry import TRAIN_STEPS, Trainings
    from regrade.train.score_capture import Batches, ScoreCapture, capture

__all__ = ["TRAIN_STEPS", "Batches", "ScoreCapture", "Trainings", "capture"]

_HOME = {
    "regrade.train.score_capture": "Batches ScoreCapture capture",
    "regrade.train.registry": "TRAIN_STEPS Trainings",
}

if not TYPE_CHECKING:  # type checkers then find misspelled names
    __getattr__, __dir__ = lazy_names(globals(), _HOME)
