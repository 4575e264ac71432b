"""regrade serve: the browser app."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.interrupts import INTERRUPTED, exiting_at_once, leave
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import watching_images


def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen on; others than this machine's need accounts.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8765,
    accounts: Annotated[
        bool, typer.Option("--accounts", help="Let everyone sign in, here too: for a server behind a proxy.")
    ] = False,
    proxies: Annotated[
        list[str] | None,
        typer.Option(
            "--proxy",
            help="Address or network of a proxy whose X-Forwarded-For and X-Forwarded-Proto headers are believed; may "
            "be repeated (default: this machine).",
        ),
    ] = None,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Open the browser app: label, judge, discuss and decide, write the guide, look behind every number.

    On this machine it prints a link that lets you in once and needs no account; `regrade team link` prints another one.
    On any other address everyone signs in: `regrade team add NAME` makes an account and prints an invitation.
    """
    from regrade.core import MissingExtra

    with exiting_at_once():
        try:
            from regrade.app import serve as start
            from regrade.app.server import THIS_MACHINE
        except ModuleNotFoundError:
            raise MissingExtra("the browser app", "serve") from None
        served = opened(workspace)
        served.fill_contents(watch=watching_images)
        ended_by = start(
            served, host=host, port=port, accounts=accounts, log=typer.echo, proxies=proxies or THIS_MACHINE
        )  # fmt: skip
    leave(INTERRUPTED if ended_by == signal.SIGINT else 0)
