"""Arrays on disk are read unchanged, whatever their layout in memory."""

import io

import numpy as np
import pytest

import regrade
from regrade.core import ClassSpace
from regrade.store.array_file import add_rows, begin_array, write_array

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every other row": lambda values: np.repeat(values, 2, axis=0)[::2],
    "backwards": lambda values: values[::-1, ::-1].copy()[::-1, ::-1],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint8])
def test_write_array_can_be_read_by_numpy(layout, dtype):
    values = layout(np.arange(12, dtype=dtype).reshape(4, 3))
    file = io.BytesIO()
    write_array(file, values)
    file.seek(0)
    np.testing.assert_array_equal(np.load(file), values, strict=True)


def test_add_rows_appends_in_order():
    file = io.BytesIO()
    begin_array(file, np.dtype(np.float32), (5, 2))
    rows = np.asfortranarray(np.arange(10, dtype=np.float32).reshape(5, 2))
    add_rows(file, rows[:2])
    add_rows(file, rows[2:])
    file.seek(0)
    np.testing.assert_array_equal(np.load(file), rows)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_add_predictions_stores_scores_in_any_memory_layout(tmp_path, layout):
    """Some classifiers of scikit-learn return probabilities in Fortran order."""
    chance = np.random.default_rng(0)
    given = chance.dirichlet(np.ones(3), size=6)
    workspace = regrade.init(tmp_path / "study")
    (tmp_path / "labels.csv").write_text("image,label\n" + "".join(f"{n}.jpg,a\n" for n in range(6)))
    workspace.testsets.add("six", tmp_path / "labels.csv", classes=ClassSpace("three", ("a", "b", "c")))
    workspace.models.add_predictions("model", layout(given), test_set="six")
    stored = workspace.store.predictions.read(workspace.store.test_set("six"), "model")
    np.testing.assert_allclose(stored.full_scores, given, atol=1e-3)
    assert np.array_equal(np.argmax(stored.full_scores, axis=1), stored.top1)
