"""The time of an import grows linearly with the number of columns."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import regrade

ROWS = 4


def wide_file(folder: Path, columns: int) -> Path:
    """A CSV with one column per model."""
    answers = np.random.default_rng(0).integers(0, 10, (ROWS, columns))
    lines = [",".join(["image", "label", *(f"m{column}" for column in range(columns))])]
    lines += [",".join([f"x{row}", str(row), *map(str, answers[row])]) for row in range(ROWS)]
    path = folder / f"{columns}.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def calls_of_import(folder: Path, columns: int) -> Counter[str]:
    """The number of calls of each function, including built-in ones, while importing a file with this many columns."""
    path, workspace = wide_file(folder, columns), regrade.init(folder / f"W{columns}")
    calls: Counter[str] = Counter()

    def count(frame, event, called) -> None:
        if event == "call":
            calls[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            calls[getattr(called, "__qualname__", "")] += 1

    sys.setprofile(count)
    try:
        workspace.models.import_predictions(path, test_set="set", classes="cifar-10")
    finally:
        sys.setprofile(None)
    assert len(workspace.models.names("set")) == columns
    return calls


@pytest.fixture(scope="module")
def calls(tmp_path_factory) -> list[Counter[str]]:
    folder = tmp_path_factory.mktemp("growth")
    calls_of_import(folder, 2)  # whatever is loaded or cached once is so now
    return [calls_of_import(folder, columns) for columns in (100, 200, 400)]


def test_import_calls_grow_in_proportion_to_columns(calls):
    small, medium, large = (each.total() for each in calls)
    assert (large - medium) <= 1.05 * 2 * (medium - small)


def test_import_scans_the_names_of_columns_a_fixed_number_of_times(calls):
    for name in ("Columns.used_in", "Columns.id_in", "list.count", "tuple.count"):
        assert calls[0][name] == calls[2][name], name


def test_import_looks_up_its_own_version_once(calls):
    assert all(each["version"] <= 1 for each in calls)
