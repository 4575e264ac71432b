"""regrade serve: the browser app."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from regrade.cli import END_PROCESS, INTERRUPTED, exiting_at_once
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import watching_images


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; any address other than this machine's requires accounts.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8765,
    accounts: Annotated[
        bool,
        typer.Option(
            "--accounts", help="Require everyone to sign in, also on this machine: for a server behind a proxy."
        ),
    ] = False,
    proxies: Annotated[
        list[str] | None,
        typer.Option(
            "--proxy",
            help="Address or network of a trusted proxy, whose X-Forwarded-For and X-Forwarded-Proto headers are used. "
            "May be repeated (default: this machine).",
        ),
    ] = None,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Start the browser app: label, judge, discuss and decide, edit the guide, explore results.

    On this machine it prints a link that signs you in once without an account; `regrade team link` prints another one.
    On any other address everyone signs in: `regrade team add NAME` creates an account and prints an invitation.
    """
    from regrade.core import MissingExtra

    with exiting_at_once():
        try:
            from regrade.app import serve as start
            from regrade.app.server import THIS_MACHINE
        except ModuleNotFoundError:
            raise MissingExtra("the browser app", "serve") from None
        served = opened(workspace)
        served.review.fill_contents(progress=watching_images)
        ended_by = start(
            served, host=host, port=port, accounts=accounts, log=typer.echo, proxies=proxies or THIS_MACHINE
        )  # fmt: skip
    leave(INTERRUPTED if ended_by == signal.SIGINT else 0)


def leave(code: int) -> NoReturn:
    """End the process with an exit code, without waiting for threads that still wait for a database."""
    sys.stdout.flush()
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        END_PROCESS(code)
    sys.exit(code)
