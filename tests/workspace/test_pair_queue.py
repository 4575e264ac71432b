"""Near duplicates of any test set: queued, decided, published, and counted by the study of leakage."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image
from planted import brighter, reencoded, resized, textures
from running import assert_one_line, run, run_well

import regrade
from regrade.core import InputError, MismatchError, UnknownName
from regrade.ledger import Role, VoteContent
from regrade.studies import ANY, findings
from regrade.studies.leakage.result import LeakagePart


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Three images of ``val`` with near duplicates in ``train``, one of them with equal pixels, and two others."""
    root = tmp_path_factory.mktemp("pairs")
    first, second, third, *rest = textures(9)
    sets = {
        "val": [first, second, third, rest[0], rest[1]],
        "train": [first, reencoded(second), brighter(third), rest[2], rest[3]],
        "inside": [rest[4], resized(rest[4]), rest[5]],
    }
    workspace = regrade.init(root / "W")
    for name, images in sets.items():
        (root / name / "0").mkdir(parents=True)
        for number, pixels in enumerate(images):
            Image.fromarray(pixels).save(root / name / "0" / f"{name}{number}.png")
        workspace.testsets.add(name, root / name, classes="digits")
    workspace.models.add_predictions("m", np.eye(10)[[0, 1, 0, 0, 1]] + 0.01, test_set="val")
    workspace.ledger.engine.dispose()
    return root


@pytest.fixture
def workspace(template, tmp_path):
    shutil.copytree(template / "W", tmp_path / "W")
    copy = regrade.open(tmp_path / "W")
    copy.ledger.people.add("Rita", Role.REVIEWER)
    return copy


def decide(workspace, queue_name, **answers):
    """Rita's answers about pairs by their first image; the queue is then published."""
    ledger = workspace.ledger
    queue, rita = ledger.queues.named(queue_name), ledger.people.named("Rita")
    for number, (image, answer) in enumerate(answers.items()):
        for queued in ledger.items.about_image(queue.test_set, f"{image}.png"):
            if queued.queue != queue:
                continue
            if ledger.decisions.current(queued.item.id) is not None:
                ledger.decisions.reopen(queued.item.id, rita, why="looked again")
            content = VoteContent(f"key-{queue.id}-{image}-{number}-{answer}", answer, why="looked again")
            ledger.votes.cast(queued.item.id, rita, content)
    return workspace.review.publish(queue_name)


def images_of(result, relation=None):
    return {pair.image for pair in result.pairs if relation is None or pair.decision == relation}


def test_pairs_are_queued_once_and_equal_pixels_need_no_decision(workspace):
    result = workspace.review.queue_pairs("val", against="train")
    assert (result.queue, result.question, result.added, result.overlap) == ("val pairs in train", "pair", 2, 1)
    assert "equal pixels: 1" in result.notes[0]
    assert workspace.review.queue_pairs("val", against="train").added == 0
    assert workspace.review.queue_pairs("inside", name="mine", overlap=2).added == 1


def test_leakage_counts_what_people_decided(workspace):
    before = workspace.study.leakage("val", against="train")
    workspace.review.queue_pairs("val", against="train")
    assert before.as_dict() == workspace.study.leakage("val", against="train").as_dict()
    assert "decided" not in before.as_dict() and "decision" not in before.as_dict()["pairs"][0]
    published = decide(workspace, "val pairs in train", val1="different", val2="duplicate")
    assert published.changes == {"new duplicates": 1, "new different": 1}
    after = workspace.study.leakage("val", against="train")
    assert images_of(before) - images_of(after) == {"val1.png"}
    assert images_of(after, "duplicate") == {"val2.png"}
    assert (before.by(ANY).images, after.by(ANY).images) == (3, 2)
    assert after.by("dssim").pairs == before.by("dssim").pairs - 1
    assert (after.decided.duplicates, after.decided.different, after.decided.undecided) == (1, 1, 0)
    assert after.as_dict()["decided"] == {"duplicates": 1, "different": 1, "undecided": 0}
    [clean] = after.models_by(ANY)
    assert (clean.leaked.n, clean.clean.n) == (2, 3)
    note = "decided by people: 1 pair duplicate, 1 different and not counted; undecided: 0 pairs"
    assert note in after.table().notes
    assert "duplicate" in {row[-1] for row in after.part(LeakagePart.PAIRS).rows}
    assert "People decided about 2 pairs." in findings(after)[0].text


def test_a_decided_duplicate_counts_whatever_the_threshold(workspace):
    workspace.review.queue_pairs("val", against="train")
    decide(workspace, "val pairs in train", val2="duplicate")
    result = workspace.study.leakage("val", against="train", by=["pixels"], near={"pixels": 0})
    assert images_of(result) == {"val0.png", "val2.png"}
    assert (result.by("pixels").pairs, result.by(ANY).pairs) == (1, 2)
    [decided] = [pair for pair in result.pairs if pair.decision]
    assert (decided.distances, decided.closeness, decided.mirrored) == ({}, 1.0, False)
    only_exact = workspace.study.leakage("val", against="train", by=["exact"])
    assert only_exact.by(ANY).images == 2


def test_decisions_count_in_both_directions_and_within_a_set(workspace):
    workspace.review.queue_pairs("val", against="train")
    decide(workspace, "val pairs in train", val1="different")
    assert "val1.png" not in {pair.reference for pair in workspace.study.leakage("train", against="val").pairs}
    workspace.review.queue_pairs("inside")
    assert len(workspace.study.leakage("inside").groups) == 1
    decide(workspace, "inside pairs", inside0="different", inside1="different")
    inside = workspace.study.leakage("inside")
    assert (inside.groups, inside.by(ANY).images, inside.decided.different) == ((), 0, 1)


def test_a_changed_decision_replaces_the_published_one(workspace):
    workspace.review.queue_pairs("val", against="train")
    decide(workspace, "val pairs in train", val1="different")
    changed = decide(workspace, "val pairs in train", val1="duplicate")
    assert changed.changes == {"changed": 1}
    assert images_of(workspace.study.leakage("val", against="train"), "duplicate") == {"val1.png"}
    assert not workspace.review.publish("val pairs in train").changes
    assert workspace.verify().problems == ()


def test_two_people_who_disagree_have_one_outcome(workspace):
    ledger = workspace.ledger
    rob = ledger.people.add("Rob", Role.REVIEWER)
    workspace.review.queue_pairs("val", against="train", overlap=2)
    queue = ledger.queues.named("val pairs in train")
    (queued,) = ledger.items.about_image("val", "val1.png")
    for person, answer in ((ledger.people.named("Rita"), "duplicate"), (rob, "different")):
        ledger.votes.cast(queued.item.id, person, VoteContent(f"key-of-{person.name}", answer))
    published = workspace.review.publish(queue.name)
    assert not published.changes and published.of["to discuss"] == 1
    undecided = workspace.study.leakage("val", against="train")
    assert undecided.decided is None and "val1.png" in images_of(undecided)
    newest = max(vote.id for vote in ledger.discussions.seen_by(queued.item.id, rob).votes)
    ledger.decisions.lock(queued.item.id, rob, seen=newest)
    assert workspace.review.publish(queue.name).changes == {"new duplicates": 1}
    assert images_of(workspace.study.leakage("val", against="train"), "duplicate") == {"val1.png"}


def test_queues_that_disagree_have_one_outcome_and_a_note(workspace):
    for name in ("first", "second"):
        workspace.review.queue_pairs("val", against="train", name=name)
    assert decide(workspace, "first", val1="duplicate").notes == ()
    later = decide(workspace, "second", val1="different")
    assert later.notes == ("1 pair decided otherwise by 'first' before: the later decision counts",)
    assert "val1.png" not in images_of(workspace.study.leakage("val", against="train"))
    assert workspace.review.publish("second").notes == ()
    assert decide(workspace, "second", val1="duplicate").notes == ()
    assert images_of(workspace.study.leakage("val", against="train"), "duplicate") == {"val1.png"}


def test_decisions_on_pairs_that_are_not_stored_raise(workspace):
    workspace.review.queue_pairs("val", against="train")
    for path in (workspace.store.root / "pairs" / "val").iterdir():
        path.unlink()
    (workspace.store.root / "contents.json").unlink()
    with pytest.raises(MismatchError, match=r"a pair with 'val1.png' of val that is not stored in this workspace"):
        decide(workspace, "val pairs in train", val1="different")


def test_commands_queue_and_publish(workspace):
    root = workspace.store.root
    added = json.loads(run_well("review", "pairs", "-t", "val", "--against", "train", "--json", "-w", root).out)
    assert (added["added"], added["queue"]) == (2, "val pairs in train")
    assert "nothing new" in run_well("review", "publish", "val pairs in train", "-w", root).err
    assert "pair" in run_well("review", "list", "-w", root).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-t", "val", "--against", "val"], ["--against must differ from val"]),
        (["-t", "val", "--against", "absent"], ["unknown test set 'absent'"]),
        (["-t", "val", "--by", "features"], ["requires a model"]),
        (["-t", "val", "--by", "features", "--model", "m"], ["no features of m on val are stored"]),
        (["-t", "val", "--near", "phash"], ["--near takes DISTANCE=THRESHOLD"]),
        (["-t", "val", "--overlap", "0"], ["between 1 and"]),
    ],
)
def test_bad_input_is_one_clear_line(workspace, arguments, words):
    assert_one_line(run("review", "pairs", *arguments, "-w", workspace.store.root), *words)


def test_sets_without_images_are_refused(workspace, tmp_path):
    (tmp_path / "bare.csv").write_text("id,label\na,1\n")
    workspace.testsets.add("bare", tmp_path / "bare.csv", classes="digits")
    with pytest.raises(InputError, match="bare"):
        workspace.review.queue_pairs("val", against="bare")
    with pytest.raises(UnknownName):
        workspace.review.queue_pairs("absent")
