"""Seconds and peak memory for 1,000 models on 50,000 images: no rival, but the aim is that it just works."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import command
from benchmarks.result import Result
from benchmarks.synthetic import IMAGES, MODELS, correct_matrix, correctness
from regrade.cli.output import Form, show
from regrade.core import ClassSpace, Predictions, TestSet
from regrade.studies import (
    Basis,
    Comparison,
    Scoring,
    Similarity,
    compare_correctness,
    grade,
    scoring_for,
    similarity,
)

_CLASSES = 1_000


def run() -> Iterator[Result]:
    """Each in a process of its own, whose peak memory is its own; the start and the made-up data are counted in."""
    for case, work in (
        ("grade, one model after another", "grade_models"),
        ("only the made-up data of compare", "correct_matrix"),
        ("compare all pairs", "compare_models"),
        ("compare all pairs and print JSON", "compare_as_json"),
        ("similarity of all pairs", "liken_models"),
        ("similarity of all pairs and print JSON", "liken_as_json"),
    ):
        done = command([sys.executable, "-c", f"from benchmarks.many_models import {work}; {work}()"])
        yield Result("many_models", case, "s", done.seconds)
        yield Result("many_models", f"{case}, peak memory", "GB", done.gigabytes)


def grade_models() -> None:
    """Grade models that are made up as they are asked for."""
    test_set, scored = scored_models()
    grade(test_set, scored)


def liken_models() -> Similarity:
    """How alike they are, with what they answer."""
    test_set, scored = scored_models()
    return similarity(test_set, scored)


def scored_models() -> tuple[TestSet, Iterator[tuple[Predictions, Scoring]]]:
    rng = np.random.default_rng(0)
    space = ClassSpace("synthetic", tuple(f"class {i}" for i in range(_CLASSES)))
    labels = rng.integers(_CLASSES, size=IMAGES)
    test_set = TestSet("synthetic", space, tuple(f"image {i}" for i in range(IMAGES)), labels)
    scoring = scoring_for(test_set, space)
    return test_set, ((predictions, scoring) for predictions in made_up(labels, rng))


def made_up(labels: np.ndarray, rng: np.random.Generator) -> Iterator[Predictions]:
    """Five classes an image, the label first where the model is right and second where it is not."""
    others = (labels[:, None] + np.arange(5)) % _CLASSES
    for i, right in enumerate(correctness(MODELS, IMAGES, rng)):
        classes = others.copy()
        classes[~right, :2] = others[~right, 1::-1]
        yield Predictions(f"model {i}", "synthetic", "synthetic", classes)


def compare_models() -> Comparison:
    names = tuple(f"model {i}" for i in range(MODELS))
    return compare_correctness(names, correct_matrix(), basis=Basis("synthetic", IMAGES))


def compare_as_json() -> None:
    """As `regrade compare --all --json` prints it."""
    print_json(compare_models())


def liken_as_json() -> None:
    """As `regrade study similarity --json` prints it."""
    print_json(liken_models())


def print_json(result: Comparison | Similarity) -> None:
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        show(result.table(), result.as_dict(), Form.JSON)
