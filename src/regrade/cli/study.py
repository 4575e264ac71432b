"""regrade study, and the other commands that run a study: built from the registry when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    @property
    def studies(self) -> Sequence[Study[..., Any, Any]]:
        """The studies, in the order of their commands."""
        from regrade.studies import all_studies

        below = [study for study in all_studies() if study.name not in TOP_LEVEL]
        return sorted(below, key=lambda study: study.name)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names of the studies."""
        return [study.name for study in self.studies]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command of a study."""
        study = next((study for study in self.studies if study.name == cmd_name), None)
        return None if study is None else built(study, cmd_name)


class PlanGroup(StudyGroup):
    """The plans of the registry, one command each."""

    @property
    def studies(self) -> Sequence[Study[..., Any, Any]]:
        """The plans, in the order of their commands."""
        from regrade.studies import PLANS

        return PLANS


app = typer.Typer(
    cls=StudyGroup,
    help="Studies of the predictions in a workspace: generalization, similarity, mistakes, and others.",
    no_args_is_help=True,
)
plan_app = typer.Typer(
    cls=PlanGroup,
    help="Sample sizes: images or decisions needed for a claim, from assumed or measured rates.",
    no_args_is_help=True,
)


@app.callback()
@plan_app.callback()
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


def _named(name: str) -> Study[..., Any, Any]:
    from regrade.studies import AGREEMENT, NEIGHBORS_COMMAND, STUDIES

    return next(study for study in (*STUDIES, NEIGHBORS_COMMAND, AGREEMENT) if study.name == name)
