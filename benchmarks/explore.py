"""Response times of the pages of Explore over HTTP: 50,000 images, 100 models, and a queue of 100,000 items.

Half of the images are in the queue, and hidden from the owner who requests the pages.
"""

from __future__ import annotations

import http.client
import math
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

import regrade
from benchmarks.result import Result
from benchmarks.synthetic import correctness
from regrade.app.sessions import Sessions
from regrade.classes import class_space
from regrade.core import ImageSource, LabelSet, LabelState, Predictions, ScoreKind, Signatures, TestSet, Unlisted
from regrade.ledger import NewItem, Question, Role, VoteContent
from regrade.store import PredictionSource, SignatureKey, manifest_of
from regrade.workspace import Workspace

_MODELS, _IMAGES, _CLASSES, _ITEMS = 100, 50_000, 1_000, 100_000
_HIDDEN = _IMAGES // 2  # the first images are in the queue
_REQUESTS = 200
_SET = "synthetic"


def run() -> Iterator[Result]:
    """Create the workspace, serve it in a new process, and request pages one by one on one connection."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = simulated_workspace(Path(folder) / "W")
        cookie = _cookie(workspace)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "regrade", "serve", "--accounts", "--port", str(port), "-w", folder + "/W"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                yield from _page_times(_connected(port), cookie, server.pid, lambda: _vote(workspace))
            finally:
                server.kill()


def simulated_workspace(root: Path) -> Workspace:
    """Test set with signatures but no image files, models with their top 5 classes, a label set, and a queue."""
    rng = np.random.default_rng(0)
    workspace = regrade.init(root)
    space = class_space("imagenet-1k")
    ids = tuple(f"image {number:05}" for number in range(_IMAGES))
    labels = rng.integers(_CLASSES, size=_IMAGES)
    test_set = TestSet(_SET, space, ids, labels, {"part": tuple(f"part {number % 7}" for number in range(_IMAGES))})
    for number, right in enumerate(correctness(_MODELS, _IMAGES, rng)):
        first = np.where(right, labels, (labels + rng.integers(1, 30, _IMAGES)) % _CLASSES)
        classes = (first[:, None] + np.array([0, 30, 31, 32, 33])) % _CLASSES
        scores = np.sort(rng.random((_IMAGES, 5), dtype=np.float32), axis=1)[:, ::-1]
        answers = Predictions(
            f"model {number:03}", _SET, space.name, classes.astype(np.int32), np.ascontiguousarray(scores), None,
            ScoreKind.PROBABILITIES,
        )  # fmt: skip
        workspace.store.add_predictions(
            test_set, [(answers, manifest_of(answers, test_set, space, PredictionSource()))], space
        )
    workspace.store.labels.add(_labels(test_set), test_set)
    _sign(workspace, test_set, rng)
    queue = workspace.ledger.queues.create("queue", Question.JUDGE, test_set=_SET, labels="multi")
    items = [NewItem(ids[n % _HIDDEN], space.ids[(n + n // _HIDDEN) % _CLASSES]) for n in range(_ITEMS)]
    workspace.ledger.items.add(queue, items)
    return workspace


def _labels(test_set: TestSet) -> LabelSet:
    correct = np.full(_IMAGES, LabelState.CORRECT, dtype=np.int8)
    return LabelSet(
        "multi", 1, _SET, _CLASSES, np.arange(_IMAGES), test_set.labels, correct, np.ones(_IMAGES, dtype=bool),
        ("",) * _IMAGES, Unlisted.NOVEL,
    )  # fmt: skip


def _sign(workspace: Workspace, test_set: TestSet, rng: np.random.Generator) -> None:
    source = ImageSource("folder", "/nowhere", test_set.ids)
    workspace.store.add_images(test_set, source)
    times = Signatures(
        64,
        np.zeros((_IMAGES, 16), dtype=np.uint8),
        rng.integers(2**63, size=(_IMAGES, 2), dtype=np.uint64),
        np.zeros((_IMAGES, 1, 1, 3), dtype=np.uint8),
        np.ones(_IMAGES, dtype=np.int64),
    )
    workspace.store.signatures.add([times], (_SET, SignatureKey(source, 64)))


def _cookie(workspace: Workspace) -> str:
    owner = workspace.ledger.people.add("Olga", Role.OWNER)
    accounts = workspace.ledger.accounts
    accounts.accept(accounts.invite(owner), "correct horse battery")
    sessions = Sessions(accounts)
    return f"{sessions.cookie_name}={sessions.cookie_for(owner)}"


def _vote(workspace: Workspace) -> None:
    """Let another person vote on an item."""
    ledger = workspace.ledger
    people_by_name = {person.name: person for person in ledger.people.all()}
    reviewer = people_by_name.get("Rita") or ledger.people.add("Rita", Role.REVIEWER)
    item = ledger.items.next(ledger.queues.named("queue"), reviewer)
    if item is not None:
        ledger.votes.cast(item.id, reviewer, VoteContent(secrets.token_hex(8), "wrong"))


def _connected(port: int) -> http.client.HTTPConnection:
    for _ in range(300):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            connection.connect()
        except OSError:
            time.sleep(0.1)
            continue
        return connection
    raise SystemExit("the server did not start")


def _page_times(
    connection: http.client.HTTPConnection, cookie: str, process: int, vote: Callable[[], None]
) -> Iterator[Result]:
    rng = np.random.default_rng(1)

    def seconds(path: str, **query: object) -> float:
        start = time.perf_counter()
        connection.request("GET", f"{path}?{urlencode({'set': _SET, **query})}", headers={"Cookie": cookie})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path} {query} returned {answer.status}: {content[-300:].decode()}")
        return time.perf_counter() - start

    def model() -> str:
        return f"model {rng.integers(_MODELS):03}"

    def wnid() -> str:
        return class_space("imagenet-1k").ids[rng.integers(_CLASSES)]

    def visible() -> int:
        return int(rng.integers(_HIDDEN, _IMAGES))

    def after_a_vote() -> float:
        vote()
        return seconds("/explore/image", image=visible(), labels="multi")

    first = seconds("/explore/image", image=visible(), labels="multi")
    yield Result("explore", "the first page after a start", "s", first)
    pages: dict[str, Callable[[], float]] = {
        "image page": lambda: seconds("/explore/image", image=visible(), labels="multi"),
        "image page, someone has voted before it": after_a_vote,
        "image page among a model's mistakes": lambda: seconds(
            "/explore/image", image=visible(), model=model(), outcome="wrong"
        ),
        "class page": lambda: seconds("/explore/class", **{"class": wnid(), "labels": "multi"}),
        "grid of a model's mistakes": lambda: seconds(
            "/explore/images", model=model(), outcome="wrong", page=rng.integers(1, 100)
        ),
        "grid over all models": lambda: seconds(
            "/explore/images", label=wnid(), outcome="missed", labels="multi", order="hardest"
        ),
        "table and plot": lambda: seconds("/explore", labels="multi", sort="-top1"),
    }
    for case, ask in pages.items():
        ask()
        before = _processor(process)
        times = [1000 * ask() for _ in range(_REQUESTS)]
        worked = 1000 * (_processor(process) - before) / _REQUESTS
        yield Result("explore", f"{case}, processor", "ms", worked)
        yield Result("explore", f"{case}, median", "ms", percentile(times, 0.5))
        yield Result("explore", f"{case}, p95", "ms", percentile(times, 0.95), aim_most=100)
    yield Result("explore", "memory of the server, its temporary file left out", "GB", _own_memory(process))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is at least as large as this share of the values."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def _processor(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _own_memory(process: int) -> float:
    """Resident memory of a process in GB, without file-backed pages."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024 / 1e9
