"""Queues that are filled at the same time: nothing is asked twice."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

import regrade
from benchmarks.fault_world import make_every_file
from regrade.core import InputError

WORKERS = 4


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_every_file(tmp_path).store.root


def at_once(root: Path, action) -> None:
    barrier = Barrier(WORKERS)

    def run(number: int) -> None:
        workspace = regrade.open(root)
        barrier.wait()
        action(workspace, number)
        workspace.ledger.engine.dispose()

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(run, range(WORKERS)))


def asked(root: Path) -> Counter:
    workspace = regrade.open(root)
    ledger = workspace.ledger
    pairs = Counter(pair for queue in ledger.queues() for pair in ledger.pairs(queue))
    ledger.engine.dispose()
    return pairs


@pytest.mark.parametrize("names", [("same",) * WORKERS, tuple("abcd")], ids=["one queue", "four queues"])
def test_novel_predictions_queued_at_once_are_asked_once(root, names):
    def queue(workspace, number):
        try:
            workspace.queue_novel("shelf", labels="own", name=names[number])
        except InputError as nothing_left:
            assert "no novel prediction is left" in str(nothing_left)

    at_once(root, queue)
    novel = regrade.open(root).novel("shelf", labels="own")
    assert set(asked(root).values()) == {1}
    assert len(asked(root)) == len(novel.examples)


def test_samples_queued_at_once_share_nothing(root):
    at_once(root, lambda workspace, _: workspace.queue_novel("shelf", labels="own", size=3, name="sample"))
    assert len(asked(root)) == 3 * WORKERS and set(asked(root).values()) == {1}


def test_examinations_drawn_at_once_share_no_image(root):
    at_once(root, lambda workspace, number: workspace.queue_labels("shelf", size=5, name=f"exam {number}"))
    assert len(asked(root)) == 5 * WORKERS and set(asked(root).values()) == {1}
