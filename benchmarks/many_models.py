"""Seconds and peak memory for 1,000 models on 50,000 images; no baseline."""

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
from regrade.classes import class_space, superclasses
from regrade.cli.output import Form, show
from regrade.core import (
    Answerer,
    AnswerTimes,
    ClassSpace,
    LabelSet,
    LabelState,
    Predictions,
    TestSet,
    Unlisted,
)
from regrade.studies import (
    Basis,
    Comparison,
    Mistakes,
    MultilabelScoring,
    People,
    ReviewedLabels,
    Scoring,
    Similarity,
    TriageSources,
    compare_correctness,
    scoring_for,
)
from regrade.studies.grade.analysis import grade
from regrade.studies.mistakes.analysis import mistakes
from regrade.studies.people.analysis import people
from regrade.studies.similarity.analysis import similarity

_CLASSES = 1_000


def run() -> Iterator[Result]:
    """Each study in a new process; times include startup and the simulation of data."""
    for case, work in (
        ("grade, one model after another", "grade_models"),
        ("only the simulated data of compare", "correct_matrix"),
        ("compare all pairs", "compare_models"),
        ("compare all pairs and print JSON", "compare_as_json"),
        ("similarity of all pairs", "similarity_of_models"),
        ("similarity of all pairs and print JSON", "similarity_as_json"),
        ("mistakes against complete labels and print JSON", "mistakes_as_json"),
        ("people, 5 with all models, and print JSON", "people_as_json"),
    ):
        done = command([sys.executable, "-c", f"from benchmarks.many_models import {work}; {work}()"])
        yield Result("many_models", case, "s", done.seconds)
        yield Result("many_models", f"{case}, peak memory", "GB", done.gigabytes, aim_most=4)


def grade_models() -> None:
    """Grade models whose predictions are simulated lazily."""
    test_set, scored = scored_models()
    grade(test_set, scored)


def similarity_of_models() -> Similarity:
    """The similarity of all pairs of models."""
    test_set, scored = scored_models()
    return similarity(test_set, scored)


def scored_models() -> tuple[TestSet, Iterator[tuple[Predictions, Scoring]]]:
    rng = np.random.default_rng(0)
    space = ClassSpace("synthetic", tuple(f"class {i}" for i in range(_CLASSES)))
    labels = rng.integers(_CLASSES, size=IMAGES)
    test_set = TestSet("synthetic", space, tuple(f"image {i}" for i in range(IMAGES)), labels)
    scoring = scoring_for(test_set, space)
    return test_set, ((predictions, scoring) for predictions in simulated_predictions(labels, rng))


def simulated_predictions(labels: np.ndarray, rng: np.random.Generator) -> Iterator[Predictions]:
    """Five classes per image: the label comes first if the model is correct, otherwise second."""
    best_classes = (labels[:, None] + np.arange(5)) % _CLASSES
    for i, right in enumerate(correctness(MODELS, IMAGES, rng)):
        classes = best_classes.copy()
        classes[~right, :2] = best_classes[~right, 1::-1]
        yield Predictions(f"model {i}", "synthetic", "synthetic", classes)


def compare_models() -> Comparison:
    names = tuple(f"model {i}" for i in range(MODELS))
    return compare_correctness(names, correct_matrix(), basis=Basis("synthetic", IMAGES))


def compare_as_json() -> None:
    """Print the JSON of `regrade compare --json`."""
    print_json(compare_models())


def similarity_as_json() -> None:
    """Print the JSON of `regrade study similarity --json`."""
    print_json(similarity_of_models())


def mistakes_as_json() -> None:
    """Print the JSON of `regrade study mistakes --json`; a fifth of the images have a second label."""
    rng = np.random.default_rng(0)
    test_set = imagenet_like(rng)
    own, more = test_set.labels, np.flatnonzero(rng.random(IMAGES) < 0.2)
    examples = np.concatenate([np.arange(IMAGES), more])
    classes = np.concatenate([own, (own[more] + 1) % _CLASSES])
    labels = LabelSet(
        "complete", 1, test_set.name, _CLASSES, examples, classes,
        np.full(len(classes), LabelState.CORRECT, dtype=np.int8), np.ones(IMAGES, dtype=bool), ("",) * IMAGES,
        Unlisted.WRONG,
    )  # fmt: skip
    print_json(
        mistakes(
            test_set,
            (answers for answers, _ in simulated_rows(test_set, rng)),
            labels=ReviewedLabels(MultilabelScoring(labels)),
            triage=TriageSources(superclasses(test_set.class_space), labels),
        )
    )


def people_as_json() -> None:
    """Print the JSON of `regrade study people --json`, with five people who label every image with 90% accuracy."""
    rng = np.random.default_rng(0)
    test_set = imagenet_like(rng)
    print_json(people(test_set, simulated_rows(test_set, rng, persons=5), rng=rng))


def imagenet_like(rng: np.random.Generator) -> TestSet:
    space = class_space("imagenet-1k")
    return TestSet("synthetic", space, tuple(f"image {i}" for i in range(IMAGES)), rng.integers(_CLASSES, size=IMAGES))


def simulated_rows(
    test_set: TestSet, rng: np.random.Generator, *, persons: int = 0
) -> Iterator[tuple[Predictions, Scoring]]:
    """People with answer times, then models; wrong answers are any of 50 classes."""
    scoring, space = scoring_for(test_set, test_set.class_space), test_set.class_space.name

    def best(right: np.ndarray) -> np.ndarray:
        wrong = (test_set.labels + rng.integers(1, 50, IMAGES)) % _CLASSES
        return np.where(right, test_set.labels, wrong)[:, None].astype(np.int32)

    for i in range(persons):
        seconds = rng.exponential(30, IMAGES)
        answers = best(rng.random(IMAGES) < 0.9)
        times = AnswerTimes(np.zeros(IMAGES), seconds)
        yield Predictions(f"person:{i}", test_set.name, space, answers, by=Answerer.PERSON, times=times), scoring
    for i, right in enumerate(correctness(MODELS, IMAGES, rng)):
        yield Predictions(f"model {i}", test_set.name, space, best(right)), scoring


def print_json(result: Comparison | Similarity | Mistakes | People) -> None:
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        show(result.table(), result.as_dict(), Form.JSON)
