"""The commands of `regrade review` that fill queues: with predictions, answers, mistakes, labels, images or pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.completion import complete_test_sets
from regrade.cli.labels import LabelSet
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import watching, watching_images
from regrade.core import StratifyBy
from regrade.core.panel import Mode
from regrade.core.test_set import SLICE_NAMES

if TYPE_CHECKING:
    from regrade.workspace import QueueResult
    from regrade.workspace.review import Review

Name = Annotated[str | None, typer.Option(help="Name of the queue; items are added to an existing queue.")]
Overlap = Annotated[
    int | None,
    typer.Option(help="Number of votes per item (default: one per reviewer, at most 3)."),
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]


@shown
def queue(
    test_set: TestSetOption,
    labels: LabelSet,
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    size: Annotated[int | None, typer.Option(help="Size of a random sample (default: all novel predictions).")] = None,
    by: Annotated[
        StratifyBy | None,
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
    review = opened(workspace).review
    return _shown(
        review,
        review.queue_novel(
            test_set, labels=labels, models=model, size=size, by=by, seed=seed, name=name,
            overlap=overlap, progress=watching,
        ),
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
    review = opened(workspace).review
    return _shown(
        review,
        review.queue_people(
            test_set, labels=labels, people=person, seed=seed, name=name, overlap=overlap, progress=watching
        ),
    )


@shown
def mistakes(
    test_set: TestSetOption,
    labels: LabelSet,
    model: Annotated[str, typer.Option(help="The model.")],
    slice: Annotated[
        str | None,
        typer.Option(help=f"Only the mistakes on this slice: {SLICE_NAMES}."),
    ] = None,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue the remaining mistakes of a model: what category are they, and how severe?

    Unclear and collapsed classes are not mistakes; novel predictions have to be judged first. A prediction that people
    categorized for another model is not asked again: publishing the queue reuses it. After adding a model, --slice
    imagenet-m queues only what is open on a slice of major mistakes.
    """
    review = opened(workspace).review
    return _shown(
        review,
        review.queue_mistakes(test_set, labels=labels, model=model, slice=slice, name=name, overlap=overlap),
    )


@shown
def audit(
    test_set: TestSetOption,
    labels: LabelSet,
    size: Annotated[int, typer.Option(min=1, help="Number of labels to draw.")],
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    seed: Seed = 0,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue labels that all models agree with, drawn at random: are they correct?

    No queue of predictions shows these images. From the published decisions, `regrade labels audit` estimates how many
    of these labels are wrong; the labels that were judged are corrected. Further calls draw more labels.
    """
    review = opened(workspace).review
    return _shown(
        review,
        review.queue_audit(
            test_set, labels=labels, size=size, models=model, seed=seed, name=name, overlap=overlap, progress=watching
        ),
    )


@shown
def label(
    test_set: Annotated[
        list[str],
        typer.Option(
            "--test-set",
            "-t",
            help="Name of the test set. May be repeated: images of several sets are drawn and mixed.",
            autocompletion=complete_test_sets,
        ),
    ],
    size: Annotated[int | None, typer.Option(help="Number of images to draw from each set (default: all).")] = None,
    per_class: Annotated[
        int | None, typer.Option(metavar="N", help="Draw N images of each class instead, at random.")
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(help="Only images labeled with a class of a family: dogs, insects, terrier, a WordNet id."),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(help="training: people are shown the correct classes, and their answers are not counted."),
    ] = Mode.EXAMINATION,
    seed: Seed = 0,
    assign: Annotated[
        list[str], typer.Option(metavar="PERSON", help="Only for this person (default: everyone). May be repeated.")
    ] = [],
    name: Name = None,
    overlap: Annotated[int | None, typer.Option(help="Number of people per image (default: everyone).")] = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue images drawn at random: which class are they? Further calls draw more images.

    An examination leaves out images that its people saw in training, or judged with labels or predictions.
    """
    review = opened(workspace).review
    return _shown(
        review,
        review.queue_labels(
            test_set, size=size, per_class=per_class, family=family, mode=mode, seed=seed, people=assign, name=name,
            overlap=overlap, progress=watching_images,
        ),
    )  # fmt: skip


@shown
def pairs(
    test_set: TestSetOption,
    against: Annotated[
        str | None, typer.Option(metavar="TEST_SET", help="The other test set (default: search within the test set).")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Distances, separated by commas, as for `regrade study leakage` (default: all of images)."),
    ] = None,
    near: Annotated[
        list[str],
        typer.Option(
            metavar="DISTANCE=THRESHOLD", help="Override a distance threshold, e.g. phash=6. May be repeated."
        ),
    ] = [],
    most: Annotated[int, typer.Option(min=1, help="Maximum number of near duplicates per image.")] = 10,
    size: Annotated[int, typer.Option(help="Images are scaled to this many pixels per side, a multiple of 32.")] = 256,
    model: Annotated[str | None, typer.Option(help="Also compare the features of this model.")] = None,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue near duplicates of a test set: are they duplicates?

    The pairs are those of `regrade study leakage`, which counts the published decisions; equal pixels need none.
    """
    from regrade.studies.leakage.study import parse_distances, parse_thresholds

    review = opened(workspace).review
    return _shown(
        review,
        review.queue_pairs(
            test_set, against=against, by=parse_distances(by), near=parse_thresholds(near), most=most, size=size,
            model=model, name=name, overlap=overlap, progress=watching_images,
        ),
    )  # fmt: skip


def _shown(review: Review, result: QueueResult) -> CommandResult:
    """The command's result; the app recognizes copies of the queue's images by the hashes that are stored first."""
    review.fill_contents(progress=watching_images)
    return CommandResult(result.table(), result.as_dict())
