"""A grid of hyperparameters, of which a new test set chooses a point, by two halves that test each other's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

from regrade.core import InputError, UnknownName
from regrade.core.finite import finite
from regrade.train.hyperparameters import Hyperparameters

TUNABLE = tuple(item.name for item in fields(Hyperparameters) if type(item.default) in (int, float))
"""The hyperparameters that are numbers."""


@dataclass(frozen=True)
class HyperparameterGrid:
    """The ``values`` of each of the hyperparameters ``names``; ``tuned_on`` is the set that chooses a point.

    Which point predicts for a seed depends on the other seeds, so that they belong to the grid.
    """

    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    tuned_on: str = ""
    clusters: str | None = None
    seeds: tuple[int, ...] = ()

    @property
    def points(self) -> tuple[dict[str, float], ...]:
        """All combinations; the last hyperparameter varies first."""
        return tuple(dict(zip(self.names, values, strict=True)) for values in product(*self.values))

    def settings(self, base: Hyperparameters) -> tuple[Hyperparameters, ...]:
        """The settings of every point; raise if one is not valid."""
        plain: list[dict[str, Any]] = [dict(point) for point in self.points]
        return tuple(replace(base, **point) for point in plain)

    def as_plain(self) -> dict[str, Any]:
        """The grid as plain values."""
        lines = [f"{name}={','.join(map(str, values))}" for name, values in zip(self.names, self.values, strict=True)]
        return {"tuned_on": self.tuned_on, "grid": lines, "clusters": self.clusters, "seeds": list(self.seeds)}


def parse_grid(texts: Sequence[str]) -> HyperparameterGrid:
    """A grid from the command line: ``learning-rate=0.05,0.1`` per hyperparameter; raise if it has a single point.

    >>> parse_grid(["learning-rate=0.05,0.1", "epochs=5,10"]).points[1]
    {'learning_rate': 0.05, 'epochs': 10}
    """
    axes = [_axis(text) for text in texts]
    names = tuple(name for name, _ in axes)
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"--grid names {repeated.replace('_', '-')} twice: list all its values in one option")
    grid = HyperparameterGrid(names, tuple(values for _, values in axes))
    if len(grid.points) < 2:
        raise InputError("--grid has a single point, so that there is nothing to choose: give two values or more")
    return grid


def _axis(text: str) -> tuple[str, tuple[float, ...]]:
    """A hyperparameter and its values."""
    written, equals, listed = text.partition("=")
    name = written.strip().replace("-", "_")
    if not equals:
        raise InputError(f"--grid is written as learning-rate=0.05,0.1, got {text!r}")
    if name not in TUNABLE:
        raise UnknownName("hyperparameter", written.strip(), [item.replace("_", "-") for item in TUNABLE])
    values = tuple(_value(name, part.strip()) for part in listed.split(","))
    if len(set(values)) < len(values):
        raise InputError(f"--grid {written.strip()} has the same value twice: {listed}")
    return name, values


def _value(name: str, text: str) -> float:
    kind = type(getattr(Hyperparameters(), name))
    try:
        value: float = kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise InputError(f"--grid {name.replace('_', '-')}: {text!r} is not {what}") from None
    finite(f"--grid {name.replace('_', '-')}", value)
    return value
