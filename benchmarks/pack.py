"""Import and grade the 67 models of Recht et al. 2019 end to end, with the commands of a user."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Finished, command
from benchmarks.result import Result, verify

_DATA = Path(__file__).parents[2] / "shared" / "data"
_PREDICTIONS = _DATA / "recht2019" / "imagenet-val.top5.parquet"
_REAL = _DATA / "real" / "real.json"
_ROUNDS = 2


def run() -> Iterator[Result]:
    if not (_PREDICTIONS.exists() and _REAL.exists()):
        print(f"  skipped: the data pack is not at {_DATA}")
        return
    rounds = [(ours(), theirs()) for _ in range(_ROUNDS)]
    _verify_agreement(rounds[0][0][-1], rounds[0][1])
    steps = min((mine for mine, _ in rounds), key=total)
    baseline = min((script for _, script in rounds), key=lambda done: done.seconds)
    memory, baseline_name = max(step.gigabytes for step in steps), "pandas + statsmodels script"
    parts = ", ".join(f"{name} {step.seconds:.1f}" for name, step in zip(_STEPS, steps, strict=True))
    yield Result(
        "pack", f"67 models end to end ({parts})", "s", total(steps), baseline.seconds, baseline_name, aim_most=10
    )
    yield Result("pack", "67 models, peak memory", "GB", memory, baseline.gigabytes, baseline_name, aim_most=1)
    yield Result(
        "pack", "67 models, grade again once imported", "s", steps[-1].seconds, baseline.seconds, baseline_name
    )


_STEPS = ("init", "predictions", "labels", "grade")


def ours() -> list[Finished]:
    """The four commands, in a new workspace."""
    regrade = Path(sys.executable).with_name("regrade")
    on = ("--test-set", "imagenet-val")
    with tempfile.TemporaryDirectory() as folder:
        inside = ("-w", Path(folder) / "W")
        return [
            command([regrade, "init", inside[1]]),
            command([regrade, "import", "predictions", _PREDICTIONS, *on, "--classes", "imagenet-1k", *inside]),
            command([regrade, "import", "labels", _REAL, "--format", "real", *on, "--name", "real", *inside]),
            command([regrade, "grade", *on, "--labels", "real", *inside, "--json"]),
        ]


def theirs() -> Finished:
    return command([sys.executable, "-m", "benchmarks.plain_grade", _PREDICTIONS, _REAL])


def total(steps: list[Finished]) -> float:
    return sum(step.seconds for step in steps)


def _verify_agreement(mine: Finished, baseline: Finished) -> None:
    rows = {row["model"]: row for row in json.loads(mine.output)["rows"]}
    plain = {row["model"]: row for row in json.loads(baseline.output)}
    same = rows.keys() == plain.keys() and all(
        np.allclose([rows[model][key][part] for part in ("value", "low", "high")], plain[model][key], rtol=1e-9)
        for model in plain
        for key in ("top1", "top5", "multilabel")
    )
    verify(same, f"{len(plain)} models x top-1, top-5 and ReaL with intervals are equal")
