"""The files of the survey of imports: the tools that write them, and the test set that they belong to."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

import datasets
import lightning
import numpy as np
import pandas as pd
import torch
from PIL import Image
from sklearn.neighbors import KNeighborsClassifier
from timm import create_model
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessorPil, pipeline
from transformers.trainer_utils import PredictionOutput

import regrade
from regrade.classes import class_space

SPACE = class_space("imagenet-1k")
IMAGES, CORRECT, ACCURACY = 24, 18, "top-1 accuracy 75.0 % of 24 labeled images"


@dataclass(frozen=True)
class Case:
    """A file: the tool that writes it, with which options, and the flags of the import that its first error names."""

    tool: str
    options: str
    make: Callable[[Path], Path]
    flags: tuple[str, ...] = ()
    refused: str = ""
    """What the error must say if the file contains no predictions."""
    untrained: bool = False
    """Whether the predictions are those of another model than the one that predicts 18 of 24 correctly."""


@dataclass(frozen=True)
class World:
    """A test set of 24 images in class folders, and scores (24, 1000) of which 18 are correct, in its order."""

    folder: Path
    ids: list[str]
    labels: np.ndarray[Any, Any]
    logits: np.ndarray[Any, Any]

    @property
    def probabilities(self) -> np.ndarray[Any, Any]:
        exponents = np.exp(self.logits.astype(np.float64))
        return exponents / exponents.sum(axis=1, keepdims=True)

    @property
    def frame(self) -> pd.DataFrame:
        top = np.argsort(-self.logits, axis=1)[:, :5]
        best = np.take_along_axis(self.probabilities, top, axis=1)
        columns = {"image": self.ids, "prediction": list(top), "scores": list(best)}
        return pd.DataFrame(columns)


def make_world(folder: Path, timm: Path) -> World:
    """Images in class folders, such that the small timm model of the survey predicts 18 of 24 correctly."""
    torch.manual_seed(0)
    torch.save(create_model("test_vit", num_classes=1000).state_dict(), folder / "weights.pth")
    draws = np.random.default_rng(0)
    (folder / "flat" / "images").mkdir(parents=True)
    for i in range(IMAGES):
        pixels = draws.integers(0, 255, (160, 160, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "flat" / "images" / f"val_{i:05d}.JPEG")
    inference(timm, folder, "flat", "--label-type", "name")
    predicted = pd.read_csv(folder / "out" / "m.csv").sort_values("filename")["label"].tolist()
    wnids = [wnid if i < CORRECT else SPACE.ids[i] for i, wnid in enumerate(predicted)]
    for i, wnid in enumerate(wnids):
        (folder / "val" / wnid).mkdir(parents=True, exist_ok=True)
        (folder / "flat" / "images" / f"val_{i:05d}.JPEG").rename(folder / "val" / wnid / f"val_{i:05d}.JPEG")
    ids = [f"{wnid}/val_{i:05d}.JPEG" for i, wnid in enumerate(wnids)]
    labels = np.array([SPACE.index(wnid) for wnid in wnids])
    logits = draws.normal(size=(IMAGES, 1000)).astype(np.float32)
    logits[np.arange(CORRECT), labels[:CORRECT]] += 10
    pd.DataFrame({"image": ids, "label": wnids}).to_csv(folder / "set.csv", index=False)
    regrade.init(folder / "W").testsets.add("val", folder / "set.csv", classes="imagenet-1k")
    return World(folder, ids, labels, logits)


def run_script(script: Path, *arguments: object) -> None:
    """Run a script of timm in this process, quietly."""
    argv = [str(script), *map(str, arguments)]
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with mock.patch.object(sys, "argv", argv), quiet[0], quiet[1], contextlib.suppress(SystemExit):
        runpy.run_path(str(script), run_name="__main__")


def inference(timm: Path, folder: Path, images: str, *options: str) -> Path:
    """Run timm's inference.py; return the file that it writes."""
    for old in (folder / "out").glob("m.*"):
        old.unlink()
    run_script(
        timm / "inference.py", "--data-dir", folder / images, "--model", "test_vit", "--checkpoint",
        folder / "weights.pth", "--device", "cpu", "-j", "0", "-b", "8", "--results-dir", folder / "out",
        "--results-file", "m", "--no-console-results", *options,
    )  # fmt: skip
    return next((folder / "out").glob("m.*"))


TIMM_OPTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ()),
    ("--topk 5", ()),
    ("--topk 5 --results-separate-col", ()),
    ("--topk 5 --include-index", ()),
    ("--topk 5 --include-index --results-separate-col", ()),
    ("--label-type name", ()),
    ("--label-type detail --topk 5", ()),
    ("--label-type none --include-index", ()),
    ("--topk 0", ()),
    ("--topk 0 --results-separate-col", ()),
    ("--topk 5 --output-type logit", ()),
    ("--topk 5 --fullname", ()),
    ("--topk 5 --results-format parquet", ()),
    ("--topk 5 --results-format json", ()),
    ("--topk 5 --results-format json-split", ()),
    ("--output-col p", ("--prediction-column", "label")),
    ("--filename-col photo", ("--id-column", "photo")),
    ("--label-col class", ("--prediction-column", "class")),
    ("--index-col number --include-index --label-type none", ()),
)


def timm_file(timm: Path, folder: Path, options: str) -> Callable[[Path], Path]:
    """A function that runs timm's inference.py on the images of the test set, and returns the file that it writes."""
    return lambda _: inference(timm, folder, "val", *options.split())


def timm_cases(world: World, timm: Path) -> Iterator[Case]:
    tool = f"timm {version('timm')} inference.py"
    for options, flags in TIMM_OPTIONS:
        yield Case(tool, options, timm_file(timm, world.folder, options), flags)

    def as_json_record(_: Path) -> Path:
        return inference(timm, world.folder, "val", "--results-format", "json-record")

    yield Case(tool, "--results-format json-record (CSV in a .json file)", as_json_record, refused="rename it to m.csv")

    def validate(folder: Path) -> Path:
        run_script(
            timm / "validate.py", "--data-dir", world.folder / "val", "--split", "", "--model", "test_vit", "-j", "0",
            "--device", "cpu", "--checkpoint", world.folder / "weights.pth", "--results-file", folder / "results.csv",
        )  # fmt: skip
        return folder / "results.csv"

    tool = f"timm {version('timm')} validate.py"
    yield Case(tool, "--results-file results.csv", validate, refused="regrade models check --published")


def saved(save: Callable[[Path], object], name: str) -> Callable[[Path], Path]:
    """A function that saves a file with this name in a folder, and returns its path."""

    def make(folder: Path) -> Path:
        save(folder / name)
        return folder / name

    return make


def torch_cases(world: World) -> Iterator[Case]:
    logits, labels = torch.from_numpy(world.logits), torch.from_numpy(world.labels)
    both = {"logits": logits, "labels": labels, "filenames": world.ids}
    top = logits.softmax(dim=1).topk(5)
    contents: dict[str, Any] = {
        "logits": logits,
        "logits.half()": logits.half(),
        "logits.bfloat16()": logits.bfloat16(),
        "{logits, labels, filenames}": both,
        "argmax": logits.argmax(dim=1),
        "{probs, indices} of topk(5)": {"probs": top.values, "indices": top.indices},
        "list of (logits, labels) batches": list(zip(logits.split(5), labels.split(5), strict=True)),
    }
    for description, content in contents.items():
        make = saved(partial(torch.save, content), "m.pt")
        yield Case(f"torch {version('torch')} torch.save", description, make)


def lightning_cases(world: World) -> Iterator[Case]:
    class Net(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self, as_dictionary: bool) -> None:
            super().__init__()
            self.as_dictionary = as_dictionary

        def predict_step(self, batch: Any) -> Any:
            logits, labels = batch
            return {"logits": logits, "targets": labels} if self.as_dictionary else logits

    data = torch.utils.data.TensorDataset(torch.from_numpy(world.logits), torch.from_numpy(world.labels))

    def predict(path: Path, as_dictionary: bool) -> None:
        quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
        loader = torch.utils.data.DataLoader(data, batch_size=7)
        torch.save(lightning.Trainer(**quiet).predict(Net(as_dictionary), loader), path)

    tool = f"lightning {version('lightning')} Trainer.predict"
    yield Case(tool, "predict_step returns logits", saved(lambda path: predict(path, False), "m.pt"))
    yield Case(tool, "predict_step returns a dictionary", saved(lambda path: predict(path, True), "m.pt"))


def numpy_cases(world: World) -> Iterator[Case]:
    logits, labels, ids = world.logits, world.labels, np.array(world.ids)
    tool = f"numpy {version('numpy')}"
    yield Case(f"{tool} np.save", "logits", saved(lambda path: np.save(path, logits), "m.npy"))
    yield Case(
        f"{tool} np.savez", "logits=, labels=", saved(lambda p: np.savez(p, logits=logits, labels=labels), "m.npz")
    )
    yield Case(f"{tool} np.savez", "one array without a name", saved(lambda path: np.savez(path, logits), "m.npz"))
    compressed = saved(lambda path: np.savez_compressed(path, preds=logits.argmax(axis=1), ids=ids), "m.npz")
    yield Case(f"{tool} np.savez_compressed", "preds=, ids=", compressed)
    two = saved(lambda path: np.savez(path, first=logits, second=logits), "m.npz")
    yield Case(f"{tool} np.savez", "two arrays of scores", two, ("--prediction-column", "first"))


def pandas_cases(world: World) -> Iterator[Case]:
    tool, frame = f"pandas {version('pandas')}", world.frame
    lists = frame.assign(prediction=[list(map(int, row)) for row in frame["prediction"]])
    names = frame.assign(prediction=[[SPACE.ids[c] for c in row] for row in frame["prediction"]])
    wide = pd.DataFrame(world.probabilities, columns=list(SPACE.ids)).assign(image=world.ids)
    forms: dict[str, tuple[str, Callable[[Path], object]]] = {
        "to_csv, numpy lists in cells": ("m.csv", lambda path: frame.to_csv(path, index=False)),
        "to_csv, Python lists in cells, with row numbers": ("m.csv", lists.to_csv),
        "to_csv, compressed": ("m.csv.gz", lambda path: names.to_csv(path, index=False)),
        "to_csv, a column of scores per class": ("m.csv", lambda path: wide.to_csv(path, index=False)),
        "to_parquet": ("m.parquet", frame.to_parquet),
        "to_json": ("m.json", frame.to_json),
        "to_json, records": ("m.json", lambda path: frame.to_json(path, orient="records")),
        "to_json, lines": ("m.jsonl", lambda path: frame.to_json(path, orient="records", lines=True)),
    }
    for description, (name, save) in forms.items():
        yield Case(tool, description, saved(save, name))


def dataset_cases(world: World) -> Iterator[Case]:
    datasets.disable_progress_bars()
    shared = [", ".join(words) for words in SPACE.lemmas]
    names = [SPACE.names[i] if shared.count(words) > 1 else words for i, words in enumerate(shared)]
    described = datasets.ClassLabel(names=names)
    features = datasets.Features({"file": datasets.Value("string"), "label": described, "pred": described})
    content = {"file": world.ids, "label": world.labels, "pred": world.logits.argmax(axis=1)}
    data = datasets.Dataset.from_dict(content, features=features)
    splits = datasets.DatasetDict({"test": data, "validation": data.select(range(12))})

    def repository(path: Path) -> None:
        (path / "data").mkdir(parents=True)
        for place in range(2):
            shard = data.shard(2, place, contiguous=True)
            shard.to_parquet(str(path / "data" / f"test-{place:05d}-of-00002.parquet"))

    tool = f"datasets {version('datasets')}"
    yield Case(tool, "to_parquet, class labels", saved(lambda path: data.to_parquet(str(path)), "m.parquet"))
    yield Case(tool, "repository folder with two shards", saved(repository, "repository"))
    yield Case(tool, "save_to_disk", saved(lambda path: data.save_to_disk(str(path)), "disk"))
    on_disk = saved(lambda path: splits.save_to_disk(str(path)), "splits")
    yield Case(tool, "save_to_disk, two splits", on_disk, ("--split", "test"))
    yield Case(tool, "to_json", saved(lambda path: data.to_json(str(path)), "m.jsonl"))


def transformers_cases(world: World) -> Iterator[Case]:
    tool = f"transformers {version('transformers')}"
    output = PredictionOutput(world.logits, world.labels, {})
    kept = saved(lambda p: np.savez(p, predictions=output.predictions, label_ids=output.label_ids), "m.npz")
    yield Case(tool, "PredictionOutput (predictions, label_ids) as NPZ", kept)
    torch.manual_seed(0)
    config = ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    config.id2label = {i: f"{', '.join(words)}" for i, words in enumerate(SPACE.lemmas)}
    classify = pipeline(
        "image-classification", model=ViTForImageClassification(config), image_processor=ViTImageProcessorPil()
    )

    def run_pipeline(path: Path) -> None:
        files = [str(world.folder / "val" / name) for name in world.ids]
        path.write_text(json.dumps(dict(zip(files, classify(files, top_k=5), strict=True))))

    yield Case(tool, "pipeline, top_k=5, a list per image", saved(run_pipeline, "m.json"), untrained=True)


def sklearn_cases(world: World) -> Iterator[Case]:
    draws = np.random.default_rng(3)
    fitted = KNeighborsClassifier(3).fit(draws.normal(size=(2000, 4)), np.repeat(np.arange(1000), 2))
    scores = fitted.predict_proba(draws.normal(size=(IMAGES, 4)))
    classes = pd.DataFrame({"id": world.ids, "y_true": world.labels, "y_pred": world.logits.argmax(axis=1)})
    tool = f"scikit-learn {version('scikit-learn')}"
    yield Case(
        tool, "predict, y_true and y_pred as CSV", saved(lambda path: classes.to_csv(path, index=False), "m.csv")
    )
    yield Case(tool, "predict_proba as NPY", saved(lambda path: np.save(path, scores), "m.npy"), untrained=True)


def cases(world: World, timm: Path) -> Iterator[Case]:
    """All files of the survey."""
    yield from timm_cases(world, timm)
    for group in (
        torch_cases,
        lightning_cases,
        numpy_cases,
        pandas_cases,
        dataset_cases,
        transformers_cases,
        sklearn_cases,
    ):
        yield from group(world)
