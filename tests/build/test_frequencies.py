"""Selection frequencies: pooled over tasks, with intervals that cover in simulations."""

from collections import Counter

import numpy as np
import pytest

from regrade.build.crowd import Care, SimulatedWorker, crowd, simulate_answers
from regrade.build.frequencies import (
    Assignment,
    collect_answers,
    histogram,
    mean_frequency,
    selection_frequencies,
)
from regrade.build.tasks import GridTask, Tile, TileRole
from regrade.core import InputError, UndefinedError, UnknownName


def task(name, images, class_id="dog", role=TileRole.CANDIDATE):
    return GridTask(name, class_id, tuple(Tile(image, role) for image in images))


def answer(name, worker, *selected):
    return Assignment(name, worker, frozenset(selected))


def test_frequencies_pool_counts_over_tasks():
    """Image b: selected by 2 of 3 in one task and by 0 of 1 in the other, so 2 of 4; a mean of rates would be 1/3."""
    tasks = [task("1", ["a", "b"]), task("2", ["b", "c"])]
    answers = [answer("1", "x", "a", "b"), answer("1", "y", "b"), answer("1", "z"), answer("2", "x", "c")]
    frequencies = selection_frequencies(collect_answers(tasks, answers))
    by_image = dict(zip((image for image, _ in frequencies.entries), frequencies.frequency, strict=True))
    assert by_image == {"a": pytest.approx(1 / 3), "b": 0.5, "c": 1.0}
    assert frequencies.assignments.tolist() == [3, 4, 1]
    assert frequencies.effective == pytest.approx([3, 16 / 6, 1])  # x saw b twice


def restated(tasks, answers):
    """Selected, assignments and effective answers by image and class, with lists in dicts."""
    rows = {(tile.image, grid.class_id): [] for grid in tasks for tile in grid.tiles}
    by_id = {grid.id: grid for grid in tasks}
    for own in answers:
        for tile in by_id[own.task].tiles:
            rows[tile.image, by_id[own.task].class_id].append((own.worker, tile.image in own.selected))
    effective = {
        entry: len(seen) ** 2 / sum(count**2 for count in Counter(worker for worker, _ in seen).values()) if seen else 0
        for entry, seen in rows.items()
    }
    return {entry: (sum(s for _, s in seen), len(seen), effective[entry]) for entry, seen in rows.items()}


@pytest.mark.parametrize("seed", range(5))
def test_frequencies_equal_a_plain_restatement(seed):
    rng = np.random.default_rng(seed)
    tasks = [
        task(str(n), [f"i{i}" for i in rng.permutation(12)[:5]], ("dog", "cat")[int(rng.integers(2))])
        for n in range(20)
    ]
    answers = [
        answer(own.id, f"w{worker}", *(tile.image for tile in own.tiles if rng.random() < 0.5))
        for own in tasks
        for worker in rng.permutation(6)[: rng.integers(0, 5)]
    ]
    collected = collect_answers(tasks, iter(answers))
    result = selection_frequencies(collected)
    rows = zip(result.selected.tolist(), result.assignments.tolist(), result.effective.tolist(), strict=True)
    assert dict(zip(result.entries, rows, strict=True)) == restated(tasks, answers)
    assert dict(zip(collected.workers, collected.tasks_answered.tolist(), strict=True)) == Counter(
        own.worker for own in answers
    )
    kept = [own for own in answers if own.worker != "w1"]
    without = selection_frequencies(collected, excluded_workers=["w1"])
    rows = zip(without.selected.tolist(), without.assignments.tolist(), without.effective.tolist(), strict=True)
    assert dict(zip(without.entries, rows, strict=True)) == restated(tasks, kept)


def test_an_image_has_a_frequency_per_class():
    tasks = [task("1", ["a"], "dog"), task("2", ["a"], "cat", TileRole.NEGATIVE)]
    frequencies = selection_frequencies(collect_answers(tasks, [answer("1", "x", "a"), answer("2", "x")]))
    assert dict(zip(frequencies.entries, frequencies.frequency, strict=True)) == {("a", "dog"): 1, ("a", "cat"): 0}
    assert [candidate.class_id for candidate in frequencies.candidates()] == ["dog"]


def test_no_answers_are_a_frequency_of_zero_without_an_interval():
    frequencies = selection_frequencies(collect_answers([task("1", ["a"])], []))
    assert frequencies.frequency.tolist() == [0.0]
    with pytest.raises(UndefinedError, match="no worker has seen 'a' for dog"):
        frequencies.estimate("a", "dog")


def test_excluded_workers_do_not_count():
    answers = collect_answers([task("1", ["a"])], [answer("1", "x", "a"), answer("1", "y")])
    assert selection_frequencies(answers, excluded_workers=["y"]).frequency.tolist() == [1.0]
    assert selection_frequencies(answers, excluded_workers=["x", "y"]).assignments.tolist() == [0]


def test_collect_answers_rejects_what_does_not_belong_together():
    tasks = [task("1", ["a"])]
    with pytest.raises(UnknownName, match="unknown task '2'"):
        collect_answers(tasks, [answer("2", "x")])
    with pytest.raises(InputError, match="worker 'x' answered task 1 twice"):
        collect_answers(tasks, [answer("1", "x"), answer("1", "x", "a")])
    with pytest.raises(InputError, match="worker 'x' selected 'b', which is not in task 1"):
        collect_answers(tasks, [answer("1", "x", "b")])
    with pytest.raises(InputError, match="image 'a' is both candidate and positive for dog"):
        collect_answers([*tasks, task("2", ["a"], role=TileRole.POSITIVE)], [])
    with pytest.raises(InputError, match="task 3 shows an image twice"):
        collect_answers([task("3", ["a", "a"])], [])


def test_histogram_counts_annotated_images_per_bin():
    tasks = [task("1", ["a", "b", "c"]), task("2", ["d"])]
    answers = [answer("1", "x", "a", "b"), answer("1", "y", "a")]
    frequencies = selection_frequencies(collect_answers(tasks, answers))
    assert histogram(frequencies, TileRole.CANDIDATE, (0.2, 0.4, 0.6, 0.8)).tolist() == [1, 0, 1, 0, 1]


def test_the_interval_of_one_image_covers_its_probability():
    """At least 95 % of the intervals contain the true probability, also if some workers answer twice."""
    rng = np.random.default_rng(0)
    tasks = [task("1", ["a"]), task("2", ["a"])]
    inside = 0
    for _ in range(600):
        chance = rng.random()
        first = rng.random(10) < chance  # ten workers; five of them see the image again, and say the same
        answers = [answer("1", str(i), *"a" * bool(is_selected)) for i, is_selected in enumerate(first)]
        answers += [answer("2", str(i), *"a" * bool(first[i])) for i in range(5)]
        estimate = selection_frequencies(collect_answers(tasks, answers)).estimate("a", "dog")
        assert estimate.low <= estimate.value <= estimate.high
        inside += estimate.low <= chance <= estimate.high
    assert inside / 600 >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / 600)


def test_the_interval_of_the_mean_covers_over_images_and_workers():
    """Workers differ in how much they select: an interval over images alone would miss in most runs."""
    rng = np.random.default_rng(1)
    inside = naive = 0
    runs = 300
    for _ in range(runs):
        leaning = rng.normal(0, 0.15, 12)  # of each worker
        easiness = rng.normal(0, 0.2, 40)  # of each image
        chances = np.clip(0.5 + leaning[:, None] + easiness, 0, 1)
        tasks = [task(str(t), [str(t * 10 + i) for i in range(10)]) for t in range(4)]
        answers = [
            answer(str(t), f"w{w}", *(str(t * 10 + i) for i in range(10) if rng.random() < chances[w, t * 10 + i]))
            for t in range(4)
            for w in range(12)
        ]
        estimate = mean_frequency(collect_answers(tasks, answers), TileRole.CANDIDATE)
        inside += estimate.low <= 0.5 <= estimate.high
        frequency = selection_frequencies(collect_answers(tasks, answers)).frequency
        naive += abs(frequency.mean() - 0.5) <= 2.02 * frequency.std(ddof=1) / np.sqrt(40)
    assert inside / runs >= 0.93
    assert naive / runs < 0.9


def test_a_simulated_crowd_answers_with_the_given_probabilities():
    tasks = [task("1", ["sure", "half", "never"])]
    chances = {("sure", "dog"): 1.0, ("half", "dog"): 0.5, ("never", "dog"): 0.0}
    workers = tuple(SimulatedWorker(f"w{i}") for i in range(400))
    answers = simulate_answers(tasks, chances, workers, workers_per_task=400, seed=0)
    frequency = selection_frequencies(collect_answers(tasks, answers)).frequency
    assert frequency[0] == 1
    assert frequency[1] == pytest.approx(0.5, abs=0.1)
    assert frequency[2] == 0
    adversary = simulate_answers(tasks, chances, [SimulatedWorker("w", Care.ADVERSARIAL)], workers_per_task=1, seed=0)
    assert "never" in adversary[0].selected
    assert "sure" not in adversary[0].selected


def test_a_crowd_has_the_requested_shares():
    cares = [worker.care for worker in crowd(20, {Care.RANDOM: 0.1, Care.CARELESS: 0.01})]
    assert cares.count(Care.RANDOM) == 2
    assert cares.count(Care.CARELESS) == 1
    assert cares.count(Care.CAREFUL) == 17
    with pytest.raises(InputError, match="at most 1 together"):
        crowd(5, {Care.RANDOM: 0.7, Care.CARELESS: 0.7})
    with pytest.raises(InputError, match="3 workers per task were requested, and there are 2"):
        simulate_answers([task("1", ["a"])], {}, crowd(2, {}), workers_per_task=3, seed=0)
