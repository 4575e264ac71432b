"""The accuracies that can be plotted against each other: a test set, a kind of accuracy, and the labels of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote, unquote

from regrade.app.explore.choice import Choice
from regrade.app.explore.drawing import PlotValue, Scatter, scatter
from regrade.app.explore.explorer import Explorer
from regrade.core import PERSON_PREFIX, Estimate, InputError, RegradeError

KINDS = {"top1": "top-1", "top5": "top-5", "multilabel": "multi-label"}
"""Accuracies, as pages call them."""

_BEHIND = {"top1": "wrong", "top5": "not-in-five", "multilabel": "missed"}  # the images that an accuracy lacks


@dataclass(frozen=True)
class Axis:
    """One accuracy of every model; ``value`` is how it stands in an address."""

    kind: str
    test_set: str
    labels: str = ""

    @property
    def value(self) -> str:
        """The axis as one word, whatever letters its names have."""
        return ":".join(quote(part, safe="") for part in (self.kind, self.test_set, self.labels))

    @property
    def words(self) -> str:
        """The axis as people say it."""
        return f"{KINDS[self.kind]} on {self.test_set}" + (f" by {self.labels}" if self.labels else "")

    @classmethod
    def named(cls, value: str) -> Axis:
        """The axis of an address."""
        parts = [unquote(part) for part in value.split(":")]
        if len(parts) != 3 or parts[0] not in KINDS or (parts[0] == "multilabel") != bool(parts[2]):
            raise InputError("an axis of the plot is not known: choose it again")
        return cls(*parts)


def axes_offered(explorer: Explorer) -> list[Axis]:
    """Every accuracy that models may have."""
    store, found = explorer.store, []
    for name in store.test_set_names():
        if not store.model_names(name):
            continue
        found += [Axis("top1", name), Axis("top5", name)]
        found += [Axis("multilabel", name, labels) for labels in store.label_set_names(name)]
    return found


def chosen_axes(explorer: Explorer, choice: Choice) -> tuple[Axis, Axis]:
    """The axes of the address, or what tells most: the same models on another set, other labels, or the best five."""
    x = Axis.named(choice.x) if choice.x else Axis("top1", choice.set)
    return x, Axis.named(choice.y) if choice.y else _second(explorer, choice)


def _second(explorer: Explorer, choice: Choice) -> Axis:
    if choice.labels:
        return Axis("multilabel", choice.set, choice.labels)
    store = explorer.store
    mine = set(store.model_names(choice.set))
    shared = {name: len(mine & set(store.model_names(name))) for name in store.test_set_names() if name != choice.set}
    most = max(shared, key=lambda name: shared[name], default=None)
    return Axis("top1", most) if most is not None and shared[most] > 1 else Axis("top5", choice.set)


def plotted(explorer: Explorer, choice: Choice, x: Axis, y: Axis, names: Collection[str] | None) -> Scatter | str:
    """The plot of two accuracies for the models that have both, or why there is none."""
    try:
        across, up = (_estimates(explorer, choice, axis) for axis in (x, y))
    except RegradeError as error:
        return str(error)
    both = [name for name in across if name in up and (names is None or name in names)]
    if not both:
        return "no model has both accuracies"
    basis = choice.basis().but(labels=x.labels)
    to = basis if x.test_set == choice.set else Choice(set=x.test_set, labels=x.labels)
    return scatter(
        [
            PlotValue(
                name,
                across[name],
                up[name],
                to.images(model=name, outcome=_BEHIND[x.kind]),
                name.startswith(PERSON_PREFIX),
            )
            for name in both
        ]
    )


def _estimates(explorer: Explorer, choice: Choice, axis: Axis) -> dict[str, Estimate]:
    """One accuracy of all models; the chosen slice counts on the chosen set."""
    slice_name = choice.slice if axis.test_set == choice.set else ""
    view = explorer.view(axis.test_set, explorer.labels_named(axis.test_set, axis.labels))
    found = explorer.grade(view, slice_name)
    values = {row.model: getattr(row, axis.kind) for row in found.rows}
    return {name: value for name, value in values.items() if value is not None}
