"""What users state about models: family, size, training data, year, and the model that an intervention started from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from regrade.core.errors import InputError
from regrade.core.names import methods_of, model_pattern

_YEARS = (1950, 2100)


@dataclass(frozen=True, slots=True)
class ModelAttributes:
    """What is stated about a model; what is not stated is empty or None.

    ``parameters`` and ``training_images`` are counts. ``base_model`` names the model that this one modifies: the same
    architecture without an intervention such as other training data, augmentation or an added block.
    """

    family: str = ""
    parameters: int | None = None
    training_data: str = ""
    training_images: int | None = None
    year: int | None = None
    base_model: str = ""

    def __post_init__(self) -> None:
        for name, number in (("parameters", self.parameters), ("training_images", self.training_images)):
            if number is not None and number < 1:
                raise InputError(f"{name} must be at least 1, got {number}")
        if self.year is not None and not _YEARS[0] <= self.year <= _YEARS[1]:
            raise InputError(f"year must be between {_YEARS[0]} and {_YEARS[1]}, got {self.year}")

    @property
    def stated(self) -> dict[str, Any]:
        """The attributes that are stated, by name."""
        values = {name: getattr(self, name) for name in ATTRIBUTES}
        return {name: value for name, value in values.items() if value not in ("", None)}

    def updated(self, later: ModelAttributes) -> ModelAttributes:
        """The attributes with those that ``later`` states in place of their own.

        >>> ModelAttributes(family="resnet", year=2014).updated(ModelAttributes(year=2015)).stated
        {'family': 'resnet', 'year': 2015}
        """
        return replace(self, **later.stated)

    def differing(self, later: ModelAttributes) -> tuple[str, ...]:
        """The names of the attributes that both state, with different values."""
        own, new = self.stated, later.stated
        return tuple(name for name in own if name in new and new[name] != own[name])


ATTRIBUTES = tuple(item.name for item in fields(ModelAttributes))
"""The names of all attributes."""


@dataclass(frozen=True)
class DescribedModels:
    """The attributes of models by name; a name may be a pattern with ``*``, or the name of a training.

    ``derived`` are those that nobody stated, by model and by source, such as the name of the model in a zoo: they
    never replace what is stated. A model that is its own base model, directly or through others, raises.
    """

    by_name: Mapping[str, ModelAttributes] = field(default_factory=dict)
    derived: Mapping[str, Mapping[str, ModelAttributes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.by_name:
            self._check_base_models(name)

    def _check_base_models(self, name: str) -> None:
        """Raise if the base models of a model lead back to it."""
        path = [name]
        while base := self._base_model(path[-1]):
            if base == name:
                raise InputError(
                    f"{name} is its own base model"
                    if len(path) == 1
                    else f"base models form a cycle: {' -> '.join([*path, name])}"
                )
            if base in path:
                return  # a cycle that does not contain this model: reported for a model that is part of it
            path.append(base)

    def _base_model(self, name: str) -> str:
        return self.by_name[name].base_model if name in self.by_name else ""

    @property
    def base_models(self) -> dict[str, str]:
        """The base model of every model that has one."""
        return {name: attributes.base_model for name, attributes in self.by_name.items() if attributes.base_model}

    @cached_property
    def digest(self) -> str:
        """A hash of all names and attributes, independent of their order."""
        content: dict[str, Any] = {name: attributes.stated for name, attributes in self.by_name.items()}
        if self.derived:
            rows = {name: {key: row.stated for key, row in rows.items()} for name, rows in self.derived.items()}
            content = {"stated": content, "derived": rows}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def of(self, model: str) -> ModelAttributes:
        """The attributes of a model: those under its own name win over those of a pattern or training."""
        attributes = ModelAttributes()
        methods = (name for name in methods_of(model) if ":" not in name and name in self.by_name)
        patterns = (name for name, pattern in self._patterns if pattern.fullmatch(model))
        for name in sorted((*methods, *patterns), key=self._positions.__getitem__):
            attributes = attributes.updated(self.by_name[name])
        return attributes.updated(self._entry(model))

    def derived_of(self, model: str) -> ModelAttributes:
        """The attributes of a model that are derived; the first source of a value counts."""
        attributes = ModelAttributes()
        for row in self.derived.get(model, {}).values():
            attributes = row.updated(attributes)
        return attributes

    def sources_of(self, model: str) -> dict[str, str]:
        """The source of each attribute of a model that is derived and not stated."""
        sources: dict[str, str] = {}
        for source, row in self.derived.get(model, {}).items():
            sources = dict.fromkeys(row.stated, source) | sources
        stated = self.of(model).stated
        return {key: sources[key] for key in ATTRIBUTES if key in sources and key not in stated}

    @cached_property
    def _patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        return tuple((name, model_pattern(name)) for name in self.by_name if "*" in name)

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The position of every name: of several that stand for a model, the later ones win."""
        return {name: position for position, name in enumerate(self.by_name)}

    def updated(self, later: DescribedModels) -> DescribedModels:
        """All models, with the attributes that ``later`` states in place of earlier ones; so for derived ones."""
        names = dict.fromkeys((*self.by_name, *later.by_name))
        stated = {name: self._entry(name).updated(later._entry(name)) for name in names}
        return DescribedModels(stated, {**self.derived, **later.derived})

    def changed(self, later: DescribedModels) -> tuple[AttributeChange, ...]:
        """The attributes that ``later`` states with another value."""
        return tuple(
            AttributeChange(name, key, self.by_name[name].stated[key], attributes.stated[key])
            for name, attributes in later.by_name.items()
            for key in self._entry(name).differing(attributes)
        )

    def _entry(self, name: str) -> ModelAttributes:
        return self.by_name.get(name, ModelAttributes())


@dataclass(frozen=True)
class AttributeChange:
    """An attribute of a model that gets another value."""

    model: str
    attribute: str
    before: str | int
    after: str | int

    def __str__(self) -> str:
        return f"{self.attribute} of {self.model} from {self.before} to {self.after}"


def described_models(rows: Iterable[tuple[str, ModelAttributes]]) -> DescribedModels:
    """Collect rows by model; rows of one model complete each other, and raise if they state different values."""
    by_name: dict[str, ModelAttributes] = {}
    for name, attributes in rows:
        earlier = by_name.get(name, ModelAttributes())
        for key in earlier.differing(attributes):
            values = f"{earlier.stated[key]} and {attributes.stated[key]}"
            raise InputError(f"two rows of {name} differ in {key}: {values}; keep one of them")
        by_name[name] = earlier.updated(attributes)
    return DescribedModels(by_name)
