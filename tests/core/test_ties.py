"""Ties follow their images into another order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import Ties


@given(st.lists(st.integers(-1, 9), max_size=20), st.sets(st.integers(0, 9)))
def test_reordered_ties_belong_to_the_same_images(order, tied):
    rows = np.array(sorted(tied), dtype=np.int64)
    ties = Ties(rows, np.arange(len(rows), dtype=np.uint8)[:, None])
    moved = ties.reordered(np.array(order, dtype=np.int64))
    expected = [(place, row) for place, row in enumerate(order) if row in tied]
    if moved is None:
        assert not expected
    else:
        assert [(place, int(rows[bits])) for place, bits in zip(moved.rows, moved.bits[:, 0], strict=True)] == expected
