"""regrade team: people, their roles and their accounts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.labels import LabelSet
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import say
from regrade.core.panel import Role

if TYPE_CHECKING:
    from regrade.ledger import Member, Person

app = typer.Typer(no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Name of the person.")]
Address = Annotated[str, typer.Option(help="URL of the app, for the printed link.")]
_HERE = "http://127.0.0.1:8765"


@app.command("list")
@shown
def list_(workspace: WorkspaceOption = Path()) -> CommandResult:
    """List everyone with their role, the state of their account, and when they were last seen."""
    from regrade.core import Column, Table
    from regrade.core.amounts import ago
    from regrade.ledger.schema import now_in_utc

    members, now = opened(workspace).review.readable_ledger.accounts.members(), now_in_utc()
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
    role: Annotated[Role, typer.Option(help="Role of the person.")] = Role.REVIEWER,
    address: Address = _HERE,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Add a person and print an invitation link to choose a password; it works once, within a week."""
    invited = opened(workspace).ledger.accounts.invite_new(name, role)
    _print_invitation(invited.person, invited.token, address)


@app.command()
def invite(name: Name, address: Address = _HERE, workspace: WorkspaceOption = Path()) -> None:
    """Print a new invitation link: for a lost link, a lost password, or a closed account."""
    ledger = opened(workspace).ledger
    person = ledger.people.named(name)
    _print_invitation(person, ledger.accounts.invite(person), address)


@app.command()
def close(name: Name, workspace: WorkspaceOption = Path()) -> None:
    """Close an account: its sessions and invitations end; the person's votes and comments are kept."""
    ledger = opened(workspace).ledger
    ledger.accounts.close(ledger.people.named(name))
    say(f"{name} can no longer sign in; `regrade team invite` reopens the account")


@app.command("sign-out")
def sign_out(name: Name, workspace: WorkspaceOption = Path()) -> None:
    """Sign a person out of every browser; the password is kept."""
    ledger = opened(workspace).ledger
    ledger.accounts.end_sessions(ledger.people.named(name))
    say(f"{name} is signed out of every browser")


@app.command()
def link(address: Address = _HERE, workspace: WorkspaceOption = Path()) -> None:
    """Print another sign-in link for `regrade serve` on this machine; it works once, within a day, without an account.

    The server does not need a restart. A server that requires accounts does not accept such links.
    """
    typer.echo(f"{address.rstrip('/')}/enter/{opened(workspace).ledger.links.new()}")


@app.command("propose-link")
def propose_link(
    name: Annotated[str, typer.Argument(help="Name of the link.")],
    test_set: TestSetOption,
    labels: LabelSet,
    address: Address = _HERE,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Print a link through which anyone can propose corrections of a label set, without an account.

    The proposals enter the queue `proposals NAME`, in which reviewers judge them. The link works until it is ended; a
    new link of the same name ends the earlier one.
    """
    created = opened(workspace).review.propose_link(name, test_set=test_set, labels=labels)
    say(f"proposals enter the queue {created.queue.name!r}; end the link with regrade team end-propose-link {name!r}")
    typer.echo(f"{address.rstrip('/')}/propose/{created.token}")


@app.command("end-propose-link")
def end_propose_link(
    name: Annotated[str, typer.Argument(help="Name of the link.")], workspace: WorkspaceOption = Path()
) -> None:
    """End a link for proposals at once; the proposals stay in their queue."""
    ended = opened(workspace).review.end_propose_link(name)
    say(f"the link {name} {'has ended' if ended else 'had ended before'}")


@app.command("propose-links")
@shown
def propose_links(workspace: WorkspaceOption = Path()) -> CommandResult:
    """List the links for proposals, with the number of proposals and of items to judge."""
    from regrade.core import Column, Table

    links = opened(workspace).review.propose_links()
    keys = ("name", "test_set", "labels", "state", "proposals", "items")
    rows = tuple(
        (state.name, state.link.queue.test_set, state.link.queue.labels, state.in_words(), state.proposals, state.items)
        for state in links
    )
    table = Table("links for proposals", tuple(Column(key, key.replace("_", " ")) for key in keys), rows)
    return CommandResult(table, {"links": table.records()})


def _as_dict(member: Member) -> dict[str, Any]:
    times = {
        "added": member.person.joined, "invited": member.invited, "expires": member.expires, "seen": member.seen,
    }  # fmt: skip
    return {
        "name": member.person.name,
        "role": member.person.role.value,
        "account": member.state.value,
        **{name: None if time is None else time.isoformat() for name, time in times.items()},
        "browsers": member.browsers,
    }


def _print_invitation(person: Person, token: str, address: str) -> None:
    say(f"invitation for {person.name}; it works once, within a week:")
    typer.echo(f"{address.rstrip('/')}/join/{token}")
