"""The labeling guide: how to recognize each class, with every version of every entry kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, exists, insert, select
from sqlalchemy.exc import IntegrityError

from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.ledger.chain import extend_chain
from regrade.ledger.database import writing
from regrade.ledger.records import Person
from regrade.ledger.schema import guide_entry, is_valid_text, now_in_utc, person

_later = guide_entry.alias("later")
_IS_LAST: ColumnElement[bool] = ~exists(select(_later.c.id).where(_later.c.replaces == guide_entry.c.id))


@dataclass(frozen=True)
class GuideText:
    """The content of a guide entry.

    ``text`` is Markdown, ``traits`` are the distinguishing features of the class, ``examples`` are images by test set
    and id, and ``alike`` are the ids of classes that it is easily confused with.
    """

    text: str = ""
    traits: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    alike: tuple[str, ...] = ()


@dataclass(frozen=True)
class GuideEntry:
    """A version of the entry on a class; ``replaces`` is the id of the previous version."""

    id: int
    class_space: str
    class_id: str
    replaces: int | None
    content: GuideText
    by: str
    why: str
    at: datetime


class Guide:
    """The labeling guide of a ledger. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def entry(self, class_space: str, class_id: str) -> GuideEntry | None:
        """The current entry on a class, if any."""
        return next(iter(self._select(*_of_class(class_space, class_id), _IS_LAST)), None)

    def entries(self, class_space: str | None = None) -> tuple[GuideEntry, ...]:
        """All current entries, the last changed first."""
        where = () if class_space is None else (guide_entry.c.class_space == class_space,)
        return self._select(*where, _IS_LAST)

    def history(self, class_space: str, class_id: str) -> tuple[GuideEntry, ...]:
        """All versions of the entry on a class, newest first."""
        return self._select(*_of_class(class_space, class_id))

    def revision(self, class_space: str, class_id: str, revision_id: int) -> GuideEntry:
        """A version of the entry on a class, by its id."""
        revisions = self._select(*_of_class(class_space, class_id), guide_entry.c.id == revision_id)
        if not revisions:
            raise UnknownName(f"revision of the entry on {class_id}", str(revision_id), [])
        return revisions[0]

    def write(
        self, class_space: str, class_id: str, content: GuideText, by: Person, *, replaces: int | None, why: str = ""
    ) -> GuideEntry:
        """Add a version of an entry; ``replaces`` is the version that was edited, or None for a new entry.

        A change needs a reason. Raises if the entry was changed by another person in the meantime.
        """
        _check(content, why)
        with writing(self.engine) as connection:
            last = self._last(connection, class_space, class_id)
            if (None if last is None else last.id) != replaces:
                raise AlreadyStored(f"the entry on {class_id} was changed by someone else meanwhile")
            if last is not None and last.content == content:
                raise InputError("nothing has changed")
            if last is not None and not why.strip():
                raise InputError("give a reason for changing the entry")
            row = insert(guide_entry).values(
                {"class_space": class_space, "class": class_id, "replaces": replaces, "person_id": by.id,
                 "why": why.strip(), "at": self._now(), **_columns(content)}
            )  # fmt: skip
            try:
                added = connection.execute(row.returning(*guide_entry.c)).mappings().one()
            except IntegrityError:
                raise AlreadyStored(f"the entry on {class_id} was changed by someone else meanwhile") from None
            extend_chain(connection, guide_entry, [added])
        return _entry({**added, "by": by.name})

    def _last(self, connection: Connection, class_space: str, class_id: str) -> GuideEntry | None:
        row = connection.execute(_entries(*_of_class(class_space, class_id), _IS_LAST)).mappings().first()
        return None if row is None else _entry(row)

    def _select(self, *where: ColumnElement[bool]) -> tuple[GuideEntry, ...]:
        with self.engine.connect() as connection:
            return tuple(_entry(row) for row in connection.execute(_entries(*where)).mappings())


def _of_class(class_space: str, class_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return guide_entry.c.class_space == class_space, guide_entry.c["class"] == class_id


def _entries(*where: ColumnElement[bool]) -> Any:
    entries = select(guide_entry, person.c.name.label("by")).join(person, person.c.id == guide_entry.c.person_id)
    return entries.where(*where).order_by(guide_entry.c.id.desc())


def _columns(content: GuideText) -> dict[str, str]:
    """The columns of an entry: lists have one line per element, examples a tab between test set and id."""
    lists = {
        "traits": content.traits,
        "examples": ["\t".join(example) for example in content.examples],
        "alike": content.alike,
    }
    return {"text": content.text, **{name: "\n".join(lines) for name, lines in lists.items()}}


def _entry(row: RowMapping | dict[str, Any]) -> GuideEntry:
    traits, lines, alike = (tuple(filter(None, row[name].split("\n"))) for name in ("traits", "examples", "alike"))
    examples = tuple((test_set, example) for test_set, tab, example in (line.partition("\t") for line in lines) if tab)
    content = GuideText(row["text"], traits, examples, alike)
    return GuideEntry(
        row["id"], row["class_space"], row["class"], row["replaces"], content, row["by"], row["why"], row["at"]
    )


def _check(content: GuideText, why: str) -> None:
    """Raise if the content would not be read back as it was written."""
    lines = (*content.traits, *content.alike, *(part for example in content.examples for part in example))
    for part in (content.text, why, *lines):
        if not is_valid_text(part):
            raise InputError("the entry contains an invalid character (NUL or an unpaired surrogate)")
    if not all(part.strip() and not set(part) & set("\n\t") for part in lines):
        raise InputError("each trait, example and similar class must be one line of text without tabs")
