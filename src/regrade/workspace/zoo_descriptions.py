"""Describing the models of zoos: metadata are derived from names, and from what an installed zoo publishes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

from regrade.core import ATTRIBUTES, DescribedModels, InputError, ModelAttributes, RegradeError
from regrade.core.amounts import amount
from regrade.display.wording import listed
from regrade.formats import Zoo, attributes_of_name, source_of_name, zoo_of
from regrade.models import torchvision_parameters
from regrade.store import Store

_LISTED = 5
_NAMED = ("family", "training_data", "training_images", "year")  # what a name is expected to state


@dataclass(frozen=True)
class ZooDescription:
    """The result of describing the models of zoos: those that are new, were updated and are unchanged.

    ``described`` counts the models by attribute, ``unknown`` names the models without a value by attribute, and
    ``left_out`` the stored models of no zoo. ``problem`` says why a zoo could not be read.
    """

    new: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    described: Mapping[str, int]
    unknown: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    problem: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """How many models have a value of each attribute, and which have none."""
        of_all = amount(len(self.new) + len(self.updated) + len(self.unchanged), "model")
        counts = ", ".join(f"{name.replace('_', ' ')} of {count:,}" for name, count in self.described.items() if count)
        notes = [f"derived for {of_all}: {counts or 'nothing'}"]
        notes += [
            f"{name.replace('_', ' ')} unknown, not guessed: {listed(models, most=_LISTED)}"
            for name, models in self.unknown.items()
            if models
        ]
        if self.problem:
            notes.append(f"numbers of parameters not read: {self.problem}")
        if self.left_out:
            notes.append(f"of no zoo by their names, left out: {listed(self.left_out, most=_LISTED)}")
        return tuple(notes)


def describe_from_zoos(store: Store, *, without_prefix: Zoo | None = None) -> ZooDescription:
    """Derive the attributes of all stored models whose names are of a zoo, and store them with their sources.

    What users state, and what manifests record, wins over derived attributes. Raises if no name is of a zoo.
    """
    stored = list(
        dict.fromkeys(name for part in store.test_sets.names() for name in store.predictions.model_names(part))
    )
    in_zoos = {name: place for name in stored if (place := zoo_of(name, without_prefix=without_prefix))}
    if not in_zoos:
        raise InputError(_no_models(stored))
    published, problem = _published_parameters([place for zoo, place in in_zoos.values() if zoo is Zoo.TORCHVISION])
    derived = {name: _rows(name, *place, stored, published) for name, place in in_zoos.items()}
    before, after = store.described_models.update(DescribedModels(derived=derived))
    old = [name for name in derived if name in before.derived]
    updated = tuple(name for name in old if before.derived[name] != derived[name])
    values = {name: after.derived_of(name).stated for name in derived}
    return ZooDescription(
        tuple(name for name in derived if name not in before.derived),
        updated,
        tuple(name for name in old if name not in updated),
        {key: sum(key in stated for stated in values.values()) for key in ATTRIBUTES},
        {key: tuple(name for name, stated in values.items() if key not in stated) for key in _NAMED},
        tuple(name for name in stored if name not in in_zoos),
        problem,
    )


def _rows(
    model: str, zoo: Zoo, place: str, stored: Collection[str], published: Mapping[str, int]
) -> dict[str, ModelAttributes]:
    """The derived attributes of a model by source; a base model that is not stored may not exist, and is left out."""
    attributes = attributes_of_name(zoo, place)
    base = model.removesuffix(place) + attributes.base_model if attributes.base_model else ""
    rows = {source_of_name(zoo): replace(attributes, base_model=base if base in stored else "")}
    if zoo is Zoo.TORCHVISION and place in published:
        rows[f"torchvision {version('torchvision')}"] = ModelAttributes(parameters=published[place])
    return rows


def _published_parameters(places: Sequence[str]) -> tuple[dict[str, int], str]:
    """The numbers of parameters that an installed torchvision publishes, or the reason why it cannot be read."""
    try:
        return (torchvision_parameters(places) if places else {}), ""
    except RegradeError as error:
        return {}, str(error)


def _no_models(stored: Sequence[str]) -> str:
    zoos = ", ".join(f"{zoo.value}:" for zoo in Zoo)
    if not stored:
        return "there are no predictions of models here: import or make some first"
    return (
        f"no name of {amount(len(stored), 'model')} begins with the prefix of a zoo ({zoos}): with --zoo NAME, names "
        "without a prefix are those of that zoo"
    )
