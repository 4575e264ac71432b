"""The ledger of a workspace: open it, compare it with the workspace's note, export, import and restore it.

The note has the identity of the ledger, and the last link of its chain when a queue was published. It detects a ledger
that was deleted, emptied or replaced by another, and the loss of published votes, instead of silently starting a new
ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.core import FormatError, InputError, MismatchError, MissingExtra, StoreError
from regrade.store import (
    PRIVATE,
    Store,
    check_new_file,
    first_published_file,
    read_stored_json,
    stored_json,
    write_new_file,
)

if TYPE_CHECKING:
    from regrade.ledger import ChainLink, Ledger

NOTE = "ledger.json"


@dataclass(frozen=True)
class NotedLedger:
    """The noted identity of a ledger, and its last link when a queue was last published."""

    identity: str
    link_fields: Mapping[str, Any] | None

    @property
    def link(self) -> ChainLink | None:
        """The noted link as an object."""
        from regrade.ledger import ChainLink

        return None if self.link_fields is None else ChainLink(**self.link_fields)


def open_ledger(store: Store) -> Ledger:
    """Open the ledger named in regrade.toml, creating the file on first use; a lost ledger raises.

    The note is not written: call `prepare_writing` before writing to the ledger.
    """
    from regrade.ledger import Ledger

    _check_exists(store)
    ledger = Ledger.open(ledger_location(store))
    try:
        _check_identity(store, ledger.identity())
    except StoreError:
        ledger.engine.dispose()
        raise
    return ledger


@contextmanager
def read_only_ledger(store: Store) -> Iterator[Ledger]:
    """Open the existing ledger named in regrade.toml read-only, for checks."""
    try:
        from regrade.ledger import Ledger
    except ModuleNotFoundError:
        raise MissingExtra("the ledger of judgments", "serve") from None
    _check_exists(store)
    with Ledger.unchanged(ledger_location(store)) as ledger:
        _check_identity(store, ledger.stored_identity())
        yield ledger


@contextmanager
def existing_ledger(store: Store) -> Iterator[Ledger | None]:
    """Open the ledger read-only; None if the workspace never had one."""
    place = ledger_location(store)
    if noted_ledger(store) is None and not (isinstance(place, Path) and place.exists()):
        yield None
        return
    with read_only_ledger(store) as ledger:
        yield ledger


def _check_exists(store: Store) -> None:
    place = ledger_location(store)
    if noted_ledger(store) is not None and isinstance(place, Path) and not place.exists():
        raise StoreError(f"the ledger {place} of this workspace is missing: {_remedy(store)}")


def _check_identity(store: Store, identity: str | None) -> None:
    noted = noted_ledger(store)
    if noted is not None and noted.identity != identity:
        raise StoreError(f"the ledger of this workspace was replaced by another one, or emptied: {_remedy(store)}")


def _remedy(store: Store) -> str:
    from regrade.ledger.ledger_file import RESTORE

    return f"{RESTORE}, or remove {store.root / NOTE} to start a new one"


def prepare_writing(store: Store, ledger: Ledger) -> None:
    """Raise if the ledger is older than what was published from it, and note a ledger that is new to the workspace.

    If something was published and there is no note, the note was lost; it is not rewritten, so `verify` reports it.
    """
    missing = missing_link(store, ledger)
    if missing is not None:
        raise StoreError(
            f"the ledger {ledger.place} lacks link {missing.position} ({missing.hash[:12]}), which {NOTE} notes "
            "since a queue was published: an older copy may have been put in its place; put the newer file back, or "
            "accept the older one with `regrade review restore FILE --older`"
        )
    if noted_ledger(store) is None and (ledger.last_link().position == 0 or first_published_file(store.root) is None):
        _write(store, NotedLedger(ledger.identity(), None))


def note_last_link(store: Store, ledger: Ledger) -> None:
    """Note the last link of the ledger's chain, in the transaction that publishes a queue or restores the ledger."""
    _write(store, NotedLedger(ledger.identity(), vars(ledger.last_link())))


def missing_link(store: Store, ledger: Ledger) -> ChainLink | None:
    """The noted link if the ledger does not have it, otherwise None."""
    noted = noted_ledger(store)
    link = None if noted is None else noted.link
    return None if link is None or ledger.has_link(link) else link


def ledger_problems(store: Store, published: Callable[[], Path | None]) -> tuple[str, ...] | None:
    """Problems of the ledger: damage, missing protection, rows changed or lost outside regrade, a lost note.

    None if the workspace never had a ledger. Nothing is written. ``published`` finds a file that was published from
    a ledger.
    """
    noted = noted_ledger(store)
    missing_note = () if noted is not None else tuple(_missing_note(published()))
    link = None if noted is None else noted.link
    with existing_ledger(store) as ledger:
        if ledger is None:
            return missing_note or None
        return missing_note + ledger.problems(noted=[] if link is None else [link])


def _missing_note(published: Path | None) -> Iterator[str]:
    """Report a missing note if something was published from a ledger."""
    if published is not None:
        yield (
            f"{NOTE} is missing or has no entry for the present ledger, although {published.as_posix()} was "
            "published from a ledger: put it back from a copy of the workspace; if the ledger has all votes, publish a "
            "queue again, which notes how far it is"
        )


def ledger_location(store: Store) -> str | Path:
    """The location of the ledger in regrade.toml: a file, or the URL of a PostgreSQL database."""
    place = store.config.ledger
    return place if "://" in place else store.root / place


def noted_ledger(store: Store) -> NotedLedger | None:
    """The note on the ledger named in regrade.toml; None if there is none."""
    note = _notes(store).get(store.config.ledger)
    return None if note is None else NotedLedger(note["ledger"], note["link"])


def _notes(store: Store) -> dict[str, Any]:
    path = store.root / NOTE
    if path.is_file():
        return read_stored_json(path)
    if path.is_symlink() or path.exists():
        raise StoreError(f"{path} is a broken link or not a file: restore it from a copy")
    return {}


def _write(store: Store, noted: NotedLedger) -> None:
    path = store.root / NOTE
    with store.transaction() as change:
        note = {"ledger": noted.identity, "link": noted.link_fields}
        content = stored_json({**_notes(store), store.config.ledger: note}, place=NOTE)
        change.replace(change.write(change.new_folder() / NOTE, lambda file: file.write(content)), path)


def export_ledger(ledger: Ledger, path: Path) -> dict[str, int]:
    """Write every row of a ledger to a new file that only its owner may read; return the number of rows by kind."""
    from regrade.ledger import rows_as_file

    check_new_file(path)
    rows = ledger.rows()
    write_new_file(path, rows_as_file(rows, path.suffix), mode=PRIVATE)
    return dict(Counter(row["kind"] for row in rows))


@dataclass(frozen=True)
class ImportedLedger:
    """The number of imported rows by kind, and how many votes were new."""

    rows: Mapping[str, int]
    new_votes: int


def import_ledger(ledger: Ledger, path: Path) -> ImportedLedger:
    """Add the rows of a file to a ledger in one transaction, and count the new votes."""
    from regrade.ledger import rows_from_file

    rows = rows_from_file(path)
    try:
        new_votes = ledger.import_rows(rows)
    except (FormatError, MismatchError) as error:
        raise type(error)(f"{path}: {error}") from None
    return ImportedLedger(Counter(row["kind"] for row in rows), new_votes)


@dataclass(frozen=True)
class RestoredLedger:
    """A restored ledger: its file, the length of its chain, and where the previous file was moved to.

    ``is_older``: it lacks votes or decisions that were published.
    """

    path: Path
    links: int
    kept: Path | None
    is_older: bool


def restore_ledger(store: Store, file: Path, *, older: bool) -> RestoredLedger:
    """Replace the ledger by a checked copy of a backup; the previous file is kept under another name.

    A backup without the link noted when a queue was last published raises, unless ``older`` is set; its own last link
    is noted then.
    """
    from regrade.ledger.restore import checked_backup, put_in_place

    path = ledger_location(store)
    if not isinstance(path, Path):
        raise InputError("this ledger is in PostgreSQL: restore it with pg_restore, or psql for a plain dump")
    with store.transaction(), checked_backup(file, path) as backup:
        noted = noted_ledger(store)
        if noted is not None and noted.identity != backup.ledger.identity():
            raise MismatchError(
                f"{file} is not restored: it is a copy of another ledger than this workspace's; "
                "`regrade review export` and `import` take votes from one to the other"
            )
        missing = missing_link(store, backup.ledger)
        if missing is not None and not older:
            raise MismatchError(
                f"{file} is not restored: it lacks link {missing.position}, noted when a queue was published, so "
                "what is published holds votes that it does not have; take a newer backup, or accept it with --older"
            )
        links = backup.ledger.last_link().position
        if missing is not None:
            note_last_link(store, backup.ledger)
        return RestoredLedger(path, links, put_in_place(backup, path), missing is not None)
