"""The engine predicts every example exactly once, whatever the batch size, workers, model and memory."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from predicting import CIFAR, Counted, Toy, linear, noisy
from skipping import skip

from regrade.core import NO_ANSWER, InputError, ModelError, StoreError
from regrade.models import OutOfMemory, Resizer
from regrade.predict import (
    EngineOptions,
    PredictionEngine,
    PredictionInput,
    PreparationOptions,
    engine,
    find_batch_size,
    predict,
    prepare_all,
)
from regrade.predict.engine import MIN_EXAMPLES_FOR_PROCESSES, _largest
from regrade.predict.prepare import MAX_THREADS
from regrade.testsets import open_images

SIZE = 40

MEGABYTE = 1 << 20


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path, SIZE)


def parts(store, model, part_size=16):
    test_set = store.test_set("noise")
    return store.partial_predictions(test_set, model.spec.name, part_size=part_size, plan={"model": model.spec.name})


def prediction_input(store, images=None):
    test_set = store.test_set("noise")
    source = store.images.read(test_set)
    return PredictionInput(test_set.ids, source, images or open_images(source))


def run(store, model, *, advances=None, images=None, batch=16, **options):
    """Run to the end and put the parts together."""
    partial = parts(store, model)
    ran = PredictionEngine(model, EngineOptions(part_size=16, **options))
    with partial.locked():
        partial.begin()
        progress = ([] if advances is None else advances).append
        for part in ran.parts(prediction_input(store, images), partial.missing(), batch=batch, progress=progress):
            partial.add(part)
        return partial.finished(), ran


def inputs(store):
    """The inputs (n, 3, 8, 8) of a plain loop."""
    data, preparation = prediction_input(store), PreparationOptions(Toy().preprocessing, Resizer.PILLOW)
    examples = prepare_all(data.images, data.source, preparation, range(SIZE), workers=1, ahead=1)
    return np.stack([example.input for example in examples])


def expected(store):
    """The scores of a plain loop."""
    return linear(inputs(store))


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("batch", [1, 3, 16, 100])
def test_predictions_are_those_of_a_plain_loop(store, batch, workers):
    advances = []
    part, _ = run(store, Toy(), batch=batch, workers=workers, keep_scores=True, advances=advances)
    scores = expected(store)
    np.testing.assert_array_equal(part.classes[:, 0], scores.argmax(axis=1))
    np.testing.assert_allclose(part.scores[:, 0], scores.max(axis=1), atol=1e-5)
    np.testing.assert_allclose(part.full_scores, scores, rtol=1e-3, atol=1e-3)
    assert part.full_scores.dtype == np.float16
    assert sum(advances) == SIZE


def test_batches_end_with_their_part(store):
    model = Toy()
    run(store, model, batch=12)
    assert model.batches == [12, 4, 12, 4, 8]


def test_images_are_prepared_while_the_model_computes(store):
    images = Counted(prediction_input(store).images)
    seen = []

    def scores(batch):
        seen.append(images.reached(min(SIZE, 4 * (len(seen) + 2))))
        return linear(batch)

    run(store, Toy(scores), batch=4, images=images)
    assert seen == [True] * 10


def test_parts_may_be_requested_by_several_threads(store):
    """Each gets its own parts, and the model computes one batch at a time."""
    busy, together = threading.Lock(), []

    def scores(batch):
        together.append(not busy.acquire(blocking=False))
        time.sleep(0.001)
        busy.release()
        return linear(batch)

    ran = PredictionEngine(Toy(scores), EngineOptions(keep_scores=True))
    data, ranges = prediction_input(store), [range(start, start + 8) for start in range(0, SIZE, 8)]

    def predict_range(positions):
        (part,) = ran.parts(data, [positions], batch=2, progress=lambda _: None)
        return part

    with ThreadPoolExecutor(5) as pool:
        parts = list(pool.map(predict_range, ranges))
    assert len(together) == 20 and not any(together)
    np.testing.assert_array_equal(
        np.concatenate([part.classes[:, 0] for part in parts]), expected(store).argmax(axis=1)
    )
    assert [part.start for part in parts] == [0, 8, 16, 24, 32]


def test_only_requested_images_are_read(store):
    images = Counted(prediction_input(store).images)
    ran = PredictionEngine(Toy(), EngineOptions())
    late, early = ran.parts(
        prediction_input(store, images), [range(30, 34), range(3, 5)], batch=8, progress=lambda _: None
    )
    assert (late.start, len(late), early.start, len(early), images.count) == (30, 4, 3, 2, 6)
    np.testing.assert_array_equal(late.classes[:, 0], expected(store)[30:34].argmax(axis=1))


def test_metadata_includes_the_resizer():
    model = Toy()
    metadata = PredictionEngine(model, EngineOptions()).metadata
    assert metadata.runtime == f"toy, images by {Resizer.PILLOW.runtime}"
    assert (metadata.spec, metadata.class_space, metadata.preprocessing) == (
        model.spec,
        model.class_space,
        model.preprocessing,
    )
    assert model.metadata.runtime == "toy"


@pytest.mark.parametrize(
    ("options", "batch"),
    [(EngineOptions(batch=7), 7), (EngineOptions(batch=7, memory=1), 7), (EngineOptions(memory=3), 30)],
)
def test_given_batch_size_is_not_measured(monkeypatch, options, batch):
    monkeypatch.setattr(engine, "find_batch_size", lambda _, budget: 10 * budget)
    assert PredictionEngine(Toy(), options).find_batch_size() == batch


class TestMemory:
    @pytest.mark.parametrize("error", [OutOfMemory, MemoryError])
    def test_batch_that_does_not_fit_is_halved_and_later_ones_too(self, store, error):
        def scores(batch):
            if len(batch) > 3:
                raise error("too much")
            return linear(batch)

        model = Toy(scores)
        part, ran = run(store, model, batch=16)
        np.testing.assert_array_equal(part.classes[:, 0], expected(store).argmax(axis=1))
        assert model.batches[:7] == [16, 8, 4, 2, 2, 4, 2]
        assert set(model.batches[-6:]) == {2}
        model.batches.clear()
        list(ran.parts(prediction_input(store), [range(0, 8)], batch=16, progress=lambda _: None))
        assert model.batches == [2] * 4

    def test_batch_of_one_that_does_not_fit_is_an_error(self, store):
        def scores(_):
            raise OutOfMemory

        with pytest.raises(ModelError, match="toy does not fit into memory even with a batch of one"):
            run(store, Toy(scores), batch=5)


class TestBadModels:
    @pytest.mark.parametrize(
        ("scores", "message"),
        [
            (
                lambda b: linear(b)[:, :9],
                r"float32 of shape \(4, 9\).*expected floating-point scores of shape \(4, 10\)",
            ),
            (lambda b: linear(b)[1:], r"shape \(3, 10\) for the 4 examples 'x0\d\d.png' to 'x0\d\d.png'"),
            (lambda b: linear(b).astype(int), "returned int64"),
            (lambda b: np.where(np.arange(4)[:, None] == 2, np.nan, linear(b)), "not finite for example 'x020.png'"),
            (lambda b: np.where(np.arange(10) == 2, np.inf, linear(b)), "not finite for example 'x000.png'"),
            (lambda _: np.full((4, 10), -np.inf), "not finite for example 'x000.png'"),
            (lambda b: 1e6 * linear(b), "too large for half precision: run it without --keep scores"),
            (lambda _: None, r"toy returned object of shape \(\)"),
        ],
    )
    def test_invalid_scores_are_an_error(self, store, scores, message):
        with pytest.raises(ModelError, match=message):
            run(store, Toy(scores), batch=4, keep_scores=True)

    @pytest.mark.parametrize("error", [ValueError("first\nsecond"), InputError("first"), RuntimeError("first")])
    def test_errors_of_a_model_are_one_line_with_model_and_examples(self, store, error):
        def scores(_):
            raise error

        with pytest.raises(ModelError) as caught:
            run(store, Toy(scores), batch=4)
        assert str(caught.value) == (
            f"toy failed on the 4 examples 'x000.png' to 'x030.png': {type(error).__name__}: first"
        )
        with pytest.raises(ModelError, match=r"toy failed on example 'x000\.png': "):
            run(store, Toy(scores), batch=1)

    def test_error_that_names_the_model_is_not_prefixed(self, store):
        def scores(_):
            raise InputError("toy returned nothing")

        with pytest.raises(ModelError, match=r"^toy returned nothing \(example 'x000.png'\)$"):
            run(store, Toy(scores), batch=1)

    @pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt])
    def test_error_keeps_earlier_parts(self, store, stop):
        def scores(batch):
            if len(model.batches) == 6:
                raise stop
            return linear(batch)

        model = Toy(scores)
        with pytest.raises(KeyboardInterrupt if stop is KeyboardInterrupt else ModelError):
            run(store, model, batch=4)
        assert parts(store, model).missing() == [range(16, 32), range(32, 40)]

    def test_minus_infinity_rules_out_a_class(self, store):
        part, _ = run(store, Toy(lambda b: np.where(np.arange(10) > 6, -np.inf, linear(b))), keep_scores=True)
        assert part.classes.max() == 6
        assert np.isneginf(part.full_scores[:, 7:]).all()


def test_fewer_classes_than_stored_k(store):
    space = CIFAR.subset("pets", [3, 5, 7])
    part, _ = run(store, Toy(lambda b: linear(b)[:, :3], space=space))
    assert part.classes.shape == (SIZE, 3)


@pytest.mark.parametrize("batch", [3, 16])
def test_ties_across_the_last_stored_place_are_kept(store, batch, tmp_path):
    def coarse(images):
        return np.sign(linear(images)).astype(np.float32)

    test_set = store.test_set("noise")
    (tmp_path / "images" / store.images.read(test_set).locations[17]).unlink()
    part, _ = run(store, Toy(coarse), batch=batch)
    readable = np.setdiff1d(np.arange(SIZE), [17])
    scores = coarse(np.stack(_readable_inputs(store, readable)))
    tied = scores == np.take_along_axis(scores, part.classes[readable][:, -1:], axis=1)
    crossing = tied.sum(axis=1) > np.take_along_axis(tied, part.classes[readable], axis=1).sum(axis=1)
    assert part.ties.rows.tolist() == readable[crossing].tolist() and crossing.sum() > 10
    np.testing.assert_array_equal(part.ties.classes(np.arange(crossing.sum()), len(CIFAR)), tied[crossing])


def _readable_inputs(store, positions):
    data, preparation = prediction_input(store), PreparationOptions(Toy().preprocessing, Resizer.PILLOW)
    prepared = prepare_all(data.images, data.source, preparation, positions.tolist(), workers=1, ahead=1)
    return [example.input for example in prepared]


def test_unreadable_image_has_no_prediction_and_affects_no_other(store, tmp_path):
    whole, _ = run(store, Toy(name="whole"), keep_scores=True)
    gone = [1, 16, 17, 39]
    test_set = store.test_set("noise")
    for position in gone:
        path = tmp_path / "images" / store.images.read(test_set).locations[position]
        path.unlink()
    part, _ = run(store, Toy(), keep_scores=True, batch=2)
    assert sorted(part.unreadable) == gone
    rest = np.setdiff1d(np.arange(SIZE), gone)
    assert (part.classes[gone] == NO_ANSWER).all() and np.isnan(part.full_scores[gone].astype(float)).all()
    np.testing.assert_array_equal(part.classes[rest], whole.classes[rest])


def test_missing_image_folder_keeps_earlier_parts(store, tmp_path):
    def scores(batch):
        if len(model.batches) == 5:
            (tmp_path / "images").rename(tmp_path / "elsewhere")
        return linear(batch)

    model = Toy(scores)
    with pytest.raises(InputError, match="no longer at"):
        run(store, model, batch=4)
    assert range(0, 16) not in parts(store, model).missing()


@pytest.mark.parametrize("spoilt", [lambda p: p[::-1], lambda p: p[:-1], lambda p: p[:1] * 40])
def test_examples_out_of_order_are_an_error(store, monkeypatch, spoilt):
    real = engine.prepare_all

    def prepare_wrongly(images, source, preparation, positions, **options):
        yield from real(images, source, preparation, spoilt(list(positions)), **options)

    monkeypatch.setattr(engine, "prepare_all", prepare_wrongly)
    with pytest.raises(StoreError, match="out of order: this is a bug in regrade"):
        run(store, Toy())


@pytest.mark.parametrize(
    ("options", "examples", "processes"),
    [
        (EngineOptions(workers=8), MIN_EXAMPLES_FOR_PROCESSES, True),
        (EngineOptions(workers=8), MIN_EXAMPLES_FOR_PROCESSES - 1, False),
        (EngineOptions(workers=MAX_THREADS), MIN_EXAMPLES_FOR_PROCESSES, False),
    ],
)
def test_processes_prepare_images_if_there_are_many(store, monkeypatch, options, examples, processes):
    """Never for the few images shipped to a worker of a cluster: processes would read them from the disk."""
    seen = {}

    def record(*_, **options):
        seen.update(options)
        yield from ()

    monkeypatch.setattr(engine, "prepare_all", record)
    with pytest.raises(StoreError, match="out of order"):
        list(
            PredictionEngine(Toy(), options).parts(prediction_input(store), [range(examples)], batch=8, progress=print)
        )
    assert seen["processes"] is processes
    assert seen["workers"] == (8 if processes else MAX_THREADS)


@pytest.fixture
def machine(monkeypatch):
    """Set the memory that four images need on the CPU, and the free memory."""

    def set_memory(need, free):
        monkeypatch.setattr(engine, "_peak_on_cpu", lambda *_: need)
        monkeypatch.setattr(engine, "_free_on_cpu", lambda: free)

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
        monkeypatch.setattr(engine, "_PROCESS", tmp_path)
        assert engine._peak_on_cpu(Toy(), np.zeros((4, 3, 8, 8), np.float32)) is None
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
        if engine._peak_on_cpu(Toy(), np.zeros((1, 3, 8, 8), np.float32)) is None:
            skip("this system does not report the memory of a process")

    def hungry(self, size):
        def scores(batch):
            room = np.ones(len(batch) * size, dtype=np.uint8)  # all of it touched
            return linear(batch) + 0 * room[0]

        return scores

    def test_peak_memory_is_measured(self):
        images = np.zeros((4, 3, 8, 8), np.float32)
        need = engine._peak_on_cpu(Toy(self.hungry(50 * MEGABYTE)), images)
        assert 190 * MEGABYTE <= need <= 260 * MEGABYTE
        assert images.nbytes <= engine._peak_on_cpu(Toy(), images) <= 30 * MEGABYTE

    def test_peak_memory_ignores_earlier_batches(self):
        Toy(self.hungry(400 * MEGABYTE)).scores(np.zeros((1, 3, 8, 8), np.float32))
        assert engine._peak_on_cpu(Toy(), np.zeros((4, 3, 8, 8), np.float32)) <= 30 * MEGABYTE

    def test_predict_keeps_within_its_budget(self, tmp_path):
        store = noisy(tmp_path)
        model = Toy(self.hungry(50 * MEGABYTE))
        predict(store, model, store.test_set("noise"), EngineOptions(memory=150 * MEGABYTE))
        assert model.batches[:2] == [1, 4]
        assert model.batches[2:] == [2] * 20

    def test_free_memory_is_plausible(self):
        free = engine._free_on_cpu()
        assert MEGABYTE < free < 1 << 50


def test_kilobytes_by_hand(tmp_path):
    path = tmp_path / "status"
    path.write_text("VmHWM:\t   12345 kB\nVmRSS:\t 77 kB\nVmRSSX:\t 1 kB\nThreads:\t4\n")
    assert (engine._kilobytes(path, "VmHWM"), engine._kilobytes(path, "VmRSS")) == (12345, 77)
    with pytest.raises(OSError, match="has no Threads"):
        engine._kilobytes(path, "Threads")
