"""What a workspace notes of its ledger: which one it is, and the last link of its chain when a queue was published.

A ledger that is gone, was emptied or was exchanged for another is then noticed instead of begun anew, and so is the
loss of what was published.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.core import StoreError
from regrade.store import Store, read_stored_json, stored_json

if TYPE_CHECKING:
    from regrade.ledger import ChainLink, Ledger

NOTE = "ledger.json"


@dataclass(frozen=True)
class NotedLedger:
    """What is noted of a ledger: its identity, and the last link when a queue was published, if one was."""

    identity: str
    link: ChainLink | None


def open_ledger(store: Store) -> Ledger:
    """The ledger that regrade.toml names, created if it is a file that never was; one that was lost raises."""
    from regrade.ledger import Ledger
    from regrade.ledger.ledger_file import RESTORE

    place, noted = place_of_ledger(store), noted_ledger(store)
    remedy = f"{RESTORE}, or remove {store.root / NOTE} to begin a new one"
    if noted is not None and isinstance(place, Path) and not place.exists():
        raise StoreError(f"the ledger {place} of this workspace is gone: {remedy}")
    ledger = Ledger.open(place)
    identity = ledger.identity()
    if noted is None:
        _write(store, NotedLedger(identity, None))
    elif noted.identity != identity:
        ledger.engine.dispose()
        raise StoreError(f"the ledger of this workspace was exchanged for another, or emptied: {remedy}")
    return ledger


def has_ledger(store: Store) -> bool:
    """Whether the workspace has a ledger already."""
    place = place_of_ledger(store)
    return noted_ledger(store) is not None or (isinstance(place, Path) and place.exists())


def note_last_link(store: Store, ledger: Ledger) -> None:
    """Note how far the ledger's chain has come, as part of the transaction that publishes a queue or restores it."""
    _write(store, NotedLedger(ledger.identity(), ledger.last_link()))


def lost_link(store: Store, ledger: Ledger) -> ChainLink | None:
    """The link that was noted when a queue was last published, if a ledger does not have it: one lookup."""
    noted = noted_ledger(store)
    link = None if noted is None else noted.link
    return None if link is None or ledger.has_link(link) else link


def ledger_problems(store: Store, ledger: Ledger) -> tuple[str, ...]:
    """What is wrong with the ledger: damage, missing protection, rows that were changed or lost past it."""
    noted = noted_ledger(store)
    return ledger.problems(noted=[] if noted is None or noted.link is None else [noted.link])


def place_of_ledger(store: Store) -> str | Path:
    """Where regrade.toml says that the ledger is: a file, or the address of a PostgreSQL database."""
    place = store.config.ledger
    return place if "://" in place else store.root / place


def noted_ledger(store: Store) -> NotedLedger | None:
    """What was noted of the ledger that regrade.toml names now."""
    from regrade.ledger import ChainLink

    note = _notes(store).get(store.config.ledger)
    if note is None:
        return None
    return NotedLedger(note["ledger"], None if note["link"] is None else ChainLink(**note["link"]))


def _notes(store: Store) -> dict[str, Any]:
    path = store.root / NOTE
    return read_stored_json(path) if path.is_file() else {}


def _write(store: Store, noted: NotedLedger) -> None:
    path = store.root / NOTE
    with store.transaction() as change:
        note = {"ledger": noted.identity, "link": None if noted.link is None else vars(noted.link)}
        content = stored_json({**_notes(store), store.config.ledger: note}, place=NOTE)
        change.replace(change.write(change.new_folder() / NOTE, lambda file: file.write(content)), path)
