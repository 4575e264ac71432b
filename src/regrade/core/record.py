"""Records as JSON: one function turns frozen dataclasses into plain values, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, singledispatch
from typing import Any

import numpy as np

_PLAIN = frozenset({str, int, float, bool, type(None)})


class JsonItems(Iterable[Any], Sized):
    """The items of a sequence that is computed on demand, as JSON values; also computed on demand."""

    def __init__(self, items: Sequence[Any], collect: Collect) -> None:
        self._items = items
        self._collect = collect

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return (json_value(item, self._collect) for item in self._items)


Collect = Callable[[JsonItems], list[Any]]
"""Turns a sequence that is computed on demand, and may be very long, into a list."""


class Record:
    """The base of records with ``as_dict``.

    A field is a key of the same name, unless its metadata say otherwise: `json_key`, `INLINE`, `NOT_IN_JSON`.
    ``json_fields`` may add values that are computed from the fields.
    """

    __slots__ = ()

    def as_dict(self, collect: Collect = list) -> dict[str, Any]:
        """The record as a dictionary for JSON."""
        return _plain_values(self.json_fields(), collect)

    def json_fields(self) -> dict[str, Any]:
        """The keys of the record in JSON, with their values before conversion."""
        return _field_values(self)


@dataclass(frozen=True)
class _JsonKey:
    """How a field is written: its key, a function of its value, and whether it is left out if None."""

    key: str | None
    value: Callable[[Any], Any] | None = None
    only_if_set: bool = False

    def written(self, value: Any) -> dict[str, Any]:
        """The keys that the field becomes; a field without a key is a record, whose keys it becomes."""
        if not self.key:
            return value.json_fields() if isinstance(value, Record) else _field_values(value)
        return {self.key: self.value(value) if self.value else value}


def json_key(
    key: str, value: Callable[[Any], Any] | None = None, *, only_if_set: bool = False
) -> Mapping[str, _JsonKey]:
    """Metadata of a field: its key in JSON, and a function of its value; ``only_if_set`` leaves out None."""
    return {"json": _JsonKey(key, value, only_if_set)}


INLINE = {"json": _JsonKey("")}
"""Metadata of a field that is a record: its keys become keys of the record around it."""
NOT_IN_JSON = {"json": _JsonKey(None)}
"""Metadata of a field that is left out."""


@singledispatch
def json_value(value: Any, collect: Collect = list) -> Any:
    """A value as JSON: records and mappings become dictionaries, sequences lists, enums their values.

    NaN in arrays becomes None. Keys of mappings become text. ``collect`` builds the lists of sequences that are
    computed on demand. Other types raise TypeError.

    >>> from regrade.core import Estimate
    >>> json_value({0.5: Estimate(0.5, 0.4, 0.6, 100, "wilson 95%"), 0.9: np.array([1, np.nan])})
    {'0.5': {'value': 0.5, 'low': 0.4, 'high': 0.6, 'n': 100, 'method': 'wilson 95%'}, '0.9': [1.0, None]}
    """
    if not is_dataclass(value):
        raise TypeError(f"a {type(value).__name__} cannot be written as JSON")
    return _plain_values(_field_values(value), collect)


@json_value.register(str | int | float | None)
def _plain(value: Any, _: Collect = list) -> Any:
    return value


@json_value.register
def _record(value: Record, collect: Collect = list) -> dict[str, Any]:
    return value.as_dict(collect)


@json_value.register
def _mapping(value: Mapping, collect: Collect = list) -> dict[str, Any]:  # type: ignore[type-arg]
    return {_key(key): json_value(item, collect) for key, item in value.items()}


@json_value.register(list | tuple)
def _list(value: Any, collect: Collect = list) -> list[Any]:
    return [json_value(item, collect) for item in value]


@json_value.register
def _on_demand(value: Sequence, collect: Collect = list) -> list[Any]:  # type: ignore[type-arg]
    return collect(JsonItems(value, collect))


@json_value.register
def _member(value: Enum, _: Collect = list) -> Any:
    return value.value


@json_value.register(np.ndarray)
def _array(values: Any, _: Collect = list) -> list[Any]:
    plain = values.astype(object)
    if values.dtype.kind == "f":
        plain[np.isnan(values)] = None
    items: list[Any] = plain.tolist()
    return items


@json_value.register
def _scalar(value: np.generic, _: Collect = list) -> Any:
    return value.item()


def _key(key: Any) -> str:
    key = key.value if isinstance(key, Enum) else key
    return f"{key:g}" if isinstance(key, float) else str(key)


@cache
def _rules(record: type[Any]) -> tuple[tuple[str, _JsonKey | None], ...]:
    """The fields of a class of records that are written, by name, with their metadata."""
    rules = [(field.name, field.metadata.get("json")) for field in fields(record)]
    return tuple((name, rule) for name, rule in rules if rule is None or rule.key is not None)


def _field_values(record: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, rule in _rules(record.__class__):
        value = getattr(record, name)
        if rule is None:
            values[name] = value
        elif value is not None or not rule.only_if_set:
            values |= rule.written(value)
    return values


def _plain_values(values: Mapping[str, Any], collect: Collect) -> dict[str, Any]:
    """The values as JSON; most are plain already, and there may be millions."""
    return {key: value if type(value) in _PLAIN else json_value(value, collect) for key, value in values.items()}
