"""Prediction: pictures through models into the store, every example exactly once, resumable at any moment."""

from regrade.predict.engine import PART_SIZE, STORED_K, Engine, How, Keep, Progress
from regrade.predict.prepare import Prepared, default_workers, prepare_all
from regrade.predict.published_check import PublishedCheck, check_published
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
    "PublishedCheck",
    "Run",
    "Watch",
    "check_published",
    "default_workers",
    "predict",
    "prepare_all",
    "unwatched",
]
