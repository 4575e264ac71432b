"""Files of accuracies and losses, which contain no predictions: recognized, so that the error says what they are."""

from __future__ import annotations

import pyarrow as pa

from regrade.core import FormatError
from regrade.tables import Columns

_PUBLISHED = "compare accuracies with regrade models check --published FILE"
_KINDS: tuple[tuple[frozenset[str], str, str], ...] = (
    (frozenset(("top1", "top1_err")), "the accuracies of models, as timm's validate.py writes", _PUBLISHED),
    (frozenset(("model", "top1", "top5")), "the accuracies of models, as timm's validate.py writes", _PUBLISHED),
    (frozenset(("dataset", "model", "metrics")), "the metrics of a model, as CLIP_benchmark writes", ""),
    (frozenset(("dataset", "task", "acc1")), "the metrics of models, as CLIP_benchmark writes", ""),
    (frozenset(("epoch", "train_loss")), "the losses of a training by epoch", ""),
)
_EXPORT = "export predictions or scores per image"
_SHOWN = 4


def refuse_figures(table: pa.Table) -> None:
    """Raise if a table contains figures about models, and no prediction per image."""
    names = {name.casefold() for name in table.column_names}
    for columns, description, advice in _KINDS:
        if columns <= names:
            first = ", ".join(sorted(columns))
            hint = f"{advice}, or {_EXPORT}" if advice else _EXPORT
            raise FormatError(f"contains {description} ({first}, ...), and no prediction per image: {hint}")
    numbers = all(_is_number(column.type) for column in table.columns)
    if table.num_rows == 1 and numbers and Columns().id_in_or_none(table) is None:
        listed = ", ".join(table.column_names[:_SHOWN])
        raise FormatError(f"contains one row of {listed}, and no prediction per image: {_EXPORT}")


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))
