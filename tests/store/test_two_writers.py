"""Concurrent writers: everything that was reported as stored is stored, and nothing is drawn twice."""

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TypeVar

import pytest

import regrade
from benchmarks.fault_world import CLASSES, make_every_file
from regrade.workspace import Workspace

WRITERS = 6
Result = TypeVar("Result")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_every_file(tmp_path_factory.mktemp("every")).store.root


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "W"))


def at_once(root: Path, action: Callable[[Workspace, int], Result]) -> list[Result]:
    """Run an action several times concurrently, each with its own opened workspace."""
    barrier = Barrier(WRITERS)

    def run(number: int) -> Result:
        workspace = regrade.open(root)
        barrier.wait()
        return action(workspace, number)

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(run, range(WRITERS)))


def test_concurrent_label_versions_are_all_stored(root, tmp_path):
    ids = regrade.open(root).store.test_set("shelf").ids
    for number in range(WRITERS):
        rows = [f"{image},{CLASSES[(place + (place <= number)) % 5]}" for place, image in enumerate(ids)]
        (tmp_path / f"{number}.csv").write_text("\n".join(["image,class", *rows]) + "\n")

    def add(workspace: Workspace, number: int) -> tuple[str, str]:
        done = workspace.labels.import_file(tmp_path / f"{number}.csv", test_set="shelf", name="own", new_version=True)
        return done.labels.full_name, done.labels.digest

    imported = at_once(root, add)
    store = regrade.open(root).store
    test_set = store.test_set("shelf")
    assert {name: store.labels.read(test_set, name).digest for name, _ in imported} == dict(imported)
    assert {name for name, _ in imported} == {f"own@{version}" for version in range(2, 2 + WRITERS)}


def test_concurrent_draws_are_disjoint(root):
    drawn = at_once(root, lambda workspace, _: workspace.labels.draw_sample("shelf", labels="own", size=4))
    rows = [int(row) for draw in drawn for row in draw.rows]
    assert len(rows) == len(set(rows)) == 4 * WRITERS
    assert regrade.open(root).labels.drawn_sample("shelf", labels="own").frame.drawn == 6 + 4 * WRITERS


def test_concurrent_decisions_are_all_stored(root, tmp_path):
    workspace = regrade.open(root)
    drawn = workspace.labels.draw_sample("shelf", labels="own", size=2 * WRITERS)
    test_set = workspace.store.test_set("shelf")
    pairs = [(test_set.ids[drawn.frame.examples[row]], CLASSES[drawn.frame.classes[row]]) for row in drawn.rows]
    for number in range(WRITERS):
        rows = [f"{image},{name},wrong" for image, name in pairs[2 * number : 2 * number + 2]]
        (tmp_path / f"{number}.csv").write_text("\n".join(["image,class,verdict", *rows]) + "\n")
    counts = at_once(
        root,
        lambda own, number: own.labels.import_decisions(tmp_path / f"{number}.csv", test_set="shelf", labels="own"),
    )
    assert [done.new for done in counts] == [2] * WRITERS
    assert len(regrade.open(root).labels.drawn_sample("shelf", labels="own").rows) == 0
