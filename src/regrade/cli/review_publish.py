"""regrade review publish: decisions become files that every study reads."""

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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Turn what stands in a queue into files: nothing new is no change, and more decisions can follow.

    Judged classes become a new version of the label set, or verdicts of its review if they were drawn by `regrade
    labels sample`; mistakes become the review of the model's mistakes; labels given in examination the rows of people.
    On a terminal it says what would change, and how many items are undecided, and asks first.
    """
    here = opened(workspace)
    if sys.stdin.isatty() and not (yes or dry_run or as_json):
        preview = here.publish(queue, dry_run=True)
        say(preview.in_words())
        if not preview.changes:
            return
        typer.confirm("Publish this?", abort=True, err=True)
    done = here.publish(queue, dry_run=dry_run)
    if as_json:
        json.dump(done.as_dict(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        say(("would be " if dry_run and done.changes else "") + done.in_words())
