"""regrade models: list, describe and remove models, and check their accuracies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from regrade.cli.command_result import CommandResult, ListErrors, shown
from regrade.cli.completion import complete_models, complete_test_sets
from regrade.cli.options import JsonOption, TestSetOption, WorkspaceOption, opened, opened_store
from regrade.cli.output import report_import, watching
from regrade.cli.removed import YesOption, confirm_removal, report_removal, report_renaming
from regrade.core import ATTRIBUTES, InputError
from regrade.core.amounts import amount
from regrade.formats import ModelFormat, Zoo

app = typer.Typer(no_args_is_help=True)
SomeTestSet = Annotated[
    str | None,
    typer.Option(
        "--test-set",
        "-t",
        help="Only on this test set (default: on all test sets).",
        autocompletion=complete_test_sets,
    ),
]


@app.command("list")
@shown
def list_(workspace: WorkspaceOption = Path()) -> CommandResult:
    """List the models and people, the test sets for which predictions are stored, and the metadata of models.

    A test set of which only some images have predictions shows how many. Predictions with a damaged manifest are
    skipped and reported as errors; the exit code is then 1.
    """
    from regrade.core import Column, Table

    store, errors = opened_store(workspace), ListErrors()
    described = store.described_models.read()
    sets: dict[str, list[str]] = {}
    coverage: dict[str, dict[str, int]] = {}
    stated: dict[str, dict[str, Any]] = {}
    sources: dict[str, dict[str, str]] = {}
    for test_set in store.test_sets.names():
        for model in store.predictions.names(test_set):
            with errors.skip_unreadable():
                manifest = store.predictions.manifest(test_set, model)
                spec = manifest.model.described(described.of(model), described.derived_of(model))
                sources[model] = {
                    key: source
                    for key, source in described.sources_of(model).items()
                    if not getattr(manifest.model, key)
                }
                if manifest.asked is not None:
                    coverage.setdefault(model, {})[test_set] = manifest.asked
                sets.setdefault(model, []).append(test_set)
                stated[model] = {name: value for name in ATTRIBUTES if (value := getattr(spec, name)) not in ("", None)}
    shown = [name for name in ATTRIBUTES if any(name in attributes for attributes in stated.values())]
    columns = [Column(name, name.replace("_", " ")) for name in ("model", "test_sets", *shown)]
    rows = tuple(
        (
            model,
            ", ".join(_covered(name, coverage.get(model, {})) for name in sets[model]),
            *(_cell(name, stated[model].get(name)) for name in shown),
        )
        for model in sorted(sets)
    )
    models = [
        {"model": name, "test_sets": sets[name], **stated[name]}
        | ({"covered": coverage[name]} if name in coverage else {})
        | ({"sources": sources[name]} if sources[name] else {})
        for name in sorted(sets)
    ]
    return errors.result_with(Table("models", tuple(columns), rows, _derived(sources)), {"models": models})


def _derived(sources: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """A note on the values that nobody stated, by source."""
    by_source: dict[str, set[str]] = {}
    for attributes in sources.values():
        for key, source in attributes.items():
            by_source.setdefault(source, set()).add(key)
    return tuple(
        f"derived from {source}: {', '.join(name.replace('_', ' ') for name in ATTRIBUTES if name in keys)}"
        for source, keys in sorted(by_source.items())
    )


def _covered(test_set: str, coverage: Mapping[str, int]) -> str:
    """A test set, with the number of images that have predictions if they are not all."""
    return f"{test_set} ({amount(coverage[test_set], 'image')})" if test_set in coverage else test_set


def _cell(attribute: str, value: str | int | None) -> str | int | None:
    """The cell of an attribute; a year has no thousands separator."""
    return str(value) if attribute == "year" and value is not None else value


@app.command()
def describe(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="CSV, TSV, Parquet or JSON lines file with the column model and any of family, parameters, "
            "training_data, training_images, year and base_model."
        ),
    ] = None,
    form: Annotated[
        ModelFormat, typer.Option("--format", help="Format of the file; timm: results as timm publishes them.")
    ] = ModelFormat.TABLE,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="Prefix of the models in the workspace, e.g. timm for timm:resnet50 (default with --format "
            "timm: timm)."
        ),
    ] = None,
    from_zoo: Annotated[
        bool,
        typer.Option(
            "--from-zoo",
            help="Instead of a file: derive metadata from the names of models of timm, torchvision, open_clip and "
            "transformers; stated values win.",
        ),
    ] = False,
    zoo: Annotated[
        Zoo | None,
        typer.Option(help="With --from-zoo: the zoo of models whose names have no prefix (default: left out)."),
    ] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Add metadata of models: family, parameters, training data and its size, year and base model.

    A name is that of a model, a pattern such as 'trained:plain/seed-*', or a training (plain). Empty cells change
    nothing, and a stated value replaces an earlier one. The command is idempotent.
    """
    if from_zoo:
        _refuse_with_zoo(file, form, prefix)
        _describe_from_zoos(workspace, zoo, as_json=as_json)
        return
    if zoo is not None:
        raise InputError("--zoo needs --from-zoo")
    if file is None:
        raise InputError("give a file with the metadata of models, or --from-zoo")
    done = opened(workspace).models.describe(file, form=form, prefix=prefix)
    counts = f"new: {len(done.new):,}, updated: {len(done.updated):,}, unchanged: {len(done.unchanged):,}"
    data = {
        "new": list(done.new),
        "updated": list(done.updated),
        "unchanged": list(done.unchanged),
        "changes": [asdict(change) for change in done.changes],
        "not_stored": list(done.not_stored),
        "missing_base_models": list(done.missing_bases),
    }
    report_import([f"models described: {counts}"], done.notes, data, as_json=as_json)


def _refuse_with_zoo(file: Path | None, form: ModelFormat, prefix: str | None) -> None:
    if file is not None or form is not ModelFormat.TABLE or prefix is not None:
        raise InputError("--from-zoo reads no file: leave out the file, --format and --prefix")


def _describe_from_zoos(workspace: Path, zoo: Zoo | None, *, as_json: bool) -> None:
    done = opened(workspace).models.describe_from_zoos(without_prefix=zoo)
    counts = f"new: {len(done.new):,}, updated: {len(done.updated):,}, unchanged: {len(done.unchanged):,}"
    report_import([f"models described from their names: {counts}"], done.notes, asdict(done), as_json=as_json)


@app.command()
@shown
def check(
    test_set: TestSetOption,
    published: Annotated[
        Path | None,
        typer.Option(
            help="CSV with the columns model and top1 (percent), in addition to the built-in published accuracies."
        ),
    ] = None,
    prefix: Annotated[
        str,
        typer.Option(
            help="Prefix of the models in the workspace, e.g. timm for timm:resnet50; empty: names as in the CSV."
        ),
    ] = "timm",
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Compare the models' accuracies with published ones, and warn about large differences.

    Exits with 3 if a published accuracy is more than half a percentage point outside the confidence interval.
    """
    result = opened(workspace).models.check(test_set, published=published, prefix=prefix, progress=watching)
    table = result.table()
    data = {"test_set": test_set, "models": table.records(), "warnings": list(result.warnings)}
    return CommandResult(table, data, exit_code=3 if result.warnings else 0)


@app.command()
def remove(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Models: names, patterns such as 'resnet50-*', or methods with models NAME/seed-*.",
            autocompletion=complete_models,
        ),
    ],
    test_set: SomeTestSet = None,
    ensemble: Annotated[
        bool, typer.Option("--ensemble", help="Remove the checkpoints of ensembles instead of predictions.")
    ] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Remove the predictions of models or people; `regrade removed restore` puts them back.

    People's votes and reviews of the models' mistakes are kept, and so are trainings. Answers that were published from
    the ledger are not removed.
    """
    models = opened(workspace).models
    plan = models.plan_removal(*names, test_set=test_set, ensembles=ensemble)
    confirm_removal(plan, yes=yes)
    removal = models.remove(*names, test_set=test_set, ensembles=ensemble, expected=plan)
    report_removal(removal, plan, as_json=as_json)


@app.command()
def rename(
    old: Annotated[
        str, typer.Argument(help="Name of the model, or of an imported person.", autocompletion=complete_models)
    ],
    new: Annotated[str, typer.Argument(help="New name.")],
    test_set: SomeTestSet = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Rename a model; what is stated about it and reviews of its mistakes follow. Renaming it back undoes it.

    A model that a queue of the ledger is about is not renamed.
    """
    done = opened(workspace).models.rename(old, new, test_set=test_set)
    report_renaming(done, f"renamed {old} to {new} on {', '.join(done.test_sets)}", as_json=as_json)
