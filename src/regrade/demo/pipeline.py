"""The demo from end to end: train on MNIST digits, grade on MNIST and UCI digits, and write a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import MissingExtra
from regrade.core.arrays import FloatArray, IntArray
from regrade.demo.digits import Digits, halves, ink_thresholds, mnist, uci, write_images
from regrade.studies import ProgressCallback
from regrade.tables import Columns
from regrade.workspace import Workspace, WrittenReport, init
from regrade.workspace import open as open_workspace

ORIGINAL, NEW, TRAINED_ON = "mnist", "uci-digits", "mnist-train"
"""The test sets: held-out MNIST digits, newly collected UCI digits, and the training digits."""

HARD = "mnist-hard"
"""The held-out digits that confuse the small network most during training, by its scores alone."""

ENSEMBLE = "small network"
"""The ensemble of small networks whose scores are stored for each epoch."""

LABELS = "own"
"""The label set of the UCI digits, for people to judge the classifiers' novel predictions."""

QUEUE = "uci-digits novel predictions"
"""The review queue: a random sample of predictions that no one has judged yet."""

_QUEUE_SIZE = 40
_SIGNATURE_SIZE = 32  # side in pixels at which digits are compared

Log = Callable[[str], None]
SEEDS, EPOCHS = 3, 20
"""How many times the small network is trained, and the epochs of each training."""


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
    workspace.labels.create(NEW, name=LABELS)
    _open_review(workspace, log)
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
        if name not in workspace.testsets.names():
            path = folder / f"{name}.parquet"
            write_images(path, test_digits, thresholds=thresholds)
            workspace.testsets.add(name, path, classes="digits", columns=Columns(groups=("ink",)))


def _train_classifiers(workspace: Workspace, inputs: dict[str, FloatArray], training: Digits, log: Log) -> None:
    untrained = classifiers()
    for number, (name, classifier) in enumerate(untrained.items(), start=1):
        missing = [test_set for test_set in (ORIGINAL, NEW) if name not in workspace.models.names(test_set)]
        if missing:
            log(f"training {name} ({number} of {len(untrained)})")
            classifier.fit(inputs[TRAINED_ON], training.labels)
        for test_set in missing:
            workspace.models.add_predictions(name, classifier.predict_proba(inputs[test_set]), test_set=test_set)


def _train_small_network(workspace: Workspace, inputs: dict[str, FloatArray], training: Digits, log: Log) -> None:
    missing = {name: inputs[name] for name in (ORIGINAL, NEW) if ENSEMBLE not in workspace.models.ensembles(name)}
    if not missing:
        return
    log(f"training a small network {SEEDS} times, {EPOCHS} epochs each")
    trainings = [
        list(small_network_epochs(inputs[TRAINED_ON], training.labels, missing, seed=seed)) for seed in range(SEEDS)
    ]
    for name in missing:
        scores = np.array([[epoch[name] for epoch in epochs] for epochs in trainings])
        workspace.models.add_checkpoints(ENSEMBLE, scores, test_set=name, kind="probabilities")


def _keep_hard_set(workspace: Workspace, log: Log) -> None:
    if HARD not in workspace.testsets.names():
        log("choosing the digits that confuse it most")
        workspace.testsets.keep_hard_set(workspace.study.confusion(ORIGINAL, ensembles=[ENSEMBLE]), HARD)


def _open_review(workspace: Workspace, log: Log) -> None:
    """Put predictions into a review queue, so that the app has something to judge; a second run changes nothing."""
    if QUEUE not in {queue.name for queue in workspace.review.ledger.queues.all()}:
        log(f"opening a review of {_QUEUE_SIZE} predictions")
        workspace.review.queue_novel(NEW, labels=LABELS, size=_QUEUE_SIZE, name=QUEUE)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit numeric libraries to one thread, which is faster for such small inputs."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        raise MissingExtra("the demo", "demo") from None
    with threadpool_limits(1):
        yield


def classifiers() -> dict[str, Any]:
    """Eight classifiers by name, from simple to good."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "naive Bayes": GaussianNB(var_smoothing=1e-2),
        "decision tree": DecisionTreeClassifier(random_state=0),
        "linear discriminant": LinearDiscriminantAnalysis(shrinkage="auto", solver="lsqr"),
        "logistic regression": LogisticRegression(max_iter=1000),
        "nearest neighbors": KNeighborsClassifier(3),
        "random forest": RandomForestClassifier(200, random_state=0),
        "support vectors": CalibratedClassifierCV(SVC(), ensemble=False),
        "neural network": MLPClassifier((128,), max_iter=400, random_state=0),
    }


def small_network_epochs(
    inputs: FloatArray, labels: IntArray, evaluation_inputs: dict[str, FloatArray], *, seed: int
) -> Iterator[dict[str, FloatArray]]:
    """Train a network of 32 hidden units, and yield its probabilities on the evaluation digits for each epoch.

    The first are those of a nearly untrained network, after a single batch, which the confusion score requires.
    """
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier((32,), learning_rate_init=0.005, random_state=seed)
    batch = slice(0, 10)
    network.partial_fit(inputs[batch], labels[batch], classes=np.arange(10))
    for epoch in range(EPOCHS):
        if epoch:
            network.partial_fit(inputs, labels)
        yield {name: network.predict_proba(images) for name, images in evaluation_inputs.items()}
