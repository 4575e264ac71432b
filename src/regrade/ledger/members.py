"""The members of a team: people with the state of their accounts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, and_, case, func, select

from regrade.core.amounts import ago, duration
from regrade.ledger.records import Person, record_of
from regrade.ledger.schema import account, browser_session, invitation, person


class AccountState(StrEnum):
    """The state of a person's account."""

    NONE = "none"
    INVITED = "invited"
    EXPIRED = "expired"
    JOINED = "joined"
    CLOSED = "closed"


_IN_WORDS = {
    AccountState.NONE: "no password",
    AccountState.INVITED: "",
    AccountState.EXPIRED: "invitation expired",
    AccountState.JOINED: "joined",
    AccountState.CLOSED: "closed",
}


@dataclass(frozen=True)
class Member:
    """A person and their account; ``expires`` is when the newest valid invitation expires, if there is one.

    ``seen`` is when they last sent a request, to within five minutes; ``browsers`` counts the signed-in browsers.
    """

    person: Person
    state: AccountState
    invited: datetime | None
    expires: datetime | None
    seen: datetime | None
    browsers: int

    def in_words(self, now: datetime) -> str:
        """The state of the account as text."""
        waiting = ""
        if self.invited is not None and self.expires is not None:
            since, left = (now - self.invited).total_seconds(), (self.expires - now).total_seconds()
            waiting = f"invited {ago(since)}, expires in {duration(left)}"
        return "; ".join(filter(None, (_IN_WORDS[self.state], waiting)))


def members(connection: Connection, *, now: datetime, invited_for: timedelta) -> tuple[Member, ...]:
    """Everyone in a ledger; ``invited_for`` is the lifetime of an invitation."""
    until, seen = _last_until().subquery(), _last_seen().subquery()
    everyone = (
        select(person, account.c.password, account.c.closed, until.c.until, seen.c.seen, seen.c.browsers)
        .outerjoin(account, account.c.person_id == person.c.id)
        .outerjoin(until, until.c.person_id == person.c.id)
        .outerjoin(seen, seen.c.person_id == person.c.id)
        .order_by(person.c.id)
    )
    return tuple(_member(row, now, invited_for) for row in connection.execute(everyone).mappings())


def _last_until() -> Select[Any]:
    until = select(invitation.c.person_id, func.max(invitation.c.until).label("until"))
    return until.where(invitation.c.used.is_(None)).group_by(invitation.c.person_id)


def _last_seen() -> Select[Any]:
    ongoing = case((and_(browser_session.c.ended.is_(None), browser_session.c.stamp == account.c.stamp), 1), else_=0)
    seen = func.max(browser_session.c.seen).label("seen")
    rows = select(browser_session.c.person_id, seen, func.sum(ongoing).label("browsers"))
    of_account = account.c.person_id == browser_session.c.person_id
    return rows.join(account, of_account).group_by(browser_session.c.person_id)


def _member(row: RowMapping, now: datetime, invited_for: timedelta) -> Member:
    expires = row["until"] if row["until"] is not None and row["until"] > now else None
    return Member(
        record_of(Person, row),
        _state(row, works=expires is not None),
        None if expires is None else expires - invited_for,
        expires,
        row["seen"],
        row["browsers"] or 0,
    )


def _state(row: RowMapping, *, works: bool) -> AccountState:
    if row["closed"] is not None:
        return AccountState.CLOSED
    if row["password"] is not None:
        return AccountState.JOINED
    if row["until"] is not None:
        return AccountState.INVITED if works else AccountState.EXPIRED
    return AccountState.NONE
