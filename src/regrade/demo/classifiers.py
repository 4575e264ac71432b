"""The classifiers of the demo: eight of scikit-learn, and a small network with its scores for each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from regrade.core.arrays import FloatArray, IntArray

SEEDS, EPOCHS = 3, 20
"""How many times the small network is trained, and the epochs of each training."""


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
