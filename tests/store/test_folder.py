"""Everything that is stored is read unchanged."""

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
    NovelSample,
    StoreError,
    TestSet,
    UnknownName,
    Unlisted,
)
from regrade.formats import predictions_from_scores
from regrade.metrics import top_k_classes
from regrade.store import PredictionSource, Store
from regrade.workspace.prediction_imports import store_predictions

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


def frame_of(test_set: TestSet) -> NovelSample:
    return NovelSample(
        test_set.name, "judged@1", 3, np.array([3, 0, 4]), np.array([1, 2, 0]), np.array([0, 1, 1]),
        np.array([1, 2, 0]), np.array([0.5, 0.25, 1.0]), np.zeros(3, dtype=np.int8), "votes",
    )  # fmt: skip


class TestRoundTrip:
    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_test_set_with_its_own_class_space_round_trips(self, store, name):
        original = a_test_set(name)
        assert store.add_test_set(original).new == (name,)
        stored = Store.open(store.root).test_set(name)
        assert (stored.name, stored.ids, stored.groups) == (name, original.ids, original.groups)
        assert stored.labels.tolist() == original.labels.tolist()
        assert stored.digest == original.digest
        assert stored.class_space == SPACE
        assert (stored.class_space.groups, stored.class_space.collapsed) == (SPACE.groups, SPACE.collapsed)
        assert store.test_sets.names() == (name,)
        assert store.class_spaces.names()[-1] == "toys"

    @pytest.mark.parametrize("name", ODD_NAMES)
    @pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
    def test_predictions_with_all_scores_round_trip(self, store, name, kind):
        test_set = a_test_set(name)
        scores = np.random.default_rng(0).normal(size=(5, 3)).astype(kind)
        predictions = predictions_from_scores(scores, SPACE, name=name)
        store_predictions(store, test_set, {name: predictions}, space=SPACE, source=PredictionSource("f.npy", "abc"))
        stored = store.predictions.read(store.test_set(name), name)
        assert (stored.model, stored.test_set, stored.class_space) == (name, name, "toys")
        assert np.array_equal(stored.classes, top_k_classes(scores, k=3))
        assert np.array_equal(stored.scores, np.sort(scores, axis=1)[:, ::-1].astype(np.float32))
        assert np.array_equal(stored.full_scores, scores.astype(np.float16))
        assert store.predictions.model_names(name) == (name,)

    @pytest.mark.parametrize("name", [n for n in ODD_NAMES if "@" not in n])
    def test_labels_round_trip(self, store, name):
        test_set = a_test_set(name)
        store.add_test_set(test_set)
        original = labels_of(test_set, name=name)
        store.labels.add(original, test_set)
        stored = store.labels.read(test_set, name)
        assert stored.digest == original.digest
        assert (stored.full_name, stored.origin, stored.unlisted) == (f"{name}@1", original.origin, Unlisted.NOVEL)
        assert (stored.reasons, stored.covered.tolist()) == (original.reasons, original.covered.tolist())
        for classes in (np.zeros(5, int), np.ones(5, int), np.full(5, 2), np.array([-1, 0, 1, 2, 2])):
            assert stored.states_of(classes).tolist() == original.states_of(classes).tolist()

    def test_complete_labels_round_trip(self, store):
        test_set = a_test_set()
        store.add_test_set(test_set)
        store.labels.add(labels_of(test_set, unlisted=Unlisted.WRONG), test_set)
        assert store.labels.read(test_set, "judged").unlisted is Unlisted.WRONG

    def test_label_set_without_judgments_round_trips(self, store):
        """Images for which people could not name any class."""
        test_set = a_test_set()
        store.add_test_set(test_set)
        none = np.empty(0, dtype=np.int64)
        original = labels_of(test_set, examples=none, classes=none, states=none.astype(np.int8))
        store.labels.add(original, test_set)
        assert store.labels.read(test_set, "judged").digest == original.digest

    def test_review_round_trips(self, store):
        test_set = a_test_set()
        store.add_test_set(test_set)
        store.labels.add(labels_of(test_set), test_set)
        original = frame_of(test_set)
        store.reviews.add(original, test_set)
        stored = store.reviews.read(test_set, store.labels.read(test_set, "judged"))
        assert stored.digest == original.digest
        for part in ("examples", "classes", "strata", "turns", "proxy", "states"):
            assert np.array_equal(getattr(stored, part), getattr(original, part))
        assert stored.drawn == 0
        assert store.reviews.draw_more(stored, 2).drawn == 2
        again = store.reviews.read(test_set, store.labels.read(test_set, "judged"))
        assert again.given_out(0, again.drawn).tolist() == [2, 0]
        with pytest.raises(InputError, match="1 novel predictions are left to draw"):
            store.reviews.draw_more(again, 2)


class TestWriteOnce:
    def test_storing_again_is_idempotent(self, store):
        test_set = a_test_set()
        for expected in (("shelf",), ()):
            assert store.add_test_set(test_set).new == expected
        for expected in (("judged@1",), ()):
            assert store.labels.add(labels_of(test_set), test_set).new == expected
        for expected in (("judged@1",), ()):
            assert store.reviews.add(frame_of(test_set), test_set).new == expected

    def test_add_test_set_rejects_another_with_the_same_name(self, store):
        store.add_test_set(a_test_set())
        changed_set = a_test_set()
        changed_set.labels[0] = 2
        with pytest.raises(AlreadyStored, match="choose another name"):
            store.add_test_set(TestSet("shelf", SPACE, changed_set.ids, changed_set.labels, changed_set.groups))

    def test_add_class_space_rejects_another_with_the_same_name(self, store):
        store.class_spaces.add(SPACE, None)
        with pytest.raises(AlreadyStored, match="choose another name"):
            store.class_spaces.add(ClassSpace("toys", ("ball", "doll")), None)
        with pytest.raises(AlreadyStored, match="digits"):
            store.add_test_set(a_test_set(space=ClassSpace("digits", ("a", "b", "c"))))
        assert store.test_sets.names() == ()

    def test_readers_reject_another_version_of_the_test_set(self, store):
        test_set = a_test_set()
        store.add_test_set(test_set)
        store.labels.add(labels_of(test_set), test_set)
        store.reviews.add(frame_of(test_set), test_set)
        store_predictions(
            store,
            test_set,
            {"m": predictions_from_scores(np.eye(5, 3), SPACE, name="m")},
            space=SPACE,
            source=PredictionSource(),
        )
        changed_set = TestSet("shelf", SPACE, test_set.ids, np.zeros(5, dtype=np.int32))
        with pytest.raises(MismatchError, match="another version"):
            store.predictions.read(changed_set, "m")
        with pytest.raises(MismatchError, match="another version"):
            store.labels.read(changed_set, "judged")
        with pytest.raises(MismatchError, match="another version"):
            store.reviews.read(changed_set, labels_of(test_set))

    def test_class_space_rejects_an_edited_file(self, store):
        store.add_test_set(a_test_set())
        path = store.root / "classes" / "toys.json"
        for edited in (path.read_text().replace("doll", "bear"), "{"):
            path.write_text(edited)
            with pytest.raises(FormatError, match=r"toys\.json is damaged"):
                store.test_set("shelf")


class TestVersions:
    def test_label_set_defaults_to_the_newest_version(self, store):
        test_set = a_test_set()
        store.add_test_set(test_set)
        for version in (1, 2, 10):
            store.labels.add(labels_of(test_set, version=version, origin=f"v{version}"), test_set)
        assert store.labels.names("shelf") == ("judged@1", "judged@2", "judged@10")
        assert store.labels.newest_version("shelf", "judged") == 10
        assert store.labels.read(test_set, "judged").origin == "v10"
        assert store.labels.read(test_set, "judged@2").origin == "v2"
        with pytest.raises(UnknownName, match="did you mean judged"):
            store.labels.read(test_set, "judged@3")


def test_open_rejects_a_folder_without_workspace(tmp_path):
    with pytest.raises(StoreError, match="regrade init"):
        Store.open(tmp_path)


def test_built_in_class_spaces_are_not_stored(store):
    space = class_space("digits")
    store.add_test_set(TestSet("d", space, ("a",), np.array([3])))
    assert not (store.root / "classes").exists()
    assert store.test_set("d").class_space == space
