"""The published history of ImageNetV2, read and recounted."""

import json

import pytest

from regrade.build.imagenetv2 import read_revisions, read_tasks
from regrade.build.revisions import Revision, change, convergence, union
from regrade.build.tasks import TaskOptions, TaskPlan, TileRole, control_counts, make_tasks, nearest_classes
from regrade.classes import imagenet_1k
from regrade.core import FormatError

NEW_IMAGES_OF_B = (
    1259, 954, 638, 464, 377, 369, 178, 257, 115, 39, 3, 12, 70, 66, 40, 30, 24, 14, 12, 13, 12, 15, 13, 777, 256,
    160, 64, 100, 61, 101, 45, 14, 5,
)  # fmt: skip


@pytest.fixture(scope="module")
def revisions(published):
    return read_revisions(published / "imagenetv2_build")


@pytest.fixture(scope="module")
def tasks(published):
    return read_tasks(published / "imagenetv2_build")


def test_every_set_has_the_published_number_of_revisions(revisions):
    counts = {name: len(own) for name, own in revisions.items()}
    assert counts == {"imagenetv2-a": 45, "imagenetv2-b": 34, "imagenetv2-c": 13}
    assert [own[-1].name for own in revisions.values()] == ["imagenetv2-a-44", "imagenetv2-b-33", "imagenetv2-c-12"]
    assert {len(own[-1].examples) for own in revisions.values()} == {10_000}


def test_final_sets_overlap_as_published(revisions):
    a, b, c = (own[-1] for own in revisions.values())
    assert len(a.images & b.images) == 3186
    assert len(a.images & c.images) == 4996
    assert len(b.images & c.images) == 3070
    assert len(union([a, b, c])) == 20_683


def test_new_images_per_revision_are_as_published(revisions):
    added = tuple(len(step.added) for step in convergence(revisions["imagenetv2-b"]))
    assert added == NEW_IMAGES_OF_B


def test_images_of_all_revisions_are_as_published(revisions):
    assert [len(union(own)) for own in revisions.values()] == [13_865, 16_400, 11_452]


def test_published_tasks_have_the_composition_that_our_tasks_have(tasks):
    composition = TaskPlan(tasks, ()).composition()
    assert len(tasks) == 6330
    assert composition[42, 3, 3] == 5774
    assert composition[16, 16, 16] == 254  # further tasks for classes with few annotated references
    full = {own for own in composition if sum(own) == 48}
    assert len(full) > 40
    exceptions = {own for own in full if control_counts(own[0], TaskOptions()) != own[1:]}
    assert exceptions == {(14, 16, 18)}  # one task, probably a further one with fewer candidates


def test_our_tasks_for_a_pool_of_the_same_size_follow_the_same_rules(tasks):
    """A synthetic pool with as many candidates per class as were published, and 50 reference images each."""
    sizes = {}
    for task in tasks:
        shown = {tile.image for tile in task.tiles if tile.role is TileRole.CANDIDATE}
        sizes.setdefault(task.class_id, set()).update(shown)
    pool = {class_id: [f"{class_id}-{i}" for i in range(len(images))] for class_id, images in sizes.items()}
    references = {class_id: [f"{class_id}-reference-{i}" for i in range(50)] for class_id in pool}
    plan = make_tasks(pool, references, nearest_classes(imagenet_1k()), TaskOptions())
    assert not plan.problems
    composition = plan.composition()
    assert composition[42, 3, 3] == sum(-(-len(images) // 42) for images in sizes.values() if len(images) >= 42)
    shorter = {own for own in composition if own not in ((42, 3, 3), (16, 16, 16))}
    assert all(control_counts(own[0], TaskOptions()) == own[1:] for own in shorter if own[0] > 16)
    assert all(sum(own) == 48 for own in composition)
    shown = {image for task in plan.tasks for image in (tile.image for tile in task.tiles) if "reference" not in image}
    assert len(shown) == sum(map(len, pool.values()))


def test_negative_controls_come_from_the_published_nearest_class(published):
    similar = json.loads((published / "imagenetv2_build" / "most_similar.json").read_text())
    assert nearest_classes(imagenet_1k()) == {class_id: ranked[1] for class_id, ranked in similar.items()}


def test_a_change_lists_what_is_new_and_what_is_gone():
    before = Revision("a-0", frozenset({("x", "dog"), ("y", "dog")}))
    after = Revision("a-1", frozenset({("y", "dog"), ("z", "cat")}))
    step = change(before, after)
    assert (step.name, step.size, step.added, step.removed) == ("a-1", 2, {("z", "cat")}, {("x", "dog")})
    assert convergence([before]) == ()


def test_read_revisions_rejects_files_of_another_form(tmp_path):
    (tmp_path / "revisions.parquet").write_bytes(b"no table")
    (tmp_path / "revisions.json").write_text("[]")
    with pytest.raises(FormatError, match="cannot be read as parquet"):
        read_revisions(tmp_path)
