"""Publishing decisions as versions of a label set: added, changed and withdrawn decisions; idempotence."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from judging import item_of, people, queue_of, vote
from running import assert_one_line, run, run_well, snapshot

import regrade
from regrade.core import LabelSet, LabelState, Unlisted

PLAIN = "image,class,state,problematic\np0,cat,correct,\np1,dog,correct,\np2,bird,correct,\np3,cat,correct,drawing\n"
REASON = 'two\nlines, "quoted"; =1+1 Škoda'
FORMS = [("csv", "plain"), ("json", "plain"), ("parquet", "plain"), ("json", "multilabel-v3")]


@pytest.fixture
def workspace(pets, tmp_path):
    """Pets with labels `own@1` of four images."""
    file = tmp_path / "own.csv"
    file.write_text(PLAIN)
    run_well("import", "labels", file, "-t", "pets", "--name", "own", "-w", pets)
    opened = regrade.open(pets)
    yield opened
    opened.ledger.engine.dispose()


def labels(workspace, name="own"):
    """A label set as plain data: states by image and class, and reasons by image."""
    test_set = workspace.store.test_set("pets")
    label_set = workspace.store.labels.read(test_set, name)
    names = test_set.class_space.ids
    pairs = zip(label_set.examples, label_set.classes, label_set.states, strict=True)
    states = {(test_set.ids[e], names[c]): LabelState(s).name.lower() for e, c, s in pairs}
    return states, {test_set.ids[place]: reason for place, reason in enumerate(label_set.reasons) if reason}


OWN = {("p0", "cat"): "correct", ("p1", "dog"): "correct", ("p2", "bird"): "correct", ("p3", "cat"): "correct"}
JUDGED = [("p2", "cat"), ("p1", "cat"), ("p0", "dog"), ("p1", "bird")]


@pytest.fixture
def queue(workspace):
    return queue_of(workspace.ledger, "novel", JUDGED, test_set="pets", labels="own@1")


@pytest.fixture
def ada(workspace):
    return people(workspace.ledger, "Ada")[0]


def test_publish_labels_stores_a_new_version(workspace, queue, ada):
    answers = ("correct", "wrong", "problematic")
    for pair, answer in zip(JUDGED, answers, strict=False):
        vote(workspace.ledger, queue, ada, pair, answer, reason="edited" if answer == "problematic" else "")
    done = workspace.review.publish("novel")
    assert done.in_words() == (
        "labels own@2: 1 correct added, 1 wrong added, 1 image problematic "
        "(of 4 items: 3 decided, 0 to discuss, 1 not answered)"
    )
    assert labels(workspace) == (
        OWN | {("p2", "cat"): "correct", ("p1", "cat"): "wrong"},
        {"p3": "drawing", "p0": "edited"},
    )
    assert labels(workspace, "own@1") == (OWN, {"p3": "drawing"})


def test_publish_labels_is_idempotent(workspace, queue, ada):
    vote(workspace.ledger, queue, ada, JUDGED[0], "correct")
    workspace.review.publish("novel")
    before = snapshot(workspace.store.root / "labels")
    done = workspace.review.publish("novel")
    assert (done.changes, done.written, done.target) == ({}, False, "labels own@2")
    assert done.in_words().startswith("nothing new for labels own@2 (of 4 items: 1 decided")
    assert snapshot(workspace.store.root / "labels") == before


def test_publish_labels_dry_run_writes_nothing(workspace, queue, ada):
    vote(workspace.ledger, queue, ada, JUDGED[0], "correct")
    before = snapshot(workspace.store.root / "labels")
    done = workspace.review.publish("novel", dry_run=True)
    assert (dict(done.changes), done.written) == ({"correct added": 1}, False)
    assert snapshot(workspace.store.root / "labels") == before


def test_publish_labels_follows_changed_and_withdrawn_decisions(workspace, queue, ada):
    """A withdrawn decision is removed from the labels; an imported judgment is restored."""
    ledger = workspace.ledger
    again = queue_of(ledger, "again", [("p0", "cat"), ("p3", "cat")], test_set="pets", labels="own@1")
    vote(ledger, queue, ada, JUDGED[0], "correct")
    vote(ledger, queue, ada, JUDGED[2], "problematic", reason="edited")
    vote(ledger, again, ada, ("p0", "cat"), "wrong")
    vote(ledger, again, ada, ("p3", "cat"), "problematic", reason="painting")
    workspace.review.publish("novel")
    workspace.review.publish("again")
    assert labels(workspace) == (
        OWN | {("p2", "cat"): "correct", ("p0", "cat"): "wrong"},
        {"p3": "drawing", "p0": "edited"},
    )
    for chosen, pair in ((queue, JUDGED[0]), (queue, JUDGED[2]), (again, ("p0", "cat")), (again, ("p3", "cat"))):
        ledger.decisions.reopen(item_of(ledger, chosen, *pair), ada, why="look again")
    vote(ledger, queue, ada, JUDGED[0], "unclear", why="seen twice")
    done = workspace.review.publish("novel")
    assert dict(done.changes) == {
        "correct now unclear": 1,
        "wrong now correct": 1,
        "image no longer problematic": 1,
    }
    assert labels(workspace) == (OWN | {("p2", "cat"): "unclear"}, {"p3": "drawing"})


def test_publish_labels_reports_a_changed_reason(workspace, queue, ada):
    vote(workspace.ledger, queue, ada, JUDGED[2], "problematic", reason="edited")
    workspace.review.publish("novel")
    workspace.ledger.decisions.reopen(item_of(workspace.ledger, queue, *JUDGED[2]), ada, why="look again")
    vote(workspace.ledger, queue, ada, JUDGED[2], "problematic", reason="drawing", why="it is drawn")
    done = workspace.review.publish("novel")
    assert (dict(done.changes), done.written) == ({"image problematic for another reason": 1}, True)
    assert labels(workspace)[1] == {"p3": "drawing", "p0": "drawing"}
    rows = workspace.study.label_change("own@2", "own@3", test_set="pets").pair_table().records()
    assert [(row["image"], row["before"], row["after"]) for row in rows] == [
        ("p0", "problematic: edited", "problematic: drawing")
    ]


def test_publish_labels_takes_the_reason_of_the_later_decision(workspace, queue, ada):
    ledger = workspace.ledger
    second_queue = queue_of(ledger, "other", [("p1", "cat")], test_set="pets", labels="own@1")
    vote(ledger, queue, ada, ("p1", "cat"), "problematic", reason="first")
    vote(ledger, queue, ada, ("p1", "bird"), "problematic", reason="second")
    vote(ledger, second_queue, ada, ("p1", "cat"), "problematic", reason="third")
    workspace.review.publish("novel")
    workspace.review.publish("other")
    assert labels(workspace)[1]["p1"] == "third"


def test_publish_labels_merges_queues_and_the_later_decision_wins(workspace, queue, ada):
    ledger = workspace.ledger
    second_queue = queue_of(ledger, "other", JUDGED[:2], test_set="pets", labels="own@1")
    vote(ledger, second_queue, ada, JUDGED[0], "wrong")
    vote(ledger, queue, ada, JUDGED[0], "correct")
    vote(ledger, second_queue, ada, JUDGED[1], "unclear")
    workspace.review.publish("novel")
    done = workspace.review.publish("other")
    assert dict(done.changes) == {"unclear added": 1}
    assert labels(workspace)[0] == OWN | {("p2", "cat"): "correct", ("p1", "cat"): "unclear"}
    label_set = workspace.store.labels.read(workspace.store.test_set("pets"), "own")
    assert label_set.queues == ("novel", "other")
    assert label_set.origin.startswith("queues novel, other: 3 decisions, the last at 20")


def test_publish_labels_starts_from_the_newest_imported_version(workspace, queue, ada, tmp_path):
    vote(workspace.ledger, queue, ada, JUDGED[0], "correct")
    workspace.review.publish("novel")
    file = tmp_path / "newer.csv"
    file.write_text("image,class,state\np5,frog,correct\np2,cat,wrong\n")
    run_well("import", "labels", file, "-t", "pets", "--name", "own", "--new-version", "-w", workspace.store.root)
    done = workspace.review.publish("novel")
    assert (done.target, dict(done.changes)) == ("labels own@4", {"wrong now correct": 1})
    assert labels(workspace)[0] == {("p5", "frog"): "correct", ("p2", "cat"): "correct"}


def test_publish_labels_takes_the_most_frequent_reason(workspace):
    panel = people(workspace.ledger, "Ada", "Bob", "Cleo", "Dan")
    queue = queue_of(workspace.ledger, "panel", JUDGED[:1], test_set="pets", labels="own", overlap=4)
    for person, reason in zip(panel, ("wrong label", "a\n drawing", "edited", "a drawing"), strict=True):
        vote(workspace.ledger, queue, person, JUDGED[0], "problematic", reason=reason)
    workspace.review.publish("panel")
    assert labels(workspace)[1]["p2"] == "a drawing"


def test_publish_labels_waits_for_discussions(workspace):
    panel = people(workspace.ledger, "Ada", "Bob")
    queue = queue_of(workspace.ledger, "panel", JUDGED[:2], test_set="pets", labels="own", overlap=2)
    for person, answer in zip(panel, ("correct", "wrong"), strict=True):
        vote(workspace.ledger, queue, person, JUDGED[0], answer)
    done = workspace.review.publish("panel")
    assert done.in_words() == ("nothing new for labels own@1 (of 2 items: 0 decided, 1 to discuss, 1 not answered)")
    workspace.ledger.decisions.lock(item_of(workspace.ledger, queue, *JUDGED[0]), panel[0])
    assert dict(workspace.review.publish("panel").changes) == {"unclear added": 1}


def test_publish_labels_covers_new_images(workspace, ada):
    queue = queue_of(workspace.ledger, "more", [("p5", "frog")], test_set="pets", labels="own")
    vote(workspace.ledger, queue, ada, ("p5", "frog"), "correct")
    workspace.review.publish("more")
    label_set = workspace.store.labels.read(workspace.store.test_set("pets"), "own")
    assert label_set.covered.tolist() == [True, True, True, True, False, True]


class TestPublishCommand:
    def test_grade_uses_the_published_version(self, workspace, queue, ada):
        root = workspace.store.root
        vote(workspace.ledger, queue, ada, JUDGED[0], "correct")
        done = run_well("review", "publish", "novel", "-w", root)
        assert done.err.startswith("labels own@2: 1 correct added")
        rows = workspace.grade("pets", labels="own").rows
        assert rows[0].multilabel.value == 1.0
        assert workspace.grade("pets", labels="own@1").rows[0].multilabel.value == pytest.approx(2 / 3)

    def test_publish_command_json_and_dry_run(self, workspace, queue, ada):
        vote(workspace.ledger, queue, ada, JUDGED[0], "correct")
        root = workspace.store.root
        result = json.loads(run_well("review", "publish", "novel", "--dry-run", "--json", "-w", root).out)
        assert result["written"] is False and result["changes"] == {"correct added": 1}
        assert "would be labels own@2" in run_well("review", "publish", "novel", "--dry-run", "-w", root).err

    def test_publish_command_rejects_bad_queues(self, workspace, ada):
        root, ledger = workspace.store.root, workspace.ledger
        assert_one_line(run("review", "publish", "nvel", "-w", root), "unknown queue")
        queue_of(ledger, "bare", [("p0", "dog")], test_set="pets")
        assert_one_line(run("review", "publish", "bare", "-w", root), "no label set")
        unknown_image = queue_of(ledger, "strange", [("q9", "dog")], test_set="pets", labels="own")
        vote(ledger, unknown_image, ada, ("q9", "dog"), "wrong")
        assert_one_line(run("review", "publish", "strange", "-w", root), "q9", "not in test set pets")


@pytest.fixture
def judged_workspace(pets):
    opened = regrade.open(pets)
    test_set = opened.store.test_set("pets")
    pairs = {(0, 3): 1, (0, 5): 3, (1, 5): 1, (2, 2): 1, (2, 3): 2, (3, 3): 1}
    where = np.array(list(pairs))
    reasons = ("", "", "", REASON, "drawing", "")  # p4 is covered and problematic, and no class of it was judged
    labels = LabelSet(
        "own", 1, "pets", 10, where[:, 0], where[:, 1], np.array(list(pairs.values()), dtype=np.int8),
        np.array([True, True, True, True, True, False]), reasons, Unlisted.NOVEL, "by hand",
    )  # fmt: skip
    opened.store.labels.add(labels, test_set)
    yield opened
    opened.ledger.engine.dispose()


@pytest.fixture
def decided(judged_workspace):
    """A panel of two has decided on four pairs."""
    ledger = judged_workspace.ledger
    panel = people(ledger, "Ada", "Bob; the second")
    pairs = [("p1", "cat"), ("p0", "dog"), ("p2", "dog"), ("p2", "ship")]
    queue = queue_of(ledger, "novel", pairs, test_set="pets", labels="own", overlap=2)
    for pair, answer in zip(pairs, ("correct", "unclear", "problematic", "wrong"), strict=True):
        for person in panel:
            vote(ledger, queue, person, pair, answer, reason="edited")
    judged_workspace.review.publish("novel")
    return judged_workspace


def labels_of(judged_workspace, name):
    return judged_workspace.store.labels.read(judged_workspace.store.test_set("pets"), name)


@pytest.mark.parametrize(("suffix", "form"), FORMS)
@pytest.mark.parametrize("version", ["own@1", "own@2"])
def test_export_labels_and_import_give_the_same_labels(decided, tmp_path, suffix, form, version):
    root, file = decided.store.root, tmp_path / f"out.{suffix}"
    done = run_well("labels", "export", version, file, "-t", "pets", "--format", form, "-w", root)
    assert version in done.err and "5 images" in done.err
    run_well("import", "labels", file, "-t", "pets", "--name", "again", "--format", form, "-w", root)
    assert labels_of(decided, "again").digest == labels_of(decided, version).digest


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_export_labels_of_complete_lists(judged_workspace, tmp_path, suffix):
    """As in ReaL, classes that are not listed are wrong, and the import needs --complete."""
    root, file = judged_workspace.store.root, tmp_path / f"out.{suffix}"
    (tmp_path / "full.json").write_text(json.dumps({"p0": ["cat"], "p1": []}))
    full = ("-t", "pets", "--complete", "-w", root)
    run_well("import", "labels", tmp_path / "full.json", "--name", "full", *full)
    done = run_well("labels", "export", "full", file, "-t", "pets", "-w", root)
    assert "--complete" in done.err
    run_well("import", "labels", file, "--name", "again", *full)
    assert labels_of(judged_workspace, "again").digest == labels_of(judged_workspace, "full").digest
    v3 = ("labels", "export", "full", tmp_path / "v3.json", "-t", "pets", "--format", "multilabel-v3", "-w", root)
    assert_one_line(run(*v3), "multilabel-v3 cannot express", "plain")


def test_export_labels_writes_authors_and_times(decided, tmp_path):
    by = ["Ada", "Bob; the second"]
    for suffix in ("csv", "json", "parquet"):
        assert decided.labels.export("own", tmp_path / f"a.{suffix}", test_set="pets").with_authors == 4
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = {(row["image"], row["class"]): row for row in csv.DictReader(file)}
    assert rows["p1", "cat"]["by"] == "Ada; Bob; the second" and rows["p1", "cat"]["at"].startswith("20")
    assert rows["p1", "dog"]["by"] == rows["p1", "dog"]["at"] == ""
    assert (
        rows["p2", "bird"]["problematic"] == "edited"
        and rows["p2", "bird"]["problematic_by"] == rows["p1", "cat"]["by"]
    )
    assert rows["p4", ""]["problematic"] == "drawing" and rows["p4", ""]["problematic_by"] == ""
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["p1"]["decided"][0]["by"] == by and content["p2"]["problematic_by"] == by
    table = pq.read_table(tmp_path / "a.parquet").to_pylist()
    exported = next(row for row in table if (row["image"], row["class"]) == ("p0", "dog"))
    assert (exported["state"], exported["by"]) == ("unclear", by) and exported["at"].tzinfo is not None
    assert decided.labels.export("own@1", tmp_path / "one.csv", test_set="pets").with_authors == 0
    v3 = decided.labels.export("own", tmp_path / "v3.json", test_set="pets", form="multilabel-v3")
    assert v3.with_authors == 0 and b"Ada" not in (tmp_path / "v3.json").read_bytes()


def test_export_labels_omits_the_author_of_a_changed_decision(decided, tmp_path):
    ledger = decided.ledger
    queue, panel = ledger.queues.named("novel"), people(ledger, "Ada", "Bob; the second")
    ledger.decisions.reopen(item_of(ledger, queue, "p1", "cat"), panel[0], why="hm")
    for person in panel:
        vote(ledger, queue, person, ("p1", "cat"), "wrong", why="hm")
    assert ledger.decisions.current(item_of(ledger, queue, "p1", "cat")).answer == "wrong"
    assert decided.labels.export("own@2", tmp_path / "a.csv", test_set="pets").with_authors == 3


def test_export_labels_rejects_bad_paths_and_names(judged_workspace, tmp_path):
    root = judged_workspace.store.root
    export = ("labels", "export", "own")
    (tmp_path / "there.csv").write_text("mine")
    assert_one_line(run(*export, tmp_path / "there.csv", "-t", "pets", "-w", root), "exists already")
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert_one_line(run(*export, tmp_path / "no" / "a.csv", "-t", "pets", "-w", root), "no folder")
    assert_one_line(run(*export, tmp_path / "a.txt", "-t", "pets", "-w", root), ".csv, .json, .parquet")
    v3 = (*export, tmp_path / "a.csv", "-t", "pets", "--format", "multilabel-v3", "-w", root)
    assert_one_line(run(*v3), "multilabel-v3 is JSON")
    assert_one_line(run("labels", "export", "own@7", tmp_path / "a.csv", "-t", "pets", "-w", root), "own@7")


def test_export_labels_without_decisions_needs_no_ledger(judged_workspace, tmp_path, monkeypatch):
    def refuse(_):
        raise AssertionError("the ledger was opened")

    monkeypatch.setattr(type(judged_workspace.review), "ledger", property(refuse))
    assert (
        judged_workspace.labels.export("own", tmp_path / "a.csv", test_set="pets").labels.states[0]
        == LabelState.CORRECT
    )
    monkeypatch.undo()
