"""The command `regrade`: its subcommands, and how errors are printed."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise

import typer

from regrade.cli.lazy_group import LazyGroup, lazy_command, lazy_study
from regrade.cli.output import one_line
from regrade.cli.verdict_command import NO_VERDICT, VerdictCommand, error_code

_MAY_BE_EMPTY = ("--prefix", "--keep")  # options for which an empty value has a meaning

app = typer.Typer(
    name="regrade",
    cls=LazyGroup,
    help="A second, honest grading of image classifiers: every number with its uncertainty.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    rich_markup_mode="rich",
)
for _name, _command in {
    "demo": lazy_command(
        "workspace:demo",
        "Train eight classifiers on handwritten digits, grade them on two test sets, and write a report.",
    ),
    "init": lazy_command("workspace:init", "Create a workspace with a commented regrade.toml."),
    "predict": lazy_command(
        "predict:predict",
        "Run every model on every image of the test sets and store the predictions; an interrupted run can be resumed.",
    ),
    "grade": lazy_study(
        "grade",
        "Grade models: top-1, top-5 and multi-label accuracy with confidence intervals, on all images and on slices.",
    ),
    "compare": lazy_study(
        "compare",
        "Compare models on the same images: differences, McNemar tests corrected for multiple comparisons, and ranks.",
    ),
    "gate": lazy_study(
        "gate",
        "Decide whether a candidate model may replace a baseline: PASS, FAIL or INCONCLUSIVE, for continuous "
        "integration.",
        command_class=VerdictCommand,
    ),
    "neighbors": lazy_command(
        "neighbors:neighbors",
        "Find exact and near duplicates: pairs between two folders, or groups within one folder and which image to "
        "keep. With -t: the nearest training images of a test set.",
    ),
    "report": lazy_command(
        "report:report",
        "Write a report as one HTML page for offline use and printing: findings, figures, tables and their provenance.",
    ),
    "serve": lazy_command(
        "serve:serve", "Start the browser app: label, judge, discuss and decide, edit the guide, explore results."
    ),
    "replicate": lazy_command(
        "replicate:replicate",
        "Recompute the figures of a paper from its published data, and compare them with the printed ones.",
    ),
    "verify": lazy_command(
        "workspace:verify",
        "Check every stored file against its checksum, the hash chain of the ledger, and that images exist.",
    ),
    "doctor": lazy_command(
        "doctor:doctor", "Show versions, optional parts, devices, and whether the workspace is sound."
    ),
    "upgrade": lazy_command(
        "workspace:upgrade",
        "Convert a workspace that was written by an older version of regrade; either all files are rewritten or none.",
    ),
    "testsets": lazy_command("testsets:app", "List, add, check, rename, remove and download test sets."),
    "models": lazy_command("models:app", "List, describe, check, rename and remove the models of a workspace."),
    "labels": lazy_command("labels:app", "Label sets, and novel predictions: those that nobody has judged yet."),
    "removed": lazy_command("removed:app", "List, restore and purge removed models, test sets and label sets."),
    "import": lazy_command(
        "import_:app", "Import predictions, checkpoints, labels, slices, decisions and people from files."
    ),
    "plan": lazy_command(
        "study:plan_app", "Sample sizes: images or decisions needed for a claim, from assumed or measured rates."
    ),
    "study": lazy_command(
        "study:app", "Studies of the predictions in a workspace: generalization, similarity, mistakes, and others."
    ),
    "build": lazy_command(
        "study:build_app", "Build a new test set: selection tasks, answers of workers, frequencies, and samples."
    ),
    "train": lazy_command(
        "study:train_app", "Train ensembles and store their scores after every epoch, for the study of confusion."
    ),
    "review": lazy_command("review:app", "Create review queues, follow their progress, and publish their results."),
    "team": lazy_command("team:app", "Manage the people of a workspace and their accounts."),
}.items():
    app.command(_name)(_command)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    if version:
        from regrade import __version__

        typer.echo(f"regrade {__version__}")
        raise typer.Exit


@cache
def _commands() -> Callable[[], object]:
    """All commands as one callable; built once, because building takes longer than many commands run."""
    return typer.main.get_command(app)


def main() -> None:
    """Run a command; an expected error prints one line to standard error and exits with 1, or 3 without a verdict."""
    code = error_code(sys.argv[1:])
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # characters that the terminal cannot encode are escaped
    try:
        try:
            _refuse_empty(sys.argv[1:])
            _commands()()
        finally:
            if sys.stdout is not None:  # it is None if the caller has closed it
                sys.stdout.flush()
    except BrokenPipeError:  # the reader of the pipe, such as head, has exited
        _drop_output()
        sys.exit(NO_VERDICT if code == NO_VERDICT else 0)
    except OSError as error:
        _drop_output()
        sys.stderr.write(f"error: {error.filename or 'the output'}: {error.strerror or error}\n")
        sys.exit(code)
    except Exception as error:
        from regrade.core.errors import RegradeError

        if isinstance(error, RegradeError):
            sys.stderr.write(f"error: {one_line(str(error))}\n")
        elif code != NO_VERDICT:
            raise
        else:
            traceback.print_exc()  # the interpreter would exit with 1, which is a verdict
        sys.exit(code)


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Raise if the value of an option or argument is empty, as with an unset shell variable."""
    for before, argument in pairwise(("regrade", *arguments)):
        option, is_assigned, value = argument.partition("=") if argument.startswith("--") else (before, "=", argument)
        if is_assigned and not value and option not in _MAY_BE_EMPTY:
            from regrade.core.errors import InputError

            raise InputError(f"the value after {option} is empty: give a value, or omit the option")


def _drop_output() -> None:
    """Discard further standard output; otherwise flushing it at exit would fail again."""
    with suppress(OSError):  # standard output may not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
