"""Export a ledger to a file, and import it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import FormatError, MismatchError
from regrade.store import PRIVATE, write_new_file
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
