"""Predictions in a workspace: of models, of ensembles over training and of people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from regrade.core import (
    ClassSpace,
    InputError,
    ScoreKind,
    checkpoints_of,
)
from regrade.core.names import member
from regrade.formats import MistakeFormat, PeopleFormat, predictions_from_scores
from regrade.models import (
    LITE_PUBLISHED,
    read_published_accuracies,
)
from regrade.predict import (
    PublishedCheck,
    check_published,
)
from regrade.store import CheckpointWriter, PredictionSource, Store, Stored
from regrade.studies.grade.study import GRADE, GradeOptions
from regrade.studies.loading import resolve_class_space
from regrade.studies.study import ProgressCallback
from regrade.tables import Columns
from regrade.workspace.imports import (
    ImportedCheckpoints,
    ImportedMistakes,
    ImportedPeople,
    import_checkpoints,
    import_mistakes,
    import_people,
)
from regrade.workspace.prediction_imports import (
    ImportedPredictions,
    PredictionImport,
    read_predictions,
    store_predictions,
    store_read_predictions,
)


class Models:
    """Predictions in a workspace: of models, of ensembles over training and of people."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def names(self, test_set: str) -> tuple[str, ...]:
        """The models with predictions on a test set."""
        return self.store.predictions.model_names(self.store.test_set(test_set).name)

    def ensembles(self, test_set: str) -> tuple[str, ...]:
        """The ensembles with checkpoints on a test set."""
        return self.store.ensembles.names(self.store.test_set(test_set).name)

    def import_predictions(
        self,
        path: str | Path,
        *,
        test_set: str,
        classes: str | Path | ClassSpace | None = None,
        model: str | None = None,
        prefix: str = "",
        columns: Columns | None = None,
        split: str = "",
    ) -> ImportedPredictions:
        """Import a file of predictions: those of one model (named by ``model``), or one column per model.

        ``split`` is that of a dataset folder of the Hugging Face library.
        """
        return self.store_predictions(
            self.preview_predictions(
                path, test_set=test_set, classes=classes, model=model, prefix=prefix, columns=columns, split=split
            )
        )

    def store_predictions(self, content: PredictionImport) -> ImportedPredictions:
        """Store what `preview_predictions` has read."""
        return store_read_predictions(self.store, content)

    def preview_predictions(
        self,
        path: str | Path,
        *,
        test_set: str,
        classes: str | Path | ClassSpace | None = None,
        model: str | None = None,
        prefix: str = "",
        columns: Columns | None = None,
        split: str = "",
    ) -> PredictionImport:
        """Read a file as `import_predictions` does, and return what was understood; nothing is stored."""
        return read_predictions(
            self.store,
            Path(path),
            test_set=test_set,
            classes=None if classes is None else resolve_class_space(self.store, classes),
            model=model,
            prefix=prefix,
            columns=columns,
            split=split,
        )

    def add_predictions(self, model: str, scores: ArrayLike, *, test_set: str) -> Stored:
        """Store the scores (n, c) of one model, with rows in the order of the test set."""
        target = self.store.test_set(test_set)
        predicted = predictions_from_scores(np.asarray(scores), target.class_space, name=model)
        if len(predicted.classes) != len(target):
            raise InputError(
                f"{len(predicted.classes):,} rows of scores for the {len(target):,} examples of {test_set}"
            )
        return store_predictions(
            self.store, target, {model: predicted}, space=target.class_space, source=PredictionSource()
        )

    def import_checkpoints(
        self,
        path: str | Path,
        *,
        test_set: str,
        ensemble: str,
        kind: ScoreKind | str,
        classes: str | Path | ClassSpace | None = None,
    ) -> ImportedCheckpoints:
        """Import the scores of an ensemble's members for each epoch, from a folder of arrays or a single array.

        ``kind`` says what the scores are: logits, probabilities or log-probabilities.
        """
        space = None if classes is None else resolve_class_space(self.store, classes)
        chosen = member(ScoreKind, kind)
        return import_checkpoints(
            self.store, Path(path), test_set=test_set, ensemble=ensemble, kind=chosen, classes=space
        )  # fmt: skip

    def checkpoint_writer(
        self,
        ensemble: str,
        *,
        test_set: str,
        kind: ScoreKind | str,
        classes: str | Path | ClassSpace | None = None,
    ) -> CheckpointWriter:
        """A writer for an ensemble's scores during training: ``add`` them by seed and epoch, then call ``finish``."""
        space = None if classes is None else resolve_class_space(self.store, classes)
        return self.store.ensembles.writer(self.store.test_set(test_set), ensemble, member(ScoreKind, kind), space)

    def add_checkpoints(
        self,
        ensemble: str,
        scores: ArrayLike,
        *,
        test_set: str,
        kind: ScoreKind | str,
        epochs: Sequence[int] = (),
    ) -> Stored:
        """Store the scores (seeds, epochs, n, c) of an ensemble, or (epochs, n, c) of one seed, numbered from 0."""
        checkpoints = checkpoints_of(np.asarray(scores), kind=member(ScoreKind, kind), ensemble=ensemble, epochs=epochs)
        with self.store.ensembles.temporary_writer(self.store.test_set(test_set), ensemble, checkpoints.kind) as writer:
            for seed, name in enumerate(checkpoints.members):
                for index, epoch in enumerate(checkpoints.epochs):
                    writer.add(checkpoints.scores(seed, index), seed=name, epoch=epoch)
            return Stored((ensemble,), ()) if writer.finish() else Stored((), (ensemble,))

    def check(
        self,
        test_set: str,
        *,
        published: str | Path | None = None,
        prefix: str = "timm",
        progress: ProgressCallback = iter,
    ) -> PublishedCheck:
        """Compare the models' top-1 accuracies with published ones: built-in figures, and a CSV in timm's format.

        ``prefix`` is prepended to the names in the CSV (empty: unchanged).
        """
        figures = [LITE_PUBLISHED]
        if published is not None:
            figures.append(read_published_accuracies(published, test_set=test_set, prefix=prefix))
        return check_published(GRADE.run(self.store, GradeOptions(test_set, progress=progress)), figures)

    def import_people(
        self,
        path: str | Path,
        *,
        test_set: str,
        form: PeopleFormat | str = PeopleFormat.TABLE,
        name: str | None = None,
        columns: Columns | None = None,
    ) -> ImportedPeople:
        """Import people's answers and their times as rows next to the models, named ``person:NAME``.

        ``name`` is the person's name if the file has none; if the file names several people, only this one is imported.
        """
        chosen = member(PeopleFormat, form)
        return import_people(self.store, Path(path), test_set=test_set, form=chosen, name=name, columns=columns)

    def import_mistakes(
        self,
        path: str | Path,
        *,
        test_set: str,
        model: str,
        form: MistakeFormat | str = MistakeFormat.TABLE,
        columns: Columns | None = None,
    ) -> ImportedMistakes:
        """Import people's category and severity for each mistake of a model, which need not have predictions."""
        chosen = member(MistakeFormat, form)
        return import_mistakes(self.store, Path(path), test_set=test_set, model=model, form=chosen, columns=columns)
