import numpy as np
import pytest

from regrade.core.amounts import amount


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 images"), (1, "1 image"), (2, "2 images"), (12_345, "12,345 images")]
)
def test_amount_uses_singular_and_plural(number, words):
    assert amount(number, "image") == words
    assert amount(np.int64(number), "image") == words


def test_amount_with_an_irregular_plural():
    assert (amount(1, "person", "people"), amount(3, "person", "people")) == ("1 person", "3 people")
