"""Restore a workspace's ledger from a backup."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regrade.core import InputError, MismatchError
from regrade.store import Store
from regrade.workspace.ledger_note import ledger_location, missing_link, note_last_link, noted_ledger


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
