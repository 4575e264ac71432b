"""Printing results: as a table for the terminal, JSON, CSV, Markdown or LaTeX; progress bars."""

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
    from regrade.train.member import EpochReport
    from regrade.train.plan import TrainingPlan

T = TypeVar("T")
_MANY = 20  # number of models from which a progress bar is shown
_PIECES = 10_000  # chunks of JSON, a few bytes each, per write


class Form(Enum):
    """The formats in which a table can be printed."""

    TERMINAL = "terminal"
    WIDE = "wide"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


def chosen_form(*, as_json: bool, csv: bool, markdown: bool, latex: bool, wide: bool) -> Form:
    """The selected output format; raise if more than one is selected. All but the terminal have all columns anyway."""
    flags = {Form.JSON: as_json, Form.CSV: csv, Form.MARKDOWN: markdown, Form.LATEX: latex}
    selected = [form for form, flag in flags.items() if flag]
    if len(selected) > 1:
        raise typer.BadParameter("give only one of --json, --csv, --markdown, --latex")
    return selected[0] if selected else Form.WIDE if wide else Form.TERMINAL


def show(table: Table, data: dict[str, Any], form: Form) -> None:
    """Print a result: ``data`` as JSON, or ``table`` in any other format."""
    from regrade.display import csv_parts, print_table, to_latex, to_markdown

    match form:
        case Form.TERMINAL | Form.WIDE:
            print_table(table, wide=form is Form.WIDE)
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
    """A list for `show` that computes its items while they are written; it can be iterated over once."""

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
    """Write JSON in chunks: the whole text may be large, and standard output may be unbuffered."""
    pieces = json.JSONEncoder(indent=2, allow_nan=False).iterencode(data)
    while text := "".join(islice(pieces, _PIECES)):
        sys.stdout.write(text)
    sys.stdout.write("\n")


def say(message: str) -> None:
    """Print a message to standard error: standard output is reserved for results."""
    sys.stderr.write(message + "\n")


def one_line(text: str) -> str:
    r"""A text with line breaks and other control characters escaped, since it may contain names from files.

    >>> one_line("no column 'a\nb'")
    "no column 'a\\nb'"
    """
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def report_import(lines: Sequence[str], notes: Sequence[str], data: dict[str, Any], *, as_json: bool) -> None:
    """Print what was imported and what was skipped to standard error; with JSON, also to standard output as data."""
    for line in (*lines, *(f"note: {note}" for note in notes)):
        say(one_line(line))
    if as_json:
        _write_json({**data, "notes": list(notes)})


def watching(names: Sequence[str]) -> Iterable[str]:
    """Iterate over names, with a progress bar on standard error if it is a terminal."""
    if len(names) < _MANY or not sys.stderr.isatty():
        return names
    from rich.console import Console
    from rich.progress import track

    return track(names, description="reading predictions", console=Console(stderr=True), transient=True)


def watching_images(seen: Iterable[T], total: int) -> Iterable[T]:
    """Iterate over images, with a progress bar on standard error if it is a terminal."""
    if not sys.stderr.isatty():
        return seen
    from rich.console import Console
    from rich.progress import track

    return track(seen, total=total, description="reading images", console=Console(stderr=True), transient=True)


def show_epoch(plan: TrainingPlan, report: EpochReport) -> None:
    """Print an epoch of a training to standard error."""
    total = plan.hyperparameters.epochs
    name = f"{plan.name} {plan.part}" if plan.part else plan.name
    parts = [f"{name}, seed {report.seed}: epoch {report.epoch} of {total}"]
    if report.loss is not None and report.accuracy is not None:
        parts.append(f"loss {report.loss:.4f}, accuracy {100 * report.accuracy:.1f} %")
    rates = ((name, right / labels) for name, (right, labels) in report.right.items() if labels)
    parts += [f"{name} {100 * rate:.1f} %" for name, rate in rates]
    say(one_line(", ".join(parts) + f" ({report.seconds:.1f} s)"))


@contextmanager
def download_bar(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar for one download, on standard error if it is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def prediction_bars() -> Iterator[ProgressCallback]:
    """One progress bar per model and test set, on standard error if it is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    rate = TextColumn("{task.fields[rate]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bars:

        def start(description: str, images: int) -> Progress:
            task = bars.add_task(description, total=images, rate="")

            def progress(done: int) -> None:
                bars.advance(task, done)
                speed = bars.tasks[task].speed
                bars.update(task, rate=f"{speed:,.0f} images/s" if speed else "")

            return progress

        yield start
