"""Which models and people a generalization study is about: names, patterns, and people next to the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regrade.core import PERSON_PREFIX, InputError, UnknownName
from regrade.core.names import refuse_text
from regrade.studies.seeded_methods import seeded_method


@dataclass(frozen=True)
class NameOptions:
    """The options that choose models and people: names, and patterns with ``*``."""

    models: Sequence[str]
    people: Sequence[str]
    only: Sequence[str]
    without: Sequence[str]

    def __post_init__(self) -> None:
        for what, names in vars(self).items():
            refuse_text(names, what)

    @property
    def named_models(self) -> tuple[str, ...]:
        """The models that are named, without people."""
        return tuple(name for name in self.models if not name.startswith(PERSON_PREFIX))

    @property
    def named_people(self) -> tuple[str, ...]:
        """The people that are named, with or without the prefix ``person:``, also those among the models."""
        among_models = [name for name in self.models if name.startswith(PERSON_PREFIX)]
        named = [PERSON_PREFIX + name.removeprefix(PERSON_PREFIX) for name in self.people]
        return tuple(dict.fromkeys((*among_models, *named)))


def chosen_models(options: NameOptions, stored: Mapping[str, Sequence[str]], *, first: str) -> tuple[str, ...]:
    """The models among those ``stored``, by test set, that the options choose; an unknown name or pattern raises.

    ``first`` is the command that adds the first model.
    """
    everyone = sorted({model for models in stored.values() for model in models})
    for model in options.named_models:
        if model not in everyone:
            raise UnknownName("model", model, everyone)

    def matching(patterns: Sequence[str]) -> set[str]:
        methods = [seeded_method(name, everyone, where=" or ".join(stored), first=first) for name in patterns]
        return {model for method in methods for model in method.models.values()}

    kept, left_out = matching(options.only), matching(options.without)
    chosen = options.named_models or tuple(everyone)
    models = tuple(model for model in chosen if (not options.only or model in kept) and model not in left_out)
    if not models and everyone:
        raise InputError("no model is left: --model, --only and --without exclude each other")
    return models


def chosen_people(options: NameOptions, stored: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The people that the options name; each needs answers on the original, which comes first, and on a new set."""
    everyone = sorted({person for people in stored.values() for person in people})
    original, *new = stored
    for person in options.named_people:
        if person not in everyone:
            raise UnknownName("person", person, everyone, first="regrade import people")
        for places in ([original], new):
            if not any(person in stored[name] for name in places):
                raise InputError(
                    f"{person} has no answers on {' or '.join(places)}: people are compared on both sets; run regrade "
                    "import people, or leave out this person"
                )
    return options.named_people
