"""A finding: what a result says in words, as strongly as its interval allows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch


@dataclass(frozen=True)
class Finding:
    """A headline of a few words, and a sentence or two with the numbers and their intervals.

    ``weight`` says how much a reader who has one minute should care: near 1 for what overturns a first impression,
    near 0.5 for what anyone would ask, near 0 for what is only good to know.
    """

    headline: str
    text: str
    weight: float


@singledispatch
def findings(result: object) -> tuple[Finding, ...]:
    """What a study's result says in words, the weightiest first; nothing where no one has said how to read it."""
    import regrade.report.reading  # noqa: F401 - each registers itself

    read = findings.dispatch(type(result))
    return () if read is findings.dispatch(object) else read(result)
