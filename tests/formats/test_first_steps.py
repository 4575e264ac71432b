"""The examples of docs/first-steps.md: each is run with what the tool writes or returns."""

import re
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from running import run_well
from transformers.trainer_utils import PredictionOutput

from regrade.classes import class_space

PAGE = (Path(__file__).parents[2] / "docs" / "first-steps.md").read_text()
LABELS = np.random.default_rng(0).integers(0, 10, 200)
LOGITS = (np.random.default_rng(1).normal(size=(200, 10)) + 2 * np.eye(10)[LABELS]).astype(np.float32)
CORRECT = 100 * np.mean(LOGITS.argmax(axis=1) == LABELS)
IDS = np.array([f"{number:05d}.png" for number in range(200)])


def blocks_below(title):
    """The code below a heading, by language."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## )", PAGE, re.DOTALL | re.MULTILINE)[1]
    blocks = re.findall(r"^```(console|python)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return {form: "".join(code for own, code in blocks if own == form) for form in ("console", "python")}


def run_commands(block):
    """Run the commands of a block, and return what the last one printed."""
    for line in block.splitlines():
        ran = run_well(*shlex.split(line.removeprefix("$ regrade ")))
    return ran.out


def executed(title, **names):
    exec(blocks_below(title)["python"], names)
    return names


def write_labels(space):
    names = class_space(space).ids
    pd.DataFrame({"image": IDS, "label": [names[label] for label in LABELS]}).to_csv("labels.csv", index=False)


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_timm_example():
    write_labels("imagenet-1k")
    top = np.argsort(-LOGITS, axis=1)[:, :5]
    lemmas = class_space("imagenet-1k").lemmas
    frame = pd.DataFrame(
        {"filename": IDS, "index": list(top), "label": [[", ".join(lemmas[c]) for c in row] for row in top]}
    )
    probabilities = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    frame["prob"] = list(np.take_along_axis(probabilities, top, axis=1))
    frame.to_csv("resnet50.csv", index=False)
    frame.to_csv("resnet101.csv", index=False)
    assert f"{CORRECT:.1f} [" in run_commands(blocks_below("timm")["console"])


def test_torch_example():
    loader = torch.utils.data.DataLoader(list(zip(torch.tensor(LOGITS), torch.tensor(LABELS), strict=True)), 64)
    names = executed("PyTorch loop", loader=loader, small=torch.nn.Identity(), large=torch.neg)
    assert 100 * names["result"]["small"].top1.value == pytest.approx(CORRECT)
    assert names["comparison"]["small", "large"].result.value == "different"


def test_hugging_face_example():
    config = SimpleNamespace(id2label={number: f"class {number}" for number in range(10)})
    output = PredictionOutput(predictions=LOGITS, label_ids=LABELS, metrics={})
    trainer = SimpleNamespace(predict=lambda _: output, model=SimpleNamespace(config=config))
    names = executed("Hugging Face", vit=trainer, swin=trainer, dataset=None)
    assert 100 * names["result"]["vit"].top1.value == pytest.approx(CORRECT)
    assert names["comparison"]["swin", "vit"].only_first == 0


def test_pandas_example():
    region = np.where(LABELS < 5, "Asia", "Europe")
    predicted = LOGITS.argmax(axis=1)
    frame = pd.DataFrame({"label": LABELS, "resnet50": predicted, "resnet101": LABELS, "region": region}, index=IDS)
    names = executed("pandas", frame=frame)
    assert 100 * names["result"]["resnet50"].top1.value == pytest.approx(CORRECT)
    assert names["result"]["resnet101", "region=Asia"].top1.value == 1
    assert names["comparison"]["resnet50", "resnet101"].result.value == "different"


def test_npz_example():
    executed("NPZ", scores=LOGITS, ids=IDS, labels=LABELS)
    shutil.copy("resnet50.npz", "resnet101.npz")
    assert f"{CORRECT:.1f} [" in run_commands(blocks_below("NPZ")["console"])
