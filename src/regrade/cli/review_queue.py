"""regrade review queue, people, mistakes, label: what is put before people."""

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
    from regrade.workspace import QueueResult

Name = Annotated[str | None, typer.Option(help="The queue's name; a queue that is there is added to.")]
Overlap = Annotated[
    int | None,
    typer.Option(help="How many people an item is for; as many as there are reviewers, 3 at most, unless given."),
]
Seed = Annotated[int, typer.Option(min=0, help="The seed of the random choice.")]


class LabelMode(StrEnum):
    """What is told after an answer."""

    examination = "examination"
    training = "training"


@shown
def queue(
    test_set: TestSetOption,
    labels: LabelSet,
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    size: Annotated[int | None, typer.Option(help="Draw so many at random, instead of all.")] = None,
    by: Annotated[
        By | None, typer.Option(help="Strata of the sample: how many models agree (the default), their score, or none.")
    ] = None,
    seed: Seed = 0,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Ask whether novel predictions are right: those that no one has judged, and no other queue asks about.

    Call it again when models were added: only what is new enters. With --size it is a random sample that speaks for the
    rest, in the order of `regrade labels sample`; further calls go on in it.
    """
    return _shown(
        opened(workspace).queue_novel(
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
    """Ask whether people's novel answers are right, blind: models' answers are seeded among them.

    Every image has an answer of a person and one of a random model, and nothing tells them apart.
    """
    return _shown(
        opened(workspace).queue_people(
            test_set, labels=labels, people=person, seed=seed, name=name, overlap=overlap, progress=watching
        )
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
    """Ask of what kind each remaining mistake of a model is, and how grave.

    Unclear and collapsed classes are no mistakes; what is novel has to be judged first.
    """
    return _shown(opened(workspace).queue_mistakes(test_set, labels=labels, model=model, name=name, overlap=overlap))


@shown
def label(
    test_set: TestSetOption,
    size: Annotated[int | None, typer.Option(help="How many images to draw; all unless given.")] = None,
    family: Annotated[
        str | None, typer.Option(help="Only images labeled as one of a family: dogs, insects, terrier, a WordNet id.")
    ] = None,
    mode: Annotated[
        LabelMode, typer.Option(help="training: people are told what is right, and nothing is counted.")
    ] = LabelMode.examination,
    seed: Seed = 0,
    name: Name = None,
    overlap: Annotated[
        int | None, typer.Option(help="How many people a image is for; everyone there is unless given.")
    ] = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Ask which class images are of, drawn at random; further calls draw further ones."""
    return _shown(
        opened(workspace).queue_labels(
            test_set, size=size, family=family, mode=mode.value, seed=seed, name=name, overlap=overlap,
            progress=watching_images,
        )
    )  # fmt: skip


def _shown(done: QueueResult) -> CommandResult:
    return CommandResult(done.table(), done.as_dict())
