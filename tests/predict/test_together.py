"""Several models in one pass: the predictions of separate runs, each image decoded once."""

import shutil
from dataclasses import replace
from functools import partial
from itertools import count

import pytest
from predicting import LARGER, PREPROCESSING, Counted, Toy, failing, linear, noisy, toys

import regrade
from benchmarks.kills import run_killed
from regrade.core import ImageSourceError, ModelError, StoreError
from regrade.executors.processes import ProcessPerThread
from regrade.models import OutOfMemory, crop_and_resize
from regrade.predict import (
    EngineOptions,
    Failure,
    PredictionInput,
    predict,
    predict_together,
    prepare,
    together,
)
from regrade.predict.engine import PredictionEngine, Share
from regrade.store import Store
from regrade.testsets import open_images

SMALL = EngineOptions(batch=4, part_size=8, keep_scores=True, keep_features=True)
SIZE = 40


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path, SIZE)


@pytest.fixture
def apart(store, tmp_path):  # noqa: ARG001
    """The same images in another workspace, for separate runs."""
    workspace = regrade.init(tmp_path / "apart")
    workspace.testsets.add("noise", tmp_path / "images", classes="cifar-10", layout="index")
    return workspace.store


@pytest.fixture
def resized(monkeypatch):
    """The preprocessing of each image that is resized."""
    calls = []

    def recorded(image, preprocessing, resizer):
        calls.append(preprocessing)
        return crop_and_resize(image, preprocessing, resizer)

    monkeypatch.setattr(prepare, "crop_and_resize", recorded)
    return calls


@pytest.fixture
def images(monkeypatch):
    """The images of the pass, which count how often one is read."""
    opened = []

    def counted(source):
        counting = Counted(open_images(source))
        counting.stamp = counting.images.stamp
        opened.append(counting)
        return counting

    monkeypatch.setattr(together, "open_images", counted)
    return opened


def stored(store, model, test_set="noise") -> dict[str, bytes]:
    folder = store.predictions.path(test_set, model)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"}


def run(store, models, options=SMALL, **given):
    return predict_together(store, models, store.test_set("noise"), options, **given)


def assert_as_apart(store, apart, names="abc", options=SMALL):
    for model in toys():
        if model.spec.name in names:
            predict(apart, model, apart.test_set("noise"), options)
            assert stored(store, model.spec.name) == stored(apart, model.spec.name)
            assert len(stored(store, model.spec.name)) == 4


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("batch", [1, 3, 4, 100])
def test_predictions_are_those_of_separate_runs(store, apart, batch, workers):
    options = replace(SMALL, batch=batch, workers=workers)
    done = run(store, toys(), options)
    assert [(pair.model, pair.examples, pair.resumed, pair.together) for pair in done.pairs] == [
        (name, SIZE, 0, 3) for name in "abc"
    ]
    assert done.failures == () and not (store.root / ".partial").exists()
    assert_as_apart(store, apart, options=options)


def test_each_image_is_read_once_and_resized_once_per_preprocessing(store, images, resized):
    run(store, toys())
    (opened,) = images
    assert opened.count == SIZE
    assert resized.count(PREPROCESSING) == resized.count(LARGER) == SIZE and len(resized) == 2 * SIZE


def test_each_model_keeps_its_own_batch_size(store, apart, monkeypatch):
    """The batch size depends on the memory that a model needs."""
    sizes = {"a": 4, "b": 3, "c": 16}
    monkeypatch.setattr(PredictionEngine, "find_batch_size", lambda engine: sizes[engine.model.spec.name])
    options, models = replace(SMALL, batch=None), toys()
    run(store, models, options)
    assert [model.batches[:3] for model in models] == [[4, 4, 4], [3, 3, 2], [8, 8, 8]]
    assert_as_apart(store, apart, options=options)


def test_models_share_the_memory(store, monkeypatch):
    from regrade.predict import engine

    seen = []
    monkeypatch.setattr(engine, "find_batch_size", lambda *_, models: seen.append(models) or 8)
    predict(store, toys()[0], store.test_set("noise"), replace(SMALL, batch=None))
    assert seen == [1]
    run(store, toys(), replace(SMALL, batch=None))
    assert seen == [1, 2, 2]


def test_progress_counts_images_and_names_the_number_of_models(store):
    calls = []
    run(store, toys(), progress=lambda what, left: calls.append((what, left)) or calls.append)
    assert calls == [("3 models on noise", SIZE)] + [4] * 10


def test_stored_predictions_are_not_computed_again(store, apart, resized):
    predict(store, toys()[2], store.test_set("noise"), SMALL)
    resized.clear()
    calls, models = [], toys()
    done = run(store, models, progress=lambda what, left: calls.append((what, left)) or (lambda _: None))
    assert [(pair.model, pair.already, pair.together) for pair in done.pairs] == [
        ("a", False, 2),
        ("b", False, 2),
        ("c", True, 1),
    ]
    assert calls == [("2 models on noise", SIZE)] and models[2].batches == []
    assert resized == [PREPROCESSING] * SIZE
    assert_as_apart(store, apart)


def test_models_resume_where_each_was_interrupted(store, apart, images, resized):
    """Parts that one model has are not computed for it again, and images that none lacks are not read."""
    names = dict(zip("abc", toys(), strict=True))
    for name, after in [("a", 3), ("c", 7)]:
        model = names[name]
        broken = failing(after, model.function, model.features)
        broken.spec, broken.preprocessing = model.spec, model.preprocessing
        with pytest.raises(ModelError, match="the plug was pulled"):
            predict(store, broken, store.test_set("noise"), SMALL)
    resized.clear()
    calls, models = [], [toys()[0], toys()[2]]
    done = run(store, models, progress=lambda what, left: calls.append((what, left)) or (lambda _: None))
    assert [(pair.model, pair.resumed) for pair in done.pairs] == [("a", 8), ("c", 24)]
    assert calls == [("2 models on noise", 32)]
    assert images[0].count == 32
    assert (resized.count(PREPROCESSING), resized.count(LARGER)) == (32, 16)
    assert [len(model.batches) for model in models] == [8, 4]
    assert_as_apart(store, apart, "ac")


def test_processes_prepare_images_for_all_models(store, apart, monkeypatch):
    from regrade.predict import engine

    monkeypatch.setattr(engine, "MIN_EXAMPLES_FOR_PROCESSES", 1)
    monkeypatch.setattr(engine, "MAX_THREADS", 1)
    started = []
    monkeypatch.setattr(
        prepare, "ProcessPerThread", lambda function: started.append(function) or ProcessPerThread(function)
    )
    run(store, toys())
    assert len(started) == 1
    monkeypatch.undo()
    assert_as_apart(store, apart)


def test_a_model_that_fails_leaves_the_pass_and_resumes(store, apart):
    models = toys()
    models[1].function = lambda batch: 1 / 0 if len(models[1].batches) > 5 else linear(batch, seed=1)
    done = run(store, models)
    assert [pair.model for pair in done.pairs] == ["a", "c"]
    (failure,) = done.failures
    assert failure.model == "b" and failure.reason.startswith("b failed on the 4 examples ")
    assert len(models[1].batches) == 6
    again = toys()
    done = run(store, again)
    assert {pair.model: pair.resumed for pair in done.pairs} == {"a": SIZE, "b": 16, "c": SIZE}
    assert [len(model.batches) for model in again] == [0, 6, 0]
    assert_as_apart(store, apart)


def test_images_for_a_model_that_failed_are_not_prepared(store, resized):
    models = toys()
    models[2].function = lambda _: 1 / 0
    run(store, models)
    assert resized.count(PREPROCESSING) == SIZE and resized.count(LARGER) < SIZE / 2


def test_the_pass_ends_when_all_models_have_failed(store, images):
    models = toys()
    for model in models:
        model.function = lambda _: 1 / 0
    done = run(store, models)
    assert done.pairs == () and [failure.model for failure in done.failures] == ["a", "b", "c"]
    assert images[0].count < SIZE / 2


def test_control_c_keeps_the_parts_of_all_models(store, apart):
    models = toys()

    def interrupted(batch):
        if len(models[1].batches) > 5:
            raise KeyboardInterrupt
        return linear(batch, seed=1)

    models[1].function = interrupted
    with pytest.raises(KeyboardInterrupt):
        run(store, models)
    done = run(store, toys())
    assert {pair.model: pair.resumed for pair in done.pairs} == {"a": 24, "b": 16, "c": 16}
    assert_as_apart(store, apart)


def test_a_run_killed_at_any_disk_write_resumes_to_the_same_bytes(store, apart):
    for model in toys():
        predict(apart, model, apart.test_set("noise"), SMALL)
    kept = []
    for at in count(0, 11):
        through = run_killed(partial(run, store, toys()), at=at, below=store.root)
        store = Store.open(store.root)
        done = run(store, toys())
        assert [pair.model for pair in done.pairs] == list("abc"), at
        kept.append([pair.resumed for pair in done.pairs])
        for name in "abc":
            assert stored(store, name) == stored(apart, name), at
            shutil.rmtree(store.predictions.path("noise", name))
        assert not (store.root / ".partial").exists(), at
        if through:
            break
    assert kept[0] == [0, 0, 0] and kept[-1] == [SIZE] * 3
    assert len({tuple(each) for each in kept}) > 3, kept


def test_a_batch_that_does_not_fit_is_halved_for_its_model_only(store):
    def sparing(batch):
        if len(batch) > 2:
            raise OutOfMemory
        return linear(batch)

    models = [Toy(sparing, name="sparing"), Toy(name="plain")]
    run(store, models, EngineOptions(batch=4, part_size=8))
    assert models[0].batches[:4] == [4, 2, 2, 2] and set(models[0].batches[1:]) == {2}
    assert set(models[1].batches) == {4}


def test_a_model_without_memory_is_one_line_with_advice(store):
    def hungry(_):
        raise OutOfMemory

    done = run(store, [Toy(hungry, name="hungry"), Toy(name="plain")], EngineOptions(batch=4))
    assert done.failures == (
        Failure(
            "hungry",
            "hungry does not fit into memory even with a batch of one: leave out --together, so that one model is in "
            "memory at a time",
        ),
    )
    with pytest.raises(ModelError, match=r"one$"):
        predict(store, Toy(hungry, name="hungry"), store.test_set("noise"), EngineOptions(batch=4))


def test_unreadable_images_are_unreadable_for_all_models(store, tmp_path):
    test_set = store.test_set("noise")
    position = test_set.ids.index("x013.png")
    (tmp_path / "images" / "3" / "x013.png").write_bytes(b"no image")
    done = run(store, toys())
    for pair in done.pairs:
        assert list(pair.unreadable) == ["x013.png"]
        assert store.predictions.read(test_set, pair.model).top1[position] == -1
    (tmp_path / "images" / "3" / "x013.png").write_bytes((tmp_path / "images" / "3" / "x003.png").read_bytes())
    done = run(store, toys(), replace(SMALL, retry_unreadable=True))
    assert [(pair.model, pair.recovered, len(pair.unreadable)) for pair in done.pairs] == [
        (name, 1, 0) for name in "abc"
    ]


def test_missing_images_end_the_pass_with_all_parts_kept(store, tmp_path, apart):
    models = toys()

    def unmounting(batch):
        if len(models[0].batches) == 3:
            (tmp_path / "images").rename(tmp_path / "elsewhere")
        return linear(batch)

    models[0].function = unmounting
    with pytest.raises(ImageSourceError, match="no longer at"):
        run(store, models, replace(SMALL, workers=1))
    (tmp_path / "elsewhere").rename(tmp_path / "images")
    done = run(store, toys())
    assert all(pair.resumed >= 8 for pair in done.pairs)
    assert_as_apart(store, apart)


def test_a_model_that_another_process_runs_is_an_error(store):
    test_set = store.test_set("noise")
    with store.partial_predictions(test_set, "b", part_size=8, plan={}).locked(), pytest.raises(StoreError):
        run(store, toys())
    assert len(run(store, toys()).pairs) == 3


def test_a_pass_must_get_every_image(store, monkeypatch):
    from regrade.predict import engine

    def without_last(*given, **options):
        *prepared, _ = real(*given, **options)
        yield from prepared

    real = engine.prepare_all
    monkeypatch.setattr(engine, "prepare_all", without_last)
    with pytest.raises(StoreError, match="out of order: this is a bug in regrade"):
        run(store, toys())
    assert store.predictions.model_names("noise") == ()


def test_ranges_of_models_may_differ(store):
    """Each model gets its own ranges, and an image that two models lack comes once."""
    test_set = store.test_set("noise")
    source = store.images.read(test_set)
    inputs = PredictionInput(test_set.ids, source, Counted(open_images(source)))
    lacking = [[range(8), range(16, 24)], [range(16, 24), range(24, 32)], []]
    engines = [PredictionEngine(model, SMALL) for model in toys()]
    shares = [Share(engine, ranges, 3) for engine, ranges in zip(engines, lacking, strict=True)]
    advances = []
    outcomes = list(PredictionEngine.together(shares, inputs, progress=advances.append))
    assert [(model, part.start, len(part)) for model, part in outcomes] == [
        (0, 0, 8), (0, 16, 8), (1, 16, 8), (1, 24, 8)
    ]  # fmt: skip
    assert inputs.images.count == sum(advances) == 24
