"""The demonstration from end to end: train on MNIST's digits, grade there and on UCI's, and tell what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from regrade.core import MissingExtra
from regrade.core.arrays import FloatArray
from regrade.demo.classifiers import EPOCHS, SEEDS, classifiers, epochs_of_a_small_network
from regrade.demo.digits import Digits, halves, mnist, uci
from regrade.demo.image_table import ink_cuts, write_images
from regrade.tables import Columns
from regrade.workspace import ProgressCallback, Workspace, WrittenReport, init
from regrade.workspace import open as open_workspace

ORIGINAL, NEW, TRAINED_ON = "mnist", "uci-digits", "mnist-train"
"""The test sets: digits held out from those trained on, digits collected anew, and those trained on."""

HARD = "mnist-hard"
"""The digits held out that confuse the small network most while it is trained, by its scores alone."""

ENSEMBLE = "small network"
"""The network whose confusion is watched from epoch to epoch."""

LABELS = "own"
"""The label set of the digits collected anew, for people to judge what classifiers say instead."""

_LOOKED_AT = 32  # pixels along each side at which digits are compared: they have no more

Tell = Callable[[str], None]


def run_demo(folder: Path, *, tell: Tell, watch: ProgressCallback = iter) -> WrittenReport:
    """Train, predict, study and report; what an earlier run has stored in the folder is used again.

    ``tell`` is told what is being done, and ``watch`` goes along with the chapters of the report.
    """
    workspace = open_workspace(folder) if (folder / "regrade.toml").exists() else init(folder)
    training, held_out = halves(mnist())
    digits = {TRAINED_ON: training, ORIGINAL: held_out, NEW: uci()}
    inputs = {name: found.inputs() for name, found in digits.items()}
    _add_test_sets(workspace, digits, folder / "digits", cuts=ink_cuts(inputs[TRAINED_ON]))
    with _one_thread():
        _train_classifiers(workspace, inputs, training, tell)
        _train_small_network(workspace, inputs, training, tell)
    _keep_hard_set(workspace, tell)
    workspace.create_labels(NEW, name=LABELS)
    tell("looking for digits of the test sets among those trained on")
    for name in (ORIGINAL, NEW):
        workspace.leakage(name, against=TRAINED_ON, by=["exact", "pixels"], size=_LOOKED_AT)
    tell("writing the report")
    return workspace.report(
        "demo",
        original=ORIGINAL,
        title="Eight classifiers of handwritten digits, graded twice",
        force=True,
        watch=watch,
    )


def _add_test_sets(workspace: Workspace, digits: dict[str, Digits], folder: Path, *, cuts: FloatArray) -> None:
    for name, found in digits.items():
        if name not in workspace.test_sets:
            path = folder / f"{name}.parquet"
            write_images(path, found, cuts=cuts)
            workspace.add_test_set(name, path, classes="digits", columns=Columns(groups=("ink",)))


def _train_classifiers(workspace: Workspace, inputs: dict[str, FloatArray], training: Digits, tell: Tell) -> None:
    untrained = classifiers()
    for number, (name, classifier) in enumerate(untrained.items(), start=1):
        missing = [test_set for test_set in (ORIGINAL, NEW) if name not in workspace.models(test_set)]
        if missing:
            tell(f"training {name} ({number} of {len(untrained)})")
            classifier.fit(inputs[TRAINED_ON], training.labels)
        for test_set in missing:
            workspace.add_predictions(name, classifier.predict_proba(inputs[test_set]), test_set=test_set)


def _train_small_network(workspace: Workspace, inputs: dict[str, FloatArray], training: Digits, tell: Tell) -> None:
    others = {name: inputs[name] for name in (ORIGINAL, NEW) if ENSEMBLE not in workspace.ensembles(name)}
    if not others:
        return
    tell(f"training a small network {SEEDS} times, {EPOCHS} epochs each")
    trainings = [
        list(epochs_of_a_small_network(inputs[TRAINED_ON], training.labels, others, seed=seed)) for seed in range(SEEDS)
    ]
    for name in others:
        scores = np.array([[epoch[name] for epoch in epochs] for epochs in trainings])
        workspace.add_checkpoints(ENSEMBLE, scores, test_set=name, kind="probabilities")


def _keep_hard_set(workspace: Workspace, tell: Tell) -> None:
    if HARD not in workspace.test_sets:
        tell("choosing the digits that confuse it most")
        workspace.keep_hard_set(workspace.confusion(ORIGINAL, ensembles=[ENSEMBLE]), HARD)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Digits are so small that threads wait for each other more than they work."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        raise MissingExtra("the demonstration", "demo") from None
    with threadpool_limits(1):
        yield
