"""Ladders: verdicts and what they tell, an adversary who learns from verdicts, and ladders in a workspace."""

import dataclasses
import json
from itertools import pairwise

import numpy as np
import pytest
from running import run_well
from scipy import stats

import regrade
from regrade.core import AlreadyStored, InputError, Ladder, Submission
from regrade.stats import better_p_value, design_effect
from regrade.studies import ComparisonPart, GateVerdict
from regrade.studies.gate.ladder import Discordant, Entrant, LadderStatus, climb

NEW = Ladder("held-back", "old", "d0", 0.95)


def submit(ladder: Ladder, name: str, only_candidate: int, only_best: int, images: int = 1000):
    return climb(
        ladder, Entrant(name, f"digest of {name}", "now"), lambda: Discordant(only_candidate, only_best, images)
    )


def test_ladder_tells_the_verdict_and_nothing_else():
    passed, unshown = submit(NEW, "a", 40, 10), submit(NEW, "a", 20, 10)
    assert (passed.verdict, unshown.verdict) == (GateVerdict.PASS, GateVerdict.INCONCLUSIVE)
    assert passed.ladder.best == "a"
    assert unshown.ladder.best == "old"
    # 20 of 30 has p = 0.049, above the first level of 0.025; another count with the same verdict looks the same
    assert json.dumps(unshown.as_dict()) == json.dumps(submit(NEW, "a", 0, 500).as_dict())
    assert unshown.rows[0].measured is None


def test_ladder_compares_with_the_best_so_far_at_decreasing_levels():
    ladder, levels = NEW, []
    for number in range(6):
        result = submit(ladder, f"model {number}", 90 if number in (1, 4) else 5, 5)
        ladder = result.ladder
        levels.append(result.rows[0].threshold)
    assert [each.passed for each in ladder.submissions] == [False, True, False, False, True, False]
    assert (ladder.best, ladder.best_digest, ladder.passes) == ("model 4", "digest of model 4", 2)
    assert all(later < earlier for earlier, later in pairwise(levels))
    assert result.baseline == "model 4"


def test_submitting_the_same_predictions_again_repeats_the_verdict_without_a_test():
    ladder = submit(submit(NEW, "a", 40, 10).ladder, "b", 0, 0).ladder
    again = climb(ladder, Entrant("renamed", "digest of a", "later"), lambda: pytest.fail("tested again"))
    assert again.verdict is GateVerdict.PASS
    assert again.ladder == ladder
    assert again.baseline == "old"
    with pytest.raises(InputError, match="with which the ladder began"):
        climb(ladder, Entrant("old", "d0", "later"), lambda: pytest.fail("tested"))


def test_status_lists_what_the_next_submission_needs():
    status = LadderStatus.of(submit(NEW, "a", 40, 10).ladder, 10_000)
    assert [row[:3] for row in status.table().rows] == [(1, "a", "PASS")]
    assert "ahead of a by 0.4, 0.7 or 0.9 points if 2, 5 or 10 % of the images" in status.table().notes[0]
    assert "cannot show it" in LadderStatus.of(NEW, 20).table().notes[0]


def climbed_by_an_adversary(rng, *, images=400, submissions=80) -> tuple[Ladder, float]:
    """The ladder after an adversary, who keeps what passed and changes a tenth of it; no model is better than another.

    Also returns the largest share that a leaderboard, which tells every accuracy, would reach in the same way.
    """
    labels = rng.integers(0, 2, images)
    ladder, best, leader = NEW, rng.integers(0, 2, images), rng.integers(0, 2, images)
    for number in range(submissions):
        changed = np.where(rng.random(images) < 0.1, rng.integers(0, 2, images), best)
        gained, lost = ((changed == labels) & (best != labels)).sum(), ((changed != labels) & (best == labels)).sum()
        result = submit(ladder, str(number), int(gained), int(lost), images)
        ladder = result.ladder
        best = changed if result.passed else best
        on_leader = np.where(rng.random(images) < 0.1, rng.integers(0, 2, images), leader)
        leader = on_leader if (on_leader == labels).sum() > (leader == labels).sum() else leader
    return ladder, float((leader == labels).mean())


def test_adversary_climbs_a_leaderboard_but_not_the_ladder():
    rng = np.random.default_rng(0)
    runs = [climbed_by_an_adversary(rng) for _ in range(60)]
    assert (
        sum(ladder.passes > 0 for ladder, _ in runs) <= 6
    )  # expected at most 3 of 60, which 99.8 % of draws do not double
    assert np.mean([share for _, share in runs]) > 0.58


def boosted(rng, *, images=500, submissions=150) -> tuple[float, Ladder]:
    """The attack of Blum & Hardt (2015): submit random labels, and take the majority of those that are said to be good.

    Returns the accuracy that it reaches on a leaderboard, which tells every accuracy, and the ladder that it climbed.
    """
    labels, best = rng.integers(0, 2, (2, images))
    guesses = rng.integers(0, 2, (submissions, images))
    right = guesses == labels
    majority = guesses[right.mean(axis=1) > 0.5].mean(axis=0) > 0.5
    ladder, good = NEW, []
    for number, guess in enumerate(guesses):
        for name, labels_of in (
            (f"{number}", guess),
            (f"majority of {len(good)}", np.mean([best, *good], axis=0) > 0.5),
        ):
            gained, lost = (
                ((labels_of == labels) & (best != labels)).sum(),
                ((labels_of != labels) & (best == labels)).sum(),
            )
            result = submit(ladder, name, int(gained), int(lost), images)
            if result.passed and len(result.ladder.submissions) > len(ladder.submissions):
                best = labels_of
                good.append(labels_of)
            ladder = result.ladder
    return float((majority == labels).mean()), ladder


def test_boosting_overfits_a_leaderboard_as_predicted_but_not_the_ladder():
    """No submission is better than chance, but half of them are above it by about 0.8 / sqrt(images) on this set."""
    rng = np.random.default_rng(0)
    runs = [boosted(rng) for _ in range(60)]
    assert np.mean([share for share, _ in runs]) == pytest.approx(stats.norm.cdf(np.sqrt(150 / np.pi / 500)), abs=0.01)
    assert sum(ladder.passes > 0 for _, ladder in runs) <= 7  # of 60, 5 %: more than 7 has a probability of 1 %


def passes_by_chance(rng, wins, *, size: int, runs: int = 2000) -> float:
    """How often an equally good model passes the first test, with wins in 300 households drawn from ``wins``."""
    households = np.repeat(np.arange(300), size)
    passed = 0
    for _ in range(runs):
        drawn = np.repeat(rng.choice(wins, 300), size)
        within = np.tile(np.arange(size), 300) < np.abs(drawn)
        better, worse = within & (drawn > 0), within & (drawn < 0)
        effect = design_effect(better, worse, households)
        passed += better_p_value(better.sum() / effect, worse.sum() / effect) <= 0.025
    return passed / runs


def test_households_that_are_won_and_lost_alike_keep_the_level_but_skewed_ones_do_not():
    rng = np.random.default_rng(4)
    assert passes_by_chance(rng, [4, -4, 1, -1, 0, 0], size=4) <= 0.025
    # 10 % of the households differ: ten times as many are won by one image as are lost with all ten
    assert passes_by_chance(rng, [-10] + [1] * 10 + [0] * 99, size=10) > 0.03


@pytest.fixture
def held_back(tmp_path):
    """A workspace with three models on 2,000 images: better has 120 images right that old has wrong, and loses 20."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 2000)
    wrong = (labels + 1) % 10
    old = np.where(np.arange(2000) < 1500, labels, wrong)
    better = np.where((np.arange(2000) >= 20) & (np.arange(2000) < 1620), labels, wrong)
    alike = np.where(np.arange(2000) < 1501, labels, wrong)
    workspace = regrade.init(tmp_path / "ws")
    workspace.testsets.add("held-back", labels, classes=[str(digit) for digit in range(10)])
    workspace.models.import_predictions({"old": old, "better": better, "alike": alike}, test_set="held-back")
    return workspace


def test_workspace_ladder_is_stored_and_outlives_names(held_back):
    first = held_back.gate("alike", test_sets=["held-back"], baseline="old", ladder=True)
    second = held_back.gate("better", test_sets=["held-back"], ladder=True)
    assert [first.verdict.value, second.verdict.value] == ["INCONCLUSIVE", "PASS"]
    held_back.models.rename("better", "best")
    held_back.testsets.rename("held-back", "secret")
    again = regrade.open(held_back.store.root).gate("alike", test_sets=["secret"], ladder=True)
    assert "submitted before" in again.notes[0]
    assert held_back.testsets.ladder("secret").best == "better"
    assert not held_back.verify().problems
    held_back.models.remove("best")
    held_back.models.import_predictions({"other": np.zeros(2000, dtype=int)}, test_set="secret")
    with pytest.raises(InputError, match="the best model of the ladder of secret, are no longer stored"):
        held_back.gate("other", test_sets=["secret"], ladder=True)


def test_gate_without_the_ladder_of_a_test_set_says_that_it_tells_more(held_back):
    plain = held_back.gate("alike", test_sets=["held-back"], baseline="old", margin=0.01)
    held_back.gate("alike", test_sets=["held-back"], baseline="old", ladder=True)
    told_more = held_back.gate("alike", test_sets=["held-back"], baseline="old", margin=0.01)
    (note,) = set(told_more.notes) - set(plain.notes)
    assert note.startswith("held-back has a ladder: a gate without --ladder tells more than the verdicts")


@pytest.mark.parametrize("command", ["grade", "compare"])
def test_looking_at_a_test_set_with_a_ladder_is_noted(held_back, command):
    words = (command, "-t", "held-back", "-w", held_back.store.root)
    before = run_well(*words, "--json").out
    held_back.gate("alike", test_sets=["held-back"], baseline="old", ladder=True)
    note = (
        f"held-back has a ladder: regrade {command} tells more than the verdicts of its submissions, whose error rate "
        "no longer holds for those who see this"
    )
    assert (
        note not in before and json.loads(before)["notes"] == json.loads(run_well(*words, "--json").out)["notes"][:-1]
    )
    assert json.loads(run_well(*words, "--json").out)["notes"][-1] == note
    assert run_well(*words).out.count("held-back has a ladder") == 1
    if command == "compare":
        assert note in held_back.compare("held-back").part(ComparisonPart.PAIRS).notes


@pytest.mark.parametrize("words", [("accuracy", "--half-width", "1"), ("difference", "old", "alike"), ("rank",)])
def test_plan_from_a_test_set_with_a_ladder_is_noted(held_back, words):
    held_back.gate("alike", test_sets=["held-back"], baseline="old", ladder=True)
    printed = run_well("plan", *words, "-t", "held-back", "-w", held_back.store.root, "--json").out
    notes = [note for note in json.loads(printed)["notes"] if "has a ladder" in note]
    assert [note.partition(" tells")[0] for note in notes] == ["held-back has a ladder: regrade plan"]


def test_grade_with_a_clean_set_that_has_a_ladder_is_noted(held_back):
    held_back.gate("alike", test_sets=["held-back"], baseline="old", ladder=True)
    test_set = held_back.store.test_set("held-back")
    held_back.store.add_test_set(dataclasses.replace(test_set, name="open"))
    for model in held_back.store.predictions.model_names("held-back"):
        predicted = held_back.store.predictions.read(test_set, model).top1
        held_back.models.import_predictions({model: predicted}, test_set="open")
    assert not any("ladder" in note for note in held_back.grade("open").notes)
    (note,) = [note for note in held_back.grade("open", clean="held-back").notes if "ladder" in note]
    assert note.startswith("held-back has a ladder")


def test_report_on_a_test_set_with_a_ladder_says_so_at_the_top(held_back, tmp_path):
    held_back.gate("alike", test_sets=["held-back"], baseline="old", ladder=True)
    written = held_back.report(out=tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    note = "held-back has a ladder: this report tells more than the verdicts of its submissions"
    assert page.index("Key findings</h2>") < page.index(note) < page.index("<ol>", page.index("Key findings</h2>"))
    (line,) = json.loads((tmp_path / "report" / "results.json").read_text())["notes"]
    assert line.startswith(note) and written.report.notes == (line,)


def test_ladder_of_a_test_set_is_never_shortened(held_back):
    held_back.gate("alike", test_sets=["held-back"], baseline="old", ladder=True)
    store = held_back.store
    test_set = store.test_set("held-back")
    stored = store.ladders.read(test_set)
    for shorter in (dataclasses.replace(stored, submissions=()), dataclasses.replace(stored, baseline="alike")):
        with pytest.raises(AlreadyStored, match="never removed or changed"):
            store.ladders.add(shorter, test_set)
    store.ladders.add(stored.with_submission(Submission("x", "dx", False, 0.01, 2000, "now")), test_set)
    assert len(store.ladders.read(test_set).submissions) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ladder": True}, "has no ladder yet: name its first best model with --baseline"),
        ({"ladder": True, "baseline": "old", "margin": 0.01}, "leave out --margin"),
        ({"ladder": True, "baseline": "old", "floors": 0.5, "labels": "x"}, "leave out --floor, --labels"),
        ({"ladder": True, "baseline": "nobody"}, "unknown model"),
        ({"ladder": True, "baseline": "better"}, "named twice"),
    ],
)
def test_ladder_refuses_what_would_tell_more(held_back, options, message):
    with pytest.raises(InputError, match=message):
        held_back.gate("better", test_sets=["held-back"], **options)


def test_ladder_refuses_two_test_sets_and_another_start(held_back):
    with pytest.raises(InputError, match="one candidate and one test set"):
        held_back.gate("better", test_sets=["held-back", "held-back"], ladder=True)
    with pytest.raises(InputError, match="has no ladder"):
        held_back.testsets.ladder("held-back")
    held_back.gate("alike", test_sets=["held-back"], baseline="old", ladder=True)
    with pytest.raises(InputError, match="began with old"):
        held_back.gate("better", test_sets=["held-back"], baseline="alike", ladder=True)
