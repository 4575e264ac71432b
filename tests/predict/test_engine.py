"""Every example exactly once, whatever the batch, the workers, the model and the memory do."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from predicting import CIFAR, Counted, Toy, linear, noisy

from regrade.core import NO_ANSWER, InputError, ModelError, StoreError
from regrade.models import OutOfMemory, Resizer
from regrade.predict import EngineOptions, PredictionEngine, PredictionInput, PreparationOptions, engine, prepare_all
from regrade.predict.engine import WORTH_PROCESSES
from regrade.predict.prepare import MOST_THREADS
from regrade.testsets import open_images

SIZE = 40


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path, SIZE)


def parts(store, model, part_size=16):
    test_set = store.test_set("noise")
    return store.partial_predictions(test_set, model.spec.name, part_size=part_size, plan={"model": model.spec.name})


def asked(store, images=None):
    test_set = store.test_set("noise")
    source = store.images(test_set)
    return PredictionInput(test_set.ids, source, images or open_images(source))


def run(store, model, *, told=None, images=None, batch=16, **how):
    """Run to the end and put the parts together."""
    partial = parts(store, model)
    ran = PredictionEngine(model, EngineOptions(part_size=16, **how))
    with partial.locked():
        partial.begin()
        progress = ([] if told is None else told).append
        for part in ran.parts(asked(store, images), partial.missing(), batch=batch, progress=progress):
            partial.add(part)
        return partial.finished(), ran


def inputs(store):
    """The inputs (n, 3, 8, 8) of a plain loop."""
    of, preparing = asked(store), PreparationOptions(Toy().preprocessing, Resizer.PILLOW)
    every = prepare_all(of.images, of.source, preparing, range(SIZE), workers=1, ahead=1)
    return np.stack([one.input for one in every])


def expected(store):
    """The answers of a plain loop."""
    return linear(inputs(store))


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("batch", [1, 3, 16, 100])
def test_answers_are_those_of_a_plain_loop(store, batch, workers):
    told = []
    found, _ = run(store, Toy(), batch=batch, workers=workers, keep_scores=True, told=told)
    scores = expected(store)
    np.testing.assert_array_equal(found.classes[:, 0], scores.argmax(axis=1))
    np.testing.assert_allclose(found.scores[:, 0], scores.max(axis=1), atol=1e-5)
    np.testing.assert_allclose(found.full_scores, scores, rtol=1e-3, atol=1e-3)
    assert found.full_scores.dtype == np.float16
    assert sum(told) == SIZE


def test_a_batch_ends_with_its_part(store):
    model = Toy()
    run(store, model, batch=12)
    assert model.batches == [12, 4, 12, 4, 8]


def test_images_are_prepared_while_the_model_computes(store):
    images = Counted(asked(store).images)
    seen = []

    def scores(batch):
        seen.append(images.reached(min(SIZE, 4 * (len(seen) + 2))))
        return linear(batch)

    run(store, Toy(scores), batch=4, images=images)
    assert seen == [True] * 10


def test_several_threads_may_ask_at_once(store):
    """Each gets its own parts, and the model computes one batch at a time."""
    busy, together = threading.Lock(), []

    def scores(batch):
        together.append(not busy.acquire(blocking=False))
        time.sleep(0.001)
        busy.release()
        return linear(batch)

    ran = PredictionEngine(Toy(scores), EngineOptions(keep_scores=True))
    of, ranges = asked(store), [range(start, start + 8) for start in range(0, SIZE, 8)]

    def part(positions):
        (one,) = ran.parts(of, [positions], batch=2, progress=lambda _: None)
        return one

    with ThreadPoolExecutor(5) as pool:
        found = list(pool.map(part, ranges))
    assert len(together) == 20 and not any(together)
    np.testing.assert_array_equal(np.concatenate([one.classes[:, 0] for one in found]), expected(store).argmax(axis=1))
    assert [one.start for one in found] == [0, 8, 16, 24, 32]


def test_only_what_is_wanted_is_read(store):
    images = Counted(asked(store).images)
    ran = PredictionEngine(Toy(), EngineOptions())
    late, early = ran.parts(asked(store, images), [range(30, 34), range(3, 5)], batch=8, progress=lambda _: None)
    assert (late.start, len(late), early.start, len(early), images.count) == (30, 4, 3, 2, 6)
    np.testing.assert_array_equal(late.classes[:, 0], expected(store)[30:34].argmax(axis=1))


def test_the_card_says_what_makes_the_images_ready():
    model = Toy()
    card = PredictionEngine(model, EngineOptions()).card
    assert card.runtime == f"toy, images by {Resizer.PILLOW.runtime}"
    assert (card.spec, card.class_space, card.preprocessing) == (model.spec, model.class_space, model.preprocessing)
    assert model.card.runtime == "toy"


@pytest.mark.parametrize(
    ("how", "batch"),
    [(EngineOptions(batch=7), 7), (EngineOptions(batch=7, memory=1), 7), (EngineOptions(memory=3), 30)],
)
def test_a_stated_batch_is_not_measured(monkeypatch, how, batch):
    monkeypatch.setattr(engine, "fitting_batch", lambda _, budget: 10 * budget)
    assert PredictionEngine(Toy(), how).find_batch() == batch


class TestMemory:
    @pytest.mark.parametrize("trouble", [OutOfMemory, MemoryError])
    def test_a_batch_too_large_is_halved_and_so_are_those_that_follow(self, store, trouble):
        def scores(batch):
            if len(batch) > 3:
                raise trouble("too much")
            return linear(batch)

        model = Toy(scores)
        found, ran = run(store, model, batch=16)
        np.testing.assert_array_equal(found.classes[:, 0], expected(store).argmax(axis=1))
        assert model.batches[:7] == [16, 8, 4, 2, 2, 4, 2]
        assert set(model.batches[-6:]) == {2}
        model.batches.clear()
        list(ran.parts(asked(store), [range(0, 8)], batch=16, progress=lambda _: None))
        assert model.batches == [2] * 4

    def test_a_batch_of_one_that_does_not_fit_is_told(self, store):
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
    def test_scores_that_are_none_are_told(self, store, scores, message):
        with pytest.raises(ModelError, match=message):
            run(store, Toy(scores), batch=4, keep_scores=True)

    @pytest.mark.parametrize("error", [ValueError("first\nsecond"), InputError("first"), RuntimeError("first")])
    def test_whatever_a_model_raises_is_one_line_with_model_and_examples(self, store, error):
        def scores(_):
            raise error

        with pytest.raises(ModelError) as caught:
            run(store, Toy(scores), batch=4)
        assert str(caught.value) == (
            f"toy failed on the 4 examples 'x000.png' to 'x030.png': {type(error).__name__}: first"
        )
        with pytest.raises(ModelError, match=r"toy failed on example 'x000\.png': "):
            run(store, Toy(scores), batch=1)

    def test_an_adapters_own_line_is_not_said_twice(self, store):
        def scores(_):
            raise InputError("toy gave nothing")

        with pytest.raises(ModelError, match=r"^toy gave nothing \(example 'x000.png'\)$"):
            run(store, Toy(scores), batch=1)

    @pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt])
    def test_earlier_parts_are_kept(self, store, stop):
        def scores(batch):
            if len(model.batches) == 6:
                raise stop
            return linear(batch)

        model = Toy(scores)
        with pytest.raises(KeyboardInterrupt if stop is KeyboardInterrupt else ModelError):
            run(store, model, batch=4)
        assert parts(store, model).missing() == [range(16, 32), range(32, 40)]

    def test_a_class_may_be_ruled_out(self, store):
        found, _ = run(store, Toy(lambda b: np.where(np.arange(10) > 6, -np.inf, linear(b))), keep_scores=True)
        assert found.classes.max() == 6
        assert np.isneginf(found.full_scores[:, 7:]).all()


def test_fewer_classes_than_are_stored(store):
    space = CIFAR.subset("pets", [3, 5, 7])
    found, _ = run(store, Toy(lambda b: linear(b)[:, :3], space=space))
    assert found.classes.shape == (SIZE, 3)


def test_an_unreadable_image_has_no_answer_and_changes_no_other(store, tmp_path):
    whole, _ = run(store, Toy(name="whole"), keep_scores=True)
    gone = [1, 16, 17, 39]
    test_set = store.test_set("noise")
    for position in gone:
        path = tmp_path / "images" / store.images(test_set).locations[position]
        path.unlink()
    found, _ = run(store, Toy(), keep_scores=True, batch=2)
    assert sorted(found.unreadable) == gone
    rest = np.setdiff1d(np.arange(SIZE), gone)
    assert (found.classes[gone] == NO_ANSWER).all() and np.isnan(found.full_scores[gone].astype(float)).all()
    np.testing.assert_array_equal(found.classes[rest], whole.classes[rest])


def test_a_place_that_goes_while_it_runs_keeps_earlier_parts(store, tmp_path):
    def scores(batch):
        if len(model.batches) == 5:
            (tmp_path / "images").rename(tmp_path / "elsewhere")
        return linear(batch)

    model = Toy(scores)
    with pytest.raises(InputError, match="no longer at"):
        run(store, model, batch=4)
    assert range(0, 16) not in parts(store, model).missing()


@pytest.mark.parametrize("spoilt", [lambda p: p[::-1], lambda p: p[:-1], lambda p: p[:1] * 40])
def test_exactly_once_is_checked(store, monkeypatch, spoilt):
    real = engine.prepare_all

    def prepare_wrongly(images, source, preparing, positions, **options):
        return (one for one in real(images, source, preparing, spoilt(list(positions)), **options))

    monkeypatch.setattr(engine, "prepare_all", prepare_wrongly)
    with pytest.raises(StoreError, match="out of order: this is a defect"):
        run(store, Toy())


@pytest.mark.parametrize(
    ("how", "examples", "processes"),
    [
        (EngineOptions(workers=8), WORTH_PROCESSES, True),
        (EngineOptions(workers=8), WORTH_PROCESSES - 1, False),
        (EngineOptions(workers=MOST_THREADS), WORTH_PROCESSES, False),
        (EngineOptions(workers=8, resizer=Resizer.GPU), WORTH_PROCESSES, False),
    ],
)
def test_processes_prepare_images_where_it_pays(store, monkeypatch, how, examples, processes):
    """Never the few that are shipped to a worker of a cluster: processes would look for them on the disk."""
    seen = {}

    def watched(*_, **options):
        seen.update(options)
        return (one for one in ())

    monkeypatch.setattr(engine, "prepare_all", watched)
    with pytest.raises(StoreError, match="out of order"):
        list(PredictionEngine(Toy(), how).parts(asked(store), [range(examples)], batch=8, progress=print))
    assert seen["processes"] is processes
    assert seen["workers"] == (8 if processes else MOST_THREADS)
