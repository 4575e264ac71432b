"""Stored pairs and a queue of them, for tests of the app and of publishing."""

from regrade.core import ImagePair, PairSearch, PairSide
from regrade.ledger import NewItem, Question, Queue
from regrade.workspace import Workspace


def open_pair_queue(
    workspace: Workspace,
    *,
    count: int = 4,
    overlap: int = 1,
    name: str = "v2 pairs",
    test_set: str = "digits",
    against: str = "reference",
    mirrored: bool = False,
) -> Queue:
    """Pairs of the first images of two test sets, and a queue that asks about them."""
    first, second = workspace.store.test_set(test_set), workspace.store.test_set(against)
    pairs = tuple(
        ImagePair(
            PairSide(first.name, image), PairSide(second.name, reference), {"pixels": 1e7, "dssim": 0.125}, mirrored
        )
        for image, reference in zip(first.ids[:count], second.ids[:count], strict=True)
    )
    targets = {"pixels": 1.2e8, "dssim": 0.2205}
    compared = tuple(first.ids)
    workspace.store.pair_searches.append(
        PairSearch(first.name, first.digest, second.name, second.digest, targets, 30, 256, "", "", compared, pairs)
    )
    queue = workspace.ledger.queues.create(name, Question.PAIR, test_set=first.name, overlap=overlap, build="v2")
    workspace.ledger.items.add(queue, [NewItem(pair.first.image, pair.key) for pair in pairs])
    return queue
