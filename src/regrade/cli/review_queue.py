"""regrade review queue, people, mistakes and label: fill review queues."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.labels import By, LabelSet
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import watching, watching_images

if TYPE_CHECKING:
    from regrade.workspace import QueueResult, Workspace

Name = Annotated[str | None, typer.Option(help="Name of the queue; items are added to an existing queue.")]
Overlap = Annotated[
    int | None,
    typer.Option(help="Number of votes per item (default: one per reviewer, at most 3)."),
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]


class LabelMode(StrEnum):
    """Whether people are shown the correct classes after an answer."""

    examination = "examination"
    training = "training"


@shown
def queue(
    test_set: TestSetOption,
    labels: LabelSet,
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    size: Annotated[int | None, typer.Option(help="Size of a random sample (default: all novel predictions).")] = None,
    by: Annotated[
        By | None,
        typer.Option(help="Strata of the sample: number of models that agree (default), their score, or none."),
    ] = None,
    seed: Seed = 0,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue novel predictions, which are not judged yet and not in another queue: are they correct?

    Run it again after adding models: only new predictions are added. --size draws a random sample, from which the
    results for all novel predictions are estimated, in the order of `regrade labels sample`; further calls continue it.
    """
    ws = opened(workspace)
    return _shown(
        ws,
        ws.queue_novel(
            test_set, labels=labels, models=model, size=size, by=by.value if by else None, seed=seed, name=name,
            overlap=overlap, progress=watching,
        )
    )  # fmt: skip


@shown
def people(
    test_set: TestSetOption,
    labels: LabelSet,
    person: Annotated[list[str], typer.Option(help="Only these people. May be repeated.")] = [],
    seed: Seed = 0,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue novel answers of people, mixed with predictions of models, for a blind review: are they correct?

    Every image has an answer of a person and a prediction of a random model, and reviewers cannot tell them apart.
    """
    ws = opened(workspace)
    return _shown(
        ws,
        ws.queue_people(
            test_set, labels=labels, people=person, seed=seed, name=name, overlap=overlap, progress=watching
        ),
    )


@shown
def mistakes(
    test_set: TestSetOption,
    labels: LabelSet,
    model: Annotated[str, typer.Option(help="The model.")],
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue the remaining mistakes of a model: what category are they, and how severe?

    Unclear and collapsed classes are not mistakes; novel predictions have to be judged first.
    """
    ws = opened(workspace)
    return _shown(ws, ws.queue_mistakes(test_set, labels=labels, model=model, name=name, overlap=overlap))


@shown
def label(
    test_set: TestSetOption,
    size: Annotated[int | None, typer.Option(help="Number of images to draw (default: all).")] = None,
    family: Annotated[
        str | None,
        typer.Option(help="Only images labeled with a class of a family: dogs, insects, terrier, a WordNet id."),
    ] = None,
    mode: Annotated[
        LabelMode,
        typer.Option(help="training: people are shown the correct classes, and their answers are not counted."),
    ] = LabelMode.examination,
    seed: Seed = 0,
    name: Name = None,
    overlap: Annotated[int | None, typer.Option(help="Number of people per image (default: everyone).")] = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue images drawn at random: which class are they? Further calls draw more images."""
    ws = opened(workspace)
    return _shown(
        ws,
        ws.queue_labels(
            test_set, size=size, family=family, mode=mode.value, seed=seed, name=name, overlap=overlap,
            progress=watching_images,
        )
    )  # fmt: skip


def _shown(workspace: Workspace, result: QueueResult) -> CommandResult:
    """The command's result; the app recognizes copies of the queue's images by the hashes that are stored first."""
    workspace.fill_contents(progress=watching_images)
    return CommandResult(result.table(), result.as_dict())
