"""regrade report: write a report of all results of a workspace."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.completion import complete_test_sets
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import say
from regrade.core.amounts import amount


def report(
    name: Annotated[
        str | None, typer.Argument(help="Name of the report in the workspace (default: the current date).")
    ] = None,
    test_set: Annotated[
        list[str],
        typer.Option(
            "--test-set",
            "-t",
            help="Report only on this test set. May be repeated (default: all).",
            autocompletion=complete_test_sets,
        ),
    ] = [],
    original: Annotated[
        str | None,
        typer.Option(
            help="Test set that the others are compared with (default: the one with the most models and images)."
        ),
    ] = None,
    labels: Annotated[
        list[str],
        typer.Option(
            "--labels", "-l", help="Use NAME@VERSION instead of the newest version of a label set. May be repeated."
        ),
    ] = [],
    without: Annotated[
        list[str],
        typer.Option(
            help="Leave this model out: a name, a pattern such as 'plain/seed-*', or a training. May be repeated."
        ),
    ] = [],
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Compare --remedy with this baseline, also if both are left out elsewhere."),
    ] = None,
    remedy: Annotated[
        list[str], typer.Option(metavar="NAME", help="Remedy to compare with --baseline. May be repeated.")
    ] = [],
    out: Annotated[Path | None, typer.Option(help="Output folder (default: reports/NAME in the workspace).")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing report.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Write a report as one HTML page for offline use and printing: findings, figures, tables and their provenance.

    The folder contains index.html, the figures (SVG, PNG, PDF), the tables (CSV, Markdown, LaTeX) and results.json.
    Exits with 1 if a section could not be computed because files are damaged or missing; the page names them.
    """
    if name and out:
        raise typer.BadParameter("give a NAME or --out, not both")
    written = opened(workspace).report(
        name,
        test_sets=test_set,
        original=original,
        labels=labels,
        without=without,
        baseline=baseline,
        remedies=remedy,
        out=out,
        title=title,
        force=force,
        progress=watching_chapters,
    )
    for number, key in enumerate(written.report.key_findings, start=1):
        typer.echo(f"{number}. {key.finding.headline}. {key.finding.text}")
    for section in written.report.sections:
        if section.trouble:
            say(f"{section.title}: {section.trouble}")
    typer.echo(str(written.page))
    if damaged := sum(section.damaged for section in written.report.sections):
        say(f"error: {amount(damaged, 'question')} could not be answered: files are damaged or missing")
        raise typer.Exit(1)


def watching_chapters(chapters: Sequence[str]) -> Iterable[str]:
    """Iterate over chapters and show progress: as a bar if standard error is a terminal, otherwise as lines."""
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
