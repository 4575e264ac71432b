"""Everything that is stored comes back as it was."""

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import (
    AlreadyStored,
    ClassSpace,
    FormatError,
    InputError,
    LabelSet,
    LabelState,
    MismatchError,
    ReviewFrame,
    StoreError,
    TestSet,
    UnknownName,
    Unlisted,
)
from regrade.metrics import top_k_classes
from regrade.store import PredictionSource, Store, predictions_from_scores, store_predictions

SPACE = ClassSpace("toys", ("ball", "doll", "car"), groups={"soft": (0, 1)}, collapsed={0: (1,)})
ODD_NAMES = ["plain", "with/slash", "..", "a=b", "модель 🐈", "100% sure", "x@y"]


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.create(tmp_path / "W")


def a_test_set(name: str = "shelf", space: ClassSpace = SPACE) -> TestSet:
    labels = np.array([0, 1, -1, 2, 0], dtype=np.int32)
    ids = ("a", "b/c", "ö", "d e", "")
    return TestSet(
        name, space, ids, labels, {"region": ("n", "s", "n", "e", "s"), "in/come": ("1", "2", "3", "1", "1")}
    )


def labels_of(test_set: TestSet, **changes) -> LabelSet:
    parts = {
        "name": "judged",
        "version": 1,
        "test_set": test_set.name,
        "class_count": 3,
        "examples": np.array([4, 0, 0, 1]),
        "classes": np.array([2, 1, 0, 1]),
        "states": np.array(
            [LabelState.WRONG, LabelState.UNCLEAR, LabelState.CORRECT, LabelState.CORRECT], dtype=np.int8
        ),
        "covered": np.array([True, True, False, True, True]),
        "reasons": ("", "", "", "a drawing", ""),
        "unlisted": Unlisted.NOVEL,
        "origin": "plain: x.csv",
    }
    return LabelSet(**{**parts, **changes})


def frame_of(test_set: TestSet) -> ReviewFrame:
    return ReviewFrame(
        test_set.name, "judged@1", 3, np.array([3, 0, 4]), np.array([1, 2, 0]), np.array([0, 1, 1]),
        np.array([1, 2, 0]), np.array([0.5, 0.25, 1.0]), np.zeros(3, dtype=np.int8), "votes",
    )  # fmt: skip


class TestRoundTrips:
    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_a_test_set_with_its_own_class_space(self, store, name):
        given = a_test_set(name)
        assert store.add_test_set(given).new == (name,)
        found = Store.open(store.root).test_set(name)
        assert (found.name, found.ids, found.groups) == (name, given.ids, given.groups)
        assert found.labels.tolist() == given.labels.tolist()
        assert found.digest == given.digest
        assert found.class_space == SPACE
        assert (found.class_space.groups, found.class_space.collapsed) == (SPACE.groups, SPACE.collapsed)
        assert store.test_set_names() == (name,)
        assert store.class_space_names()[-1] == "toys"

    @pytest.mark.parametrize("name", ODD_NAMES)
    @pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
    def test_predictions_with_all_scores(self, store, name, kind):
        test_set = a_test_set(name)
        scores = np.random.default_rng(0).normal(size=(5, 3)).astype(kind)
        answers = predictions_from_scores(scores, SPACE, name=name)
        store_predictions(store, test_set, {name: answers}, space=SPACE, source=PredictionSource("f.npy", "abc"))
        found = store.predictions(store.test_set(name), name)
        assert (found.model, found.test_set, found.class_space) == (name, name, "toys")
        assert np.array_equal(found.classes, top_k_classes(scores, k=3))
        assert np.array_equal(found.scores, np.sort(scores, axis=1)[:, ::-1].astype(np.float32))
        assert np.array_equal(found.full_scores, scores.astype(np.float16))
        assert store.model_names(name) == (name,)

    @pytest.mark.parametrize("name", [n for n in ODD_NAMES if "@" not in n])
    def test_labels(self, store, name):
        test_set = a_test_set(name)
        store.add_test_set(test_set)
        given = labels_of(test_set, name=name)
        store.add_label_set(given, test_set)
        found = store.label_set(test_set, name)
        assert found.digest == given.digest
        assert (found.full_name, found.origin, found.unlisted) == (f"{name}@1", given.origin, Unlisted.NOVEL)
        assert (found.reasons, found.covered.tolist()) == (given.reasons, given.covered.tolist())
        for classes in (np.zeros(5, int), np.ones(5, int), np.full(5, 2), np.array([-1, 0, 1, 2, 2])):
            assert found.states_of(classes).tolist() == given.states_of(classes).tolist()

    def test_complete_labels(self, store):
        test_set = a_test_set()
        store.add_test_set(test_set)
        store.add_label_set(labels_of(test_set, unlisted=Unlisted.WRONG), test_set)
        assert store.label_set(test_set, "judged").unlisted is Unlisted.WRONG

    def test_a_label_set_without_any_judgment(self, store):
        """Images that were shown to people who could not name anything in them."""
        test_set = a_test_set()
        store.add_test_set(test_set)
        none = np.empty(0, dtype=np.int64)
        given = labels_of(test_set, examples=none, classes=none, states=none.astype(np.int8))
        store.add_label_set(given, test_set)
        assert store.label_set(test_set, "judged").digest == given.digest

    def test_a_review(self, store):
        test_set = a_test_set()
        store.add_test_set(test_set)
        store.add_label_set(labels_of(test_set), test_set)
        given = frame_of(test_set)
        store.add_review(given, test_set)
        found = store.review(test_set, store.label_set(test_set, "judged"))
        assert found.digest == given.digest
        for part in ("examples", "classes", "strata", "turns", "proxy", "states"):
            assert np.array_equal(getattr(found, part), getattr(given, part))
        assert found.drawn == 0
        assert store.draw_more(found, 2).drawn == 2
        again = store.review(test_set, store.label_set(test_set, "judged"))
        assert again.given_out(0, again.drawn).tolist() == [2, 0]
        with pytest.raises(InputError, match="1 novel predictions are left to draw"):
            store.draw_more(again, 2)


class TestWriteOnce:
    def test_the_same_again_is_no_change(self, store):
        test_set = a_test_set()
        for expected in (("shelf",), ()):
            assert store.add_test_set(test_set).new == expected
        for expected in (("judged@1",), ()):
            assert store.add_label_set(labels_of(test_set), test_set).new == expected
        for expected in (("judged@1",), ()):
            assert store.add_review(frame_of(test_set), test_set).new == expected

    def test_another_test_set_under_the_same_name(self, store):
        store.add_test_set(a_test_set())
        other = a_test_set()
        other.labels[0] = 2
        with pytest.raises(AlreadyStored, match="choose another name"):
            store.add_test_set(TestSet("shelf", SPACE, other.ids, other.labels, other.groups))

    def test_another_class_space_under_the_same_name(self, store):
        store.add_class_space(SPACE)
        with pytest.raises(AlreadyStored, match="choose another name"):
            store.add_class_space(ClassSpace("toys", ("ball", "doll")))
        with pytest.raises(AlreadyStored, match="digits"):
            store.add_test_set(a_test_set(space=ClassSpace("digits", ("a", "b", "c"))))
        assert store.test_set_names() == ()

    def test_what_belongs_to_another_version_of_a_test_set_is_not_read(self, store):
        test_set = a_test_set()
        store.add_test_set(test_set)
        store.add_label_set(labels_of(test_set), test_set)
        store.add_review(frame_of(test_set), test_set)
        store_predictions(
            store,
            test_set,
            {"m": predictions_from_scores(np.eye(5, 3), SPACE, name="m")},
            space=SPACE,
            source=PredictionSource(),
        )
        other = TestSet("shelf", SPACE, test_set.ids, np.zeros(5, dtype=np.int32))
        with pytest.raises(MismatchError, match="another version"):
            store.predictions(other, "m")
        with pytest.raises(MismatchError, match="another version"):
            store.label_set(other, "judged")
        with pytest.raises(MismatchError, match="another version"):
            store.review(other, labels_of(test_set))

    def test_a_class_space_that_was_edited_by_hand(self, store):
        store.add_test_set(a_test_set())
        path = store.root / "classes" / "toys.json"
        for edited in (path.read_text().replace("doll", "bear"), "{"):
            path.write_text(edited)
            with pytest.raises(FormatError, match=r"toys\.json is damaged"):
                store.test_set("shelf")


class TestVersions:
    def test_the_newest_is_meant_unless_one_is_named(self, store):
        test_set = a_test_set()
        store.add_test_set(test_set)
        for version in (1, 2, 10):
            store.add_label_set(labels_of(test_set, version=version, origin=f"v{version}"), test_set)
        assert store.label_set_names("shelf") == ("judged@1", "judged@2", "judged@10")
        assert store.newest_version("shelf", "judged") == 10
        assert store.label_set(test_set, "judged").origin == "v10"
        assert store.label_set(test_set, "judged@2").origin == "v2"
        with pytest.raises(UnknownName, match="did you mean judged"):
            store.label_set(test_set, "judged@3")


def test_a_folder_that_is_no_workspace(tmp_path):
    with pytest.raises(StoreError, match="regrade init"):
        Store.open(tmp_path)


def test_built_in_class_spaces_are_not_stored(store):
    space = class_space("digits")
    store.add_test_set(TestSet("d", space, ("a",), np.array([3])))
    assert not (store.root / "classes").exists()
    assert store.test_set("d").class_space == space
