"""The files of the survey of imports that torch, numpy, pandas and scikit-learn write, and the images of all files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from sklearn.neighbors import KNeighborsClassifier

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


def make_world(folder: Path, predict: Callable[[Path], list[str]]) -> World:
    """Images in class folders, such that a model predicts 18 of 24 correctly.

    ``predict`` returns the model's classes for the images of a folder, in the order of their names.
    """
    draws = np.random.default_rng(0)
    images = folder / "flat" / "images"
    images.mkdir(parents=True)
    for i in range(IMAGES):
        pixels = draws.integers(0, 255, (160, 160, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(images / f"val_{i:05d}.JPEG")
    wnids = [wnid if i < CORRECT else SPACE.ids[i] for i, wnid in enumerate(predict(folder / "flat"))]
    for i, wnid in enumerate(wnids):
        (folder / "val" / wnid).mkdir(parents=True, exist_ok=True)
        (images / f"val_{i:05d}.JPEG").rename(folder / "val" / wnid / f"val_{i:05d}.JPEG")
    ids = [f"{wnid}/val_{i:05d}.JPEG" for i, wnid in enumerate(wnids)]
    labels = np.array([SPACE.index(wnid) for wnid in wnids])
    logits = draws.normal(size=(IMAGES, 1000)).astype(np.float32)
    logits[np.arange(CORRECT), labels[:CORRECT]] += 10
    pd.DataFrame({"image": ids, "label": wnids}).to_csv(folder / "set.csv", index=False)
    regrade.init(folder / "W").testsets.add("val", folder / "set.csv", classes="imagenet-1k")
    return World(folder, ids, labels, logits)


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


def array_cases(world: World) -> Iterator[Case]:
    """The files of libraries for arrays and tables."""
    for group in (torch_cases, numpy_cases, pandas_cases, sklearn_cases):
        yield from group(world)
