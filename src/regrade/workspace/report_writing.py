"""Write a report on a workspace: every chapter that its data allows, as one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import FormatError, InputError, RegradeError, Table, Tabular
from regrade.core.names import refuse_text
from regrade.report import Drawing, Gallery, Report, Section, anchor_of, check_replaceable, section_of, write_report
from regrade.studies import ReportData
from regrade.studies.study import ProgressCallback
from regrade.workspace.chapters import ReportChapter, ReportMaterial
from regrade.workspace.provenance import report_provenance

if TYPE_CHECKING:
    from regrade.workspace.workspace import Workspace


@dataclass(frozen=True)
class WrittenReport:
    """A written report and the path of its page."""

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
    progress: ProgressCallback,
) -> WrittenReport:
    """Compute every chapter that the data of the workspace allows, and write them as one report."""
    refuse_text(test_sets, "test_sets")
    refuse_text(labels, "labels")
    if name is not None and (not name.strip() or Path(name).name != name or name.startswith(".")):
        raise InputError(f"{name!r} is not a valid report name: use a plain file name, or --out for another folder")
    material = ReportMaterial(ReportData(workspace.store, tuple(test_sets), original, labels))
    now = datetime.now(UTC)
    folder = out or workspace.store.root / "reports" / (name or _name_from_date(workspace.store.root / "reports", now))
    check_replaceable(folder, force=force)
    chapters = {chapter.title: chapter for chapter in material.chapters}
    with Drawing() as drawing:
        sections, anchors = list[Section](), set[str]()
        for heading in progress(list(chapters)):
            section = _without_repeated(_section(chapters[heading], anchors), sections)
            anchors.add(section.anchor)
            sections.append(section)
            for figure in section.figures:
                drawing.begin(figure)
        created = now.isoformat(timespec="seconds")
        provenance = report_provenance(workspace.store, material.data.names, material.references, created=created)
        report = Report(
            title or material.title,
            material.subtitle(now),
            created,
            tuple(sections),
            material.models_and_people,
            provenance,
            material.open_questions(),
        )
        return WrittenReport(report, write_report(report, folder, force=force, drawing=drawing))


def _name_from_date(folder: Path, now: datetime) -> str:
    """The date, with a number if there is a report of that date already."""
    day = f"{now:%Y-%m-%d}"
    taken = (name for number in range(2, 10_000) if not (folder / (name := f"{day}-{number}")).exists())
    return day if not (folder / day).exists() else next(taken)


def _section(chapter: ReportChapter, taken: set[str]) -> Section:
    anchor = _unused(anchor_of(chapter.kind, chapter.about), taken)
    bare = Section(anchor, chapter.question, chapter.about)
    try:
        result = chapter.compute()
        if isinstance(result, Tabular) and chapter.study is not None:
            tables = chapter.tables(result)
            return section_of(bare, chapter.study, result, tables=tables, more_figures=chapter.more_figures)
        if isinstance(result, Gallery):
            return replace(bare, gallery=result)
        return replace(bare, tables=(result if isinstance(result, Table) else result.table(),))
    except RegradeError as error:
        damaged = isinstance(error, FormatError)
        return replace(bare, trouble=f"This could not be answered: {error}.", damaged=damaged)


def _without_repeated(section: Section, before: Sequence[Section]) -> Section:
    """The section without findings that an earlier section has."""
    repeated = {finding for earlier in before for finding in earlier.findings}
    return replace(section, findings=tuple(finding for finding in section.findings if finding not in repeated))


def _unused(anchor: str, taken: set[str]) -> str:
    names = (anchor, *(f"{anchor}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)
