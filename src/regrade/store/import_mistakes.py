"""Importing a review of mistakes into the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regrade.core import InputError, MistakeAnnotations
from regrade.store.folder import Store
from regrade.store.mistake_files import MistakeFormat, read_mistake_file
from regrade.tables import Columns


@dataclass(frozen=True)
class ImportedMistakes:
    """The result of an import: the review, whether it is new, and notes for the user."""

    review: MistakeAnnotations
    new: bool
    notes: tuple[str, ...] = ()


def import_mistakes(
    store: Store, path: Path, *, test_set: str, model: str, form: MistakeFormat, columns: Columns | None = None
) -> ImportedMistakes:
    """Read a review of a model's mistakes and store it; raise if another review of the model is stored.

    The model's predictions need not be stored.
    """
    if not model.strip():
        raise InputError("a review of mistakes needs the name of its model")
    target = store.test_set(test_set)
    content = read_mistake_file(path, target, form=form, model=model, columns=columns)
    return ImportedMistakes(content.review, bool(store.add_mistake_review(content.review, target).new), content.notes)
