"""Prediction: images through models into the store, every example exactly once, resumable at any moment."""

from regrade.predict.batch_size import fitting_batch
from regrade.predict.cluster import NamedModel, predict_on
from regrade.predict.engine import PART_SIZE, STORED_K, EngineOptions, Keep, PredictionEngine, PredictionInput, Progress
from regrade.predict.prepare import PreparationOptions, Prepared, default_workers, prepare_all
from regrade.predict.published_check import PublishedCheck, check_published
from regrade.predict.result import Failure, ModelRun, Run
from regrade.predict.run import ProgressCallback, predict, predict_by, unwatched
from regrade.predict.run_all import predict_all
from regrade.predict.workforce import ThisProcess, Workforce

__all__ = [
    "PART_SIZE",
    "STORED_K",
    "EngineOptions",
    "Failure",
    "Keep",
    "ModelRun",
    "NamedModel",
    "PredictionEngine",
    "PredictionInput",
    "PreparationOptions",
    "Prepared",
    "Progress",
    "ProgressCallback",
    "PublishedCheck",
    "Run",
    "ThisProcess",
    "Workforce",
    "check_published",
    "default_workers",
    "fitting_batch",
    "predict",
    "predict_all",
    "predict_by",
    "predict_on",
    "prepare_all",
    "unwatched",
]
