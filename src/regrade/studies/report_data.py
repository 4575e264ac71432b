"""The data that a report is about: its test sets, the original one, and the versions of their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from regrade.core import InputError, TestSet, UnknownName
from regrade.core.names import refuse_text
from regrade.store import FIRST_MODEL
from regrade.studies.seeded_methods import seeded_method

if TYPE_CHECKING:
    from regrade.store import Store

_MIN_COMMON_MODELS = 3  # common models that a fitted line needs


@dataclass(frozen=True)
class ReportModels:
    """The models of a report: those that are left out, and methods to compare, each a model, a pattern or a training.

    Models of ``baseline`` and ``remedies`` may be among those that the other chapters leave out (``without``).
    """

    without: Sequence[str] = ()
    baseline: str | None = None
    remedies: Sequence[str] = ()

    def __post_init__(self) -> None:
        refuse_text(self.without, "without")
        refuse_text(self.remedies, "remedies")
        if (self.baseline is None) != (not self.remedies):
            given, required = ("--remedy", "--baseline") if self.baseline is None else ("--baseline", "--remedy")
            raise InputError(f"{given} requires {required}")


class ReportData:
    """The named test sets of a store (default: all) that have predictions, the original one first.

    The ``original`` is the set that new sets are compared with (default: the one with most models and images).
    ``labels`` names versions of label sets to use instead of the newest. Models that are left out are hidden in
    ``store``, but not in ``whole_store``.
    """

    def __init__(
        self,
        store: Store,
        test_sets: Sequence[str] = (),
        original: str | None = None,
        labels: Sequence[str] = (),
        models: ReportModels | None = None,
    ) -> None:
        self.whole_store, self.models = store, models or ReportModels()
        self.store = store = store.hiding(_left_out(store, self.models.without))
        chosen = [store.test_set(name) for name in test_sets or store.test_sets.names()]
        self.sets = [test_set for test_set in chosen if self.row_names(test_set)]
        if not self.sets:
            raise InputError(_nothing_to_report(store, test_sets))
        named = [test_set for test_set in self.sets if test_set.name == original]
        if original is not None and not named:
            raise InputError(f"{original} is not among the test sets of this report: {', '.join(self.names)}")
        largest = max(self.sets, key=lambda test_set: (self.model_count(test_set), len(test_set)))
        self.original = named[0] if named else largest
        self.sets.sort(key=lambda test_set: test_set.name != self.original.name)
        self._chosen_labels = {full.rpartition("@")[0]: full for full in labels}
        versions = {full for test_set in self.sets for full in store.labels.names(test_set.name)}
        for full in labels:
            if full not in versions:
                raise UnknownName("version of labels", full, sorted(versions))

    @property
    def names(self) -> tuple[str, ...]:
        """The test sets, the original first."""
        return tuple(test_set.name for test_set in self.sets)

    def row_names(self, test_set: TestSet) -> tuple[str, ...]:
        """The models and people with predictions on a test set."""
        return (*self.store.predictions.model_names(test_set.name), *self.store.predictions.people_names(test_set.name))

    def model_count(self, test_set: TestSet) -> int:
        """The number of models with predictions on a test set."""
        return len(self.store.predictions.model_names(test_set.name))

    def labels(self, test_set: TestSet) -> tuple[str, ...]:
        """The chosen version of each label set (default: the newest)."""
        versions = self.store.labels.names(test_set.name)
        newest = {full.rpartition("@")[0]: full for full in versions}
        chosen = {name: full for name, full in self._chosen_labels.items() if full in versions}
        return tuple((newest | chosen).values())

    @cached_property
    def hard(self) -> frozenset[str]:
        """Slices that were chosen because models find them hard; a test set of the same images has the same name."""
        stored = (self.store.test_set(name) for name in self.store.test_sets.names())
        return frozenset(name for test_set in stored for name in test_set.hard_slices)

    def comparable(self, test_set: TestSet) -> bool:
        """Whether a set can be compared with the original: the same classes or a subset, and enough common models.

        A set that was chosen to be hard cannot: that models are worse on it says nothing about new images.
        """
        if test_set.name == self.original.name or test_set.name in self.hard:
            return False
        common = set(self.store.predictions.model_names(test_set.name)) & set(
            self.store.predictions.model_names(self.original.name)
        )
        classes, class_map = self.original.class_space, self.store.class_maps.read(test_set)
        mapped = class_map is not None and class_map.source.digest == classes.digest
        return len(common) >= _MIN_COMMON_MODELS and (mapped or set(test_set.class_space.ids) <= set(classes.ids))


def _left_out(store: Store, names: Sequence[str]) -> set[str]:
    """The models that the names stand for; a name without a model raises."""
    stored = sorted({model for name in store.test_sets.names() for model in store.predictions.model_names(name)})
    methods = [seeded_method(name, stored, where="any test set", first=FIRST_MODEL) for name in names]
    return {model for method in methods for model in method.models.values()}


def scored_against(test_set: TestSet, labels: str | None) -> str:
    """What a chapter is about: a test set, and the label set that predictions are scored against."""
    return f"{test_set.name} against {labels}" if labels else test_set.name


def _nothing_to_report(store: Store, test_sets: Sequence[str]) -> str:
    """Error message: why there is nothing to report, and what to do next."""
    if not store.test_sets.names():
        return (
            "there is nothing to report yet: run regrade import predictions, or add a test set (regrade testsets add) "
            "and run regrade predict"
        )
    names = ", ".join(test_sets or store.test_sets.names())
    if any(store.predictions.names(name) for name in test_sets or store.test_sets.names()):
        return f"all models with predictions on {names} are left out"
    return f"no model has predictions on {names} yet: run regrade predict or regrade import predictions"
