"""The metrics that grade offers by name: built-in ones, and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

from regrade.core import InputError
from regrade.studies.grade.metrics import BUILT_IN, GradeMetric

GROUP = "regrade.metrics"
"""The entry-point group in which packages offer a `GradeMetric` or a function."""


class InstalledMetrics(Mapping[str, GradeMetric]):
    """Metrics by name. Those of installed packages are loaded when they are looked up; built-in names are reserved.

    What is installed is searched for when a name is not built in: the search takes as long as grading a small test set.
    """

    @cached_property
    def _offered(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}

    def __getitem__(self, name: str) -> GradeMetric:
        return BUILT_IN[name] if name in BUILT_IN else _loaded(self._offered[name])

    def __iter__(self) -> Iterator[str]:
        yield from BUILT_IN
        yield from self._offered

    def __len__(self) -> int:
        return len(BUILT_IN) + len(self._offered)


def installed_metrics() -> InstalledMetrics:
    """Every metric that can be named."""
    return InstalledMetrics()


def _loaded(entry: EntryPoint) -> GradeMetric:
    try:
        metric = entry.load()
    except Exception as error:  # whatever the import of another package raises
        raise InputError(f"the metric {entry.name!r} ({entry.value}) cannot be loaded: {error}") from error
    if isinstance(metric, GradeMetric):
        return metric
    if not callable(metric):
        raise InputError(f"the metric {entry.name!r} ({entry.value}) must be a GradeMetric or a function")
    return GradeMetric(entry.name, metric)
