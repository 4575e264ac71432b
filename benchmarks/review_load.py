"""Simulated reviewers who vote over HTTP, with a workspace to judge and a server that can be killed."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import regrade
from regrade.app.sessions import Sessions
from regrade.core import ClassSpace, ImageSource, TestSet
from regrade.ledger import NewItem, Question, Role
from regrade.workspace import Workspace


@dataclass
class ResponseTimes:
    """Response times in seconds by kind of request, and the keys of the confirmed votes."""

    votes: list[float] = field(default_factory=list)
    nexts: list[float] = field(default_factory=list)
    confirmed: list[str] = field(default_factory=list)


def judged_workspace(root: Path, ledger: str, *, reviewers: int, items: int) -> Workspace:
    """A workspace with predictions to judge, without image files: only the app and the ledger are measured."""
    regrade.init(root)
    settings = (root / "regrade.toml").read_text(encoding="utf-8")
    (root / "regrade.toml").write_text(settings.replace('"ledger.sqlite"', json.dumps(ledger)), encoding="utf-8")
    workspace = regrade.open(root)
    space = ClassSpace("few", tuple("abcdefghij"))
    examples = items // len(space)
    labels = np.arange(examples) % len(space)
    test_set = TestSet("images", space, tuple(f"image {n}" for n in range(examples)), labels)
    workspace.store.add_test_set(test_set)
    workspace.store.add_images(test_set, ImageSource("folder", "/nowhere", test_set.ids))
    people = [workspace.ledger.people.add(f"reviewer {n}", Role.REVIEWER) for n in range(reviewers)]
    workspace.ledger.people.set_role(people[0], Role.OWNER)
    queue = workspace.ledger.queues.create("all", Question.JUDGE, test_set="images", overlap=3)
    pairs = [NewItem(f"image {n}", class_id) for n in range(examples) for class_id in space.ids]
    workspace.ledger.items.add(queue, pairs)
    return workspace


def cookies_of(workspace: Workspace) -> list[tuple[str, str]]:
    """The cookie and the token of every reviewer."""
    sessions = Sessions(workspace.ledger.accounts)
    cookies = []
    for person in workspace.ledger.people.all():
        cookie = sessions.cookie_for(person)
        session = sessions.session_of(cookie)
        cookies.append((f"{sessions.cookie_name}={cookie}", session.token if session else ""))
    return cookies


class ReviewServer:
    """`regrade serve --accounts` in a new process."""

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


async def load(
    port: int, cookies: list[tuple[str, str]], *, pace: float, seconds: float, kill: ReviewServer | None = None
) -> ResponseTimes:
    times = ResponseTimes()
    end = time.perf_counter() + seconds
    reviewers = (
        _reviewer(ReviewConnection(port, *cookie), times, pace=pace, end=end, late=n / len(cookies))
        for n, cookie in enumerate(cookies)
    )
    working = asyncio.gather(*reviewers, return_exceptions=kill is not None)
    if kill is not None:
        await asyncio.sleep(seconds / 2)
        kill.stop()
    await working
    return times


async def _reviewer(
    connection: ReviewConnection, times: ResponseTimes, *, pace: float, end: float, late: float
) -> None:
    """Request an item, wait a random time as if looking at the image, vote, and repeat."""
    rng = Random(late)
    await connection.open()
    await asyncio.sleep(pace * late)
    try:
        while time.perf_counter() < end:
            begin = time.perf_counter()
            item = (await connection.request("GET", "/api/queues/1/next"))["item"]
            times.nexts.append(time.perf_counter() - begin)
            if item is None:
                return
            if pace:
                await asyncio.sleep(pace * rng.uniform(0.5, 1.5))
            vote = {"item": item["id"], "key": secrets.token_hex(16), "answer": "wrong", "seconds": pace}
            begin = time.perf_counter()
            await connection.request("POST", "/api/queues/1/votes", vote)
            times.votes.append(time.perf_counter() - begin)
            times.confirmed.append(vote["key"])
    finally:
        connection.close()


class ReviewConnection:
    """A persistent HTTP connection, like that of a browser."""

    def __init__(self, port: int, cookie: str, token: str) -> None:
        self.port, self.cookie, self.token = port, cookie, token

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    def close(self) -> None:
        self.writer.close()

    async def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
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
