"""The head of one seed: fitted or read from its file, and its predictions on every set."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import AlreadyStored, ModelSpec
from regrade.models.head_model import HeadFile, LinearHead, head_path, packed_head, read_head_file
from regrade.store import replace_file
from regrade.store.file_errors import write_errors
from regrade.train.head.adam import AdamSettings
from regrade.train.head.design import TrainingRows
from regrade.train.head.fitting import HeadFitter, TrainingDesign
from regrade.train.head.problem import HeadProblem, HeadTargets, SolverSettings
from regrade.train.head.result import SetRole
from regrade.train.head.storing import head_scores, is_stored, store_scores
from regrade.train.plan import training_folder
from regrade.train.steps.head import HeadSolver

if TYPE_CHECKING:
    from regrade.train.head.training import HeadTraining


class HeadMember:
    """The head of one seed."""

    def __init__(self, training: HeadTraining, seed: int, base: str) -> None:
        self.training, self.seed, self.base = training, seed, base
        self.name = f"head:{training.options.name}/seed-{seed}"
        self.folder = training_folder(training.store.root, training.options.name) / f"seed-{seed}"
        self.stored = training.read(training.training_set, base)
        self.is_fitted = head_path(self.folder) is not None

    @cached_property
    def data(self) -> TrainingRows:
        """What it is fitted on."""
        return self.training.rows(self.stored)

    @cached_property
    def fitter(self) -> HeadFitter:
        """The solver with all training images."""
        options, data = self.training.options, self.data
        targets = HeadTargets(data.labels, len(data.classes), data.accepts, data.offsets)
        problem = HeadProblem(data.embeddings, targets, device=options.device.value)
        adam = AdamSettings(options.epochs, options.batch, options.learning_rate)
        settings = SolverSettings(options.tolerance, adam=adam if options.solver is HeadSolver.ADAM else None)
        design = TrainingDesign(data.clusters, data.groups, options.balance, self.training.penalties, options.folds)
        return HeadFitter(problem, design, settings)

    @cached_property
    def file(self) -> HeadFile:
        """The stored head, fitted now if there is none; raise if it was fitted on other embeddings."""
        path = head_path(self.folder)
        if path is None:
            return self._fitted()
        file = read_head_file(path)
        if file.fit["embeddings"] != self.stored.manifest.digest:
            raise AlreadyStored(
                f"{self.name} was fitted on other embeddings of {self.base}: choose another name, or remove "
                f"{self.folder} to start over"
            )
        return file

    @property
    def spec(self) -> ModelSpec:
        """The record of the model."""
        return self.file.spec(self.name)

    def store_predictions(self) -> None:
        """Store the predictions that are missing."""
        for test_set, role in self.training.sets:
            if is_stored(self.training.store, test_set.name, self.spec):
                continue
            stored = self.training.read(test_set, self.base)
            scores, note = head_scores(self.file, stored), ""
            if role is SetRole.TRAINING:
                note = f"out of fold: {self.training.options.folds} folds by {self.training.clusters or 'image'}"
                for rows, fold_scores in self.fitter.out_of_fold(np.arange(len(self.data.rows)), self.seed):
                    scores[self.data.rows[rows]] = fold_scores
            store_scores(self.training.store, stored, self.file, self.spec, scores, note=note)

    def _fitted(self) -> HeadFile:
        fitted = self.fitter.fit(np.arange(len(self.data.rows)), self.seed)
        basis = self.fitter.problem.basis
        head = LinearHead(*basis.weight_and_bias(fitted.parameters), self.training.options.keep_classes)
        fit = {
            "embeddings": self.stored.manifest.digest,
            "images": len(self.data.rows),
            "scale": basis.scale,
            "chosen": asdict(fitted.chosen),
            "path": [asdict(trial) for trial in fitted.path],
        }
        training = self.training
        file = HeadFile(
            head, self.stored.manifest.model, training.base_classes, training.classes, training.training_set.name, fit
        )
        name, content = packed_head(file)
        with write_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(self.folder / name, content)
        return file
