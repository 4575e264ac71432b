"""Cached test sets, answers, grades and near duplicates of a workspace, reloaded when its files change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regrade.app.cache import RecentCache, Stamp, answers_stamp, review_stamp, signatures_stamp, test_set_stamp
from regrade.app.explore.answers import AnswerKind, AnswerOutcome, AnswerTable, Codes, codes_of, has_kind, read_answers
from regrade.core import InputError, LabelState, RegradeError, Signatures, TestSet, UnknownName
from regrade.core.arrays import BoolArray, IntArray
from regrade.neighbors import Metric, nearest
from regrade.store import SignatureKey, Store
from regrade.studies import EVERYTHING, Grade, GradeMetric, GradeRow, ReviewedLabels, chosen_metrics
from regrade.studies.grade.analysis import grade
from regrade.studies.grade.metric_registry import installed_metrics
from regrade.studies.image_basis import judge_predictions
from regrade.studies.loading import reviewed_labels
from regrade.workspace import Workspace

MAX_NEIGHBORS = 8
"""Neighbors shown on a page."""

_BIT_COUNTS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(
    axis=1, dtype=np.uint8
)  # per byte value
_EXCLUDED = 255
_MAX_BITS = 20  # of 64; images that differ in more bits are unrelated


@dataclass(frozen=True)
class Neighbor:
    """A near image, and its distance as text."""

    position: int
    words: str


class NearDuplicateFinder:
    """Finds near duplicates within one test set."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hashes: RecentCache[Signatures | None] = RecentCache(8)

    def by_hash(self, test_set: TestSet, position: int, *, hidden: BoolArray) -> list[Neighbor] | None:
        """The images with the nearest perceptual hash, also when mirrored; None if no hashes are stored.

        ``hidden`` images (n,) are left out.
        """
        stamp = signatures_stamp(self._store, test_set.name)
        stored = self._hashes.get(test_set.name, lambda: _stored(self._store, test_set), stamp=stamp)
        if stored is None or not stored.readable[position]:
            return None
        hashes = stored.phashes
        straight = _hamming_distances(hashes[:, 0], hashes[position, 0])
        mirrored = _hamming_distances(hashes[:, 1], hashes[position, 0])
        bits = np.where(stored.readable & ~hidden, np.minimum(straight, mirrored), _EXCLUDED)
        bits[position] = _EXCLUDED
        candidates = np.flatnonzero(bits <= _MAX_BITS)
        order = candidates[np.argsort(bits[candidates], kind="stable")][:MAX_NEIGHBORS]
        return [
            Neighbor(int(near), f"{bits[near]} bits" + (", mirrored" if mirrored[near] < straight[near] else ""))
            for near in order
        ]

    def by_features(self, answers: AnswerTable, model: str, position: int) -> list[Neighbor]:
        """The images with the smallest cosine distance between a model's embeddings."""
        row = answers.rows[answers.place(model)]
        features = self._store.predictions.read(answers.test_set, model).features if row.has_features else None
        if features is None:
            raise InputError(f"no features of {model} on {answers.test_set.name} are stored: predict --keep features")
        k = min(MAX_NEIGHBORS + 1, len(features))
        neighbors = nearest(np.asarray(features[position : position + 1]), features, k=k, metric=Metric.COSINE)
        pairs = zip(neighbors.indices[0].tolist(), neighbors.distances[0].tolist(), strict=True)
        return [Neighbor(near, f"{distance:.3f}") for near, distance in pairs if near not in (position, -1)][
            :MAX_NEIGHBORS
        ]


def _hamming_distances(hashes: NDArray[np.uint64], reference: np.uint64) -> IntArray:
    differing = np.ascontiguousarray(hashes ^ reference).view(np.uint8).reshape(-1, 8)
    return np.asarray(_BIT_COUNTS[differing].sum(axis=1, dtype=np.uint8))


def _stored(store: Store, test_set: TestSet) -> Signatures | None:
    if not store.images.has(test_set.name):
        return None
    source = store.images.read(test_set)
    sizes = sorted(store.signatures.sizes(test_set.name))
    return next(
        (stored for size in sizes if (stored := store.signatures.read(test_set.name, SignatureKey(source, size)))), None
    )


_CACHED_ANSWERS = 4  # test sets
_CACHED_VIEWS = 8  # pairs of test set and label set
_CACHED_GRADES = 64
_MAX_SLICES = 60  # values of a group column, beyond which it is not offered as slices
_CLEAN_IMAGE = "image"  # group column of corrupted test sets with the id of the clean image


@dataclass(frozen=True, eq=False)
class View:
    """A test set with all answers and their outcomes under one label set, as ``codes`` (m, n).

    ``judged`` is None for the original labels. A view is a consistent snapshot, even if files change meanwhile;
    ``written`` identifies the state of the files.
    """

    test_set: TestSet
    answers: AnswerTable
    codes: Codes
    judged: ReviewedLabels | None
    written: tuple[Stamp, ...]

    @property
    def labels(self) -> str:
        """The label set with its version; empty for the original labels."""
        return "" if self.judged is None else self.judged.scoring.labels.full_name

    @cached_property
    def missed(self) -> IntArray:
        """Shape (n,): how many models and people have each image wrong."""
        return np.asarray(has_kind(AnswerKind.MISSED, self.codes).sum(axis=0, dtype=np.int32))

    @cached_property
    def counted(self) -> IntArray:
        """Shape (n,): for how many models and people each image is scored."""
        return np.asarray((self.codes != AnswerOutcome.NOT_COUNTED).sum(axis=0, dtype=np.int32))

    def of_class(self, class_index: int) -> BoolArray:
        """Shape (n,): the images of a class, by the original labels or, in a set without labels, by the label set."""
        if self.test_set.labeled.any() or self.judged is None:
            return np.asarray(self.test_set.labels == class_index)
        labels = self.judged.scoring.labels
        inside = np.zeros(len(self.test_set), dtype=bool)
        inside[labels.examples[(labels.classes == class_index) & (labels.states == LabelState.CORRECT)]] = True
        return inside


class Explorer:
    """Loads and caches what the Explore pages show; caches are bounded and follow changes of the files."""

    def __init__(self, workspace: Workspace) -> None:
        self.store: Store = workspace.store
        self.near_duplicates = NearDuplicateFinder(workspace.store)
        self._test_sets: RecentCache[TestSet] = RecentCache(16)
        self._answers: RecentCache[AnswerTable] = RecentCache(_CACHED_ANSWERS)
        self._views: RecentCache[View] = RecentCache(_CACHED_VIEWS)
        self._grades: RecentCache[Grade] = RecentCache(_CACHED_GRADES)
        self._slices: RecentCache[BoolArray] = RecentCache(_CACHED_GRADES)
        self._offered: RecentCache[Mapping[str, tuple[str, ...]]] = RecentCache(16)

    def test_set(self, name: str) -> TestSet:
        """A test set with all its slices."""
        return self._test_sets.get(name, lambda: self.store.test_set(name), stamp=test_set_stamp(self.store, name))

    def labels_named(self, test_set: str, labels: str) -> str:
        """The full name of a label set (default version: the newest); empty for the original labels."""
        names = self.store.labels.names(test_set) if labels else ()
        matching = [full for full in names if labels in (full, full.rpartition("@")[0])]
        if labels and not matching:
            raise UnknownName(f"label set of {test_set}", labels, names)
        return matching[-1] if matching else ""

    def view(self, name: str, labels: str) -> View:
        """A test set with all answers, scored with a label set or, if empty, with the original labels."""
        stored = test_set_stamp(self.store, name)
        test_set = self._test_sets.get(name, lambda: self.store.test_set(name), stamp=stored)
        answers_written = answers_stamp(self.store, name)
        answers = self._answers.get(
            name,
            lambda: read_answers(self.store, test_set, answers_written, self._answers.outdated(name)),
            stamp=(stored, answers_written),
        )
        written = (stored, answers_written, review_stamp(self.store, name, labels) if labels else ())
        return self._views.get(
            (name, labels), lambda: self._build_view(test_set, answers, labels, written), stamp=written
        )

    def grade(self, view: View, slice_name: str) -> Grade:
        """The grade of all models and people on a test set or a slice of it, equal to `Workspace.grade`."""
        key = (view.test_set.name, view.labels, slice_name)
        return self._grades.get(key, lambda: self._graded(view, slice_name), stamp=view.written)

    def inside(self, view: View, slice_name: str) -> BoolArray:
        """Shape (n,): the images of a slice, or all images if the name is empty."""
        test_set = view.test_set
        if not slice_name:
            return np.ones(len(test_set), dtype=bool)
        key = (test_set.name, slice_name)
        return self._slices.get(key, lambda: test_set.slice(slice_name), stamp=view.written[0])

    def available_slices(self, view: View) -> Mapping[str, tuple[str, ...]]:
        """The slices of a test set by heading: subsets, values of group columns, groups of classes."""
        return self._offered.get(view.test_set.name, lambda: _slices_of(view.test_set), stamp=view.written[0])

    @cached_property
    def _metrics(self) -> tuple[tuple[GradeMetric, ...], tuple[str, ...]]:
        """The metrics listed in regrade.toml, and why some of them cannot be shown."""
        metrics: tuple[GradeMetric, ...] = ()
        problems = []
        for name in self.store.config.metrics:
            try:
                metrics = chosen_metrics([*metrics, name], installed_metrics())
            except RegradeError as error:
                problems.append(f"the metric {name} of regrade.toml is not shown: {error}")
        return metrics, tuple(problems)

    def _build_view(self, test_set: TestSet, answers: AnswerTable, labels: str, written: tuple[Stamp, ...]) -> View:
        if not labels:
            return View(test_set, answers, answers.own, None, written)
        judged = reviewed_labels(self.store, test_set, labels)
        return View(test_set, answers, _outcomes_under(answers, judged), judged, written)

    def _graded(self, view: View, slice_name: str) -> Grade:
        answers, judged = view.answers, view.judged
        if not answers.rows:
            raise InputError(f"no model has predictions on {view.test_set.name} yet: add some with regrade predict")
        slices = [slice_name] if slice_name else []
        plain = [place for place, row in enumerate(answers.rows) if row.own_classes]
        mapped = [place for place, row in enumerate(answers.rows) if not row.own_classes]
        groups = [(plain, judged), (mapped, None)] if judged else [([*plain, *mapped], None)]
        metrics, problems = self._metrics
        read = answers.with_scores if any(metric.uses_scores for metric in metrics) else answers.scored
        grades = [
            grade(
                view.test_set,
                read(self.store, places),
                labels=labels,
                slices=slices,
                metrics=metrics,
                confidence=self.store.config.confidence,
            )
            for places, labels in groups
            if places
        ]
        rows = [row for part in grades for row in part.rows if row.slice == (slice_name or EVERYTHING)]
        notes = (*dict.fromkeys(note for part in grades for note in part.notes), *problems)
        return replace(grades[0], rows=tuple(sorted(rows, key=_best_first)), notes=notes)


def _outcomes_under(answers: AnswerTable, judged: ReviewedLabels) -> Codes:
    """Outcomes (m, n) under a label set; rows with a class map are not scored."""
    codes = np.zeros(answers.own.shape, dtype=np.uint8)
    for place, row in enumerate(answers.rows):
        if row.own_classes:
            codes[place] = codes_of(judge_predictions(answers.predictions(place), row.scoring, judged))
    return codes


def _best_first(row: GradeRow) -> tuple[float, str]:
    accuracy = row.top1 or row.multilabel
    return (-accuracy.value if accuracy else 1.0, row.model)


def _slices_of(test_set: TestSet) -> dict[str, tuple[str, ...]]:
    offered: dict[str, tuple[str, ...]] = {}
    if test_set.subsets:
        offered["subsets"] = tuple(test_set.subsets)
    for column in test_set.group_columns:
        if column == _CLEAN_IMAGE:
            continue
        values = test_set.slices_of(column)
        if len(values) <= _MAX_SLICES:
            offered[column] = values
    if test_set.labeled.any() and test_set.class_space.groups:
        offered["classes"] = tuple(test_set.class_space.groups)
    return offered
