"""A build as CIFAR-10.1 was made: one person collects by keyword, another verifies, and all keyword targets are met."""

import csv
import hashlib
import json

import pytest
from reviewing import add_reviewer, newest_images, publish, vote_on_open
from running import assert_one_line, run, run_well

import regrade
from regrade.build.files import AnswerBatch, AnswerCollection, RevisionCollection, TaskCollection
from regrade.build.frequencies import Assignment
from regrade.build.samplers import keyword_targets
from regrade.build.tasks import TaskOptions, TileRole, make_tasks
from regrade.core import ClassSpace, InputError
from regrade.tables import Columns

SPACE = ClassSpace("vehicles", ("automobile", "ship"), ("automobile", "ship"))
COLLECTOR, VERIFIER = "Cora Field", "Vera Check"
REFERENCES = {
    "automobile": {"cruiser": 13, "sedan": 29, "coupe": 8, "hot rod": 1},
    "ship": {"cruiser": 31, "ferry": 11, "tug": 5, "dinghy": 2},
}
"""The number of reference images per keyword; "cruiser" is a keyword of both classes."""

PER_CLASS, KEYWORDS = 20, 3
TARGETS = {
    "automobile": {"cruiser": 5, "sedan": 12, "coupe": 3},  # 20 * 13, 29 and 8 of 50 = 5.2, 11.6 and 3.2
    "ship": {"cruiser": 13, "ferry": 5, "tug": 2},  # 20 * 31, 11 and 5 of 47 = 13.2, 4.7 and 2.1
}


def write_set(path, name, counts):
    """A table of images with the given number per class and keyword."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", "keyword"])
        for label, keywords in counts.items():
            for keyword, count in keywords.items():
                writer.writerows([f"{name}-{label}-{keyword}-{n:02}", label, keyword] for n in range(count))
    return path


@pytest.fixture
def workspace(tmp_path):
    """A pool with 30 candidates per class and keyword, also of rare keywords, and the reference set."""
    workspace = regrade.init(tmp_path / "W")
    pool = {label: dict.fromkeys([*keywords, "bus"], 30) for label, keywords in REFERENCES.items()}
    for name, counts in (("pool", pool), ("cifar", REFERENCES)):
        path = write_set(tmp_path / f"{name}.csv", name, counts)
        workspace.testsets.add(name, path, classes=SPACE, columns=Columns(groups=("keyword",)))
    workspace.build.tasks(
        "c10", "pool", "cifar", by="keyword", tiles=12, workers=1, positives=0, negatives=0, annotated=0
    )
    return workspace


def keyword_of(image):
    return image.split("-")[2]


def collect(workspace, chosen):
    """The collecting labeler answers all tasks, and selects the candidates for which ``chosen`` is true."""
    answers = [
        Assignment(task.id, COLLECTOR, frozenset(tile.image for tile in task.tiles if chosen(tile.image)))
        for task in TaskCollection(workspace.store.root).read("c10").tasks
    ]
    AnswerCollection(workspace.store.root).add(AnswerBatch("c10", tuple(answers)), None)


def is_good(image):
    """The collector takes three of four candidates."""
    return int(image[-2:]) % 4 != 3


def sample(workspace, **options):
    options = {"per_class": PER_CLASS, "min_answers": 1, "lowest": 1.0, "keywords": KEYWORDS, **options}
    return workspace.build.sample("c10", "keyword-matched", **options)


def drawn_counts(workspace):
    """The number of drawn images per class and keyword of the newest revision."""
    counts = {}
    for image, label in newest_images(workspace, "c10").items():
        of_class = counts.setdefault(label, {})
        of_class[keyword_of(image)] = of_class.get(keyword_of(image), 0) + 1
    return counts


class TestTasks:
    def test_every_candidate_is_in_one_task_of_its_keyword(self, workspace):
        tasks = TaskCollection(workspace.store.root).read("c10")
        shown = [tile.image for task in tasks.tasks for tile in task.tiles]
        assert len(shown) == len(set(shown)) == 300
        assert all(len({keyword_of(tile.image) for tile in task.tiles}) == 1 for task in tasks.tasks)
        assert {task.class_id for task in tasks.tasks} == set(SPACE.ids)
        assert sorted(len(task.tiles) for task in tasks.tasks)[:10] == [6] * 10  # 30 candidates are 12, 12 and 6
        assert tasks.options.by == "keyword"
        assert len({task.id for task in tasks.tasks}) == 30

    def test_the_same_keyword_in_two_classes_has_different_tasks(self, workspace):
        tasks = TaskCollection(workspace.store.root).read("c10").tasks
        cruisers = [task for task in tasks if keyword_of(task.tiles[0].image) == "cruiser"]
        assert sorted(task.class_id for task in cruisers) == ["automobile"] * 3 + ["ship"] * 3
        for task in cruisers:
            assert {tile.image.split("-")[1] for tile in task.tiles} == {task.class_id}

    def test_controls_are_planted_in_tasks_of_a_keyword_too(self):
        candidates = {"ship": [f"c{n}" for n in range(30)]}
        references = {"ship": [f"r{n}" for n in range(40)], "automobile": [f"a{n}" for n in range(40)]}
        keywords = {f"c{n}": "tug" if n < 20 else "ferry" for n in range(30)}
        options = TaskOptions(tiles=16, positives=3, negatives=3, annotated_references=0)
        plan = make_tasks(candidates, references, {"ship": "automobile"}, options, keywords)
        assert plan.composition() == {(10, 3, 3): 3}
        shown = [{keywords[tile.image] for tile in task.of(TileRole.CANDIDATE)} for task in plan.tasks]
        assert sorted(shown, key=min) == [{"ferry"}, {"tug"}, {"tug"}]

    def test_the_command_states_keywords_and_refuses_an_unknown_column(self, workspace):
        root = workspace.store.root
        arguments = ("--pool", "pool", "--reference", "cifar", "--workers", "1", "--positives", "0", "--negatives", "0")
        done = run_well("build", "tasks", "again", *arguments, "--by", "keyword", "-w", root)
        assert "again: 10 tasks for 2 classes and 10 keywords of them, 1 worker each" in done.out
        refused = run("build", "tasks", "third", *arguments, "--by", "word", "-w", root)
        assert_one_line(refused)
        assert "pool has no group column 'word'" in refused.err

    def test_tasks_by_class_keep_their_digest(self, workspace):
        """The digest names the tiles of exported tasks: an option that is not used must not change it."""
        workspace.build.tasks("plain", "pool", "cifar", negatives=0, positives=0)
        tasks = TaskCollection(workspace.store.root).read("plain")
        options = {"tiles": 48, "positives": 0, "negatives": 0, "workers": 10, "annotated_references": 20, "seed": 0}
        origin = ["pool", tasks.pool_digest, "cifar", tasks.reference_digest, options]
        tiles = [[task.id, task.class_id, tile.image, "candidate"] for task in tasks.tasks for tile in task.tiles]
        assert tasks.digest == hashlib.sha256(json.dumps([origin, tiles]).encode()).hexdigest()


class TestSampling:
    def test_hand_computed_targets(self):
        assert {label: keyword_targets(counts, PER_CLASS, KEYWORDS) for label, counts in REFERENCES.items()} == TARGETS

    def test_targets_are_filled_from_collected_images(self, workspace):
        collect(workspace, is_good)
        result = sample(workspace)
        assert not result.problems
        assert drawn_counts(workspace) == TARGETS
        assert all(is_good(image) for image in newest_images(workspace, "c10"))
        assert result.excluded == {"below_threshold": 70}  # 7 of 30 candidates of each of 10 keywords

    def test_without_a_lowest_frequency_all_candidates_are_drawn(self, workspace):
        collect(workspace, lambda image: image.endswith("00"))
        assert sample(workspace, lowest=None).excluded == {}
        few = sample(workspace)
        assert "automobile: 11 more images with the keyword 'sedan' needed" in few.problems

    def test_threshold_keeps_its_default(self, workspace):
        collect(workspace, is_good)
        result = workspace.build.sample("c10", "threshold", per_class=4, min_answers=1)
        assert result.excluded == {"below_threshold": 70}


class TestTwoLabelers:
    def test_a_first_labeler_collects_and_a_second_verifies(self, workspace):
        """Everything, until no image is flagged; then a set with other targets that starts from it."""
        collect(workspace, is_good)
        sample(workspace)
        add_reviewer(workspace, COLLECTOR)
        with pytest.raises(InputError, match=f"{COLLECTOR} answered selection tasks"):
            workspace.build.review("c10", verified_by=[COLLECTOR])
        add_reviewer(workspace, VERIFIER)
        rounds = self.verify_until_done(workspace)
        assert rounds >= 2
        assert drawn_counts(workspace) == TARGETS
        images = newest_images(workspace, "c10")
        assert not any(is_bad(image) for image in images)
        reviewed = workspace.build.revisions("c10").revisions[-1]
        assert (reviewed.reviewed, reviewed.flagged, reviewed.images) == (40, 0, 40)
        self.continue_with_more_keywords(workspace, images)

    def verify_until_done(self, workspace):
        """Review, publish and draw again, and return the number of revisions that were reviewed."""
        revisions = RevisionCollection(workspace.store.root)
        for number in range(10):
            queued = workspace.build.review("c10", verified_by=[VERIFIER])
            assert queued.assigned == (VERIFIER,)
            bad = {image: "wrong class" for image in newest_images(workspace, "c10") if is_bad(image)}
            opened = vote_on_open(workspace, "c10", VERIFIER, bad)
            assert opened == queued.total("open")
            publish(workspace, "c10")
            if not bad:
                return number + 1
            sample(workspace, continue_from=number)
            kept = set(revisions.read("c10", number).sample.examples) - {
                (image, label) for image, label in revisions.read("c10", number).sample.examples if image in bad
            }
            assert kept <= set(revisions.read("c10", number + 1).sample.examples)
        raise AssertionError("the review does not end")

    def continue_with_more_keywords(self, workspace, before):
        """As v6 of CIFAR-10.1 followed v4: more keywords, so that surplus is dropped and a shortfall is added."""
        last = workspace.build.revisions("c10").revisions[-1].number
        result = sample(workspace, keywords=4, continue_from=last, seed=7)
        assert not result.problems
        targets = {label: keyword_targets(counts, PER_CLASS, 4) for label, counts in REFERENCES.items()}
        targets = {label: {key: count for key, count in own.items() if count} for label, own in targets.items()}
        assert drawn_counts(workspace) == targets
        after = newest_images(workspace, "c10")
        assert not any(is_bad(image) and image in before for image in after)
        for label, own in targets.items():
            for keyword, target in own.items():
                old, new = (
                    {image for image in images if images[image] == label and keyword_of(image) == keyword}
                    for images in (before, after)
                )
                assert old <= new if len(old) <= target else new < old
        pairs = [(label, keyword) for label, own in targets.items() for keyword in own]
        kept = sum(min(targets[label][keyword], TARGETS[label].get(keyword, 0)) for label, keyword in pairs)
        assert len(before.keys() & after.keys()) == kept
        queued = workspace.build.review("c10")
        assert queued.total("new") == len(after.keys() - before.keys())  # the others carry over


def is_bad(image):
    """The verifier finds every fifth collected image to be wrong."""
    return int(image[-2:]) % 5 == 0
