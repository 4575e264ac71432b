"""The file of a gate: the options of the command under the same names, and rules of single test sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from regrade.core import FormatError, InputError, UnknownName
from regrade.studies.gate.rules import GateRules, metric_values
from regrade.studies.scoring import EVERYTHING

TABLE = "test_set"
"""The key of tables with the rules of a single test set: [test_set.NAME]."""


@dataclass(frozen=True)
class GateFile:
    """What a file says: models, test sets, labels, and rules as arguments, for all test sets and for single ones."""

    candidate: str | None
    baseline: str | None
    test_sets: tuple[str, ...]
    labels: str | None
    clusters: str | None
    rules: Mapping[str, Any]
    of_test_set: Mapping[str, Mapping[str, Any]]

    def labels_of(self, test_set: str) -> str | None:
        """The label set of a test set."""
        return self.of_test_set.get(test_set, {}).get("labels", self.labels)

    def clusters_of(self, test_set: str) -> str | None:
        """The column of the clusters of a test set."""
        return self.of_test_set.get(test_set, {}).get("clusters", self.clusters)

    def rules_of(self, test_set: str) -> dict[str, Any]:
        """The rules of a test set; its own replace those for all."""
        own = {name: value for name, value in self.of_test_set.get(test_set, {}).items() if name in _RULES}
        return {**self.rules, **own}


NO_FILE = GateFile(None, None, (), None, None, {}, {})
"""The file of a gate without one."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_Check = tuple[Callable[[Any], bool], str]
_TEXT: _Check = (_is_text, 'text in quotes, such as "val"')
_NUMBERS: _Check = (_is_numbers, "a table of numbers, such as {dogs = 60}")
_NUMBER: _Check = (_is_number, "a number in percent, such as 0.5")
_RULES: Mapping[str, _Check] = {
    "margin": _NUMBER,
    "require_better": (lambda value: isinstance(value, bool), "true or false"),
    "slice_margins": _NUMBERS,
    "floors": (lambda value: _is_number(value) or _is_numbers(value), "a number or a table of numbers"),
    "max_negative_flips": _NUMBER,
    "at_least": _NUMBERS,
    "at_most": _NUMBERS,
    "min_coverage": _NUMBER,
}
_OF_TEST_SET: Mapping[str, _Check] = {"labels": _TEXT, "clusters": _TEXT, **_RULES}
_ALL: Mapping[str, _Check] = {
    "candidate": _TEXT,
    "baseline": _TEXT,
    "test_sets": (_is_names, 'a list of names, such as ["val"]'),
    **_OF_TEST_SET,
    TABLE: (lambda value: isinstance(value, dict) and all(isinstance(v, dict) for v in value.values()), "tables"),
}


def gate_file(raw: Mapping[str, Any], path: str) -> GateFile:
    """Read the content of a file; an unknown key or an invalid value raises, with the path."""
    _check(raw, _ALL, path)
    tables = raw.get(TABLE, {})
    for name, table in tables.items():
        _check(table, _OF_TEST_SET, f"{path}: [{TABLE}.{name}]")
    test_sets = tuple(raw.get("test_sets", tables))
    for name in tables:
        if name not in test_sets:
            raise FormatError(f"{path}: {UnknownName('test set of the gate', name, test_sets)}: add it to test_sets")
    return GateFile(
        raw.get("candidate"),
        raw.get("baseline"),
        test_sets,
        raw.get("labels"),
        raw.get("clusters"),
        _arguments(raw, path),
        {name: {**_arguments(table, f"{path}: [{TABLE}.{name}]"), **_texts(table)} for name, table in tables.items()},
    )


def _check(values: Mapping[str, Any], checks: Mapping[str, _Check], where: str) -> None:
    for key, value in values.items():
        if key not in checks:
            raise FormatError(f"{where}: {UnknownName('setting', key, checks)}: rename or remove it")
        is_valid, expected = checks[key]
        if not is_valid(value):
            raise FormatError(f"{where}: {key} must be {expected}, and is {str(value)[:40]!r}")


def _texts(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: table[key] for key in ("labels", "clusters") if key in table}


def _arguments(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The rules as arguments, in fractions; thresholds out of range raise."""
    try:
        arguments = {key: _fraction(key, value) for key, value in values.items() if key in _RULES}
        GateRules(**arguments)
    except InputError as error:
        raise FormatError(f"{where}: {error}") from None
    return arguments


def _fraction(key: str, value: Any) -> Any:
    if key in ("at_least", "at_most"):
        return metric_values(value)
    if key == "floors" and _is_number(value):
        return {EVERYTHING: value / 100}
    if isinstance(value, bool):
        return value
    return {name: number / 100 for name, number in value.items()} if isinstance(value, dict) else value / 100
