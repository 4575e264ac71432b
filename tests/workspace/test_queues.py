"""Filling queues: only unjudged items, no item twice, and blind queues do not reveal whose answer it is."""

import shutil
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from judging import item_of, people, queue_of, vote
from judging import people as add_people
from sqlalchemy import func, select

import regrade
from benchmarks.kills import run_killed
from regrade.classes import class_space
from regrade.core import UNLABELED, InputError, MismatchError, TestSet, UnknownName
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Ledger, Mode, NewItem, Purpose, Question, Role
from regrade.ledger.schema import block
from regrade.workspace.mistake_queue import judge_again

IMAGES = tuple(f"i{n}" for n in range(8))
OWN = ("cat", "dog", "bird", "cat", "ship", "frog", "deer", "horse")
MODELS = {  # novel under the labels below: i1 cat, i2 cat, i4 truck of one; i1 cat, i5 deer of two
    "one": ("cat", "cat", "cat", "dog", "truck", "frog", "deer", "horse"),
    "two": ("cat", "cat", "bird", "dog", "ship", "deer", "frog", "horse"),
}
LABELED = [
    *((image, own, "correct", "") for image, own in zip(IMAGES[:6], OWN, strict=False)),
    ("i3", "dog", "wrong", ""),
    ("i6", "deer", "correct", "drawing"),
]  # i7 is not covered, i6 is problematic
NOVEL = {("i1", "cat"), ("i2", "cat"), ("i4", "truck"), ("i5", "deer")}
PAIR = ("a.jpg", "n01")


def csv(path, heading, rows):
    path.write_text("\n".join(",".join(row) for row in (heading, *rows)) + "\n")
    return path


def add_model(workspace, folder, name, answers):
    file = csv(folder / f"{name}.csv", ("image", "label", name), zip(IMAGES, OWN, answers, strict=True))
    workspace.models.import_predictions(file, test_set="s", classes="cifar-10")


def add_person(workspace, folder, name, answers):
    rows = [(name, image, own) for image, own in zip(IMAGES, answers, strict=True) if own]
    workspace.models.import_people(csv(folder / f"{name}.csv", ("person", "image", "class"), rows), test_set="s")


def add_labels(workspace, folder, rows, **more):
    file = csv(folder / "labels.csv", ("image", "class", "state", "problematic"), rows)
    workspace.labels.import_file(file, test_set="s", name="own", **more)


@pytest.fixture
def workspace(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    for name, answers in MODELS.items():
        add_model(workspace, tmp_path, name, answers)
    add_labels(workspace, tmp_path, LABELED)
    yield workspace
    workspace.ledger.engine.dispose()


def queued_pairs(workspace, queue):
    return set(workspace.ledger.items.pairs(workspace.ledger.queues.named(queue)))


def novel(workspace, **more):
    return workspace.review.queue_novel("s", labels="own", **more)


class TestQueueNovel:
    def test_queue_novel_adds_all_unjudged_predictions(self, workspace):
        done = novel(workspace)
        assert (done.queue, done.question, done.added, done.items, done.overlap) == ("novel s own", "judge", 4, 4, 1)
        assert queued_pairs(workspace, "novel s own") == NOVEL
        queue = workspace.ledger.queues.named("novel s own")
        assert (queue.test_set, queue.labels, queue.model) == ("s", "own@1", "")

    def test_queue_novel_adds_only_new_predictions_of_a_new_model(self, workspace, tmp_path):
        assert novel(workspace, models=["one"]).added == 3
        add_model(workspace, tmp_path, "three", ("bird", "cat", *OWN[2:]))
        done = novel(workspace)
        assert (done.added, done.items) == (2, 5)
        assert queued_pairs(workspace, "novel s own") == NOVEL | {("i0", "bird")}
        assert novel(workspace).added == 0

    def test_queue_novel_skips_pairs_of_another_queue(self, workspace):
        novel(workspace, models=["one"], name="first")
        done = novel(workspace)
        assert queued_pairs(workspace, done.queue) == {("i5", "deer")}
        assert "asked in another queue: 3" in str(done)
        with pytest.raises(InputError, match=r"no novel prediction is left .* 4 are asked in another queue"):
            novel(workspace, name="third")
        assert [queue.name for queue in workspace.ledger.queues.all()] == ["first", "novel s own"]

    def test_queue_novel_ignores_queues_of_other_labels_questions_and_sets(self, workspace):
        ledger = workspace.ledger
        for name, question, test_set, labels in (
            ("other labels", Question.JUDGE, "s", "real@1"),
            ("mistakes", Question.MISTAKE, "s", "own@1"),
            ("other set", Question.JUDGE, "t", "own@1"),
        ):
            queue = ledger.queues.create(name, question, test_set=test_set, labels=labels)
            ledger.items.add(queue, [NewItem(*pair) for pair in NOVEL])
        assert novel(workspace).added == 4

    def test_queue_novel_skips_pairs_judged_in_a_new_version(self, workspace, tmp_path):
        novel(workspace, models=["one"])
        add_labels(workspace, tmp_path, [*LABELED, ("i5", "deer", "wrong", "")], new_version=True)
        done = novel(workspace)
        assert done.added == 0 and done.items == 3

    def test_queue_novel_skips_pairs_judged_in_the_review(self, workspace, tmp_path):
        drawn = workspace.labels.draw_sample("s", labels="own", size=4)
        assert len(drawn.rows) == 4
        rows = [("i1", "cat", "wrong", ""), ("i5", "deer", "problematic", "edited")]
        file = csv(tmp_path / "v.csv", ("image", "class", "verdict", "reason"), rows)
        workspace.labels.import_decisions(file, test_set="s", labels="own")
        novel(workspace)
        assert queued_pairs(workspace, "novel s own") == {("i2", "cat"), ("i4", "truck")}

    def test_queue_novel_excludes_answers_of_people(self, workspace, tmp_path):
        add_person(workspace, tmp_path, "ann", ("ship", *OWN[1:]))
        assert novel(workspace).added == 4

    @pytest.mark.parametrize(("reviewers", "overlap"), [(0, 1), (1, 1), (2, 2), (3, 3), (4, 3)])
    def test_default_overlap_is_the_number_of_reviewers_up_to_three(self, workspace, reviewers, overlap):
        workspace.ledger.people.add("Lea", Role.LABELER)
        add_people(workspace.ledger, *"ABCD"[:reviewers])
        assert novel(workspace).overlap == overlap

    def test_overlap_can_be_set(self, workspace):
        assert novel(workspace, overlap=5).overlap == 5

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"overlap": 0}, "overlap of 0"),
            ({"models": ["tow"]}, "did you mean two"),
            ({"models": ["one", "one"]}, "named twice"),
            ({"name": "x" * 81}, "1 to 80 characters"),
            ({"name": " "}, "1 to 80 characters"),
            ({"by": "votes"}, "by requires size"),
            ({"size": 2, "models": ["one"]}, "give either models or size"),
            ({"size": 5}, "4 novel predictions can be drawn"),
            ({"size": 2, "by": "vote"}, "did you mean votes"),
        ],
    )
    def test_queue_novel_rejects_bad_input(self, workspace, options, words):
        with pytest.raises(InputError, match=words):
            novel(workspace, **options)
        assert workspace.ledger.queues.all() == ()

    def test_queue_novel_rejects_a_queue_with_another_question(self, workspace):
        workspace.review.queue_labels("s", size=2, name="mine")
        with pytest.raises(MismatchError, match="exists with another question, test set or labels"):
            novel(workspace, name="mine")
        novel(workspace, overlap=2)
        with pytest.raises(InputError, match="need 2 votes each"):
            novel(workspace, overlap=3)

    def test_queue_novel_rejects_a_queue_with_another_purpose(self, workspace):
        sample = novel(workspace, size=2)
        assert workspace.ledger.queues.named(sample.queue).purpose is Purpose.RANDOM_SAMPLE
        with pytest.raises(MismatchError, match="has the purpose random sample, and these items census"):
            novel(workspace, name=sample.queue)


class TestQueueSample:
    def test_queue_sample_stores_the_strata_of_the_review(self, workspace):
        done = novel(workspace, size=3, seed=4)
        assert (done.queue, done.added) == ("sample s own@1", 3)
        assert "drawn at random: 3, so far 3 of 4 novel predictions (stratified by votes)" in str(done)
        frame = workspace.labels.drawn_sample("s", labels="own").frame
        target = workspace.store.test_set("s")
        items = [item for item in workspace.ledger.rows() if item["kind"] == "item"]
        strata = {(item["example"], item["class"]): item["stratum"] for item in items}
        for row in frame.given_out(0, 3):
            pair = target.ids[frame.examples[row]], target.class_space.ids[frame.classes[row]]
            assert strata[pair] == frame.strata[row]
        assert len(set(strata.values())) == 2

    def test_queue_sample_continues_in_the_same_order(self, workspace):
        novel(workspace, size=3)
        assert (novel(workspace, size=1).items, queued_pairs(workspace, "sample s own@1")) == (4, NOVEL)
        with pytest.raises(InputError, match="0 novel predictions are left"):
            novel(workspace, size=1)

    def test_queue_sample_survives_a_kill_at_any_step(self, workspace, tmp_path):
        workspace.ledger.engine.dispose()
        before = set()
        for at in count():
            root = Path(shutil.copytree(workspace.store.root, tmp_path / f"W{at}"))
            through = run_killed(lambda root=root: novel(regrade.open(root), size=2), at=at, below=root)
            copy = regrade.open(root)
            target = copy.store.test_set("s")
            queues = [queue.name for queue in copy.ledger.queues.all()]
            in_queue = queued_pairs(copy, queues[0]) if queues else set()
            frame, rows = (drawn := copy.labels.draw_sample("s", labels="own", size=2)).frame, drawn.rows
            pairs = {(target.ids[frame.examples[r]], target.class_space.ids[frame.classes[r]]) for r in rows.tolist()}
            assert not pairs & in_queue, at
            before.add(len(in_queue))
            if frame.drawn == 4 and not in_queue:  # drawn, and killed before anyone was asked
                assert queued_pairs(copy, novel(copy, size=2).queue) | pairs == NOVEL, at
                before.add("went on")
            copy.ledger.engine.dispose()
            if through:
                break
        assert before == {0, 2, "went on"}

    def test_queue_sample_includes_pairs_of_other_queues(self, workspace):
        """The sample would not be random without them."""
        novel(workspace, models=["one"])
        done = novel(workspace, size=4)
        assert done.added == 4 and "asked in another queue too: 3" in str(done)
        assert novel(workspace).added == 0

    def test_published_sample_updates_the_estimate(self, workspace):
        (ada,) = add_people(workspace.ledger, "Ada")
        done = novel(workspace, size=4)
        queue = workspace.ledger.queues.named(done.queue)
        for pair in NOVEL:
            vote(workspace.ledger, queue, ada, pair, "correct")
        workspace.review.publish(done.queue)
        rows = {row.model: row for row in workspace.grade("s", labels="own").rows}
        assert rows["one"].multilabel.value == pytest.approx(5 / 6)  # i3 is wrong
        assert rows["one"].novel == 0

    def test_queue_sample_rejects_a_queue_of_another_version(self, workspace, tmp_path):
        novel(workspace, size=1, name="mine")
        add_labels(workspace, tmp_path, [*LABELED, ("i5", "deer", "wrong", "")], new_version=True)
        with pytest.raises(MismatchError, match="is for own@1"):
            novel(workspace, size=1, name="mine")


class TestQueuePeople:
    ANN = ("ship", "cat", "ship", "cat", "car", "frog", "bird", "bird")  # novel: i0 ship, i1 cat (models too), i2 ship

    @pytest.fixture
    def peopled(self, workspace, tmp_path):
        add_person(workspace, tmp_path, "ann", [own.replace("car", "automobile") for own in self.ANN])
        return workspace

    def test_queue_people_adds_a_prediction_per_image(self, peopled):
        done = peopled.review.queue_people("s", labels="own")
        pairs = queued_pairs(peopled, "people s own")
        persons = {("i0", "ship"), ("i1", "cat"), ("i2", "ship"), ("i4", "automobile")}
        # i0: models only say cat, judged before; i1: models say the same; i2 and i4: their novel answers
        assert pairs - persons == {("i0", "cat"), ("i2", "cat"), ("i4", "truck")}
        assert persons < pairs
        assert "novel answers of 1 person: 4; models' answers among them: 3" in str(done)

    def test_queue_people_does_not_reveal_whose_answer_it_is(self, peopled):
        """Both kinds share stratum, overlap and block, and their order is random."""
        places = []
        for seed in range(12):
            name = f"people {seed}"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(
                    "regrade.workspace.queue_filling.QueueFiller.same_question", ()
                )  # as if each were the first
                peopled.review.queue_people("s", labels="own", seed=seed, name=name)
            rows = [row for row in peopled.ledger.rows() if row["kind"] == "item" and row["queue"] == name]
            assert {row["stratum"] for row in rows} == {0}
            places.append([(row["example"], row["class"]) for row in rows].index(("i0", "cat")))
        assert min(places) < 3 and max(places) > 3
        with peopled.ledger.engine.connect() as connection:
            assert connection.execute(select(func.count()).select_from(block)).scalar() == 12

    def test_queue_people_depends_on_the_seed(self, peopled, tmp_path):
        add_model(peopled, tmp_path, "three", ("cat", "dog", "deer", "cat", "frog", "frog", "deer", "horse"))
        drawn = []
        for name, seed in (("a", 1), ("b", 1), ("c", 2), ("d", 3), ("e", 4)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("regrade.workspace.queue_filling.QueueFiller.same_question", ())
                peopled.review.queue_people("s", labels="own", seed=seed, name=name)
            drawn.append(frozenset(queued_pairs(peopled, name)))
        assert drawn[0] == drawn[1] and len(set(drawn)) > 1

    def test_queue_people_adds_only_new_answers(self, peopled, tmp_path):
        peopled.review.queue_people("s", labels="own")
        before = queued_pairs(peopled, "people s own")
        assert peopled.review.queue_people("s", labels="own", seed=7).added == 0
        for model in ("three", "four", "five", "six"):  # more novel answers, none of which is needed as a seed
            add_model(peopled, tmp_path, model, ("cat", "frog", "deer", "cat", "ship", "frog", "deer", "horse"))
        add_person(peopled, tmp_path, "bob", ("ship", "bird", "dog", "", "", "ship", "", ""))
        done = peopled.review.queue_people("s", labels="own", seed=7)
        new = queued_pairs(peopled, "people s own") - before
        # i1 and i2 have a model's answer in the queue already; i5 gets the novel one of model two
        assert new == {("i1", "bird"), ("i2", "dog"), ("i5", "ship"), ("i5", "deer")}
        assert done.added == 4

    def test_queue_people_of_named_people(self, peopled, tmp_path):
        add_person(peopled, tmp_path, "bob", ("ship", "dog", "bird", "", "", "", "", ""))
        peopled.review.queue_people("s", labels="own", people=["bob"])
        assert queued_pairs(peopled, "people s own") == {("i0", "ship"), ("i0", "cat")}

    def test_queue_people_may_mix_in_predictions_of_other_queues(self, peopled):
        novel(peopled)
        peopled.review.queue_people("s", labels="own")
        pairs = queued_pairs(peopled, "people s own")
        assert ("i1", "cat") not in pairs  # asked already
        assert {("i2", "ship"), ("i2", "cat"), ("i4", "truck")} < pairs  # seeds, though asked there too

    def test_queue_people_prefers_predictions_in_no_other_queue(self, peopled, tmp_path):
        """On i2 model one predicts cat, which is in another queue; model three predicts deer."""
        novel(peopled)
        add_model(peopled, tmp_path, "three", ("cat", "dog", "deer", "cat", "ship", "frog", "deer", "horse"))
        for seed in range(8):
            with pytest.MonkeyPatch.context() as patch:
                first = [queue for queue in peopled.ledger.queues.all() if queue.name == "novel s own"]
                patch.setattr("regrade.workspace.queue_filling.QueueFiller.same_question", tuple(first))
                peopled.review.queue_people("s", labels="own", seed=seed, name=f"{seed}")
            assert {own for image, own in queued_pairs(peopled, f"{seed}") if image == "i2"} == {"ship", "deer"}

    def test_queue_people_requires_people_with_novel_answers(self, workspace, tmp_path):
        with pytest.raises(InputError, match="no person has answers"):
            workspace.review.queue_people("s", labels="own")
        add_person(workspace, tmp_path, "eve", OWN)
        with pytest.raises(InputError, match="all answers of these people on"):
            workspace.review.queue_people("s", labels="own")
        with pytest.raises(UnknownName, match="person:eve"):
            workspace.review.queue_people("s", labels="own", people=["ever"])
        assert workspace.ledger.queues.all() == ()


class TestQueueMistakes:
    def test_queue_mistakes_adds_judged_mistakes(self, workspace):
        done = workspace.review.queue_mistakes("s", labels="own", model="one")
        assert queued_pairs(workspace, "mistakes s one") == {("i3", "dog")}
        assert "novel, to be judged first (regrade review queue): 3" in str(done)
        queue = workspace.ledger.queues.named("mistakes s one")
        assert (queue.question, queue.model, queue.labels) == (Question.MISTAKE, "one", "own@1")

    def test_queue_mistakes_uses_decisions_of_the_review(self, workspace, tmp_path):
        workspace.labels.draw_sample("s", labels="own", size=4)
        rows = [("i1", "cat", "wrong"), ("i2", "cat", "unclear"), ("i4", "truck", "correct")]
        file = csv(tmp_path / "v.csv", ("image", "class", "verdict"), rows)
        workspace.labels.import_decisions(file, test_set="s", labels="own")
        workspace.review.queue_mistakes("s", labels="own", model="one")
        assert queued_pairs(workspace, "mistakes s one") == {("i3", "dog"), ("i1", "cat")}
        workspace.review.queue_mistakes("s", labels="own", model="two")
        assert queued_pairs(workspace, "mistakes s two") == {("i3", "dog"), ("i1", "cat")}  # each model's own

    def test_queue_mistakes_skips_reviewed_mistakes(self, workspace, tmp_path):
        row = ("i3", "dog", "spurious", "minor")
        file = csv(tmp_path / "m.csv", ("image", "class", "category", "severity"), [row])
        workspace.models.import_mistakes(file, test_set="s", model="one")
        with pytest.raises(InputError, match=r"no mistake of one is left .* to be judged first: 3 novel predictions"):
            workspace.review.queue_mistakes("s", labels="own", model="one")

    def test_queue_mistakes_skips_collapsed_classes(self, tmp_path):
        """Laptop and notebook are collapsed classes."""
        laptop, notebook, mouse = "n03642806", "n03832673", "n03793489"
        workspace = regrade.init(tmp_path / "W")
        rows = [("a", laptop, notebook), ("b", laptop, mouse)]
        file = csv(tmp_path / "p.csv", ("image", "label", "net"), rows)
        workspace.models.import_predictions(file, test_set="s", classes="imagenet-1k")
        judged = [("a", notebook, "wrong"), ("b", mouse, "wrong"), ("a", laptop, "correct"), ("b", laptop, "correct")]
        workspace.labels.import_file(
            csv(tmp_path / "l.csv", ("image", "class", "state"), judged), test_set="s", name="own"
        )
        workspace.review.queue_mistakes("s", labels="own", model="net")
        assert queued_pairs(workspace, "mistakes s net") == {("b", mouse)}
        workspace.ledger.engine.dispose()

    def test_queue_mistakes_skips_pairs_of_another_queue(self, workspace):
        workspace.review.queue_mistakes("s", labels="own", model="one", name="mine")
        with pytest.raises(InputError, match="no mistake of one is left"):
            workspace.review.queue_mistakes("s", labels="own", model="one")

    def test_queue_mistakes_rejects_an_unknown_model(self, workspace):
        with pytest.raises(UnknownName, match="did you mean one"):
            workspace.review.queue_mistakes("s", labels="own", model="on")


class TestQueueLabels:
    def images(self, workspace, queue):
        return {example for example, empty in queued_pairs(workspace, queue) if not empty}

    def test_queue_labels_adds_all_images(self, workspace):
        done = workspace.review.queue_labels("s")
        assert self.images(workspace, "label s") == set(IMAGES)
        assert done.overlap == 1
        queue = workspace.ledger.queues.named("label s")
        assert (queue.question, queue.mode, queue.labels) == (Question.LABEL, Mode.EXAMINATION, "")

    def test_queue_labels_default_overlap_is_the_number_of_people(self, workspace):
        workspace.ledger.people.add("Lea", Role.LABELER)
        add_people(workspace.ledger, *"ABCD")
        assert workspace.review.queue_labels("s").overlap == 5

    def test_queue_labels_draws_at_random(self, workspace):
        drawn = set()
        for seed in range(6):
            done = workspace.review.queue_labels("s", size=2, seed=seed, name=f"q{seed}", mode="training")
            drawn.add(frozenset(self.images(workspace, done.queue)))
        assert len(drawn) > 2 and {len(images) for images in drawn} == {2}

    def test_queue_labels_again_draws_further_images(self, workspace):
        workspace.review.queue_labels("s", size=5)
        assert workspace.review.queue_labels("s", size=3).items == 8
        with pytest.raises(InputError, match="0 images of s can be drawn, got a size of 1"):
            workspace.review.queue_labels("s", size=1)

    def test_queue_labels_of_a_family(self, workspace):
        workspace.review.queue_labels("s", family="animals", mode="training")
        assert self.images(workspace, "training s animals") == set(IMAGES) - {"i4"}
        workspace.review.queue_labels("s", family="ship")
        assert self.images(workspace, "label s ship") == {"i4"}

    def test_queue_labels_keeps_training_and_examination_disjoint(self, workspace):
        workspace.review.queue_labels("s", size=3, mode="training")
        workspace.review.queue_labels("s", size=2)
        trained, examined = self.images(workspace, "training s"), self.images(workspace, "label s")
        assert not trained & examined
        workspace.review.queue_labels("s", mode="training")
        assert self.images(workspace, "training s") == set(IMAGES) - examined
        with pytest.raises(InputError, match="0 images of s can be drawn"):
            workspace.review.queue_labels("s", name="more")

    def test_queue_labels_may_reuse_training_images_for_training(self, workspace):
        workspace.review.queue_labels("s", mode="training")
        assert workspace.review.queue_labels("s", mode="training", family="cat").items == 2

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"size": 0}, "got a size of 0"),
            ({"size": 9}, "8 images of s can be drawn, got a size of 9"),
            ({"family": "cats and dogs"}, "unknown family"),
            ({"family": "airplane"}, "no image of s has a label in the family airplane"),
            ({"mode": "exam"}, "did you mean examination"),
            ({"overlap": 0}, "overlap of 0"),
        ],
    )
    def test_queue_labels_rejects_bad_input(self, workspace, options, words):
        with pytest.raises(InputError, match=words):
            workspace.review.queue_labels("s", **options)
        assert workspace.ledger.queues.all() == ()

    def test_queue_labels_training_requires_labels(self, workspace):
        space = class_space("cifar-10")
        workspace.store.add_test_set(TestSet("bare", space, ("a", "b"), np.full(2, UNLABELED, dtype=np.int32)))
        with pytest.raises(InputError, match="no image of bare has a label"):
            workspace.review.queue_labels("bare", mode="training")
        assert workspace.review.queue_labels("bare").items == 2


class TestAgreement:
    def test_agreement_uses_votes_before_discussion(self, workspace):
        panel = add_people(workspace.ledger, "Ada", "Bob", "Cleo")
        queue = workspace.ledger.queues.named(novel(workspace).queue)
        letters = {"i1": "ccw", "i2": "ccc", "i4": "www", "i5": "cww"}
        words = {"c": "correct", "w": "wrong"}
        for image, own in NOVEL:
            for person, letter in zip(panel, letters[image], strict=True):
                vote(workspace.ledger, queue, person, (image, own), words[letter], seconds=2)
        (before,) = workspace.review.agreement(queue.name).panels
        assert before.measures[0].equal.value == pytest.approx((1 + 3 + 3 + 1) / 12)
        vote(workspace.ledger, queue, panel[2], ("i1", "cat"), "correct", why="persuaded")
        assert workspace.review.agreement(queue.name).panels[0].measures == before.measures

    def test_agreement_rejects_training_queues(self, workspace):
        workspace.review.queue_labels("s", mode="training")
        with pytest.raises(InputError, match="training"):
            workspace.review.agreement("training s")
        with pytest.raises(UnknownName, match="did you mean training s"):
            workspace.review.agreement("traning s")


def test_queue_novel_stores_ids_as_plain_strings(workspace):
    novel(workspace)
    for example, own in queued_pairs(workspace, "novel s own"):
        assert type(example) is str and not isinstance(own, np.str_)


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger.open(tmp_path / "ledger.sqlite")
    yield opened
    opened.engine.dispose()


@pytest.fixture
def mistakes_queue(ledger):
    options = {"question": Question.MISTAKE, "test_set": "val", "labels": "own@2", "model": "m"}
    return queue_of(ledger, "grave", [PAIR], **options)


@pytest.fixture
def overturned(ledger, mistakes_queue):
    """A mistake that was decided to be "no mistake"."""
    vote(ledger, mistakes_queue, people(ledger, "Ada")[0], PAIR, NO_MISTAKE, reason="the prediction is correct")
    return ledger.items.with_id(item_of(ledger, mistakes_queue, *PAIR))


def test_judge_again_ignores_queues_of_other_labels(ledger, mistakes_queue, overturned):
    queue_of(ledger, "real", [PAIR], test_set="val", labels="real@1")
    again = judge_again(ledger, mistakes_queue, overturned)
    queue = ledger.queues.named("second look grave")
    assert (again.queue_id, queue.labels, ledger.items.pairs(queue)) == (queue.id, "own@2", (PAIR,))


def test_judge_again_reuses_queues_of_an_older_version(ledger, mistakes_queue, overturned):
    judged = queue_of(ledger, "novel", [PAIR], test_set="val", labels="own@1")
    assert judge_again(ledger, mistakes_queue, overturned).queue_id == judged.id


def test_judge_again_requires_a_no_mistake_decision(ledger, mistakes_queue):
    with pytest.raises(InputError, match="no mistake"):
        judge_again(ledger, mistakes_queue, ledger.items.with_id(item_of(ledger, mistakes_queue, *PAIR)))
