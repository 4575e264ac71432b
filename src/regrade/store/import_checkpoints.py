"""Importing the checkpoints of an ensemble into the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regrade.core import Checkpoints, ClassSpace, ScoreKind
from regrade.store.checkpoint_files import checkpoint_notes, read_checkpoint_files
from regrade.store.folder import Store


@dataclass(frozen=True)
class ImportedCheckpoints:
    """The result of an import: the checkpoints, whether they are new, and notes for the user."""

    checkpoints: Checkpoints
    new: bool
    notes: tuple[str, ...] = ()


def import_checkpoints(
    store: Store, path: Path, *, test_set: str, ensemble: str, kind: ScoreKind, classes: ClassSpace | None = None
) -> ImportedCheckpoints:
    """Read the checkpoints of an ensemble, check that they match the test set, and store them atomically."""
    target = store.test_set(test_set)
    with store.temporary_checkpoint_writer(target, ensemble, kind, classes) as writer:
        for checkpoint in read_checkpoint_files(path, target):
            writer.add(checkpoint.scores, seed=checkpoint.seed, epoch=checkpoint.epoch)
        new = writer.finish()
    return ImportedCheckpoints(store.checkpoints(target, ensemble), new, checkpoint_notes(path))
