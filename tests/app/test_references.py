"""Reference images of question pages: where they come from, and which images are never among them."""

import itertools

import numpy as np
import pytest
from PIL import Image

from regrade.ledger import Mode, NewItem, Question

_keys = itertools.count()
HOW = pytest.mark.parametrize(
    "how", [{"rename": "copy{}.bmp"}, {"shrink": True}], ids=["copy under another name", "other pixels, same id"]
)
THREE = 3


def of_class(workspace, test_set, label=THREE):
    return np.flatnonzero(workspace.store.test_set(test_set).labels == label).tolist()


def add_training_set(workspace, folder, *, copies=(), rename="{}", shrink=False, own=20):
    """Register a training set of ``own`` new images of class 3, and copies of images of ``digits`` that come first."""
    source = workspace.store.images.read(workspace.store.test_set("digits"))
    digits = workspace.store.test_set("digits")
    rng = np.random.default_rng(4)
    place = folder / "train" / str(THREE)
    place.mkdir(parents=True)
    for number in copies:
        image = Image.open(f"{source.root}/{source.locations[number]}").convert("RGB")
        path = folder / "train" / str(digits.labels[number]) / rename.format(digits.ids[number])
        path.parent.mkdir(exist_ok=True)
        (image.resize((4, 4)) if shrink else image).save(path)
    for number in range(own):
        Image.fromarray(rng.integers(256, size=(8, 8, 3), dtype=np.uint8)).save(place / f"own{number}.png")
    workspace.testsets.add("train", folder / "train", classes="digits")
    workspace.testsets.register_training_set("digits", "train")


def judged(workspace, *numbers):
    """A queue about whether images of ``digits`` show a 3."""
    queue = workspace.ledger.queues.create("judged", Question.JUDGE, test_set="digits", labels="multi", overlap=3)
    ids = workspace.store.test_set("digits").ids
    workspace.ledger.items.add(queue, [NewItem(ids[number], str(THREE)) for number in numbers])
    return queue


def labeled(workspace, numbers, *, mode, name="labeled", test_set="digits"):
    queue = workspace.ledger.queues.create(name, Question.LABEL, test_set=test_set, mode=mode, overlap=9)
    ids = workspace.store.test_set(test_set).ids
    workspace.ledger.items.add(queue, [NewItem(ids[number]) for number in numbers])
    return queue


def references(client, queue):
    """All reference images of class 3, by the page's request for more and with the item itself."""
    more = client.get(f"/api/queues/{queue.id}/references?class_id={THREE}").json()
    item = client.get(f"/api/queues/{queue.id}/next").json()["item"]
    assert set((item or {}).get("references", ())) <= set(more)
    return more


def shown_of(app, workspace, addresses, test_set):
    """The ids of the references that are images of a test set."""
    target, images = workspace.store.test_set(test_set), app.state.site.images
    of_set = {images.address(test_set, position): example for position, example in enumerate(target.ids)}
    return [of_set[address] for address in addresses if address in of_set]


class TestSource:
    def test_training_set_comes_first_and_then_other_test_sets(self, app, workspace, visitor, tmp_path):
        add_training_set(workspace, tmp_path)
        shown = references(visitor("Rita"), judged(workspace, 0))
        assert len(shown_of(app, workspace, shown[:20], "train")) == 20
        assert len(shown_of(app, workspace, shown[20:], "reference")) == len(of_class(workspace, "reference"))
        assert shown_of(app, workspace, shown, "digits") == []

    def test_own_images_serve_judging_if_no_other_set_has_any(self, app, workspace, visitor):
        workspace.testsets.remove("reference")
        threes = of_class(workspace, "digits")
        queue = judged(workspace, threes[0], threes[1])
        ids = workspace.store.test_set("digits").ids
        assert set(shown_of(app, workspace, references(visitor("Rita"), queue), "digits")) == {
            ids[number] for number in threes[2:]
        }

    def test_own_images_never_serve_labeling(self, workspace, visitor):
        workspace.testsets.remove("reference")
        queue = labeled(workspace, of_class(workspace, "digits")[:2], mode=Mode.TRAINING)
        assert references(visitor("Leo"), queue) == []

    def test_training_set_of_each_mixed_set_is_used(self, app, workspace, visitor, tmp_path):
        add_training_set(workspace, tmp_path)
        queue = workspace.ledger.queues.create("mixed", Question.LABEL, test_set="reference", mode=Mode.TRAINING)
        ids = workspace.store.test_set("digits").ids
        workspace.ledger.items.add(queue, [NewItem("0000.png"), NewItem(ids[0], "digits")])
        shown = references(visitor("Leo"), queue)
        assert len(shown_of(app, workspace, shown, "train")) == len(shown) == 20


class TestNever:
    """The training set contains copies of images of ``digits``, by content or by id."""

    @HOW
    @pytest.mark.parametrize("answered", [False, True])
    def test_image_itself_and_the_next_ones(self, app, workspace, visitor, tmp_path, how, answered):  # noqa: PLR0917
        threes = of_class(workspace, "digits")
        add_training_set(workspace, tmp_path, copies=threes[:3], **how)
        queue, rita = judged(workspace, *threes[:2]), visitor("Rita")
        if answered:
            item = rita.get(f"/api/queues/{queue.id}/next").json()["item"]["id"]
            rita.write(f"/api/queues/{queue.id}/votes", item=item, key=f"reference-{next(_keys)}", answer="correct")
        shown = shown_of(app, workspace, references(rita, queue), "train")
        assert len(shown) == 21
        third = workspace.store.test_set("digits").ids[threes[2]]
        assert [name for name in shown if not name.startswith("own")] == [how.get("rename", "{}").format(third)]

    @HOW
    def test_images_the_person_still_has_to_answer(self, app, workspace, visitor, tmp_path, how):
        threes = of_class(workspace, "digits")
        add_training_set(workspace, tmp_path, copies=threes[:3], **how)
        labeled(workspace, threes[:3], mode=Mode.TRAINING, name="still to label")
        workspace.ledger.queues.assign(
            workspace.ledger.queues.named("still to label"), [workspace.ledger.people.named("Rita")]
        )
        queue = judged(workspace, of_class(workspace, "digits", 4)[0])
        assert len(shown_of(app, workspace, references(visitor("Rita"), queue), "train")) == 20
        assert len(shown_of(app, workspace, references(visitor("Rob"), queue), "train")) == 23

    @HOW
    def test_images_of_an_examination_of_someone_else(self, app, workspace, visitor, tmp_path, how):
        threes = of_class(workspace, "digits")
        add_training_set(workspace, tmp_path, copies=threes[:3], **how)
        exam = labeled(workspace, threes[:2], mode=Mode.EXAMINATION, name="exam")
        workspace.ledger.queues.assign(exam, [workspace.ledger.people.named("Leo")])
        queue = judged(workspace, of_class(workspace, "digits", 4)[0])
        assert len(shown_of(app, workspace, references(visitor("Rita"), queue), "train")) == 21

    @HOW
    def test_images_of_an_examination_of_several_test_sets(self, app, workspace, visitor, tmp_path, how):
        threes = of_class(workspace, "digits")
        add_training_set(workspace, tmp_path, copies=threes[:3], **how)
        exam = workspace.ledger.queues.create("mixed", Question.LABEL, test_set="reference", overlap=9)
        ids = workspace.store.test_set("digits").ids
        workspace.ledger.items.add(exam, [NewItem("0000.png"), *(NewItem(ids[n], "digits") for n in threes[:2])])
        workspace.ledger.queues.assign(exam, [workspace.ledger.people.named("Leo")])
        queue = judged(workspace, of_class(workspace, "digits", 4)[0])
        shown = references(visitor("Rita"), queue)
        assert len(shown_of(app, workspace, shown, "train")) == len(shown) == 21

    def test_any_image_of_a_test_set_with_an_examination(self, app, workspace, visitor, tmp_path):
        add_training_set(workspace, tmp_path)
        labeled(workspace, [0], mode=Mode.EXAMINATION, name="exam", test_set="train")
        labeled(workspace, [0], mode=Mode.EXAMINATION, name="second exam", test_set="reference")
        queue = judged(workspace, of_class(workspace, "digits", 4)[0])
        shown = references(visitor("Rita"), queue)
        assert len(shown_of(app, workspace, shown, "digits")) == len(shown) == len(of_class(workspace, "digits"))
        labeled(workspace, [0], mode=Mode.EXAMINATION, name="third exam", test_set="digits")
        assert references(visitor("Rita"), queue) == []

    def test_own_images_to_answer_in_another_queue(self, workspace, visitor):
        workspace.testsets.remove("reference")
        labeled(workspace, of_class(workspace, "digits"), mode=Mode.TRAINING, name="still to label")
        queue = judged(workspace, of_class(workspace, "digits", 4)[0])
        assert references(visitor("Rita"), queue) == []
