"""regrade labels export: write a label set to a file that can be imported again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import say
from regrade.core.amounts import amount


class Written(StrEnum):
    """File formats for exported labels."""

    plain = "plain"
    multilabel_v3 = "multilabel-v3"


def export(
    labels: Annotated[str, typer.Argument(help="Label set: NAME (newest version) or NAME@VERSION.")],
    file: Annotated[Path, typer.Argument(help="File to write: .csv, .json or .parquet.")],
    test_set: TestSetOption,
    form: Annotated[
        Written,
        typer.Option(
            "--format",
            help="plain: columns image, class, state, reason of problematic images, author and time of decisions. "
            "multilabel-v3: the published JSON format, without authors and times.",
        ),
    ] = Written.plain,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Write a label set to a file; `regrade import labels` reads the same labels from it."""
    from regrade.core import Unlisted

    done = opened(workspace).export_labels(labels, file, test_set=test_set, form=form.value)
    label_set = done.labels
    hint = "; import it with --complete" if label_set.unlisted is Unlisted.WRONG else ""
    say(
        f"{file}: {label_set.full_name}, {amount(label_set.covered.sum(), 'image')}, "
        f"{amount(len(label_set.classes), 'judgment')}, {amount(label_set.problematic.sum(), 'problematic image')}, "
        f"{done.with_authors:,} with author and time{hint}"
    )
