"""regrade demo: everything on data that ships with the dependencies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.output import say
from regrade.cli.report import watching_chapters

_MOST = 5  # findings that are told


def demo(
    workspace: Annotated[Path, typer.Option("--workspace", "-w", help="Where to keep the demo's workspace.")] = Path(
        "regrade-demo"
    ),
) -> None:
    """Train eight classifiers on handwritten digits, grade them on two collections, and write a report.

    It takes a minute or two; a second run uses what the first has stored.
    """
    from regrade.demo import run_demo

    written = run_demo(workspace, log=say, progress=watching_chapters)
    for number, one in enumerate(written.report.key_findings[:_MOST], start=1):
        typer.echo(f"{number}. {one.finding.headline}. {one.finding.text}")
    typer.echo(f"\nThe report: {written.page}")
    say(f"its workspace is {workspace}; now try:")
    say(f"  regrade compare 'random forest' 'neural network' --test-set uci-digits -w {workspace}")
    say(f"  regrade study generalization --original mnist --new uci-digits -w {workspace}")
    say(f"  regrade review queue --test-set uci-digits --labels own -w {workspace} && regrade serve -w {workspace}")
