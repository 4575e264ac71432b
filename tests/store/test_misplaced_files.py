"""Files under the name of another file, and folders with a missing file, are named by readers and by `verify`."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import regrade
from benchmarks.fault_world import CLASSES, make_every_file, read_every_file
from regrade.core import DamagedFile, RegradeError
from regrade.store import Store, read_checked_json, stored_files
from regrade.store.checked_files import checked_json, read_parquet, write_parquet
from regrade.store.layout import CONTENTS
from regrade.workspace import Workspace

REVIEW = "reviews/shelf/own@1"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of every kind that can have several."""
    folder = tmp_path_factory.mktemp("several")
    workspace = make_every_file(folder)
    workspace.testsets.import_slices(folder / "slices.csv", test_set="shelf", name="light")
    workspace.labels.import_file(_half_of(folder / "labels.csv"), test_set="shelf", name="own", new_version=True)
    workspace.models.import_mistakes(folder / "mistakes.csv", test_set="shelf", model="second")
    _judge_more(workspace, folder / "more.csv")
    return workspace.store.root


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "W"))


def _half_of(path: Path) -> Path:
    lines = path.read_text().splitlines()
    half = path.with_name("half.csv")
    half.write_text("\n".join(lines[: len(lines) // 2]) + "\n")
    return half


def _judge_more(workspace: Workspace, path: Path) -> None:
    """A second draw for own@1, and a second file of decisions."""
    drawn = workspace.labels.draw_sample("shelf", labels="own@1", size=3)
    ids = workspace.store.test_set("shelf").ids
    pairs = [(ids[drawn.frame.examples[row]], CLASSES[drawn.frame.classes[row]]) for row in drawn.rows]
    path.write_text("\n".join(["image,class,verdict", *(f"{image},{name},correct" for image, name in pairs)]) + "\n")
    workspace.labels.import_decisions(path, test_set="shelf", labels="own@1")


def problems_of(root: Path) -> dict[str, str]:
    return {problem.subject: problem.trouble for problem in regrade.open(root).verify().problems}


def assert_refused(root: Path, place: str, reason: str) -> None:
    """Readers name the file and the reason, and `verify` lists it."""
    with pytest.raises(RegradeError) as refused:
        read_every_file(Store.open(root))
    assert place in str(refused.value) and reason in str(refused.value)
    assert reason in problems_of(root)[place]


def test_template_has_no_problems(root):
    assert problems_of(root) == {}
    assert len(list((root / REVIEW).glob("verdicts-*.parquet"))) == 2


def test_readers_refuse_any_file_under_the_name_of_another(root):
    paths = stored_files(root)
    for number, path in enumerate(paths):
        content = path.read_bytes()
        same_form = [source for source in paths if source != path and source.suffix == path.suffix]
        same_folder = [source for source in same_form if source.parent == path.parent]
        for source in (same_form[number % len(same_form)], *same_folder):
            path.write_bytes(source.read_bytes())
            place = path.relative_to(root).as_posix()
            assert_refused(root, place, f"it holds {source.relative_to(root).as_posix()}")
        path.write_bytes(content)
    assert problems_of(root) == {}


@pytest.mark.parametrize(
    ("source", "copy", "first_file"),
    [
        ("predictions/shelf/first", "predictions/shelf/last", "manifest.json"),
        ("predictions/shelf/person:Ada", "predictions/shelf/person:Bob", "manifest.json"),
        ("predictions/shelf/first", "predictions/house/first", "manifest.json"),
        ("checkpoints/shelf/net", "checkpoints/shelf/web", "manifest.json"),
        (REVIEW, "reviews/shelf/own@2", "frame.parquet"),
    ],
)
def test_readers_refuse_a_copied_folder(root, source, copy, first_file):
    shutil.copytree(root / source, root / copy)
    assert_refused(root, f"{copy}/{first_file}", f"it holds {source}/{first_file}")


def test_verify_names_a_renamed_folder_of_signatures(root):
    (folder,) = (root / "neighbors" / "shelf").iterdir()
    folder.rename(folder.with_name("0" * 16))
    assert "it holds neighbors/shelf/" in problems_of(root)[f"neighbors/shelf/{'0' * 16}/signatures.parquet"]


@pytest.mark.parametrize("key", ["test_set_digest", "labels", "stratified_by", "place"])
def test_readers_name_the_metadata_that_is_missing(root, key):
    path = root / REVIEW / "frame.parquet"
    table, meta = read_parquet(path)
    with path.open("wb") as file:
        write_parquet(table, {name: value for name, value in meta.items() if name != key}, file)
    with pytest.raises(DamagedFile, match=f"does not state its {key}"):
        read_every_file(Store.open(root))


@pytest.mark.parametrize(
    "name", ["frame.parquet", "drawn.json", "draw-0001.json", "verdicts-0001.parquet", "verdicts-0002.parquet"]
)
def test_review_without_one_of_its_files_is_refused(root, name):
    (root / REVIEW / name).unlink()
    assert_refused(root, f"{REVIEW}/{name}", "it is missing")
    before = sorted((root / REVIEW).iterdir())
    with pytest.raises(DamagedFile, match=name):
        regrade.open(root).labels.draw_sample("shelf", labels="own@1", size=1)
    assert sorted((root / REVIEW).iterdir()) == before


def test_review_with_an_older_count_is_refused(root):
    path = root / REVIEW / "drawn.json"
    path.write_bytes(checked_json(read_checked_json(path) | {"verdict_files": 1}))
    assert_refused(root, f"{REVIEW}/drawn.json", "counts 1 file of decisions, and verdicts-0002.parquet is there too")


def test_review_with_a_count_from_before_the_last_draw_is_refused(root):
    path = root / REVIEW / "drawn.json"
    before, draws = path.read_bytes(), len(list(path.parent.glob("draw-*.json")))
    regrade.open(root).labels.draw_sample("shelf", labels="own@1", size=1)
    path.write_bytes(before)
    last = f"draw-{draws + 1:04d}.json"
    assert_refused(root, f"{REVIEW}/drawn.json", f"of draws, and {last} is there too")
    with pytest.raises(DamagedFile, match=last):
        regrade.open(root).labels.draw_sample("shelf", labels="own@1", size=1)


def test_review_that_was_begun_without_files_of_draws_goes_on(root):
    folder = root / REVIEW
    stated = read_checked_json(folder / "drawn.json")
    del stated["draws"]
    (folder / "drawn.json").write_bytes(checked_json(stated))
    for path in (root / CONTENTS, *folder.glob("draw-*.json")):
        path.unlink()
    workspace = regrade.open(root)
    more = workspace.labels.draw_sample("shelf", labels="own@1", size=1)
    assert more.frame.drawn == stated["drawn"] + 1
    assert workspace.verify().problems == ()


def test_review_with_fewer_drawn_than_judged_is_refused(root):
    path = root / REVIEW / "drawn.json"
    path.write_bytes(checked_json(read_checked_json(path) | {"drawn": 6}))
    with pytest.raises(DamagedFile, match=r"drawn\.json .*verdicts-0002\.parquet judges more than the 6 predictions"):
        read_every_file(Store.open(root))


def test_decisions_of_another_sample_are_refused(root):
    path = root / REVIEW / "verdicts-0001.parquet"
    table, meta = read_parquet(path)
    with path.open("wb") as file:
        write_parquet(table, {**meta, "frame": "0" * 64}, file)
    with pytest.raises(DamagedFile, match="another sample"):
        read_every_file(Store.open(root))
    assert "another sample" in problems_of(root)[f"{REVIEW}/verdicts-0001.parquet"]


@pytest.mark.parametrize(
    "place",
    [
        "predictions/shelf/first/manifest.json",
        "checkpoints/shelf/net/manifest.json",
        "testsets/shelf.parquet",
        "testsets/house.parquet",
        "labels/shelf/own@1.parquet",
        "classes/toys.json",
    ],
)
def test_verify_names_a_missing_file_that_others_need(root, place):
    (root / place).unlink()
    assert "it is missing" in problems_of(root)[place]


def test_verify_names_missing_signatures(root):
    (path,) = root.glob("neighbors/*/*/signatures.parquet")
    path.unlink()
    assert "it is missing" in problems_of(root)[path.relative_to(root).as_posix()]


def exchange_test_set(root: Path) -> set[str]:
    shutil.copy(root / "testsets" / "house.parquet", root / "testsets" / "shelf.parquet")
    return {"testsets/shelf.parquet"}


def edit_test_set(root: Path) -> set[str]:
    path = root / "testsets" / "shelf.parquet"
    table, meta = read_parquet(path)
    with path.open("wb") as file:
        write_parquet(table, {**meta, "digest": "0" * 64}, file)
    return {"slices/shelf/light.parquet", "labels/shelf/own@2.parquet", "predictions/shelf/first/manifest.json"}


def edit_classes(root: Path) -> set[str]:
    path = root / "classes" / "toys.json"
    content = read_checked_json(path)
    path.write_bytes(checked_json(content | {"ids": content["ids"][::-1], "names": content["names"][::-1]}))
    return {"testsets/shelf.parquet", "predictions/shelf/second/manifest.json", "checkpoints/shelf/net/manifest.json"}


@pytest.mark.parametrize("change", [exchange_test_set, edit_test_set, edit_classes])
def test_verify_lists_all_problems(root, change: Callable[[Path], set[str]]):
    expected = change(root)
    (root / "predictions" / "shelf" / "third" / "scores.npy").unlink()
    assert expected | {"predictions/shelf/third/scores.npy"} <= set(problems_of(root))


def test_verify_goes_on_when_the_ledger_note_is_misplaced(root):
    regrade.open(root).ledger.engine.dispose()
    assert (root / "ledger.json").is_file()
    shutil.copy(root / "classes" / "toys.json", root / "ledger.json")
    (root / "testsets" / "house.parquet").unlink()
    problems = problems_of(root)
    assert "it holds classes/toys.json" in problems["ledger.json"] and "testsets/house.parquet" in problems
