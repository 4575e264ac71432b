"""Findings: the conclusions of a result in words, no stronger than its intervals and tests allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from regrade.core.record import Record


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding: its name, and the test that decides whether it is stated.

    ``claims`` is true if the headline is a claim about the population that the data were sampled from. Such a kind
    needs a null check: on data without the effect, it must not be stated more often than its level allows.
    """

    name: str
    test: str
    claims: bool


@dataclass(frozen=True)
class Finding(Record):
    """A short headline, and one or two sentences with the numbers and their intervals.

    ``weight`` is the importance for a reader with one minute: near 1 for what contradicts a first impression, near 0.5
    for what most readers would ask, near 0 for background information.
    """

    kind: FindingKind
    headline: str
    text: str
    weight: float

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the name and the test of the kind."""
        kind = {"kind": self.kind.name, "headline": self.headline, "text": self.text, "test": self.kind.test or None}
        return {**kind, "weight": self.weight}


def by_weight(candidates: Iterable[Finding | None]) -> tuple[Finding, ...]:
    """The findings of a result, the most important first; None is a question without a finding."""
    return tuple(sorted((finding for finding in candidates if finding), key=lambda finding: -finding.weight))


_KINDS: dict[str, FindingKind] = {}
_VERDICT_KINDS: dict[Enum, FindingKind] = {}


def claim(name: str, test: str) -> FindingKind:
    """Register a kind of finding that makes a claim about the population, decided by this test."""
    return _registered(FindingKind(name, test, claims=True))


def no_claim(name: str, test: str = "") -> FindingKind:
    """Register a kind that only describes the data, or says that a test was inconclusive."""
    return _registered(FindingKind(name, test, claims=False))


def _registered(kind: FindingKind) -> FindingKind:
    if kind.name in _KINDS:
        raise ValueError(f"a kind of finding named {kind.name!r} is already registered")
    _KINDS[kind.name] = kind
    return kind


def finding_kinds() -> Mapping[str, FindingKind]:
    """All kinds of finding, by name."""
    return MappingProxyType(_KINDS)


def register_verdicts(kinds: Mapping[Enum, FindingKind]) -> None:
    """Register the kind of each verdict that tables print next to the findings."""
    _VERDICT_KINDS.update(kinds)


def verdict_kinds() -> Mapping[Enum, FindingKind]:
    """The kind of every verdict that a study's tables print."""
    return MappingProxyType(_VERDICT_KINDS)
