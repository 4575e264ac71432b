"""Content hashes of images: copies are recognized by their pixels, and the ledger stores the hashes."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from running import run_well

import regrade
from regrade.core import InputError
from regrade.ledger import NewItem, Question
from regrade.workspace.image_contents import ImageContents, fill_contents

CLASSES = ("cat", "dog")


def pixels(seed):
    return np.random.default_rng(seed).integers(256, size=(12, 10, 3), dtype=np.uint8)


def write_set(root, name, images, *, form="png"):
    """A folder of images from {file name: seed}; odd seeds are dogs."""
    for file, seed in images.items():
        folder = root / name / CLASSES[seed % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels(seed)).save(folder / f"{file}.{form}")
    return root / name


@pytest.fixture
def workspace(tmp_path):
    """A set of eight images, and a copy of six of them under other names and in another lossless format."""
    workspace = regrade.init(tmp_path / "W")
    first = write_set(tmp_path, "first", {f"image{n}": n for n in range(8)})
    copy = write_set(tmp_path, "copy", {f"copy{n}": n for n in range(6)}, form="bmp")
    workspace.testsets.add("first", first, classes="cifar-10")
    workspace.testsets.add("copy", copy, classes="cifar-10")
    yield workspace
    workspace.ledger.engine.dispose()


def contents_of(workspace, name):
    test_set = workspace.store.test_set(name)
    hashes = ImageContents(workspace.store, test_set).of(range(len(test_set)))
    return dict(zip(test_set.ids, hashes, strict=True))


def test_image_contents_depend_only_on_decoded_pixels(workspace):
    first, copy = contents_of(workspace, "first"), contents_of(workspace, "copy")
    assert len(set(first.values())) == 8
    assert {n: copy[f"copy{n}.bmp"] for n in range(6)} == {n: first[f"image{n}.png"] for n in range(6)}


def test_image_contents_are_read_once(workspace, tmp_path):
    contents = ImageContents(workspace.store, workspace.store.test_set("first"))
    before = contents.of([0, 1, 0])
    for path in (tmp_path / "first").rglob("*.png"):
        path.unlink()
    assert contents.of([1, 0, 5]) == [before[1], before[0], None]
    assert dict(contents.hashes) == {0: before[0], 1: before[1], 5: None}


def test_image_contents_come_from_stored_signatures(workspace, tmp_path):
    expected = contents_of(workspace, "first")
    workspace.study.leakage("first", by=["exact"])
    (tmp_path / "first").rename(tmp_path / "elsewhere")
    assert contents_of(workspace, "first") == expected


def test_image_contents_are_unknown_without_images(workspace, tmp_path):
    (tmp_path / "first").rename(tmp_path / "elsewhere")
    assert set(contents_of(workspace, "first").values()) == {None}


def test_fill_contents_completes_an_older_queue_and_shows_progress(workspace):
    ledger, seen = workspace.ledger, []
    queue = ledger.queues.create("old", Question.LABEL, test_set="first")
    ledger.items.add(queue, [NewItem("image3.png"), NewItem("image1.png", content="kept"), NewItem("gone.png")])

    def progress(images, total):
        for image in images:
            seen.append((image, total))
            yield image

    fill_contents(workspace.store, ledger, queue, progress=progress)
    expected = contents_of(workspace, "first")["image3.png"]
    assert [image.content for image in ledger.items.images(queue)] == [expected, "kept", None]
    assert seen == [("image3.png", 1)]


def test_fill_contents_completes_queues_of_every_question(workspace):
    ledger = workspace.ledger
    for question in (Question.JUDGE, Question.LABEL, Question.MISTAKE):
        ledger.items.add(
            ledger.queues.create(question.name, question, test_set="first"),
            [NewItem("image3.png", "" if question is Question.LABEL else "cat")],
        )
    workspace.review.fill_contents()
    contents = {image.content for queue in ledger.queues.all() for image in ledger.items.images(queue)}
    assert contents == {contents_of(workspace, "first")["image3.png"]}


def test_review_queue_stores_the_contents(workspace, tmp_path):
    names = [f"image{n}.png" for n in range(8)]
    (tmp_path / "predictions.csv").write_text("image,model\n" + "".join(f"{name},truck\n" for name in names))
    (tmp_path / "labels.csv").write_text("image,class\n" + "".join(f"{name},cat\n" for name in names))
    workspace.models.import_predictions(tmp_path / "predictions.csv", test_set="first")
    workspace.labels.import_file(tmp_path / "labels.csv", test_set="first", name="own")
    run_well("review", "queue", "-t", "first", "-l", "own", "-w", workspace.store.root)
    images = workspace.ledger.items.images(workspace.ledger.queues.named("novel first own"))
    expected = contents_of(workspace, "first")
    assert len(images) == 8
    assert [image.content for image in images] == [expected[image.example] for image in images]


def test_queue_labels_stores_the_contents(workspace):
    workspace.review.queue_labels("first", size=3)
    expected = contents_of(workspace, "first")
    images = workspace.ledger.items.images(workspace.ledger.queues.named("label first"))
    assert [image.content for image in images] == [expected[image.example] for image in images]


def test_queue_labels_notes_unreadable_images(workspace, tmp_path):
    assert not any("cannot be recognized" in note for note in workspace.review.queue_labels("first", size=2).notes)
    (tmp_path / "names.csv").write_text("image,class\na.png,cat\nb.png,dog\n")
    workspace.testsets.add("names", tmp_path / "names.csv", classes="cifar-10")
    done = workspace.review.queue_labels("names")
    assert "copies cannot be recognized of 2 images that cannot be read now" in done.notes


def test_queue_labels_excludes_copies_of_examined_images(workspace):
    workspace.review.queue_labels("first", size=8)
    with pytest.raises(InputError, match="0 images of copy can be drawn"):
        workspace.review.queue_labels("copy", mode="training")
    assert [queue.name for queue in workspace.ledger.queues.all()] == ["label first"]


def test_queue_labels_replaces_copies_by_further_draws(workspace):
    queue = workspace.ledger.queues.create("older", Question.LABEL, test_set="first")
    workspace.ledger.items.add(queue, [NewItem(f"image{n}.png") for n in range(4)])
    done = workspace.review.queue_labels("copy", size=2, mode="training", name="learn")
    assert {example for example, _ in workspace.ledger.items.pairs(workspace.ledger.queues.named("learn"))} == {
        "copy4.bmp", "copy5.bmp",
    }  # fmt: skip
    assert done.added == 2
    assert any("copies of what label queues ask about" in note for note in done.notes)
    with pytest.raises(InputError, match="can be drawn, got a size of 3"):
        workspace.review.queue_labels("copy", size=3, mode="training", name="more")


def test_queue_labels_excludes_examined_images_by_id(workspace, tmp_path):
    """A blurred copy has other pixels and the same ids."""
    for n in range(4):
        path = tmp_path / "blurred" / CLASSES[n % 2] / f"image{n}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.open(io.BytesIO((tmp_path / "first" / CLASSES[n % 2] / path.name).read_bytes())).resize((5, 5)).save(path)
    workspace.testsets.add("blurred", tmp_path / "blurred", classes="cifar-10")
    workspace.review.queue_labels("first", size=8)
    with pytest.raises(InputError, match="0 images of blurred can be drawn"):
        workspace.review.queue_labels("blurred", mode="training")


def test_image_contents_are_unknown_for_another_version_of_the_set(workspace):
    """The set was changed in place, so its registered images belong to another version."""
    test_set = workspace.store.test_set("first")
    changed = replace(test_set, labels=np.zeros_like(test_set.labels))
    assert ImageContents(workspace.store, changed).of([0, 1]) == [None, None]
