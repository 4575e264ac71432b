"""Write a report on a workspace: every chapter that its data allows, as one page, with its provenance."""

from __future__ import annotations

import html
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.core import Column, FormatError, InputError, RegradeError, Table, Tabular
from regrade.core.names import refuse_text
from regrade.reports import (
    Drawing,
    Gallery,
    Provenance,
    Report,
    Section,
    anchor_of,
    check_replaceable,
    section_of,
    write_report,
)
from regrade.store import CheckpointManifest, Manifest, Store
from regrade.studies import ReportData, ReportModels
from regrade.studies.held_back import ladder_notes
from regrade.studies.study import ProgressCallback
from regrade.workspace.chapters import ReportChapter, ReportMaterial

if TYPE_CHECKING:
    from regrade.workspace.workspace import Workspace

_LIBRARIES = ("regrade", "numpy", "scipy", "pyarrow", "pillow", "altair", "vl-convert-python")
_DIGEST_LENGTH = 16  # characters shown; the data contains the whole digest


@dataclass(frozen=True)
class WrittenReport:
    """A written report and the path of its page."""

    report: Report
    page: Path

    def __repr__(self) -> str:
        return f"<WrittenReport {self.report.title!r}: {self.page}>"

    def _repr_html_(self) -> str:
        link = f'<a href="{html.escape(self.page.absolute().as_uri())}">{html.escape(str(self.page))}</a>'
        return f"<p>{html.escape(self.report.title)}: {link}</p>"


def write_workspace_report(
    workspace: Workspace,
    name: str | None,
    *,
    test_sets: Sequence[str],
    original: str | None,
    labels: Sequence[str],
    models: ReportModels,
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
    material = ReportMaterial(ReportData(workspace.store, tuple(test_sets), original, labels, models))
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
        provenance = report_provenance(material.data.store, material.data.names, material.references, created=created)
        report = Report(
            title or material.title,
            material.subtitle(now),
            created,
            tuple(sections),
            material.models_and_people,
            provenance,
            material.open_questions(),
            material.hard_sets_and_slices,
            ladder_notes(workspace.store, material.data.names, "this report"),
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


def report_provenance(store: Store, test_sets: Sequence[str], references: Sequence[str], *, created: str) -> Provenance:
    """Versions, settings and digests for a report on these test sets and the ``references`` they were compared with."""
    sets = [store.test_set(name) for name in test_sets]
    labels = [store.labels.read(test_set, name) for test_set in sets for name in store.labels.names(test_set.name)]
    people = {test_set.name: store.predictions.people_names(test_set.name) for test_set in sets}
    described = store.described_models.read()
    manifests = [
        replace(manifest, model=manifest.model.described(described.of(name)))
        for test_set in sets
        for name in (*store.predictions.model_names(test_set.name), *people[test_set.name])
        for manifest in [store.predictions.manifest(test_set.name, name)]
    ]  # fmt: skip
    libraries = {name: installed for name in _LIBRARIES if (installed := _version(name))}
    settings = {
        "date": _minute(created),
        "confidence": f"{100 * store.config.confidence:g}%",
        "Python": platform.python_version(),
        **libraries,
    }
    set_rows = [
        {
            "test_set": test_set.name, "images": len(test_set), "labeled": int(test_set.labeled.sum()),
            "classes": test_set.class_space.name, "digest": test_set.digest,
        }
        for test_set in (*sets, *(store.test_set(name) for name in references))
    ]  # fmt: skip
    label_rows = [
        {
            "labels": label_set.full_name, "test_set": label_set.test_set, "images": int(label_set.scored.sum()),
            "judgments": len(label_set.examples), "origin": label_set.origin, "digest": label_set.digest,
        }
        for label_set in labels
    ]  # fmt: skip
    tables = [_table("Test sets", set_rows)]
    tables += [_table("Label sets", label_rows)] if label_rows else []
    ensembles = [
        store.ensembles.manifest(test_set.name, name)
        for test_set in sets
        for name in store.ensembles.names(test_set.name)
    ]
    tables += (
        [_table("Ensembles over epochs", [_ensemble_row(ensemble) for ensemble in ensembles])] if ensembles else []
    )
    tables.append(_table("Models and people", [_manifest_row(manifest) for manifest in manifests]))
    data = {
        "test_sets": set_rows,
        "label_sets": label_rows,
        "predictions": [asdict(manifest) for manifest in manifests],
        "checkpoints": [asdict(manifest) for manifest in ensembles],
    }
    return Provenance(settings, tuple(tables), data)


def _minute(stamp: str) -> str:
    """A time to the minute."""
    return f"{datetime.fromisoformat(stamp).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _manifest_row(manifest: Manifest) -> dict[str, Any]:
    return {
        "model": manifest.model.name,
        "test_set": manifest.test_set,
        "digest": manifest.digest,
        "from": manifest.source.file or manifest.runtime or "scores given in Python",
        "file_digest": manifest.source.sha256 or None,
        "stored": _minute(manifest.created),
    }


def _ensemble_row(manifest: CheckpointManifest) -> dict[str, Any]:
    return {
        "ensemble": manifest.ensemble,
        "test_set": manifest.test_set,
        "members": len(manifest.members),
        "epochs": len(manifest.epochs),
        "digest": manifest.digest,
        "stored": _minute(manifest.created),
    }


_HEADINGS = {"test_set": "test set", "file_digest": "SHA-256 of the file"}


def _table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    columns = tuple(Column(key, _HEADINGS.get(key, key)) for key in (rows[0] if rows else ()))
    cells = tuple(tuple(_cell(key, value) for key, value in row.items()) for row in rows)
    return Table(title, columns, cells)


def _cell(key: str, value: Any) -> Any:
    return value[:_DIGEST_LENGTH] if key.endswith("digest") and value else value
