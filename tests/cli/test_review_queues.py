"""regrade review queue, people, mistakes, label, list, assign and agreement."""

import json

import pytest
from judging import people as add_people
from judging import vote
from running import assert_one_line, run, run_well, snapshot

import regrade
from regrade.ledger import Role

LABELS = "image,class,state\n" + "".join(
    f"p{n},{own},correct\n" for n, own in enumerate(("cat", "dog", "bird", "cat", "ship", "frog"))
)
NOVEL = {("p2", "cat"), ("p5", "deer")}


@pytest.fixture
def pets_labeled(pets, tmp_path):
    file = tmp_path / "own.csv"
    file.write_text(LABELS)
    run_well("import", "labels", file, "-t", "pets", "--name", "own", "-w", pets)
    return pets


@pytest.fixture
def ledger(pets_labeled):
    opened = regrade.open(pets_labeled).ledger
    yield opened
    opened.engine.dispose()


ASK = ("-t", "pets", "-l", "own")


def as_json(*arguments):
    return json.loads(run_well(*arguments, "--json").out)


def test_queue_adds_novel_predictions_once(pets_labeled, ledger):
    done = as_json("review", "queue", *ASK, "--overlap", 2, "-w", pets_labeled)
    assert done == {
        "queue": "novel pets own", "question": "judge", "added": 2, "items": 2, "overlap": 2,
        "notes": ["novel predictions of 1 model under own@1: 2"],
    }  # fmt: skip
    assert set(ledger.items.pairs(ledger.queues.named("novel pets own"))) == NOVEL
    assert as_json("review", "queue", *ASK, "-w", pets_labeled)["added"] == 0


def test_queue_with_size_prints_the_size_of_the_sample(pets_labeled):
    done = run_well("review", "queue", *ASK, "--size", 1, "--by", "nothing", "-w", pets_labeled)
    assert "drawn at random: 1, so far 1 of 2 novel predictions (stratified by nothing)" in done.out


def test_people_adds_answers_and_predictions(pets_labeled, ledger, tmp_path):
    file = tmp_path / "ann.csv"
    file.write_text("person,image,class\nann,p0,ship\nann,p1,dog\n")
    run_well("import", "people", file, "-t", "pets", "-w", pets_labeled)
    done = as_json("review", "people", *ASK, "--seed", 3, "-w", pets_labeled)
    assert done["added"] == 2
    assert set(ledger.items.pairs(ledger.queues.named("people pets own"))) == {("p0", "ship"), ("p0", "cat")}


def test_mistakes_adds_remaining_mistakes(pets_labeled, tmp_path):
    run_well("labels", "sample", *ASK, "--size", 2, "--out", tmp_path / "s.csv", "-w", pets_labeled)
    file = tmp_path / "v.csv"
    file.write_text("image,class,verdict\np2,cat,wrong\np5,deer,unclear\n")
    run_well("import", "verdicts", file, *ASK, "-w", pets_labeled)
    done = as_json("review", "mistakes", *ASK, "--model", "first", "-w", pets_labeled)
    assert (done["queue"], done["question"], done["added"]) == ("mistakes pets first", "mistake", 1)


def test_label_adds_images_of_a_family(pets_labeled, ledger):
    done = as_json("review", "label", "-t", "pets", "--family", "animals", "--size", 3, "--seed", 1, "-w", pets_labeled)
    assert (done["queue"], done["added"]) == ("label pets animals", 3)
    run_well("review", "label", "-t", "pets", "--mode", "training", "-w", pets_labeled)
    assert ledger.queues.named("training pets").mode.value == "training"


class TestListAndAssign:
    def test_list_shows_progress(self, pets_labeled, ledger):
        assert as_json("review", "list", "-w", pets_labeled) == {"queues": []}
        ada, bob = add_people(ledger, "Ada", "Bob")
        run_well("review", "queue", *ASK, "-w", pets_labeled)
        queue = ledger.queues.named("novel pets own")
        vote(ledger, queue, ada, ("p2", "cat"), "correct")
        vote(ledger, queue, bob, ("p2", "cat"), "wrong")
        vote(ledger, queue, bob, ("p5", "deer"), "wrong")
        (row,) = as_json("review", "list", "-w", pets_labeled)["queues"]
        assert (row["items"], row["answered"], row["decided"], row["disputed"]) == (2, 1, 0, 1)
        assert row["by_person"] == {"Ada": 1, "Bob": 2} and row["assigned"] == []
        out = run_well("review", "list", "-w", pets_labeled).out
        assert "Ada 1, Bob 2" in out and "everyone" in out

    def test_list_counts_items_that_are_reported_unreadable(self, pets_labeled, ledger):
        ada, bob = add_people(ledger, "Ada", "Bob")
        run_well("review", "queue", *ASK, "-w", pets_labeled)
        reports = ledger.reports
        item = ledger.items.next(ledger.queues.named("novel pets own"), ada).id
        first = reports.add(item, ada)
        reports.add(item, bob)
        assert as_json("review", "list", "-w", pets_labeled)["queues"][0]["reported"] == 1
        assert "unreadable" in run_well("review", "list", "-w", pets_labeled).out
        for report in (first, *reports.open()):
            reports.clear(report.id, bob)
        assert as_json("review", "list", "-w", pets_labeled)["queues"][0]["reported"] == 0

    def test_assign_and_everyone_change_who_sees_the_queue(self, pets_labeled, ledger):
        add_people(ledger, "Ada", "Bob")
        ledger.people.add("Lea", Role.LABELER)
        run_well("review", "queue", *ASK, "--overlap", 2, "-w", pets_labeled)
        done = run_well("review", "assign", "novel pets own", "Ada", "-w", pets_labeled)
        assert "novel pets own is for Ada\n" in done.err
        assert "each item needs 2 votes, but only 1 can vote: change that with regrade review overlap" in done.err
        assert as_json("review", "list", "-w", pets_labeled)["queues"][0]["assigned"] == ["Ada"]
        assert ledger.queues.open_to(ledger.people.named("Bob")) == ()
        done = run_well("review", "assign", "novel pets own", "--everyone", "-w", pets_labeled)
        assert done.err == "novel pets own is for everyone whose role allows it\n"
        assert len(ledger.queues.open_to(ledger.people.named("Bob"))) == 1

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["novel pets own"], ["either names of people, or --everyone"]),
            (["novel pets own", "Ada", "--everyone"], ["either names of people, or --everyone"]),
            (["novel pets own", "Eve"], ["unknown person 'Eve'", "Lea"]),
            (["novel pets own", "Lea"], ["Lea is a labeler", "reviewers"]),
            (["novel", "Lea"], ["did you mean novel pets own"]),
        ],
    )
    def test_assign_rejects_bad_input(self, pets_labeled, ledger, arguments, words):
        ledger.people.add("Lea", Role.LABELER)
        run_well("review", "queue", *ASK, "-w", pets_labeled)
        assert_one_line(run("review", "assign", *arguments, "-w", pets_labeled), *words)
        assert ledger.queues.assigned(ledger.queues.named("novel pets own")) == ()

    def test_assign_rejects_people_of_an_empty_team(self, pets_labeled):
        run_well("review", "queue", *ASK, "-w", pets_labeled)
        assert_one_line(run("review", "assign", "novel pets own", "Ada", "-w", pets_labeled), "there are none yet")


class TestAgreement:
    @pytest.fixture
    def judged(self, pets_labeled, ledger):
        panel = add_people(ledger, "Ada", "Bob")
        run_well("review", "queue", *ASK, "-w", pets_labeled)
        queue = ledger.queues.named("novel pets own")
        for pair, letters in zip(sorted(NOVEL), ("cc", "cw"), strict=True):
            for person, letter in zip(panel, letters, strict=True):
                vote(ledger, queue, person, pair, {"c": "correct", "w": "wrong"}[letter])
        return pets_labeled

    def test_agreement_of_one_queue(self, judged):
        result = as_json("review", "agreement", "novel pets own", "-w", judged)
        assert result["measures"][0]["equal"]["value"] == 0.5
        assert [(row["person"], row["with_others"]["n"]) for row in result["reviewers"]] == [("Ada", 2), ("Bob", 2)]
        out = run_well("review", "agreement", "novel pets own", "--show", "reviewers", "-w", judged).out
        assert "Ada" in out and "50.0" in out and "tied" in out

    def test_models_of_two_reviewers_are_not_identified(self, judged):
        arguments = ("review", "agreement", "novel pets own")
        assert "models" not in as_json(*arguments, "-w", judged)
        result = as_json(*arguments, "--reviewer-models", "-w", judged)["models"]
        assert [(row["person"], row["accuracy"]) for row in result["reviewers"]] == [("Ada", None), ("Bob", None)]
        out = run_well(*arguments, "--reviewer-models", "-w", judged).out
        assert "no accuracies: they are not identified" in out
        assert_one_line(run(*arguments, "--show", "models", "-w", judged), "needs --reviewer-models")
        assert_one_line(run("review", "agreement", "--reviewer-models", "-w", judged), "needs the name of a queue")

    def test_agreement_of_all_queues(self, judged):
        run_well("review", "label", "-t", "pets", "--mode", "training", "--size", 1, "-w", judged)
        run_well("review", "label", "-t", "pets", "-w", judged)
        results = as_json("review", "agreement", "-w", judged)["agreement"]
        assert [result["queue"] for result in results] == ["novel pets own", "label pets"]
        out = run_well("review", "agreement", "-w", judged).out
        assert "label pets: no item has the votes of two people yet" in out
        assert_one_line(run("review", "agreement", "--show", "reviewers", "-w", judged), "needs the name of a queue")

    def test_agreement_rejects_unknown_queues(self, pets_labeled):
        assert_one_line(run("review", "agreement", "-w", pets_labeled), "no queue yet")
        assert_one_line(run("review", "agreement", "x", "-w", pets_labeled), "unknown queue 'x'")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["queue", "-t", "pats", "-l", "own"], ["did you mean pets"]),
        (["queue", "-t", "pets", "-l", "onw"], ["did you mean own"]),
        (["queue", *ASK, "--model", "frist"], ["did you mean first"]),
        (["queue", *ASK, "--overlap", 0], ["overlap of 0"]),
        (["queue", *ASK, "--size", 0], ["got a size of 0"]),
        (["people", *ASK], ["no person has answers on pets"]),
        (["mistakes", *ASK, "--model", "second"], ["unknown model"]),
        (["mistakes", *ASK, "--model", "first"], ["no mistake of first is left", "2 novel predictions"]),
        (["label", "-t", "pets", "--family", "insects"], ["unknown family"]),
        (["label", "-t", "pets", "--size", 7], ["6 images of pets can be drawn"]),
        (["label", "-t", "pets", "--overlap", -1], ["overlap of -1"]),
    ],
)
def test_bad_input_is_rejected_and_stores_nothing(pets_labeled, ledger, arguments, words):
    before = files(pets_labeled)
    assert_one_line(run("review", *arguments, "-w", pets_labeled), *words)
    assert ledger.rows() == []
    assert files(pets_labeled) == before


def files(workspace):
    """The stored files except the ledger, whose file SQLite may change at any time."""
    return {name: content for name, content in snapshot(workspace).items() if not name.startswith("ledger")}
