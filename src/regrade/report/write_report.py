"""Writing a report: the page, and its figures, tables and results as files beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from regrade.core import Table
from regrade.report.drawing import Drawing
from regrade.report.report_page import behind_anchor, file_anchor, report_page
from regrade.report.report_table import table_endings
from regrade.report.sections import Report, Section
from regrade.report.text import to_csv, to_latex, to_markdown
from regrade.store import check_folder, replace_folder
from regrade.studies import Comparison

PAGE, RESULTS = "index.html", "results.json"
_MOST_PAIRS = 100_000  # pairs of models that are written to results.json; regrade compare --json has all
_TABLES = {"csv": to_csv, "md": to_markdown, "tex": to_latex}


def write_report(report: Report, folder: Path, *, force: bool = False, drawing: Drawing | None = None) -> Path:
    """Write a report into a folder of its own, whole or not at all; the page's path.

    A folder that is there raises, unless ``force`` says to replace it and it holds a report. ``drawing`` has perhaps
    begun with the figures.
    """
    if drawing is None:
        with Drawing() as own:
            return write_report(report, folder, force=force, drawing=own)
    files = dict(_files(report, drawing))
    replace_folder(folder, files, force=force, holding=(PAGE, RESULTS))
    return folder / PAGE


def check_replaceable(folder: Path, *, force: bool) -> None:
    """Raise where a report could not be written into a folder, before the work of making it."""
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
    yield RESULTS, (json.dumps(as_dict(report), allow_nan=False) + "\n").encode()
    yield PAGE, report_page(report, drawing.of, scripts=drawing.scripts()).encode()


def _tables(report: Report) -> Iterator[tuple[str, Table]]:
    for section in report.sections:
        yield from ((file_anchor(section, number), table) for number, table in enumerate(section.tables))
    yield from ((behind_anchor(number), table) for number, table in enumerate(report.behind.tables))


def as_dict(report: Report) -> dict[str, Any]:
    """A report, ready for JSON: every result, and what stands behind them."""
    return {
        "title": report.title,
        "created": report.created,
        "key_findings": [{**one.finding.as_dict(), "section": one.section.anchor} for one in report.key_findings],
        "sections": [_section(section) for section in report.sections],
        "behind": {"settings": dict(report.behind.settings), **report.behind.data},
    }


def _result(result: Any) -> dict[str, Any]:
    """A result, ready for JSON; of very many pairs of models only the first are written, and their number."""
    if not isinstance(result, Comparison) or len(result.pairs) <= _MOST_PAIRS:
        content: dict[str, Any] = result.as_dict()
        return content
    return {**result.as_dict(lambda pairs: list(islice(pairs, _MOST_PAIRS))), "all_pairs": len(result.pairs)}


def _section(section: Section) -> dict[str, Any]:
    return {
        "anchor": section.anchor,
        "question": section.question,
        "about": section.about,
        "findings": [one.as_dict() for one in section.findings],
        "figures": [f"figures/{file_anchor(section, number)}.svg" for number in range(len(section.figures))],
        "tables": [f"tables/{file_anchor(section, number)}.csv" for number in range(len(section.tables))],
        "kind": None if section.result is None else type(section.result).__name__,
        "result": None if section.result is None else _result(section.result),
        "trouble": section.trouble or None,
    }
