"""The engine predicts every example exactly once, whatever the batch size, workers, model and memory."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from predicting import CIFAR, Counted, Toy, linear, noisy

from regrade.core import NO_ANSWER, InputError, ModelError, StoreError
from regrade.models import OutOfMemory, Resizer
from regrade.predict import (
    EngineOptions,
    PredictionEngine,
    PredictionInput,
    PreparationOptions,
    engine,
    prepare_all,
)
from regrade.predict.engine import MIN_EXAMPLES_FOR_PROCESSES
from regrade.predict.prepare import MAX_THREADS
from regrade.testsets import open_images

SIZE = 40


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
    requests = ((position, (0,)) for position in range(SIZE))
    examples = prepare_all(data.images, data.source, [preparation], requests, workers=1, ahead=1)
    return np.stack([example[0].input for example in examples])


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
    monkeypatch.setattr(engine, "find_batch_size", lambda _, budget, models: 10 * budget * models)
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
    requests = ((position, (0,)) for position in positions.tolist())
    prepared = prepare_all(data.images, data.source, [preparation], requests, workers=1, ahead=1)
    return [example[0].input for example in prepared]


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
