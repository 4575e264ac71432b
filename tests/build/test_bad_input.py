"""Bad input for the steps of a build: each is one clear line, and nothing that is stored changes."""

import csv

import pytest
from running import assert_one_line, run, run_well, snapshot

import regrade
from regrade.build.exchange import tile_name
from regrade.build.files import TaskCollection
from regrade.core import ClassSpace


@pytest.fixture
def tasked(workspace):
    """A workspace with the tasks of the build ``new``, and the answer of ada to the first one."""
    workspace.build.tasks("new", "pool", "reference", confused_by="model")
    workspace.build.answers("new", answer_file(workspace, "first.csv", [("ada", 0, (0, 1))]))
    return workspace


def answer_file(workspace, name, rows, extra=()):
    """Answers of workers to tasks by number: the selected tiles by number; ``extra`` are further rows as written."""
    stored = TaskCollection(workspace.store.root).read("new")
    path = workspace.store.root.parent / name
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "worker", "selected"])
        for worker, number, selected in rows:
            task = stored.tasks[number]
            names = [tile_name(task, task.tiles[place].image, key=stored.digest) for place in selected]
            writer.writerow([task.id, worker, " ".join(names)])
        writer.writerows(extra)
    return path


GOOD = ("bob", 0, (2,))


def a_tile_of_another_task(workspace):
    stored = TaskCollection(workspace.store.root).read("new")
    first, second = stored.tasks[:2]
    return first.id, "eve", tile_name(second, second.tiles[0].image, key=stored.digest)


@pytest.mark.parametrize(
    ("rows", "extra", "words"),
    [
        ([GOOD, GOOD], [], ("worker 'bob' answered task", "twice")),
        ([GOOD, ("bob", 0, (3,))], [], ("worker 'bob' answered task", "twice")),
        ([GOOD, ("ada", 0, (5,))], [], ("worker 'ada' has answered task", "before, and differently")),
        ([GOOD], [("nowhere", "eve", "")], ("unknown task 'nowhere'",)),
        ([GOOD], [a_tile_of_another_task], ("has no tile", "it belongs to task")),
        ([GOOD], [("", "eve", "")], ("column 'task' has 1 empty cells",)),
    ],
)
def test_one_bad_answer_refuses_the_whole_file(tasked, rows, extra, words):
    extra = [row(tasked) if callable(row) else row for row in extra]
    path = answer_file(tasked, "bad.csv", rows, extra)
    before = snapshot(tasked.store.root)
    assert_one_line(run("build", "answers", "new", path, "-w", tasked.store.root), *words)
    assert snapshot(tasked.store.root) == before


@pytest.fixture
def uneven(tmp_path):
    """A workspace with pools and reference sets that lack something, all of the classes cat and dog."""
    workspace, space = regrade.init(tmp_path / "W"), ClassSpace("pets", ("cat", "dog"))
    for name, ids in {
        "pool": [f"pool-{label}-{number:03},{label}" for label in space.ids for number in range(60)],
        "reference": [f"reference-{label}-{number:03},{label}" for label in space.ids for number in range(60)],
        "only-dogs": [f"only-{number},dog" for number in range(60)],
        "few": [*(f"few-{number},dog" for number in range(42)), "few-cat,cat"],
        "with-control": ["reference-cat-003,cat", *(f"own-{number},dog" for number in range(42))],
    }.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,label", *ids]))
        workspace.testsets.add(name, tmp_path / f"{name}.csv", classes=space)
    return workspace


def test_a_class_without_reference_images_is_named_and_the_others_have_tasks(uneven):
    arguments = ("--pool", "pool", "--reference", "only-dogs", "--negatives", "0", "-w", uneven.store.root)
    output = run_well("build", "tasks", "new", *arguments).out
    assert "no tasks for cat: 0 reference images for 3 positive controls" in output
    assert {task.class_id for task in TaskCollection(uneven.store.root).read("new").tasks} == {"dog"}


def test_a_candidate_that_is_a_control_is_named_and_its_class_has_no_tasks(uneven):
    arguments = ("--pool", "with-control", "--reference", "reference", "--negatives", "0", "-w", uneven.store.root)
    output = run_well("build", "tasks", "new", *arguments).out
    assert "no tasks for cat: candidate 'reference-cat-003' is also a control" in output


def test_a_class_with_too_few_candidates_is_incomplete_and_cannot_be_frozen(uneven):
    root = uneven.store.root
    run_well("build", "tasks", "new", "--pool", "few", "--reference", "reference", "--negatives", "0", "-w", root)
    stored = TaskCollection(root).read("new")
    workers = [(name, number, (0, 1)) for name in ("ada", "bob") for number in range(len(stored.tasks))]
    uneven.build.answers("new", answer_file(uneven, "answers.csv", workers))
    drawn = ("--strategy", "threshold", "--lowest", "0", "--min-answers", "1", "--per-class", "5")
    output = run_well("build", "sample", "new", *drawn, "-w", root).out
    assert "incomplete: cat: 4 more images with a selection frequency of 0 or more needed" in output
    before = snapshot(root)
    done = run("build", "freeze", "new", "--as", "set", "-w", root)
    assert_one_line(done, "cannot be frozen: cat: 4 more images", "--show problems")
    assert snapshot(root) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tasks", "new", "--pool", "none", "--reference", "reference"), ("unknown test set 'none'",)),
        (("tasks", "new", "--pool", "pool", "--reference", "reference", "--tiles", "6"), ("no room for candidates",)),
        (("frequencies", "new"), ("unknown build 'new'",)),
        (("sample", "new", "--strategy", "top"), ("unknown build 'new'",)),
        (("freeze", "new", "--as", "x"), ("unknown build 'new'",)),
        (("revisions", "new"), ("unknown build 'new'",)),
    ],
)
def test_steps_without_what_they_need_are_one_line(uneven, arguments, words):
    before = snapshot(uneven.store.root)
    assert_one_line(run("build", *arguments, "-w", uneven.store.root), *words)
    assert snapshot(uneven.store.root) == before
