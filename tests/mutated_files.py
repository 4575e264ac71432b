"""Small valid files of every format that users can import, each with its import command, as input for mutations."""

import csv
import io
import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mutations as m
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from judging import people, queue_of, vote
from mutations import Effect, Mutated, Mutation
from pets import IDS, LABELS, make_pets
from releases import FACTORS, val_name, write_imagenet_x
from running import run_well
from small_set import SPACE, csv_manifest, encoded, folders, hugging_face, noise, npy, npz, write_tar

import regrade
from regrade.core import InputError, TestSet
from regrade.store import Store
from regrade.testsets import open_images

RNG = np.random.default_rng(0)
SCORES = RNG.dirichlet(np.ones(10), 6)
LOGITS = RNG.normal(size=(6, 10))
CIFAR = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
VAL = [val_name(number) for number in range(1, 7)]


@dataclass(frozen=True)
class Case:
    """A file, the command that imports it (FILE stands for its path), and the mutations to apply."""

    name: str
    file: str
    content: Callable[[Path], bytes]
    command: tuple[object, ...]
    mutations: tuple[Mutation, ...]
    every_form_is_valid: bool = False
    """Whether parts of the file are optional and may be omitted without a note, such as class names."""

    def arguments(self, file: Path, workspace: Path) -> tuple[object, ...]:
        return (*(file if part == "FILE" else part for part in self.command), "-w", workspace)

    def mutated(self, content: bytes, number: int) -> Mutated:
        damaged = m.mutated(content, self.mutations, f"{self.name} {number}")
        ordered = self.command[0] in ("testsets", "review")  # the order of new test sets and of votes is kept
        moved = ordered and damaged.what.endswith(("moved to the end", "rows reversed"))
        if moved or self.every_form_is_valid:
            return Mutated(damaged.content, damaged.what, Effect.VALUE)
        return damaged


def text(content: str) -> Callable[[Path], bytes]:
    return lambda _: content.encode()


def table(*rows: tuple[object, ...], separator: str = ",") -> Callable[[Path], bytes]:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, lineterminator="\n").writerows(rows)
    return text(file.getvalue())


def document(content: object) -> Callable[[Path], bytes]:
    return text(json.dumps(content))


def lines(*rows: dict[str, object]) -> Callable[[Path], bytes]:
    return text("\n".join(json.dumps(row) for row in rows))


def parquet(**columns: object) -> Callable[[Path], bytes]:
    def content(_: Path) -> bytes:
        file = io.BytesIO()
        pq.write_table(pa.table(columns), file)
        return file.getvalue()

    return content


def array(values: np.ndarray) -> Callable[[Path], bytes]:
    def content(_: Path) -> bytes:
        file = io.BytesIO()
        np.save(file, values)
        return file.getvalue()

    return content


def archive(**arrays: np.ndarray) -> Callable[[Path], bytes]:
    def content(_: Path) -> bytes:
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    return content


def written_by(make: Callable[[Path], Path]) -> Callable[[Path], bytes]:
    """The content of a file that a function writes in a folder; other files it writes stay there."""

    def content(folder: Path) -> bytes:
        path = make(folder / "made")
        for beside in path.parent.iterdir():
            shutil.move(beside, folder / beside.name)
        return (folder / path.name).read_bytes()

    return content


def exported(suffix: str) -> Callable[[Path], bytes]:
    """The ledger file of a workspace in which two people voted."""

    def content(folder: Path) -> bytes:
        (folder / "voted").mkdir()
        voted = make_pets(folder / "voted")
        ledger = regrade.open(voted).ledger
        pair = people(ledger, "Ada", "Bob")
        queue = queue_of(ledger, "novel", [("p0", "dog"), ("p1", "cat")], test_set="pets", labels="own", overlap=2)
        for person in pair:
            vote(ledger, queue, person, ("p0", "dog"), "wrong", reason="no\ndog", seconds=1.5)
        ledger.engine.dispose()
        run_well("review", "export", folder / f"exported.{suffix}", "-w", voted)
        return (folder / f"exported.{suffix}").read_bytes()

    return content


def _tar(root: Path) -> Path:
    keys = [(f"pic{number:02}", encoded(noise(number)), number % 4) for number in range(4)]
    members = [part for key, data, label in keys for part in ((f"{key}.png", data), (f"{key}.cls", str(label)))]
    return write_tar(root / "set.tar", *members)


def _cifar(_: Path) -> bytes:
    records = RNG.integers(0, 256, (4, 3073), dtype=np.uint8)
    records[:, 0] = (0, 3, 9, 3)
    return records.tobytes()


def _one_parquet(root: Path) -> Path:
    return hugging_face(root) / "test-00000-of-00002.parquet"


def _imagenet_x(root: Path) -> Path:
    root.mkdir(parents=True)
    return write_imagenet_x(root / "f.jsonl", {1: ("pose",), 2: ("pose", "color"), 3: FACTORS, 4: ("style",)})


_PREDICT = ("import", "predictions", "FILE", "-t", "pets")
_ONE = (*_PREDICT, "--model", "m")
_LABELS = ("import", "labels", "FILE", "-t", "pets", "--name", "own")
_SLICES = ("import", "slices", "FILE", "-t", "pets", "--name", "mine")
_PEOPLE = ("import", "people", "FILE", "-t", "pets")
_MISTAKES = ("import", "mistakes", "FILE", "-t", "pets", "--model", "first")
_CHECKPOINTS = ("import", "checkpoints", "FILE", "-t", "pets", "--ensemble", "E", "--kind", "logits")
_ADD = ("testsets", "add", "zoo", "FILE", "--classes", "ANIMALS")
_TEXT, _CSV = (*m.BYTES, *m.TEXT), (*m.BYTES, *m.TEXT, *m.CSV, *m.CSV)
_JSON, _LINES = (*m.BYTES, *m.TEXT, *m.JSON, *m.JSON), (*m.BYTES, *m.TEXT, *m.JSON_LINES, *m.JSON_LINES, *m.JSON_LINES)
_PARQUET, _NPY, _NPZ = (*m.BYTES, *m.PARQUET, *m.PARQUET), (*m.BYTES, *m.NPY, *m.NPY), (*m.BYTES, *m.NPZ, *m.NPZ)
_TAR = (*m.BYTES, *m.TAR * 7)

_STATES = [
    ("image", "class", "state", "problematic"),
    ("p0", "cat", "correct", ""), ("p0", "dog", "wrong", ""), ("p1", "dog", "unclear", "blurred"),
    ("p2", "bird", "correct", ""),
]  # fmt: skip
_LISTS = {
    "p0": {"correct": ["cat"], "wrong": ["dog", 4]},
    "p1": {"unclear": ["dog"], "problematic": "blurred"},
    "p2": [2],
}
_MULTI = {
    "initial_annots": {i: {"correct": [c], "wrong": [9], "unclear": []} for i, c in zip(IDS, LABELS, strict=True)},
    "problematic_images": {"p3": "painting"},
    "imagenet_m": ["p1", "p2"],
}
_ANSWERS = [("person", "image", "class", "start", "end")] + [
    (who, image, answer, f"2019-12-19T10:00:{second:02}", f"2019-12-19T10:01:{second:02}")
    for who in ("Ann", "Bob")
    for second, (image, answer) in enumerate(zip(IDS, LABELS, strict=True))
]
_SHANKAR = {
    who: {i: {"label": c, "extra_info": {"start_time": 10.5, "end_time": 12}} for i, c in zip(IDS, LABELS, strict=True)}
    for who in ("Ann", "Bob")
}
_REVIEWED = [("image", "prediction", "category", "severity"), ("p2", "cat", "fine-grained", "major"),
             ("p5", "deer", "spurious correlation", "minor")]  # fmt: skip
_VASUDEVAN = {
    image: {"top_prediction": index, "failure category": "Fine-grained error", "failure severity": severity}
    for image, index, severity in (("p2", 3, "Major"), ("p5", 4, "Minor"))
}
_CLASSES = (
    "id,name,parent,groups\nn01,cat,pet,small;home\nn02,guide dog,pet,\nn03,hérisson,,small\nn04,great white shark,,\n"
)
_SPACE = {"name": "animals", "ids": list(SPACE.ids), "names": list(SPACE.names), "groups": {"small": ["n01", 2]}}
_EXAMPLES = [("image", "wnid", "region"), ("a", "n01", "north"), ("b", "n02", "south"), ("c", "n04", "north")]
_MAP = {"n01": ["cat"], "n02": [5], "n03": [], "n04": ["frog", "ship"]}

CASES = (
    Case(
        "wide csv",
        "f.csv",
        table(("image", "label", "m", "n"), *zip(IDS, LABELS, LABELS, "345679", strict=True)),
        _PREDICT,
        _CSV,
    ),
    Case("wide tsv", "f.tsv", table(("image", "m"), *zip(IDS, LABELS, strict=True), separator="\t"), _PREDICT, _CSV),
    Case(
        "json lines",
        "f.jsonl",
        lines(*({"image": i, "m": [c, "ship" if c != "ship" else "cat"]} for i, c in zip(IDS, LABELS, strict=True))),
        _PREDICT,
        _LINES,
    ),
    Case(
        "wide parquet",
        "f.parquet",
        parquet(image=IDS, label=LABELS, m=[[3, 4]] * 6, n=list(LABELS)),
        _PREDICT,
        _PARQUET,
    ),
    Case(
        "class columns",
        "f.csv",
        table(("image", *CIFAR), *((i, *row) for i, row in zip(IDS, SCORES.tolist(), strict=True))),
        _ONE,
        _CSV,
    ),
    Case(
        "best classes",
        "f.parquet",
        parquet(image=IDS, top1=[3] * 6, top2=[4] * 6, top3=[5] * 6, probability=[[0.5, 0.3, 0.1]] * 6),
        _ONE,
        _PARQUET,
    ),
    Case(
        "scores in lines",
        "f.jsonl",
        lines(*({"image": i, "probabilities": row} for i, row in zip(IDS, SCORES.tolist(), strict=True))),
        _ONE,
        _LINES,
    ),
    Case("npy of scores", "f.npy", array(LOGITS), _PREDICT, _NPY),
    Case("npy of classes", "f.npy", array(np.arange(12).reshape(6, 2) % 10), _PREDICT, _NPY),
    Case(
        "npz of scores",
        "f.npz",
        archive(probabilities=SCORES[::-1], ids=np.array(IDS[::-1]), labels=np.array(LABELS[::-1])),
        _PREDICT,
        _NPZ,
    ),
    Case("labels csv", "f.csv", table(*_STATES), _LABELS, _CSV),
    Case(
        "labels parquet",
        "f.parquet",
        parquet(image=IDS, **{"class": LABELS}, state=["correct", "wrong", "unclear"] * 2),
        _LABELS,
        _PARQUET,
    ),
    Case(
        "labels lines",
        "f.jsonl",
        lines({"image": "p0", "class": "cat", "state": "correct"}, {"image": "p1", "class": "cat", "state": "wrong"}),
        _LABELS,
        _LINES,
    ),
    Case("labels json", "f.json", document(_LISTS), _LABELS, _JSON),
    Case("multi-label", "f.json", document(_MULTI), (*_LABELS, "--format", "multilabel-v3"), _JSON),
    Case("slice list", "f.txt", text("p1\np3\np4\n"), (*_SLICES, "--format", "list"), _TEXT),
    Case("slice json", "f.json", document(["p1", "p3", "p4"]), (*_SLICES, "--format", "list"), _JSON),
    Case("slice table", "f.csv", table(("image", "region"), *zip(IDS, "aabbcc", strict=True)), _SLICES, _CSV),
    Case(
        "slice parquet",
        "f.parquet",
        parquet(image=IDS, region=list("aabbcc"), income=list(range(6))),
        _SLICES,
        _PARQUET,
    ),
    Case(
        "imagenet-x",
        "f.jsonl",
        written_by(_imagenet_x),
        ("import", "slices", "FILE", "-t", "val", "--name", "x", "--format", "imagenet-x"),
        _LINES,
    ),
    Case(
        "verdicts",
        "f.csv",
        table(
            ("image", "class", "name", "verdict", "reason"),
            ("p2", "cat", "cat", "problematic", "blurred"),
            ("p5", "deer", "deer", "wrong", ""),
        ),
        ("import", "verdicts", "FILE", "-t", "pets", "-l", "few"),
        _CSV,
    ),
    Case("mistakes csv", "f.csv", table(*_REVIEWED), _MISTAKES, _CSV),
    Case("mistakes json", "f.json", document(_VASUDEVAN), (*_MISTAKES, "--format", "vasudevan2022"), _JSON),
    Case("people csv", "f.csv", table(*_ANSWERS), _PEOPLE, _CSV),
    Case(
        "people json",
        "f.json",
        document([dict(zip(_ANSWERS[0], row, strict=True)) for row in _ANSWERS[1:]]),
        _PEOPLE,
        _JSON,
    ),
    Case(
        "people parquet",
        "f.parquet",
        parquet(
            person=["Ann"] * 6,
            image=IDS,
            answer=[3, 5, 2, None, 8, 6],
            start=pa.array([10**9] * 6, pa.timestamp("ms")),
            end=pa.array([10**9 + 9] * 6, pa.timestamp("ms")),
        ),
        _PEOPLE,
        _PARQUET,
    ),
    Case("people published", "f.json", document(_SHANKAR), (*_PEOPLE, "--format", "shankar2020"), _JSON),
    Case("checkpoints npy", "f.npy", array(RNG.normal(size=(2, 2, 6, 10))), _CHECKPOINTS, _NPY),
    Case(
        "checkpoints npz",
        "f.npz",
        archive(scores=RNG.normal(size=(2, 6, 10)), ids=np.array(IDS[::-1])),
        _CHECKPOINTS,
        _NPZ,
    ),
    Case("examples csv", "f.csv", table(*_EXAMPLES), (*_ADD, "--group", "region"), _CSV),
    Case("manifest csv", "list.csv", written_by(csv_manifest), (*_ADD, "--group", "region"), _CSV),
    Case(
        "images in parquet",
        "test-00000-of-00002.parquet",
        written_by(_one_parquet),
        (*_ADD, "--group", "region"),
        _PARQUET,
    ),
    Case("images in npz", "set.npz", written_by(npz), _ADD, _NPZ),
    Case("images in npy", "set_data.npy", written_by(npy), _ADD, _NPY),
    Case("images in tar", "set.tar", written_by(_tar), _ADD, _TAR),
    Case(
        "cifar binary", "test_batch.bin", _cifar, ("testsets", "add", "zoo", "FILE", "--classes", "cifar-10"), m.BYTES
    ),
    Case(
        "classes csv", "c.csv", text(_CLASSES), ("testsets", "add", "zoo", "EXAMPLES", "--classes", "FILE"), _CSV, True
    ),
    Case(
        "classes json",
        "c.json",
        document(_SPACE),
        ("testsets", "add", "zoo", "EXAMPLES", "--classes", "FILE"),
        _JSON,
        True,
    ),
    Case(
        "map csv",
        "m.csv",
        table(("target", "source"), ("n01", "cat"), ("n02", "dog"), ("n03", ""), ("n04", "frog"), ("n04", "ship")),
        ("testsets", "add", "zoo", "EXAMPLES", "--classes", "ANIMALS", "--map", "FILE", "--map-source", "cifar-10"),
        _CSV,
        True,
    ),
    Case(
        "map json",
        "m.json",
        document(_MAP),
        ("testsets", "add", "zoo", "EXAMPLES", "--classes", "ANIMALS", "--map", "FILE", "--map-source", "cifar-10"),
        _JSON,
        True,
    ),
    Case("ledger csv", "l.csv", exported("csv"), ("review", "import", "FILE"), _CSV),
    Case("ledger json", "l.json", exported("json"), ("review", "import", "FILE"), _JSON),
    Case("ledger parquet", "l.parquet", exported("parquet"), ("review", "import", "FILE"), _PARQUET),
)


def make_workspace(folder: Path) -> Path:
    """The workspace for all imports: six pets with a drawn review, six validation images, an empty ledger."""
    workspace = make_pets(folder)
    rows = "".join(f"{image},n01440764\n" for image in VAL)
    (folder / "val.csv").write_text("image,label\n" + rows)
    run_well("testsets", "add", "val", folder / "val.csv", "--classes", "imagenet-1k", "-w", workspace)
    (folder / "few.csv").write_text("image,class,state\np0,cat,correct\np1,dog,correct\np2,,\np5,,\n")
    run_well("import", "labels", folder / "few.csv", "-t", "pets", "--name", "few", "-w", workspace)
    sample = ("labels", "sample", "-t", "pets", "-l", "few", "--size", "2", "--out", folder / "sample.csv")
    run_well(*sample, "-w", workspace)
    ledger = regrade.open(workspace).ledger
    ledger.people.all()
    ledger.engine.dispose()
    return workspace


def shelf(folder: Path) -> dict[object, Path]:
    """Write the additional files that some commands need."""
    animals, examples = folder / "animals.csv", folder / "examples.csv"
    animals.write_text(_CLASSES)
    examples.write_text("\n".join(",".join(row) for row in _EXAMPLES) + "\n")
    return {"ANIMALS": animals, "EXAMPLES": examples}


def state(workspace: Path) -> dict[str, object]:
    """All stored content of a workspace, except the names and hashes of imported files."""
    opened = regrade.open(workspace)
    store = opened.store
    content: dict[str, object] = {}
    for name in store.test_sets.names():
        test_set = store.test_set(name)
        class_map = store.class_maps.read(test_set)
        space = test_set.class_space
        content[name] = (test_set.digest, space.names, dict(space.groups), class_map and class_map.sources)
        content[f"{name} slices"] = {each.name: each.digest for each in test_set.slice_sets}
        content[f"{name} images"] = _images(store, test_set) if store.images.has(name) else None
        for model in (*store.predictions.model_names(name), *store.predictions.people_names(name)):
            content[f"{name} {model}"] = store.predictions.read(test_set, model).digest
        for labels in store.labels.names(name):
            judged = store.labels.read(test_set, labels)
            review = store.reviews.read(test_set, judged)
            content[f"{name} {labels}"] = (judged.digest, review and (review.states.tolist(), dict(review.reasons)))
    for kind in ("checkpoints", "mistakes"):
        for path in sorted((workspace / kind).rglob("*")):
            if path.name == "manifest.json":
                content[str(path)] = json.loads(path.read_text())["digest"]
            elif path.suffix == ".parquet":
                content[str(path)] = sorted(pq.read_table(path).to_pylist(), key=lambda row: row["example"])
    content["ledger"] = ledger_rows(workspace)
    return content


def _images(store: Store, test_set: TestSet) -> list[bytes | None]:
    """The content of all images, None for images that cannot be read."""
    images: list[bytes | None] = []
    for place in range(len(test_set)):
        try:
            images.append(bytes(open_images(store.images.read(test_set)).read(place)))
        except InputError:
            images.append(None)
    return images


def ledger_rows(workspace: Path) -> list[dict[str, object]]:
    ledger = regrade.open(workspace).ledger
    rows = ledger.rows()
    ledger.engine.dispose()
    return rows


# Folders of images


def damage_folder(root: Path, rng: random.Random) -> str:
    """Mutate a folder of images with one subfolder per class, and return a description of the mutation."""
    images = sorted(path for path in root.rglob("*.png"))
    image = rng.choice(images)
    ways: dict[str, Callable[[], object]] = {
        "an image is gone": image.unlink,
        "an image is empty": lambda: image.write_bytes(b""),
        "an image is cut": lambda: image.write_bytes(image.read_bytes()[:40]),
        "an image has no suffix": lambda: image.rename(image.with_suffix("")),
        "an image is text": lambda: image.rename(image.with_suffix(".txt")),
        "text without a suffix": lambda: (root / "README").write_text("hello"),
        "an unknown kind": lambda: (image.parent / "z.xyz").write_bytes(b"xyz"),
        "a link to itself": lambda: (image.parent / "loop").symlink_to(image.parent / "loop"),
        "a link back up": lambda: (image.parent / "up").symlink_to(root),
        "a link to nowhere": lambda: (image.parent / "z.png").symlink_to(root / "none.png"),
        "a name that is not UTF-8": lambda: image.rename(os.fsdecode(os.fsencode(image.parent) + b"/\xff.png")),
        "a folder that is not UTF-8": lambda: image.parent.rename(os.fsdecode(os.fsencode(root) + b"/\xff")),
        "a very long name": lambda: image.rename(image.with_name("x" * 240 + ".png")),
        "a folder of no class": lambda: image.parent.rename(root / "nothing"),
        "an image outside the folders": lambda: image.rename(root / image.name),
        "a folder like an image": (image.parent / "folder.png").mkdir,
        "a pipe": lambda: os.mkfifo(image.parent / "pipe.png"),
        "a control character": lambda: image.rename(image.with_name("a\nb.png")),
    }
    what = rng.choice(sorted(ways))
    ways[what]()
    return what


def image_folder(root: Path) -> Path:
    return folders(root, SPACE.ids)
