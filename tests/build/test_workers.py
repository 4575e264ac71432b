"""The quality of workers: rates worked by hand, error rates of the gate, and the model of Dawid and Skene."""

import numpy as np
import pytest
from scipy import integrate

from regrade.build.crowd import Care, SimulatedWorker, simulate_answers
from regrade.build.frequencies import Assignment, collect_answers, selection_frequencies
from regrade.build.tasks import GridTask, Tile, TileRole
from regrade.build.workers import Gate, Standing, dawid_skene, evidence_against, worker_qualities
from regrade.core import InputError, UndefinedError


def grid(name, candidates, positives=(), negatives=()):
    roles = ((TileRole.CANDIDATE, candidates), (TileRole.POSITIVE, positives), (TileRole.NEGATIVE, negatives))
    return GridTask(name, "dog", tuple(Tile(image, role) for role, images in roles for image in images))


def test_worker_qualities_worked_by_hand():
    tasks = [grid("1", ["a", "b"], ["p", "q"], ["n"])]
    answers = collect_answers(
        [*tasks, grid("2", ["c"])],
        [
            Assignment("1", "x", frozenset({"a", "p"})),
            Assignment("1", "w", frozenset("n")),
            Assignment("2", "w", frozenset("c")),
        ],
    )
    worse, better = worker_qualities(answers)
    assert (better.worker, better.tasks_answered, worse.tasks_answered) == ("x", 1, 2)
    assert (better.hits.value, better.rejections.value) == (0.5, 1.0)
    assert better.control_accuracy.value == pytest.approx(2 / 3)
    assert better.selected_share == pytest.approx(2 / 5)
    assert (worse.hits.value, worse.rejections.value, worse.control_accuracy.value) == (0.0, 0.0, 0.0)


def test_rates_without_controls_are_undefined():
    answers = collect_answers([grid("1", ["a"])], [Assignment("1", "x", frozenset())])
    [worker] = worker_qualities(answers)
    assert worker.hits is worker.rejections is worker.control_accuracy is None


@pytest.mark.parametrize(("right", "controls", "lowest"), [(0, 0, 0.8), (3, 6, 0.8), (40, 60, 0.7), (1, 1, 0.5)])
def test_evidence_equals_the_integral_of_the_likelihood_ratio(right, controls, lowest):
    def ratio(p):
        return (p / lowest) ** right * ((1 - p) / (1 - lowest)) ** (controls - right)

    assert evidence_against(right, controls, lowest) == pytest.approx(integrate.quad(ratio, 0, lowest)[0] / lowest)


def test_the_gate_excludes_few_good_workers_however_often_one_looks():
    """Of 2,000 workers exactly at the limit, who answer 300 controls and are looked at after each, at most 5 %."""
    gate = Gate(lowest=0.8, false_exclusions=0.05)
    rng = np.random.default_rng(0)
    excluded = 0
    table = {}
    for _ in range(1000):
        right = np.cumsum(rng.random(200) < 0.8)
        for controls, count in enumerate(right.tolist(), start=1):
            key = (count, controls)
            if key not in table:
                table[key] = gate.standing(*key) is Standing.EXCLUDED
            if table[key]:
                excluded += 1
                break
    assert 0 < excluded / 1000 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 1000)


def test_the_gate_finds_random_and_adversarial_workers():
    gate = Gate()
    rng = np.random.default_rng(1)
    found_after = []
    for _ in range(200):
        right = np.cumsum(rng.random(120) < 0.5)
        standings = [gate.standing(int(count), n) for n, count in enumerate(right, start=1)]
        found_after.append(standings.index(Standing.EXCLUDED) if Standing.EXCLUDED in standings else 120)
    assert np.median(found_after) < 30  # five tasks of six controls
    assert np.mean(np.array(found_after) < 120) > 0.99
    assert gate.standing(0, 6) is Standing.EXCLUDED
    assert gate.standing(0, 0) is Standing.GOOD


def test_the_gate_rejects_impossible_limits():
    with pytest.raises(InputError, match="between 0 and 1"):
        Gate(lowest=1.0)


def simulated(seed, cares):
    """200 candidates, half of them dogs, shown with controls to workers who know a dog when they see one."""
    rng = np.random.default_rng(seed)
    dogs = rng.random(200) < 0.5
    tasks, chances = [], {}
    for number in range(20):
        names = [f"c{number * 10 + i}" for i in range(10)]
        tasks.append(grid(str(number), names, [f"p{number}"], [f"n{number}"]))
        chances |= {(name, "dog"): 0.9 if dogs[number * 10 + i] else 0.1 for i, name in enumerate(names)}
        chances |= {(f"p{number}", "dog"): 0.9, (f"n{number}", "dog"): 0.1}
    workers = [SimulatedWorker(f"w{i}", care) for i, care in enumerate(cares)]
    answers = collect_answers(
        tasks, simulate_answers(tasks, chances, workers, workers_per_task=len(workers), seed=seed)
    )
    truth = np.array([chances[entry] > 0.5 for entry in answers.entries])
    return answers, truth


def test_dawid_skene_recovers_rates_and_classes():
    answers, truth = simulated(0, [Care.CAREFUL] * 5)
    model = dawid_skene(answers)
    assert np.mean((model.probability > 0.5) == truth) > 0.97
    assert model.sensitivity == pytest.approx(np.full(5, 0.9), abs=0.08)
    assert model.specificity == pytest.approx(np.full(5, 0.9), abs=0.08)
    assert model.share == pytest.approx(0.5, abs=0.1)


def test_dawid_skene_turns_adversaries_around_where_frequencies_fail():
    answers, truth = simulated(1, [Care.CAREFUL] * 3 + [Care.ADVERSARIAL] * 4)
    model = dawid_skene(answers)
    candidates = np.array([role is TileRole.CANDIDATE for role in answers.roles])
    plain = selection_frequencies(answers).frequency > 0.5
    assert np.mean(plain[candidates] == truth[candidates]) < 0.5
    assert np.mean((model.probability > 0.5)[candidates] == truth[candidates]) > 0.95


def test_dawid_skene_with_equal_workers_orders_images_as_their_frequencies():
    answers, _ = simulated(2, [Care.CAREFUL] * 6)
    model = dawid_skene(answers)
    candidates = np.array([role is TileRole.CANDIDATE for role in answers.roles])
    correlation = np.corrcoef(model.probability[candidates], selection_frequencies(answers).frequency[candidates])
    assert correlation[0, 1] > 0.9


def test_dawid_skene_needs_answers():
    with pytest.raises(UndefinedError, match="needs answers"):
        dawid_skene(collect_answers([grid("1", ["a"])], []))
