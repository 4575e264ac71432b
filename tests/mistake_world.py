"""Twelve images of eight classes, two models and two reviews, small enough to count by hand."""

import numpy as np

from regrade.classes import superclasses
from regrade.core import (
    ClassSpace,
    Hierarchy,
    LabelSet,
    LabelState,
    MistakeAnnotations,
    MistakeCategory,
    NovelSample,
    Predictions,
    Severity,
    TestSet,
    Unlisted,
)
from regrade.core.training_neighbors import NeighborQuestion, TrainingNeighbors
from regrade.studies import MistakeReviews, Mistakes, MultilabelScoring, ReviewedLabels, TriageSources
from regrade.studies.mistakes.analysis import mistakes
from regrade.studies.mistakes.explanations import ExplanationSources

CLASSES = ("cat", "lynx", "dog", "wolf", "car", "road", "boat", "cup")
PARENTS = {
    "cat": ("feline",), "lynx": ("feline",), "dog": ("canine",), "wolf": ("canine",), "car": ("thing",),
    "road": ("thing",), "boat": ("thing",), "cup": ("thing",), "feline": ("animal",), "canine": ("animal",),
    "animal": ("entity",), "thing": ("entity",),
}  # fmt: skip
SPACE = ClassSpace(
    "eight", CLASSES, hierarchy=Hierarchy(PARENTS, {}), groups={"felines": (0, 1), "canines": (2, 3)},
    collapsed={2: (3,)},
)  # fmt: skip
OWN = ("cat", "cat", "dog", "car", "car", "cup", "lynx", "boat", "car", "dog", "car", "car")
TEST_SET = TestSet("dozen", SPACE, tuple(f"i{n}" for n in range(12)), np.array([CLASSES.index(c) for c in OWN]))
COVERED = (0, 1, 2, 3, 4, 5, 6, 7, 9)
JUDGED = {
    0: {"cat": "CORRECT"},
    1: {"cat": "CORRECT", "dog": "WRONG"},
    2: {"dog": "CORRECT"},
    3: {"car": "CORRECT", "road": "CORRECT"},
    4: {"car": "CORRECT", "road": "WRONG"},
    5: {"cup": "CORRECT"},
    6: {"lynx": "CORRECT", "cat": "UNCLEAR"},
    7: {"boat": "WRONG"},
    9: {"dog": "CORRECT", "cup": "WRONG"},
}
A = ("cat", "lynx", "wolf", "road", "road", "boat", "cat", "car", "cat", "cup", "cat", "cat")
B = ("cat", "cat", "dog", "car", "cup", "boat", "lynx", "boat", "car", "cup", "car", "car")


def label_set(judged=JUDGED, *, covered=COVERED, problematic=(7,), name="judged", version=1, unlisted=Unlisted.NOVEL):
    """Labels of the twelve images from image to class to state."""
    rows = [
        (i, CLASSES.index(c), LabelState[state])
        for i, states_by_class in judged.items()
        for c, state in states_by_class.items()
    ]
    examples, classes, states = (np.array(column) for column in zip(*rows, strict=True))
    inside = np.isin(np.arange(12), covered)
    reasons = tuple("painting" if i in problematic else "" for i in range(12))
    return LabelSet(
        name, version, "dozen", 8, examples, classes, states.astype(np.int8), inside, reasons, unlisted
    )  # fmt: skip


def pair_labels():
    """Labels of the images that the other labels do not cover: two of the three show a car on a road."""
    judged = {8: {"car": "CORRECT", "road": "CORRECT"}, 10: {"road": "CORRECT"}, 11: {"car": "CORRECT"}}
    return label_set(judged, covered=(8, 10, 11), problematic=(), name="real", unlisted=Unlisted.WRONG)


def verdicts():
    """Decisions on the three novel predictions of a: lynx is wrong, wolf is correct, boat is not judged yet."""
    pairs = [(1, "lynx", "WRONG"), (2, "wolf", "CORRECT"), (5, "boat", "UNJUDGED")]
    return NovelSample(
        "dozen", "judged@1", 8, np.array([i for i, *_ in pairs]), np.array([CLASSES.index(c) for _, c, _ in pairs]),
        np.zeros(3, int), np.arange(3), np.ones(3), np.array([LabelState[s] for *_, s in pairs], dtype=np.int8),
        "nothing", 3,
    )  # fmt: skip


def review(model, rows, test_set="dozen"):
    """A review of mistakes from (image, class, category, severity)."""
    images, classes, categories, severities = zip(*rows, strict=True)
    return MistakeAnnotations(
        model, test_set, 12, 8, np.array(images), np.array([CLASSES.index(c) for c in classes]),
        tuple(MistakeCategory[c] for c in categories), tuple(Severity[s] for s in severities), categories,
    )  # fmt: skip


REVIEW_A = review(
    "a",
    [(1, "lynx", "FINE_GRAINED", "MAJOR"), (4, "road", "SPURIOUS", "MINOR"), (9, "cup", "NON_PROTOTYPICAL", "MAJOR")],
)
REVIEW_B = review(
    "b",
    [
        (4, "cup", "FINE_GRAINED", "BORDERLINE"),
        (9, "cup", "NON_PROTOTYPICAL", "MAJOR"),
        (5, "boat", "OUT_OF_VOCABULARY", "MAJOR"),
    ],
)


def predictions(model, names):
    """A model's predictions by class name; None for a missing prediction."""
    best = np.array([[-1 if name is None else CLASSES.index(name)] for name in names])
    return Predictions(model, "dozen", "eight", best)


def reviewed_labels(labels=None, frame=None, collapsed=None):
    return ReviewedLabels(MultilabelScoring(labels or label_set(), collapsed=collapsed), frame)


def studied(*models, frame=None, reviews=(REVIEW_A, REVIEW_B), **options) -> Mistakes:
    """The study of some models (default: both), with both reviews."""
    return mistakes(
        options.pop("test_set", TEST_SET),
        models or (predictions("a", A), predictions("b", B)),
        labels=options.pop("labels", None) or reviewed_labels(frame=frame),
        triage=options.pop("triage", None) or TriageSources(superclasses(SPACE), pair_labels()),
        reviews=MistakeReviews(
            reviews,
            options.pop("other_sets", ()),
            options.pop("by_review", ()),
            options.pop("least_major", None),
        ),
        **options,
    )


TRAINING_LABELS = ("cat", "lynx", "dog", "road", "road", "car", "cup", "boat")
TRAINING_SET = TestSet(
    "train", SPACE, tuple(f"t{n}" for n in range(8)), np.array([CLASSES.index(c) for c in TRAINING_LABELS])
)


def training_images(positions, *, duplicates=None) -> ExplanationSources:
    """The nearest of eight training images (12, k), with distances 0.1, 0.2, ...; -1 is no neighbor."""
    nearest = np.asarray(positions)
    distances = np.where(nearest < 0, np.nan, 0.1 * np.arange(1, nearest.shape[1] + 1))
    marks = np.zeros(nearest.shape, np.int8) if duplicates is None else np.asarray(duplicates, np.int8)
    question = NeighborQuestion("dozen", "train", "a", "", "", "", nearest.shape[1], 0.1)
    neighbors = TrainingNeighbors(question, nearest, distances, marks)
    return ExplanationSources(TRAINING_SET, lambda _: neighbors)
