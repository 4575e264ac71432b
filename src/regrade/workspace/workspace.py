"""The workspace: a folder with test sets, predictions and labels, and the methods that work on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import (
    ClassSpace,
    Preprocessing,
)
from regrade.core.names import member, refuse_text
from regrade.store import Store
from regrade.studies import ReportModels, study_method
from regrade.studies.compare.study import COMPARE
from regrade.studies.gate.study import GATE
from regrade.studies.grade.study import GRADE
from regrade.studies.loading import resolve_class_space
from regrade.studies.neighbors.study import TRAINING_NEIGHBORS
from regrade.studies.study import ProgressCallback
from regrade.workspace.labels import Labels
from regrade.workspace.models import Models
from regrade.workspace.removed import Removed
from regrade.workspace.review import Review
from regrade.workspace.testsets import TestSets
from regrade.workspace.verification import Verification, verify_workspace

if TYPE_CHECKING:
    from regrade.build import Builds
    from regrade.executors import RayCluster
    from regrade.ledger import Ledger
    from regrade.models import Device, Precision, Resizer
    from regrade.predict import Keep, Run
    from regrade.predict import ProgressCallback as PredictProgress
    from regrade.studies import Plans, Studies
    from regrade.train import Trainings
    from regrade.workspace.report_writing import WrittenReport


class Workspace:
    """A folder with test sets, predictions, labels and votes.

    Its methods are in groups: ``testsets``, ``models``, ``labels``, ``review``, ``study`` (one method per study),
    ``plan``, ``build``, ``train`` and ``removed``. Open a workspace with `regrade.open`, create one with
    `regrade.init`.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.testsets = TestSets(store)
        self.models = Models(store)
        self.review = Review(store)
        self.labels = Labels(store, lambda: self.review.readable_ledger)
        self.removed = Removed(store)

    @cached_property
    def study(self) -> Studies:
        """The studies of the stored data; each group from here on is imported when it is used."""
        from regrade.studies import Studies

        return Studies(self.store)

    @cached_property
    def plan(self) -> Plans:
        """Plans of how many images or decisions a claim needs."""
        from regrade.studies import Plans

        return Plans(self.store)

    @cached_property
    def build(self) -> Builds:
        """The steps of building a new test set."""
        from regrade.build import Builds

        return Builds(self.store, lambda: self.review.ledger)

    @cached_property
    def train(self) -> Trainings:
        """The training of small ensembles and heads."""
        from regrade.train import Trainings

        return Trainings(self.store)

    def __repr__(self) -> str:
        return f"regrade.open({str(self.store.root)!r})"

    @property
    def ledger(self) -> Ledger:
        """The ledger of votes, for writing; a ledger file is created on first use."""
        return self.review.ledger

    def verify(self, *, progress: ProgressCallback = iter) -> Verification:
        """Check every stored file against its checksum, the ledger, and the location of the images."""
        return verify_workspace(self.store, progress=progress)

    def predict(
        self,
        models: Sequence[str],
        *,
        test_sets: Sequence[str],
        classes: str | Path | ClassSpace | None = None,
        preprocessing: Preprocessing | None = None,
        device: Device | str | None = None,
        precision: Precision | str | None = None,
        compile: bool | None = None,
        batch: int | None = None,
        memory: int | None = None,
        workers: int | None = None,
        resizer: Resizer | str | None = None,
        keep: Sequence[Keep | str] = (),
        allow_unreadable: float | None = None,
        retry_unreadable: bool = False,
        together: bool = False,
        cluster: RayCluster | None = None,
        progress: PredictProgress | None = None,
    ) -> Run:
        """Predict every image of the test sets with every model and store the predictions; existing ones are kept.

        Models are named ``prefix:name``; ``classes`` and ``preprocessing`` apply to models without their own. An
        interrupted run resumes when it is called again. The default ``batch`` size is chosen to fit ``memory`` (bytes).
        The default ``device`` is a GPU where there is one: models then compute in half precision if the first images
        keep their scores, and are compiled if there are a million images. On a cluster it is the CPU.

        ``keep`` may name ``scores`` and ``features``. A model that fails is reported in the result, and the run
        continues with the next one.

        More than 5 % unreadable images, and more than 10, are an error; ``allow_unreadable`` sets another fraction
        (0 to 1). With ``retry_unreadable`` images stored as unreadable are predicted again.

        Models that run ``together`` are all in memory, and go through each test set once: every image is decoded once
        and resized for each preprocessing. The predictions are the same.
        """
        from regrade.models import Device, Precision, Resizer, Settings, default_device
        from regrade.predict import EngineOptions, Keep, NamedModel, default_workers, no_progress, predict_all

        refuse_text(models, "models")
        refuse_text(test_sets, "test_sets")
        refuse_text(keep, "keep")
        targets = [self.store.test_set(name) for name in test_sets]
        for target in targets:
            self.store.images.check(target)
        space = None if classes is None else resolve_class_space(self.store, classes)
        settings = Settings(
            space,
            preprocessing,
            precision=None if precision is None else member(Precision, precision),
            compile=compile,
            workspace=self.store.root.absolute(),
        )
        kept = {member(Keep, what) for what in keep}
        options = EngineOptions(
            batch,
            default_workers() if workers is None else workers,
            keep_scores=Keep.SCORES in kept,
            keep_features=Keep.FEATURES in kept,
            memory=memory,
            resizer=None if resizer is None else member(Resizer, resizer),
            allow_unreadable=allow_unreadable,
            retry_unreadable=retry_unreadable,
        )
        stated = Device.CPU if device is None and cluster is not None else device
        devices = [default_device(name) if stated is None else member(Device, stated) for name in models]
        named = [
            NamedModel(name, replace(settings, device=device)) for name, device in zip(models, devices, strict=True)
        ]
        show = progress or no_progress
        return predict_all(self.store, named, targets, options, cluster=cluster, together=together, progress=show)

    grade = study_method(GRADE)
    compare = study_method(COMPARE)
    gate = study_method(GATE)
    neighbors = study_method(TRAINING_NEIGHBORS)

    def report(
        self,
        name: str | None = None,
        *,
        test_sets: Sequence[str] = (),
        original: str | None = None,
        labels: Sequence[str] = (),
        without: Sequence[str] = (),
        baseline: str | None = None,
        remedies: Sequence[str] = (),
        out: str | Path | None = None,
        title: str | None = None,
        force: bool = False,
        progress: ProgressCallback = iter,
    ) -> WrittenReport:
        """Write a report on the named test sets (default: all) as one page, with every study that their data allows.

        It is written to ``reports/NAME`` in the workspace (default name: the date) or to the folder ``out``; an old
        report is replaced only with ``force``. New sets are compared with ``original`` (default: the largest set).
        ``labels`` names versions, such as ``own@1``, to use instead of the newest. Models of ``without`` are left out:
        names, patterns such as ``plain/seed-*``, or trainings. ``remedies`` are compared with ``baseline``, as
        ``study.remedies`` does, also if they are left out elsewhere.
        """
        from regrade.workspace.report_writing import write_workspace_report

        folder = None if out is None else Path(out)
        return write_workspace_report(
            self,
            name,
            test_sets=test_sets,
            original=original,
            labels=labels,
            models=ReportModels(without, baseline, remedies),
            out=folder,
            title=title,
            force=force,
            progress=progress,
        )


def open(path: str | Path) -> Workspace:
    """Open the workspace in a folder."""
    return Workspace(Store.open(Path(path)))


def init(path: str | Path) -> Workspace:
    """Create a workspace in a folder and open it."""
    return Workspace(Store.create(Path(path)))
