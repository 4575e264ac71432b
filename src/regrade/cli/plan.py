"""regrade plan: sample sizes, the number of images or decisions needed for a claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regrade.cli.command_result import CommandResult, add_options, shown
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import watching

if TYPE_CHECKING:
    from regrade.studies import Plan, PlanOptions
    from regrade.workspace import Workspace

_HEAD = 200  # rows on a terminal

app = typer.Typer(
    help="Sample sizes: images or decisions needed for a claim, from assumed or measured rates.",
    no_args_is_help=True,
)

PlanLabels = Annotated[
    str | None,
    typer.Option(
        "--labels", "-l", help="With -t: score against this label set, NAME (newest version) or NAME@VERSION."
    ),
]
SliceOption = Annotated[str | None, typer.Option("--slice", help="With -t: use only the images of this slice.")]
ModelsOption = Annotated[
    list[str], typer.Option("--model", help="With -t: use only this model. May be repeated (default: all).")
]
DifferenceOption = Annotated[
    float | None,
    typer.Option(
        min=-100, max=100, help="Difference to detect, in percentage points (default with -t: the measured one)."
    ),
]

TwoOrMoreModels = Annotated[list[str] | None, typer.Argument(help="With -t: two or more models (default: all).")]


@dataclass(frozen=True)
class Source:
    """The source of the rates (a test set of a workspace, or assumptions), and power and confidence in %."""

    test_set: str | None
    power_percent: float
    confidence: float | None
    folder: Path

    @property
    def power(self) -> float:
        """The statistical power, as a fraction."""
        return self.power_percent / 100

    @property
    def options(self) -> PlanOptions:
        """The options of a plan from assumed rates."""
        from regrade.studies import PlanOptions

        return PlanOptions(self.power, 0.95 if self.confidence is None else self.confidence / 100)

    def workspace(self) -> Workspace:
        """The workspace with the measured rates."""
        return opened(self.folder)

    def check(self, *, assumed: Mapping[str, object], measured: Mapping[str, object]) -> None:
        """Raise if options for assumed rates and for measured rates are combined."""
        if self.test_set and self.confidence is not None:
            raise typer.BadParameter(
                "with -t the confidence level is set in the regrade.toml of the workspace: omit --confidence"
            )
        wrong = [name for name, value in (assumed if self.test_set else measured).items() if value not in (None, [])]
        if wrong:
            rule = "are assumed rates: omit them with -t" if self.test_set else "require a test set: -t"
            raise typer.BadParameter(f"{', '.join(wrong)} {rule}")


_SHARED: Mapping[str, tuple[Any, Any]] = {
    "test_set": (
        Annotated[
            str | None,
            typer.Option("--test-set", "-t", help="Use the rates measured on this test set of the workspace."),
        ],
        None,
    ),
    "power": (Annotated[float, typer.Option(min=0, max=100, help="Statistical power in %.")], 80),
    "confidence": (
        Annotated[
            float | None,
            typer.Option(min=0, max=100, help="Confidence level in % (default: 95; with -t, the workspace's)."),
        ],
        None,
    ),
    "workspace": (WorkspaceOption, Path()),
}


def planned(command: Callable[..., CommandResult]) -> Callable[..., None]:
    """Add the options that all plans share to a command, as its parameter ``source``, and print its result."""

    @wraps(command)
    def run(**arguments: Any) -> CommandResult:
        source = Source(*(arguments.pop(name) for name in _SHARED))
        return command(source=source, **arguments)

    add_options(run, command, _SHARED, instead_of="source")
    return shown(run)


@app.command("accuracy")
@planned
def accuracy(
    source: Source,
    half_width: Annotated[
        float, typer.Option(min=0, max=100, help="Half-width of the confidence interval, in percentage points.")
    ],
    accuracy: Annotated[
        list[float],
        typer.Option(min=0, max=100, help="Assumed accuracy in % (default: 50, the worst case). May be repeated."),
    ] = [],
    model: ModelsOption = [],
    labels: PlanLabels = None,
) -> CommandResult:
    """Images needed to estimate an accuracy with a given half-width."""
    from regrade.studies import plan_accuracy

    source.check(assumed={"--accuracy": accuracy}, measured={"--model": model, "-l": labels})
    if not half_width > 0:
        raise typer.BadParameter(f"--half-width must be above 0, got {half_width:g}")
    if source.test_set:
        return _shown(
            source.workspace().plan.accuracy(
                source.test_set, half_width / 100, models=model, labels=labels, power=source.power, progress=watching
            )
        )
    assumed = [(f"an accuracy of {value:g}%", value / 100) for value in accuracy or [50.0]]
    return _shown(plan_accuracy(assumed, half_width / 100, options=source.options))


@app.command("difference")
@planned
def difference(
    source: Source,
    models: TwoOrMoreModels = None,
    difference: DifferenceOption = None,
    disagreement: Annotated[
        float | None,
        typer.Option(min=0, max=100, help="Share of images on which exactly one of the two models is right, in %."),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            help="Instead of --disagreement: accuracy of the better model in %, assuming independent errors.",
        ),
    ] = None,
    images: Annotated[
        int | None, typer.Option(min=1, help="Number of available images: adds the minimum detectable difference.")
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Number of pairs that are tested together (default: 1).")
    ] = None,
    labels: PlanLabels = None,
    slice_: SliceOption = None,
) -> CommandResult:
    """Images needed to detect a difference between two models, and the minimum detectable difference."""
    from regrade.studies import Contrast, plan_difference

    assumed = {"--disagreement": disagreement, "--accuracy": accuracy, "--images": images, "--pairs": pairs}
    source.check(assumed=assumed, measured={"models": models, "-l": labels, "--slice": slice_})
    if source.test_set:
        return _shown(
            source.workspace().plan.difference(
                *(models or ()),
                test_set=source.test_set,
                difference=_fraction(difference),
                labels=labels,
                slice=slice_,
                power=source.power,
                progress=watching,
            )
        )
    options = source.options
    effect, share = _assumed_pair(difference, disagreement, accuracy)
    level = options.level / (pairs or 1)
    return _shown(plan_difference([Contrast("two models", effect, share, level, images)], options=options))


@app.command("rank")
@planned
def rank(
    source: Source,
    models: TwoOrMoreModels = None,
    accuracy: Annotated[
        list[float], typer.Option(min=0, max=100, help="Assumed accuracy in %; give two or more.")
    ] = [],
    disagreement: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            help="Share of images on which exactly one of two models is right, in % (default: independent errors).",
        ),
    ] = None,
    labels: PlanLabels = None,
    slice_: SliceOption = None,
) -> CommandResult:
    """Images needed to separate neighboring models of a ranking, the best model from all others, and all models."""
    from regrade.studies import assumed_ranking

    assumed = {"--accuracy": accuracy, "--disagreement": disagreement}
    source.check(assumed=assumed, measured={"models": models, "-l": labels, "--slice": slice_})
    if source.test_set:
        return _shown(
            source.workspace().plan.rank(
                *(models or ()),
                test_set=source.test_set,
                labels=labels,
                slice=slice_,
                power=source.power,
                progress=watching,
            )
        )
    accuracies = [value / 100 for value in accuracy]
    return _shown(assumed_ranking(accuracies, _fraction(disagreement), options=source.options))


@app.command("disparity")
@planned
def disparity(
    source: Source,
    difference: DifferenceOption = None,
    accuracy: Annotated[float | None, typer.Option(help="Assumed accuracy of the better group, in %.")] = None,
    groups: Annotated[
        int | None,
        typer.Option(
            help="Number of groups if the best and the worst are compared (default: two groups chosen in advance)."
        ),
    ] = None,
    images: Annotated[
        int | None,
        typer.Option(min=1, help="Number of available images per group: adds the minimum detectable disparity."),
    ] = None,
    by: Annotated[str | None, typer.Option(help="With -t: column of the groups, e.g. region.")] = None,
    between: Annotated[
        tuple[str, str] | None, typer.Option(help="With -t: two groups chosen in advance, e.g. Europe Africa.")
    ] = None,
    model: ModelsOption = [],
) -> CommandResult:
    """Images per group needed to detect a difference in accuracy between groups, such as regions."""
    from regrade.studies import GroupContrast, plan_disparity

    assumed = {"--accuracy": accuracy, "--groups": groups, "--images": images}
    source.check(assumed=assumed, measured={"--by": by, "--between": between, "--model": model})
    if source.test_set:
        if by is None:
            raise typer.BadParameter("-t requires --by, the column of the groups")
        return _shown(
            source.workspace().plan.disparity(
                source.test_set,
                by,
                models=model,
                between=between,
                difference=_fraction(difference),
                power=source.power,
                progress=watching,
            )
        )
    if accuracy is None or difference is None:
        raise typer.BadParameter("give --accuracy and --difference, or a test set with -t and --by")
    _check_not_above(difference, "the difference", accuracy, "--accuracy")
    pair = GroupContrast(
        "two groups", accuracy / 100, (accuracy - difference) / 100, None if images is None else (images, images)
    )
    return _shown(plan_disparity([pair], groups=groups or 2, named=groups is None, options=source.options))


@app.command("review")
@planned
def review(
    source: Source,
    models: Annotated[list[str] | None, typer.Argument(help="With -t: names of two models.")] = None,
    difference: DifferenceOption = None,
    differing: Annotated[
        float | None,
        typer.Option(min=0, max=100, help="Share of images on which the predictions of the two models differ, in %."),
    ] = None,
    decisive: Annotated[
        float | None,
        typer.Option(
            min=0, max=100, help="Share of these images on which exactly one model is right, in % (default: 100)."
        ),
    ] = None,
    images: Annotated[int | None, typer.Option(min=1, help="Number of images in the test set.")] = None,
    labels: PlanLabels = None,
) -> CommandResult:
    """Decisions needed to detect a difference between two models in a review of the images on which they differ."""
    from regrade.studies import ReviewedPair, plan_review

    assumed = {"--differing": differing, "--decisive": decisive, "--images": images}
    source.check(assumed=assumed, measured={"models": models, "-l": labels})
    if source.test_set:
        if models is None or len(models) != 2:
            raise typer.BadParameter("give the names of two models")
        return _shown(
            source.workspace().plan.review(
                models[0],
                models[1],
                test_set=source.test_set,
                difference=_fraction(difference),
                labels=labels,
                power=source.power,
            )
        )
    if difference is None or differing is None:
        raise typer.BadParameter("give --difference and --differing, or two models and a test set with -t")
    _check_not_above(abs(difference), "the difference", differing, "--differing")
    pair = ReviewedPair(
        "two models", difference / 100, differing / 100, 1.0 if decisive is None else decisive / 100, images
    )
    return _shown(plan_review(pair, options=source.options))


def _shown(plan: Plan) -> CommandResult:
    return CommandResult(plan.table(), plan.as_dict(), head=_HEAD)


def _fraction(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _assumed_pair(difference: float | None, disagreement: float | None, accuracy: float | None) -> tuple[float, float]:
    """The difference and the disagreement of two assumed models, as fractions."""
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
        raise typer.BadParameter(f"{name} of {value:g} points cannot exceed {option}, {limit:g} %")
