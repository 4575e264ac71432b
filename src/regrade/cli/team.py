"""regrade team: who may come into the browser app, and as what."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import say

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Member, Person

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
def list_(workspace: WorkspaceOption = Path()) -> CommandResult:
    """List everyone: their roles, whether they are invited, have joined or are closed, and when they were last seen."""
    from regrade.core import Column, Table
    from regrade.core.amounts import ago
    from regrade.ledger import Accounts
    from regrade.ledger.clock import now_in_utc

    members, now = Accounts(opened(workspace).readable_ledger.engine).members(), now_in_utc()
    rows = tuple(
        (
            member.person.name, member.person.role.value, member.in_words(now),
            ago((now - member.seen).total_seconds()) if member.seen else "never",
        )
        for member in members
    )  # fmt: skip
    table = Table("people", tuple(Column(key, key) for key in ("name", "role", "account", "seen")), rows)
    return CommandResult(table, {"people": [_as_dict(member) for member in members]})


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
    """Let someone in no more, from now on: sessions and invitations end; all they said stays."""
    from regrade.ledger import Accounts

    ledger = opened(workspace).ledger
    Accounts(ledger.engine).close(ledger.person(name))
    say(f"{name} cannot sign in any more; `regrade team invite` opens the account again")


@app.command("sign-out")
def sign_out(name: Name, workspace: WorkspaceOption = Path()) -> None:
    """Sign someone out of every browser; their password stays."""
    from regrade.ledger import Accounts

    ledger = opened(workspace).ledger
    Accounts(ledger.engine).end_sessions(ledger.person(name))
    say(f"{name} is signed out of every browser")


@app.command()
def link(address: Address = _HERE, workspace: WorkspaceOption = Path()) -> None:
    """Print another link for `regrade serve` on this machine: it lets you in without an account, once, within a day.

    The server need not be started again. One that asks for accounts takes no such link.
    """
    from regrade.ledger import OneTimeLinks

    typer.echo(f"{address.rstrip('/')}/enter/{OneTimeLinks(opened(workspace).ledger.engine).new()}")


def _as_dict(member: Member) -> dict[str, Any]:
    moments = {
        "added": member.person.joined, "invited": member.invited, "expires": member.expires, "seen": member.seen,
    }  # fmt: skip
    return {
        "name": member.person.name,
        "role": member.person.role.value,
        "account": member.state.value,
        **{name: None if moment is None else moment.isoformat() for name, moment in moments.items()},
        "browsers": member.browsers,
    }


def _print_invitation(ledger: Ledger, person: Person, address: str) -> None:
    from regrade.ledger import Accounts

    word = Accounts(ledger.engine).invite(person)
    say(f"an invitation for {person.name}, good for a week and for one use:")
    typer.echo(f"{address.rstrip('/')}/join/{word}")
