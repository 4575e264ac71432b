"""Queues of a model's wrong answers and people who vote on them, for tests of the panel's pages."""

import itertools

from regrade.ledger import NewItem, Queue, VoteContent
from regrade.workspace import Workspace

_keys = itertools.count()


def wrong_answers(workspace: Workspace, name: str, question, *, count: int, overlap: int, model: str = "") -> Queue:
    """A queue of the first answers of gamma that are not the digits' own labels."""
    ledger, target = workspace.ledger, workspace.store.test_set("digits")
    top = workspace.store.predictions(target, "gamma").top1
    wrong = [n for n in range(len(target)) if top[n] != target.labels[n]][:count]
    queue = ledger.open_queue(name, question, test_set="digits", labels="multi@1", overlap=overlap, model=model)
    ledger.add_items(queue, [NewItem(target.ids[n], target.class_space.ids[top[n]]) for n in wrong])
    return queue


def said(workspace: Workspace, item: int, *, reason: str = "", why: str = "", **answers: str | tuple[str, str]) -> None:
    """Let people vote: ``said(workspace, item, Rita="correct")``, a pair where there is a severity."""
    for name, answer in answers.items():
        given, severity = answer if isinstance(answer, tuple) else (answer, None)
        ballot = VoteContent(f"panel-key-{next(_keys)}", given, severity, reason, why)
        workspace.ledger.vote(item, workspace.ledger.person(name), ballot)
