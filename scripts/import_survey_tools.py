"""The files of the survey of imports that timm, Lightning, datasets, transformers and CLIP_benchmark write."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

import datasets
import lightning
import numpy as np
import pandas as pd
import torch
from clip_benchmark.metrics.zeroshot_classification import run_classification
from import_survey_files import SPACE, Case, World, saved
from timm import create_model
from transformers import (
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessorPil,
    pipeline,
)


class GivenLogits(torch.nn.Module):  # type: ignore[misc]
    """A network whose logits are its inputs, for transformers and CLIP_benchmark."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = torch.nn.Parameter(torch.zeros(1))

    def forward(self, inputs: Any, labels: Any = None) -> Any:
        """As a model of transformers, which returns its loss and its logits."""
        return {"loss": torch.nn.functional.cross_entropy(inputs, labels), "logits": inputs}

    def encode_image(self, inputs: Any) -> Any:
        """As a model of CLIP."""
        return inputs


def run_script(script: Path, *arguments: object) -> None:
    """Run a script of timm in this process, quietly."""
    with _quiet_command(script, *arguments):
        runpy.run_path(str(script), run_name="__main__")


@contextlib.contextmanager
def _quiet_command(*words: object) -> Iterator[None]:
    """Replace the arguments of this process, hide what is printed, and stay alive."""
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with mock.patch.object(sys, "argv", [*map(str, words)]), quiet[0], quiet[1], contextlib.suppress(SystemExit):
        yield


def timm_predictions(timm: Path, images: Path) -> list[str]:
    """The classes that the small model of timm, whose weights are written next to the folder, predicts for images."""
    torch.manual_seed(0)
    torch.save(create_model("test_vit", num_classes=1000).state_dict(), images.parent / "weights.pth")
    predicted = pd.read_csv(inference(timm, images.parent, images.name, "--label-type", "name"))
    return [str(wnid) for wnid in predicted.sort_values("filename")["label"]]


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

    def run_trainer(path: Path) -> None:
        options = {"use_cpu": True, "report_to": [], "disable_tqdm": True}
        trainer = Trainer(model=GivenLogits(), args=TrainingArguments(str(path.parent / "trainer"), **options))
        rows = zip(world.logits, world.labels, strict=True)
        output = trainer.predict([{"inputs": row, "labels": label} for row, label in rows])
        np.savez(path, predictions=output.predictions, label_ids=output.label_ids)

    yield Case(tool, "Trainer.predict, predictions and label_ids as NPZ", saved(run_trainer, "m.npz"))
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


def clip_cases(world: World) -> Iterator[Case]:
    """The logits of a zero-shot classifier."""
    data = torch.utils.data.TensorDataset(torch.from_numpy(world.logits), torch.from_numpy(world.labels))
    tool = f"CLIP_benchmark {version('clip_benchmark')}"

    def classify(path: Path) -> None:
        loader = torch.utils.data.DataLoader(data, batch_size=7)
        with _quiet_command():
            torch.save(run_classification(GivenLogits(), torch.eye(1000), loader, "cpu", amp=False), path)

    yield Case(tool, "run_classification: logits and labels with torch.save", saved(classify, "m.pt"))


def tool_cases(world: World, timm: Path) -> Iterator[Case]:
    """The files of all tools of this module; timm's are made by the scripts of a checkout."""
    yield from timm_cases(world, timm)
    for group in (lightning_cases, dataset_cases, transformers_cases, clip_cases):
        yield from group(world)
