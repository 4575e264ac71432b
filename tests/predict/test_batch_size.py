"""A batch is as large as memory allows, and no larger than pays."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from predicting import Toy, linear, noisy
from skipping import skip

from regrade.models import OutOfMemory
from regrade.predict import EngineOptions, batch_size, fitting_batch, predict
from regrade.predict.batch_size import _largest

MEGABYTE = 1 << 20


@pytest.fixture
def machine(monkeypatch):
    """A CPU of which is known what four images need and what is free."""

    def known(need, free):
        monkeypatch.setattr(batch_size, "_peak_on_cpu", lambda *_: need)
        monkeypatch.setattr(batch_size, "_free_on_cpu", lambda: free)

    return known


class OnGpu(Toy):
    """A model that knows its device's memory."""

    def __init__(self, need, free, function=linear) -> None:
        super().__init__(function)
        self.need, self.free = need, free

    def peak_memory(self, batch):
        self.scores(batch)
        return self.need

    def free_memory(self):
        return self.free


class TestByHand:
    """Four images need 400 bytes: a image needs 100."""

    @pytest.mark.parametrize(
        ("budget", "batch"),
        [(0, 1), (99, 1), (100, 1), (199, 1), (200, 2), (399, 2), (400, 4), (1599, 8), (1600, 16), (10**12, 32)],
    )
    def test_a_stated_budget(self, machine, budget, batch):
        machine(400, 10**15)
        assert fitting_batch(Toy(), budget) == batch

    @pytest.mark.parametrize(("free", "batch"), [(10, 1), (800, 4), (1599, 4), (1600, 8), (10**12, 32)])
    def test_else_half_of_what_is_free(self, machine, free, batch):
        machine(400, free)
        assert fitting_batch(Toy(), None) == batch

    @pytest.mark.parametrize(("budget", "batch"), [(99, 1), (1600, 16), (25_599, 128), (25_600, 256), (10**12, 256)])
    def test_a_gpu_takes_more(self, budget, batch):
        assert fitting_batch(OnGpu(400, 10**15), budget) == batch

    def test_half_of_what_is_free_on_a_gpu(self):
        assert fitting_batch(OnGpu(400, 3200), None) == 16


class TestUnknown:
    @pytest.mark.parametrize(("need", "free", "budget"), [(None, 100, 1), (None, None, None), (400, None, None)])
    def test_memory_that_no_one_knows_gives_the_most_that_pays(self, machine, need, free, budget):
        machine(need, free)
        assert fitting_batch(Toy(), budget) == 32

    def test_a_budget_will_do_where_it_is_not_known_what_is_free(self, machine):
        machine(400, None)
        assert fitting_batch(Toy(), 800) == 8

    def test_what_needs_nothing_takes_the_most(self):
        assert fitting_batch(OnGpu(0, 100), None) == 256

    @pytest.mark.parametrize("missing", ["", "clear_refs", "status"])
    def test_a_system_that_does_not_tell(self, tmp_path, monkeypatch, missing):
        if missing == "clear_refs":
            (tmp_path / "clear_refs").mkdir()
        if missing == "status":
            (tmp_path / "status").write_text("Name:\tregrade\n")
        monkeypatch.setattr(batch_size, "_PROCESS", tmp_path)
        assert batch_size._peak_on_cpu(Toy(), np.zeros((4, 3, 8, 8), np.float32)) is None
        assert fitting_batch(Toy(), 1) == 32


class TestTrouble:
    @pytest.mark.parametrize("trouble", [OutOfMemory, MemoryError])
    @pytest.mark.parametrize("fits", [0, 1])
    def test_a_trial_that_does_not_fit_means_one_by_one(self, trouble, fits):
        def scores(batch):
            if len(batch) > fits:
                raise trouble
            return linear(batch)

        assert fitting_batch(Toy(scores), None) == 1
        assert fitting_batch(OnGpu(400, 10**9, scores), None) == 1

    @pytest.mark.parametrize("trouble", [ValueError, RuntimeError, OSError, KeyError])
    def test_whatever_else_a_model_raises_is_not_told_here(self, trouble):
        def scores(_):
            raise trouble

        assert fitting_batch(Toy(scores), 1) == 32


def test_it_is_tried_on_made_up_images_of_the_recipe(machine):
    machine(400, 10**9)
    seen = []
    fitting_batch(Toy(lambda batch: seen.append((batch.shape, batch.dtype)) or linear(batch)), None)
    assert seen == [((1, 3, 8, 8), np.float32)]
    seen.clear()
    fitting_batch(OnGpu(400, 10**9, lambda batch: seen.append(batch.shape) or linear(batch)), None)
    assert seen == [(1, 3, 8, 8), (4, 3, 8, 8)]


@given(st.integers(1, 1000), st.integers(1, 10**9), st.floats(0, 1e12))
def test_no_batch_needs_more_than_is_allowed_and_none_is_needlessly_small(most, need, allowed):
    batch = _largest(most, need, allowed)
    assert 1 <= batch <= most
    assert batch == most or batch.bit_count() == 1
    assume(need * batch != 4 * allowed)  # a tie is decided by rounding
    assert batch == 1 or need * batch / 4 <= allowed
    assert batch == most or need * 2 * batch / 4 > allowed * (1 - 1e-9)


class TestOnThisMachine:
    @pytest.fixture(autouse=True)
    def told(self):
        if batch_size._peak_on_cpu(Toy(), np.zeros((1, 3, 8, 8), np.float32)) is None:
            skip("this system does not tell how much memory a process needs")

    def hungry(self, size):
        def scores(batch):
            room = np.ones(len(batch) * size, dtype=np.uint8)  # all of it touched
            return linear(batch) + 0 * room[0]

        return scores

    def test_what_a_batch_takes_is_seen(self):
        images = np.zeros((4, 3, 8, 8), np.float32)
        need = batch_size._peak_on_cpu(Toy(self.hungry(50 * MEGABYTE)), images)
        assert 190 * MEGABYTE <= need <= 260 * MEGABYTE
        assert images.nbytes <= batch_size._peak_on_cpu(Toy(), images) <= 30 * MEGABYTE

    def test_what_earlier_batches_took_is_not_counted(self):
        Toy(self.hungry(400 * MEGABYTE)).scores(np.zeros((1, 3, 8, 8), np.float32))
        assert batch_size._peak_on_cpu(Toy(), np.zeros((4, 3, 8, 8), np.float32)) <= 30 * MEGABYTE

    def test_a_run_keeps_within_its_budget(self, tmp_path):
        store = noisy(tmp_path)
        model = Toy(self.hungry(50 * MEGABYTE))
        predict(store, model, store.test_set("noise"), EngineOptions(memory=150 * MEGABYTE))
        assert model.batches[:2] == [1, 4]
        assert model.batches[2:] == [2] * 20

    def test_what_is_free_is_less_than_there_is(self):
        free = batch_size._free_on_cpu()
        assert MEGABYTE < free < 1 << 50


def test_fields_of_a_status_file_by_hand(tmp_path):
    path = tmp_path / "status"
    path.write_text("VmHWM:\t   12345 kB\nVmRSS:\t 77 kB\nVmRSSX:\t 1 kB\nThreads:\t4\n")
    assert (batch_size._kilobytes(path, "VmHWM"), batch_size._kilobytes(path, "VmRSS")) == (12345, 77)
    with pytest.raises(OSError, match="has no Threads"):
        batch_size._kilobytes(path, "Threads")
