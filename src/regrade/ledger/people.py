"""The people in a ledger, and the rules for names: visible characters only, and no two that look alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from datetime import datetime

from sqlalchemy import Connection, Engine, insert, select, update

from regrade.core import PERSON_PREFIX, AlreadyStored, InputError
from regrade.core.names import comparable_name
from regrade.core.panel import Role
from regrade.ledger.database import added_row, writing
from regrade.ledger.records import Person, record_named, record_of
from regrade.ledger.schema import now_in_utc, person

_LONGEST = 80  # characters, as in the database columns
_FORMULA = ("=", "+", "-", "@")  # a spreadsheet takes a cell that begins with these for a formula
_JOINERS = "\u200c\u200d"  # invisible, but part of the spelling of names in Persian, Hindi and other languages
_REFUSED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control and format characters, surrogates, line separators


class LedgerPeople:
    """The people in a ledger. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def add(self, name: str, role: Role) -> Person:
        """Add a person; raises if the name is taken or too similar to another person's name."""
        with writing(self.engine) as connection:
            return add_person(connection, name, role, now=self._now())

    def all(self) -> tuple[Person, ...]:
        """Everyone, in the order in which they were added."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(person).order_by(person.c.id)).mappings()
            return tuple(record_of(Person, row) for row in rows)

    def named(self, name: str) -> Person:
        """A person by name."""
        return record_named(self.all(), name, "person", first=f"regrade team add {name}")

    def set_role(self, of: Person, role: Role) -> Person:
        """Change a person's role; the last owner cannot be changed."""
        with writing(self.engine) as connection:
            owners = select(person.c.id).where(person.c.role == Role.OWNER.value).with_for_update(key_share=True)
            owner_ids = connection.execute(owners).scalars().all()
            if role is not Role.OWNER and owner_ids == [of.id]:
                raise InputError(f"{of.name} is the only owner: make another person an owner first")
            changed = update(person).where(person.c.id == of.id).values(role=role.value)
            return record_of(Person, connection.execute(changed.returning(*person.c)).mappings().one())


def add_person(connection: Connection, name: str, role: Role, *, now: datetime) -> Person:
    """Add a person; raises if the name is taken or too similar to another person's name."""
    check_name("person", name)
    _check_beginning(name)
    check_not_similar([name], connection.execute(select(person.c.name)).scalars())
    row = insert(person).values(name=name, role=role.value, joined=now)
    return record_of(Person, added_row(connection, row, person, f"there is a person {name!r} already"))


def _check_beginning(name: str) -> None:
    """Raise if a spreadsheet would take a person's name for a formula, or a study for the name of another person."""
    if name.startswith(_FORMULA):
        raise InputError(f"the name of a person must not begin with {', '.join(_FORMULA)}, got {name!r}")
    if name.startswith(PERSON_PREFIX):
        raise InputError(f"the name of a person must not begin with {PERSON_PREFIX!r}, got {name!r}")


def check_name(what: str, name: str) -> None:
    """Raise if the name of a ``what``, such as a person, is empty, too long, or contains invisible characters.

    >>> check_name("person", "Ada Lovelace")
    """
    if not name.strip():
        raise InputError(f"the name of a {what} must not be empty")
    if name != name.strip():
        raise InputError(f"the name of a {what} must not begin or end with a space, got {name!r}")
    if len(name) > _LONGEST:
        raise InputError(f"the name of a {what} may have at most {_LONGEST} characters, got {len(name)}")
    for character in name:
        if unicodedata.category(character) in _REFUSED and character not in _JOINERS:
            raise InputError(
                f"the name of a {what} must not contain the control or invisible character U+{ord(character):04X}, "
                f"got {name!a}"
            )


def check_not_similar(names: Iterable[str], taken: Iterable[str]) -> None:
    """Raise if the name of a new person equals another's or differs only in case, encoding, spaces or joiners."""
    people = {comparable_name(name): name for name in taken}
    for name in names:
        same = people.get(comparable_name(name))
        if same is not None:
            detail = "" if same == name else f", which is too similar to {name!r}"
            raise AlreadyStored(f"there is a person {same!r} already{detail}")
        people[comparable_name(name)] = name
