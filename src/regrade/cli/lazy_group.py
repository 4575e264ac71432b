"""Groups of commands whose modules are imported when a command is used, so that the command line starts quickly."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from regrade.cli import exiting_at_once


class LazyGroup(TyperGroup):
    """A group with commands made by `lazy_command`; help and completion show summaries and import no command."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, with its options."""
        command = super().get_command(ctx, cmd_name)
        load = getattr(getattr(command, "callback", None), "load", None)
        return command if load is None else load(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the group."""
        self._without_options().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The subcommands and options that start with a text."""
        listed_context = copy(ctx)
        listed_context.command = self._without_options()
        return listed_context.command.shell_complete(listed_context, incomplete)

    def listed(self) -> dict[str, Any]:
        """The placeholders of its commands, which have a summary only."""
        return dict(self.commands)

    def _without_options(self) -> TyperGroup:
        """The group with the placeholders of its commands."""
        return TyperGroup(name=self.name, commands=self.listed(), params=self.params, help=self.help)


def lazy_command(place: str, summary: str) -> Callable[[], None]:
    """The command or group at a place, ``module:name`` in this package; ``summary`` is the first line of its help."""
    module, _, attribute = place.partition(":")

    @cache
    def load(name: str) -> Any:
        loaded = getattr(_imported(f"regrade.cli.{module}"), attribute)
        if not isinstance(loaded, typer.Typer):
            return built(name, loaded)
        group = typer.main.get_group(loaded)
        group.name, group.help = name, summary
        return group

    return _placeholder(load, summary)


def lazy_study(folder: str, summary: str, *, command_class: type[TyperCommand] | None = None) -> Callable[[], None]:
    """The command of the study in a folder, whose record has its name; ``summary`` is the first line of its help."""

    def load(name: str) -> Any:
        record = getattr(_imported(f"regrade.studies.{folder}.study"), folder.upper())
        return built(name, _imported("regrade.cli.study").study_command(record), command_class)

    return _placeholder(load, summary)


def _placeholder(load: Callable[[str], Any], summary: str) -> Callable[[], None]:
    """A command without options, which `LazyGroup` replaces by the one that ``load`` gives for its name."""

    def command() -> None:
        pass

    command.__doc__ = summary
    command.load = load  # type: ignore[attr-defined]
    return command


def _imported(module: str) -> ModuleType:
    with exiting_at_once():
        return import_module(module)


def built(name: str, function: Callable[..., Any], command_class: type[TyperCommand] | None = None) -> Any:
    """The command that runs a function."""
    single = typer.Typer(rich_markup_mode="rich", add_completion=False)
    single.command(name, cls=command_class)(function)
    return typer.main.get_command(single)
