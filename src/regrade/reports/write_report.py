"""Writing a report: the page, and figures, tables and results as separate files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from regrade.core import Table, Tabular
from regrade.core.record import JsonItems, json_value
from regrade.display.text import to_csv, to_latex, to_markdown
from regrade.reports.drawing import Drawing
from regrade.reports.report_page import file_anchor, provenance_anchor, report_page
from regrade.reports.report_table import table_endings
from regrade.reports.sections import Report, Section
from regrade.store import check_folder, replace_folder

PAGE, RESULTS = "index.html", "results.json"
_MOST_ITEMS = 100_000  # of a long list in results.json, such as pairs of models; regrade compare --json has all
_TABLES = {"csv": to_csv, "md": to_markdown, "tex": to_latex}


def write_report(report: Report, folder: Path, *, force: bool = False, drawing: Drawing | None = None) -> Path:
    """Write a report into a folder of its own, atomically, and return the path of the page.

    An existing folder raises, unless ``force`` is set and the folder contains a report. ``drawing`` may have started
    drawing the figures already.
    """
    if drawing is None:
        with Drawing() as own:
            return write_report(report, folder, force=force, drawing=own)
    files = dict(_files(report, drawing))
    replace_folder(folder, files, force=force, holding=(PAGE, RESULTS))
    return folder / PAGE


def check_replaceable(folder: Path, *, force: bool) -> None:
    """Raise early if a report could not be written into a folder."""
    check_folder(folder, force=force, holding=(PAGE, RESULTS))


def _files(report: Report, drawing: Drawing) -> Iterator[tuple[str, bytes]]:
    """Every file by its path within the folder."""
    for section in report.sections:
        for number, figure in enumerate(section.figures):
            drawn, name = drawing.of(figure), file_anchor(section, number)
            yield from ((f"figures/{name}.{form}", getattr(drawn, form)) for form in ("svg", "png", "pdf"))
    for name, table in _tables(report):
        for ending in table_endings(len(table.rows)):
            yield f"tables/{name}.{ending}", _TABLES[ending](table).encode()
    yield RESULTS, (json.dumps(json_value(_content(report)), allow_nan=False) + "\n").encode()
    yield PAGE, report_page(report, drawing.of, scripts=drawing.scripts()).encode()


def _tables(report: Report) -> Iterator[tuple[str, Table]]:
    for section in report.sections:
        yield from ((file_anchor(section, number), table) for number, table in enumerate(section.tables))
    yield from ((provenance_anchor(number), table) for number, table in enumerate(report.provenance.tables))


def _content(report: Report) -> dict[str, Any]:
    """The content of results.json: every result, and the provenance of the report."""
    return {
        "title": report.title,
        "created": report.created,
        "notes": report.notes,
        "key_findings": [{**key.finding.as_dict(), "section": key.section.anchor} for key in report.key_findings],
        "sections": [_section(section) for section in report.sections],
        "behind": {"settings": report.provenance.settings, **report.provenance.data},
    }


class _FirstItems(list[Any]):
    """The first items of a long list, and the total number."""

    def __init__(self, items: JsonItems) -> None:
        super().__init__(islice(items, _MOST_ITEMS))
        self.total = len(items)


def _result(result: Tabular) -> dict[str, Any]:
    """A result for results.json; of very long lists, only the first items and, as ``all_<key>``, the total number."""
    content = result.as_dict(_FirstItems)
    totals = {key: items.total for key, items in content.items() if isinstance(items, _FirstItems)}
    return content | {f"all_{key}": total for key, total in totals.items() if total > len(content[key])}


def _section(section: Section) -> dict[str, Any]:
    return {
        "anchor": section.anchor,
        "question": section.question,
        "about": section.about,
        "findings": section.findings,
        "figures": [f"figures/{file_anchor(section, number)}.svg" for number in range(len(section.figures))],
        "tables": [f"tables/{file_anchor(section, number)}.csv" for number in range(len(section.tables))],
        "kind": None if section.result is None else type(section.result).__name__,
        "result": None if section.result is None else _result(section.result),
        "trouble": section.trouble or None,
    }
