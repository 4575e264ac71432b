"""Predicting 30,000 JPEGs on a GPU and storing the predictions, compared with the loop of timm and the model alone."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

import regrade
from benchmarks.result import Result
from regrade.classes import imagenet_1k
from regrade.core import Preprocessing
from regrade.models import Device, Precision, Resizer, Settings, load_model
from regrade.predict.captured import CapturedFunction

IMAGES, AGREEING = 30_000, 3_000
BATCH = 256
PREPROCESSING = Preprocessing(224, 256)
_PHOTOS = "REGRADE_PHOTOS"  # a folder of photographs, of which the JPEGs are made
_BARE = 20  # batches

NETWORKS = """
import timm

def resnet50():
    return timm.create_model("resnet50")

def vit_base():
    return timm.create_model("vit_base_patch16_224")
"""


def run() -> Iterator[Result]:
    """Random weights, whose speed is that of trained ones; agreement with the CPU on efficientnet_lite0."""
    photos = sorted(Path(os.environ.get(_PHOTOS, "")).glob("*.jpg")) if os.environ.get(_PHOTOS) else []
    if not photos:
        print(f"  skipped: {_PHOTOS} names no folder of photographs (*.jpg)")
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_images(folder / "images", photos)
        (folder / "networks.py").write_text(NETWORKS)
        workspace = regrade.init(folder / "W")
        workspace.testsets.add("photos", folder / "images", classes="imagenet-1k", layout="index")
        for network in ("resnet50", "vit_base"):
            name = f"torch:{folder / 'networks.py'}:{network}"
            pair = predicted(workspace, name)
            case = f"predict, {IMAGES:,} JPEGs of 500 x 375, {network}, {pair.runtime}"
            ours = 1e3 * pair.seconds / IMAGES
            alone = 1e3 * bare_model(name, network)
            limit = 0.9 if network == "vit_base" else None  # decoding is slower than the other model
            yield Result("gpu", case, "ms an image", ours, alone, "the model alone", aim_ratio=limit)
            print(f"  {network}: {IMAGES / pair.seconds:,.0f} images/s from files to stored predictions", flush=True)
            if network == "resnet50":
                by_timm = 1e3 * timm_loop(folder / "images", network)
                yield Result(
                    "gpu", case, "ms an image", ours, by_timm, "timm, amp, channels_last, 16 workers", aim_ratio=4
                )
                yield Result("gpu", case, "ms an image", ours, aim_most=1e3 / 12_000)
        yield disagreement(workspace, folder)


def predicted(workspace: Any, name: str) -> Any:
    """The second of two runs: the first one compiles the kernels."""
    for _ in range(2):
        run = workspace.predict([name], test_sets=["photos"], classes="imagenet-1k", preprocessing=PREPROCESSING)
        workspace.models.remove(run.pairs[0].model)
    return run.pairs[0]


def disagreement(workspace: Any, folder: Path) -> Result:
    """How many top classes of a trained model change from the CPU to the GPU, and from one resizer to another."""
    few = folder / "few"
    for path in sorted((folder / "images").glob("*/*.jpg"))[:AGREEING]:
        (few / path.parent.name).mkdir(parents=True, exist_ok=True)
        (few / path.parent.name / path.name).hardlink_to(path)
    workspace.testsets.add("few", few, classes="imagenet-1k", layout="index")
    ways = {"device": Device.CPU}, {"device": Device.CUDA}, {"device": Device.CPU, "resizer": Resizer.PILLOW}
    top1 = []
    for way in ways:
        pair = workspace.predict(["lite:efficientnet_lite0"], test_sets=["few"], **way).pairs[0]
        top1.append(np.array(workspace.store.predictions.read(workspace.store.test_set("few"), pair.model).top1))
        workspace.models.remove(pair.model)
    by_gpu, by_pillow = (100 * float((top1[0] != changed).mean()) for changed in top1[1:])
    case = f"predict, top classes of efficientnet_lite0 on {AGREEING:,} images that are not those of the CPU"
    return Result("gpu", case, "%", by_gpu, by_pillow, "the CPU with its other resizer", aim_most=0.1)


def make_images(folder: Path, photos: list[Path]) -> None:
    """JPEGs of 500 x 375, random parts of photographs, in one folder per class."""
    for label in range(1000):
        (folder / str(label)).mkdir(parents=True)
    with ProcessPoolExecutor() as pool:
        list(pool.map(partial(_make, folder, photos), range(IMAGES), chunksize=250))


def _make(folder: Path, photos: list[Path], number: int) -> None:
    rng = np.random.default_rng(number)
    with Image.open(photos[number % len(photos)]) as photo:
        scale = rng.uniform(0.55, 1) * min(photo.width / 500, photo.height / 375)
        width, height = 500 * scale, 375 * scale
        left, top = rng.uniform(0, photo.width - width), rng.uniform(0, photo.height - height)
        box = (left, top, left + width, top + height)
        part = photo.convert("RGB").resize((500, 375), Image.Resampling.BICUBIC, box)
    part.save(folder / str(number % 1000) / f"{number:06d}.jpg", quality=95)


def bare_model(name: str, network: str) -> float:
    """Seconds per image of the same model on a batch that is on the GPU, as a CUDA graph."""
    settings = Settings(imagenet_1k(), PREPROCESSING, Device.CUDA, Precision.FP16)
    model: Any = load_model(name, replace(settings, compile=False))
    images = torch.zeros((BATCH, 3, 224, 224), dtype=torch.half, device="cuda").to(memory_format=torch.channels_last)
    call = CapturedFunction(lambda batch: {"scores": model.outputs_on_device(batch, features=False)[0]})
    for _ in range(4):
        call(images)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(_BARE):
        call(images)
    torch.cuda.synchronize()
    per_image = (time.perf_counter() - start) / (_BARE * BATCH)
    print(f"  {network} alone: {1 / per_image:,.0f} images/s")
    return per_image


def timm_loop(folder: Path, network: str) -> float:
    """Seconds per image of timm's loader and a model under autocast, as its validation script runs them."""
    timm, data = import_module("timm"), import_module("timm.data")
    model = timm.create_model(network).eval().cuda().to(memory_format=torch.channels_last)
    loader = data.create_loader(
        data.create_dataset("", root=str(folder)), input_size=(3, 224, 224), batch_size=BATCH, is_training=False,
        interpolation="bilinear", num_workers=16, crop_pct=0.875, pin_memory=True,
    )  # fmt: skip
    start, right = time.perf_counter(), 0
    with torch.inference_mode():
        for images, labels in loader:
            with torch.autocast("cuda", dtype=torch.half):
                scores = model(images.contiguous(memory_format=torch.channels_last))
            right += int((scores.argmax(dim=1) == labels).sum())
    return (time.perf_counter() - start) / IMAGES
