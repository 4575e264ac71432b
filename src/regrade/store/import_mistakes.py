"""Bringing a review of mistakes into the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regrade.core import InputError, MistakeReview
from regrade.store.folder import Store
from regrade.store.mistake_files import MistakeFormat, read_mistake_file
from regrade.tables import Columns


@dataclass(frozen=True)
class ImportedMistakes:
    """What an import did: the review, whether it was new, and notes for people."""

    review: MistakeReview
    new: bool
    notes: tuple[str, ...] = ()


def import_mistakes(
    store: Store, path: Path, *, test_set: str, model: str, form: MistakeFormat, columns: Columns | None = None
) -> ImportedMistakes:
    """Read what people said of a model's mistakes and store it; another review under the model's name raises.

    The model need not have predictions here.
    """
    if not model.strip():
        raise InputError("a review of mistakes needs the name of its model")
    target = store.test_set(test_set)
    content = read_mistake_file(path, target, form=form, model=model, columns=columns)
    return ImportedMistakes(content.review, bool(store.add_mistake_review(content.review, target).new), content.notes)
