"""What users state about models, and what is derived, as one Parquet file: a row per model and source."""

from __future__ import annotations

from dataclasses import fields
from typing import BinaryIO

import pyarrow as pa

from regrade.core import ATTRIBUTES, DescribedModels, InputError, ModelAttributes
from regrade.store.checked_files import PLACE, read_parquet, write_parquet
from regrade.store.collection import Collection
from regrade.store.file_errors import damaged
from regrade.store.layout import place_of
from regrade.store.transaction import Transaction, transaction

_NAME = "attributes"
_SOURCE = "source"  # files of earlier versions have no such column: everything is stated
_TYPES = {item.name: pa.string() if item.type == "str" else pa.int64() for item in fields(ModelAttributes)}


class DescribedModelsCollection(Collection[DescribedModels, None]):
    """The attributes of all described models: a single record, which later descriptions replace as a whole."""

    kind = "models"

    def names_of(self, _models: DescribedModels, _context: None = None) -> tuple[str, ...]:
        """The name of the only record."""
        return (_NAME,)

    def refusal(self, _models: DescribedModels, _context: None = None) -> str:
        """The error for other attributes, which is not raised since they may be replaced."""
        return f"other attributes of models are stored in {self.path(_NAME)}"

    def may_replace(self, _models: DescribedModels, _context: None = None) -> bool:
        """Whether later attributes replace earlier ones: always."""
        return True

    def put(self, change: Transaction, models: DescribedModels, _context: None = None) -> None:
        """Stage the attributes in place of the stored ones."""
        change.replace_at(self.path(_NAME), lambda file: self.write(models, None, file))

    def write(self, models: DescribedModels, _context: None, file: BinaryIO) -> None:
        """Write one row per model and source; what is not stated is empty, and so is the source of a statement."""
        keys = [("", name) for name in models.by_name]
        keys += [(source, name) for name, rows in models.derived.items() for source in rows]
        rows = [(models.derived[name][source] if source else models.by_name[name]).stated for source, name in keys]
        columns = {name: pa.array([row.get(name) for row in rows], type=_TYPES[name]) for name in ATTRIBUTES}
        names = {
            "model": pa.array([name for _, name in keys], type=pa.string()),
            _SOURCE: pa.array([source for source, _ in keys], type=pa.string()),
        }
        meta = {PLACE: place_of(self.kind, _NAME), "digest": models.digest}
        write_parquet(pa.table({**names, **columns}), meta, file)

    def read(self) -> DescribedModels:
        """Read all described models; none if there is no file, and raise if it was removed by hand."""
        path = self.path(_NAME)
        if not path.is_file():
            self.refuse_lost(_NAME)
            return DescribedModels()
        rows = read_parquet(path)[0].to_pylist()
        stated: dict[str, ModelAttributes] = {}
        derived: dict[str, dict[str, ModelAttributes]] = {}
        try:
            for row in rows:
                name, source = row.pop("model"), row.pop(_SOURCE, "")
                (derived.setdefault(name, {}) if source else stated)[source or name] = _attributes(row)
            return DescribedModels(stated, derived)
        except (KeyError, TypeError, InputError) as error:
            raise damaged(path, str(error)) from None

    def update(self, later: DescribedModels) -> tuple[DescribedModels, DescribedModels]:
        """Add attributes, which replace earlier ones one by one; return all before and all after the change.

        A file that was removed by hand is started anew.
        """
        with transaction(self.root) as change:
            before = self.read() if self.has(_NAME) else DescribedModels()
            after = before.updated(later)
            self.place(change, after, None)
        return before, after


def _attributes(row: dict[str, str | int | None]) -> ModelAttributes:
    return ModelAttributes(**{name: value for name, value in row.items() if value is not None})  # type: ignore[arg-type]
