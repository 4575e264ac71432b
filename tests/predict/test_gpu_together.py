"""Several models on a GPU in one pass: each JPEG is decoded once; here Pillow and the CPU replace the GPU."""

from dataclasses import replace

import numpy as np
import pytest
from gpu_on_cpu import PREPROCESSING, decoded_by_pillow, model, photographs, small_network
from predicting import Toy

import regrade
from regrade.core import Interpolation, ModelError, Preprocessing, StoreError
from regrade.models import Precision, Resizer, gpu_images
from regrade.models.torch_runtime import TorchModel
from regrade.predict import EngineOptions, PredictionEngine, PredictionInput, gpu_loading, predict_together, predictor
from regrade.predict.engine import Share
from regrade.predict.gpu_engine import GpuEngine
from regrade.testsets import open_images

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

COUNT = 14
OPTIONS = EngineOptions(resizer=Resizer.GPU, keep_scores=True, models=3)
PARTS = [range(8), range(8, COUNT)]


@pytest.fixture(autouse=True)
def decoded(monkeypatch):
    """Number of JPEGs in each call of the decoder."""
    counts = []

    def decode(files):
        counts.append(len(files))
        return decoded_by_pillow(files)

    monkeypatch.setattr(gpu_images, "jpeg_decoder", lambda: decode)
    monkeypatch.setattr(gpu_loading, "warm_up", lambda: None)
    return counts


@pytest.fixture
def inputs(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("photos", photographs(tmp_path / "images", COUNT), classes="cifar-10", layout="index")
    test_set = workspace.store.test_set("photos")
    source = workspace.store.images.read(test_set)
    return PredictionInput(test_set.ids, source, open_images(source))


def models():
    """Two models of equal preprocessing, one of another, and one that the GPU cannot prepare images for."""
    return [
        model(small_network(0), "a"),
        model(small_network(1), "b"),
        model(small_network(2), "c", Preprocessing(6, 8)),
        model(small_network(3), "d", Preprocessing(8, 9, interpolation=Interpolation.NEAREST)),
    ]


def run(inputs, chosen, *, batch=4, lacking=None, options=OPTIONS):
    """The parts or the error of each model."""
    lacking = lacking or [PARTS] * len(chosen)
    engines = [GpuEngine(each, options) for each in chosen]
    shares = [Share(engine, ranges, batch) for engine, ranges in zip(engines, lacking, strict=True)]
    outcomes = {each.spec.name: [] for each in chosen}
    for number, outcome in GpuEngine.together(shares, inputs, progress=lambda _: None):
        outcomes[chosen[number].spec.name].append(outcome)
    return outcomes


def assert_same(given, expected):
    assert len(given) == len(expected)
    for part, same in zip(given, expected, strict=True):
        assert part.start == same.start and part.unreadable == same.unreadable
        np.testing.assert_array_equal(part.classes, same.classes)
        np.testing.assert_array_equal(part.full_scores, same.full_scores)
        np.testing.assert_array_equal(part.fingerprints, same.fingerprints)


@pytest.mark.parametrize(("batch", "workers"), [(3, 2), (100, 6)])
def test_predictions_are_those_of_separate_runs(inputs, monkeypatch, batch, workers):
    monkeypatch.setattr(gpu_loading, "MIN_EXAMPLES_FOR_PROCESSES", 10)
    options = EngineOptions(resizer=Resizer.GPU, keep_scores=True, workers=workers)
    outcomes = run(inputs, models(), batch=batch, options=options)
    alone = GpuEngine(models()[1], OPTIONS).parts(inputs, PARTS, batch=batch, progress=lambda _: None)
    assert_same(outcomes["b"], list(alone))
    for each in models():
        on_cpu = PredictionEngine(each, EngineOptions(keep_scores=True, resizer=Resizer.TORCH))
        expected = on_cpu.parts(inputs, PARTS, batch=4, progress=lambda _: None)
        for part, same in zip(outcomes[each.spec.name], expected, strict=True):
            np.testing.assert_array_equal(part.classes, same.classes)
            np.testing.assert_allclose(part.full_scores, same.full_scores, atol=3e-3)


def test_each_jpeg_is_decoded_once(inputs, decoded):
    run(inputs, models())
    assert sum(decoded) == COUNT - 2  # a PNG, and no image


def test_images_are_resized_once_per_preprocessing(inputs, monkeypatch):
    loaded = []
    real = gpu_images.GpuImageLoader.load

    def load(loader, images, rows, target):
        loaded.append(tuple(target.shape[1:3]))
        return real(loader, images, rows, target)

    monkeypatch.setattr(gpu_images.GpuImageLoader, "load", load)
    run(inputs, models(), batch=8)
    assert sorted(loaded) == [(6, 6)] * 2 + [(8, 8)] * 2


def test_no_jpeg_is_decoded_for_models_that_have_the_part(inputs, decoded):
    outcomes = run(inputs, models()[:2], batch=8, lacking=[PARTS[1:], []])
    assert [part.start for part in outcomes["a"]] == [8] and outcomes["b"] == []
    assert decoded == [COUNT - 8 - 1]  # one is no image


@pytest.mark.parametrize("spoilt", [lambda batches: batches[:-1], lambda batches: batches[1:], lambda _: []])
def test_a_pass_must_get_every_image(inputs, monkeypatch, spoilt):
    real = gpu_loading.BatchLoader.__iter__
    monkeypatch.setattr(gpu_loading.BatchLoader, "__iter__", lambda loader: iter(spoilt(list(real(loader)))))
    monkeypatch.setattr(gpu_loading, "_READY", 10)
    with pytest.raises(StoreError, match="out of order: this is a bug in regrade"):
        run(inputs, models()[:2], batch=8)


class InPlace(torch.nn.Module):
    """A module that changes its input."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = small_network(4)

    def forward(self, images):
        return self.inner(images.mul_(0).add_(1))


def test_a_module_that_changes_its_input_does_not_affect_others(inputs):
    changing, plain = model(InPlace(), "changing"), model(small_network(0), "a")
    changing._layout = torch.channels_last  # as on a GPU, where inputs are not copied
    outcomes = run(inputs, [changing, plain])
    alone = GpuEngine(model(small_network(0), "a"), OPTIONS)
    assert_same(outcomes["a"], list(alone.parts(inputs, PARTS, batch=4, progress=lambda _: None)))


class Failing(torch.nn.Module):
    def forward(self, images):  # noqa: ARG002
        raise RuntimeError("no such layer")


def test_a_model_that_fails_leaves_the_pass(inputs):
    outcomes = run(inputs, [model(Failing(), "failing"), model(small_network(2), "c", Preprocessing(6, 8))])
    (error,) = outcomes["failing"]
    assert "failing failed on" in str(error) and "no such layer (the 4 examples 'x000.jpg' to" in str(error)
    alone = GpuEngine(models()[2], OPTIONS).parts(inputs, PARTS, batch=4, progress=lambda _: None)
    assert_same(outcomes["c"], list(alone))


def test_memory_that_is_missing_is_one_line_with_advice(inputs, monkeypatch):
    def load(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(gpu_images.GpuImageLoader, "load", load)
    with pytest.raises(ModelError, match=r"GPU: leave out --together, .* run the same command again"):
        run(inputs, models())


class Sparing(torch.nn.Module):
    """A module that has no memory for a single image."""

    def forward(self, images):  # noqa: ARG002
        raise torch.OutOfMemoryError("CUDA out of memory")


def test_a_model_without_memory_is_one_line_with_advice(inputs):
    outcomes = run(inputs, [model(Sparing(), "large"), model(small_network(0), "a")])
    (error,) = outcomes["large"]
    assert str(error).startswith("large does not fit into memory even with a batch of one: leave out --together")
    assert len(outcomes["a"]) == 2


def test_all_models_use_the_smallest_batch(inputs):
    seen = []

    class Recording(torch.nn.Module):
        def forward(self, images):
            seen.append(len(images))
            return small_network()(images)

    shares = [
        Share(GpuEngine(model(Recording(), "recording"), OPTIONS), PARTS, 8),
        Share(GpuEngine(model(small_network(0), "a"), OPTIONS), PARTS, 4),
    ]
    assert len(list(GpuEngine.together(shares, inputs, progress=lambda _: None))) == 4
    assert set(seen) == {4}


def test_inputs_of_other_numbers_are_apart():
    """Equal preprocessing in another precision is another kind of input."""
    half = model(small_network(0), "half")
    half = half.with_settings(replace(half.settings, precision=Precision.FP16))
    kinds = {GpuEngine(each, OPTIONS).input_kind for each in (model(), model(), half)}
    assert len(kinds) == 2 and {kind.preprocessing for kind in kinds} == {PREPROCESSING}


def test_models_on_the_gpu_and_on_the_cpu_make_a_pass_of_their_own(tmp_path, monkeypatch):
    def engine_for(chosen, options):
        on_gpu = isinstance(chosen, TorchModel)
        resizer = Resizer.GPU if on_gpu else Resizer.TORCH
        return (GpuEngine if on_gpu else PredictionEngine)(chosen, replace(options, resizer=resizer))

    monkeypatch.setattr(predictor, "engine_for", engine_for)
    monkeypatch.setattr(predictor, "choose_runtime", lambda chosen, *_: predictor.RuntimeChoice(chosen))
    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("photos", photographs(tmp_path / "images", COUNT), classes="cifar-10", layout="index")
    calls = []
    done = predict_together(
        workspace.store,
        [model(small_network(0), "a"), Toy(name="toy"), model(small_network(1), "b")],
        workspace.store.test_set("photos"),
        EngineOptions(batch=4, part_size=8),
        progress=lambda what, left: calls.append((what, left)) or (lambda _: None),
    )
    assert calls == [("2 models on photos", COUNT), ("toy on photos", COUNT)]
    assert [(pair.model, "nvimgcodec" in pair.runtime or "GPU" in pair.runtime) for pair in done.pairs] == [
        ("a", True), ("toy", False), ("b", True)
    ]  # fmt: skip
    assert [pair.together for pair in done.pairs] == [2, 1, 2]
    assert done.failures == ()
