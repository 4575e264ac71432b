"""regrade study, and the other commands that run a study: the options of a study become those of its command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import typer
from typer.core import TyperGroup

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.completion import completer_of
from regrade.cli.lazy_group import LazyGroup, built, lazy_study
from regrade.cli.options import WorkspaceOption, opened, opened_store
from regrade.cli.output import StreamedList, say, show_epoch, watching, watching_images

if TYPE_CHECKING:
    from regrade.core import Table
    from regrade.studies import Flag, Output, Study

TOP_LEVEL = ("grade", "compare", "gate", "label_change")
"""Studies whose command is not below `regrade study`."""

SUMMARIES = {
    "checks": "Check an evaluation for numbered pitfalls (RG001, RG002, ...): each is found, passed, or does not "
    "apply.",
    "class_map": "Audit the map between label classes and predicted classes: errors by class, and other maps.",
    "classes": "Grade each class: precision, recall and F1 with intervals, averages over classes, and confused "
    "classes.",
    "confidence": "Check confidences: calibration, accuracy of the most confident predictions, and conformal sets, "
    "also on new data.",
    "confusion": "Score images by the confusion of an ensemble during training; show errors by score and on the hard "
    "images.",
    "corruptions": "Show errors per corruption and the mCE; the test set needs the group columns corruption and "
    "severity.",
    "frequency": "Show accuracy by selection frequency, the share of people who select an image for its class.",
    "generalization": "Compare accuracies on new test sets with the original: gaps, ranks, linear fits, robustness, "
    "overfitting.",
    "geography": "Study accuracy by region, country, income or any group: accuracies, disparities, and progress by "
    "group.",
    "leakage": "Find exact and near duplicates between a test set and another set, and grade every model without them.",
    "mistakes": "Study mistakes: categories by people or by an automatic triage, confused classes, and what newer "
    "models fix.",
    "models": "Show how accuracy, drops, robustness and disparity go with year, size, data and family of models.",
    "multilabel": "Compare multi-label accuracy with top-1 and top-5, and show which images have several right labels.",
    "people": "Compare people with models on the same images: accuracy by subset, tests, agreement, time, common "
    "errors.",
    "remedies": "Compare remedies with a baseline, or models with their base models: accuracy, groups, slices and "
    "drops.",
    "shift": "Show how well embeddings of a model tell the images of two test sets apart, and typical images of each.",
    "similarity": "Show the similarity of all pairs of models: error consistency, dominance, and shared predictions.",
}
"""The studies below `regrade study`, with the first line of their help: listing them imports none."""

NOT_SOUND = 3
"""The exit code of a check that found something wrong."""

_FIGURE = Annotated[
    Path | None,
    typer.Option("--figure", help="Also save a figure: .html (interactive), .svg, .png, .pdf or .json (Vega-Lite)."),
]
_PROGRESS = {"progress": watching, "image_progress": watching_images, "epoch_progress": show_epoch}
_READABLE = (bool, int, float, Path, str)  # types that the command line reads; the first that fits is taken


class StudyGroup(LazyGroup):
    """The studies of regrade, and those that installed packages offer."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the studies."""
        return sorted([*super().list_commands(ctx), *_offered()])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a study."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or (offered := _offered().get(cmd_name)) is None:
            return own
        return built(cmd_name, study_command(offered))

    def listed(self) -> dict[str, Any]:
        """A command for each study, which has its summary only."""
        offered = {name: built(name, study_command(study)) for name, study in _offered().items()}
        return dict(sorted({**super().listed(), **offered}.items()))


def _offered() -> dict[str, Study[..., Any, Any]]:
    """The studies of other packages, by the names of their commands."""
    from regrade.studies.offered import offered_studies

    return {study.command: study for study in offered_studies(frozenset((*SUMMARIES, *TOP_LEVEL)))}


class StepGroup(TyperGroup):
    """Studies that are imported together, one command each."""

    @property
    def studies(self) -> Sequence[Study[..., Any, Any]]:
        """The studies, in the order of their commands."""
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names of the studies."""
        return [study.command for study in self.studies]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command of a study."""
        study = next((study for study in self.studies if study.command == cmd_name), None)
        return None if study is None else built(cmd_name, study_command(study))


class PlanGroup(StepGroup):
    """The plans of the registry, one command each."""

    @property
    def studies(self) -> Sequence[Study[..., Any, Any]]:
        """The plans, in the order of their commands."""
        from regrade.studies import PLANS

        return PLANS


class BuildGroup(StepGroup):
    """The steps of a build, one command each."""

    @property
    def studies(self) -> Sequence[Study[..., Any, Any]]:
        """The steps, in their order."""
        from regrade.build import BUILD_STEPS

        return BUILD_STEPS


class TrainGroup(StepGroup):
    """The steps of a training, one command each."""

    @property
    def studies(self) -> Sequence[Study[..., Any, Any]]:
        """The steps, in their order."""
        from regrade.train import TRAIN_STEPS

        return TRAIN_STEPS


app = typer.Typer(cls=StudyGroup, no_args_is_help=True)
for _name, _summary in SUMMARIES.items():
    app.command(_name.replace("_", "-"))(lazy_study(_name, _summary))
plan_app = typer.Typer(cls=PlanGroup, no_args_is_help=True)
build_app = typer.Typer(cls=BuildGroup, no_args_is_help=True)
train_app = typer.Typer(cls=TrainGroup, no_args_is_help=True)


@app.callback()
@plan_app.callback()
@build_app.callback()
@train_app.callback()
def _studies() -> None:
    pass


def study_command(study: Study[..., Any, Any]) -> Callable[..., None]:
    """The command that runs a study, prints its table and saves its figure."""
    flags, names = study.option_class.flags(), {field.name for field in fields(study.option_class)}
    outputs = {f"output_{number}": output for number, output in enumerate(study.outputs)}

    def command(**values: Any) -> CommandResult:
        folder = values.pop("workspace", None)
        path, show = values.pop("figure", None), values.pop("show", None)
        writes = [(output, value) for name, output in outputs.items() if (value := values.pop(name)) is not None]
        chosen = {name: _value(flags[name], value) for name, value in values.items()}
        options = study.options(**chosen, **{name: bar for name, bar in _PROGRESS.items() if name in names})
        data = _data(study, folder) if study.in_workspace and study.needs_data(options) else None
        result = study.result_of(data, options)
        table = _table(study, result, options, show)
        for name, flag in flags.items():
            if flag.says and chosen[name] is not None:
                say(f"{flag.says}: {chosen[name]}")
        if path is not None and study.figure is not None:
            say(f"figure: {study.figure(result).save(path)}")
        for output, value in writes:
            say(output.write(data, result, value))
        code = study.exit_code(result) if study.exit_code else 0 if study.sound(result) else NOT_SOUND
        return CommandResult(table, result.as_dict(StreamedList), study.head, study.most, exit_code=code)

    command.__name__, command.__doc__ = study.name, study.summary
    parameters = _parameters(study) | {name: (_annotated(output), None) for name, output in outputs.items()}
    if study.parts:
        listed = typer.Option(help=study.parts.help)
        parameters["show"] = (Annotated[study.parts.kind | None, listed], None)
    if study.figure:
        parameters["figure"] = (_FIGURE, None)
    if study.in_workspace:
        parameters["workspace"] = (WorkspaceOption, Path())
    _set_signature(command, parameters)
    return shown(command)


def _data(study: Study[..., Any, Any], folder: Path) -> Any:
    from regrade.studies.study import STORE

    return opened_store(folder) if study.data is STORE else study.data(opened(folder))


def _value(flag: Flag, value: Any) -> Any:
    if flag.percent:
        return None if value is None else [item / 100 for item in value] if isinstance(value, list) else value / 100
    return flag.parse(value) if flag.parse else value


def _table(study: Study[..., Any, Any], result: Any, options: Any, show: Enum | None) -> Table:
    """The selected table, or the main one with a note that lists the others."""
    if study.parts is None:
        main: Table = result.table()
        return main
    selected = show or study.parts.chosen(options, result)
    if selected is not None:
        part: Table = result.part(selected)
        return part
    main = result.table()
    further_parts = ", ".join(part.value for part in list(result.parts)[1:])
    return replace(main, notes=(*main.notes, f"further tables with --show: {further_parts}")) if further_parts else main


def _parameters(study: Study[..., Any, Any]) -> dict[str, tuple[Any, Any]]:
    """The annotation and the default of each option."""
    from regrade.studies.study import hints_of

    hints, flags = hints_of(study.option_class), study.option_class.flags()
    defaults = {field.name: field.default for field in fields(study.option_class)}
    return {name: _parameter(name, flag, hints[name], defaults[name]) for name, flag in flags.items()}


def _parameter(name: str, flag: Flag, hint: Any, default: Any) -> tuple[Any, Any]:
    kind = flag.kind or _kind(hint)
    is_list = get_origin(kind) is list
    if flag.parse:
        default = [] if is_list else None if default is not MISSING else MISSING
    elif is_list and default is not MISSING:
        default = list(default or ())
    elif flag.percent and isinstance(default, float):
        default = round(100 * default)
    names = flag.names or (f"--{name.replace('_', '-')}",)
    settings: dict[str, Any] = {"help": flag.help, "metavar": flag.metavar}
    limits = {"min": flag.minimum, "max": flag.maximum}
    settings |= {name: limit for name, limit in limits.items() if limit is not None}
    settings["autocompletion"] = completer_of(name if flag.is_argument else "", *names)
    written = typer.Argument(**settings) if flag.is_argument else typer.Option(*names, **settings)
    return Annotated[kind, written], default


def _kind(hint: Any) -> Any:
    """The type by which the command line reads an option."""
    from regrade.studies.study import alternatives, enum_of, items_of

    items = items_of(hint)
    if items is not None:
        return list[_kind(items)]  # type: ignore[misc]
    kinds = alternatives(hint)
    kind = enum_of(hint) or next((kind for kind in _READABLE if kind in kinds), kinds[0])
    return kind if type(None) not in getattr(hint, "__args__", ()) else kind | None


def _annotated(output: Output[Any]) -> Any:
    return Annotated[str | None, typer.Option(f"--{output.flag}", metavar=output.metavar, help=output.help)]


def _set_signature(command: Callable[..., Any], parameters: Mapping[str, tuple[Any, Any]]) -> None:
    """Give a function these parameters, with annotation and default; those without a default come first."""
    required = [name for name, (_, default) in parameters.items() if default is MISSING]
    ordered = {name: parameters[name] for name in (*required, *parameters)}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if default is MISSING else default,
                annotation=annotation,
            )
            for name, (annotation, default) in ordered.items()
        ]
    )
    command.__annotations__ = {name: annotation for name, (annotation, _) in ordered.items()}
