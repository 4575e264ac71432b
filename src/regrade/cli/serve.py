"""regrade serve: the browser app."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import watching_pictures


def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen on; others than this machine's need accounts.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8765,
    accounts: Annotated[
        bool, typer.Option("--accounts", help="Let everyone sign in, here too: for a server behind a proxy.")
    ] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Open the browser app: label, judge, discuss and decide, write the guide, look behind every number.

    On this machine it prints a link that lets you in once and needs no account. On any other address everyone signs
    in: `regrade team add NAME` makes an account and prints an invitation.
    """
    from regrade.core import MissingExtra

    try:
        from regrade.app import serve as start
    except ModuleNotFoundError:
        raise MissingExtra("the browser app", "serve") from None
    served = opened(workspace)
    served.fill_contents(watch=watching_pictures)
    start(served, host=host, port=port, accounts=accounts, told=typer.echo)
