"""regrade study, and the other commands that run a study: built from the registry when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from regrade.cli.study_command import study_command

if TYPE_CHECKING:
    from regrade.studies import Study

TOP_LEVEL = ("grade", "compare", "label_change")
"""Studies whose command is not below `regrade study`."""


class LazyGroup(TyperGroup):
    """A group whose study commands are built when they are used: importing the studies takes most of a second."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; a placeholder is replaced by the command of its study."""
        command = super().get_command(ctx, cmd_name)
        load = getattr(getattr(command, "callback", None), "load_study", None)
        return command if load is None else built(load(), cmd_name)


class StudyGroup(TyperGroup):
    """The studies of the registry, one command each."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names of the studies."""
        return sorted(_below_study())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command of a study."""
        study = _below_study().get(cmd_name)
        return None if study is None else built(study, cmd_name)


app = typer.Typer(
    cls=StudyGroup,
    help="Studies of the predictions in a workspace: generalization, similarity, mistakes, and others.",
    no_args_is_help=True,
)


@app.callback()
def _studies() -> None:
    pass


def placeholder(name: str) -> Callable[[], None]:
    """A command that `LazyGroup` replaces by that of the named study."""

    def command() -> None:
        pass

    command.load_study = lambda: _named(name)  # type: ignore[attr-defined]
    return command


def built(study: Study[..., Any, Any], name: str) -> Any:
    """The command of a study."""
    single = typer.Typer(rich_markup_mode="rich", add_completion=False)
    single.command(name)(study_command(study))
    return typer.main.get_command(single)


def _below_study() -> dict[str, Study[..., Any, Any]]:
    from regrade.studies import all_studies

    return {study.command: study for study in all_studies() if study.name not in TOP_LEVEL}


def _named(name: str) -> Study[..., Any, Any]:
    from regrade.studies import NEIGHBORS_COMMAND, STUDIES

    return next(study for study in (*STUDIES, NEIGHBORS_COMMAND) if study.name == name)
