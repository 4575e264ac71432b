import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import FormatError
from regrade.tables import number_array

TYPES = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_())
CHUNKS = st.lists(st.lists(st.integers(0, 100), max_size=5), max_size=4)


@pytest.mark.parametrize("kind", TYPES, ids=str)
@settings(deadline=None)  # the first one waits for pandas
@given(chunks=CHUNKS, skipped=st.integers(0, 3))
def test_number_array_equals_to_numpy(kind, chunks, skipped):
    column = pa.chunked_array([pa.array(chunk, pa.int64()).slice(skipped).cast(kind) for chunk in chunks], kind)
    array = number_array(column)
    assert array.dtype == column.to_numpy().dtype
    np.testing.assert_array_equal(array, column.to_numpy())
    np.testing.assert_array_equal(number_array(column.combine_chunks()), array)


def test_number_array_rejects_empty_cells():
    with pytest.raises(FormatError, match="1 of 2 cells are empty"):
        number_array(pa.array([1, None], pa.int32()))


@pytest.mark.parametrize("kind", [pa.int32(), pa.bool_()], ids=str)
def test_number_array_outlives_its_column(kind):
    array = number_array(pa.chunked_array([pa.array([1, 0] * 1000, pa.int32()).cast(kind)]))
    for _ in range(10):
        pa.array([7] * 2000, pa.int32())
    assert array.sum() == 1000
