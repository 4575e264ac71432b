"""The steps of a training as methods of the workspace's ``train``, and as commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from regrade.core import ClassSpace, Preprocessing
from regrade.store import Store
from regrade.studies.methods import studies_of, study_method
from regrade.train.score_capture import Batches, ScoreCapture, capture
from regrade.train.steps.ensemble import TRAIN_ENSEMBLE
from regrade.train.steps.finish import TRAIN_FINISH
from regrade.train.steps.head import TRAIN_HEAD
from regrade.train.steps.remedies import TRAIN_GROUPDRO, TRAIN_UPSAMPLE
from regrade.train.steps.tune import TRAIN_TUNE


class Trainings:
    """Ensembles over training: train one, or capture the scores of your own training."""

    def __init__(self, store: Store) -> None:
        self.store = store

    ensemble = study_method(TRAIN_ENSEMBLE)
    groupdro = study_method(TRAIN_GROUPDRO)
    upsample = study_method(TRAIN_UPSAMPLE)
    head = study_method(TRAIN_HEAD)
    tune = study_method(TRAIN_TUNE)
    finish = study_method(TRAIN_FINISH)

    def capture(
        self,
        ensemble: str,
        *,
        seed: int | str,
        test_sets: Sequence[str] | Mapping[str, Batches],
        every: int = 1,
        preprocessing: Preprocessing | None = None,
        classes: str | Path | ClassSpace | None = None,
        batch: int = 256,
    ) -> ScoreCapture:
        """Capture the scores of one member during your own training; see `regrade.capture`."""
        return capture(
            self,
            ensemble=ensemble,
            seed=seed,
            test_sets=test_sets,
            every=every,
            preprocessing=preprocessing,
            classes=classes,
            batch=batch,
        )


TRAIN_STEPS = studies_of(Trainings)
"""The steps."""
