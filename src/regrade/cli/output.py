"""How a command shows its result: a table for people, or JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import typer

if TYPE_CHECKING:
    from regrade.core import Table
    from regrade.predict import Progress, ProgressCallback

T = TypeVar("T")
_MANY = 20  # models from which reading them is worth a progress bar
_PIECES = 10_000  # of JSON, some bytes each, written at once


class Form(Enum):
    """The forms a table can be printed in."""

    TERMINAL = "terminal"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


def chosen_form(*, as_json: bool, csv: bool, markdown: bool, latex: bool) -> Form:
    """The one form that was asked for; more than one is a mistake."""
    flags = {Form.JSON: as_json, Form.CSV: csv, Form.MARKDOWN: markdown, Form.LATEX: latex}
    asked = [form for form, flag in flags.items() if flag]
    if len(asked) > 1:
        raise typer.BadParameter("give only one of --json, --csv, --markdown, --latex")
    return asked[0] if asked else Form.TERMINAL


def show(table: Table, data: dict[str, Any], form: Form) -> None:
    """Print a result: ``data`` as JSON, or ``table`` in any other form."""
    from regrade.report import csv_parts, print_table, to_latex, to_markdown

    match form:
        case Form.TERMINAL:
            print_table(table)
        case Form.JSON:
            _write_json(data)
        case Form.CSV:
            for part in csv_parts(table):
                sys.stdout.write(part)
        case Form.MARKDOWN:
            sys.stdout.write(to_markdown(table))
        case Form.LATEX:
            sys.stdout.write(to_latex(table))


class StreamedList(list[Any]):
    """A list for `show`, whose items are made while they are written; they can be gone through once."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__()
        self._items = iter(items)

    def __bool__(self) -> bool:
        for item in self._items:
            self._items = chain((item,), self._items)
            return True
        return False

    def __iter__(self) -> Iterator[Any]:
        return self._items


def _write_json(data: dict[str, Any]) -> None:
    """Write JSON piece by piece, so that little is in memory, and many at once: standard output may have no buffer."""
    pieces = json.JSONEncoder(indent=2, allow_nan=False).iterencode(data)
    while text := "".join(islice(pieces, _PIECES)):
        sys.stdout.write(text)
    sys.stdout.write("\n")


def say(message: str) -> None:
    """Tell what was done, on standard error: standard output is for results."""
    sys.stderr.write(message + "\n")


def one_line(text: str) -> str:
    r"""A text that holds names from files, with line breaks and other control characters escaped.

    >>> one_line("there is no column 'a\nb'")
    "there is no column 'a\\nb'"
    """
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def report_import(lines: Sequence[str], notes: Sequence[str], data: dict[str, Any], *, as_json: bool) -> None:
    """Tell what an import did and what it left out, for people; with JSON the same as data on standard output."""
    for line in (*lines, *(f"note: {note}" for note in notes)):
        say(one_line(line))
    if as_json:
        _write_json({**data, "notes": list(notes)})


def watching(names: Sequence[str]) -> Iterable[str]:
    """Go through names with a progress bar on standard error, where someone is there to see it."""
    if len(names) < _MANY or not sys.stderr.isatty():
        return names
    from rich.console import Console
    from rich.progress import track

    return track(names, description="reading predictions", console=Console(stderr=True), transient=True)


def watching_images(seen: Iterable[T], total: int) -> Iterable[T]:
    """Go through images with a progress bar on standard error, where someone is there to see it."""
    if not sys.stderr.isatty():
        return seen
    from rich.console import Console
    from rich.progress import track

    return track(seen, total=total, description="reading images", console=Console(stderr=True), transient=True)


@contextmanager
def download_bar(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar for one download on standard error; silent where no one is there to see it."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def prediction_bars() -> Iterator[ProgressCallback]:
    """One progress bar a model and test set on standard error; silent where no one is there to see it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    rate = TextColumn("{task.fields[rate]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bars:

        def watch(what: str, left: int) -> Progress:
            task = bars.add_task(what, total=left, rate="")

            def progress(more: int) -> None:
                bars.advance(task, more)
                speed = bars.tasks[task].speed
                bars.update(task, rate=f"{speed:,.0f} images/s" if speed else "")

            return progress

        yield watch
