"""A finding: what a result says in words, as strongly as its interval allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import singledispatch
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class FindingKind:
    """What all findings of one kind have in common: a name, and the test that decides whether they are stated.

    ``claims`` is true where the headline can be false of the population that the data are a sample of. Such a kind
    needs a null check: data without the effect, in which it is stated in no more runs than its level allows.
    """

    name: str
    test: str
    claims: bool


@dataclass(frozen=True)
class Finding:
    """A headline of a few words, and a sentence or two with the numbers and their intervals.

    ``weight`` says how much a reader who has one minute should care: near 1 for what overturns a first impression,
    near 0.5 for what anyone would ask, near 0 for what is only good to know.
    """

    kind: FindingKind
    headline: str
    text: str
    weight: float

    def as_dict(self) -> dict[str, Any]:
        """The finding, ready for JSON."""
        return {
            "kind": self.kind.name,
            "headline": self.headline,
            "text": self.text,
            "test": self.kind.test or None,
            "weight": self.weight,
        }


_KINDS: dict[str, FindingKind] = {}
_VERDICT_KINDS: dict[Enum, FindingKind] = {}


def claim(name: str, test: str) -> FindingKind:
    """Register a kind of finding that claims more than what was counted, by this test."""
    return _registered(FindingKind(name, test, claims=True))


def no_claim(name: str, test: str = "") -> FindingKind:
    """Register a kind that only describes the data at hand, or says that a test left the question open."""
    return _registered(FindingKind(name, test, claims=False))


def _registered(kind: FindingKind) -> FindingKind:
    if kind.name in _KINDS:
        raise ValueError(f"there are two kinds of finding named {kind.name!r}")
    _KINDS[kind.name] = kind
    return kind


def finding_kinds() -> Mapping[str, FindingKind]:
    """All kinds of finding, by name."""
    import regrade.report.reading  # noqa: F401 - each module registers its kinds

    return MappingProxyType(_KINDS)


def register_verdicts(kinds: Mapping[Enum, FindingKind]) -> None:
    """Register the kind of each verdict that tables print next to the findings."""
    _VERDICT_KINDS.update(kinds)


def verdict_kinds() -> Mapping[Enum, FindingKind]:
    """The kind of every verdict that a study's tables print."""
    import regrade.report.reading  # noqa: F401 - each module registers its verdicts

    return MappingProxyType(_VERDICT_KINDS)


@singledispatch
def verdicts(result: object) -> frozenset[Enum]:
    """The verdicts that the tables of a study's result print, each once; empty for results without any."""
    import regrade.report.reading  # noqa: F401 - each module registers its verdicts

    read = verdicts.dispatch(type(result))
    return frozenset() if read is verdicts.dispatch(object) else read(result)


@singledispatch
def findings(result: object) -> tuple[Finding, ...]:
    """What a study's result says in words, the weightiest first; nothing where no one has said how to read it."""
    import regrade.report.reading  # noqa: F401 - each registers itself

    read = findings.dispatch(type(result))
    return () if read is findings.dispatch(object) else read(result)
