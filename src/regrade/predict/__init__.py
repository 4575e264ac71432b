"""Prediction: run models on images and store the results, every example exactly once, resumable at any time."""

from regrade.predict.batch_size import find_batch_size
from regrade.predict.cluster import NamedModel, predict_on
from regrade.predict.engine import (
    PART_SIZE,
    EngineOptions,
    Keep,
    PredictionEngine,
    PredictionInput,
)
from regrade.predict.job import ProgressCallback
from regrade.predict.predictor import LocalPredictor, Predictor
from regrade.predict.prepare import PreparationOptions, Prepared, default_workers, prepare_all
from regrade.predict.published_check import PublishedCheck, check_published
from regrade.predict.result import Failure, ModelRun, Run
from regrade.predict.run import no_progress, predict, predict_with
from regrade.predict.run_all import predict_all
from regrade.predict.shared_pass import Progress
from regrade.predict.together import predict_together

__all__ = [
    "PART_SIZE",
    "EngineOptions",
    "Failure",
    "Keep",
    "LocalPredictor",
    "ModelRun",
    "NamedModel",
    "PredictionEngine",
    "PredictionInput",
    "Predictor",
    "PreparationOptions",
    "Prepared",
    "Progress",
    "ProgressCallback",
    "PublishedCheck",
    "Run",
    "check_published",
    "default_workers",
    "find_batch_size",
    "no_progress",
    "predict",
    "predict_all",
    "predict_on",
    "predict_together",
    "predict_with",
    "prepare_all",
]
