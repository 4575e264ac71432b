"""Predicting and storing, compared with a plain torch loop, the bare model, and several models one after another."""

from __future__ import annotations

import io
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageFilter

import regrade
from benchmarks.measure import command
from benchmarks.result import Result, verify
from regrade.models import Settings, export_to_onnx, load_model, preprocess
from regrade.testsets import decode

MODEL = "lite:efficientnet_lite0"
IMAGES, PLAIN, BARE = 2_000, 192, 640
BATCH = 32
FEW, MANY = 1_000, 100_000
LITE = [f"lite:efficientnet_lite{number}" for number in range(3)]
SHARED, ROUNDS = 300, 3  # images for several models

TINY = """
import numpy as np
from regrade.classes import class_space
from regrade.core import Preprocessing

WEIGHTS = np.random.default_rng(0).normal(size=(3 * 32 * 32, 10)).astype(np.float32)

def scores(batch):
    return batch.reshape(len(batch), -1) @ WEIGHTS

scores.class_space, scores.preprocessing = class_space("cifar-10"), Preprocessing(32, 32)
"""

SEVERAL = """
import numpy as np
from regrade.classes import class_space
from regrade.core import Preprocessing

def model(seed):
    weights = np.random.default_rng(seed).normal(size=(3 * 32 * 32, 10)).astype(np.float32)
    def scores(batch):
        return batch[:, :, ::7, ::7].reshape(len(batch), -1) @ weights
    scores.class_space, scores.preprocessing = class_space("cifar-10"), Preprocessing(224, 256)
    return scores

first, second, third = model(0), model(1), model(2)
"""


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        images = Path(folder) / "images"
        make_images(images)
        plain_top1, plain = plain_loop(sorted(images.iterdir())[:PLAIN])
        bare = bare_model()
        workspace = regrade.init(Path(folder) / "W")
        workspace.testsets.add("made-up", images, classes="imagenet-1k", layout="flat")
        pair = workspace.predict([MODEL], test_sets=["made-up"], batch=BATCH).pairs[0]
        ours = pair.seconds / IMAGES
        test_set = workspace.store.test_set("made-up")
        top1 = workspace.store.predictions.read(test_set, MODEL).top1[:PLAIN]
        verify(float((top1 == plain_top1).mean()) >= 0.999, f"top-1 agrees with the plain loop on {PLAIN} images")
        case = f"{IMAGES:,} JPEGs of 500 x 375, {MODEL}, {pair.runtime}"
        plain_name = f"torch eager, DataLoader, Pillow, {PLAIN} images"
        yield Result("predict", case, "ms a image", 1e3 * ours, 1e3 * plain, plain_name, aim_ratio=2.5)
        bare_name = f"onnxruntime alone, fed from memory, {BARE} images"
        yield Result("predict", case, "ms a image", 1e3 * ours, 1e3 * bare, bare_name, aim_ratio=0.85)
        yield from together(Path(folder), sorted(images.iterdir())[:SHARED])
        few, many = (peak_memory(Path(folder), size) for size in (FEW, MANY))
        case, few_name = f"peak memory, {MANY:,} images", f"the same with {FEW:,} images"
        yield Result("predict", case, "GB", many, few, few_name, aim_ratio=0.95)


def together(folder: Path, files: list[Path]) -> Iterator[Result]:
    """Three models that decode each image once, compared with the same models one after another."""
    images, module = folder / "shared", folder / "several.py"
    images.mkdir()
    for file in files:
        (images / file.name).hardlink_to(file)
    module.write_text(SEVERAL)
    small = [f"python:{module}:{name}" for name in ("first", "second", "third")]
    for what, models, classes, aim in [
        ("small functions of equal preprocessing", small, "cifar-10", 2.0),
        ("efficientnet_lite0, 1 and 2, each with its own preprocessing", LITE, "imagenet-1k", 1.0),
    ]:
        seconds, stored = {True: float("inf"), False: float("inf")}, {}
        for number, shared in enumerate([True, False] * ROUNDS):
            workspace = regrade.init(folder / f"{classes}-{number}")
            workspace.testsets.add("shared", images, classes=classes, layout="flat")
            pairs = workspace.predict(models, test_sets=["shared"], batch=BATCH, device="cpu", together=shared).pairs
            seconds[shared] = min(seconds[shared], pairs[0].seconds if shared else sum(pair.seconds for pair in pairs))
            stored[shared] = [workspace.store.predictions.manifest("shared", pair.model).digest for pair in pairs]
        verify(stored[True] == stored[False], f"the same predictions bit for bit, together or not: {what}")
        case = f"{len(files):,} JPEGs of 500 x 375, three models together: {what}"
        ours, apart = (1e3 * seconds[shared] / len(files) for shared in (True, False))
        yield Result("predict", case, "ms a image", ours, apart, "one model after another", aim_ratio=aim)


def make_images(folder: Path) -> None:
    """Write JPEGs of blurred noise, with about the detail and the size of photographs."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(IMAGES):
        noise = Image.fromarray(rng.integers(0, 256, (375, 500, 3), dtype=np.uint8))
        noise.filter(ImageFilter.GaussianBlur(2)).save(folder / f"{number:05d}.jpg", quality=90)


def peak_memory(folder: Path, size: int) -> float:
    """Peak memory in GB of a command that predicts ``size`` small JPEGs with a small function."""
    images, workspace, model = folder / f"small-{size}", folder / f"W-{size}", folder / "tiny.py"
    model.write_text(TINY)
    images.mkdir()
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(buffer, "JPEG")
    for number in range(size):
        (images / f"{number:08d}.jpg").write_bytes(buffer.getvalue())
    regrade.init(workspace).testsets.add("small", images, classes="cifar-10", layout="flat")
    executable = Path(sys.executable).with_name("regrade")
    return command([executable, "predict", f"python:{model}:scores", "-t", "small", "-w", workspace]).gigabytes


def plain_loop(files: list[Path]) -> tuple[np.ndarray, float]:
    """A short script: torch, a DataLoader with two workers, Pillow."""
    model = load_model(MODEL, Settings())

    class Images(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(files)

        def __getitem__(self, position: int) -> torch.Tensor:
            return torch.from_numpy(preprocess(decode(files[position].read_bytes()), model.preprocessing))

    start = time.perf_counter()
    loader = torch.utils.data.DataLoader(Images(), batch_size=BATCH, num_workers=2)
    top1 = [model.scores(batch.numpy()).argmax(axis=1) for batch in loader]
    return np.concatenate(top1), (time.perf_counter() - start) / len(files)


def bare_model() -> float:
    """Seconds per image of the same exported model with inputs already in memory."""
    batch = np.random.default_rng(0).normal(size=(BATCH, 3, 224, 224)).astype(np.float32)
    model = export_to_onnx(load_model(MODEL, Settings()), batch).model
    if model is None:
        raise SystemExit("the model cannot be exported: no bare model to compare with")
    model.scores(batch)
    start = time.perf_counter()
    for _ in range(BARE // BATCH):
        model.scores(batch)
    return (time.perf_counter() - start) / BARE
