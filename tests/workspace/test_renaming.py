"""Renaming models and test sets: every file follows, results stay the same, and renaming back restores all of them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from running import run_well, snapshot

import regrade
from benchmarks.fault_world import add_published_queues, make_every_file, read_every_file
from benchmarks.kills import run_killed
from regrade.build.files import BuildTasks, TaskCollection
from regrade.build.tasks import TaskOptions
from regrade.core import AlreadyStored, InputError, StoreError
from regrade.store import Store
from regrade.workspace import Workspace

SPECIAL = "a new/name: ü"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with every kind of stored file, statements about models and slices that a model has chosen."""
    folder = tmp_path_factory.mktemp("renaming")
    workspace = make_every_file(folder)
    (folder / "models.csv").write_text("model,family,base_model\nfirst,net,third\nsecond,net,first\n")
    workspace.models.describe(folder / "models.csv")
    workspace.testsets.keep_hard_set(workspace.study.confusion("shelf", ensembles=["net"], hardest=5), "hard")
    workspace.study.leakage("shelf")
    return folder / "W"


@pytest.fixture
def workspace(template, tmp_path) -> Workspace:
    return regrade.open(shutil.copytree(template, tmp_path / "W"))


RENAMINGS = {
    "a model": (
        lambda ws: ws.models.rename("first", SPECIAL),
        lambda ws: ws.models.rename(SPECIAL, "first"),
    ),
    "a model on one test set": (
        lambda ws: ws.models.rename("first", SPECIAL, test_set="shelf"),
        lambda ws: ws.models.rename(SPECIAL, "first", test_set="shelf"),
    ),
    "a person": (
        lambda ws: ws.models.rename("person:Ada", "person:Bea"),
        lambda ws: ws.models.rename("person:Bea", "person:Ada"),
    ),
    "a test set": (
        lambda ws: ws.testsets.rename("shelf", SPECIAL),
        lambda ws: ws.testsets.rename(SPECIAL, "shelf"),
    ),
    "labels": (
        lambda ws: ws.labels.rename("own", SPECIAL, test_set="shelf"),
        lambda ws: ws.labels.rename(SPECIAL, "own", test_set="shelf"),
    ),
    "a mapped test set": (
        lambda ws: ws.testsets.rename("house", "house 2"),
        lambda ws: ws.testsets.rename("house 2", "house"),
    ),
}


@pytest.mark.parametrize("what", RENAMINGS)
def test_renaming_there_and_back_restores_every_file(workspace, what):
    rename, back = RENAMINGS[what]
    before, read_before = snapshot(workspace.store.root), read_every_file(workspace.store)
    renamed = rename(workspace)
    assert workspace.verify().problems == ()
    after = snapshot(workspace.store.root)
    assert len(after) == len(before) and after.keys() != before.keys()
    back(workspace)
    assert workspace.verify().problems == ()
    assert read_every_file(workspace.store) == read_before
    assert without_lists(snapshot(workspace.store.root)) == without_lists(before)
    assert renamed.new in (SPECIAL, "person:Bea", "house 2")


def without_lists(files: dict[str, str]) -> dict[str, str]:
    """All files except tables with lists, whose bytes depend on the spelling of the name of a list's items."""
    return {name: text for name, text in files.items() if not name.startswith(("labels", "contents"))}


def results(root: Path, test_set: str, *names: tuple[str, str]) -> list[object]:
    """Grade, compare and the study of confusion as JSON, with names replaced."""
    commands = (
        ("grade", "-t", test_set, "--labels", "own"),
        ("compare", "-t", test_set),
        ("study", "confusion", "-t", test_set),
        ("labels", "list"),
        ("models", "list"),
    )
    texts = [run_well(*command, "--json", "-w", root).out for command in commands]
    for new, old in names:
        texts = [text.replace(json.dumps(new)[1:-1], old) for text in texts]
    return [json.loads(text) for text in texts]


def test_renamed_test_set_has_the_same_results(workspace):
    root = workspace.store.root
    before = results(root, "shelf")
    digest = workspace.store.test_set("shelf").digest
    workspace.testsets.rename("shelf", "other set")
    assert workspace.store.test_set("other set").digest == digest
    assert results(root, "other set", ("other set", "shelf")) == before
    assert not [path for path in root.rglob("shelf*") if not path.is_relative_to(root / "reports")]
    reviewed = workspace.labels.drawn_sample("other set", labels="own").frame
    assert int(reviewed.judged.sum()) == 6  # decisions on the sample were kept
    searches = workspace.store.pair_searches.read("other set")
    assert all("shelf" not in (search.test_set, search.against) for search in searches)


def test_renamed_model_has_the_same_results_and_all_that_is_stated(workspace):
    root = workspace.store.root
    before = results(root, "shelf")
    workspace.models.rename("first", "fir-st")
    assert results(root, "shelf", ("fir-st", "first")) == before
    described = workspace.store.described_models.read()
    assert (described.of("fir-st").base_model, described.of("second").base_model) == ("third", "fir-st")
    assert workspace.store.mistakes.names("shelf") == ("fir-st",)


def test_renamed_labels_keep_their_decisions(workspace):
    before = json.dumps(workspace.grade("shelf", labels="own").as_dict())
    workspace.labels.rename("own", "zzown", test_set="shelf")
    after = json.dumps(workspace.grade("shelf", labels="zzown").as_dict())
    assert "zzown" in after and after.replace("zzown", "own") == before
    assert int(workspace.labels.drawn_sample("shelf", labels="zzown").frame.judged.sum()) == 6


def test_slices_remember_that_a_renamed_model_chose_them(workspace):
    store = workspace.store
    hard = store.slices.read(store.test_set("shelf"), "hard")
    chooser = hard.chosen_by[0]
    if not store.predictions.has("shelf", chooser):
        workspace.models.add_predictions(chooser, np.eye(5)[np.arange(40) % 5], test_set="shelf")
    workspace.models.rename(chooser, "renamed")
    assert store.slices.read(store.test_set("shelf"), "hard").chosen_by == ("renamed", *hard.chosen_by[1:])
    assert workspace.verify().problems == ()


@pytest.mark.parametrize(
    ("rename", "kind", "message"),
    [
        (lambda ws: ws.models.rename("first", "second"), AlreadyStored, "predictions of 'second' on shelf are stored"),
        (lambda ws: ws.models.rename("first", "SECOND"), InputError, "differ only in case"),
        (lambda ws: ws.models.rename("first", "first"), InputError, "the new name is the old one"),
        (lambda ws: ws.models.rename("first", " "), InputError, "must not be empty"),
        (lambda ws: ws.models.rename("frist", "x"), InputError, r"'frist'; did you mean first\?"),
        (lambda ws: ws.models.rename("first", "person:x"), InputError, "begins the names of people"),
        (lambda ws: ws.models.rename("second", "first2", test_set="house"), InputError, "unknown model on house"),
        (lambda ws: ws.testsets.rename("shelf", "house"), AlreadyStored, "choose another name"),
        (lambda ws: ws.testsets.rename("shelf", "HOUSE"), InputError, "differ only in case"),
        (lambda ws: ws.testsets.rename("shell", "x"), InputError, r"did you mean shelf\?"),
        (lambda ws: ws.labels.rename("own@1", "x", test_set="shelf"), InputError, "names without a version"),
        (lambda ws: ws.labels.rename("owm", "x", test_set="shelf"), InputError, "unknown label set of shelf 'owm'"),
    ],
)
def test_renaming_refuses_names(workspace, rename, kind, message):
    before = snapshot(workspace.store.root)
    with pytest.raises(kind, match=message):
        rename(workspace)
    assert snapshot(workspace.store.root) == before


def test_what_the_ledger_or_a_build_refers_to_is_not_renamed(workspace, template):
    folder = workspace.store.root.parent
    shutil.copy(template.parent / "labels.csv", folder)
    add_published_queues(workspace)
    with pytest.raises(StoreError, match="fourth is not renamed: the ledger has queue 'mistakes' about it"):
        workspace.models.rename("fourth", "x")
    with pytest.raises(StoreError, match="shelf is not renamed: the ledger has queues 'exam', 'mistakes' and 'novel'"):
        workspace.testsets.rename("shelf", "x")
    with pytest.raises(StoreError, match="labels own are not renamed: the ledger has queue 'novel' about them"):
        workspace.labels.rename("own", "x", test_set="shelf")
    with pytest.raises(StoreError, match="published from queue exam"):
        workspace.models.rename("person:Olga", "person:x")
    tasks = BuildTasks("v2", "house", "0", "hard", "0", TaskOptions(), ())
    TaskCollection(workspace.store.root).add(tasks, None)
    with pytest.raises(StoreError, match="house is not renamed: it is pool or reference of build v2"):
        workspace.testsets.rename("house", "x")


def test_killed_renaming_leaves_the_old_name_or_the_new_one(workspace, tmp_path):
    def states(root: Path) -> dict[str, str]:
        return {name: text for name, text in snapshot(root).items() if not name.startswith("reports")}

    root = workspace.store.root
    old = states(root)
    regrade.open(finished := Path(shutil.copytree(root, tmp_path / "finished"))).testsets.rename("shelf", "new")
    new = states(finished)
    outcomes, at = [], 0
    while True:
        copy = Path(shutil.copytree(root, tmp_path / "copy"))
        through = run_killed(lambda copy=copy: regrade.open(copy).testsets.rename("shelf", "new"), at=at, below=copy)
        Store.open(copy)
        state = states(copy)
        assert state in (old, new), at
        outcomes.append(state == new)
        shutil.rmtree(copy)
        if through:
            break
        at += 7
    assert at > 50
    assert outcomes == sorted(outcomes) and not outcomes[0] and outcomes[-1]
