"""regrade labels export: a label set as a file that can be read back."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import say
from regrade.core.amounts import amount


class Written(StrEnum):
    """The forms in which labels are written."""

    plain = "plain"
    multilabel_v3 = "multilabel-v3"


def export(
    labels: Annotated[str, typer.Argument(help="The label set: NAME or NAME@VERSION.")],
    file: Annotated[Path, typer.Argument(help="The file to write: .csv, .json or .parquet.")],
    test_set: TestSetOption,
    form: Annotated[
        Written,
        typer.Option(
            "--format",
            help="plain: image, class, state, why an image is problematic, and author and time of decisions. "
            "multilabel-v3: the published JSON, which knows neither authors nor times.",
        ),
    ] = Written.plain,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Write a label set to a file that `regrade import labels` reads as the same labels."""
    from regrade.core import Unlisted

    done = opened(workspace).export_labels(labels, file, test_set=test_set, form=form.value)
    found = done.labels
    again = "; import it with --complete" if found.unlisted is Unlisted.WRONG else ""
    say(
        f"{file}: {found.full_name}, {amount(found.covered.sum(), 'image')}, "
        f"{amount(len(found.classes), 'judgment')}, {amount(found.problematic.sum(), 'problematic image')}, "
        f"{done.with_authors:,} with author and time{again}"
    )
