"""A report: sections that each answer one question, and what stands behind their numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from regrade.core import RegradeError, Table, Tabular
from regrade.report.figure import Figure, figure
from regrade.report.finding import Finding, findings

MOST_FINDINGS = 7
"""How many findings a report tells first."""


_OF_ONE = 2  # findings of one section before those of others come


@dataclass(frozen=True)
class GalleryTile:
    """A image as a small JPEG of ``size`` (width, height), with its id, its label and what models made of it."""

    jpeg: bytes
    size: tuple[int, int]
    image: str
    label: str
    said: str
    missed: str


@dataclass(frozen=True)
class Gallery:
    """Images beside each other, under a title."""

    title: str
    tiles: tuple[GalleryTile, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Section:
    """One question, what it is asked of, and the answer: in words, drawn, as tables, as images.

    ``anchor`` is its name in links and files. ``result`` goes into the data as it is. ``trouble`` says in one line why
    there is no answer, where there is none, and ``damaged`` whether a damaged or missing file is why.
    """

    anchor: str
    question: str
    about: str = ""
    findings: tuple[Finding, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    gallery: Gallery | None = None
    result: Any = None
    trouble: str = ""
    damaged: bool = False

    @property
    def title(self) -> str:
        """The question with what it is asked of."""
        return f"{self.question} ({self.about})" if self.about else self.question


@dataclass(frozen=True)
class KeyFinding:
    """A finding, and the section that shows it."""

    finding: Finding
    section: Section


@dataclass(frozen=True, eq=False)
class Provenance:
    """What stands behind every number: settings and versions by name, tables for people, and all of it as data."""

    settings: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that a report says.

    ``names`` are the models and people that a reader may look for, ``open_questions`` what could be asked with more
    material, each with what it takes.
    """

    title: str
    subtitle: str
    created: str
    sections: tuple[Section, ...]
    names: tuple[str, ...]
    behind: Provenance
    open_questions: tuple[tuple[str, str], ...] = ()

    @cached_property
    def key_findings(self) -> tuple[KeyFinding, ...]:
        """What a reader with one minute should know, the weightiest first; equal ones in the order of the sections.

        Sections with the same question mostly say the same of several test sets: two findings of the one with the most
        to say come before all others.
        """
        told = sorted(
            (KeyFinding(one, section) for section in self.sections for one in section.findings),
            key=lambda one: -one.finding.weight,
        )
        speakers = {one.section.question: one.section for one in reversed(told)}
        first, later = list[KeyFinding](), list[KeyFinding]()
        for one in told:
            speaks = one.section is speakers[one.section.question]
            fresh = speaks and sum(other.section is one.section for other in first) < _OF_ONE
            (first if fresh else later).append(one)
        chosen = {id(one) for one in (*first, *later)[:MOST_FINDINGS]}
        return tuple(one for one in told if id(one) in chosen)


def section_of(
    bare: Section,
    result: Tabular,
    *,
    tables: Sequence[Table] = (),
    more_figures: Callable[[Any], Sequence[Figure]] = lambda _: (),
) -> Section:
    """A section with any result: its table, or those given, its figures and its findings as far as there are any."""
    drawn, notes = list[Figure](), list[str]()
    for draw in (lambda one: (figure(one),), more_figures):
        try:
            drawn += draw(result)
        except RegradeError as error:
            notes.append(f"no figure: {error}")
    first, *others = tables or (result.table(),)
    told = replace(first, notes=(*first.notes, *notes))
    return replace(
        bare, findings=findings(result), figures=tuple(drawn), tables=(told, *others), result=result
    )  # fmt: skip


def anchor_of(*names: str) -> str:
    """A name for links and files: letters, digits and dashes.

    >>> anchor_of("grade", "ImageNet V2 / top")
    'grade-imagenet-v2-top'
    """
    return re.sub(r"[^a-z0-9]+", "-", " ".join(names).lower()).strip("-") or "section"
