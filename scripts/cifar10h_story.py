"""What the choice of a sampling strategy does to accuracy: the story of ImageNetV2 in miniature, on CIFAR-10.

Half of the 10,000 CIFAR-10 test images are the reference set, the other half the pool. The people of CIFAR-10H are the
crowd: about 51 of them named the class of every image, and naming its label counts as selecting the image. Sets are
drawn from the pool by each strategy, and 30 published models are graded on them. Then the pool is made harder, the
answers fewer, and matched sets are drawn with and without the correction for selection noise.

    python scripts/cifar10h_story.py ../shared/data
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from regrade.build.eligibility import Candidate, Eligibility
from regrade.build.samplers import DrawOptions, Sample, matched_frequency, threshold, top
from regrade.build.selection_noise import debiased, selection_bias
from regrade.build.target_sampler import matched_mean
from regrade.core.arrays import FloatArray, IntArray

PER_CLASS = 60
EDGES = (0.2, 0.4, 0.6, 0.8, 0.9, 0.97)
"""Most images of CIFAR-10 are selected by nearly everyone, so the highest bin of Recht et al. is divided further."""
HARD = 0.9
"""In the harder pool all images below this frequency stay, and `EASY_KEPT` of the others."""
EASY_KEPT = 0.25
WORKERS = (None, 20, 10, 5, 3)
"""Answers per image that are used; None: all."""


@dataclass(frozen=True, eq=False)
class Cifar10h:
    """Per test image: its label, how many people named it, of how many, and the share of models that are right."""

    labels: IntArray
    selected: IntArray
    answers: IntArray
    accuracy: FloatArray

    @classmethod
    def read(cls, folder: Path) -> Cifar10h:
        """Read the published files."""
        counts = pq.read_table(folder / "cifar10" / "human-counts.parquet").drop_columns(["index"])
        table = np.stack([column.to_numpy() for column in counts.columns], axis=1).astype(np.int64)
        labels = pq.read_table(folder / "cifar10" / "test.parquet", columns=["label"])["label"].to_numpy()
        predicted = pq.read_table(folder / "recht2019" / "cifar10.test.top1.parquet").drop_columns(["index", "label"])
        right = [column.to_numpy() == labels for column in predicted.columns]
        labels = labels.astype(np.int64)
        selected = table[np.arange(len(table)), labels]
        return cls(labels, selected, table.sum(axis=1), np.mean(right, axis=0))

    def images(self, chosen: IntArray, workers: int | None, generator: np.random.Generator) -> list[Candidate]:
        """Images with the answers of some people, drawn without replacement."""
        selected, answers = self.selected[chosen], self.answers[chosen]
        if workers is not None:
            selected = generator.hypergeometric(selected, answers - selected, workers)
            answers = np.full(len(chosen), workers)
        rows = zip(chosen.tolist(), self.labels[chosen].tolist(), selected.tolist(), answers.tolist(), strict=True)
        return [Candidate(str(i), str(label), count / of, of) for i, label, count, of in rows]

    def accuracy_of(self, images: Sequence[str]) -> float:
        """The mean accuracy of the models on some images."""
        return float(self.accuracy[np.array(images, dtype=np.int64)].mean())


@dataclass(frozen=True)
class Strategies:
    """Accuracies on the reference set and on the sets drawn by each strategy."""

    reference: float
    matched: float
    threshold: float
    top: float
    lowest: float


@dataclass(frozen=True)
class NoiseRow:
    """With so many answers per image: changes of accuracy, and the change of frequency that is estimated.

    ``unreachable`` is the number of classes in which no images have the mean frequency of the reference images.
    """

    workers: int | None
    naive: float
    corrected: float
    estimated_frequency_change: float
    true_frequency_change: float
    unreachable: int


def strategies(data: Cifar10h, seed: int) -> Strategies:
    """Draw a set by each strategy from half of the images, with all answers."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(data.labels))
    reference, pool = np.sort(order[:5000]), np.sort(order[5000:])
    references, candidates = (data.images(part, None, generator) for part in (reference, pool))
    options = _options(seed)
    lowest = sorted(candidates, key=lambda candidate: candidate.frequency)[: PER_CLASS * 10]
    return Strategies(
        data.accuracy_of([image.image for image in references]),
        _accuracy(data, matched_frequency(candidates, references, options)),
        _accuracy(data, threshold(candidates, options)),
        _accuracy(data, top(candidates, options)),
        data.accuracy_of([image.image for image in lowest]),
    )


def noise(data: Cifar10h, workers: int | None, seed: int) -> NoiseRow:
    """Draw matched sets from a harder pool with so many answers per image."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(data.labels))
    reference, pool = np.sort(order[:5000]), np.sort(order[5000:])
    frequency = data.selected / data.answers
    pool = pool[(frequency[pool] < HARD) | (generator.random(len(pool)) < EASY_KEPT)]
    references, candidates = (data.images(part, workers, generator) for part in (reference, pool))
    options = _options(seed)
    naive = matched_frequency(candidates, references, options, edges=EDGES)
    corrected = matched_mean(debiased(candidates), references, options)
    by_name = {candidate.image: candidate for candidate in candidates}
    drawn = [by_name[image] for image, _ in naive.examples]
    intended = data.accuracy_of([image.image for image in references])
    positions = np.array([int(image.image) for image in drawn])
    return NoiseRow(
        workers,
        _accuracy(data, naive) - intended,
        _accuracy(data, corrected) - intended,
        selection_bias(drawn, candidates, references, draws=2).value,
        float(frequency[positions].mean() - frequency[reference].mean()),
        sum(bool(of_class.problems) for of_class in corrected.classes),
    )


def _options(seed: int) -> DrawOptions:
    return DrawOptions(PER_CLASS, seed, Eligibility(min_assignments=1))


def _accuracy(data: Cifar10h, sample: Sample) -> float:
    return data.accuracy_of([image for image, _ in sample.examples])


def main(folder: Path, repetitions: int = 10) -> None:
    """Print both tables."""
    data = Cifar10h.read(folder)
    drawn = [strategies(data, seed) for seed in range(repetitions)]
    print(f"mean accuracy of 30 models (%), mean of {repetitions} splits")
    for name in Strategies.__dataclass_fields__:
        print(f"  {name:10} {100 * np.mean([getattr(row, name) for row in drawn]):6.1f}")
    print("\nmatched sets from a harder pool: change of accuracy (points), mean and standard error")
    print("  answers    naive         corrected     frequency: estimated, true; unreachable classes")
    for workers in WORKERS:
        rows = [noise(data, workers, seed) for seed in range(repetitions)]
        cells = [
            f"{100 * np.mean(values):6.2f} ± {100 * np.std(values, ddof=1) / np.sqrt(repetitions):.2f}"
            for values in ([row.naive for row in rows], [row.corrected for row in rows])
        ]
        estimated, true = (
            100 * np.mean([getattr(row, name) for row in rows])
            for name in ("estimated_frequency_change", "true_frequency_change")
        )
        unreachable = np.mean([row.unreachable for row in rows])
        print(f"  {workers or 'all':>7} {'  '.join(cells)}   {estimated:6.2f}  {true:6.2f}  {unreachable:4.1f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
