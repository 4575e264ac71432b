"""The demo from end to end: train on MNIST digits, grade on MNIST and UCI digits, and write a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import MissingExtra
from regrade.core.arrays import FloatArray, IntArray
from regrade.demo.digits import Digits, halves, mnist, uci, write_images
from regrade.studies import ProgressCallback
from regrade.workspace import Workspace, WrittenReport, init
from regrade.workspace import open as open_workspace

ORIGINAL, NEW, TRAINED_ON = "mnist", "uci-digits", "mnist-train"
"""The test sets: held-out MNIST digits, newly collected UCI digits, and the training digits."""

HARD = "mnist-hard"
"""The held-out digits that confuse the small network most during training, by its scores alone."""

NEW_HALF = "uci-half"
"""The half of the UCI digits that no network of the remedy is trained on."""

SMALL, WIDE = "small network", "wide network"
"""Ensembles of networks whose scores are stored for each epoch, by the number of their hidden units."""

HIDDEN_UNITS = {SMALL: 32, WIDE: 256}
"""Hidden units of the networks of each ensemble."""

BASELINE, REMEDY = "mnist only", "mnist and half of uci"
"""Small networks of other seeds, trained without and with UCI digits: does more varied data help?"""

LABELS = "own"
"""The label set of the UCI digits, for people to judge the classifiers' novel predictions."""

QUEUE = "uci-digits novel predictions"
"""The review queue: a random sample of predictions that no one has judged yet."""

_QUEUE_SIZE = 40
_SIGNATURE_SIZE = 32  # side in pixels at which digits are compared

Log = Callable[[str], None]
SEEDS, EPOCHS = 3, 20
"""How many networks an ensemble has, and the epochs of each training."""

REMEDY_SEEDS = range(SEEDS, SEEDS + 5)
"""Seeds of the baseline and of the remedy: none of a network that chose the hard digits."""


def run_demo(folder: Path, *, log: Log, progress: ProgressCallback = iter) -> WrittenReport:
    """Train, predict, study and report; results of an earlier run in the folder are reused.

    ``log`` receives a line per step, and ``progress`` iterates over the chapters of the report.
    """
    workspace = open_workspace(folder) if (folder / "regrade.toml").exists() else init(folder)
    training, held_out = halves(mnist())
    digits = {TRAINED_ON: training, ORIGINAL: held_out, NEW: uci()}
    added, new_half = halves(digits[NEW])
    inputs = {name: test_digits.inputs() for name, test_digits in digits.items()}
    _add_test_sets(workspace, {**digits, NEW_HALF: new_half}, folder / "digits")
    with _one_thread():
        _train_classifiers(workspace, inputs, training, log)
        for ensemble in (SMALL, WIDE):
            _train_ensemble(workspace, ensemble, inputs, training, log)
        _keep_hard_set(workspace, log)
        hard = digits[ORIGINAL].named(workspace.store.test_set(HARD).ids)
        graded = {NEW_HALF: new_half.inputs(), HARD: hard.inputs()}
        _train_method(workspace, BASELINE, (training,), graded, log)
        _train_method(workspace, REMEDY, (training, added), graded, log)
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
        without=[BASELINE, REMEDY],
        baseline=BASELINE,
        remedies=[REMEDY],
        force=True,
        progress=progress,
    )


def _add_test_sets(workspace: Workspace, digits: dict[str, Digits], folder: Path) -> None:
    for name, test_digits in digits.items():
        if name not in workspace.testsets.names():
            path = folder / f"{name}.parquet"
            write_images(path, test_digits)
            workspace.testsets.add(name, path, classes="digits")


def _train_classifiers(workspace: Workspace, inputs: dict[str, FloatArray], training: Digits, log: Log) -> None:
    untrained = classifiers()
    for number, (name, classifier) in enumerate(untrained.items(), start=1):
        missing = [test_set for test_set in (ORIGINAL, NEW) if name not in workspace.models.names(test_set)]
        if missing:
            log(f"training {name} ({number} of {len(untrained)})")
            classifier.fit(inputs[TRAINED_ON], training.labels)
        for test_set in missing:
            workspace.models.add_predictions(name, classifier.predict_proba(inputs[test_set]), test_set=test_set)


def _train_ensemble(
    workspace: Workspace, ensemble: str, inputs: dict[str, FloatArray], training: Digits, log: Log
) -> None:
    missing = {name: inputs[name] for name in (ORIGINAL, NEW) if ensemble not in workspace.models.ensembles(name)}
    if not missing:
        return
    log(f"training a {ensemble} {SEEDS} times, {EPOCHS} epochs each")
    hidden_units, first = HIDDEN_UNITS[ensemble], inputs[TRAINED_ON]
    trainings = [
        list(network_epochs(first, training.labels, missing, hidden_units=hidden_units, seed=seed))
        for seed in range(SEEDS)
    ]
    for name in missing:
        scores = np.array([[epoch[name] for epoch in epochs] for epochs in trainings])
        workspace.models.add_checkpoints(ensemble, scores, test_set=name, kind="probabilities")


def _keep_hard_set(workspace: Workspace, log: Log) -> None:
    if HARD not in workspace.testsets.names():
        log("choosing the digits that confuse it most")
        workspace.testsets.keep_hard_set(workspace.study.confusion(ORIGINAL, ensembles=[SMALL]), HARD)


def _train_method(
    workspace: Workspace, method: str, training: Sequence[Digits], graded: dict[str, FloatArray], log: Log
) -> None:
    """Train a small network per seed on these digits, and store its predictions after the last epoch."""
    models = {f"{method}/seed-{seed}": seed for seed in REMEDY_SEEDS}
    if all(name in workspace.models.names(test_set) for name in models for test_set in graded):
        return
    log(f"training a {SMALL} {len(models)} times on {method}")
    inputs = np.concatenate([digits.inputs() for digits in training])
    labels = np.concatenate([digits.labels for digits in training])
    for name, seed in models.items():
        *_, last = network_epochs(inputs, labels, graded, hidden_units=HIDDEN_UNITS[SMALL], seed=seed)
        for test_set, probabilities in last.items():
            workspace.models.add_predictions(name, probabilities, test_set=test_set)


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


def network_epochs(
    inputs: FloatArray, labels: IntArray, evaluation_inputs: dict[str, FloatArray], *, hidden_units: int, seed: int
) -> Iterator[dict[str, FloatArray]]:
    """Train a network with one hidden layer, and yield its probabilities on the evaluation digits for each epoch.

    The first are those of a nearly untrained network, after a single batch, which the confusion score requires.
    """
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier((hidden_units,), learning_rate_init=0.005, random_state=seed)
    batch = slice(0, 10)
    network.partial_fit(inputs[batch], labels[batch], classes=np.arange(10))
    for epoch in range(EPOCHS):
        if epoch:
            network.partial_fit(inputs, labels)
        yield {name: network.predict_proba(images) for name, images in evaluation_inputs.items()}
