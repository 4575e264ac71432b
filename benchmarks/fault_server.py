"""A server that is killed while people vote: every confirmed vote must be in the ledger exactly once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.review_load import ReviewServer, cookies_of, judged_workspace, load
from regrade.workspace import Workspace

_REVIEWERS = 8
_ITEMS = 20_000
_VOTING = 3.0  # seconds of voting before and after a kill


def killed_servers(work: Path, seconds: float) -> Iterator[str]:
    """Kill a server under load repeatedly; yields an outcome per confirmed vote and per kill."""
    end = time.monotonic() + seconds
    root = work / "served"
    workspace = judged_workspace(root, "ledger.sqlite", reviewers=_REVIEWERS, items=_ITEMS)
    cookies, server, confirmed = cookies_of(workspace), ReviewServer(root), list[str]()
    while time.monotonic() < end:
        server.start()
        confirmed += asyncio.run(load(server.port, cookies, pace=0.0, seconds=_VOTING, kill=server)).confirmed
        yield "server killed"
    yield from outcomes_of(workspace, confirmed)


def outcomes_of(workspace: Workspace, confirmed: Sequence[str]) -> Iterator[str]:
    """An outcome per confirmed vote, and one per vote or link of the chain that is wrong."""
    votes = [row for row in workspace.ledger.rows() if row["kind"] == "vote"]
    kept = {row["key"] for row in votes}
    yield from ("vote kept" if key in kept else "votes lost or doubled" for key in confirmed)
    people = {(row["person"], row["example"], row["class"]) for row in votes}
    yield from ["votes lost or doubled"] * (len(votes) - len(people))
    yield from ("votes lost or doubled" for _ in workspace.review.problems())
    workspace.ledger.engine.dispose()
