"""regrade team: who may come into the browser app, and as what."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import say
from regrade.cli.shown import Shown, shown

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Person

app = typer.Typer(help="The people of a workspace and their accounts.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The person's name.")]
Address = Annotated[str, typer.Option(help="Where the app is reached, for the link that is printed.")]
_HERE = "http://127.0.0.1:8765"


class RoleName(StrEnum):
    """What someone may do."""

    owner = "owner"
    reviewer = "reviewer"
    labeler = "labeler"


@app.command("list")
@shown
def list_(workspace: WorkspaceOption = Path()) -> Shown:
    """List everyone: their roles, and whether they can come in."""
    from regrade.core import Column, Table
    from regrade.ledger import Accounts

    ledger = opened(workspace).ledger
    closed = Accounts(ledger.engine).closed()
    rows = tuple(
        (one.name, one.role.value, f"{one.joined:%Y-%m-%d}", "closed" if one.id in closed else "open")
        for one in ledger.people()
    )
    table = Table("people", tuple(Column(key, key) for key in ("name", "role", "joined", "account")), rows)
    return Shown(table, {"people": table.records()})


@app.command()
def add(
    name: Name,
    role: Annotated[RoleName, typer.Option(help="What they may do.")] = RoleName.reviewer,
    address: Address = _HERE,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Add someone, and print the link by which they choose a password: it works once, for a week."""
    from regrade.ledger import Role

    ledger = opened(workspace).ledger
    _print_invitation(ledger, ledger.add_person(name, Role(role.value)), address)


@app.command()
def invite(name: Name, address: Address = _HERE, workspace: WorkspaceOption = Path()) -> None:
    """Print a new link for someone: the old one is lost, or the password, or the account was closed."""
    ledger = opened(workspace).ledger
    _print_invitation(ledger, ledger.person(name), address)


@app.command()
def close(name: Name, workspace: WorkspaceOption = Path()) -> None:
    """Let someone in no more, from now on; all they said stays."""
    from regrade.ledger import Accounts

    ledger = opened(workspace).ledger
    Accounts(ledger.engine).close(ledger.person(name))
    say(f"{name} cannot sign in any more; `regrade team invite` opens the account again")


def _print_invitation(ledger: Ledger, person: Person, address: str) -> None:
    from regrade.ledger import Accounts

    word = Accounts(ledger.engine).invite(person)
    say(f"an invitation for {person.name}, good for a week and for one use:")
    typer.echo(f"{address.rstrip('/')}/join/{word}")
