"""Digits in a Parquet file with embedded images: a workspace reads what was written."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

import regrade
from regrade.demo.digits import uci
from regrade.demo.image_table import INK, ink_thresholds, write_images
from regrade.tables import Columns
from regrade.testsets import decode, open_images


def test_write_images_is_read_back_by_a_workspace(tmp_path):
    digits = uci().at(np.arange(30))
    thresholds = ink_thresholds(digits.inputs())
    write_images(tmp_path / "files" / "uci.parquet", digits, thresholds=thresholds)
    workspace = regrade.init(tmp_path / "study")
    workspace.add_test_set(
        "uci", tmp_path / "files" / "uci.parquet", classes="digits", columns=Columns(groups=("ink",))
    )
    stored = workspace.store.test_set("uci")
    assert tuple(stored.ids) == digits.ids
    assert np.array_equal(stored.labels, digits.labels)
    assert [list(stored.groups["ink"]).count(name) for name in INK] == [10, 10, 10]
    image = np.asarray(decode(open_images(workspace.store.images(stored)).read(3)))
    assert np.array_equal(image, np.repeat(digits.images[3][..., None], 3, axis=2))


def test_ink_groups_are_ordered_by_ink(tmp_path):
    import pyarrow.parquet as pq

    digits = uci().at(np.arange(50))
    shares = digits.inputs().mean(axis=1)
    write_images(tmp_path / "uci.parquet", digits, thresholds=np.quantile(shares, [0.2, 0.9]))
    groups = [INK.index(name) for name in pq.read_table(tmp_path / "uci.parquet")["ink"].to_pylist()]
    assert (np.diff(np.array(groups)[np.argsort(shares)]) >= 0).all()
    assert [groups.count(place) for place in range(3)] == [10, 35, 5]
