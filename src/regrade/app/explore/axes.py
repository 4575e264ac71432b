"""The axes of the accuracy plot: a kind of accuracy, a test set and a label set."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote, unquote

from regrade.app.explore.choice import Choice
from regrade.app.explore.drawing import PlotValue, Scatter, scatter
from regrade.app.explore.explorer import Explorer
from regrade.core import PERSON_PREFIX, Estimate, InputError, RegradeError

KINDS = {"top1": "top-1", "top5": "top-5", "multilabel": "multi-label"}
"""Names of accuracies on pages."""

_ERROR_KINDS = {"top1": "wrong", "top5": "not-in-five", "multilabel": "missed"}  # images that count as errors


@dataclass(frozen=True)
class Axis:
    """One accuracy of every model; ``value`` is its form in a URL."""

    kind: str
    test_set: str
    labels: str = ""

    @property
    def value(self) -> str:
        """The axis as a URL value, with escaped names."""
        return ":".join(quote(part, safe="") for part in (self.kind, self.test_set, self.labels))

    @property
    def words(self) -> str:
        """The axis as text."""
        return f"{KINDS[self.kind]} on {self.test_set}" + (f" by {self.labels}" if self.labels else "")

    @classmethod
    def parse(cls, value: str) -> Axis:
        """Parse the URL value of an axis."""
        parts = [unquote(part) for part in value.split(":")]
        if len(parts) != 3 or parts[0] not in KINDS or (parts[0] == "multilabel") != bool(parts[2]):
            raise InputError("unknown axis of the plot: choose it again")
        return cls(*parts)


def available_axes(explorer: Explorer) -> list[Axis]:
    """Every accuracy that models on any test set may have."""
    store, axes = explorer.store, []
    for name in store.test_set_names():
        if not store.model_names(name):
            continue
        axes += [Axis("top1", name), Axis("top5", name)]
        axes += [Axis("multilabel", name, labels) for labels in store.label_set_names(name)]
    return axes


def chosen_axes(explorer: Explorer, choice: Choice) -> tuple[Axis, Axis]:
    """The requested axes; by default top-1 against the chosen labels, another test set or top-5."""
    x = Axis.parse(choice.x) if choice.x else Axis("top1", choice.set)
    return x, Axis.parse(choice.y) if choice.y else _default_y(explorer, choice)


def _default_y(explorer: Explorer, choice: Choice) -> Axis:
    if choice.labels:
        return Axis("multilabel", choice.set, choice.labels)
    store = explorer.store
    models = set(store.model_names(choice.set))
    shared = {name: len(models & set(store.model_names(name))) for name in store.test_set_names() if name != choice.set}
    most = max(shared, key=lambda name: shared[name], default=None)
    return Axis("top1", most) if most is not None and shared[most] > 1 else Axis("top5", choice.set)


def accuracy_plot(explorer: Explorer, choice: Choice, x: Axis, y: Axis, names: Collection[str] | None) -> Scatter | str:
    """The plot of two accuracies of the models that have both, or the reason why there is none."""
    try:
        across, up = (_estimates(explorer, choice, axis) for axis in (x, y))
    except RegradeError as error:
        return str(error)
    both = [name for name in across if name in up and (names is None or name in names)]
    if not both:
        return "no model has both accuracies"
    basis = choice.basis().replace(labels=x.labels)
    to = basis if x.test_set == choice.set else Choice(set=x.test_set, labels=x.labels)
    return scatter(
        [
            PlotValue(
                name,
                across[name],
                up[name],
                to.images(model=name, outcome=_ERROR_KINDS[x.kind]),
                name.startswith(PERSON_PREFIX),
            )
            for name in both
        ]
    )


def _estimates(explorer: Explorer, choice: Choice, axis: Axis) -> dict[str, Estimate]:
    """One accuracy of all models; the chosen slice applies to the chosen test set only."""
    slice_name = choice.slice if axis.test_set == choice.set else ""
    view = explorer.view(axis.test_set, explorer.labels_named(axis.test_set, axis.labels))
    rows = explorer.grade(view, slice_name).rows
    values = {row.model: getattr(row, axis.kind) for row in rows}
    return {name: value for name, value in values.items() if value is not None}
