"""Writing a report on a workspace: every chapter it has the material for, as one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import FormatError, InputError, RegradeError, Table, Tabular
from regrade.core.arguments import refuse_text
from regrade.report import Drawing, Report, Section, anchor_of, check_replaceable, section_of, write_report
from regrade.workspace.chapters import Chapter, ReportMaterial
from regrade.workspace.loading import ProgressCallback
from regrade.workspace.provenance import behind_numbers

if TYPE_CHECKING:
    from regrade.workspace.workspace import Workspace


@dataclass(frozen=True)
class WrittenReport:
    """A report that was written, and where its page is."""

    report: Report
    page: Path


def write_workspace_report(
    workspace: Workspace,
    name: str | None,
    *,
    test_sets: Sequence[str],
    original: str | None,
    labels: Sequence[str],
    out: Path | None,
    title: str | None,
    force: bool,
    watch: ProgressCallback,
) -> WrittenReport:
    """Make every chapter that the workspace has the material for, and write them as one report."""
    refuse_text(test_sets, "test_sets")
    refuse_text(labels, "labels")
    if name is not None and (not name.strip() or Path(name).name != name or name.startswith(".")):
        raise InputError(f"{name!r} is no name for a report: give a plain one, or --out for a folder elsewhere")
    material = ReportMaterial(workspace, tuple(test_sets), original, labels)
    now = datetime.now(UTC)
    folder = out or workspace.store.root / "reports" / (name or _by_date(workspace.store.root / "reports", now))
    check_replaceable(folder, force=force)
    chapters = {chapter.title: chapter for chapter in material.chapters()}
    with Drawing() as drawing:
        sections, anchors = list[Section](), set[str]()
        for heading in watch(list(chapters)):
            section = _without(_section(chapters[heading], anchors), sections)
            anchors.add(section.anchor)
            sections.append(section)
            for figure in section.figures:
                drawing.begin(figure)
        created = now.isoformat(timespec="seconds")
        behind = behind_numbers(workspace.store, material.names, material.references, created=created)
        report = Report(
            title or material.title,
            material.subtitle(now),
            created,
            tuple(sections),
            material.answerers,
            behind,
            material.open_questions(),
        )
        return WrittenReport(report, write_report(report, folder, force=force, drawing=drawing))


def _by_date(folder: Path, now: datetime) -> str:
    """The day, with a number from the second report of it on."""
    day = f"{now:%Y-%m-%d}"
    taken = (name for number in range(2, 10_000) if not (folder / (name := f"{day}-{number}")).exists())
    return day if not (folder / day).exists() else next(taken)


def _section(chapter: Chapter, taken: set[str]) -> Section:
    anchor = _free(anchor_of(chapter.kind, chapter.about), taken)
    bare = Section(anchor, chapter.question, chapter.about)
    try:
        made = chapter.make()
        if isinstance(made, Tabular):
            return section_of(bare, made, tables=chapter.tables(made), more_figures=chapter.more_figures)
        return replace(bare, tables=(made,)) if isinstance(made, Table) else replace(bare, gallery=made)
    except RegradeError as error:
        damaged = isinstance(error, FormatError)
        return replace(bare, trouble=f"This could not be answered: {error}.", damaged=damaged)


def _without(section: Section, before: Sequence[Section]) -> Section:
    """A section that does not say again what one before it has said."""
    said = {one for other in before for one in other.findings}
    return replace(section, findings=tuple(one for one in section.findings if one not in said))


def _free(anchor: str, taken: set[str]) -> str:
    names = (anchor, *(f"{anchor}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)
