"""Audits of labels in a workspace: what is drawn, what the decisions change, and what they estimate."""

import numpy as np
import pytest
from judging import people, vote

import regrade
from regrade.core import InputError, LabelAudit, LabelState, MismatchError, StoreError, UnknownName
from regrade.ledger import Purpose

IMAGES = tuple(f"i{n}" for n in range(8))
OWN = ("cat", "dog", "bird", "cat", "ship", "frog", "deer", "horse")
MODELS = {  # both predict the label on i0, i1, i4, i5 and i7
    "one": ("cat", "dog", "cat", "dog", "ship", "frog", "deer", "horse"),
    "two": ("cat", "dog", "bird", "cat", "ship", "frog", "frog", "horse"),
}
AGREED = {("i0", "cat"), ("i1", "dog"), ("i4", "ship"), ("i5", "frog")}  # i7 is not covered
LABELED = [
    *((image, own, "correct", "") for image, own in zip(IMAGES[:7], OWN, strict=False)),
    ("i3", "dog", "correct", ""),  # both models are right on i3, with different classes
]
AUDIT = "audit s own@1"


@pytest.fixture
def workspace(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    for name, answers in MODELS.items():
        file = tmp_path / f"{name}.csv"
        rows = (",".join(row) for row in zip(IMAGES, OWN, answers, strict=True))
        file.write_text("\n".join([f"image,label,{name}", *rows]) + "\n")
        workspace.models.import_predictions(file, test_set="s", classes="cifar-10")
    file = tmp_path / "labels.csv"
    file.write_text("\n".join(["image,class,state,problematic", *map(",".join, LABELED)]) + "\n")
    workspace.labels.import_file(file, test_set="s", name="own")
    yield workspace
    workspace.ledger.engine.dispose()


def audit(workspace, size, **more):
    return workspace.review.queue_audit("s", labels="own", size=size, **more)


def decide(workspace, answers, *, queue=AUDIT, **more):
    """One person's votes, in a queue whose items need one."""
    (ada,) = people(workspace.ledger, "Ada")
    for pair, answer in answers.items():
        vote(workspace.ledger, workspace.ledger.queues.named(queue), ada, pair, answer, **more)


def outcome_of(result, outcome):
    return next(row for row in result.audits[0].outcomes if row.outcome == outcome)


def test_audit_draws_labels_that_all_models_predict(workspace):
    result = audit(workspace, 4)
    queue = workspace.ledger.queues.named(AUDIT)
    assert set(workspace.ledger.items.pairs(queue)) == AGREED
    assert (queue.purpose, queue.labels, result.added) == (Purpose.AUDIT, "own@1", 4)
    assert "labels that all of 2 models predict: 4 of 7 scored images" in result.notes
    assert "all correct, but not the same class, and so not audited: 1 image" in result.notes


def test_audit_shares_no_item_with_the_queue_of_predictions(workspace):
    audit(workspace, 4)
    novel = workspace.review.queue_novel("s", labels="own")
    pairs = set(workspace.ledger.items.pairs(workspace.ledger.queues.named(novel.queue)))
    assert pairs and not pairs & AGREED


def test_further_calls_continue_the_random_order(workspace):
    audit(workspace, 1, seed=3)
    assert audit(workspace, 2).items == 3
    twice = workspace.ledger.items.pairs(workspace.ledger.queues.named(AUDIT))
    audit(workspace, 3, seed=3, name="at once")
    assert twice == workspace.ledger.items.pairs(workspace.ledger.queues.named("at once"))
    with pytest.raises(InputError, match="1 labels can still be drawn, got a size of 2"):
        audit(workspace, 2)


def test_interrupted_call_adds_its_items_with_the_next_call(workspace):
    audit(workspace, 1)
    target = workspace.store.test_set("s")
    workspace.store.audits.add(workspace.store.audits.read(target, AUDIT).draw(2), target)
    assert audit(workspace, 2).items == 3
    assert workspace.store.audits.read(target, AUDIT).drawn == 3


def test_published_audit_corrects_judged_labels_only(workspace):
    audit(workspace, 4)
    decide(workspace, {("i0", "cat"): "wrong", ("i1", "dog"): "correct"})
    preview = workspace.review.publish(AUDIT, dry_run=True)
    assert not preview.written and preview.changes == {"correct now wrong": 1, "decisions of the audit": 2}
    assert workspace.labels.names("s") == ("own@1",)
    assert workspace.review.publish(AUDIT).changes == preview.changes
    target = workspace.store.test_set("s")
    before, after = (workspace.store.labels.read(target, f"own@{version}") for version in (1, 2))
    changed = np.flatnonzero(before.states_of(target.labels) != after.states_of(target.labels))
    assert [target.ids[position] for position in changed] == ["i0"]
    assert workspace.review.publish(AUDIT).changes == {}


def test_audit_estimates_the_share_of_wrong_labels(workspace):
    audit(workspace, 4)
    decide(workspace, {("i0", "cat"): "wrong", ("i1", "dog"): "correct", ("i4", "ship"): "correct"})
    decide(workspace, {("i5", "frog"): "problematic"}, reason="drawing")
    workspace.review.publish(AUDIT)
    result = workspace.labels.audit("s")
    wrong, problematic = outcome_of(result, "wrong"), outcome_of(result, "problematic")
    assert (wrong.count, wrong.share.value, wrong.share.low, wrong.share.high) == (1, 0.25, 0.25, 0.25)
    assert (wrong.labels_low, wrong.labels_high, problematic.count) == (1, 1, 1)


def test_undecided_labels_widen_the_interval(workspace):
    audit(workspace, 4)
    decide(workspace, {("i0", "cat"): "wrong", ("i1", "dog"): "correct"})
    workspace.review.publish(AUDIT)
    result = workspace.labels.audit("s", labels="own")
    wrong = outcome_of(result, "wrong")
    assert (wrong.share.value, wrong.share.low, wrong.share.high) == (0.5, 0.25, 0.75)
    assert f"{AUDIT}: undecided are 2 drawn labels; the intervals allow for any outcome" in str(result)


def test_withdrawn_decision_is_withdrawn_from_the_audit(workspace):
    audit(workspace, 4)
    decide(workspace, {("i0", "cat"): "wrong"})
    workspace.review.publish(AUDIT)
    (ada,) = people(workspace.ledger, "Ada")
    item = next(row for row in workspace.ledger.items.about_image("s", "i0"))
    workspace.ledger.votes.retract(item.item.id, ada, key="undo 1", why="looked again")
    assert workspace.review.publish(AUDIT).changes == {"wrong now correct": 1, "decisions of the audit": 1}
    result = workspace.labels.audit("s")
    assert outcome_of(result, "wrong").share is None
    assert "no share is known yet" in str(result) and "intervals" not in str(result)


def test_audit_of_another_version_is_another_audit(workspace):
    audit(workspace, 4)
    decide(workspace, {("i0", "cat"): "wrong"})
    workspace.review.publish(AUDIT)
    result = audit(workspace, 3)
    assert result.queue == "audit s own@2"
    assert ("i0", "cat") not in workspace.ledger.items.pairs(workspace.ledger.queues.named(result.queue))
    with pytest.raises(MismatchError, match=r"is of own@1: choose another --name for own@2"):
        audit(workspace, 1, name=AUDIT)


def test_class_added_during_an_audit_joins_another_queue(workspace):
    audit(workspace, 4)
    queue = workspace.ledger.queues.named(AUDIT)
    (ada,) = people(workspace.ledger, "Ada")
    item = workspace.ledger.items.next(queue, ada)
    added = workspace.review.add_class(queue, item, "truck", by=ada)
    assert added.queue.name == f"added to {AUDIT}"
    assert len(workspace.ledger.items.pairs(queue)) == 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda ws: audit(ws, 0), InputError, "at least 1 label must be drawn, got a size of 0"),
        (lambda ws: audit(ws, 5), InputError, "4 labels can still be drawn, got a size of 5"),
        (lambda ws: audit(ws, 1, models=["nine"]), UnknownName, "nine"),
        (lambda ws: ws.labels.audit("s"), InputError, "were not audited yet: run regrade review audit"),
        (lambda ws: ws.labels.audit("s", name="x"), UnknownName, "x"),
        (lambda ws: ws.review.queue_audit("t", labels="own", size=1), UnknownName, "t"),
    ],
)
def test_bad_input_is_one_clear_line(workspace, call, error, message):
    with pytest.raises(error) as raised:
        call(workspace)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_audit_with_other_models_is_refused(workspace):
    audit(workspace, 1)
    with pytest.raises(MismatchError, match="was drawn with other models"):
        audit(workspace, 1, models=["one"])


def test_lost_sample_is_an_error(workspace):
    audit(workspace, 1)
    target = workspace.store.test_set("s")
    workspace.store.audits.path(target.name, AUDIT).unlink()
    with pytest.raises(StoreError):
        audit(workspace, 1)


def test_audit_refuses_decisions_on_labels_that_were_not_drawn():
    states = np.array([LabelState.UNJUDGED, LabelState.WRONG], dtype=np.int8)
    with pytest.raises(InputError, match="not drawn is judged"):
        LabelAudit("q", "s", "own@1", ("one",), np.array([0, 1]), np.array([0, 0]), 1, states)
