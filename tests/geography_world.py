"""Synthetic data with known accuracies: regions of unequal difficulty, households, and models of increasing skill."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from regrade.core import ClassSpace, Predictions, TestSet
from regrade.studies import ModelCounts, Scoring, SetCounts

REGIONS = ("Africa", "Americas", "EastAsia", "Europe", "SouthEastAsia", "WestAsia")
SPACE = ClassSpace("things", tuple(f"c{i}" for i in range(10)), tuple(f"thing {i}" for i in range(10)))


@dataclass(frozen=True)
class World:
    """Models with these skills in regions with these difficulties; ``gains`` is the effect of skill per region."""

    sizes: tuple[int, ...] = (400, 380, 350, 420, 300, 310)
    difficulty: tuple[float, ...] = (0.5, 0.1, 0.2, -0.1, 0.15, 0.3)
    gains: tuple[float, ...] = (0.6, 0.9, 0.8, 1.0, 0.8, 0.7)
    skills: tuple[float, ...] = tuple(np.linspace(-0.2, 1.6, 12))
    household: int = 4
    regions: tuple[str, ...] = REGIONS

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(f"model-{i:02}" for i in range(len(self.skills)))

    def truth(self, model: int) -> np.ndarray:
        """Shape (g,): the true accuracies of a model."""
        return special.ndtr(self.skills[model] * np.array(self.gains) - np.array(self.difficulty))

    def test_set(self, name: str = "geode") -> TestSet:
        region = np.repeat(np.arange(len(self.sizes)), self.sizes)
        size = len(region)
        homes = [f"{self.regions[place]}-{i // self.household}" for i, place in enumerate(region)]
        incomes = np.exp(special.ndtri((np.arange(size) * 7919 % size + 0.5) / size) + 6)
        columns = {
            "region": tuple(self.regions[place] for place in region),
            "household": tuple(homes),
            "income": tuple(f"{income:.2f}" for income in incomes),
            "constant": ("same",) * size,
        }
        ids = tuple(f"{place:05}.jpg" for place in range(size))
        return TestSet(name, SPACE, ids, np.arange(size) % len(SPACE), columns)

    def correct(self, rng: np.random.Generator, *, shared: float = 0.5, home: float = 0.3) -> np.ndarray:
        """Shape (m, n): correctness; hardness is partly shared by all models and partly by households."""
        region = np.repeat(np.arange(len(self.sizes)), self.sizes)
        homes = np.concatenate([np.arange(size) // self.household + 10_000 * i for i, size in enumerate(self.sizes)])
        _, homes = np.unique(homes, return_inverse=True)
        common = np.sqrt(home) * rng.normal(size=homes.max() + 1)[homes] + np.sqrt(1 - home) * rng.normal(
            size=len(region)
        )
        noise = rng.normal(size=(len(self.skills), len(region)))
        hardness = np.sqrt(shared) * common + np.sqrt(1 - shared) * noise
        thresholds = special.ndtri(np.stack([self.truth(i) for i in range(len(self.skills))]))
        return hardness < thresholds[:, region]

    def predictions(self, test_set: TestSet, correct: np.ndarray) -> list[tuple[Predictions, Scoring]]:
        """Predictions with this correctness; the second class is right where the first is wrong."""
        scoring, labels = Scoring(test_set), test_set.labels
        scored = []
        for model, right in zip(self.models, correct, strict=True):
            first = np.where(right, labels, (labels + 1) % len(SPACE))
            second = np.where(right, (labels + 1) % len(SPACE), labels)
            classes = np.stack([first, second], axis=1)
            scored.append((Predictions(model, test_set.name, SPACE.name, classes), scoring))
        return scored

    def counts(self, name: str, slope: float, offset: float, images: int = 50_000) -> SetCounts:
        """Counts on another set, with accuracies linear in `original_accuracy`."""
        accuracies = offset + slope * self.original_accuracy
        return SetCounts(
            name,
            {
                model: ModelCounts(round(images * accuracy), images)
                for model, accuracy in zip(self.models, accuracies, strict=True)
            },
        )

    @property
    def original_accuracy(self) -> np.ndarray:
        return special.ndtr(np.array(self.skills) * 0.6 + 0.1)
