"""The studies of the papers on 67 models and four test sets, end to end, as the commands a user types."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import command
from benchmarks.result import Result

_DATA = Path(__file__).parents[2] / "shared" / "data" / "recht2019"
_ORIGINAL = "imagenet-val"
_NEW = ("imagenetv2-matched-frequency", "imagenetv2-threshold-0.7", "imagenetv2-top-images")
_ROUNDS = 2
_NEW_SETS = tuple(part for name in _NEW for part in ("--new", name))
_STUDIES: dict[str, list[tuple[str, ...]]] = {
    "generalization": [("study", "generalization", "--original", _ORIGINAL, *_NEW_SETS, "--json")],
    "similarity": [("study", "similarity", "--test-set", name, "--json") for name in (_ORIGINAL, *_NEW)],
}


def run() -> Iterator[Result]:
    """Each study alone in a process of its own, then all together."""
    if not _DATA.is_dir():
        print(f"  skipped: the data pack is not at {_DATA}")
        return
    regrade = Path(sys.executable).with_name("regrade")
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "W"
        command([regrade, "init", workspace])
        for name in (_ORIGINAL, *_NEW):
            file, on = _DATA / f"{name}.top5.parquet", ("--test-set", name, "--classes", "imagenet-1k")
            command([regrade, "import", "predictions", file, *on, "-w", workspace])
        total = 0.0
        for name, commands in _STUDIES.items():
            rounds = [[command([regrade, *one, "-w", workspace]) for one in commands] for _ in range(_ROUNDS)]
            seconds = min(sum(done.seconds for done in each) for each in rounds)
            memory = max(done.gigabytes for each in rounds for done in each)
            total += seconds
            yield Result("studies", f"{name}, 67 models x 4 sets", "s", seconds)
            yield Result("studies", f"{name}, peak memory", "GB", memory, aim_most=4)
        yield Result("studies", "all studies, 67 models x 4 sets", "s", total, aim_most=15)
