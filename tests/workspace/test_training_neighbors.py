"""The nearest training images: found, marked, stored, replaced, and kept or removed with what they follow from."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from neighbor_world import add_embeddings, make_world
from running import assert_one_line, run, run_well, snapshot

import regrade
from regrade.core import ClassSpace, InputError, MismatchError, PairDecision, PairSide
from regrade.core.panel import PairRelation
from regrade.core.training_neighbors import Duplicate
from regrade.store import DecisionBatch, Store
from regrade.studies.neighbors.study import stored_neighbors
from regrade.workspace import Workspace

NONE, NEAR, EXACT = Duplicate.NONE, Duplicate.NEAR, Duplicate.EXACT


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("neighbors")
    make_world(folder)
    return folder


@pytest.fixture
def workspace(template, tmp_path) -> Workspace:
    shutil.copytree(template, tmp_path / "world")
    return regrade.open(tmp_path / "world" / "W")


def nearest_of(workspace: Workspace, image: str, count: int = 5) -> list[tuple[str, Duplicate]]:
    """The nearest training images of an image by their names, with their marks."""
    test_set = workspace.store.test_set("val")
    training_set, neighbors = stored_neighbors(workspace.store, test_set)
    row = next(place for place, name in enumerate(test_set.ids) if Path(name).stem == image)
    names = [Path(training_set.ids[position]).stem for position in neighbors.positions[row, :count]]
    return list(zip(names, map(Duplicate, neighbors.duplicates[row, :count].tolist()), strict=True))


def test_neighbors_are_sorted_by_angle_and_duplicates_confirmed_by_pixels(workspace):
    result = workspace.neighbors("val", against="train", most=3)
    assert (result.exact, result.near, result.images, result.training_images, result.new) == (1, 1, 4, 5, True)
    assert nearest_of(workspace, "copied", 3) == [("copied", EXACT), ("similar", NONE), ("second", NONE)]
    assert nearest_of(workspace, "encoded", 2) == [("encoded", NEAR), ("similar", NONE)]
    assert nearest_of(workspace, "similar", 1) == [("similar", NONE)]  # the same embedding, other pixels
    assert nearest_of(workspace, "distant", 1) == [("first", NONE)]
    assert result.same_label.n == 4 and result.same_label.value == 0.5  # copied and similar


def test_distances_equal_one_minus_the_cosine(workspace):
    workspace.neighbors("val", against="train", most=5)
    store = workspace.store
    sets = store.test_set("val"), store.test_set("train")
    own, training = (np.asarray(store.predictions.read(each, "seer").features, dtype=float) for each in sets)
    cosines = (own @ training.T) / np.outer(np.linalg.norm(own, axis=1), np.linalg.norm(training, axis=1))
    neighbors = store.training_neighbors.read(sets, "seer")
    np.testing.assert_allclose(neighbors.distances, np.sort(1 - cosines, axis=1), atol=1e-12)
    np.testing.assert_array_equal(neighbors.positions[:, 0], cosines.argmax(axis=1))


def test_fewer_training_images_and_unusable_embeddings_leave_gaps(workspace):
    store = workspace.store
    embeddings = np.ones((4, 2))
    embeddings[1] = 0
    embeddings[2] = np.nan
    add_embeddings(workspace, "val", "blind", embeddings)
    add_embeddings(workspace, "train", "blind", np.eye(2)[[0, 0, 0, 1, 1]])
    result = workspace.neighbors("val", against="train", model="blind", most=7)
    assert result.without_embeddings == 2 and len(result.rows) == 2
    neighbors = store.training_neighbors.read((store.test_set("val"), store.test_set("train")), "blind")
    assert neighbors.positions.shape == (4, 7)
    assert (neighbors.positions == -1).sum(axis=1).tolist() == [2, 7, 7, 2]
    assert np.isnan(neighbors.distances[1:3]).all()


def test_same_search_reads_what_is_stored_and_another_one_replaces_it(workspace):
    first = workspace.neighbors("val", against="train")
    before = snapshot(workspace.store.root)
    again = workspace.neighbors("val", against="train")
    assert (first.new, again.new) == (True, False)
    assert {**first.as_dict(), "new": False} == again.as_dict()
    assert snapshot(workspace.store.root) == before
    assert workspace.neighbors("val", against="train", most=2).new
    assert len(nearest_of(workspace, "copied")) == 2
    assert workspace.verify().problems == ()


def test_threshold_limits_which_pairs_are_compared_by_pixels(workspace):
    result = workspace.neighbors("val", against="train", near={"features": 1e-6})
    assert (result.exact, result.near, result.threshold) == (1, 0, 1e-6)  # (0, 4) and (0.125, 4) are 0.0005 apart


def test_decisions_of_people_count_more_than_pixels(workspace):
    workspace.neighbors("val", against="train")
    store = workspace.store
    sets = store.test_set("val"), store.test_set("train")
    ids = [{Path(image).stem: image for image in each.ids} for each in sets]

    def decided(image: str, relation: PairRelation) -> PairDecision:
        first, second = PairSide("val", ids[0][image]), PairSide("train", ids[1][image])
        return PairDecision(second, first, relation, "q", "2026-01-01")

    decisions = [decided("encoded", PairRelation.DIFFERENT), decided("similar", PairRelation.DUPLICATE)]
    store.pair_decisions.append(DecisionBatch("val", sets[0].digest, "q", tuple(decisions)))
    assert nearest_of(workspace, "encoded", 1) == [("encoded", NONE)]
    assert nearest_of(workspace, "similar", 1) == [("similar", NEAR)]
    assert nearest_of(workspace, "copied", 1) == [("copied", EXACT)]


def test_registered_training_set_is_the_default(workspace):
    with pytest.raises(InputError, match="val has no training set: give --against NAME"):
        workspace.neighbors("val")
    workspace.testsets.register_training_set("val", "train")
    assert workspace.neighbors("val").training_set == "train"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("name a folder of images, or the test set", "-t NAME")),
        (("-t", "val", "--against", "nope"), ("unknown test set", "nope")),
        (("-t", "val", "--against", "val"), ("val cannot be its own training set",)),
        (("-t", "val", "--against", "birds"), ("birds has the classes of birds, but val those of pets",)),
        (("-t", "val", "--against", "bare"), ("no image of bare has a label",)),
        (("-t", "val", "--against", "train", "--model", "nobody"), ("unknown model on val", "nobody", "seer")),
        (("-t", "val", "--against", "train", "--model", "plain"), ("no embeddings of plain on val", "--keep features")),
        (("-t", "val", "--against", "train", "--most", "0"), ("at least 1, got 0",)),
        (("-t", "val", "--against", "train", "--near", "phash=6"), ("compared by features", "not phash")),
        (("-t", "val", "--against", "train", "--near", "features=-1"), ("must be a number >= 0",)),
        (("-t", "val", "--against", "train", "--by", "exact"), ("--by is an option for folders of images",)),
        (("folder", "-t", "val"), ("either folders of images, or a test set",)),
        (("folder", "--against", "train"), ("--against needs a test set",)),
        (("-t", "other", "--against", "train"), ("no model has embeddings of both other and train", "regrade predict")),
        (
            ("-t", "bare", "--against", "other"),
            ("both bare and other", "predict MODEL -t bare -t other --keep features"),
        ),
        (("-t", "twice", "--against", "train"), ("several models have embeddings of both sets", "seer, two")),
    ],
)
def test_invalid_search_is_one_line_and_stores_nothing(workspace, template, arguments, words):
    workspace.models.add_predictions("plain", np.eye(3)[[0, 0, 1, 2]], test_set="val")
    workspace.testsets.add("birds", template / "val", classes=ClassSpace("birds", ("cat", "dog", "cup")))
    for name in ("other", "twice"):
        workspace.testsets.add(name, template / "val", classes=ClassSpace("pets", ("cat", "dog", "cup")))
    (template / "flat").mkdir(exist_ok=True)
    shutil.copy(next((template / "val").rglob("*.png")), template / "flat" / "a.png")
    workspace.testsets.add("bare", template / "flat", classes=ClassSpace("pets", ("cat", "dog", "cup")), layout="flat")
    add_embeddings(workspace, "twice", "seer", np.eye(2)[[0, 0, 1, 1]])
    for name, rows in (("twice", 4), ("train", 5)):
        add_embeddings(workspace, name, "two", np.ones((rows, 2)))
    if arguments[:2] == ("-t", "val") and "--model" not in arguments:
        arguments = (*arguments, "--model", "seer")
    before = snapshot(workspace.store.root)
    assert_one_line(run("neighbors", *arguments, "-w", workspace.store.root), *words)
    assert snapshot(workspace.store.root) == before


def test_folders_are_searched_whatever_the_workspace(template, monkeypatch):
    monkeypatch.setenv("REGRADE_WORKSPACE", "anywhere")
    assert "copied" in run_well("neighbors", template / "val", template / "train", "--by", "exact").out


def test_models_of_different_width_are_refused(workspace):
    add_embeddings(workspace, "val", "wide", np.ones((4, 3)))
    add_embeddings(workspace, "train", "wide", np.ones((5, 2)))
    with pytest.raises(InputError, match="must be rows of equal length"):
        workspace.neighbors("val", against="train", model="wide")


def sets_of(store: Store):
    return store.test_set("val"), store.test_set("train")


def test_outdated_neighbors_are_refused_with_the_command(workspace):
    workspace.neighbors("val", against="train")
    store = workspace.store
    add_embeddings(workspace, "train", "seer", np.eye(2)[[0, 0, 1, 1, 1]])
    with pytest.raises(MismatchError, match=r"embeddings of seer changed since .* run regrade neighbors -t val"):
        store.training_neighbors.read(sets_of(store), "seer")
    assert workspace.neighbors("val", against="train").new
    store.training_neighbors.read(sets_of(store), "seer")
    workspace.models.remove("seer", test_set="train")
    with pytest.raises(InputError, match="no nearest training images of val are stored: run regrade neighbors -t val"):
        stored_neighbors(store, store.test_set("val"))


def test_changed_training_set_is_named(workspace):
    workspace.neighbors("val", against="train")
    path = workspace.store.training_neighbors.path("val", "train", "seer")
    kept = path.read_bytes()
    workspace.testsets.remove("train")
    assert not path.exists()
    first = next(iter(sorted((workspace.store.root.parent / "train").rglob("*.png"))))
    first.unlink()
    workspace.testsets.add(
        "train", workspace.store.root.parent / "train", classes=ClassSpace("pets", ("cat", "dog", "cup"))
    )
    add_embeddings(workspace, "train", "seer", np.ones((4, 2)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(kept)  # as in a copy of another workspace
    with pytest.raises(MismatchError, match="training set train and the embeddings of seer changed"):
        workspace.store.training_neighbors.read(sets_of(workspace.store), "seer")


def test_renaming_keeps_neighbors_and_restores_every_file(workspace):
    workspace.neighbors("val", against="train")
    before = snapshot(workspace.store.root)
    for old, new in (("val", "exam/set"), ("train", "all photos")):
        workspace.testsets.rename(old, new)
    workspace.models.rename("seer", "a new: name")
    assert workspace.verify().problems == ()
    assert workspace.store.training_neighbors.searches("exam/set") == (("all photos", "a new: name"),)
    renamed = workspace.store
    sets = renamed.test_set("exam/set"), renamed.test_set("all photos")
    assert renamed.training_neighbors.read(sets, "a new: name").question.training_set == "all photos"
    assert not workspace.neighbors("exam/set", against="all photos").new
    workspace.models.rename("a new: name", "seer")
    for old, new in (("val", "exam/set"), ("train", "all photos")):
        workspace.testsets.rename(new, old)
    assert snapshot(workspace.store.root) == before


@pytest.mark.parametrize(
    "remove",
    [
        lambda ws: ws.testsets.remove("val"),
        lambda ws: ws.testsets.remove("train"),
        lambda ws: ws.models.remove("seer"),
        lambda ws: ws.models.remove("seer", test_set="train"),
    ],
)
def test_removal_takes_neighbors_along_and_restores_them(workspace, remove):
    workspace.neighbors("val", against="train")
    before = snapshot(workspace.store.root)
    removal = remove(workspace)
    assert workspace.store.training_neighbors.searches("val") == ()
    assert workspace.verify().problems == ()
    workspace.removed.restore(removal.number)
    assert {name: text for name, text in snapshot(workspace.store.root).items() if ".removed" not in name} == before
    assert workspace.verify().problems == ()


def test_verify_finds_damaged_and_missing_neighbors(workspace):
    workspace.neighbors("val", against="train")
    path = workspace.store.training_neighbors.path("val", "train", "seer")
    path.write_bytes(path.read_bytes()[:-20] + b"x" * 20)
    assert [problem.subject for problem in workspace.verify().problems] == ["nearest/val/train/seer.parquet"]
    path.unlink()
    problems = workspace.verify().problems
    assert [problem.subject for problem in problems] == ["nearest/val/train/seer.parquet"]
    with pytest.raises(InputError, match="no nearest training images"):
        stored_neighbors(workspace.store, workspace.store.test_set("val"))


def test_command_prints_a_table_and_json(workspace):
    root = workspace.store.root
    printed = run_well("neighbors", "-t", "val", "--against", "train", "-w", root)
    assert "nearest training image" in printed.out
    assert "1 image with equal pixels, 1 with a near duplicate" in printed.out
    data = json.loads(run_well("neighbors", "-t", "val", "--against", "train", "--json", "-w", root).out)
    assert (data["exact"], data["near"], data["new"], len(data["rows"])) == (1, 1, False, 4)


def test_sets_without_images_have_neighbors_without_marks(workspace, tmp_path):
    store = workspace.store
    for name in ("val", "train"):
        target = store.test_set(name)
        rows = "".join(
            f"{i},{target.class_space.ids[label]}\n" for i, label in zip(target.ids, target.labels, strict=True)
        )
        (tmp_path / f"{name}.csv").write_text(f"image,class\n{rows}")
    bare = regrade.init(tmp_path / "bare")
    for name in ("val", "train"):
        bare.store.add_test_set(store.test_set(name))
        features = np.asarray(store.predictions.read(store.test_set(name), "seer").features)
        add_embeddings(bare, name, "seer", features)
    result = bare.neighbors("val", against="train")
    assert (result.exact, result.near) == (None, None)
    assert "not searched for" in result.table().notes[1]


@pytest.fixture
def mistaken(workspace, tmp_path):
    """``seer`` predicts cup for every image of ``val``, and people call its mistake on ``distant`` spurious."""
    target = workspace.store.test_set("val")
    ids = {Path(image).stem: image for image in target.ids}
    rows = "".join(
        f"{image},{target.class_space.ids[label]}\n" for image, label in zip(ids.values(), target.labels, strict=True)
    )
    (tmp_path / "labels.csv").write_text(f"image,class\n{rows}")
    workspace.labels.import_file(tmp_path / "labels.csv", test_set="val", name="own", complete=True)
    workspace.models.add_predictions("cups", np.eye(3)[[2, 2, 2, 2]] + 0.01, test_set="val")
    (tmp_path / "mistakes.csv").write_text(
        f"image,prediction,category,severity\n{ids['copied']},cup,spurious correlation,minor\n"
        f"{ids['distant']},cup,spurious correlation,major\n{ids['encoded']},cup,fine-grained,major\n"
    )
    run_well(
        "import", "mistakes", tmp_path / "mistakes.csv", "-t", "val", "--model", "cups", "-w", workspace.store.root
    )
    return workspace


def test_study_explains_spurious_mistakes_by_stored_neighbors(mistaken):
    mistaken.neighbors("val", against="train", most=3)
    result = mistaken.study.mistakes("val", labels="own", models=["cups"], training_set="train").explanations
    (row,) = result.models
    # copied (4, 0) is near to copied, similar (a cup) and second; distant (-4, 1) to first, encoded and similar.
    assert {Path(m.image).stem: [Path(i.image).stem for i in m.training_images] for m in result.mistakes} == {
        "copied": ["similar"], "distant": ["similar"],
    }  # fmt: skip
    assert (row.by, row.embeddings, row.mistakes, row.share.value) == ("people", "seer", 2, 1.0)
    assert (row.compared, row.base) == (0, None)  # no other cat is right
    assert row.correct.n == 1  # similar, a cup


def test_study_uses_the_registered_training_set_and_says_if_its_neighbors_are_outdated(mistaken):
    root = mistaken.store.root
    study = ("study", "mistakes", "-t", "val", "-l", "own", "-w", root)
    assert_one_line(run(*study, "--show", "explanations"), "nothing to show as explanations", "regrade neighbors -t")
    mistaken.testsets.register_training_set("val", "train")
    plain = json.loads(run_well(*study, "--json").out)
    assert "explanations" not in plain
    mistaken.neighbors("val")
    explained = json.loads(run_well(*study, "--json").out)
    assert explained.pop("explanations")["training_set"] == "train"
    assert explained == plain
    assert "training images of train near spurious mistakes" in run_well(*study, "--show", "explanations").out
    add_embeddings(mistaken, "train", "seer", np.eye(2)[[0, 0, 1, 1, 1]])
    outdated = json.loads(run_well(*study, "--json").out)
    assert "explanations" not in outdated
    assert any("spurious mistakes are not explained" in note for note in outdated["notes"])
    assert_one_line(run(*study, "--training-set", "train"), "outdated", "run regrade neighbors -t val")


@pytest.mark.parametrize(
    ("training_set", "words"),
    [("nope", ("unknown test set 'nope'",)), ("train", ("no nearest images of val in train", "run regrade neighbors"))],
)
def test_study_names_what_is_missing(mistaken, training_set, words):
    study = ("study", "mistakes", "-t", "val", "-l", "own", "-w", mistaken.store.root)
    assert_one_line(run(*study, "--training-set", training_set), *words)
