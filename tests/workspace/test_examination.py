"""Examinations: drawn by class, from several test sets, of images that their people have not seen."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from judging import item_of
from PIL import Image
from running import assert_one_line, run, run_well

import regrade
from regrade.build.files import BuildTasks, TaskCollection
from regrade.build.tasks import GridTask, TaskOptions, Tile, TileRole
from regrade.core import ClassSpace, InputError, MismatchError, MistakeCategory, UnknownName
from regrade.ledger import Ledger, Mode, NewItem, Question, Queue, Role, VoteContent
from regrade.workspace import Workspace

CLASSES = ("cat", "dog", "owl")
SIZES = {"val": (6, 6, 2), "new": (4, 4, 4)}
_keys = itertools.count()


def write_images(folder: Path, name: str, sizes: tuple[int, ...], *, seed: int) -> Path:
    """Images that are unique to the seed, in a folder per class, numbered in an order of classes that depends on it."""
    rng = np.random.default_rng(seed)
    number = 0
    classes = list(zip(CLASSES, sizes, strict=True))
    for class_name, size in classes[:: -1 if seed % 2 else 1]:
        for _ in range(size):
            path = folder / name / class_name / f"{number:03}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(256, size=(9, 9, 3), dtype=np.uint8)).save(path)
            number += 1
    return folder / name


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Two test sets of other images under the same ids, two labelers, and a reviewer."""
    workspace = regrade.init(tmp_path / "W")
    for seed, (name, sizes) in enumerate(SIZES.items()):
        workspace.testsets.add(
            name, write_images(tmp_path, name, sizes, seed=seed), classes=ClassSpace("pets", CLASSES)
        )
    for name, role in {"Ada": Role.LABELER, "Bob": Role.LABELER, "Rita": Role.REVIEWER}.items():
        workspace.ledger.people.add(name, role)
    return workspace


def add_copy(workspace: Workspace, folder: Path, numbers: range) -> None:
    """A test set with copies of images of ``val`` under other names."""
    target = workspace.store.test_set("val")
    for number in numbers:
        label = CLASSES[target.labels[number]]
        path = folder / "copy" / label / f"copy-{number}.bmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.open(folder / "val" / label / target.ids[number]).save(path)
    workspace.testsets.add("copy", folder / "copy", classes=ClassSpace("pets", CLASSES))


def drawn(workspace: Workspace, name: str) -> list[tuple[str, str]]:
    """The images of a queue as (test set, id), in the order of the queue."""
    queue = workspace.ledger.queues.named(name)
    return [(mark or queue.test_set, example) for example, mark in workspace.ledger.items.pairs(queue)]


def class_counts(workspace: Workspace, images: list[tuple[str, str]], test_set: str) -> list[int]:
    target = workspace.store.test_set(test_set)
    labels = [target.labels[target.position(example)] for name, example in images if name == test_set]
    return np.bincount(labels, minlength=len(CLASSES)).tolist()


def other_queue(ledger: Ledger, question: Question, images: dict[str, str], **more: object) -> Queue:
    """A queue about images of ``val``, with their classes."""
    queue = ledger.queues.create(question.name, question, test_set="val", **more)
    ledger.items.add(queue, [NewItem(example, class_id) for example, class_id in images.items()])
    return queue


ANSWERS = {
    "judge": ("correct", None),
    "mistake": (MistakeCategory.SPURIOUS.value, "major"),
    "review": ("keep", None),
    "label": ("cat", None),
}


def vote_on(ledger: Ledger, queue: Queue, person: str, example: str, class_id: str = "") -> None:
    answer, severity = ANSWERS[queue.question.name]
    item = item_of(ledger, queue, example, class_id)
    ledger.votes.cast(item, ledger.people.named(person), VoteContent(f"key-{next(_keys)}", answer, severity))


class TestPerClass:
    def test_each_class_has_the_same_number(self, workspace):
        done = workspace.review.queue_labels("new", per_class=3)
        assert done.added == 9
        assert class_counts(workspace, drawn(workspace, "label new"), "new") == [3, 3, 3]

    def test_classes_with_fewer_images_are_reported(self, workspace):
        done = workspace.review.queue_labels("val", per_class=4)
        assert class_counts(workspace, drawn(workspace, "label val"), "val") == [4, 4, 2]
        assert "classes with fewer than 4 images to draw: 1 of 3; drawn of them: 2 images" in done.notes

    def test_again_draws_further_images_of_each_class(self, workspace):
        for _ in range(2):
            workspace.review.queue_labels("new", per_class=2)
        images = drawn(workspace, "label new")
        assert len(set(images)) == 12
        assert class_counts(workspace, images, "new") == [4, 4, 4]

    def test_images_are_in_random_order_and_chosen_by_the_seed(self, workspace):
        for seed in range(3):
            workspace.review.queue_labels("new", per_class=2, seed=seed, name=f"t{seed}", mode="training")
        images = [drawn(workspace, f"t{seed}") for seed in range(3)]
        assert len({frozenset(chosen) for chosen in images}) > 1
        target = workspace.store.test_set("new")
        labels = [int(target.labels[target.position(example)]) for _, example in images[0]]
        assert labels != sorted(labels)

    def test_a_family_is_drawn_by_class(self, tmp_path):
        workspace = regrade.init(tmp_path / "W")
        space = ClassSpace("pets", CLASSES, groups={"furry": (0, 1)})
        workspace.testsets.add("val", write_images(tmp_path, "val", (3, 3, 3), seed=0), classes=space)
        workspace.review.queue_labels("val", per_class=2, family="furry", name="exam")
        assert class_counts(workspace, drawn(workspace, "exam"), "val") == [2, 2, 0]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--per-class", "7"), ("no class of val has 7 images that can be drawn, the largest has 6",)),
            (("--per-class", "0"), ("at least one image per class", "got 0")),
            (("--per-class", "2", "--size", "3"), ("give either a size or a number of images per class",)),
            (("-t", "val"), ("a test set is given twice: val and val",)),
            (("-t", "nwe"), ("unknown test set 'nwe'", "new")),
            (("--assign", "Zoe"), ("unknown person 'Zoe'", "Ada")),
            (("--assign", "Wim"), ("Wim is a worker", "not for workers")),
        ],
    )
    def test_bad_input_is_one_line_and_creates_nothing(self, workspace, arguments, words):
        workspace.ledger.people.add("Wim", Role.WORKER)
        assert_one_line(run("review", "label", "-t", "val", *arguments, "-w", workspace.store.root), *words)
        assert workspace.ledger.queues.all() == ()

    def test_labels_are_required(self, workspace, tmp_path):
        (tmp_path / "bare.csv").write_text("image\na.png\nb.png\n")
        workspace.testsets.add("bare", tmp_path / "bare.csv", classes=ClassSpace("pets", CLASSES))
        with pytest.raises(InputError, match="no image of bare has a label"):
            workspace.review.queue_labels("bare", per_class=1)


class TestSeveralTestSets:
    def test_images_are_drawn_from_each_set_and_shuffled_together(self, workspace):
        done = workspace.review.queue_labels(["val", "new"], per_class=2)
        images = drawn(workspace, "label val and new")
        assert done.added == len(set(images)) == 12
        assert class_counts(workspace, images, "val") == class_counts(workspace, images, "new") == [2, 2, 2]
        sets = [name for name, _ in images]
        assert sets not in (sorted(sets), sorted(sets, reverse=True))
        assert workspace.ledger.items.test_sets(workspace.ledger.queues.named("label val and new")) == ("val", "new")

    def test_equal_ids_of_both_sets_are_two_images(self, workspace):
        workspace.review.queue_labels(["val", "new"], name="exam")
        assert len(drawn(workspace, "exam")) == sum(map(sum, SIZES.values()))

    def test_contents_are_stored_by_test_set(self, workspace):
        workspace.review.queue_labels(["val", "new"], name="exam")
        queue = workspace.ledger.queues.named("exam")
        first, second = (workspace.ledger.items.content_of(queue, "000.png", test_set=name) for name in ("val", "new"))
        assert first and second and first != second
        assert {image.content for image in workspace.ledger.items.images(queue)} >= {first, second}

    def test_contents_of_an_older_queue_are_completed_by_test_set(self, workspace):
        ledger = workspace.ledger
        queue = ledger.queues.create("old", Question.LABEL, test_set="val")
        ledger.items.add(queue, [NewItem("000.png"), NewItem("000.png", "new")])
        workspace.review.fill_contents()
        workspace.review.queue_labels(["val", "new"], name="training", mode="training")
        contents = [image.content for image in ledger.items.images(queue)]
        assert None not in contents and len(set(contents)) == 2
        assert not {("val", "000.png"), ("new", "000.png")} & set(drawn(workspace, "training"))

    def test_the_same_image_in_both_sets_is_drawn_once(self, workspace, tmp_path):
        add_copy(workspace, tmp_path, range(5))
        done = workspace.review.queue_labels(["copy", "val"], name="exam")
        assert len(drawn(workspace, "exam")) == 14
        assert "val: left out as copies of what label queues ask about: 5" in done.notes

    def test_sets_of_other_classes_are_refused(self, workspace, tmp_path):
        folder = write_images(tmp_path, "birds", (1, 1, 1), seed=9)
        workspace.testsets.add("birds", folder, classes=ClassSpace("birds", CLASSES))
        words = "need the same classes: val has those of pets and birds has those of birds"
        with pytest.raises(MismatchError, match=words):
            workspace.review.queue_labels(["val", "birds"])
        with pytest.raises(InputError, match="at least one test set"):
            workspace.review.queue_labels([])

    def test_answers_are_published_by_test_set(self, workspace):
        ledger = workspace.ledger
        workspace.review.queue_labels(["val", "new"], per_class=2, people=["Ada", "Bob"], name="exam")
        queue = ledger.queues.named("exam")
        for name, example in drawn(workspace, "exam"):
            target = workspace.store.test_set(name)
            right = CLASSES[target.labels[target.position(example)]]
            mark = "" if name == "val" else name
            item = item_of(ledger, queue, example, mark)
            ledger.votes.cast(item, ledger.people.named("Ada"), VoteContent(f"key-{next(_keys)}", right))
        preview = workspace.review.publish("exam", dry_run=True)
        assert not workspace.store.predictions.people_names("val")
        done = workspace.review.publish("exam")
        assert done.changes == preview.changes == {"images of person:Ada in val": 6, "images of person:Ada in new": 6}
        assert done.target == "people on val and new"
        for name in SIZES:
            target, answers = (
                workspace.store.test_set(name),
                workspace.store.predictions.read(workspace.store.test_set(name), "person:Ada"),
            )
            counted = answers.counted
            assert counted.sum() == 6
            assert (answers.top1[counted] == target.labels[counted]).all()
        assert workspace.review.publish("exam").changes == {}

    def test_queue_keeps_all_its_test_sets_from_removal_and_renaming(self, workspace):
        workspace.review.queue_labels(["val", "new"], name="exam", size=2)
        for name in SIZES:
            with pytest.raises(regrade.core.StoreError, match="queue 'exam' about it"):
                workspace.testsets.plan_removal(name)
            with pytest.raises(regrade.core.StoreError, match="queue 'exam' about it"):
                workspace.testsets.rename(name, "other")

    def test_export_and_import_keep_the_test_set_of_each_image(self, workspace, tmp_path):
        workspace.review.queue_labels(["val", "new"], name="exam", people=["Ada"])
        ledger = workspace.ledger
        vote_on(ledger, ledger.queues.named("exam"), "Ada", "000.png", "new")
        workspace.review.export(tmp_path / "ledger.csv")
        copy = regrade.init(tmp_path / "C")
        copy.review.import_file(tmp_path / "ledger.csv")
        assert drawn(copy, "exam") == drawn(workspace, "exam")
        (answer,) = copy.ledger.votes.last_answers(copy.ledger.queues.named("exam"))
        assert (answer.test_set, answer.example) == ("new", "000.png")
        assert copy.review.problems() == ()

    def test_items_about_an_image_are_those_of_its_test_set(self, workspace):
        workspace.review.queue_labels(["val", "new"], name="exam")
        for name, mark in (("val", ""), ("new", "new")):
            (queued,) = workspace.ledger.items.about_image(name, "000.png")
            assert queued.item.class_id == mark

    def test_list_names_all_test_sets(self, workspace):
        workspace.review.queue_labels(["val", "new"], name="exam")
        (queue,) = json.loads(run_well("review", "list", "--json", "-w", workspace.store.root).out)["queues"]
        assert queue["test_set"] == "val and new"


SEEN = {"000.png": "cat", "001.png": "dog"}


@pytest.mark.usefixtures("seen")
class TestDisjoint:
    """Rita has voted on two images of ``val`` in a queue that shows labels or predictions; Ada has not."""

    @pytest.fixture(params=["judge", "mistake", "review"])
    def seen(self, request, workspace) -> Queue:
        question = {"judge": Question.JUDGE, "mistake": Question.MISTAKE, "review": Question.REVIEW}[request.param]
        queue = other_queue(workspace.ledger, question, SEEN)
        for example, class_id in SEEN.items():
            vote_on(workspace.ledger, queue, "Rita", example, class_id)
        return queue

    def test_drawing_for_a_person_leaves_out_what_they_have_seen(self, workspace):
        done = workspace.review.queue_labels("val", people=["Rita"], name="exam")
        assert {example for _, example in drawn(workspace, "exam")}.isdisjoint(SEEN)
        assert done.added == 12
        assert any("left out, as Rita saw their label or predictions: 2" in note for note in done.notes)

    def test_drawing_for_everyone_leaves_out_what_anyone_has_seen(self, workspace):
        assert workspace.review.queue_labels("val").added == 12

    def test_drawing_for_people_who_have_seen_nothing_uses_all_images(self, workspace):
        assert workspace.review.queue_labels("val", people=["Ada", "Bob"]).added == 14

    def test_copies_with_other_names_are_left_out(self, workspace, tmp_path):
        add_copy(workspace, tmp_path, range(4))
        done = workspace.review.queue_labels("copy", people=["Rita"], name="exam")
        assert {example for _, example in drawn(workspace, "exam")} == {"copy-2.bmp", "copy-3.bmp"}
        assert any("Rita saw their label or predictions: 2" in note for note in done.notes)

    def test_too_few_images_name_the_people(self, workspace, seen):
        words = r"12 images of val can be drawn, got a size of 13 \(left out, as Rita saw their label or predictions: 2"
        with pytest.raises(InputError, match=words):
            workspace.review.queue_labels("val", people=["Rita"], size=13)
        assert [queue.name for queue in workspace.ledger.queues.all()] == [seen.name]

    def test_assigning_to_a_person_who_has_seen_images_is_refused(self, workspace):
        workspace.review.queue_labels("val", people=["Ada"], name="exam")
        done = run("review", "assign", "exam", "Ada", "Rita", "-w", workspace.store.root)
        assert_one_line(done, "exam is an examination of 14 images, of which Rita has seen 2")
        done = run("review", "assign", "exam", "--everyone", "-w", workspace.store.root)
        assert_one_line(done, "of which Rita has seen 2")
        assigned = workspace.ledger.queues.assigned(workspace.ledger.queues.named("exam"))
        assert [person.name for person in assigned] == ["Ada"]
        run_well("review", "assign", "exam", "Ada", "Bob", "-w", workspace.store.root)

    def test_assigning_copies_under_other_names_is_refused(self, workspace, tmp_path):
        add_copy(workspace, tmp_path, range(4))
        workspace.review.queue_labels("copy", people=["Ada"], name="exam")
        with pytest.raises(InputError, match="of which Rita has seen 2"):
            workspace.review.assign("exam", ["Rita"])

    def test_votes_taken_back_were_seen(self, workspace, seen):
        item = item_of(workspace.ledger, seen, "000.png", "cat")
        rita = workspace.ledger.people.named("Rita")
        workspace.ledger.votes.retract(item, rita, key="taken-back", why="a mistake")
        assert workspace.review.queue_labels("val", people=["Rita"]).added == 12

    def test_further_draws_leave_out_what_assigned_people_have_seen(self, workspace):
        workspace.review.queue_labels("val", people=["Ada"], name="exam", size=2)
        workspace.review.queue_labels("val", name="exam")
        assert len(drawn(workspace, "exam")) == 14
        with pytest.raises(MismatchError, match="'exam' is assigned to other people"):
            workspace.review.queue_labels("new", people=["Bob"], name="exam")


def test_training_of_a_person_is_left_out_and_refused(workspace):
    ledger = workspace.ledger
    training = other_queue(ledger, Question.LABEL, dict.fromkeys(SEEN, ""), mode=Mode.TRAINING)
    vote_on(ledger, training, "Ada", "000.png")
    workspace.review.queue_labels("val", people=["Ada"], name="exam")
    assert {example for _, example in drawn(workspace, "exam")}.isdisjoint(SEEN)


def test_training_with_images_of_an_examination_is_refused(workspace):
    ledger = workspace.ledger
    training = other_queue(ledger, Question.LABEL, dict.fromkeys(SEEN, ""), mode=Mode.TRAINING)
    exam = ledger.queues.create("exam", Question.LABEL, test_set="val")  # as a ledger that was imported
    ledger.items.add(exam, [NewItem("000.png")])
    with pytest.raises(InputError, match="label is training, and 1 image of it is in the examination exam"):
        workspace.review.assign(training.name, ["Ada"])
    with pytest.raises(InputError, match="13 images of val can be drawn, got a size of 14"):
        workspace.review.queue_labels("val", mode="training", size=14, name="more")


def test_answers_in_other_examinations_and_pairs_are_not_seen_labels(workspace):
    ledger = workspace.ledger
    pairs = ledger.queues.create("pairs", Question.PAIR, test_set="val")
    ledger.items.add(pairs, [NewItem("000.png", "a pair")])
    rita = ledger.people.named("Rita")
    ledger.votes.cast(item_of(ledger, pairs, "000.png", "a pair"), rita, VoteContent("a-pair-vote", "different"))
    assert workspace.review.queue_labels("val", people=["Rita"]).added == 14


def test_images_of_grids_are_seen(workspace):
    """A grid shows candidates and controls next to a class."""
    ledger = workspace.ledger
    val, new = (workspace.store.test_set(name) for name in SIZES)
    tiles = (Tile("000.png", TileRole.CANDIDATE), Tile("001.png", TileRole.POSITIVE))
    task = GridTask("t1", "cat", tiles)
    stored = BuildTasks("build", "val", val.digest, "new", new.digest, TaskOptions(), (task,))
    TaskCollection(workspace.store.root).add(stored, None)
    queue = ledger.queues.create("grids", Question.SELECT, test_set="val", build="build")
    ledger.items.add(queue, [NewItem("t1", "cat")])
    ledger.votes.cast(item_of(ledger, queue, "t1", "cat"), ledger.people.named("Ada"), VoteContent("grid-vote", "10"))
    workspace.review.queue_labels(["val", "new"], people=["Ada"], name="exam")
    left_out = {(name, f"{n:03}.png") for name, sizes in SIZES.items() for n in range(sum(sizes))}
    assert left_out - set(drawn(workspace, "exam")) == {("val", "000.png"), ("new", "001.png")}


def test_unknown_people_and_workers_are_refused_before_a_queue_exists(workspace):
    with pytest.raises(UnknownName, match="Zoe"):
        workspace.review.queue_labels("val", people=["Zoe"])
    assert workspace.ledger.queues.all() == ()


def test_queue_for_people_needs_their_votes_only(workspace):
    assert workspace.review.queue_labels("val", people=["Ada", "Bob"]).overlap == 2
    assert workspace.review.queue_labels("new").overlap == 3
