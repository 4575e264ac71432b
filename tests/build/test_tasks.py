"""Selection tasks: composition as published, controls that repeat as little as possible and are not given away."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.build.tasks import (
    GridTask,
    TaskOptions,
    Tile,
    TileRole,
    control_counts,
    make_tasks,
    most_confused_classes,
    nearest_classes,
)
from regrade.classes import digits
from regrade.core import ClassSpace, InputError, UndefinedError

NEGATIVES = {"dog": "cat", "cat": "dog"}


def references(size=50):
    return {name: [f"{name}-reference-{i:02}" for i in range(size)] for name in ("dog", "cat")}


def candidates(size, name="dog"):
    return {name: [f"{name}-{i:04}" for i in range(size)]}


def images(task, role):
    return [tile.image for tile in task.tiles if tile.role is role]


@pytest.mark.parametrize(
    ("size", "composition"),
    [
        (42, {(42, 3, 3): 1}),
        (84, {(42, 3, 3): 2}),
        (43, {(42, 3, 3): 2}),  # the second task is refilled with 41 candidates of the first
        (35, {(35, 7, 6): 1}),  # one short task: 7 more controls, the odd one positive
        (1, {(1, 24, 23): 1}),
    ],
)
def test_tasks_have_the_published_composition(size, composition):
    plan = make_tasks(candidates(size), references(), NEGATIVES, TaskOptions(annotated_references=0))
    assert plan.composition() == composition
    assert not plan.problems


def test_classes_with_few_annotated_references_get_further_tasks():
    """One task annotates 3 references; 17 more are needed, which takes two tasks with a third of new ones each."""
    plan = make_tasks(candidates(42), references(), NEGATIVES, TaskOptions())
    assert sorted(plan.composition().elements()) == [(16, 16, 16), (16, 16, 16), (42, 3, 3)]
    annotated = [image for task in plan.tasks for image in images(task, TileRole.POSITIVE)]
    assert len(annotated) == len(set(annotated)) == 35


@given(st.integers(1, 300), st.integers(0, 3))
def test_every_candidate_is_shown_and_only_the_last_task_repeats_some(size, seed):
    plan = make_tasks(candidates(size), references(), NEGATIVES, TaskOptions(seed=seed, annotated_references=0))
    times = Counter(image for task in plan.tasks for image in images(task, TileRole.CANDIDATE))
    assert set(times) == set(candidates(size)["dog"])
    assert times.total() == (len(plan.tasks) * 42 if size > 42 else size)
    assert max(times.values()) <= 2
    for task in plan.tasks:
        assert len(task.tiles) == len({tile.image for tile in task.tiles}) == 48
        assert {image.split("-")[0] for image in images(task, TileRole.POSITIVE)} == {"dog"}
        assert {image.split("-")[0] for image in images(task, TileRole.NEGATIVE)} == {"cat"}


def test_controls_repeat_only_after_all_were_used():
    plan = make_tasks(candidates(42 * 30), references(), NEGATIVES, TaskOptions())
    times = Counter(image for task in plan.tasks for image in images(task, TileRole.POSITIVE))
    assert set(times.values()) == {1, 2}
    assert len(times) == 50


def test_tasks_depend_on_the_seed_and_on_no_other_class():
    both = {**candidates(50), **candidates(60, "cat")}
    alone = make_tasks(candidates(50), references(), NEGATIVES, TaskOptions())
    together = make_tasks(both, references(), NEGATIVES, TaskOptions())
    assert [task for task in together.tasks if task.class_id == "dog"] == list(alone.tasks)
    assert make_tasks(candidates(50), references(), NEGATIVES, TaskOptions(seed=1)).tasks != alone.tasks


def test_neither_position_nor_order_gives_a_control_away():
    """The mean position of controls is that of candidates, in the order that each worker sees."""
    plan = make_tasks(candidates(42 * 100), references(), NEGATIVES, TaskOptions())
    positions = {role: [] for role in TileRole}
    for task in plan.tasks:
        for place, tile in enumerate(task.order_for("ada")):
            positions[tile.role].append(place)
    for role in TileRole:
        error = 48 / np.sqrt(12) / np.sqrt(len(positions[role]))
        assert np.mean(positions[role]) == pytest.approx(23.5, abs=4 * error)


def test_every_worker_has_an_own_order_that_stays():
    task = GridTask("id", "dog", tuple(Tile(str(i), TileRole.CANDIDATE) for i in range(48)))
    assert task.order_for("ada") == task.order_for("ada")
    assert task.order_for("ada") != task.order_for("bob")
    assert sorted(tile.image for tile in task.order_for("ada")) == sorted(tile.image for tile in task.tiles)


@pytest.mark.parametrize(
    ("pool", "reference_images", "problem"),
    [
        (candidates(42), {"dog": ["a", "b"], "cat": ["x", "y", "z"]}, "2 reference images for 3 positive controls"),
        (candidates(42), {"dog": ["a", "b", "c"]}, "0 reference images for 3 negative controls"),
        (candidates(2), references(20), "20 reference images for 23 positive controls"),
        ({"dog": ["a", "a"]}, references(), "candidate 'a' is listed twice"),
        ({"dog": ["cat-reference-01"]}, references(), "candidate 'cat-reference-01' is also a control"),
    ],
)
def test_make_tasks_says_why_a_class_has_none(pool, reference_images, problem):
    plan = make_tasks(pool, reference_images, NEGATIVES, TaskOptions())
    assert plan.problems == (f"dog: {problem}",)
    assert not plan.tasks


def test_task_options_reject_impossible_numbers():
    with pytest.raises(InputError, match="no room for candidates"):
        TaskOptions(tiles=6)
    with pytest.raises(InputError, match="a task needs a worker"):
        TaskOptions(workers=0)


@given(st.integers(1, 42))
def test_control_counts_fill_the_grid_with_as_many_of_each_kind(size):
    positives, negatives = control_counts(size, TaskOptions())
    assert size + positives + negatives == 48
    assert positives - negatives in (0, 1)


def test_most_confused_classes_are_those_most_often_predicted():
    space = ClassSpace("pets", ("ant", "bee", "cat"))
    confusions = np.array([[90, 3, 7], [0, 100, 0], [5, 5, 90]])
    assert most_confused_classes(space, confusions) == {"ant": "cat", "cat": "ant"}


def test_nearest_classes_need_a_hierarchy_and_another_class():
    with pytest.raises(UndefinedError, match="has no hierarchy"):
        nearest_classes(digits())
    with pytest.raises(InputError, match="has no other class"):
        most_confused_classes(ClassSpace("single", ("ant",)), np.array([[1]]))
