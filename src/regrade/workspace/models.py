"""Predictions in a workspace: of models, of ensembles over training and of people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regrade.core import (
    ClassSpace,
    InputError,
    ScoreKind,
    checkpoints_of,
)
from regrade.core.names import member
from regrade.formats import (
    MistakeFormat,
    ModelFormat,
    PeopleFormat,
    PredictionKind,
    Zoo,
    predictions_from_scores,
    read_prediction_file,
)
from regrade.models import (
    LITE_PUBLISHED,
    read_published_accuracies,
)
from regrade.predict import (
    PublishedCheck,
    check_published,
)
from regrade.store import CheckpointWriter, PredictionSource, Removal, RemovalPlan, Store, Stored
from regrade.studies.grade.study import GRADE, GradeOptions
from regrade.studies.loading import resolve_class_space
from regrade.studies.study import ProgressCallback
from regrade.tables import Columns, array_input
from regrade.workspace.array_imports import GivenPredictions
from regrade.workspace.imports import (
    ImportedCheckpoints,
    ImportedMistakes,
    ImportedPeople,
    import_checkpoints,
    import_mistakes,
    import_people,
)
from regrade.workspace.model_descriptions import DescriptionResult, describe_models
from regrade.workspace.prediction_imports import (
    FileCoverage,
    ImportedPredictions,
    PredictionImport,
    read_predictions,
    source_of,
    store_predictions,
    store_read_predictions,
)
from regrade.workspace.removal import carry_out, plan_model_removal
from regrade.workspace.renaming import Renamed, rename_model
from regrade.workspace.zoo_descriptions import ZooDescription, describe_from_zoos


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

    def plan_removal(self, *names: str, test_set: str | None = None, ensembles: bool = False) -> RemovalPlan:
        """Return what `remove` would remove with the same arguments; nothing changes."""
        return plan_model_removal(self.store, names, test_set=test_set, ensembles=ensembles)

    def remove(
        self,
        *names: str,
        test_set: str | None = None,
        ensembles: bool = False,
        expected: RemovalPlan | None = None,
    ) -> Removal:
        """Remove the predictions of models or people on a test set (default: all test sets); see ``removed.restore``.

        A name is a model, a pattern such as ``resnet50-*``, or a method with models ``NAME/seed-*``. With
        ``ensembles`` the names are those of ensembles, and their checkpoints are removed. What people said about the
        models is kept. Raises if ``expected``, a plan from `plan_removal`, no longer holds.
        """
        return carry_out(
            self.store, lambda: self.plan_removal(*names, test_set=test_set, ensembles=ensembles), expected
        )

    def rename(self, old: str, new: str, *, test_set: str | None = None) -> Renamed:
        """Rename a model or an imported person on one test set (default: on all of them).

        Reviews of its mistakes and what is stated about it follow. A queue of the ledger about the model raises, and so
        does a name that is taken or too similar to another. Renaming it back restores every file.
        """
        return rename_model(self.store, old, new, test_set=test_set)

    def describe(
        self, path: str | Path, *, form: ModelFormat | str = ModelFormat.TABLE, prefix: str | None = None
    ) -> DescriptionResult:
        """Add metadata of models from a table: family, parameters, training data and its size, year, base model.

        A stated value replaces an earlier one, and an empty cell changes nothing. ``prefix`` is prepended to the names
        (default: ``timm`` for timm's results).
        """
        return describe_models(self.store, Path(path), form=member(ModelFormat, form), prefix=prefix)

    def describe_from_zoos(self, *, without_prefix: Zoo | str | None = None) -> ZooDescription:
        """Derive metadata of all models of timm, torchvision, open_clip and transformers from their names.

        What users state and what manifests record wins. Names without a prefix are those of the zoo
        ``without_prefix``, and left out by default.
        """
        return describe_from_zoos(
            self.store, without_prefix=None if without_prefix is None else member(Zoo, without_prefix)
        )

    def import_predictions(
        self,
        predictions: Any,
        *,
        test_set: str,
        classes: str | Path | ClassSpace | None = None,
        model: str | None = None,
        prefix: str = "",
        columns: Columns | None = None,
        kind: PredictionKind | str | None = None,
        split: str = "",
        partial: bool = False,
        reversed_models: Sequence[str] = (),
    ) -> ImportedPredictions:
        """Import predictions from a file or from memory: those of one model, named by ``model``, or of several.

        A file, a data frame or an Arrow table with a column of ids has one model per column, or one model. Other arrays
        are those of `regrade.grade`, with ``kind``, and several models are a dictionary of them; their rows are in the
        order of the test set, unless the index of a pandas object has the ids. ``split`` is that of a dataset folder of
        the Hugging Face library. The classes of ``reversed_models`` are read from the last column to the first, for
        files with the best class last.

        Every image of the test set needs a prediction. With ``partial`` a file or table with ids may lack some: models
        are then graded on their images, and every table says on how many.
        """
        return self.store_predictions(
            self.preview_predictions(
                predictions,
                test_set=test_set,
                classes=classes,
                model=model,
                prefix=prefix,
                columns=columns,
                kind=kind,
                split=split,
                partial=partial,
                reversed_models=reversed_models,
            )
        )

    def store_predictions(self, content: PredictionImport) -> ImportedPredictions:
        """Store what `preview_predictions` has read."""
        return store_read_predictions(self.store, content)

    def preview_predictions(
        self,
        predictions: Any,
        *,
        test_set: str,
        classes: str | Path | ClassSpace | None = None,
        model: str | None = None,
        prefix: str = "",
        columns: Columns | None = None,
        kind: PredictionKind | str | None = None,
        split: str = "",
        partial: bool = False,
        reversed_models: Sequence[str] = (),
    ) -> PredictionImport:
        """Read predictions as `import_predictions` does, and return what was understood; nothing is stored."""
        chosen = columns or Columns()
        shared: dict[str, Any] = {
            "test_set": test_set,
            "classes": None if classes is None else resolve_class_space(self.store, classes),
            "prefix": "" if model else prefix,
            "coverage": FileCoverage.SOME if partial else FileCoverage.ALL,
            "reversed_models": reversed_models,
        }
        if not isinstance(predictions, str | Path):
            stated = None if kind is None else member(PredictionKind, kind)
            given = GivenPredictions(predictions, model, chosen, stated)
            return read_predictions(self.store, given.read, origin="the data", **shared)
        path = Path(predictions)
        return read_predictions(
            self.store,
            lambda spaces: read_prediction_file(path, spaces, columns=chosen, model=model, split=split),
            origin=str(path),
            source=lambda: source_of(path),
            **shared,
        )

    def add_predictions(self, model: str, scores: Any, *, test_set: str) -> Stored:
        """Store the scores (n, c) of one model, with rows in the order of the test set."""
        target = self.store.test_set(test_set)
        predicted = predictions_from_scores(array_input(scores, name=model).values, target.class_space, name=model)
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
        return check_published(GRADE.result_of(self.store, GradeOptions(test_set, progress=progress)), figures)

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
