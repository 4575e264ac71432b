"""Train small ensembles, capture scores during any training, and store what was trained as models like any other."""

from regrade.train.capture import Batches, ScoreCapture, capture
from regrade.train.registry import TRAIN_STEPS, Trainings

__all__ = ["TRAIN_STEPS", "Batches", "ScoreCapture", "Trainings", "capture"]
