"""Describing models: what users state about them is added to the workspace, and compared with what it contains."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from regrade.core import AttributeChange
from regrade.core.amounts import amount
from regrade.core.names import methods_of, model_pattern
from regrade.display.wording import listed
from regrade.formats import ModelFormat, read_model_file
from regrade.store import Store


@dataclass(frozen=True)
class DescriptionResult:
    """The result of describing models: the names in the file that are new, were updated and are unchanged.

    ``changes`` are attributes that had another value before, ``not_stored`` described models without predictions, and
    ``missing_bases`` base models without predictions.
    """

    new: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    changes: tuple[AttributeChange, ...]
    not_stored: tuple[str, ...]
    missing_bases: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was replaced, and which names have no predictions."""
        notes = []
        if self.changes:
            what = amount(len(self.changes), "value")
            notes.append(f"{what} replaced: {'; '.join(_few(map(str, self.changes)))}")
        if self.not_stored:
            count = amount(len(self.not_stored), "described model")
            notes.append(f"{count} without predictions here, kept for later: {listed(self.not_stored)}")
        if self.missing_bases:
            count = amount(len(self.missing_bases), "base model")
            notes.append(f"{count} without predictions here: {listed(self.missing_bases)}")
        return tuple(notes)


def describe_models(store: Store, path: Path, *, form: ModelFormat, prefix: str | None = None) -> DescriptionResult:
    """Read attributes of models from a file and add them to the stored ones; stated values replace earlier ones."""
    default = "timm" if form is ModelFormat.TIMM else ""
    later = read_model_file(path, form, prefix=default if prefix is None else prefix)
    before, after = store.described_models.update(later)
    old = [name for name in later.by_name if name in before.by_name]
    updated = tuple(name for name in old if before.by_name[name] != after.by_name[name])
    stored = {model for test_set in store.test_sets.names() for model in store.predictions.model_names(test_set)}
    bases = dict.fromkeys(later.base_models.values())
    return DescriptionResult(
        tuple(name for name in later.by_name if name not in before.by_name),
        updated,
        tuple(name for name in old if name not in updated),
        before.changed(later),
        _without_models(later.by_name, stored),
        _without_models(bases, stored),
    )


def _without_models(names: Iterable[str], stored: Collection[str]) -> tuple[str, ...]:
    """The names that are no stored model, and no pattern or training of one."""
    present = {*stored, *(method for model in stored for method in methods_of(model))}
    return tuple(name for name in names if name not in present and not _matches_any(name, stored))


def _matches_any(name: str, models: Iterable[str]) -> bool:
    return "*" in name and any(map(model_pattern(name).fullmatch, models))


def _few(items: Iterable[str], most: int = 5) -> list[str]:
    texts = list(items)
    return texts if len(texts) <= most else [*texts[:most], f"and {len(texts) - most} more"]
