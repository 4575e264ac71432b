"""The engine for a GPU gives the predictions of the engine for the CPU; here Pillow and the CPU replace the GPU."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gpu_on_cpu import decoded_by_pillow, model, photographs, small_network

import regrade
from regrade.core import ImageSourceError, MissingExtra, ModelError
from regrade.models import Resizer, gpu_images
from regrade.predict import EngineOptions, PredictionEngine, PredictionInput, gpu_engine, gpu_loading, predict
from regrade.predict.gpu_engine import GpuEngine, top_outputs
from regrade.testsets import open_images

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

COUNT = 14


@pytest.fixture(autouse=True)
def decoder(monkeypatch):
    monkeypatch.setattr(gpu_images, "jpeg_decoder", lambda: decoded_by_pillow)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return photographs(tmp_path_factory.mktemp("images"), COUNT)


@pytest.fixture
def store(folder, tmp_path):
    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("photos", folder, classes="cifar-10", layout="index")
    return workspace.store


def prediction_input(store):
    test_set = store.test_set("photos")
    source = store.images.read(test_set)
    return PredictionInput(test_set.ids, source, open_images(source))


def run(engine, store, *, batch=4, part=8, advances=None):
    ranges = [range(start, min(start + part, COUNT)) for start in range(0, COUNT, part)]
    progress = ([] if advances is None else advances).append
    return list(engine.parts(prediction_input(store), ranges, batch=batch, progress=progress))


def on_gpu(chosen, **options):
    return GpuEngine(chosen, EngineOptions(resizer=Resizer.GPU, **options))


@pytest.mark.parametrize("batch", [1, 4, 100])
def test_predictions_are_those_of_the_cpu(store, batch):
    kept = {"keep_scores": True, "keep_features": True}
    advances = []
    given = run(on_gpu(model(), **kept), store, batch=batch, advances=advances)
    expected = run(PredictionEngine(model(), EngineOptions(**kept)), store)
    assert sum(advances) == COUNT
    for given_part, expected_part in zip(given, expected, strict=True):
        np.testing.assert_array_equal(given_part.classes, expected_part.classes)
        np.testing.assert_allclose(given_part.scores, expected_part.scores, atol=2e-3)  # a gray level
        np.testing.assert_allclose(given_part.full_scores, expected_part.full_scores, atol=3e-3)
        np.testing.assert_allclose(given_part.features, expected_part.features, atol=3e-3)
        np.testing.assert_array_equal(given_part.fingerprints, expected_part.fingerprints)
        assert given_part.unreadable == expected_part.unreadable
    ids = store.test_set("photos").ids
    assert [ids[position] for part in given for position in part.unreadable] == ["x005.jpg"]


def test_a_whole_run_is_stored(store):
    ran = predict(store, model(), store.test_set("photos"), EngineOptions(batch=5))
    on_cpu = store.predictions.read(store.test_set("photos"), "net")
    assert len(ran.unreadable) == 1
    assert on_cpu.top1[3] >= 0


@pytest.mark.parametrize("workers", [1, 6])
def test_processes_read_the_images_of_long_runs(store, monkeypatch, workers):
    monkeypatch.setattr(gpu_loading, "MIN_EXAMPLES_FOR_PROCESSES", 10)
    given = run(on_gpu(model(), workers=workers), store)
    for given_part, expected_part in zip(given, run(PredictionEngine(model(), EngineOptions()), store), strict=True):
        np.testing.assert_array_equal(given_part.classes, expected_part.classes)
        np.testing.assert_array_equal(given_part.fingerprints, expected_part.fingerprints)


def test_images_that_do_not_fit_into_the_shared_memory_come_through_a_pipe(store, monkeypatch):
    monkeypatch.setattr(gpu_loading, "_BYTES_PER_IMAGE", 10)
    expected = run(PredictionEngine(model(), EngineOptions()), store)
    for given_part, expected_part in zip(run(on_gpu(model()), store), expected, strict=True):
        np.testing.assert_array_equal(given_part.classes, expected_part.classes)


def test_without_a_decoder_images_are_prepared_on_the_cpu(store, monkeypatch):
    def missing():
        raise MissingExtra("decoding on the GPU", "cuda")

    monkeypatch.setattr(gpu_images, "jpeg_decoder", missing)
    monkeypatch.setattr(gpu_engine, "gpu_decoder", lambda: None)
    engine = GpuEngine(model(), EngineOptions(resizer=None))
    assert engine.resizer is Resizer.TORCH
    expected = run(PredictionEngine(model(), EngineOptions(resizer=Resizer.TORCH)), store)
    for given_part, expected_part in zip(run(engine, store), expected, strict=True):
        np.testing.assert_array_equal(given_part.classes, expected_part.classes)
        np.testing.assert_allclose(given_part.scores, expected_part.scores, atol=1e-5)
    with pytest.raises(MissingExtra, match="cuda"):
        run(on_gpu(model()), store)


def test_the_decoder_is_warmed_up_once(store, monkeypatch):
    calls = []
    monkeypatch.setattr(gpu_loading, "warm_up", lambda: calls.append(1))
    run(on_gpu(model()), store, batch=4)
    assert calls == [1]  # once more per batch would make the decoder wait for the model


def test_a_decoder_that_fails_is_one_line(store, monkeypatch):
    def broken():
        raise RuntimeError("driver too old\nmore")

    monkeypatch.setattr(gpu_images, "jpeg_decoder", broken)
    with pytest.raises(ModelError, match=r"prepared on the GPU \(RuntimeError: driver too old\): give --resizer"):
        run(on_gpu(model()), store)


def test_the_note_says_why_a_model_is_launched_kernel_by_kernel():
    engine = on_gpu(model())
    assert engine.note == ""
    engine._captured.reason = "it waits"
    assert engine.note == "launched kernel by kernel: it waits"


class Sparing(torch.nn.Module):
    """A module that has no memory for more than a number of images."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.inner, self.most, self.batches = small_network(), most, []

    def forward(self, images):
        self.batches.append(len(images))
        if len(images) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self.inner(images)


def test_a_batch_that_does_not_fit_is_computed_in_pieces_and_later_ones_too(store):
    sparing = Sparing(2)
    given = run(on_gpu(model(sparing)), store, batch=8)
    for given_part, expected_part in zip(given, run(PredictionEngine(model(), EngineOptions()), store), strict=True):
        np.testing.assert_array_equal(given_part.classes, expected_part.classes)
    assert sparing.batches[:4] == [8, 4, 2, 2] and set(sparing.batches[3:]) == {2}


def test_a_single_image_that_does_not_fit_is_an_error(store):
    with pytest.raises(ModelError, match="net does not fit into memory even with a batch of one"):
        run(on_gpu(model(Sparing(0))), store, batch=4)


def test_memory_that_is_missing_while_images_are_loaded_is_one_line(store, monkeypatch):
    """It is tried again once, after the memory is freed."""
    tried = []

    def load(*_):
        tried.append(1)
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(gpu_images.GpuImageLoader, "load", load)
    with pytest.raises(ModelError, match=r"batch of 4 images does not fit .* run the same command again"):
        run(on_gpu(model()), store, batch=4)
    assert len(tried) >= 2


class Returning(torch.nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, images):
        return self.function(images)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.mean((2, 3)), r"float32 of shape \(4, 3\): expected .* shape \(4, 10\).*the 4 examples 'x0"),
        (lambda x: torch.full((len(x), 10), torch.nan), "not finite for example 'x"),
        (lambda _: None, "expected one tensor"),
        (lambda _: 1 / 0, "net failed on .*ZeroDivisionError"),
    ],
)
def test_errors_of_a_model_are_one_line_with_model_and_examples(store, function, message):
    with pytest.raises(ModelError, match=message):
        run(on_gpu(model(Returning(function))), store)


def test_threads_of_a_cluster_launch_one_batch_at_a_time(store):
    """A captured model writes to the same tensors every time, so they must be copied before the next launch."""
    engine, buffer = GpuEngine(model(), EngineOptions(resizer=Resizer.TORCH)), {}  # Triton in Python has no threads

    def captured(images):
        for name, tensor in engine._of_images(images).items():
            buffer.setdefault(name, torch.empty_like(tensor)).copy_(tensor)
            time.sleep(0.01)
        return {name: Copied(tensor) for name, tensor in buffer.items()}

    class Copied:
        def __init__(self, tensor):
            self.tensor = tensor

        def __getitem__(self, rows):
            return Copied(self.tensor[rows])

        def to(self, *_, **__):
            return self.tensor.clone()

    def task(positions):
        (part,) = engine.parts(prediction_input(store), [positions], batch=2, progress=lambda _: None)
        return part.scores

    tasks = range(7), range(7, COUNT)
    expected = [task(positions) for positions in tasks]
    engine._captured = captured
    with ThreadPoolExecutor(2) as threads:
        for scores, alone in zip(threads.map(task, tasks), expected, strict=True):
            np.testing.assert_array_equal(scores, alone)


def test_earlier_parts_are_kept_when_a_model_fails(store):
    calls = []

    def failing(images):
        calls.append(1)
        if len(calls) > 3:
            raise RuntimeError("the plug was pulled")
        return small_network()(images)

    engine, parts = on_gpu(model(Returning(failing))), []
    ranges = [range(0, 4), range(4, 8), range(8, COUNT)]
    with pytest.raises(ModelError, match="the plug was pulled"):
        for part in engine.parts(prediction_input(store), ranges, batch=4, progress=lambda _: None):
            parts.append(part)
    assert len(parts) >= 1


def test_missing_folder_of_images_is_an_error(folder, tmp_path):
    own = shutil.copytree(folder, tmp_path / "own")
    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("photos", own, classes="cifar-10", layout="index")
    shutil.rmtree(own)
    with pytest.raises(ImageSourceError, match="does not exist any more"):
        run(on_gpu(model()), workspace.store)


def test_top_outputs_by_hand():
    """The lower class of equal scores comes first; which classes tie for the last place is told by bits."""
    scores = torch.tensor(
        [[1.0, 3, 3, 0, 1, 1, 0, 0, 1], [9, 8, 7, 6, 5, 4, 3, 2, 1], [-0.0, 0, 5, 4, -1, -2, -3, -4, -5]]
    )
    outputs = top_outputs(scores, 3)
    assert outputs["classes"].tolist() == [[1, 2, 0], [0, 1, 2], [2, 3, 0]]
    assert outputs["top_scores"].tolist() == [[3, 3, 1], [9, 8, 7], [5, 4, 0]]
    assert outputs["tied"].tolist() == [True, False, True]
    assert outputs["bits"][0].tolist() == [0b10001100, 0b10000000]
    assert outputs["bits"][2].tolist() == [0b11000000, 0]


def test_ties_are_those_of_the_cpu(store):
    def same(images):
        return torch.zeros((len(images), 10)) + (torch.arange(10) < 2)

    class Flat(torch.nn.Module):
        def forward(self, images):
            return same(images)

    given = run(on_gpu(model(Flat())), store)
    expected = run(PredictionEngine(model(Flat()), EngineOptions()), store)
    for given_part, expected_part in zip(given, expected, strict=True):
        np.testing.assert_array_equal(given_part.ties.rows, expected_part.ties.rows)
        np.testing.assert_array_equal(given_part.ties.bits, expected_part.ties.bits)
