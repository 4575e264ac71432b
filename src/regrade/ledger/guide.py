"""The labeling guide: what tells a class from others, in entries that are added to and never overwritten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, exists, insert, select
from sqlalchemy.exc import IntegrityError

from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.ledger.chain import extend_chain
from regrade.ledger.clock import now_in_utc
from regrade.ledger.database import writing
from regrade.ledger.records import Person
from regrade.ledger.schema import guide_entry, person
from regrade.ledger.text_validation import is_whole

_later = guide_entry.alias("later")
_IS_LAST: ColumnElement[bool] = ~exists(select(_later.c.id).where(_later.c.replaces == guide_entry.c.id))


@dataclass(frozen=True)
class GuideText:
    """What an entry says of a class.

    ``text`` is Markdown, ``traits`` are what tells the class apart, ``examples`` images by test set and id, and
    ``alike`` the ids of classes that it is taken for.
    """

    text: str = ""
    traits: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    alike: tuple[str, ...] = ()


@dataclass(frozen=True)
class GuideEntry:
    """An entry as it was written at some time; ``replaces`` is the one before it."""

    id: int
    class_space: str
    class_id: str
    replaces: int | None
    said: GuideText
    by: str
    why: str
    at: datetime


class Guide:
    """The guide of a ledger. ``clock`` tells the time, for tests that need to set it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def entry(self, class_space: str, class_id: str) -> GuideEntry | None:
        """The entry on a class as it stands, if there is one."""
        return next(iter(self._found(*_of(class_space, class_id), _IS_LAST)), None)

    def entries(self, class_space: str | None = None) -> tuple[GuideEntry, ...]:
        """All entries as they stand, the last changed first."""
        where = () if class_space is None else (guide_entry.c.class_space == class_space,)
        return self._found(*where, _IS_LAST)

    def history(self, class_space: str, class_id: str) -> tuple[GuideEntry, ...]:
        """Everything that was ever written on a class, the newest first."""
        return self._found(*_of(class_space, class_id))

    def revision(self, class_space: str, class_id: str, number: int) -> GuideEntry:
        """An entry on a class as it once was, by its number."""
        found = self._found(*_of(class_space, class_id), guide_entry.c.id == number)
        if not found:
            raise UnknownName(f"revision of the entry on {class_id}", str(number), [])
        return found[0]

    def write(
        self, class_space: str, class_id: str, said: GuideText, by: Person, *, replaces: int | None, why: str = ""
    ) -> GuideEntry:
        """Add an entry in place of the one that was read, none where it is the first.

        Where someone else has written meanwhile it raises, and nothing is changed; a change needs a reason.
        """
        _check(said, why)
        with writing(self.engine) as connection:
            last = self._last(connection, class_space, class_id)
            if (None if last is None else last.id) != replaces:
                raise AlreadyStored(f"the entry on {class_id} was changed by someone else meanwhile")
            if last is not None and last.said == said:
                raise InputError("nothing has changed")
            if last is not None and not why.strip():
                raise InputError("say why the entry changes")
            row = insert(guide_entry).values(
                {"class_space": class_space, "class": class_id, "replaces": replaces, "person_id": by.id,
                 "why": why.strip(), "at": self._now(), **_columns(said)}
            )  # fmt: skip
            try:
                added = connection.execute(row.returning(*guide_entry.c)).mappings().one()
            except IntegrityError:
                raise AlreadyStored(f"the entry on {class_id} was changed by someone else meanwhile") from None
            extend_chain(connection, guide_entry, [added])
        return _entry({**added, "by": by.name})

    def _last(self, connection: Connection, class_space: str, class_id: str) -> GuideEntry | None:
        found = connection.execute(_entries(*_of(class_space, class_id), _IS_LAST)).mappings().first()
        return None if found is None else _entry(found)

    def _found(self, *where: ColumnElement[bool]) -> tuple[GuideEntry, ...]:
        with self.engine.connect() as connection:
            return tuple(_entry(row) for row in connection.execute(_entries(*where)).mappings())


def _of(class_space: str, class_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return guide_entry.c.class_space == class_space, guide_entry.c["class"] == class_id


def _entries(*where: ColumnElement[bool]) -> Any:
    both = select(guide_entry, person.c.name.label("by")).join(person, person.c.id == guide_entry.c.person_id)
    return both.where(*where).order_by(guide_entry.c.id.desc())


def _columns(said: GuideText) -> dict[str, str]:
    """The parts of an entry as text: lists line by line, an example's test set and id with a tab between them."""
    examples = "\n".join("\t".join(one) for one in said.examples)
    return {"text": said.text, "traits": "\n".join(said.traits), "examples": examples, "alike": "\n".join(said.alike)}


def _entry(row: RowMapping | dict[str, Any]) -> GuideEntry:
    traits, lines, alike = (tuple(filter(None, row[name].split("\n"))) for name in ("traits", "examples", "alike"))
    examples = tuple((test_set, example) for test_set, tab, example in (line.partition("\t") for line in lines) if tab)
    said = GuideText(row["text"], traits, examples, alike)
    return GuideEntry(
        row["id"], row["class_space"], row["class"], row["replaces"], said, row["by"], row["why"], row["at"]
    )


def _check(said: GuideText, why: str) -> None:
    """Raise for what cannot be kept and read again as it is."""
    lines = (*said.traits, *said.alike, *(part for one in said.examples for part in one))
    for part in (said.text, why, *lines):
        if not is_whole(part):
            raise InputError("the guide keeps text, and there is a sign in this one that is none")
    if not all(part.strip() and not set(part) & set("\n\t") for part in lines):
        raise InputError("a trait, an example and a class that is alike take a line each, without tabs")
