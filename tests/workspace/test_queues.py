"""Filling queues: only what no one has judged, no one is asked twice, and nothing tells whose answer it is."""

import shutil
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from judging import people as add_people
from judging import vote
from sqlalchemy import func, select

import regrade
from benchmarks.kills import run_killed
from regrade.classes import class_space
from regrade.core import UNLABELED, InputError, MismatchError, TestSet, UnknownName
from regrade.ledger import Mode, NewItem, Question, Role
from regrade.ledger.schema import block

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


def csv(path, heading, rows):
    path.write_text("\n".join(",".join(row) for row in (heading, *rows)) + "\n")
    return path


def add_model(workspace, folder, name, answers):
    file = csv(folder / f"{name}.csv", ("image", "label", name), zip(IMAGES, OWN, answers, strict=True))
    workspace.import_predictions(file, test_set="s", classes="cifar-10")


def add_person(workspace, folder, name, answers):
    rows = [(name, image, own) for image, own in zip(IMAGES, answers, strict=True) if own]
    workspace.import_people(csv(folder / f"{name}.csv", ("person", "image", "class"), rows), test_set="s")


def add_labels(workspace, folder, rows, **more):
    file = csv(folder / "labels.csv", ("image", "class", "state", "problematic"), rows)
    workspace.import_labels(file, test_set="s", name="own", **more)


@pytest.fixture
def workspace(tmp_path):
    made = regrade.init(tmp_path / "W")
    for name, answers in MODELS.items():
        add_model(made, tmp_path, name, answers)
    add_labels(made, tmp_path, LABELED)
    yield made
    made.ledger.engine.dispose()


def asked(workspace, queue):
    return set(workspace.ledger.pairs(workspace.ledger.queue(queue)))


def novel(workspace, **more):
    return workspace.queue_novel("s", labels="own", **more)


class TestNovel:
    def test_all_that_no_one_has_judged(self, workspace):
        done = novel(workspace)
        assert (done.queue, done.question, done.added, done.items, done.overlap) == ("novel s own", "judge", 4, 4, 1)
        assert asked(workspace, "novel s own") == NOVEL
        queue = workspace.ledger.queue("novel s own")
        assert (queue.test_set, queue.labels, queue.model) == ("s", "own@1", "")

    def test_a_new_model_adds_only_what_is_new(self, workspace, tmp_path):
        assert novel(workspace, models=["one"]).added == 3
        add_model(workspace, tmp_path, "three", ("bird", "cat", *OWN[2:]))
        done = novel(workspace)
        assert (done.added, done.items) == (2, 5)
        assert asked(workspace, "novel s own") == NOVEL | {("i0", "bird")}
        assert novel(workspace).added == 0

    def test_what_another_queue_asks_is_not_asked_again(self, workspace):
        novel(workspace, models=["one"], name="first")
        done = novel(workspace)
        assert asked(workspace, done.queue) == {("i5", "deer")}
        assert "asked in another queue: 3" in str(done)
        with pytest.raises(InputError, match=r"no novel prediction is left .* 4 are asked in another queue"):
            novel(workspace, name="third")
        assert [one.name for one in workspace.ledger.queues()] == ["first", "novel s own"]

    def test_queues_of_other_labels_questions_and_sets_do_not_count(self, workspace):
        ledger = workspace.ledger
        for name, question, test_set, labels in (
            ("other labels", Question.JUDGE, "s", "real@1"),
            ("mistakes", Question.MISTAKE, "s", "own@1"),
            ("other set", Question.JUDGE, "t", "own@1"),
        ):
            queue = ledger.open_queue(name, question, test_set=test_set, labels=labels)
            ledger.add_items(queue, [NewItem(*pair) for pair in NOVEL])
        assert novel(workspace).added == 4

    def test_what_a_new_version_of_the_labels_judges_is_left_out(self, workspace, tmp_path):
        novel(workspace, models=["one"])
        add_labels(workspace, tmp_path, [*LABELED, ("i5", "deer", "wrong", "")], new_version=True)
        done = novel(workspace)
        assert done.added == 0 and done.items == 3

    def test_what_a_review_has_judged_is_left_out(self, workspace, tmp_path):
        drawn = workspace.draw_review("s", labels="own", size=4)
        assert len(drawn.rows) == 4
        rows = [("i1", "cat", "wrong", ""), ("i5", "deer", "problematic", "edited")]
        file = csv(tmp_path / "v.csv", ("image", "class", "verdict", "reason"), rows)
        workspace.import_verdicts(file, test_set="s", labels="own")
        novel(workspace)
        assert asked(workspace, "novel s own") == {("i2", "cat"), ("i4", "truck")}

    def test_peoples_answers_are_not_among_them(self, workspace, tmp_path):
        add_person(workspace, tmp_path, "ann", ("ship", *OWN[1:]))
        assert novel(workspace).added == 4

    @pytest.mark.parametrize(("reviewers", "overlap"), [(0, 1), (1, 1), (2, 2), (3, 3), (4, 3)])
    def test_as_many_as_there_are_reviewers_and_three_at_most(self, workspace, reviewers, overlap):
        workspace.ledger.add_person("Lea", Role.LABELER)
        add_people(workspace.ledger, *"ABCD"[:reviewers])
        assert novel(workspace).overlap == overlap

    def test_as_many_as_one_says(self, workspace):
        assert novel(workspace, overlap=5).overlap == 5

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"overlap": 0}, "overlap of 0"),
            ({"models": ["tow"]}, "did you mean two"),
            ({"models": ["one", "one"]}, "named twice"),
            ({"name": "x" * 81}, "1 to 80 letters"),
            ({"name": " "}, "1 to 80 letters"),
            ({"by": "votes"}, "give its size"),
            ({"size": 2, "models": ["one"]}, "leave out either models or size"),
            ({"size": 5}, "4 novel predictions can be drawn"),
            ({"size": 2, "by": "vote"}, "did you mean votes"),
        ],
    )
    def test_bad_input_opens_no_queue(self, workspace, options, words):
        with pytest.raises(InputError, match=words):
            novel(workspace, **options)
        assert workspace.ledger.queues() == ()

    def test_a_queue_that_asks_something_else_is_not_added_to(self, workspace):
        workspace.queue_labels("s", size=2, name="mine")
        with pytest.raises(MismatchError, match="asks something else"):
            novel(workspace, name="mine")
        novel(workspace, overlap=2)
        with pytest.raises(InputError, match="need 2 votes each"):
            novel(workspace, overlap=3)


class TestSample:
    def test_the_strata_are_those_of_the_review(self, workspace):
        done = novel(workspace, size=3, seed=4)
        assert (done.queue, done.added) == ("sample s own@1", 3)
        assert "drawn at random: 3, so far 3 of 4 novel predictions (stratified by votes)" in str(done)
        frame = workspace.drawn_review("s", labels="own").frame
        target = workspace.store.test_set("s")
        items = [one for one in workspace.ledger.rows() if one["kind"] == "item"]
        strata = {(one["example"], one["class"]): one["stratum"] for one in items}
        for row in frame.given_out(0, 3):
            pair = target.ids[frame.examples[row]], target.class_space.ids[frame.classes[row]]
            assert strata[pair] == frame.strata[row]
        assert len(set(strata.values())) == 2

    def test_it_goes_on_in_the_same_order(self, workspace):
        novel(workspace, size=3)
        assert (novel(workspace, size=1).items, asked(workspace, "sample s own@1")) == (4, NOVEL)
        with pytest.raises(InputError, match="0 novel predictions are left"):
            novel(workspace, size=1)

    def test_killed_at_any_step_asks_nothing_that_is_drawn_again_and_goes_on(self, workspace, tmp_path):
        workspace.ledger.engine.dispose()
        before = set()
        for at in count():
            root = Path(shutil.copytree(workspace.store.root, tmp_path / f"W{at}"))
            through = run_killed(lambda root=root: novel(regrade.open(root), size=2), at=at, below=root)
            copy = regrade.open(root)
            target = copy.store.test_set("s")
            queues = [queue.name for queue in copy.ledger.queues()]
            in_queue = asked(copy, queues[0]) if queues else set()
            frame, rows = (drawn := copy.draw_review("s", labels="own", size=2)).frame, drawn.rows
            pairs = {(target.ids[frame.examples[r]], target.class_space.ids[frame.classes[r]]) for r in rows.tolist()}
            assert not pairs & in_queue, at
            before.add(len(in_queue))
            if frame.drawn == 4 and not in_queue:  # drawn, and killed before anyone was asked
                assert asked(copy, novel(copy, size=2).queue) | pairs == NOVEL, at
                before.add("went on")
            copy.ledger.engine.dispose()
            if through:
                break
        assert before == {0, 2, "went on"}

    def test_it_is_whole_even_if_another_queue_asks_the_same(self, workspace):
        """Without those it would not be a random sample."""
        novel(workspace, models=["one"])
        done = novel(workspace, size=4)
        assert done.added == 4 and "asked in another queue too: 3" in str(done)
        assert novel(workspace).added == 0

    def test_verdicts_reach_the_estimate(self, workspace):
        (ada,) = add_people(workspace.ledger, "Ada")
        done = novel(workspace, size=4)
        queue = workspace.ledger.queue(done.queue)
        for pair in NOVEL:
            vote(workspace.ledger, queue, ada, pair, "correct")
        workspace.publish(done.queue)
        rows = {row.model: row for row in workspace.grade("s", labels="own").rows}
        assert rows["one"].multilabel.value == pytest.approx(5 / 6)  # i3 is wrong
        assert rows["one"].novel == 0

    def test_a_new_version_is_another_sample(self, workspace, tmp_path):
        novel(workspace, size=1, name="mine")
        add_labels(workspace, tmp_path, [*LABELED, ("i5", "deer", "wrong", "")], new_version=True)
        with pytest.raises(MismatchError, match="under own@1"):
            novel(workspace, size=1, name="mine")


class TestPeople:
    ANN = ("ship", "cat", "ship", "cat", "car", "frog", "bird", "bird")  # novel: i0 ship, i1 cat (models too), i2 ship

    @pytest.fixture
    def peopled(self, workspace, tmp_path):
        add_person(workspace, tmp_path, "ann", [own.replace("car", "automobile") for own in self.ANN])
        return workspace

    def test_every_image_has_a_models_answer_too(self, peopled):
        done = peopled.queue_people("s", labels="own")
        found = asked(peopled, "people s own")
        persons = {("i0", "ship"), ("i1", "cat"), ("i2", "ship"), ("i4", "automobile")}
        # i0: models only say cat, judged before; i1: models say the same; i2 and i4: their novel answers
        assert found - persons == {("i0", "cat"), ("i2", "cat"), ("i4", "truck")}
        assert persons < found
        assert "novel answers of 1 person: 4; models' answers among them: 3" in str(done)

    def test_nothing_tells_them_apart(self, peopled):
        """They share stratum, overlap and block, and neither kind comes first."""
        places = []
        for seed in range(12):
            name = f"people {seed}"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("regrade.workspace.queue_filling.Filling.alike", ())  # as if each were the first
                peopled.queue_people("s", labels="own", seed=seed, name=name)
            rows = [one for one in peopled.ledger.rows() if one["kind"] == "item" and one["queue"] == name]
            assert {one["stratum"] for one in rows} == {0}
            places.append([(one["example"], one["class"]) for one in rows].index(("i0", "cat")))
        assert min(places) < 3 and max(places) > 3
        with peopled.ledger.engine.connect() as connection:
            assert connection.execute(select(func.count()).select_from(block)).scalar() == 12

    def test_the_seed_decides(self, peopled, tmp_path):
        add_model(peopled, tmp_path, "three", ("cat", "dog", "deer", "cat", "frog", "frog", "deer", "horse"))
        drawn = []
        for name, seed in (("a", 1), ("b", 1), ("c", 2), ("d", 3), ("e", 4)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("regrade.workspace.queue_filling.Filling.alike", ())
                peopled.queue_people("s", labels="own", seed=seed, name=name)
            drawn.append(frozenset(asked(peopled, name)))
        assert drawn[0] == drawn[1] and len(set(drawn)) > 1

    def test_new_people_add_only_what_is_new(self, peopled, tmp_path):
        peopled.queue_people("s", labels="own")
        before = asked(peopled, "people s own")
        assert peopled.queue_people("s", labels="own", seed=7).added == 0
        for model in ("three", "four", "five", "six"):  # more novel answers, none of which is needed as a seed
            add_model(peopled, tmp_path, model, ("cat", "frog", "deer", "cat", "ship", "frog", "deer", "horse"))
        add_person(peopled, tmp_path, "bob", ("ship", "bird", "dog", "", "", "ship", "", ""))
        done = peopled.queue_people("s", labels="own", seed=7)
        new = asked(peopled, "people s own") - before
        # i1 and i2 have a model's answer in the queue already; i5 gets the novel one of model two
        assert new == {("i1", "bird"), ("i2", "dog"), ("i5", "ship"), ("i5", "deer")}
        assert done.added == 4

    def test_only_some_people(self, peopled, tmp_path):
        add_person(peopled, tmp_path, "bob", ("ship", "dog", "bird", "", "", "", "", ""))
        peopled.queue_people("s", labels="own", people=["bob"])
        assert asked(peopled, "people s own") == {("i0", "ship"), ("i0", "cat")}

    def test_what_another_queue_asks_may_be_a_seed_but_is_no_answer_to_judge(self, peopled):
        novel(peopled)
        peopled.queue_people("s", labels="own")
        found = asked(peopled, "people s own")
        assert ("i1", "cat") not in found  # asked already
        assert {("i2", "ship"), ("i2", "cat"), ("i4", "truck")} < found  # seeds, though asked there too

    def test_a_seed_that_no_queue_asks_goes_first(self, peopled, tmp_path):
        """On i2 one says cat, which another queue asks; three says deer."""
        novel(peopled)
        add_model(peopled, tmp_path, "three", ("cat", "dog", "deer", "cat", "ship", "frog", "deer", "horse"))
        for seed in range(8):
            with pytest.MonkeyPatch.context() as patch:
                first = [one for one in peopled.ledger.queues() if one.name == "novel s own"]
                patch.setattr("regrade.workspace.queue_filling.Filling.alike", tuple(first))
                peopled.queue_people("s", labels="own", seed=seed, name=f"{seed}")
            assert {own for image, own in asked(peopled, f"{seed}") if image == "i2"} == {"ship", "deer"}

    def test_no_people_and_no_novel_answer(self, workspace, tmp_path):
        with pytest.raises(InputError, match="no person has answers"):
            workspace.queue_people("s", labels="own")
        add_person(workspace, tmp_path, "eve", OWN)
        with pytest.raises(InputError, match="no answer of these people is left to judge"):
            workspace.queue_people("s", labels="own")
        with pytest.raises(UnknownName, match="person:eve"):
            workspace.queue_people("s", labels="own", people=["ever"])
        assert workspace.ledger.queues() == ()


class TestMistakes:
    def test_what_is_wrong_and_was_judged(self, workspace):
        done = workspace.queue_mistakes("s", labels="own", model="one")
        assert asked(workspace, "mistakes s one") == {("i3", "dog")}
        assert "novel, to be judged first (regrade review queue): 3" in str(done)
        queue = workspace.ledger.queue("mistakes s one")
        assert (queue.question, queue.model, queue.labels) == (Question.MISTAKE, "one", "own@1")

    def test_verdicts_of_a_review_count(self, workspace, tmp_path):
        workspace.draw_review("s", labels="own", size=4)
        rows = [("i1", "cat", "wrong"), ("i2", "cat", "unclear"), ("i4", "truck", "correct")]
        file = csv(tmp_path / "v.csv", ("image", "class", "verdict"), rows)
        workspace.import_verdicts(file, test_set="s", labels="own")
        workspace.queue_mistakes("s", labels="own", model="one")
        assert asked(workspace, "mistakes s one") == {("i3", "dog"), ("i1", "cat")}
        workspace.queue_mistakes("s", labels="own", model="two")
        assert asked(workspace, "mistakes s two") == {("i3", "dog"), ("i1", "cat")}  # each model's own

    def test_what_was_reviewed_before_is_left_out(self, workspace, tmp_path):
        row = ("i3", "dog", "spurious", "minor")
        file = csv(tmp_path / "m.csv", ("image", "class", "category", "severity"), [row])
        workspace.import_mistakes(file, test_set="s", model="one")
        with pytest.raises(InputError, match=r"no mistake of one is left .* to be judged first: 3 novel predictions"):
            workspace.queue_mistakes("s", labels="own", model="one")

    def test_collapsed_classes_are_no_mistakes(self, tmp_path):
        """A laptop may be called a notebook, which nobody can tell from it."""
        laptop, notebook, mouse = "n03642806", "n03832673", "n03793489"
        made = regrade.init(tmp_path / "W")
        rows = [("a", laptop, notebook), ("b", laptop, mouse)]
        file = csv(tmp_path / "p.csv", ("image", "label", "net"), rows)
        made.import_predictions(file, test_set="s", classes="imagenet-1k")
        judged = [("a", notebook, "wrong"), ("b", mouse, "wrong"), ("a", laptop, "correct"), ("b", laptop, "correct")]
        made.import_labels(csv(tmp_path / "l.csv", ("image", "class", "state"), judged), test_set="s", name="own")
        made.queue_mistakes("s", labels="own", model="net")
        assert asked(made, "mistakes s net") == {("b", mouse)}
        made.ledger.engine.dispose()

    def test_what_another_queue_asks_of_the_model_is_left_out(self, workspace):
        workspace.queue_mistakes("s", labels="own", model="one", name="mine")
        with pytest.raises(InputError, match="no mistake of one is left"):
            workspace.queue_mistakes("s", labels="own", model="one")

    def test_an_unknown_model(self, workspace):
        with pytest.raises(UnknownName, match="did you mean one"):
            workspace.queue_mistakes("s", labels="own", model="on")


class TestLabels:
    def images(self, workspace, queue):
        return {example for example, empty in asked(workspace, queue) if not empty}

    def test_all_images(self, workspace):
        done = workspace.queue_labels("s")
        assert self.images(workspace, "label s") == set(IMAGES)
        assert done.overlap == 1
        queue = workspace.ledger.queue("label s")
        assert (queue.question, queue.mode, queue.labels) == (Question.LABEL, Mode.EXAMINATION, "")

    def test_a_image_is_for_everyone(self, workspace):
        workspace.ledger.add_person("Lea", Role.LABELER)
        add_people(workspace.ledger, *"ABCD")
        assert workspace.queue_labels("s").overlap == 5

    def test_drawn_at_random(self, workspace):
        drawn = set()
        for seed in range(6):
            done = workspace.queue_labels("s", size=2, seed=seed, name=f"q{seed}", mode="training")
            drawn.add(frozenset(self.images(workspace, done.queue)))
        assert len(drawn) > 2 and {len(one) for one in drawn} == {2}

    def test_further_calls_draw_further_ones(self, workspace):
        workspace.queue_labels("s", size=5)
        assert workspace.queue_labels("s", size=3).items == 8
        with pytest.raises(InputError, match="0 images of s can be drawn, got a size of 1"):
            workspace.queue_labels("s", size=1)

    def test_a_family(self, workspace):
        workspace.queue_labels("s", family="animals", mode="training")
        assert self.images(workspace, "training s animals") == set(IMAGES) - {"i4"}
        workspace.queue_labels("s", family="ship")
        assert self.images(workspace, "label s ship") == {"i4"}

    def test_no_one_is_examined_on_what_they_trained_with(self, workspace):
        workspace.queue_labels("s", size=3, mode="training")
        workspace.queue_labels("s", size=2)
        trained, examined = self.images(workspace, "training s"), self.images(workspace, "label s")
        assert not trained & examined
        workspace.queue_labels("s", mode="training")
        assert self.images(workspace, "training s") == set(IMAGES) - examined
        with pytest.raises(InputError, match="0 images of s can be drawn"):
            workspace.queue_labels("s", name="more")

    def test_training_may_repeat_itself_in_another_queue(self, workspace):
        workspace.queue_labels("s", mode="training")
        assert workspace.queue_labels("s", mode="training", family="cat").items == 2

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"size": 0}, "got a size of 0"),
            ({"size": 9}, "8 images of s can be drawn, got a size of 9"),
            ({"family": "cats and dogs"}, "unknown family"),
            ({"family": "airplane"}, "no image of s is labeled as one of airplane"),
            ({"mode": "exam"}, "did you mean examination"),
            ({"overlap": 0}, "overlap of 0"),
        ],
    )
    def test_bad_input(self, workspace, options, words):
        with pytest.raises(InputError, match=words):
            workspace.queue_labels("s", **options)
        assert workspace.ledger.queues() == ()

    def test_training_needs_labels(self, workspace):
        space = class_space("cifar-10")
        workspace.store.add_test_set(TestSet("bare", space, ("a", "b"), np.full(2, UNLABELED, dtype=np.int32)))
        with pytest.raises(InputError, match="no image of bare has a label"):
            workspace.queue_labels("bare", mode="training")
        assert workspace.queue_labels("bare").items == 2


class TestAgreement:
    def test_it_is_that_of_votes_before_discussion(self, workspace):
        panel = add_people(workspace.ledger, "Ada", "Bob", "Cleo")
        queue = workspace.ledger.queue(novel(workspace).queue)
        said = {"i1": "ccw", "i2": "ccc", "i4": "www", "i5": "cww"}
        words = {"c": "correct", "w": "wrong"}
        for image, own in NOVEL:
            for person, letter in zip(panel, said[image], strict=True):
                vote(workspace.ledger, queue, person, (image, own), words[letter], seconds=2)
        before = workspace.agreement(queue.name)
        assert before.measures[0].equal.value == pytest.approx((1 + 3 + 3 + 1) / 12)
        vote(workspace.ledger, queue, panel[2], ("i1", "cat"), "correct", why="persuaded")
        assert workspace.agreement(queue.name).measures == before.measures

    def test_training_counts_for_nothing(self, workspace):
        workspace.queue_labels("s", mode="training")
        with pytest.raises(InputError, match="training"):
            workspace.agreement("training s")
        with pytest.raises(UnknownName, match="did you mean training s"):
            workspace.agreement("traning s")


def test_arrays_of_ids_are_plain_text_in_the_ledger(workspace):
    novel(workspace)
    for example, own in asked(workspace, "novel s own"):
        assert type(example) is str and not isinstance(own, np.str_)
