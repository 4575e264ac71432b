"""The largest batch that fits into the memory."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from predicting import Toy, linear, noisy
from skipping import skip

from regrade.models import OutOfMemory
from regrade.predict import EngineOptions, batch_size, find_batch_size, predict
from regrade.predict.batch_size import _largest

MEGABYTE = 1 << 20


@pytest.fixture
def machine(monkeypatch):
    """Set the memory that four images need on the CPU, and the free memory."""

    def set_memory(need, free):
        monkeypatch.setattr(batch_size, "_peak_on_cpu", lambda *_: need)
        monkeypatch.setattr(batch_size, "_free_on_cpu", lambda: free)

    return set_memory


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
    """Four images need 400 bytes: an image needs 100."""

    @pytest.mark.parametrize(
        ("budget", "batch"),
        [(0, 1), (99, 1), (100, 1), (199, 1), (200, 2), (399, 2), (400, 4), (1599, 8), (1600, 16), (10**12, 32)],
    )
    def test_batch_size_within_a_given_budget(self, machine, budget, batch):
        machine(400, 10**15)
        assert find_batch_size(Toy(), budget) == batch

    @pytest.mark.parametrize(("free", "batch"), [(10, 1), (800, 4), (1599, 4), (1600, 8), (10**12, 32)])
    def test_batch_size_within_half_of_the_free_memory(self, machine, free, batch):
        machine(400, free)
        assert find_batch_size(Toy(), None) == batch

    @pytest.mark.parametrize(("budget", "batch"), [(99, 1), (1600, 16), (25_599, 128), (25_600, 256), (10**12, 256)])
    def test_batch_size_on_a_gpu(self, budget, batch):
        assert find_batch_size(OnGpu(400, 10**15), budget) == batch

    def test_batch_size_within_half_of_the_free_gpu_memory(self):
        assert find_batch_size(OnGpu(400, 3200), None) == 16

    def test_models_that_run_together_share_the_memory(self, machine):
        machine(400, 1600)
        assert find_batch_size(Toy(), None, models=2) == 4
        assert find_batch_size(Toy(), 1600, models=3) == 4


class TestUnknown:
    @pytest.mark.parametrize(("need", "free", "budget"), [(None, 100, 1), (None, None, None), (400, None, None)])
    def test_unknown_memory_gives_the_largest_size(self, machine, need, free, budget):
        machine(need, free)
        assert find_batch_size(Toy(), budget) == 32

    def test_budget_is_enough_if_free_memory_is_unknown(self, machine):
        machine(400, None)
        assert find_batch_size(Toy(), 800) == 8

    def test_no_memory_needed_gives_the_largest_size(self):
        assert find_batch_size(OnGpu(0, 100), None) == 256

    @pytest.mark.parametrize("missing", ["", "clear_refs", "status"])
    def test_unsupported_system_gives_the_largest_size(self, tmp_path, monkeypatch, missing):
        if missing == "clear_refs":
            (tmp_path / "clear_refs").mkdir()
        if missing == "status":
            (tmp_path / "status").write_text("Name:\tregrade\n")
        monkeypatch.setattr(batch_size, "_PROCESS", tmp_path)
        assert batch_size._peak_on_cpu(Toy(), np.zeros((4, 3, 8, 8), np.float32)) is None
        assert find_batch_size(Toy(), 1) == 32


class TestErrors:
    @pytest.mark.parametrize("error", [OutOfMemory, MemoryError])
    @pytest.mark.parametrize("fits", [0, 1])
    def test_trial_that_does_not_fit_gives_one(self, error, fits):
        def scores(batch):
            if len(batch) > fits:
                raise error
            return linear(batch)

        assert find_batch_size(Toy(scores), None) == 1
        assert find_batch_size(OnGpu(400, 10**9, scores), None) == 1

    @pytest.mark.parametrize("error", [ValueError, RuntimeError, OSError, KeyError])
    def test_other_errors_of_the_model_are_ignored(self, error):
        def scores(_):
            raise error

        assert find_batch_size(Toy(scores), 1) == 32


def test_find_batch_size_uses_synthetic_images(machine):
    machine(400, 10**9)
    seen = []
    find_batch_size(Toy(lambda batch: seen.append((batch.shape, batch.dtype)) or linear(batch)), None)
    assert seen == [((1, 3, 8, 8), np.float32)]
    seen.clear()
    find_batch_size(OnGpu(400, 10**9, lambda batch: seen.append(batch.shape) or linear(batch)), None)
    assert seen == [(1, 3, 8, 8), (4, 3, 8, 8)]


@given(st.integers(1, 1000), st.integers(1, 10**9), st.floats(0, 1e12))
def test_largest_fits_and_is_not_needlessly_small(limit, need, allowed):
    batch = _largest(limit, need, allowed)
    assert 1 <= batch <= limit
    assert batch == limit or batch.bit_count() == 1
    assume(need * batch != 4 * allowed)  # a tie is decided by rounding
    assert batch == 1 or need * batch / 4 <= allowed
    assert batch == limit or need * 2 * batch / 4 > allowed * (1 - 1e-9)


class TestOnThisMachine:
    @pytest.fixture(autouse=True)
    def needs_measurement(self):
        if batch_size._peak_on_cpu(Toy(), np.zeros((1, 3, 8, 8), np.float32)) is None:
            skip("this system does not report the memory of a process")

    def hungry(self, size):
        def scores(batch):
            room = np.ones(len(batch) * size, dtype=np.uint8)  # all of it touched
            return linear(batch) + 0 * room[0]

        return scores

    def test_peak_memory_is_measured(self):
        images = np.zeros((4, 3, 8, 8), np.float32)
        need = batch_size._peak_on_cpu(Toy(self.hungry(50 * MEGABYTE)), images)
        assert 190 * MEGABYTE <= need <= 260 * MEGABYTE
        assert images.nbytes <= batch_size._peak_on_cpu(Toy(), images) <= 30 * MEGABYTE

    def test_peak_memory_ignores_earlier_batches(self):
        Toy(self.hungry(400 * MEGABYTE)).scores(np.zeros((1, 3, 8, 8), np.float32))
        assert batch_size._peak_on_cpu(Toy(), np.zeros((4, 3, 8, 8), np.float32)) <= 30 * MEGABYTE

    def test_predict_keeps_within_its_budget(self, tmp_path):
        store = noisy(tmp_path)
        model = Toy(self.hungry(50 * MEGABYTE))
        predict(store, model, store.test_set("noise"), EngineOptions(memory=150 * MEGABYTE))
        assert model.batches[:2] == [1, 4]
        assert model.batches[2:] == [2] * 20

    def test_free_memory_is_plausible(self):
        free = batch_size._free_on_cpu()
        assert MEGABYTE < free < 1 << 50


def test_kilobytes_by_hand(tmp_path):
    path = tmp_path / "status"
    path.write_text("VmHWM:\t   12345 kB\nVmRSS:\t 77 kB\nVmRSSX:\t 1 kB\nThreads:\t4\n")
    assert (batch_size._kilobytes(path, "VmHWM"), batch_size._kilobytes(path, "VmRSS")) == (12345, 77)
    with pytest.raises(OSError, match="has no Threads"):
        batch_size._kilobytes(path, "Threads")
