"""Reading people's answers as counts per class, or as entropies."""

import numpy as np
import pytest

from regrade.core import ClassSpace, InputError, TestSet
from regrade.formats import read_human_entropies

PETS = TestSet(
    "pets", ClassSpace("pets", ("n1", "n2"), ("cat", "Dog")), ("a.png", "b.png", "c.png"), np.array([0, 1, 1])
)


def read(tmp_path, text):
    path = tmp_path / "people.csv"
    path.write_text(text)
    return read_human_entropies(path, PETS)


@pytest.mark.parametrize(
    "text",
    [
        "image,cat,dog\nb.png,5,5\na.png,7,0\n",
        "id,n1,n2,remark\na,7,,clear\nb,5,5,\n",
        "image,entropy\na.png,0\nb.png,1.0\nc.png,\n",
    ],
)
def test_counts_and_entropies_are_placed_by_image(tmp_path, text):
    assert read(tmp_path, text) == pytest.approx([0.0, 1.0, np.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,cat,dog\nx,1,1\n", "1 image not in test set pets"),
        ("image,cat,dog\na,1,1\na.png,1,1\n", "'a.png' occurs more than once"),
        ("image,cat,dog\na,1,-1\n", "people.csv: counts of answers"),
        ("image,cat,dog\na,1,many\n", "people.csv: column 'dog' contains something else than numbers"),
        ("image,fish\na,1\n", "people.csv: expected a column entropy, or columns"),
        ("image,entropy\na,-1\n", "people.csv: an entropy is negative"),
        ("cat,dog\n1,1\n", "people.csv"),
    ],
)
def test_invalid_files_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)
