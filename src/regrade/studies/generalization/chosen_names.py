"""Which models and people a generalization study is about: names, patterns, and people next to the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from regrade.core import PERSON_PREFIX, InputError, TestSet, UnknownName
from regrade.core.names import refuse_text
from regrade.store import FIRST_MODEL, Store
from regrade.studies.seeded_methods import seeded_method


class NameOptions(Protocol):
    """The options that choose test sets, models and people."""

    @property
    def original(self) -> str: ...
    @property
    def new(self) -> Sequence[str]: ...
    @property
    def models(self) -> Sequence[str]: ...
    @property
    def people(self) -> Sequence[str]: ...
    @property
    def only(self) -> Sequence[str]: ...
    @property
    def without(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class ChosenNames:
    """The models, and the people by their full names; each has predictions on at least one of the test sets."""

    models: tuple[str, ...]
    people: tuple[str, ...]

    def on(self, store: Store, test_set: TestSet) -> tuple[str, ...]:
        """Those with predictions on a test set; without a model, it raises."""
        stored = store.predictions.names(test_set.name)
        models = tuple(name for name in self.models if name in stored)
        if not models:
            raise InputError(f"none of these models has predictions on {test_set.name}")
        return (*models, *(name for name in self.people if name in stored))


def chosen_names(store: Store, options: NameOptions) -> ChosenNames:
    """The models and people that the options name, checked to exist.

    People are those of ``people``, with or without the prefix ``person:``, and those among ``models``. A person needs
    answers on the original and on a new test set.
    """
    for what in ("models", "people", "only", "without"):
        refuse_text(getattr(options, what), what)
    if not options.new:
        raise InputError("name at least one new test set")
    sets = [store.test_set(name).name for name in (options.original, *options.new)]
    named = tuple(name for name in options.models if not name.startswith(PERSON_PREFIX))
    among_models = tuple(name for name in options.models if name.startswith(PERSON_PREFIX))
    people = tuple(dict.fromkeys((*among_models, *(PERSON_PREFIX + _short(name) for name in options.people))))
    for name in sets:
        store.predictions.check_manifests(name, (*named, *people))
    _check_people(store, people, sets)
    return ChosenNames(_models(store, named, sets, options.only, options.without), people)


def _short(person: str) -> str:
    return person.removeprefix(PERSON_PREFIX)


def _models(
    store: Store, named: Sequence[str], sets: Sequence[str], only: Sequence[str], without: Sequence[str]
) -> tuple[str, ...]:
    stored = sorted({model for name in sets for model in store.predictions.model_names(name)})
    for model in named:
        if model not in stored:
            raise UnknownName("model", model, stored)
    chosen = tuple(named) or tuple(stored)
    kept, left_out = (_matching(patterns, stored, sets) for patterns in (only, without))
    models = tuple(model for model in chosen if (not only or model in kept) and model not in left_out)
    if not models and stored:
        raise InputError("no model is left: --model, --only and --without exclude each other")
    return models


def _matching(patterns: Sequence[str], stored: Sequence[str], sets: Sequence[str]) -> set[str]:
    where = " or ".join(dict.fromkeys(sets))
    methods = [seeded_method(pattern, stored, where=where, first=FIRST_MODEL) for pattern in patterns]
    return {model for method in methods for model in method.models.values()}


def _check_people(store: Store, people: Sequence[str], sets: Sequence[str]) -> None:
    """Raise if a person is unknown, or has answers on the original or on the new test sets only."""
    original, *new = sets
    answered = {name: store.predictions.people_names(name) for name in sets}
    everyone = sorted({person for names in answered.values() for person in names})
    for person in people:
        if person not in everyone:
            raise UnknownName("person", person, everyone, first="regrade import people")
        for places in ([original], new):
            if not any(person in answered[name] for name in places):
                raise InputError(
                    f"{person} has no answers on {' or '.join(places)}: people are compared on both sets; run regrade "
                    "import people, or leave out this person"
                )
