"""The rules of a gate on a test set: options of the command, arguments in Python, and keys of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from regrade.core import InputError, UnknownName
from regrade.core.finite import finite
from regrade.stats.paired import WIDEST
from regrade.studies.grade.metric_registry import installed_metrics
from regrade.studies.grade.metrics import GradeMetric
from regrade.studies.scoring import EVERYTHING
from regrade.studies.study import StudyOptions, option

TOP5 = "top-5"
"""The name of top-5 accuracy among the metrics of rules."""
Thresholds = Mapping[str, float]
"""Thresholds by the name of a slice or of a metric; shares are fractions."""


def rule_metric(name: str) -> GradeMetric | None:
    """The metric of a rule by name; None for top-5 accuracy."""
    if name == TOP5:
        return None
    metrics = installed_metrics()
    if name not in metrics:
        raise UnknownName("metric", name, (TOP5, *metrics))
    return metrics[name]


def is_percent(name: str) -> bool:
    """Whether a metric is a share, which is written in percent."""
    metric = rule_metric(name)
    return metric is None or metric.percent


def _number(written: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{written} must be a number or NAME=NUMBER, got {text!r}") from None
    return finite(written, value)


def _by_name(written: str, texts: Sequence[str], *, default: str | None = None) -> dict[str, float]:
    """NAME=NUMBER as numbers by name; the name may contain equals signs, and is ``default`` if there is none."""
    values: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if not name and (default is None or text.startswith("=")):
            raise InputError(f"{written} must be NAME=NUMBER, got {text!r}")
        if (name or default) in values:
            raise InputError(f"{written} is given twice for {name or default}")
        values[name or str(default)] = _number(written, number)
    return values


def parse_floors(texts: Sequence[str]) -> Thresholds:
    """Floors by slice from PERCENT or SLICE=PERCENT."""
    return {name: value / 100 for name, value in _by_name("--floor", texts, default=EVERYTHING).items()}


def parse_slice_margins(texts: Sequence[str]) -> Thresholds:
    """Margins by slice from SLICE=POINTS."""
    return {name: value / 100 for name, value in _by_name("--slice-margin", texts).items()}


def parse_at_least(texts: Sequence[str]) -> Thresholds:
    """Floors of metrics from METRIC=VALUE."""
    return metric_values(_by_name("--at-least", texts))


def parse_at_most(texts: Sequence[str]) -> Thresholds:
    """Ceilings of metrics from METRIC=VALUE."""
    return metric_values(_by_name("--at-most", texts))


def metric_values(values: Mapping[str, float]) -> dict[str, float]:
    """Thresholds of metrics as written, in percent for shares, as fractions."""
    return {name: value / 100 if is_percent(name) else value for name, value in values.items()}


@dataclass(frozen=True, kw_only=True)
class GateRules(StudyOptions):
    """What a candidate must meet on a test set; numbers are fractions, percent on the command line and in files.

    Rules about differences need a baseline. A name of a group column stands for all its values.
    """

    margin: float | None = option(
        "Largest tolerated loss of top-1 accuracy to the baseline, in percentage points, e.g. 0.5.", None, percent=True
    )
    require_better: bool = option("Require a higher top-1 accuracy than the baseline's: a margin of 0.", False)
    slice_margins: Mapping[str, float] = option(
        "A margin on a slice, e.g. dogs=1. May be repeated.",
        (),
        names=("--slice-margin",),
        metavar="SLICE=POINTS",
        kind=list[str],
        parse=parse_slice_margins,
    )
    floors: Mapping[str, float] | float = option(
        "Least top-1 accuracy (multi-label with --labels), e.g. 75, or on a slice, e.g. dogs=60. May be repeated.",
        (),
        names=("--floor",),
        metavar="[SLICE=]PERCENT",
        kind=list[str],
        parse=parse_floors,
    )
    max_negative_flips: float | None = option(
        "Largest share of images, in percent, that the baseline has right and the candidate wrong.", None, percent=True
    )
    at_least: Mapping[str, float] = option(
        "Least value of a metric, e.g. top-5=92 or balanced-accuracy=70. May be repeated.",
        (),
        metavar="METRIC=VALUE",
        kind=list[str],
        parse=parse_at_least,
    )
    at_most: Mapping[str, float] = option(
        "Largest value of a metric, e.g. ece=5 or nll=0.9. May be repeated.",
        (),
        metavar="METRIC=VALUE",
        kind=list[str],
        parse=parse_at_most,
    )
    min_coverage: float | None = option(
        "Least share of the labeled images, in percent, that all models must have predictions on, or the gate is "
        "inconclusive (default: 100).",
        None,
        percent=True,
    )

    def __post_init__(self) -> None:
        """Normalize the thresholds by name, and raise where one is out of range."""
        super().__post_init__()
        if isinstance(self.floors, int | float):
            object.__setattr__(self, "floors", {EVERYTHING: self.floors})
        for name in ("slice_margins", "floors", "at_least", "at_most"):
            object.__setattr__(self, name, _mapping(name, getattr(self, name)))
        for margin in (self.margin, *self.slice_margins.values()):
            if margin is not None and not 0 <= margin <= WIDEST:
                raise InputError(f"a margin must lie between 0 and {100 * WIDEST:g} points, got {100 * margin:g}")
        if self.require_better and self.margin:
            raise InputError("a margin allows a lower accuracy than the baseline's: give either it or require_better")
        for name, share in self._shares():
            if share is not None and not 0 <= share <= 1:
                raise InputError(f"{name} must lie between 0 and 100 percent, got {100 * share:g}")

    def _shares(self) -> Iterator[tuple[str, float | None]]:
        """The thresholds that are shares, with what they limit."""
        yield from (("max_negative_flips", self.max_negative_flips), ("min_coverage", self.min_coverage))
        yield from ((f"the floor of {name!r}", floor) for name, floor in self.slice_floors.items())
        metrics = (*self.at_least.items(), *self.at_most.items())
        yield from ((f"the threshold of {name!r}", value) for name, value in metrics if is_percent(name))

    @property
    def slice_floors(self) -> Thresholds:
        """The floors by slice."""
        assert isinstance(self.floors, Mapping)
        return self.floors

    @property
    def margins(self) -> Thresholds:
        """The margins by slice, that of all images first."""
        overall = 0.0 if self.require_better else self.margin
        return {**({} if overall is None else {EVERYTHING: overall}), **self.slice_margins}

    @property
    def comparing(self) -> bool:
        """Whether a rule needs a baseline."""
        return bool(self.margins) or self.max_negative_flips is not None

    @property
    def chosen(self) -> dict[str, Any]:
        """The rules that differ from their defaults, as arguments."""
        defaults = {field.name: field.default for field in fields(GateRules)}
        values = {name: getattr(self, name) for name in GateRules.flags()}
        return {name: value for name, value in values.items() if value not in (None, {}) and value != defaults[name]}


def _mapping(name: str, values: Any) -> dict[str, float]:
    """Thresholds by name; anything but a mapping from names to finite numbers raises."""
    values = dict(values) if isinstance(values, Mapping) or values == () else values
    if not isinstance(values, dict):
        raise InputError(f"{name} must be a dictionary of numbers by name, got {values!r}")
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{name} of {key!r} must be a number, got {value!r}")
        finite(f"{name} of {key!r}", value)
    return values
