"""What a workspace notes of its ledger: which one it is, and the last link of its chain when a queue was published.

A ledger that is gone, was emptied or was exchanged for another is then noticed instead of begun anew, and so is the
loss of what was published.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.core import StoreError
from regrade.store import Store, read_stored_json, stored_json

if TYPE_CHECKING:
    from regrade.ledger import ChainLink, Ledger

NOTE = "ledger.json"


def open_ledger(store: Store) -> Ledger:
    """The ledger that regrade.toml names, created if it is a file that never was; one that was lost raises."""
    from regrade.ledger import Ledger

    place, noted = _place(store), _read(store)
    remedy = f"restore it from a backup, or remove {store.root / NOTE} to begin a new one"
    if noted is not None and isinstance(place, Path) and not place.exists():
        raise StoreError(f"the ledger {place} of this workspace is gone: {remedy}")
    ledger = Ledger.open(place)
    identity = ledger.identity()
    if noted is None:
        _write(store, identity, None)
    elif noted["ledger"] != identity:
        ledger.engine.dispose()
        raise StoreError(f"the ledger of this workspace was exchanged for another, or emptied: {remedy}")
    return ledger


def has_ledger(store: Store) -> bool:
    """Whether the workspace has a ledger already."""
    place = _place(store)
    return _read(store) is not None or (isinstance(place, Path) and place.exists())


def note_last_link(store: Store, ledger: Ledger) -> None:
    """Note how far the ledger's chain has come, as part of the transaction that publishes a queue."""
    _write(store, ledger.identity(), ledger.last_link())


def ledger_problems(store: Store, ledger: Ledger) -> tuple[str, ...]:
    """What is wrong with the ledger: damage, missing protection, rows that were changed or lost past it."""
    from regrade.ledger import ChainLink

    noted = _read(store)
    link = None if noted is None else noted["link"]
    return ledger.problems(noted=[] if link is None else [ChainLink(**link)])


def _place(store: Store) -> str | Path:
    place = store.config.ledger
    return place if "://" in place else store.root / place


def _read(store: Store) -> dict[str, Any] | None:
    """What was noted of the ledger that regrade.toml names now."""
    path = store.root / NOTE
    notes = read_stored_json(path) if path.is_file() else {}
    return notes.get(store.config.ledger)


def _write(store: Store, identity: str, link: ChainLink | None) -> None:
    path = store.root / NOTE
    with store.transaction() as change:
        notes = read_stored_json(path) if path.is_file() else {}
        note = {"ledger": identity, "link": None if link is None else vars(link)}
        content = stored_json({**notes, store.config.ledger: note}, place=NOTE)
        change.replace(change.write(change.new_folder() / NOTE, lambda file: file.write(content)), path)
