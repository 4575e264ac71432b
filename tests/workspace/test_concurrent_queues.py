"""Queues filled concurrently: no item is queued twice."""

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


def queued_pairs(root: Path) -> Counter:
    workspace = regrade.open(root)
    ledger = workspace.ledger
    pairs = Counter(pair for queue in ledger.queues.all() for pair in ledger.items.pairs(queue))
    ledger.engine.dispose()
    return pairs


@pytest.mark.parametrize("names", [("same",) * WORKERS, tuple("abcd")], ids=["one queue", "four queues"])
def test_queue_novel_concurrently_queues_each_prediction_once(root, names):
    def queue(workspace, number):
        try:
            workspace.review.queue_novel("shelf", labels="own", name=names[number])
        except InputError as nothing_left:
            assert "no novel prediction is left" in str(nothing_left)

    at_once(root, queue)
    novel = regrade.open(root).labels.novel("shelf", labels="own")
    assert set(queued_pairs(root).values()) == {1}
    assert len(queued_pairs(root)) == len(novel.examples)


def test_queue_novel_samples_concurrently_are_disjoint(root):
    at_once(root, lambda workspace, _: workspace.review.queue_novel("shelf", labels="own", size=3, name="sample"))
    assert len(queued_pairs(root)) == 3 * WORKERS and set(queued_pairs(root).values()) == {1}


def test_queue_labels_concurrently_are_disjoint(root):
    at_once(root, lambda workspace, number: workspace.review.queue_labels("shelf", size=5, name=f"exam {number}"))
    assert len(queued_pairs(root)) == 5 * WORKERS and set(queued_pairs(root).values()) == {1}
