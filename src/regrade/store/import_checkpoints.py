"""Bringing the checkpoints of an ensemble into the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regrade.core import Checkpoints, ClassSpace, ScoreKind
from regrade.store.checkpoint_files import checkpoint_notes, read_checkpoint_files
from regrade.store.folder import Store


@dataclass(frozen=True)
class ImportedCheckpoints:
    """What an import did: the checkpoints, whether they were new, and notes for people."""

    checkpoints: Checkpoints
    new: bool
    notes: tuple[str, ...] = ()


def import_checkpoints(
    store: Store, path: Path, *, test_set: str, ensemble: str, kind: ScoreKind, classes: ClassSpace | None = None
) -> ImportedCheckpoints:
    """Read the checkpoints of an ensemble, hold them against the test set and store them, all of them or nothing."""
    target = store.test_set(test_set)
    with store.checkpoints_at_once(target, ensemble, kind, classes) as writer:
        for each in read_checkpoint_files(path, target):
            writer.add(each.scores, seed=each.seed, epoch=each.epoch)
        new = writer.finish()
    return ImportedCheckpoints(store.checkpoints(target, ensemble), new, checkpoint_notes(path))
