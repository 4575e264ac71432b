"""Reading predictions to import: one model per file, or one model per column."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from regrade.core import ClassSpace, InputError
from regrade.core.arrays import IntArray
from regrade.formats.file_predictions import FileClassSpaces, PredictionFile
from regrade.formats.prediction_array_files import read_prediction_arrays
from regrade.formats.prediction_table import read_prediction_table
from regrade.tables import ARRAY_SUFFIXES, TORCH_SUFFIXES, Columns, read_any_table


def read_prediction_file(
    path: Path, spaces: FileClassSpaces, *, columns: Columns, model: str | None, split: str = ""
) -> PredictionFile:
    """Read predictions from a table, arrays, tensors or a dataset folder; a file that does not fit raises.

    With ``model``, a table contains one model; without it, every column except ids, labels and groups is a model. An
    array always contains one model, named after the file if ``model`` is None. ``split`` is that of a folder.
    """
    if path.suffix.lower() in (*ARRAY_SUFFIXES, *TORCH_SUFFIXES) and path.is_file():
        content = read_prediction_arrays(path, spaces, columns, model or path.stem)
    else:
        table = read_any_table(path, split=split)
        content = read_prediction_table(table, spaces, columns=columns, model=model, origin=str(path))
    for name, predictions in content.predictions.items():
        refuse_repeated(predictions.classes, name, spaces.predictions)
    return content


def refuse_repeated(classes: IntArray, model: str, space: ClassSpace) -> None:
    """Raise if a row lists a class twice."""
    ordered = np.sort(classes, axis=1)
    twice = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)
    if twice.any():
        row = int(np.flatnonzero(twice.any(axis=1))[0])
        name = space.ids[ordered[row, 1:][twice[row]][0]]
        raise InputError(f"model {model!r}, row {row + 1}: class {name} is listed twice")
