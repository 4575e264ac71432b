"""Faults: kills, damage, a full disk and concurrent writers; counts data that is lost, duplicated or wrong.

Bounded in time: every kind of fault takes its share of ``REGRADE_FAULT_SECONDS`` (default: 240).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.fault_commands import disk_full, killed_processes, several_writers
from benchmarks.fault_database import killed_databases
from benchmarks.fault_server import killed_servers
from benchmarks.fault_world import add_published_queues, make_every_file, read_every_file
from benchmarks.kill_scenarios import SCENARIOS, run_scenario, write_inputs
from benchmarks.kills import count_changes, run_killed
from benchmarks.result import Result
from regrade.core import RegradeError
from regrade.store import Store

_SECONDS = float(os.environ.get("REGRADE_FAULT_SECONDS", "240"))
_KINDS = 7


def run() -> Iterator[Result]:
    """All kinds of faults in turn; the aim is zero bad outcomes."""
    share = _SECONDS / _KINDS
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "template"
        template.mkdir()
        add_published_queues(make_every_file(template))
        write_inputs(template)
        work = Path(folder) / "work"
        yield from _reported("killed at a write step", killed_steps(template, work, share), "as before", "complete")
        yield from _reported("damaged file", damaged_files(template, work, share), "named", "the same")
        yield from _reported("killed process", killed_processes(template, work, share), "completed by the next run")
        yield from _reported("full disk", disk_full(template, work, share), "refused in one line", "done")
        yield from _reported("several writers", several_writers(template, work, share), "all kept, nothing twice")
        yield from _reported("killed server", killed_servers(work, share), "vote kept", "server killed")
        databases = killed_databases(work, share)
        yield from _reported("killed PostgreSQL", databases, "vote kept", "database killed")


def _reported(kind: str, outcomes: Iterator[str], *good: str) -> Iterator[Result]:
    """The counts of good outcomes, and of all bad outcomes together, which are named."""
    counts = Counter(outcomes)
    for outcome in good:
        yield Result("faults", f"{kind}: {outcome}", "times", counts.pop(outcome, 0))
    named = f" ({', '.join(sorted(counts))})" if counts else ""
    yield Result("faults", f"{kind}: anything else{named}", "times", counts.total(), aim_most=1)


def killed_steps(template: Path, work: Path, seconds: float) -> Iterator[str]:
    """Commands that change several files, killed before each of their changes, in random order."""
    rng, old = np.random.default_rng(2), read_every_file(Store.open(template / "W"))
    states, steps = dict[str, object](), dict[str, list[int]]()
    for name in SCENARIOS:
        root = _fresh(template, work)
        count = count_changes(partial(run_scenario, name, root, template), below=root)
        states[name], steps[name] = read_every_file(Store.open(root)), rng.permutation(count).tolist()
    end = time.monotonic() + seconds
    while any(steps.values()):
        for name in (name for name, remaining in steps.items() if remaining):
            if time.monotonic() > end:
                return
            root = _fresh(template, work)
            run_killed(partial(run_scenario, name, root, template), at=steps[name].pop(), below=root)
            yield _state_of(root, {"as before": old, "complete": states[name]})


def _state_of(root: Path, states_by_name: dict[str, object]) -> str:
    """Which of these states a workspace is in after the next command has opened it."""
    try:
        state = read_every_file(Store.open(root))
    except RegradeError as error:
        return f"refused: {type(error).__name__}"
    except Exception:
        return "traceback"
    if any(path.name in (".staging", ".partial") or path.name.endswith(".tmp") for path in root.iterdir()):
        return "left behind"
    return next((name for name, expected in states_by_name.items() if state == expected), "half done")


def damaged_files(template: Path, work: Path, seconds: float) -> Iterator[str]:
    """Read stored files with flipped bits, zeroed blocks, truncated, emptied or extended."""
    rng, end = np.random.default_rng(0), time.monotonic() + seconds
    root = _fresh(template, work)
    sound = read_every_file(Store.open(root))
    files = [
        path for path in sorted(root.rglob("*")) if path.is_file() and path.suffix in (".parquet", ".npy", ".json")
    ]
    while time.monotonic() < end:
        path = files[rng.integers(len(files))]
        content = path.read_bytes()
        path.write_bytes(_DAMAGES[rng.integers(len(_DAMAGES))](content, rng))
        if path.read_bytes() != content:
            yield _after_damage(root, path, sound)
        path.write_bytes(content)


def _after_damage(root: Path, path: Path, sound: object) -> str:
    try:
        state = read_every_file(Store.open(root))
    except RegradeError as error:
        return "named" if path.name in str(error) else "refused without its name"
    except Exception:
        return "traceback"
    return "the same" if state == sound else "silently wrong"


def _flip(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _zero(content: bytes, rng: np.random.Generator) -> bytes:
    start, size = int(rng.integers(len(content))), int(rng.integers(1, 512))
    return content[:start] + bytes(min(size, len(content) - start)) + content[start + size :]


_DAMAGES: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    _flip,
    _zero,
    lambda content, rng: content[: int(rng.integers(len(content)))],
    lambda content, rng: content + rng.bytes(int(rng.integers(1, 64))),
)


def _fresh(template: Path, work: Path) -> Path:
    """A fresh copy of the workspace."""
    shutil.rmtree(work, ignore_errors=True)
    return Path(shutil.copytree(template / "W", work / "W"))
