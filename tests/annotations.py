"""Random multi-label annotations of validation images, in the published format."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

MODELS = ("alexnet", "vgg16", "resnet50", "inceptionv3", "pnasnet_large_tf")


@dataclass(frozen=True)
class Images:
    """Validation images in plain Python: names, labels, and the top-1 class of each model."""

    names: list[str]
    labels: list[str]
    best: dict[str, list[str]]

    def predictions(self, position: int) -> list[str]:
        """The classes that any model predicts for an image, without repeats."""
        return list(dict.fromkeys(best[position] for best in self.best.values()))


def write_images(source: Path, target: Path) -> None:
    """Write every 25th validation image with the predictions of five models."""
    table = pq.read_table(source, columns=["image", "wnid", *MODELS])
    pq.write_table(table.take(list(range(0, len(table), 25))), target)


def read_images(path: Path) -> Images:
    table = pq.read_table(path)
    wnids = sorted(set(table["wnid"].to_pylist()))
    assert len(wnids) == 1000
    best = {m: [wnids[top[0]] for top in table[m].to_pylist()] for m in MODELS}
    return Images(table["image"].to_pylist(), table["wnid"].to_pylist(), best)


def annotate(images: Images) -> dict:
    """Annotations with all oddities of the real ones: missing keys, empty lists, problems, images of other sets."""
    rng = random.Random(3)
    annotations, problems = {}, {}
    for position, (image, label) in enumerate(zip(images.names, images.labels, strict=True)):
        if position % 10 == 9:
            continue  # never shown to anyone
        lists: dict[str, list[str]] = {"correct": [], "wrong": [], "unclear": []}
        lists[rng.choices(["correct", "unclear", "wrong"], [20, 1, 1])[0]].append(label)
        for predicted in images.predictions(position):
            state = rng.choices(["correct", "wrong", "unclear", "novel"], [3, 3, 1, 2])[0]
            if state != "novel" and predicted != label:
                lists[state].append(predicted)
        annotations[image] = {key: value for key, value in lists.items() if value or rng.random() < 0.5}
        if rng.random() < 0.06:
            problems[image] = rng.choice(["original label is incorrect", "painting or drawing", "heavily edited"])
    annotations[images.names[0]] = {}
    annotations["0a1b2c.jpeg"] = {"correct": ["n99999999"]}  # an image of ImageNetV2 and an unknown class: ignored
    problems["ffee00.jpeg"] = "painting or drawing"
    return {"initial_annots": annotations, "problematic_images": problems, "imagenet_m": images.names[3:5]}


def write_annotations(images: Images, path: Path) -> dict:
    content = annotate(images)
    path.write_text(json.dumps(content))
    return content
