"""The ledger in files: export all rows, import them, and restore the ledger from a backup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import FormatError, InputError, MismatchError
from regrade.store import PRIVATE, Store, write_new_file
from regrade.workspace.ledger_note import ledger_location, missing_link, note_last_link, noted_ledger
from regrade.workspace.new_file import check_new_file

if TYPE_CHECKING:
    from regrade.ledger import Ledger


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
