"""regrade report: one page with everything that a workspace can tell."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import say
from regrade.core.amounts import amount


def report(
    name: Annotated[
        str | None, typer.Argument(help="The report's name in the workspace, its date if it has none.")
    ] = None,
    test_set: Annotated[
        list[str], typer.Option("--test-set", "-t", help="Only these test sets. May be repeated.")
    ] = [],
    original: Annotated[
        str | None,
        typer.Option(
            help="The test set that the others are held against; the one with most models and images if not said."
        ),
    ] = None,
    labels: Annotated[
        list[str], typer.Option("--labels", "-l", help="Use NAME@VERSION, not its newest. May be repeated.")
    ] = [],
    out: Annotated[Path | None, typer.Option(help="The folder to write, instead of reports/NAME.")] = None,
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a report that is there already.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Write one page that works offline and prints: findings in words, figures, tables, and what stands behind them.

    Beside the page, index.html, are the figures (SVG, PNG, PDF), the tables (CSV, Markdown, LaTeX) and results.json.
    Exits with 1 if a question could not be answered because files are damaged or missing: the page says so there.
    """
    if name and out:
        raise typer.BadParameter("give a NAME or --out, not both")
    written = opened(workspace).report(
        name,
        test_sets=test_set,
        original=original,
        labels=labels,
        out=out,
        title=title,
        force=force,
        progress=watching_chapters,
    )
    for number, one in enumerate(written.report.key_findings, start=1):
        typer.echo(f"{number}. {one.finding.headline}. {one.finding.text}")
    for section in written.report.sections:
        if section.trouble:
            say(f"{section.title}: {section.trouble}")
    typer.echo(str(written.page))
    if damaged := sum(section.damaged for section in written.report.sections):
        say(f"error: {amount(damaged, 'question')} could not be answered: files are damaged or missing")
        raise typer.Exit(1)


def watching_chapters(chapters: Sequence[str]) -> Iterable[str]:
    """Tell each chapter as it is made: as a bar where someone is there to see it, as lines elsewhere."""
    if not sys.stderr.isatty():
        for chapter in chapters:
            say(chapter)
            yield chapter
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=len(chapters) + 1)
        for chapter in chapters:
            bar.update(task, description=chapter)
            yield chapter
            bar.advance(task)
        bar.update(task, description="figures and page")
