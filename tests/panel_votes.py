"""Queues of a model's wrong predictions, and votes on them, for tests of the panel's pages."""

import itertools

from regrade.ledger import NewItem, Queue, VoteContent
from regrade.workspace import Workspace

_keys = itertools.count()


def open_mistake_queue(
    workspace: Workspace, name: str, question, *, count: int, overlap: int, model: str = ""
) -> Queue:
    """A queue of the first predictions of gamma that differ from the original labels."""
    ledger, target = workspace.ledger, workspace.store.test_set("digits")
    top = workspace.store.predictions.read(target, "gamma").top1
    wrong = [n for n in range(len(target)) if top[n] != target.labels[n]][:count]
    queue = ledger.queues.create(name, question, test_set="digits", labels="multi@1", overlap=overlap, model=model)
    ledger.items.add(queue, [NewItem(target.ids[n], target.class_space.ids[top[n]]) for n in wrong])
    return queue


def cast_votes(
    workspace: Workspace, item: int, *, reason: str = "", why: str = "", **answers: str | tuple[str, str]
) -> None:
    """Let people vote: ``cast_votes(workspace, item, Rita="correct")``, with a pair (answer, severity) for mistakes."""
    for name, vote in answers.items():
        answer, severity = vote if isinstance(vote, tuple) else (vote, None)
        content = VoteContent(f"panel-key-{next(_keys)}", answer, severity, reason, why)
        workspace.ledger.votes.cast(item, workspace.ledger.people.named(name), content)
