"""regrade demo: everything on data that ships with the dependencies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.output import say


def demo(
    workspace: Annotated[Path, typer.Option("--workspace", "-w", help="Where to keep the demo's workspace.")] = Path(
        "regrade-demo"
    ),
) -> None:
    """Train eight classifiers on handwritten digits, grade them and compare them."""
    from regrade.demo import run_demo
    from regrade.report import print_table

    result = run_demo(workspace, tell=say)
    print_table(result.grade.table())
    print_table(result.comparison.table())
    say(f"the workspace is kept in {workspace}; now try:")
    say(f"  regrade compare 'random forest' 'neural network' --test-set digits -w {workspace}")
