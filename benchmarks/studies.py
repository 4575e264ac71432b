"""The studies on 67 models and four test sets end to end, with the commands of a user."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.measure import command
from benchmarks.result import Result

PACK = Path(__file__).parents[2] / "shared" / "data"
DATA = PACK / "recht2019"
_PEOPLE, _ASKED = 5, 1_000
ORIGINAL = "imagenet-val"
NEW = ("imagenetv2-matched-frequency", "imagenetv2-threshold-0.7", "imagenetv2-top-images")
_ROUNDS = 2
_NEW_SETS = tuple(part for name in NEW for part in ("--new", name))
_STUDIES: dict[str, list[tuple[str, ...]]] = {
    "generalization, 67 models x 4 sets": [("study", "generalization", "--original", ORIGINAL, *_NEW_SETS, "--json")],
    "similarity, 67 models x 4 sets": [
        ("study", "similarity", "--test-set", name, "--json") for name in (ORIGINAL, *NEW)
    ],
    "mistakes, 67 models against ReaL": [("study", "mistakes", "--test-set", ORIGINAL, "--labels", "real", "--json")],
    "people, 5 with 67 models": [("study", "people", "--test-set", ORIGINAL, "--json")],
}


def run() -> Iterator[Result]:
    """Each study in a new process, then the total."""
    if not DATA.is_dir():
        print(f"  skipped: the data pack is not at {DATA}")
        return
    regrade = Path(sys.executable).with_name("regrade")
    with tempfile.TemporaryDirectory() as folder:
        workspace = pack_workspace(regrade, Path(folder))
        people = _simulated_people(Path(folder))
        command([regrade, "import", "people", people, "--test-set", ORIGINAL, "-w", workspace])
        total = 0.0
        for name, commands in _STUDIES.items():
            rounds = [
                [command([regrade, *arguments, "-w", workspace]) for arguments in commands] for _ in range(_ROUNDS)
            ]
            seconds = min(sum(done.seconds for done in each) for each in rounds)
            memory = max(done.gigabytes for each in rounds for done in each)
            total += seconds
            yield Result("studies", name, "s", seconds)
            yield Result("studies", f"{name}, peak memory", "GB", memory, aim_most=4)
        yield Result("studies", "all studies", "s", total, aim_most=15)


def pack_workspace(regrade: Path, folder: Path) -> Path:
    """A workspace with the predictions of 67 models on four test sets, and the ReaL labels."""
    workspace = folder / "W"
    command([regrade, "init", workspace])
    for name in (ORIGINAL, *NEW):
        on = ("--test-set", name, "--classes", "imagenet-1k", "-w", workspace)
        command([regrade, "import", "predictions", DATA / f"{name}.top5.parquet", *on])
    labels = ("--format", "real", "--name", "real", "--test-set", ORIGINAL, "-w", workspace)
    command([regrade, "import", "labels", PACK / "real" / "real.json", *labels])
    return workspace


def _simulated_people(folder: Path) -> Path:
    """Simulated people who label 1,000 images each with 90% accuracy."""
    rng = np.random.default_rng(0)
    table = pq.read_table(DATA / f"{ORIGINAL}.top5.parquet", columns=["image", "wnid"])
    classes = table["wnid"].unique().to_pylist()
    rows = ["image,class,person"]
    for person in range(_PEOPLE):
        for image, wnid in zip(table["image"][:_ASKED].to_pylist(), table["wnid"][:_ASKED].to_pylist(), strict=True):
            rows.append(f"{image},{wnid if rng.random() < 0.9 else rng.choice(classes)},{'ABCDE'[person]}")
    path = folder / "people.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
