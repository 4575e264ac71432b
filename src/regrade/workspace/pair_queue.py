"""Queue near duplicates of a test set for people to decide, and publish their decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from regrade.core import MismatchError, PairDecision, PairSearch, TestSet
from regrade.core.amounts import amount
from regrade.core.image_pairs import relation_of
from regrade.core.panel import PairRelation
from regrade.display.wording import listed
from regrade.store import DecisionBatch, Store
from regrade.workspace.queue_result import PublishResult, QueueResult, items_by_state

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue


def queue_pairs(
    store: Store, ledger: Ledger, test_set: TestSet, search: PairSearch, *, name: str | None, overlap: int | None
) -> QueueResult:
    """Put the pairs of a search without a decision into a queue, nearest first; equal pixels need no decision."""
    from regrade.ledger import NewItem, Question
    from regrade.workspace.queue_filling import QueueFiller

    sets = [test_set] if search.is_within else [test_set, store.test_set(search.against)]
    decisions = store.pair_decisions.standing(sets)
    undecided = [pair for pair in search.pairs if relation_of(pair, decisions) is None]
    ordered = sorted(undecided, key=lambda pair: (pair.closeness(search.targets), pair.key))
    usual = f"{test_set.name} pairs" if search.is_within else f"{test_set.name} pairs in {search.against}"
    filler = QueueFiller(ledger, usual if name is None else name, Question.PAIR, test_set, overlap=overlap)
    exact = sum(pair.is_exact for pair in search.pairs)
    notes = (
        f"pairs: {len(search.pairs):,}; equal pixels: {exact:,}; decided before: "
        f"{len(search.pairs) - exact - len(undecided):,}",
    )
    return filler.add([NewItem(pair.first.image, pair.key) for pair in ordered], notes=notes)


def publish_pairs(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """Store the decisions of a queue on pairs that differ from those it published before."""
    stored = {
        decision.key: decision for decision in store.pair_decisions.read(test_set) if decision.queue == queue.name
    }
    before = {key: decision for key, decision in stored.items() if decision.relation is not None}
    after = _decided(store, ledger, queue)
    changed = [
        decision for key, decision in after.items() if key not in before or before[key].relation != decision.relation
    ]
    withdrawn = [
        PairDecision(decision.first, decision.second, None, queue.name, decision.at)
        for key, decision in before.items()
        if key not in after
    ]
    changes, notes = _changes(before, after), _notes_on_conflicts(store, test_set, queue, changed)
    if changes and not dry_run:
        batch = DecisionBatch(test_set.name, test_set.digest, queue.name, (*changed, *withdrawn))
        store.pair_decisions.append(batch)
    parts = items_by_state(ledger.queues.progress(queue))
    return PublishResult(queue.name, f"pairs of {test_set.name}", changes, bool(changes) and not dry_run, parts, notes)


def _notes_on_conflicts(
    store: Store, test_set: TestSet, queue: Queue, decisions: Sequence[PairDecision]
) -> tuple[str, ...]:
    """A note on pairs that another queue has decided otherwise: the later decision holds."""
    names = {side.test_set for decision in decisions for side in (decision.first, decision.second)}
    sets = [test_set, *(store.test_set(name) for name in sorted(names - {test_set.name}))]
    standing = store.pair_decisions.standing(sets)
    earlier = [standing[decision.key] for decision in decisions if decision.key in standing]
    relations = {decision.key: decision.relation for decision in decisions}
    conflicts = [each for each in earlier if each.queue != queue.name and each.relation != relations[each.key]]
    if not conflicts:
        return ()
    queues = listed(sorted({repr(each.queue) for each in conflicts}))
    return (f"{amount(len(conflicts), 'pair')} decided otherwise by {queues} before: the later decision counts",)


def _decided(store: Store, ledger: Ledger, queue: Queue) -> dict[str, PairDecision]:
    """The current decisions of a queue, by the key of the pair."""
    pairs = store.pair_searches.pairs(queue.test_set)
    decided = {}
    for decision in ledger.decisions.of_queue(queue):
        pair = pairs.get(decision.class_id)
        if pair is None:
            raise MismatchError(
                f"the ledger has a decision on a pair with {decision.example!r} of {queue.test_set} that is not stored "
                "in this workspace: restore the folder pairs from a copy"
            )
        relation, at = PairRelation(decision.answer), decision.at.isoformat(timespec="seconds")
        decided[pair.key] = PairDecision(pair.first, pair.second, relation, queue.name, at)
    return decided


def _changes(before: Mapping[str, PairDecision], after: Mapping[str, PairDecision]) -> dict[str, int]:
    new = [decision.relation for key, decision in after.items() if key not in before]
    counts = {
        "new duplicates": new.count(PairRelation.DUPLICATE),
        "new different": new.count(PairRelation.DIFFERENT),
        "changed": sum(before[key].relation != after[key].relation for key in before.keys() & after.keys()),
        "taken back": len(before.keys() - after.keys()),
    }
    return {what: number for what, number in counts.items() if number}
