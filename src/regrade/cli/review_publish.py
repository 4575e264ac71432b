"""regrade review publish: write decisions to the files that studies read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import say


def publish(
    queue: Annotated[str, typer.Argument(help="The queue.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, without changing it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Publish the current decisions of a queue as files that studies read. Idempotent: repeat it after more decisions.

    Judged classes become a new version of the label set, or decisions of its review if they were drawn by `regrade
    labels sample`; mistakes become the review of the model's mistakes; labels from examinations become the answers of
    people. On a terminal the command shows what would change and how many items are undecided, and asks for
    confirmation.
    """
    opened_workspace = opened(workspace)
    if sys.stdin.isatty() and not (yes or dry_run or as_json):
        preview = opened_workspace.publish(queue, dry_run=True)
        say(preview.in_words())
        if not preview.changes:
            return
        typer.confirm("Publish this?", abort=True, err=True)
    result = opened_workspace.publish(queue, dry_run=dry_run)
    if as_json:
        json.dump(result.as_dict(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        say(("would be " if dry_run and result.changes else "") + result.in_words())
