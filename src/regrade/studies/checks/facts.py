"""The facts of an evaluation that methodology checks look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regrade.core import TestSet


@dataclass(frozen=True)
class ModelFacts:
    """A model on a test set: how many images it predicted, and how.

    ``tied`` is the number of images with ties across the last of the five stored places; None if it is not known, or
    if fewer classes are stored. ``weights`` and ``preprocessing`` are empty if they were not recorded.
    """

    name: str
    images: int
    tied: int | None = None
    weights: str = ""
    preprocessing: str = ""


@dataclass(frozen=True)
class LabelFacts:
    """A label set: how many predictions of each model are ``to_judge``, and how many of these were ``judged``.

    To judge are those that differ from the original label. ``complete`` is true if unlisted classes are wrong, so that
    it is not known what people have seen. ``sampled`` is true if a random sample of the predictions that no one had
    judged was reviewed.
    """

    name: str
    complete: bool
    to_judge: Mapping[str, int] = field(default_factory=dict)
    judged: Mapping[str, int] = field(default_factory=dict)
    sampled: bool = False


@dataclass(frozen=True, eq=False)
class SetFacts:
    """A test set with its models, its label sets, and the number of labeled images of each slice of the report."""

    test_set: TestSet
    models: tuple[ModelFacts, ...] = ()
    labels: tuple[LabelFacts, ...] = ()
    slices: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the test set."""
        return self.test_set.name


@dataclass(frozen=True)
class ComparedImages:
    """A test set whose decoded pixels were compared with those of a set ``against``, or within itself.

    ``equal`` images of the test set are also in the other set, or repeat an earlier image of the same set.
    """

    test_set: str
    against: str
    equal: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Test sets, the ``original`` and the ``new`` sets that are compared with it, and the compared images.

    ``overlapping`` are pairs of test sets that share images by their ids.
    """

    sets: tuple[SetFacts, ...]
    original: str
    new: tuple[str, ...] = ()
    compared: tuple[ComparedImages, ...] = ()
    overlapping: frozenset[frozenset[str]] = frozenset()

    def set_named(self, name: str) -> SetFacts:
        """The facts of a test set."""
        return next(facts for facts in self.sets if facts.name == name)
