"""Exports for a crowd platform: nothing but the images tells controls from candidates; runs can be repeated."""

import csv
import io
import json
import os
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from running import run_well
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_set import encoded, noise

from regrade.build import tile_files
from regrade.build.exchange import tile_name
from regrade.build.files import AnswerCollection, BuildTasks, TaskCollection
from regrade.build.steps import export
from regrade.build.steps.answers import BUILD_ANSWERS, AnswerImportOptions
from regrade.build.steps.export import BUILD_EXPORT, ExportOptions
from regrade.build.tasks import TaskOptions, TileRole, make_tasks
from regrade.build.tiles import TileCrop, TileFormat, render_tile
from regrade.core import (
    AlreadyStored,
    ClassSpace,
    ImageSource,
    ImageSourceError,
    InputError,
    MismatchError,
    StoreError,
    TestSet,
    UnknownName,
    WriteError,
)
from regrade.store import Store
from regrade.store.locks import locked_without_waiting

SPACE = ClassSpace("animals", ("n1", "n2"), ("dog", "cat"))
HTML = b"<!DOCTYPE html><title>404 Not Found</title>"


def add_test_set(store, name, contents, *, suffix, with_images=True):
    """A test set of image files, half of each class."""
    root = store.root.parent / name
    root.mkdir()
    ids = tuple(f"{name}-{number:03}{suffix}" for number in range(len(contents)))
    for example, content in zip(ids, contents, strict=True):
        (root / example).write_bytes(content)
    labels = np.arange(len(ids), dtype=np.int32) % 2
    test_set = TestSet(name, SPACE, ids, labels)
    if with_images:
        store.add_images(test_set, ImageSource("folder", str(root), ids))
    else:
        store.add_test_set(test_set)
    return test_set


def by_class(test_set):
    return {
        class_id: [image for image, label in zip(test_set.ids, test_set.labels, strict=True) if label == number]
        for number, class_id in enumerate(SPACE.ids)
    }


def add_build(store, pool, reference, options, name="b"):
    plan = make_tasks(by_class(pool), by_class(reference), {"n1": "n2", "n2": "n1"}, options)
    assert not plan.problems
    stored = BuildTasks(name, pool.name, pool.digest, reference.name, reference.digest, options, plan.tasks)
    TaskCollection(store.root).add(stored, None)
    return stored


@dataclass(frozen=True)
class World:
    """A workspace with a small build of four tasks: 6 candidates, 2 positive and 2 negative controls each."""

    store: Store
    stored: BuildTasks
    folder: Path

    def run(self, **options):
        return BUILD_EXPORT.run(self.store, ExportOptions("b", self.folder, **{"size": 32, **options}))

    def path(self, task, tile):
        return self.folder / "tiles" / f"{tile_name(task, tile.image, key=self.stored.digest)}.jpg"

    def original(self, tile):
        name = self.stored.pool if tile.role is TileRole.CANDIDATE else self.stored.reference
        return self.store.root.parent / name / tile.image

    def tasks(self):
        return json.loads((self.folder / "tasks.json").read_text())

    def files(self):
        return {path.name: path.read_bytes() for path in (self.folder / "tiles").iterdir()}


@pytest.fixture
def world(tmp_path):
    store = Store.create(tmp_path / "W")
    pool = add_test_set(store, "pool", [encoded(noise(i, (40, 30))) for i in range(24)], suffix=".png")
    controls = [encoded(noise(100 + i, (60, 50)), "JPEG") for i in range(16)]
    reference = add_test_set(store, "reference", controls, suffix=".jpg")
    options = TaskOptions(tiles=10, positives=2, negatives=2, annotated_references=0)
    return World(store, add_build(store, pool, reference, options), tmp_path / "export")


def test_export_writes_every_tile_and_both_lists(world):
    report = world.run()
    assert (report.tasks, report.tiles, report.new, report.unreadable, report.left_out) == (4, 40, 40, (), ())
    assert sorted(path.name for path in world.folder.iterdir()) == ["tasks.csv", "tasks.json", "tiles"]
    rows = world.tasks()
    assert [row["task"] for row in rows] == [task.id for task in world.stored.tasks]
    assert sorted(f"{name}.jpg" for row in rows for name in row["tiles"]) == sorted(world.files())
    lines = list(csv.DictReader(io.StringIO((world.folder / "tasks.csv").read_text())))
    assert [line["tiles"].split() for line in lines] == [row["tiles"] for row in rows]


def test_each_tile_shows_its_own_image(world):
    world.run()
    source = ImageSource("folder", ".", ())
    for task in world.stored.tasks:
        for tile in task.tiles:
            path = world.path(task, tile)
            expected = render_tile(
                world.original(tile).read_bytes(), source, TileFormat(32, 90), TileCrop.of(path.stem)
            )
            assert path.read_bytes() == expected


def test_answers_about_exported_tiles_are_imported(world, tmp_path):
    world.run()
    rows = [{"task": row["task"], "worker": "w", "selected": row["tiles"][:3]} for row in world.tasks()]
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(rows))
    assert BUILD_ANSWERS.run(world.store, AnswerImportOptions("b", path)).new == 4
    answers = AnswerCollection(world.store.root).read("b")
    assert {answer.task: answer.selected for answer in answers} == {
        task.id: {tile.image for tile in task.tiles[:3]} for task in world.stored.tasks
    }


def test_the_command_exports(world):
    arguments = ("b", world.folder, "--size", "48", "--quality", "80", "--task", world.stored.tasks[2].id)
    result = json.loads(run_well("build", "export", *arguments, "-w", world.store.root, "--json").out)
    assert (result["tasks"], result["tiles"], result["new"]) == (1, 10, 10)
    assert all(content.startswith(TileFormat(48, 80).header) for content in world.files().values())


def test_only_chosen_tasks_are_exported_and_the_others_can_follow(world):
    first, second, *_ = world.stored.tasks
    report = world.run(tasks=[second.id])
    assert (report.tasks, report.new) == (1, 10)
    assert [row["task"] for row in world.tasks()] == [second.id]
    report = world.run(tasks=[first.id, second.id])
    assert (report.tasks, report.new) == (2, 10)
    assert [row["task"] for row in world.tasks()] == [first.id, second.id]


def test_the_table_is_one_row(world):
    table = world.run(tasks=[world.stored.tasks[0].id]).table()
    assert table.rows == ((1, 10, 10, 0),)
    assert table.title == f"b: exported to {world.folder}, tiles of 32 pixels, JPEG quality 90"


def test_progress_counts_every_tile(world):
    seen = []

    def progress(results, total):
        for result in results:
            seen.append(total)
            yield result

    world.run(image_progress=progress)
    assert seen == [40] * 40


# Nothing betrays a control


def texture(rng, size):
    """A smooth random texture, which looks the same at any resolution."""
    grid = Image.fromarray(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8))
    return grid.resize(size, Image.Resampling.BICUBIC)


def shape(rng, side):
    return ((side, side * 3 // 4), (side * 3 // 4, side), (side, side))[rng.integers(3)]


def small_png(rng):
    image = texture(rng, shape(rng, 96)).convert("RGBA")
    exif = Image.Exif()
    exif[0x010F] = "camera"
    exif[0x0112] = int(rng.integers(1, 5))
    return encoded(image, "PNG", exif=exif)


def large_jpeg(rng):
    return encoded(texture(rng, shape(rng, 400)), "JPEG", quality=70, progressive=True, comment="reference")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """An export of 240 tiles: candidates are small PNG files, controls large JPEGs, with the same kind of content."""
    folder, rng = tmp_path_factory.mktemp("mixed"), np.random.default_rng(5)
    store = Store.create(folder / "W")
    pool = add_test_set(store, "pool", [small_png(rng) for _ in range(120)], suffix=".png")
    reference = add_test_set(store, "reference", [large_jpeg(rng) for _ in range(120)], suffix=".jpeg")
    options = TaskOptions(tiles=20, positives=5, negatives=5, annotated_references=0)
    world = World(store, add_build(store, pool, reference, options), folder / "export")
    report = world.run(size=64)
    assert report.new == 240
    assert not report.notes
    return world


def file_features(path, number):
    """What a file tells without a look at its image: size, header, tables, name, times, and its place on the disk."""
    content, stat = path.read_bytes(), path.stat()
    with Image.open(path) as image:
        tables = [value for table in getattr(image, "quantization", {}).values() for value in table]
        extras = [*image.size, len(image.info), len(image.getexif()), getattr(image, "layers", 0)]
    name = [ord(letter) for letter in path.stem.ljust(20)[:20]]
    times = [stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_mode, number]
    return [len(content), *content[:640].ljust(640), *(tables + [0] * 256)[:256], *extras, *name, *times]


def correct_guesses(features, is_control, groups):
    """The best number of correct cross-validated guesses of two classifiers."""
    classifiers = (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    )
    values = np.array(features, dtype=np.float64)
    values = values - values.min(axis=0)  # times in nanoseconds are large numbers
    folds = GroupKFold(5)
    return max(
        int((cross_val_predict(classifier, values, is_control, groups=groups, cv=folds) == is_control).sum())
        for classifier in classifiers
    )


def compared_files(world, path_of):
    """Features, roles and images of all tiles; ``path_of`` maps task and tile to a file."""
    tiles = [(task, tile) for task in world.stored.tasks for tile in task.tiles]
    paths = [path_of(task, tile) for task, tile in tiles]
    place = {path: number for folder in {path.parent for path in paths} for number, path in enumerate(folder.iterdir())}
    features = [file_features(path, place[path]) for path in paths]
    is_control = np.array([tile.role is not TileRole.CANDIDATE for _, tile in tiles])
    assert is_control.sum() * 2 == len(tiles)
    return features, is_control, [tile.image for _, tile in tiles]


def test_a_classifier_on_files_separates_controls_no_better_than_chance(mixed):
    features, is_control, images = compared_files(mixed, mixed.path)
    assert correct_guesses(features, is_control, images) <= binom.ppf(0.9999, len(images), 0.5)


def test_the_classifier_separates_the_original_files(mixed):
    """So that the test above can fail."""
    features, is_control, images = compared_files(mixed, lambda _, tile: mixed.original(tile))
    assert correct_guesses(features, is_control, images) == len(images)


@pytest.mark.parametrize("column", ["quality", "time"])
def test_the_classifier_notices_a_single_trace(mixed, column):
    features, is_control, images = compared_files(mixed, mixed.path)
    place = 0 if column == "quality" else -5
    scale = 1.1 if column == "quality" else 1 + 1e-9
    for row, control in zip(features, is_control, strict=True):
        row[place] *= scale if control else 1
    assert correct_guesses(features, is_control, images) > binom.ppf(0.9999, len(images), 0.5)


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """An export of 240 tiles, in which each of 12 reference images is in ten tasks and no candidate is in two."""
    folder, rng = tmp_path_factory.mktemp("repeated"), np.random.default_rng(6)
    store = Store.create(folder / "W")
    pool = add_test_set(store, "pool", [large_jpeg(rng) for _ in range(120)], suffix=".jpeg")
    reference = add_test_set(store, "reference", [large_jpeg(rng) for _ in range(12)], suffix=".jpg")
    options = TaskOptions(tiles=20, positives=5, negatives=5, annotated_references=0)
    world = World(store, add_build(store, pool, reference, options), folder / "export")
    world.run(size=64)
    return world


def repetition_features(contents):
    """How often the content and the size of each file occur, exactly and nearly, and how near the next size is."""
    hashes, sizes = Counter(contents), np.array([len(content) for content in contents])
    pixels = [np.asarray(Image.open(io.BytesIO(content))).tobytes() for content in contents]
    gaps = np.sort(np.abs(sizes[:, None] - sizes) + np.diag(np.full(len(sizes), sizes.max())), axis=1)
    near = [(gaps <= limit).sum(axis=1) for limit in (0, 1, 2, 5, 10, 20, 50)]
    rows = zip(contents, pixels, strict=True)
    counts = np.array([(hashes[content], Counter(pixels)[pixel]) for content, pixel in rows])
    return np.column_stack([sizes, counts, gaps[:, :10], *near]).tolist()


def repetition_guesses(world, contents):
    tiles = [tile for task in world.stored.tasks for tile in task.tiles]
    is_control = np.array([tile.role is not TileRole.CANDIDATE for tile in tiles])
    assert is_control.sum() * 2 == len(tiles)
    return correct_guesses(repetition_features(contents), is_control, [tile.image for tile in tiles]), len(tiles)


def test_repeated_content_separates_controls_no_better_than_chance(repeated):
    contents = [repeated.path(task, tile).read_bytes() for task in repeated.stored.tasks for tile in task.tiles]
    assert len(set(contents)) == len(contents)
    guesses, tiles = repetition_guesses(repeated, contents)
    assert guesses <= binom.ppf(0.9999, tiles, 0.5)


def test_repeated_content_would_separate_controls_without_crops(repeated):
    """So that the test above can fail."""
    source, form = ImageSource("folder", ".", ()), TileFormat(64, 90)
    tiles = [tile for task in repeated.stored.tasks for tile in task.tiles]
    plain = [render_tile(repeated.original(tile).read_bytes(), source, form) for tile in tiles]
    guesses, count = repetition_guesses(repeated, plain)
    assert guesses > 0.95 * count


def test_sizes_would_separate_controls_without_fill_bytes(repeated):
    """So that the same test can fail: tiles of one image have nearly the same number of bytes."""
    contents = [repeated.path(task, tile).read_bytes() for task in repeated.stored.tasks for tile in task.tiles]
    guesses, count = repetition_guesses(repeated, [content.rstrip(b"\xff\xd9") + b"\xff\xd9" for content in contents])
    assert guesses > binom.ppf(0.9999, count, 0.5)


def test_tiles_of_an_image_look_alike(repeated):
    thumbnails = {}
    for task in repeated.stored.tasks:
        for tile in task.tiles:
            with Image.open(repeated.path(task, tile)) as image:
                thumbnails.setdefault(tile.image, []).append(np.asarray(image.resize((16, 16)), dtype=float))
    several = [own for own in thumbnails.values() if len(own) > 1]
    assert len(several) == 12
    same = [np.abs(thumbnail - own[0]).mean() for own in several for thumbnail in own[1:]]
    different = [np.abs(own[0] - next_own[0]).mean() for own, next_own in pairwise(several)]
    assert 0 < max(same) < min(different) / 4


def test_all_tiles_have_one_header_one_time_and_one_mode(mixed):
    contents = mixed.files().values()
    header = TileFormat(64, 90).header
    assert {content[: len(header)] for content in contents} == {header}
    stats = [path.stat() for path in (mixed.folder / "tiles").iterdir()]
    assert len({(stat.st_mtime_ns, stat.st_mode) for stat in stats}) == 1
    assert {content.count(b"\xff\xfe") for content in contents} == {0}  # no comments


def test_lists_do_not_tell_roles_or_images(mixed):
    text = (mixed.folder / "tasks.json").read_text() + (mixed.folder / "tasks.csv").read_text()
    assert not re.search(r"positive|negative|candidate|control|pool|reference|\.png|\.jpeg", text)


def test_tile_names_cannot_be_computed_from_public_ids(mixed):
    """Ids of reference images are known to everyone, and ids of tasks to workers."""
    task = mixed.stored.tasks[0]
    public = {tile_name(task, image, key=key) for image in by_class(mixed.store.test_set("reference"))["n1"]
              for key in ("", "00" * 32)}  # fmt: skip
    assert not public & set(mixed.tasks()[0]["tiles"])


def test_low_resolution_of_one_side_is_noted(world):
    """Candidates are 40 x 30 pixels, controls 60 x 50."""
    (note,) = world.run(size=48).table().notes
    assert note == (
        "smaller than a tile, and enlarged: 100% of the candidates, 0% of the controls; workers may tell them apart "
        "by sharpness: choose a smaller --size"
    )
    assert world.run(size=40).table().notes == ()
    assert world.run(size=64).table().notes == ()  # all are enlarged


def test_a_candidate_with_the_pixels_of_a_control_is_noted(world):
    """Whatever the format of its file; also if its tile exists already."""
    task = world.stored.tasks[0]
    candidate, control = (tile_with_role(task, role) for role in (TileRole.CANDIDATE, TileRole.POSITIVE))
    with Image.open(world.original(control)) as image:
        image.save(world.original(candidate))
    for _ in range(2):
        (note,) = world.run().table().notes
        assert note == (
            f"1 candidate with the pixels of a control, to be taken out: {candidate.image} (as {control.image})"
        )


# Repeated and interrupted runs


def test_a_second_run_encodes_nothing(world, monkeypatch):
    world.run()
    before = world.files()
    monkeypatch.setattr(tile_files, "encode_tile", None)
    assert world.run().new == 0
    assert world.files() == before


def test_another_format_writes_all_tiles_again(world):
    world.run()
    assert world.run(quality=80).new == 40
    header = TileFormat(32, 80).header
    assert all(content.startswith(header) for content in world.files().values())


@pytest.mark.parametrize("damage", [b"", b"\xff\xd8\xff", None])
def test_an_incomplete_tile_is_written_again(world, damage):
    world.run()
    before = world.files()
    path = next((world.folder / "tiles").iterdir())
    path.write_bytes(path.read_bytes()[:-1] if damage is None else damage)
    assert world.run().new == 1
    assert world.files() == before


def test_an_interrupted_export_goes_on_where_it_stopped(world):
    def interrupted(results, _total):
        for number, result in enumerate(results):
            if number == 15:
                raise KeyboardInterrupt
            yield result

    with pytest.raises(KeyboardInterrupt):
        world.run(image_progress=interrupted)
    written = len(world.files())
    assert written >= 15
    assert not (world.folder / "tasks.json").exists()
    task = world.stored.tasks[0]
    unfinished = world.path(task, task.tiles[0])
    unfinished.with_name(f".{unfinished.stem}.tmp").write_bytes(b"left by a killed process")
    (world.folder / ".tasks.json.0123456789ab.tmp").write_bytes(b"left by a killed process")
    report = world.run()
    assert (report.tiles, report.new) == (40, 40 - written)
    assert len(world.files()) == 40


def test_modification_times_are_restored(world):
    world.run()
    path = next((world.folder / "tiles").iterdir())
    os.utime(path)
    assert world.run().new == 0
    assert len({path.stat().st_mtime_ns for path in (world.folder / "tiles").iterdir()}) == 1


def test_a_failed_write_is_one_line_and_leaves_no_partial_tile(world, monkeypatch):
    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(WriteError, match=r"cannot write to .*\.jpg: the disk is full"):
        world.run()
    assert world.files() == {}


def test_two_exports_into_a_folder_at_once_are_refused(world):
    with locked_without_waiting(world.folder), pytest.raises(StoreError, match="is locked by another process"):
        world.run()


# Folders


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        ".hidden",
        ".notes.tmp",
        "tasks.csv",
        "tiles/.mine.tmp",
        "tiles/photo.jpg",
        "tiles/0123456789abcdef.jpg",
    ],
)
def test_a_folder_with_other_files_is_refused(world, name):
    path = world.folder / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(AlreadyStored) as raised:
        world.run()
    assert str(raised.value) == (
        f"{world.folder} contains {name}, which is not of an export of this build: choose another folder"
    )
    assert path.read_text() == "mine"
    assert [file for file in world.folder.rglob("*") if file.is_file()] == [path]


@pytest.mark.parametrize(
    "text", ["mine", "{}", "[]", "[1]", '[{"tiles": ["0123456789abcdef"]}]', '[{"tiles": 1}]', "[{}]"]
)
def test_another_tasks_json_is_not_overwritten(world, text):
    world.folder.mkdir()
    (world.folder / "tasks.json").write_text(text)
    with pytest.raises(AlreadyStored, match=r"contains tasks\.json, which is not of an export of this build"):
        world.run()
    assert (world.folder / "tasks.json").read_text() == text


def test_the_export_of_another_build_is_refused(world):
    world.run()
    before = world.files()
    pool, reference = (world.store.test_set(name) for name in ("pool", "reference"))
    add_build(world.store, pool, reference, TaskOptions(10, 2, 2, annotated_references=0, seed=1), name="b2")
    with pytest.raises(AlreadyStored, match="is not of an export of this build"):
        BUILD_EXPORT.run(world.store, ExportOptions("b2", world.folder))
    assert world.files() == before


def test_an_empty_folder_and_new_parents_are_accepted(world):
    world.folder.mkdir()
    assert world.run().tasks == 4
    assert BUILD_EXPORT.run(world.store, ExportOptions("b", world.folder / ".." / "x" / "y", 32)).tasks == 4


def test_a_file_in_place_of_the_folder_is_refused(world):
    world.folder.write_text("mine")
    with pytest.raises(InputError, match="is a file: name a folder for the export"):
        world.run()


# Images that cannot be read


def tile_with_role(task, role):
    return next(tile for tile in task.tiles if tile.role is role)


@pytest.mark.parametrize("role", [TileRole.CANDIDATE, TileRole.POSITIVE, TileRole.NEGATIVE])
@pytest.mark.parametrize(
    ("content", "reason"),
    [(HTML, "an HTML page, not an image"), (b"", "the file is empty"), (None, "No such file")],
)
def test_tasks_with_an_unreadable_image_are_left_out(world, role, content, reason):
    broken = tile_with_role(world.stored.tasks[1], role)
    path = world.original(broken)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    showing = {task.id for task in world.stored.tasks if broken.image in {tile.image for tile in task.tiles}}
    report = world.run()
    assert set(report.left_out) == showing
    assert [image for image, _ in report.unreadable] == [broken.image]
    assert {row["task"] for row in world.tasks()} == {task.id for task in world.stored.tasks} - showing
    assert not world.path(world.stored.tasks[1], broken).exists()
    assert all(TileFormat(32, 90).is_complete(tile) for tile in world.files().values())
    (note,) = report.table().notes
    assert note.startswith(f"1 image cannot be read: {broken.image} (")
    assert reason in note
    tasks = f"{len(showing)} task{'s' * (len(showing) > 1)} left out, with all their images"
    assert f"; {tasks}: {', '.join(report.left_out)}; repair or replace the images and export again" in note
    assert "\n" not in note


def test_many_unreadable_images_are_one_note_with_their_number(world):
    for tile in world.stored.tasks[0].tiles:
        world.original(tile).write_bytes(HTML)
    (note,) = world.run(tasks=[task.id for task in world.stored.tasks]).table().notes
    assert note.startswith("10 images cannot be read: ")
    assert note.count("an HTML page, not an image") == 3


def test_a_repaired_image_brings_its_tasks_back(world):
    broken = tile_with_role(world.stored.tasks[0], TileRole.CANDIDATE)
    content = world.original(broken).read_bytes()
    world.original(broken).write_bytes(HTML)
    assert world.run().tasks < 4
    world.original(broken).write_bytes(content)
    report = world.run()
    assert (report.tasks, report.new, report.left_out) == (4, 1, ())


def test_an_export_without_any_complete_task_raises(world):
    for path in (world.store.root.parent / "pool").iterdir():
        path.write_bytes(HTML)
    with pytest.raises(
        InputError, match=r"^no task can be exported: 24 images cannot be read: pool-000\.png \(an HTML page"
    ):
        world.run()
    assert not (world.folder / "tasks.json").exists()


# Unknown names and missing images


def test_an_unknown_build_is_named_with_its_neighbors(world):
    with pytest.raises(UnknownName, match="unknown build 'c'; there is b"):
        BUILD_EXPORT.run(world.store, ExportOptions("c", world.folder))
    assert not world.folder.exists()


def test_an_unknown_task_is_refused(world):
    with pytest.raises(UnknownName, match="unknown task of b 'nowhere'"):
        world.run(tasks=["nowhere"])
    assert not world.folder.exists()


@pytest.mark.parametrize(("option", "value"), [("size", 4), ("quality", 101)])
def test_formats_outside_the_limits_are_refused(world, option, value):
    with pytest.raises(InputError, match=f"of tiles must be from .* got {value}"):
        world.run(**{option: value})
    assert not world.folder.exists()


def test_a_test_set_without_images_is_refused_with_the_command(tmp_path):
    store = Store.create(tmp_path / "W")
    pool = add_test_set(store, "pool", [b""] * 24, suffix=".png", with_images=False)
    reference = add_test_set(store, "reference", [b""] * 16, suffix=".jpg", with_images=False)
    add_build(store, pool, reference, TaskOptions(10, 2, 2, annotated_references=0))
    with pytest.raises(InputError, match="test set pool has no images: regrade testsets add pool PATH"):
        BUILD_EXPORT.run(store, ExportOptions("b", tmp_path / "export"))
    assert not (tmp_path / "export").exists()


def test_images_that_were_moved_are_named_at_once(world):
    (world.store.root.parent / "reference").rename(world.store.root.parent / "elsewhere")
    with pytest.raises(
        ImageSourceError, match=r"the images of reference are no longer at .*reference: bring them back"
    ):
        world.run()
    assert not world.folder.exists()


def test_a_changed_test_set_is_refused(world, monkeypatch):
    changed = world.store.test_set("pool")
    renamed = TestSet("pool", SPACE, tuple(reversed(changed.ids)), changed.labels)
    original = Store.test_set
    monkeypatch.setattr(Store, "test_set", lambda self, name: renamed if name == "pool" else original(self, name))
    with pytest.raises(MismatchError, match="test set pool has changed since the tasks were made"):
        world.run()


def test_definitions_of_wordnet_classes_are_exported(world, monkeypatch):
    monkeypatch.setattr(export, "definition", {"n1": "barks"}.get)
    world.run()
    assert {(row["class"], row["definition"]) for row in world.tasks()} == {("dog", "barks"), ("cat", "")}
