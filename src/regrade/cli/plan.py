"""regrade plan: how many images or decisions a claim takes, before labels are paid for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import watching
from regrade.cli.shown import Shown, shown

if TYPE_CHECKING:
    from regrade.studies import Plan, PlanOptions

_HEAD = 200  # lines on a terminal

app = typer.Typer(
    help="Images or decisions needed for a claim, from assumed rates or from those measured in a workspace.",
    no_args_is_help=True,
)

SetOption = Annotated[
    str | None, typer.Option("--test-set", "-t", help="Take rates from this test set of the workspace.")
]
PlanLabels = Annotated[
    str | None, typer.Option("--labels", "-l", help="With -t: right under this label set, NAME or NAME@VERSION.")
]
SliceOption = Annotated[str | None, typer.Option("--slice", help="With -t: only the images of this slice.")]
ModelsOption = Annotated[list[str], typer.Option("--model", help="With -t: only these models. May be repeated.")]
PowerOption = Annotated[float, typer.Option(min=0, max=100, help="The chance to succeed, in %.")]
ConfidenceOption = Annotated[
    float | None, typer.Option(min=0, max=100, help="Confidence in % (default: 95, or the workspace's with -t).")
]
DifferenceOption = Annotated[
    float | None,
    typer.Option(
        min=-100, max=100, help="The difference to find, in percentage points (default with -t: as measured)."
    ),
]


@app.command("accuracy")
@shown
def accuracy(
    half_width: Annotated[float, typer.Option(min=0, max=100, help="The half-width to reach, in percentage points.")],
    accuracy: Annotated[
        list[float],
        typer.Option(min=0, max=100, help="An assumed accuracy in % (default: 50, the worst case). May be repeated."),
    ] = [],
    test_set: SetOption = None,
    model: ModelsOption = [],
    labels: PlanLabels = None,
    power: PowerOption = 80,
    confidence: ConfidenceOption = None,
    workspace: WorkspaceOption = Path(),
) -> Shown:
    """Images to know an accuracy to a given half-width."""
    from regrade.studies import plan_accuracy

    _check_source(test_set, confidence, assumed={"--accuracy": accuracy}, measured={"--model": model, "-l": labels})
    if not half_width > 0:
        raise typer.BadParameter(f"--half-width must be above 0 points, got {half_width:g}")
    if test_set:
        return _shown(
            opened(workspace).plan_accuracy(
                test_set, half_width / 100, models=model, labels=labels, power=power / 100, watch=watching
            )
        )
    assumed = [(f"an accuracy of {value:g}%", value / 100) for value in accuracy or [50.0]]
    return _shown(plan_accuracy(assumed, half_width / 100, options=_options(power, confidence)))


@app.command("difference")
@shown
def difference(
    models: Annotated[list[str] | None, typer.Argument(help="With -t: two or more models (default: all).")] = None,
    difference: DifferenceOption = None,
    disagreement: Annotated[
        float | None, typer.Option(min=0, max=100, help="Images on which exactly one of two models is right, in %.")
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            help="Instead of --disagreement: the better accuracy in %, as if the two erred independently.",
        ),
    ] = None,
    images: Annotated[
        int | None, typer.Option(min=1, help="Images at hand: adds the smallest detectable difference.")
    ] = None,
    pairs: Annotated[int | None, typer.Option(min=1, help="Pairs that will be tested together (default: 1).")] = None,
    test_set: SetOption = None,
    labels: PlanLabels = None,
    slice_: SliceOption = None,
    power: PowerOption = 80,
    confidence: ConfidenceOption = None,
    workspace: WorkspaceOption = Path(),
) -> Shown:
    """Images to tell two models apart on the same images, and the smallest difference that those at hand can show."""
    from regrade.studies import Contrast, plan_difference

    assumed = {"--disagreement": disagreement, "--accuracy": accuracy, "--images": images, "--pairs": pairs}
    _check_source(test_set, confidence, assumed=assumed, measured={"models": models, "-l": labels, "--slice": slice_})
    if test_set:
        return _shown(
            opened(workspace).plan_difference(
                *(models or ()),
                test_set=test_set,
                difference=_fraction(difference),
                labels=labels,
                slice=slice_,
                power=power / 100,
                watch=watching,
            )
        )
    options = _options(power, confidence)
    effect, share = _assumed_pair(difference, disagreement, accuracy)
    level = options.level / (pairs or 1)
    return _shown(plan_difference([Contrast("two models", effect, share, level, images)], options=options))


@app.command("rank")
@shown
def rank(
    models: Annotated[list[str] | None, typer.Argument(help="With -t: two or more models (default: all).")] = None,
    accuracy: Annotated[
        list[float], typer.Option(min=0, max=100, help="An assumed accuracy in %; give two or more.")
    ] = [],
    disagreement: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            help="Images on which exactly one of two models is right, in % (default: independent errors).",
        ),
    ] = None,
    test_set: SetOption = None,
    labels: PlanLabels = None,
    slice_: SliceOption = None,
    power: PowerOption = 80,
    confidence: ConfidenceOption = None,
    workspace: WorkspaceOption = Path(),
) -> Shown:
    """Images for each step of a ranking, for the best model to be ahead of all others, and for all steps together."""
    from regrade.studies import assumed_ranking

    assumed = {"--accuracy": accuracy, "--disagreement": disagreement}
    _check_source(test_set, confidence, assumed=assumed, measured={"models": models, "-l": labels, "--slice": slice_})
    if test_set:
        return _shown(
            opened(workspace).plan_rank(
                *(models or ()), test_set=test_set, labels=labels, slice=slice_, power=power / 100, watch=watching
            )
        )
    accuracies = [value / 100 for value in accuracy]
    return _shown(assumed_ranking(accuracies, _fraction(disagreement), options=_options(power, confidence)))


@app.command("disparity")
@shown
def disparity(
    difference: DifferenceOption = None,
    accuracy: Annotated[float | None, typer.Option(help="The better group's assumed accuracy, in %.")] = None,
    groups: Annotated[
        int | None,
        typer.Option(help="Groups of which the best and the worst are compared (default: two named beforehand)."),
    ] = None,
    images: Annotated[
        int | None, typer.Option(min=1, help="Images at hand per group: adds the smallest detectable disparity.")
    ] = None,
    test_set: SetOption = None,
    by: Annotated[str | None, typer.Option(help="With -t: the column with the groups, e.g. region.")] = None,
    between: Annotated[
        tuple[str, str] | None, typer.Option(help="With -t: these two groups, named beforehand, e.g. Europe Africa.")
    ] = None,
    model: ModelsOption = [],
    power: PowerOption = 80,
    confidence: ConfidenceOption = None,
    workspace: WorkspaceOption = Path(),
) -> Shown:
    """Images per group to show that accuracy differs between groups, such as regions."""
    from regrade.studies import GroupContrast, plan_disparity

    assumed = {"--accuracy": accuracy, "--groups": groups, "--images": images}
    _check_source(test_set, confidence, assumed=assumed, measured={"--by": by, "--between": between, "--model": model})
    if test_set:
        if by is None:
            raise typer.BadParameter("name the column with the groups: --by")
        return _shown(
            opened(workspace).plan_disparity(
                test_set,
                by,
                models=model,
                between=between,
                difference=_fraction(difference),
                power=power / 100,
                watch=watching,
            )
        )
    if accuracy is None or difference is None:
        raise typer.BadParameter("give --accuracy and --difference, or a test set with -t and --by")
    _check_not_above(difference, "the difference", accuracy, "--accuracy")
    pair = GroupContrast(
        "two groups", accuracy / 100, (accuracy - difference) / 100, None if images is None else (images, images)
    )
    return _shown(plan_disparity([pair], groups=groups or 2, named=groups is None, options=_options(power, confidence)))


@app.command("review")
@shown
def review(
    models: Annotated[list[str] | None, typer.Argument(help="With -t: two models.")] = None,
    difference: DifferenceOption = None,
    differing: Annotated[
        float | None, typer.Option(min=0, max=100, help="Images on which the two models' predictions differ, in %.")
    ] = None,
    decisive: Annotated[
        float | None,
        typer.Option(min=0, max=100, help="Of these, images on which exactly one is right, in % (default: 100)."),
    ] = None,
    images: Annotated[int | None, typer.Option(min=1, help="Images of the test set.")] = None,
    test_set: SetOption = None,
    labels: PlanLabels = None,
    power: PowerOption = 80,
    confidence: ConfidenceOption = None,
    workspace: WorkspaceOption = Path(),
) -> Shown:
    """Decisions to tell two models apart in a review: only images on which their predictions differ matter."""
    from regrade.studies import ReviewedPair, plan_review

    assumed = {"--differing": differing, "--decisive": decisive, "--images": images}
    _check_source(test_set, confidence, assumed=assumed, measured={"models": models, "-l": labels})
    if test_set:
        if models is None or len(models) != 2:
            raise typer.BadParameter("name two models")
        return _shown(
            opened(workspace).plan_review(
                models[0],
                models[1],
                test_set=test_set,
                difference=_fraction(difference),
                labels=labels,
                power=power / 100,
            )
        )
    if difference is None or differing is None:
        raise typer.BadParameter("give --difference and --differing, or two models and a test set with -t")
    _check_not_above(abs(difference), "the difference", differing, "--differing")
    pair = ReviewedPair(
        "two models", difference / 100, differing / 100, 1.0 if decisive is None else decisive / 100, images
    )
    return _shown(plan_review(pair, options=_options(power, confidence)))


def _shown(plan: Plan) -> Shown:
    return Shown(plan.table(), plan.as_dict(), head=_HEAD)


def _options(power: float, confidence: float | None) -> PlanOptions:
    from regrade.studies import PlanOptions

    return PlanOptions(power / 100, 0.95 if confidence is None else confidence / 100)


def _fraction(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _check_source(
    test_set: str | None, confidence: float | None, *, assumed: Mapping[str, object], measured: Mapping[str, object]
) -> None:
    """Rates are either assumed or measured: options of the one do not go with the other."""
    if test_set and confidence is not None:
        raise typer.BadParameter("with -t the confidence is the workspace's, in its regrade.toml")
    wrong = [name for name, value in (assumed if test_set else measured).items() if value not in (None, [])]
    if wrong:
        rule = "are assumed rates: leave them out with -t" if test_set else "need a test set: -t"
        raise typer.BadParameter(f"{', '.join(wrong)} {rule}")


def _assumed_pair(difference: float | None, disagreement: float | None, accuracy: float | None) -> tuple[float, float]:
    """The difference and the share of disagreement of two models that are not named."""
    from regrade.stats import independent_disagreement

    if difference is None or (disagreement is None) == (accuracy is None):
        raise typer.BadParameter(
            "give --difference with either --disagreement or --accuracy, or models and a test set with -t"
        )
    effect = difference / 100
    if disagreement is not None:
        _check_not_above(abs(difference), "the difference", disagreement, "--disagreement")
        return effect, disagreement / 100
    _check_not_above(abs(difference), "the difference", accuracy or 0.0, "--accuracy")
    better = (accuracy or 0.0) / 100
    return effect, independent_disagreement(better, better - abs(effect))


def _check_not_above(value: float, name: str, limit: float, option: str) -> None:
    if value > limit:
        raise typer.BadParameter(f"{name}, {value:g} points, cannot be above {option}, {limit:g} %")
