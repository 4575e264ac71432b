"""Prediction: pictures through models into the store, every example exactly once, resumable at any moment."""

from regrade.predict.engine import PART_SIZE, STORED_K, Engine, How, Keep, Progress
from regrade.predict.prepare import Prepared, default_workers, prepare_all
from regrade.predict.result import Pair, Run
from regrade.predict.run import Watch, predict, unwatched

__all__ = [
    "PART_SIZE",
    "STORED_K",
    "Engine",
    "How",
    "Keep",
    "Pair",
    "Prepared",
    "Progress",
    "Run",
    "Watch",
    "default_workers",
    "predict",
    "prepare_all",
    "unwatched",
]
