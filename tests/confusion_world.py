"""Synthetic data for the confusion study: images of varying hardness, checkpoints of an ensemble, and models."""

from dataclasses import dataclass

import numpy as np

from regrade.core import Checkpoints, ClassSpace, Predictions, ScoreKind, TestSet, checkpoints_of
from regrade.metrics import top_k_classes
from regrade.studies import Scoring

CLASSES = 8
SPACE = ClassSpace("eight", tuple(f"class {i}" for i in range(CLASSES)))


@dataclass(frozen=True)
class World:
    """A test set with a hardness per image (n,); a model is mostly right if its skill exceeds the hardness."""

    test_set: TestSet
    hardness: np.ndarray

    @property
    def scoring(self) -> Scoring:
        return Scoring(self.test_set)

    def logits(self, skill: float, rng: np.random.Generator) -> np.ndarray:
        n = len(self.hardness)
        logits = rng.normal(size=(n, CLASSES))
        logits[np.arange(n), self.test_set.labels] += np.maximum(skill - 1.5 * self.hardness, -0.5)
        return logits

    def model(self, name: str, skill: float, rng: np.random.Generator, *, scores: bool = False) -> Predictions:
        logits = self.logits(skill, rng)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities = odds / odds.sum(axis=1, keepdims=True)
        kept = {"full_scores": probabilities, "score_kind": ScoreKind.PROBABILITIES} if scores else {}
        return Predictions(name, self.test_set.name, SPACE.name, top_k_classes(logits, k=1), **kept)

    def ensemble(
        self, rng: np.random.Generator, *, seeds: int = 2, epochs: int = 6, name: str = "E", skill: float = 3.0
    ) -> Checkpoints:
        growth = np.linspace(0, 1.5, epochs) if epochs > 1 else np.array([1.5])
        logits = [[grown * self.logits(skill, rng) for grown in growth] for _ in range(seeds)]
        return checkpoints_of(
            logits, kind=ScoreKind.LOGITS, ensemble=name, test_set=self.test_set.name, class_space=SPACE.name
        )


def world(images: int, rng: np.random.Generator, *, name: str = "images", shift: float = 0.0) -> World:
    """Return images with normally distributed hardness around ``shift``."""
    labels = rng.integers(CLASSES, size=images)
    test_set = TestSet(name, SPACE, tuple(f"{name} {i}" for i in range(images)), labels)
    return World(test_set, rng.normal(shift, 1, images))
