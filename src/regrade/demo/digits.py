"""Eight scikit-learn classifiers on the handwritten digits that ship with scikit-learn."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import MissingExtra
from regrade.core.arrays import FloatArray, IntArray
from regrade.studies import Comparison, Grade
from regrade.workspace import Workspace, init
from regrade.workspace import open as open_workspace

TEST_SET = "digits"


@dataclass(frozen=True)
class Demo:
    """What the demonstration found."""

    grade: Grade
    comparison: Comparison


@dataclass(frozen=True)
class _Split:
    """Half of the digits to train on, half to test on, by a fixed seed."""

    train: FloatArray
    train_labels: IntArray
    test: FloatArray
    test_labels: IntArray
    test_ids: tuple[str, ...]


def run_demo(folder: Path, *, tell: Callable[[str], None]) -> Demo:
    """Train, predict, grade and compare; what an earlier run has stored in the folder is used again."""
    split = _split()
    workspace = open_workspace(folder) if (folder / "regrade.toml").exists() else init(folder)
    _add_test_set(workspace, split)
    classifiers = _classifiers()
    done = workspace.models(TEST_SET)
    for number, (name, classifier) in enumerate(classifiers.items(), start=1):
        if name in done:
            continue
        tell(f"[{number}/{len(classifiers)}] training {name}")
        classifier.fit(split.train, split.train_labels)
        workspace.add_predictions(name, classifier.predict_proba(split.test), test_set=TEST_SET)
    return Demo(workspace.grade(TEST_SET), workspace.compare(test_set=TEST_SET))


def _split() -> _Split:
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        raise MissingExtra("the demonstration", "demo") from None
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    train, test = order[: len(order) // 2], np.sort(order[len(order) // 2 :])
    pictures = digits.data / 16.0
    ids = tuple(f"uci-{i:04d}" for i in test)
    return _Split(pictures[train], digits.target[train], pictures[test], digits.target[test], ids)


def _add_test_set(workspace: Workspace, split: _Split) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.csv"
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["image", "label"])
            rows.writerows(zip(split.test_ids, split.test_labels, strict=True))
        workspace.add_test_set(TEST_SET, path, classes="digits")


def _classifiers() -> dict[str, Any]:
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
        "nearest neighbours": KNeighborsClassifier(3),
        "random forest": RandomForestClassifier(200, random_state=0),
        "support vectors": CalibratedClassifierCV(SVC(), ensemble=False),
        "neural network": MLPClassifier((128,), max_iter=400, random_state=0),
    }
