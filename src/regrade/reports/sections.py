"""A report: sections that each answer one question, and the provenance of their numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

from regrade.core import RegradeError, Table, Tabular
from regrade.display import Figure, Finding
from regrade.display.figure import heading_of
from regrade.display.parts import heading
from regrade.studies import Study

MOST_FINDINGS = 7
"""The most key findings of a report."""

_TALL, _SCREEN = 700, 450  # pixels: figures with higher panels are divided, and what is shown of them at first
_PANEL, _MARGINS = 200, 110  # pixels: the height of a panel that says none, and that of its title, axis and legend
_PER_QUESTION = 2  # key findings that answer the same question


@dataclass(frozen=True)
class GalleryTile:
    """An image as a small JPEG of ``size`` (width, height), with its id, its label and the models' predictions."""

    jpeg: bytes
    size: tuple[int, int]
    image: str
    label: str
    predicted: str
    missed: str


@dataclass(frozen=True)
class Gallery:
    """A grid of images under a title."""

    title: str
    tiles: tuple[GalleryTile, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Section:
    """One question, what it is about, and the answer as findings, figures, tables and images.

    ``anchor`` is its name in links and files. ``result`` is written to results.json. ``trouble`` says in one line why
    there is no answer, and ``damaged`` whether a damaged or missing file is the reason.
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
        """The question and what it is about."""
        return f"{self.question} ({self.about})" if self.about else self.question


@dataclass(frozen=True)
class KeyFinding:
    """A finding and the section it belongs to."""

    finding: Finding
    section: Section


@dataclass(frozen=True, eq=False)
class Provenance:
    """The provenance of all numbers: settings and versions by name, tables for people, and all of it as data."""

    settings: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Report:
    """The content of a report.

    ``names`` are the models and people that a reader can search for, ``open_questions`` the questions that more data
    would answer, each with the data it needs. ``hard`` are test sets and slices that were chosen because models find
    them hard. ``notes`` are about the report as a whole.
    """

    title: str
    subtitle: str
    created: str
    sections: tuple[Section, ...]
    names: tuple[str, ...]
    provenance: Provenance
    open_questions: tuple[tuple[str, str], ...] = ()
    hard: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def key_findings(self) -> tuple[KeyFinding, ...]:
        """The most important findings, highest weight first; ties are in the order of the sections.

        Sections with the same question mostly repeat a finding for several test sets: there are at most two findings
        per question, of the section with the highest weight. Findings about ``hard`` images are left out.
        """
        candidates = (KeyFinding(finding, section) for section in self.sections for finding in section.findings)
        by_weight = sorted(
            (candidate for candidate in candidates if not self._is_about_hard_images(candidate.finding)),
            key=lambda candidate: -candidate.finding.weight,
        )
        leading = {candidate.section.question: candidate.section for candidate in reversed(by_weight)}
        chosen = list[KeyFinding]()
        for candidate in by_weight:
            section = candidate.section
            of_section = sum(earlier.section is section for earlier in chosen)
            if section is leading[section.question] and of_section < _PER_QUESTION:
                chosen.append(candidate)
        return tuple(chosen[:MOST_FINDINGS])

    def _is_about_hard_images(self, finding: Finding) -> bool:
        return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", finding.headline) for name in self.hard)


def section_of(
    bare: Section,
    study: Study[..., Any, Any],
    result: Tabular,
    *,
    tables: Sequence[Table] = (),
    more_figures: Callable[[Any], Sequence[Figure]] = lambda _: (),
) -> Section:
    """Fill a section from the result of a study: its table or the given tables, its figures and its findings."""
    drawn, notes = list[Figure](), list[str]()
    for draw in (partial(_own_figure, study), more_figures):
        try:
            drawn += [part for figure in draw(result) for part in figure_parts(figure)]
        except RegradeError as error:
            notes.append(f"no figure: {error}")
    first, *more_tables = tables or (result.table(),)
    noted = replace(first, notes=(*first.notes, *notes))
    return replace(
        bare, findings=study.findings(result), figures=tuple(drawn), tables=(noted, *more_tables), result=result
    )  # fmt: skip


def _own_figure(study: Study[..., Any, Any], result: Tabular) -> Sequence[Figure]:
    return () if study.figure is None else (study.figure(result),)


def figure_parts(figure: Figure) -> tuple[Figure, ...]:
    """A figure that is taller than a screen as its first panels and the others, which a page folds.

    Panels with a common axis stay together.
    """
    spec = figure.spec
    chart: Any = figure.chart
    panels = spec.get("vconcat", ())
    heights = list(accumulate(_height(panel) + _MARGINS for panel in panels))
    if len(panels) < 2 or heights[-1] <= _TALL or _has_common_axis(spec):
        return (figure,)
    first = max(sum(height <= _SCREEN for height in heights), 1)
    title, _ = heading_of(spec)
    upper, lower = chart.copy(deep=False), chart.copy(deep=False)
    upper.vconcat, lower.vconcat = chart.vconcat[:first], chart.vconcat[first:]
    lower.title = heading(f"{title} (continued)")
    return replace(figure, chart=upper), replace(figure, chart=lower)


def _height(panel: Mapping[str, Any]) -> float:
    """The height of a panel without titles and axes, in pixels; a guess where the content decides it."""
    if "hconcat" in panel:
        return max(map(_height, panel["hconcat"]))
    if "vconcat" in panel:
        return sum(map(_height, panel["vconcat"]))
    height = panel.get("height", panel.get("spec", {}).get("height"))
    return height if isinstance(height, int | float) else _PANEL


def _has_common_axis(spec: Mapping[str, Any]) -> bool:
    scales = spec.get("resolve", {}).get("scale", {})
    return "shared" in (scales.get("x"), scales.get("y"))


def anchor_of(*names: str) -> str:
    """A name for links and files: letters, digits and dashes.

    >>> anchor_of("grade", "ImageNet V2 / top")
    'grade-imagenet-v2-top'
    """
    return re.sub(r"[^a-z0-9]+", "-", " ".join(names).lower()).strip("-") or "section"
