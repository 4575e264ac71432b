"""Publishing queues: decisions of a review, reviews of mistakes, and rows of people."""

import json

import numpy as np
import pytest
from judging import item_of, people, queue_of, vote
from pets import IDS, LABELS, wide
from running import assert_one_line, run, run_well

import regrade
from regrade.core import MismatchError, MistakeCategory
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Mode, Purpose, Question

SAMPLE = Purpose.RANDOM_SAMPLE


@pytest.fixture
def workspace(pets, tmp_path):
    """Pets with three models, and labels `own@1` under which five of their predictions are novel."""
    for name, answers in (("second", "dog dog bird ship ship frog"), ("third", "cat cat deer cat frog deer")):
        (tmp_path / f"{name}.csv").write_text(wide(*answers.split(), model=name))
        run_well("import", "predictions", tmp_path / f"{name}.csv", "-t", "pets", "-w", pets)
    own = dict(zip(IDS, ([label] for label in LABELS), strict=True))
    (tmp_path / "own.json").write_text(json.dumps(own))
    run_well("import", "labels", tmp_path / "own.json", "-t", "pets", "--name", "own", "-w", pets)
    opened = regrade.open(pets)
    yield opened
    opened.ledger.engine.dispose()


class TestPublishReview:
    @pytest.fixture
    def drawn(self, workspace):
        """The drawn predictions, as (image, class)."""
        test_set = workspace.store.test_set("pets")
        drawn = workspace.labels.draw_sample("pets", labels="own", size=4)
        rows = [(drawn.frame.examples[r], drawn.frame.classes[r]) for r in drawn.rows]
        return [(test_set.ids[e], test_set.class_space.ids[c]) for e, c in rows]

    def judged(self, workspace):
        """The decisions of the review, and the reasons for problematic images."""
        test_set = workspace.store.test_set("pets")
        frame = workspace.store.reviews.read(test_set, workspace.store.labels.read(test_set, "own"))
        rows = np.flatnonzero(frame.judged)
        pairs = [(test_set.ids[frame.examples[r]], test_set.class_space.ids[frame.classes[r]]) for r in rows]
        return dict(zip(pairs, frame.states[rows].tolist(), strict=True)), list(frame.reasons.values())

    def test_publish_sample_updates_the_estimate(self, workspace, drawn):
        (ada,) = people(workspace.ledger, "Ada")
        queue = queue_of(workspace.ledger, "sample", drawn, test_set="pets", labels="own@1", purpose=SAMPLE)
        assert all(row.reviewed is None for row in workspace.grade("pets", labels="own").rows)
        for pair, answer in zip(drawn, ("correct", "wrong", "problematic"), strict=False):
            vote(workspace.ledger, queue, ada, pair, answer, reason="drawing")
        done = workspace.review.publish("sample")
        assert done.in_words() == (
            "the review of own@1: 1 correct added, 1 wrong added, 1 problematic added "
            "(of 4 items: 3 decided, 0 to discuss, 1 not answered)"
        )
        assert self.judged(workspace) == (dict(zip(drawn, (1, 3, 4), strict=False)), ["drawing"])
        assert workspace.labels.names("pets") == ("own@1",)
        assert any(row.reviewed for row in workspace.grade("pets", labels="own").rows)
        assert workspace.review.publish("sample").changes == {}

    def test_publish_sample_follows_withdrawn_and_changed_decisions(self, workspace, drawn, tmp_path):
        """A withdrawn decision restores the imported one, or leaves the pair open; a changed decision counts."""
        root, ledger = workspace.store.root, workspace.ledger
        (ada,) = people(ledger, "Ada")
        file = tmp_path / "verdicts.csv"
        file.write_text(f"image,class,verdict\n{','.join(drawn[0])},unclear\n")
        run_well("import", "verdicts", file, "-t", "pets", "-l", "own", "-w", root)
        queue = queue_of(ledger, "sample", drawn, test_set="pets", labels="own@1", purpose=SAMPLE)
        for pair in drawn[:3]:
            vote(ledger, queue, ada, pair, "wrong")
        workspace.review.publish("sample")
        assert self.judged(workspace)[0] == dict.fromkeys(drawn[:3], 3)
        for pair in drawn[:3]:
            ledger.decisions.reopen(item_of(ledger, queue, *pair), ada, why="once more")
        vote(ledger, queue, ada, drawn[2], "problematic", reason="edited", why="looked")
        assert dict(workspace.review.publish("sample").changes) == {
            "wrong taken back": 1,
            "wrong now unclear": 1,
            "wrong now problematic": 1,
        }
        assert self.judged(workspace) == ({drawn[0]: 2, drawn[2]: 4}, ["edited"])
        ledger.decisions.reopen(item_of(ledger, queue, *drawn[2]), ada, why="another reason")
        vote(ledger, queue, ada, drawn[2], "problematic", reason="painting", why="looked")
        assert workspace.review.publish("sample", dry_run=True).written is False
        assert workspace.review.publish("sample").written
        assert self.judged(workspace) == ({drawn[0]: 2, drawn[2]: 4}, ["painting"])

    def test_publish_sample_keeps_later_corrections(self, workspace, drawn, tmp_path):
        (ada,) = people(workspace.ledger, "Ada")
        queue = queue_of(workspace.ledger, "sample", drawn, test_set="pets", labels="own@1", purpose=SAMPLE)
        for pair in drawn[:2]:
            vote(workspace.ledger, queue, ada, pair, "wrong")
        workspace.review.publish("sample")
        file = tmp_path / "verdicts.csv"
        file.write_text(f"image,class,verdict\n{','.join(drawn[0])},correct\n")
        options = ("-t", "pets", "-l", "own", "--correct", "a slip", "-w", workspace.store.root)
        run_well("import", "verdicts", file, *options)
        assert workspace.review.publish("sample").changes == {}
        vote(workspace.ledger, queue, ada, drawn[2], "unclear")
        assert dict(workspace.review.publish("sample").changes) == {"unclear added": 1}
        assert self.judged(workspace)[0] == {drawn[0]: 1, drawn[1]: 3, drawn[2]: 2}

    def test_publish_labels_notes_decisions_left_behind(self, workspace, drawn):
        (ada,) = people(workspace.ledger, "Ada")
        sample = queue_of(workspace.ledger, "sample", drawn, test_set="pets", labels="own@1", purpose=SAMPLE)
        vote(workspace.ledger, sample, ada, drawn[0], "correct")
        workspace.review.publish("sample")
        novel = queue_of(workspace.ledger, "novel", [("p0", "ship")], test_set="pets", labels="own@1")
        assert workspace.review.publish("novel").notes == ()
        vote(workspace.ledger, novel, ada, ("p0", "ship"), "wrong")
        assert workspace.review.publish("novel").notes == ("left behind with own@1: 1 decision of its review",)

    def test_publish_of_a_census_makes_a_version(self, workspace, drawn):
        """This holds even if all of its items were drawn at random for another queue."""
        (ada,) = people(workspace.ledger, "Ada")
        queue = queue_of(workspace.ledger, "all", drawn, test_set="pets", labels="own@1")
        vote(workspace.ledger, queue, ada, drawn[0], "correct")
        assert workspace.review.publish("all").target == "labels own@2"
        assert workspace.review.running_review("all") is None

    def test_publish_of_a_sample_rejects_items_that_were_not_drawn(self, workspace, drawn):
        options = {"test_set": "pets", "labels": "own@1", "purpose": SAMPLE}
        queue_of(workspace.ledger, "mixed", [*drawn, ("p0", "ship")], **options)
        with pytest.raises(MismatchError, match="not all of its items were drawn for the review of own@1"):
            workspace.review.publish("mixed")

    @pytest.mark.parametrize(
        ("more", "purpose", "target"),
        [([], SAMPLE, "the review of own@1"), ([("p0", "ship")], Purpose.CENSUS, "labels own@2")],
        ids=["drawn", "mixed"],
    )
    def test_publish_records_the_purpose_of_an_earlier_queue(self, workspace, drawn, more, purpose, target):
        """An earlier version stored no purpose: a queue is a random sample if all its items were drawn."""
        ledger = workspace.ledger
        (ada,) = people(ledger, "Ada")
        queue = queue_of(ledger, "earlier", [*drawn, *more], test_set="pets", labels="own@1")
        with ledger.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE queue SET purpose = NULL")
        vote(ledger, queue, ada, drawn[0], "correct")
        assert workspace.review.publish("earlier", dry_run=True).target == target
        assert ledger.queues.named("earlier").purpose is None
        assert workspace.review.publish("earlier").target == target
        assert ledger.queues.named("earlier").purpose is purpose


FINE, SPURIOUS = MistakeCategory.FINE_GRAINED.value, MistakeCategory.SPURIOUS.value


class TestPublishMistakes:
    @pytest.fixture
    def queue(self, workspace):
        pairs = [("p2", "cat"), ("p5", "deer")]
        return queue_of(
            workspace.ledger, "grave", pairs, question=Question.MISTAKE, test_set="pets", labels="own", model="first"
        )  # fmt: skip

    def annotations(self, workspace):
        review = workspace.store.mistakes.read(workspace.store.test_set("pets"), "first")
        columns = (review.examples.tolist(), review.classes.tolist(), review.categories, review.severities)
        return {(e, c): (category.value, severity.value) for e, c, category, severity in zip(*columns, strict=True)}

    def test_publish_mistakes_follows_every_change(self, workspace, queue):
        ledger = workspace.ledger
        (ada,) = people(ledger, "Ada")
        vote(ledger, queue, ada, ("p2", "cat"), FINE, severity="major")
        done = workspace.review.publish("grave")
        assert done.in_words() == ("mistakes of first: 1 added (of 2 items: 1 decided, 0 to discuss, 1 not answered)")
        assert self.annotations(workspace) == {(2, 3): (FINE, "major")}
        assert workspace.review.publish("grave").changes == {}
        vote(ledger, queue, ada, ("p5", "deer"), SPURIOUS, severity="minor")
        ledger.decisions.reopen(item_of(ledger, queue, "p2", "cat"), ada, why="not so grave")
        vote(ledger, queue, ada, ("p2", "cat"), FINE, severity="borderline", why="not so grave")
        assert dict(workspace.review.publish("grave").changes) == {"added": 1, "changed": 1}
        assert self.annotations(workspace) == {(2, 3): (FINE, "borderline"), (5, 4): (SPURIOUS, "minor")}
        ledger.decisions.reopen(item_of(ledger, queue, "p5", "deer"), ada, why="hm")
        assert dict(workspace.review.publish("grave").changes) == {"taken back": 1}
        assert self.annotations(workspace) == {(2, 3): (FINE, "borderline")}
        ledger.decisions.reopen(item_of(ledger, queue, "p2", "cat"), ada, why="hm")
        workspace.review.publish("grave")
        assert workspace.store.mistakes.names("pets") == ()
        assert workspace.review.publish("grave").changes == {}

    def test_publish_mistakes_leaves_out_no_mistake(self, workspace, queue):
        ledger = workspace.ledger
        (ada,) = people(ledger, "Ada")
        vote(ledger, queue, ada, ("p2", "cat"), FINE, severity="major")
        vote(ledger, queue, ada, ("p5", "deer"), NO_MISTAKE, reason="the prediction is correct")
        done = workspace.review.publish("grave")
        assert (dict(done.changes), done.notes) == (
            {"added": 1},
            ("found to be no mistakes, and left out: 1 (have them judged again)",),
        )
        assert self.annotations(workspace) == {(2, 3): (FINE, "major")}
        ledger.decisions.reopen(item_of(ledger, queue, "p2", "cat"), ada, why="right after all")
        vote(ledger, queue, ada, ("p2", "cat"), NO_MISTAKE, reason="correct", why="right after all")
        assert dict(workspace.review.publish("grave").changes) == {"taken back": 1}

    def test_publish_mistakes_merges_queues_of_one_model(self, workspace, queue):
        (ada,) = people(workspace.ledger, "Ada")
        options = {"question": Question.MISTAKE, "test_set": "pets", "labels": "own", "model": "first"}
        more = queue_of(workspace.ledger, "more", [("p5", "deer")], **options)
        vote(workspace.ledger, queue, ada, ("p2", "cat"), FINE, severity="major")
        vote(workspace.ledger, more, ada, ("p5", "deer"), SPURIOUS, severity="minor")
        workspace.review.publish("grave")
        workspace.review.publish("more")
        assert len(self.annotations(workspace)) == 2

    def test_publish_mistakes_keeps_an_imported_review(self, workspace, queue, tmp_path):
        root = workspace.store.root
        (tmp_path / "m.csv").write_text(f"image,prediction,category,severity\np2,cat,{SPURIOUS},major\n")
        run_well("import", "mistakes", tmp_path / "m.csv", "-t", "pets", "--model", "first", "-w", root)
        (ada,) = people(workspace.ledger, "Ada")
        assert_one_line(run("review", "publish", "grave", "-w", root), "imported from a file", "first")
        vote(workspace.ledger, queue, ada, ("p2", "cat"), FINE, severity="major")
        assert_one_line(run("review", "publish", "grave", "-w", root), "imported from a file", "first")
        assert self.annotations(workspace) == {(2, 3): (SPURIOUS, "major")}

    def test_publish_mistakes_requires_a_model(self, workspace):
        queue_of(workspace.ledger, "without model", [("p2", "cat")], question=Question.MISTAKE, test_set="pets")
        assert_one_line(run("review", "publish", "without model", "-w", workspace.store.root), "has no model")


class TestPublishPeople:
    @pytest.fixture
    def queue(self, workspace):
        pairs = [(f"p{i}",) for i in range(4)]
        return queue_of(workspace.ledger, "label", pairs, question=Question.LABEL, test_set="pets", overlap=2)

    def row(self, workspace, name="person:Ada"):
        return workspace.store.predictions.read(workspace.store.test_set("pets"), name)

    def test_publish_people_stores_a_row_per_person(self, workspace, queue):
        ada, bob = people(workspace.ledger, "Ada", "Bob")
        given = vote(workspace.ledger, queue, ada, ("p0",), "cat", seconds=12.5)
        vote(workspace.ledger, queue, ada, ("p1",), "", seconds=3)
        vote(workspace.ledger, queue, bob, ("p0",), "dog")
        done = workspace.review.publish("label")
        assert done.in_words() == (
            "people on pets: 2 images of person:Ada, 1 image of person:Bob (of 4 items: 1 with every answer)"
        )
        row = self.row(workspace)
        assert row.top1.tolist() == [3, -1, -1, -1, -1, -1]
        assert row.covered.tolist() == [True, True, False, False, False, False]
        assert row.times.end[0] == pytest.approx(given.at.timestamp())
        assert row.times.seconds[:2].tolist() == pytest.approx([12.5, 3])
        assert self.row(workspace, "person:Bob").times is None
        assert workspace.review.publish("label").changes == {}
        rows = {row.model: row for row in workspace.grade("pets").rows}
        assert rows["person:Ada"].top1.value == 0.5

    def test_publish_people_adds_and_changes_answers(self, workspace, queue):
        """The last answer counts, with the total time spent on it."""
        (ada,) = people(workspace.ledger, "Ada")
        vote(workspace.ledger, queue, ada, ("p0",), "dog", seconds=10)
        workspace.review.publish("label")
        vote(workspace.ledger, queue, ada, ("p0",), "cat", seconds=2, why="slip")
        vote(workspace.ledger, queue, ada, ("p1",), "dog", seconds=4)
        late_queue = queue_of(workspace.ledger, "late", [("p5",)], question=Question.LABEL, test_set="pets")
        vote(workspace.ledger, late_queue, ada, ("p5",), "frog", seconds=1)
        assert dict(workspace.review.publish("late").changes) == {"images of person:Ada": 3}
        row = self.row(workspace)
        assert row.top1.tolist() == [3, 5, -1, -1, -1, 6]
        assert row.times.seconds[[0, 1, 5]].tolist() == pytest.approx([12, 4, 1])
        assert run_well("study", "people", "-t", "pets", "-w", workspace.store.root).code == 0

    def test_publish_people_removes_withdrawn_answers(self, workspace, queue):
        ledger = workspace.ledger
        (ada,) = people(ledger, "Ada")
        for image, answer in (("p0", "cat"), ("p1", "dog")):
            vote(ledger, queue, ada, (image,), answer)
        workspace.review.publish("label")
        vote(ledger, queue, ada, ("p1",), None, why="not sure")
        workspace.review.publish("label")
        assert self.row(workspace).counted.tolist() == [True, False, False, False, False, False]
        vote(ledger, queue, ada, ("p0",), None, why="not sure")
        assert dict(workspace.review.publish("label").changes) == {"images of person:Ada": 0}
        assert workspace.store.predictions.people_names("pets") == ()
        assert workspace.review.publish("label").changes == {}

    def test_publish_people_rejects_training_queues(self, workspace):
        queue_of(
            workspace.ledger, "school", [("p0",)], question=Question.LABEL, test_set="pets", mode=Mode.TRAINING
        )  # fmt: skip
        assert_one_line(run("review", "publish", "school", "-w", workspace.store.root), "for training", "not published")

    def test_publish_people_keeps_an_imported_row(self, workspace, queue, tmp_path):
        root = workspace.store.root
        (tmp_path / "ada.csv").write_text("image,class\np3,cat\n")
        run_well("import", "people", tmp_path / "ada.csv", "-t", "pets", "--name", "Ada", "-w", root)
        (ada,) = people(workspace.ledger, "Ada")
        vote(workspace.ledger, queue, ada, ("p0",), "cat")
        assert_one_line(run("review", "publish", "label", "-w", root), "person:Ada", "imported from a file")
        assert self.row(workspace).counted.tolist() == [False, False, False, True, False, False]

    def test_publish_people_rejects_unknown_classes(self, workspace, queue):
        (ada,) = people(workspace.ledger, "Ada")
        vote(workspace.ledger, queue, ada, ("p0",), "kat")
        assert_one_line(run("review", "publish", "label", "-w", workspace.store.root), "kat")
