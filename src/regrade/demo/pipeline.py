"""The demo from end to end: train on MNIST digits, grade on MNIST and UCI digits, and write a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from regrade.core import MissingExtra
from regrade.core.arrays import FloatArray
from regrade.demo.classifiers import EPOCHS, SEEDS, classifiers, small_network_epochs
from regrade.demo.digits import Digits, halves, mnist, uci
from regrade.demo.image_table import ink_thresholds, write_images
from regrade.tables import Columns
from regrade.workspace import ProgressCallback, Workspace, WrittenReport, init
from regrade.workspace import open as open_workspace

ORIGINAL, NEW, TRAINED_ON = "mnist", "uci-digits", "mnist-train"
"""The test sets: held-out MNIST digits, newly collected UCI digits, and the training digits."""

HARD = "mnist-hard"
"""The held-out digits that confuse the small network most during training, by its scores alone."""

ENSEMBLE = "small network"
"""The ensemble of small networks whose scores are stored for each epoch."""

LABELS = "own"
"""The label set of the UCI digits, for people to judge the classifiers' novel predictions."""

_SIGNATURE_SIZE = 32  # side in pixels at which digits are compared

Log = Callable[[str], None]


def run_demo(folder: Path, *, log: Log, progress: ProgressCallback = iter) -> WrittenReport:
    """Train, predict, study and report; results of an earlier run in the folder are reused.

    ``log`` receives a line per step, and ``progress`` iterates over the chapters of the report.
    """
    workspace = open_workspace(folder) if (folder / "regrade.toml").exists() else init(folder)
    training, held_out = halves(mnist())
    digits = {TRAINED_ON: training, ORIGINAL: held_out, NEW: uci()}
    inputs = {name: test_digits.inputs() for name, test_digits in digits.items()}
    _add_test_sets(workspace, digits, folder / "digits", thresholds=ink_thresholds(inputs[TRAINED_ON]))
    with _one_thread():
        _train_classifiers(workspace, inputs, training, log)
        _train_small_network(workspace, inputs, training, log)
    _keep_hard_set(workspace, log)
    workspace.create_labels(NEW, name=LABELS)
    log("looking for digits of the test sets among those trained on")
    for name in (ORIGINAL, NEW):
        workspace.study.leakage(name, against=TRAINED_ON, by=["exact", "pixels"], size=_SIGNATURE_SIZE)
    log("writing the report")
    return workspace.report(
        "demo",
        original=ORIGINAL,
        title="Eight classifiers of handwritten digits, graded twice",
        force=True,
        progress=progress,
    )


def _add_test_sets(workspace: Workspace, digits: dict[str, Digits], folder: Path, *, thresholds: FloatArray) -> None:
    for name, test_digits in digits.items():
        if name not in workspace.test_sets:
            path = folder / f"{name}.parquet"
            write_images(path, test_digits, thresholds=thresholds)
            workspace.add_test_set(name, path, classes="digits", columns=Columns(groups=("ink",)))


def _train_classifiers(workspace: Workspace, inputs: dict[str, FloatArray], training: Digits, log: Log) -> None:
    untrained = classifiers()
    for number, (name, classifier) in enumerate(untrained.items(), start=1):
        missing = [test_set for test_set in (ORIGINAL, NEW) if name not in workspace.models(test_set)]
        if missing:
            log(f"training {name} ({number} of {len(untrained)})")
            classifier.fit(inputs[TRAINED_ON], training.labels)
        for test_set in missing:
            workspace.add_predictions(name, classifier.predict_proba(inputs[test_set]), test_set=test_set)


def _train_small_network(workspace: Workspace, inputs: dict[str, FloatArray], training: Digits, log: Log) -> None:
    missing = {name: inputs[name] for name in (ORIGINAL, NEW) if ENSEMBLE not in workspace.ensembles(name)}
    if not missing:
        return
    log(f"training a small network {SEEDS} times, {EPOCHS} epochs each")
    trainings = [
        list(small_network_epochs(inputs[TRAINED_ON], training.labels, missing, seed=seed)) for seed in range(SEEDS)
    ]
    for name in missing:
        scores = np.array([[epoch[name] for epoch in epochs] for epochs in trainings])
        workspace.add_checkpoints(ENSEMBLE, scores, test_set=name, kind="probabilities")


def _keep_hard_set(workspace: Workspace, log: Log) -> None:
    if HARD not in workspace.test_sets:
        log("choosing the digits that confuse it most")
        workspace.keep_hard_set(workspace.study.confusion(ORIGINAL, ensembles=[ENSEMBLE]), HARD)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit numeric libraries to one thread, which is faster for such small inputs."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        raise MissingExtra("the demo", "demo") from None
    with threadpool_limits(1):
        yield
