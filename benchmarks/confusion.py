"""The confusion score compared with scipy.stats.entropy of mean softmaxes and with memory bandwidth."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from scipy import special, stats

from benchmarks.measure import command, seconds
from benchmarks.result import Result, verify
from regrade.core import Checkpoints, ScoreKind, checkpoints_of
from regrade.metrics import confusion_entropies, confusion_score, training_scores
from regrade.stats import kendall

_SEEDS, _EPOCHS, _IMAGES, _CLASSES = 3, 100, 50_000, 1_000
_SHARE = 5  # a fifth of the images, and two epochs, for the comparison with the baseline
_TRAINING_IMAGES = 1_281_167
_PLAIN = 1 << 29  # bytes copied and read to measure memory bandwidth


def run() -> Iterator[Result]:
    scores = [[simulated_logits(_IMAGES // _SHARE, seed) for _ in range(2)] for seed in range(_SEEDS)]
    checkpoints = checkpoints_of(scores, kind=ScoreKind.LOGITS)
    agree = np.abs(confusion_score(checkpoints) - by_scipy(scores)).max() < 1e-4
    verify(bool(agree), "scores are those of scipy.stats.entropy to 1e-4 bits")
    plain = np.ones(_PLAIN // 4, dtype=np.float32)
    copy = np.empty_like(plain)
    labels = np.random.default_rng(0).integers(_CLASSES, size=_IMAGES // _SHARE)
    ours, with_members, with_rivals, scipy_time, copying, reading = seconds(
        lambda: confusion_score(checkpoints),
        lambda: confusion_entropies(checkpoints),
        lambda: training_scores(checkpoints, labels),
        lambda: by_scipy(scores),
        lambda: on_all_cores(lambda part: np.copyto(copy[part], plain[part]), len(plain)),
        lambda: on_all_cores(lambda part: plain[part] @ plain[part], len(plain)),
        rounds=3,
    )
    case = f"{_SEEDS} seeds x 2 epochs x {_IMAGES // _SHARE:,} x {_CLASSES:,}"
    baseline = "scipy.stats.entropy of mean softmaxes"
    yield Result("confusion", case, "s", ours, scipy_time, baseline, aim_ratio=5)
    yield Result("confusion", f"{case}, with each seed alone", "s", with_members, scipy_time, baseline)
    yield Result("confusion", f"{case}, with EL2N, AUM and all rivals", "s", with_rivals, scipy_time, baseline)
    gigabytes = 2 * _SEEDS * 2 * (_IMAGES // _SHARE) * _CLASSES / 1e9
    unit = "s a GB of scores"
    plain_gigabytes = _PLAIN / 1e9
    yield Result(
        "confusion", "speed of memory", unit, ours / gigabytes, copying / plain_gigabytes, "plain copy", aim_ratio=0.3
    )
    yield Result("confusion", "speed of memory", unit, ours / gigabytes, reading / plain_gigabytes, "plain read")
    yield from whole_size()
    yield from ranks()


def whole_size() -> Iterator[Result]:
    """The size of the paper in a new process; all epochs of a seed are the same file, so that 0.3 GB suffice."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(_SEEDS):
            np.save(Path(folder) / f"{seed}.npy", simulated_logits(_IMAGES, seed))
        done = command([sys.executable, "-c", f"from benchmarks.confusion import score_files; score_files({folder!r})"])
    case = f"{_SEEDS} seeds x {_EPOCHS} epochs x {_IMAGES:,} x {_CLASSES:,} in files"
    yield Result("confusion", case, "s", done.seconds)
    yield Result("confusion", f"{case}, peak memory", "GB", done.gigabytes, aim_most=2)


def ranks() -> Iterator[Result]:
    """Kendall's tau of two scores on as many images as ImageNet's training set."""
    rng = np.random.default_rng(0)
    first = rng.random(_TRAINING_IMAGES)
    second = first + rng.random(_TRAINING_IMAGES)
    (taken,) = seconds(lambda: kendall(first, second), rounds=1)
    yield Result("confusion", f"Kendall's tau of {_TRAINING_IMAGES:,} images", "s", taken)


def score_files(folder: str) -> None:
    """Score checkpoints that are memory-mapped files."""

    def read(member: int, _epoch: int) -> np.ndarray:
        return np.load(Path(folder) / f"{member}.npy", mmap_mode="r")

    members, epochs = tuple("012"), tuple(range(_EPOCHS))
    confusion_score(Checkpoints("made up", "", "", ScoreKind.LOGITS, members, epochs, _IMAGES, _CLASSES, read))


def simulated_logits(images: int, seed: int) -> np.ndarray:
    """Simulated logits in half precision, for images of different certainty."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((images, _CLASSES), dtype=np.float32) * rng.uniform(0.2, 4, (images, 1))).astype(
        np.float16
    )


def by_scipy(scores: list[list[np.ndarray]]) -> np.ndarray:
    """Plain implementation: softmax of every seed, their mean, its entropy, and the mean over epochs."""
    entropies = []
    for epoch in range(len(scores[0])):
        mean = np.mean([special.softmax(seed[epoch].astype(np.float32), axis=1) for seed in scores], axis=0)
        entropies.append(stats.entropy(mean, base=2, axis=1))
    return np.mean(entropies, axis=0)


def on_all_cores(work: Callable[[slice], object], size: int) -> None:
    """Run the work on all cores."""
    cores = os.cpu_count() or 1
    parts = [slice(size * i // cores, size * (i + 1) // cores) for i in range(cores)]
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, parts))
