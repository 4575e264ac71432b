"""regrade demo: the whole workflow on data that ships with the dependencies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.output import say
from regrade.cli.report import watching_chapters

_MOST = 5  # findings that are printed


def demo(
    workspace: Annotated[Path, typer.Option("--workspace", "-w", help="Folder for the workspace of the demo.")] = Path(
        "regrade-demo"
    ),
) -> None:
    """Train eight classifiers on handwritten digits, grade them on two test sets, and write a report.

    Takes a minute or two; a second run reuses the stored results.
    """
    from regrade.demo import run_demo

    written = run_demo(workspace, log=say, progress=watching_chapters)
    for number, key in enumerate(written.report.key_findings[:_MOST], start=1):
        typer.echo(f"{number}. {key.finding.headline}. {key.finding.text}")
    typer.echo(f"\nReport: {written.page}")
    say(f"workspace: {workspace}; next, try:")
    say(f"  regrade compare 'random forest' 'neural network' --test-set uci-digits -w {workspace}")
    say(f"  regrade study generalization --original mnist --new uci-digits -w {workspace}")
    say(f"  regrade review queue --test-set uci-digits --labels own -w {workspace} && regrade serve -w {workspace}")
