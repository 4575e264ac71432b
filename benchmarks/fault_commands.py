"""Faults of whole commands: killed at random times, on a full disk, and run concurrently."""

from __future__ import annotations

import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import regrade
from benchmarks.fault_world import CLASSES, read_every_file
from regrade.core import FINGERPRINT, RegradeError
from regrade.store import Manifest, Store

_MODEL = f"""
import numpy as np
from regrade.core import ClassSpace, Preprocessing

def scores(batch):
    return batch.reshape(len(batch), -1)[:, :{len(CLASSES)}].astype(np.float32)

scores.class_space = ClassSpace("toys", {CLASSES!r})
"""
_KEPT = "all kept, nothing twice"
_LIMIT = 120  # seconds after which a command counts as hanging


def _commands(template: Path) -> dict[str, tuple[str | Path, ...]]:
    """Commands that change a workspace, by name."""
    (template / "model.py").write_text(_MODEL)
    return {
        "predict": ("predict", f"python:{template / 'model.py'}:scores", "-t", "shelf", "--size", "16"),
        "import predictions": ("import", "predictions", template / "models.csv", "-t", "new", "--classes", "toys"),
        "import people": ("import", "people", template / "people.csv", "-t", "shelf"),
        "import labels": ("import", "labels", template / "labels.csv", "-t", "shelf", "--name", "own", "--new-version"),
        "publish people": ("review", "publish", "exam"),
        "publish labels": ("review", "publish", "novel"),
        "corrupt": ("testsets", "corrupt", "shelf", "--name", "foggy", "--corruption", "fog"),
    }


def killed_processes(template: Path, work: Path, seconds: float) -> Iterator[str]:
    """Commands killed after a random time; run again, they must give the same result as an undisturbed run."""
    rng, end = random.Random(0), time.monotonic() + seconds
    old = _state(template / "W")
    for name, command in _endless(_commands(template)):
        finished = _copied(template, work / "finished")
        begin = time.monotonic()
        _run(command, finished)
        lasted, new = time.monotonic() - begin, _state(finished)
        for _ in range(5):
            if time.monotonic() > end:
                return
            root = _copied(template, work / "W")
            process = _started(command, root)
            time.sleep(rng.uniform(0.3, 1.0) * lasted)
            process.kill()
            process.communicate()
            if _state(root) not in (old, new):
                yield f"half done by {name}"
            again = _run(command, root)
            yield _outcome([again], _state(root) == new, "completed by the next run", f"half done by {name}")


def disk_full(template: Path, work: Path, seconds: float) -> Iterator[str]:
    """Commands with a tiny limit on file size: they must either succeed or fail with one line and change nothing."""
    rng, end = random.Random(1), time.monotonic() + seconds
    old = _state(template / "W")
    for name, command in _endless(_commands(template)):
        if time.monotonic() > end:
            return
        root = _copied(template, work / "W")
        done = _run(command, root, preexec_fn=_limited(rng.choice([0, 100, 1000, 5000, 20_000])))
        refused = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        if done.returncode:
            as_expected = _state(root) == old and len(refused) == 1
            yield _outcome([done], as_expected, "refused in one line", f"changed by {name}")
        else:
            _run(command, finished := _copied(template, work / "finished"))
            yield _outcome([done], _state(root) == _state(finished), "done", f"half done by {name}")


def several_writers(template: Path, work: Path, seconds: float) -> Iterator[str]:
    """The same kind of command run concurrently: everything acknowledged is stored, and nothing twice."""
    end = time.monotonic() + seconds
    for number in range(3):
        rows = [f"{n:03}.png,{CLASSES[(n + number) % 5]}" for n in range(20)]
        (template / f"labels-{number}.csv").write_text("\n".join(["image,class", *rows]) + "\n")
    while time.monotonic() < end:
        for outcome in (_versions_at_once, _samples_at_once, _queues_at_once):
            yield outcome(template, _copied(template, work / "W"))


def _versions_at_once(template: Path, root: Path) -> str:
    options = ("-t", "shelf", "--name", "own", "--new-version")
    commands = [("import", "labels", template / f"labels-{number}.csv", *options) for number in range(3)]
    before = len(Store.open(root).labels.names("shelf"))
    done = _at_once(commands, root)
    kept = len(Store.open(root).labels.names("shelf")) - before
    return _outcome(done, kept == sum(command.returncode == 0 for command in done), _KEPT, "versions lost or doubled")


def _samples_at_once(_: Path, root: Path) -> str:
    commands = [
        ("labels", "sample", "-t", "shelf", "-l", "own@1", "--size", "3", "--out", root / f"{number}.csv")
        for number in range(3)
    ]
    done = _at_once(commands, root)
    rows = [row for path in root.glob("?.csv") for row in path.read_text().splitlines()[1:]]
    return _outcome(done, len(rows) == len(set(rows)) == 9, _KEPT, "rows drawn twice")


def _queues_at_once(_: Path, root: Path) -> str:
    commands = [("review", "queue", "-t", "shelf", "-l", "own@1", "--name", f"queue {n}") for n in range(2)]
    done = _at_once(commands, root)
    ledger = regrade.open(root).ledger
    pairs = [
        pair for queue in ledger.queues.all() if queue.name.startswith("queue ") for pair in ledger.items.pairs(queue)
    ]
    ledger.engine.dispose()
    refused = [command for command in done if command.returncode]
    expected = len(pairs) == len(set(pairs)) and all(
        "no novel prediction is left" in command.stderr for command in refused
    )
    return _outcome([command for command in done if not command.returncode], expected, _KEPT, "items asked twice")


def _outcome(done: Sequence[subprocess.CompletedProcess[str]], as_expected: bool, good: str, bad: str) -> str:
    """The outcome of commands: a traceback, an unknown exit code, or whether the result is as expected."""
    for command in done:
        if "Traceback" in command.stderr:
            return "traceback"
        if command.returncode not in (0, 1):
            return f"exit code {command.returncode}"
    return good if as_expected else bad


def _endless(commands: dict[str, tuple[str | Path, ...]]) -> Iterator[tuple[str, tuple[str | Path, ...]]]:
    while True:
        yield from commands.items()


def _arguments(command: Sequence[str | Path], root: Path) -> list[str]:
    return [sys.executable, "-m", "regrade", *map(str, command), "-w", str(root)]


def _started(command: Sequence[str | Path], root: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(_arguments(command, root), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)


def _run(command: Sequence[str | Path], root: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _arguments(command, root), capture_output=True, text=True, check=False, timeout=_LIMIT, **options
    )


def _at_once(commands: Sequence[Sequence[str | Path]], root: Path) -> list[subprocess.CompletedProcess[str]]:
    processes = [_started(command, root) for command in commands]
    ended = []
    for process in processes:
        out, err = process.communicate(timeout=_LIMIT)
        ended.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    return ended


def _limited(size: int) -> Callable[[], None]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def _state(root: Path) -> object:
    """The content of a workspace, without the modification times of images, which differ between copies."""
    try:
        stored = read_every_file(Store.open(root))
    except RegradeError as error:
        return str(error)
    return {name: _without_times(*held) if name.startswith("predictions ") else held for name, held in stored.items()}


def _without_times(digest: str, images: bytes | None, manifest: Manifest) -> object:
    """Stored predictions without the modification times in the fingerprints of images."""
    fingerprints = np.frombuffer(images or b"", dtype=FINGERPRINT)[["digest", "size"]].tolist()
    files = {name: checksums for name, checksums in manifest.files.items() if name != "fingerprints.npy"}
    return digest, fingerprints, replace(manifest, files=files)


def _copied(template: Path, root: Path) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    return Path(shutil.copytree(template / "W", root))
