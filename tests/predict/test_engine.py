"""Every example exactly once, whatever the batch, the workers, the model and the memory do."""

import numpy as np
import pytest
from predicting import CIFAR, Counted, Toy, linear, noisy

from regrade.core import NO_ANSWER, InputError, ModelError, StoreError
from regrade.models import OutOfMemory
from regrade.predict import Engine, How, engine, prepare

SIZE = 40


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path, SIZE)


def parts(store, model, part_size=16):
    test_set = store.test_set("noise")
    return store.partial_predictions(test_set, model.spec.name, part_size=part_size, plan={"model": model.spec.name})


def run(store, model, *, told=None, **how):
    """Run to the end and put the parts together."""
    how = How(part_size=16, **how)
    partial = parts(store, model)
    test_set = store.test_set("noise")
    with partial.alone():
        partial.begin()
        ran = Engine(model, how)
        ran.run(test_set.ids, store.pictures(test_set), partial, progress=([] if told is None else told).append)
        return partial.finished(), ran


def expected(store):
    """The answers of a plain loop."""
    source = store.pictures(store.test_set("noise"))
    pixels = [one.pixels for one in prepare.prepare_all(source, Toy().preprocessing, range(SIZE), workers=1, ahead=1)]
    return linear(np.stack(pixels))


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


def test_pictures_are_prepared_while_the_model_computes(store, monkeypatch):
    source = store.pictures(store.test_set("noise"))
    pictures = Counted(prepare.open_pictures(source))
    monkeypatch.setattr(prepare, "open_pictures", lambda _: pictures)
    seen = []

    def scores(batch):
        seen.append(pictures.reached(min(SIZE, 4 * (len(seen) + 2))))
        return linear(batch)

    run(store, Toy(scores), batch=4)
    assert seen == [True] * 10


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
        assert ran.batch == 2 and set(model.batches[-6:]) == {2}

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


def test_an_unreadable_picture_has_no_answer_and_changes_no_other(store, tmp_path):
    whole, _ = run(store, Toy(name="whole"), keep_scores=True)
    gone = [1, 16, 17, 39]
    test_set = store.test_set("noise")
    for position in gone:
        path = tmp_path / "pictures" / store.pictures(test_set).locations[position]
        path.unlink()
    found, _ = run(store, Toy(), keep_scores=True, batch=2)
    assert sorted(found.unreadable) == gone
    rest = np.setdiff1d(np.arange(SIZE), gone)
    assert (found.classes[gone] == NO_ANSWER).all() and np.isnan(found.full_scores[gone].astype(float)).all()
    np.testing.assert_array_equal(found.classes[rest], whole.classes[rest])


def test_a_place_that_goes_while_it_runs_keeps_earlier_parts(store, tmp_path):
    def scores(batch):
        if len(model.batches) == 5:
            (tmp_path / "pictures").rename(tmp_path / "elsewhere")
        return linear(batch)

    model = Toy(scores)
    with pytest.raises(InputError, match="no longer at"):
        run(store, model, batch=4)
    assert range(0, 16) not in parts(store, model).missing()


@pytest.mark.parametrize("spoilt", [lambda p: p[::-1], lambda p: p[:-1], lambda p: p[:1] * 40])
def test_exactly_once_is_checked(store, monkeypatch, spoilt):
    real = engine.prepare_all

    def prepare_wrongly(source, recipe, positions, **options):
        return (one for one in real(source, recipe, spoilt(list(positions)), **options))

    monkeypatch.setattr(engine, "prepare_all", prepare_wrongly)
    with pytest.raises(StoreError, match="out of order: this is a defect"):
        run(store, Toy())
