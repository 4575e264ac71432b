"""Pictures prepared ahead of the model: in order, and only so many of them."""

import threading
import time
from contextlib import closing

import numpy as np
import pytest
from predicting import RECIPE, Counted, noisy

from regrade.core import InputError
from regrade.predict import default_workers, prepare, prepare_all


@pytest.fixture
def source(tmp_path):
    store = noisy(tmp_path)
    return store.pictures(store.test_set("noise"))


@pytest.fixture
def counted(source, monkeypatch):
    pictures = Counted(prepare.open_pictures(source))
    monkeypatch.setattr(prepare, "open_pictures", lambda _: pictures)
    return pictures


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("ahead", [1, 2, 7, 100])
def test_order_is_kept_whatever_finishes_first(source, counted, workers, ahead):
    plain = counted.read
    counted.read = lambda position: time.sleep(0.003 * (position % 3 == 0)) or plain(position)
    order = [5, 3, 39, 0, 17, 3, 8]
    found = list(prepare_all(source, RECIPE, order, workers=workers, ahead=ahead))
    assert [one.position for one in found] == order
    assert all(one.pixels.shape == (3, 8, 8) for one in found)
    np.testing.assert_array_equal(found[1].pixels, found[5].pixels)


@pytest.mark.parametrize("ahead", [1, 4, 9])
def test_no_more_than_so_many_are_in_flight(source, counted, ahead):
    with closing(prepare_all(source, RECIPE, range(40), workers=3, ahead=ahead)) as prepared:
        for taken in range(1, 20):
            next(prepared)
            counted.reached(taken + ahead - 1)
            time.sleep(0.002)
            assert counted.count == taken + ahead - 1


def test_what_is_no_longer_wanted_is_not_prepared(source, counted):
    before = threading.active_count()
    with closing(prepare_all(source, RECIPE, range(40), workers=1, ahead=30)) as prepared:
        next(prepared)
    assert threading.active_count() == before
    assert counted.count <= 30


def test_a_picture_without_an_input_has_a_reason(source, tmp_path):
    (tmp_path / "pictures" / "0" / "x000.png").unlink()
    (tmp_path / "pictures" / "0" / "x010.png").write_bytes(b"no picture")
    first, second, third = prepare_all(source, RECIPE, [0, 1, 2], workers=2, ahead=2)
    assert first.pixels is None and "No such file" in first.trouble
    assert second.pixels is None and "not a picture" in second.trouble
    assert third.pixels is not None and third.trouble == ""


def test_a_place_that_has_gone_is_told_as_such(source, tmp_path):
    prepare.check_place(source)
    (tmp_path / "pictures").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no longer at"):
        prepare.check_place(source)


def test_workers_are_the_cores_there_are():
    assert default_workers() >= 1
