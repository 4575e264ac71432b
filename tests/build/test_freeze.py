"""regrade build freeze: the stored test set, the release, refusals, and that no worker can be recognized."""

import csv
import hashlib
import json
import shutil
import warnings
from dataclasses import replace

import numpy as np
import pytest
import small_set
from build_world import GROUPS, SPACE, WORKERS, make_build, png
from running import assert_one_line, run, run_well, snapshot
from skipping import skip

from regrade.build.anonymous_workers import anonymous_names
from regrade.build.datasheet import answers_by_image
from regrade.build.files import AnswerBatch, AnswerCollection, RevisionCollection, TaskCollection
from regrade.build.frequencies import Assignment
from regrade.build.release import read_release
from regrade.build.release_check import CheckOutcome
from regrade.build.release_writing import PoolImages, released_name
from regrade.build.steps.frequencies import load_answers
from regrade.build.tasks import TileRole
from regrade.core import AlreadyStored, ImageSource, InputError, MismatchError, RegradeError, TestSet
from regrade.core.frequency_bins import EDGES, bin_names, frequency_bins
from regrade.stats import krippendorff_alpha
from regrade.tables import Columns
from regrade.testsets import ReaderOptions, decode, open_images, reader_for

LEFT_OUT = WORKERS[3]


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    """A workspace with a frozen set and its release; the answers of one worker are left out."""
    workspace = make_build(tmp_path_factory.mktemp("frozen"))
    workspace.build.sample("new", "matched-frequency", per_class=6, min_answers=8, exclude_workers=[LEFT_OUT])
    workspace.build.clean("new")
    result = workspace.build.freeze("new", "fresh")
    assert (result.new, result.images, result.classes, result.revision) == (True, 18, 3, 0)
    return workspace


@pytest.fixture(scope="module")
def release(frozen):
    """The folder of the release."""
    return frozen.store.root / "releases" / "fresh"


@pytest.fixture
def workspace(tmp_path):
    """A build without revisions."""
    return make_build(tmp_path)


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_freeze_stores_the_revision_in_its_order(frozen):
    store = frozen.store
    examples = RevisionCollection(store.root).read("new", 0).sample.examples
    pool, fresh = store.test_set("pool"), store.test_set("fresh")
    assert tuple(fresh.ids) == tuple(image for image, _ in examples)
    assert [SPACE.ids[label] for label in fresh.labels] == [class_id for _, class_id in examples]
    counted = load_answers(store, "new", excluded=[LEFT_OUT]).frequencies()
    frequency = dict(zip(counted.entries, counted.frequency.tolist(), strict=True))
    expected = [bin_names(EDGES)[n] for n in frequency_bins([frequency[example] for example in examples])]
    assert fresh.groups["selection_frequency"] == tuple(expected)
    for column in GROUPS:
        assert fresh.groups[column] == tuple(pool.groups[column][pool.position(image)] for image in fresh.ids)
    assert store.images.read(fresh).locations[0] == store.images.read(pool).locations[pool.position(fresh.ids[0])]


def test_frozen_set_is_graded_by_frequency(frozen, tmp_path):
    fresh = frozen.store.test_set("fresh")
    lines = [f"{image},{SPACE.ids[label]}" for image, label in zip(fresh.ids, fresh.labels, strict=True)]
    (tmp_path / "model.csv").write_text("\n".join(["image,model", *lines]) + "\n")
    frozen.models.import_predictions(tmp_path / "model.csv", test_set="fresh")
    grade = frozen.grade("fresh", slices=["selection_frequency"])
    assert "selection_frequency=[0.8, 1]" in str(grade)


def test_release_has_the_images_unchanged_with_their_hashes(frozen, release):
    manifest = rows(release / "manifest.csv")
    fresh, pool = frozen.store.test_set("fresh"), frozen.store.root.parent / "pool"
    assert [row["image"] for row in manifest] == list(fresh.ids)
    for row in manifest:
        content = (release / row["file_name"]).read_bytes()
        assert content == (pool / f"{row['image'].removeprefix('pool-')}.png").read_bytes()
        assert row["sha256"] == hashlib.sha256(content).hexdigest()
        assert row["class_name"] == dict(zip(SPACE.ids, SPACE.names, strict=True))[row["label"]]
        assert int(row["selected"]) / int(row["answers"]) == float(row["selection_frequency"])
        assert row["author"].startswith("author, ")
    listed = (release / "checksums.txt").read_text().splitlines()
    assert len(listed) == sum(path.is_file() for path in release.rglob("*")) - 1


def test_release_is_a_test_set_for_others(frozen, release, tmp_path):
    import regrade

    workspace = regrade.init(tmp_path / "W")
    columns = Columns(id="image", groups=("frequency_bin", *GROUPS))
    workspace.testsets.add("fresh", release / "manifest.csv", classes=release / "classes.json", columns=columns)
    again, fresh = workspace.store.test_set("fresh"), frozen.store.test_set("fresh")
    assert tuple(again.ids) == tuple(fresh.ids)
    assert again.labels.tolist() == fresh.labels.tolist()
    assert again.groups["frequency_bin"] == fresh.groups["selection_frequency"]


def test_released_answers_can_be_imported_again(frozen, release, tmp_path):
    """The release has the format of `regrade build answers`, so that another build of the same tasks can read it."""
    store = make_build(tmp_path).store
    from regrade.build.exchange import read_answers

    stored = TaskCollection(store.root).read("new")
    answers = read_answers(release / "answers.csv", stored.tasks, key=stored.digest)
    original = AnswerCollection(frozen.store.root).read("new")
    content = sorted((answer.task, sorted(answer.selected)) for answer in answers)
    assert content == sorted((answer.task, sorted(answer.selected)) for answer in original)


def test_no_worker_name_is_in_any_released_file(release):
    content = {path: path.read_bytes() for path in release.rglob("*") if path.is_file()}
    for name in (*WORKERS, "Quistgaard"):
        assert not [path for path, data in content.items() if name.encode() in data or name in str(path)]
    assert {row["worker"] for row in rows(release / "answers.csv")} == {f"worker-{n:03}" for n in range(1, 12)}
    draw = json.loads((release / "draw.json").read_text())
    assert draw["settings"]["exclude_workers"] == [
        *{row["worker"] for row in rows(release / "answers.csv") if row["counted"] == "no"}
    ]


def test_anonymous_names_do_not_depend_on_names_or_order():
    answers = [Assignment("1", "ann", frozenset("a")), Assignment("1", "bob", frozenset("b"), 3.0)]
    swapped = [replace(answers[0], worker="bob"), replace(answers[1], worker="ann")]
    assert anonymous_names(answers)["ann"] == anonymous_names(swapped)["bob"]
    assert anonymous_names(answers) == anonymous_names(reversed(answers))
    many = [Assignment("1", str(number), frozenset(), float(number)) for number in range(1000)]
    assert sorted(anonymous_names(many).values())[::999] == ["worker-0001", "worker-1000"]


def test_datasheet_is_filled_from_the_data(release):
    text = (release / "datasheet.md").read_text()
    missing = sum(row["license"] == "unknown" for row in rows(release / "manifest.csv"))
    for line in (
        "fresh has 18 images of 3 classes.",
        "- candidates: 120 images of the pool pool",
        "- controls: 3 positive (reference images of the class) and 3 negative",
        "- 11 workers, with names replaced; answers left out: 1 worker",
        "- strategy: matched-frequency, 6 images per class, seed 0",
        "- naive difference: ",
        "- difference without selection noise: ",
        "- images per class: 6 to 6",
        f"- missing: {missing} image",
        "## Known limits",
    ):
        assert line in text
    alpha = krippendorff_alpha(_people_by_image(read_release(release)))
    assert f"(Krippendorff's alpha): {alpha.value:.2f} [{alpha.low:.2f}, {alpha.high:.2f}]" in text


def _people_by_image(content):
    """The answers (people, candidates), as the definition of Krippendorff's alpha has them."""
    answers = content.answers
    chosen = answers.of_role(TileRole.CANDIDATE)
    table = np.full((len(answers.workers) * 9, len(answers.entries)), -1)
    seen = np.zeros((len(answers.workers), len(answers.entries)), dtype=int)
    for entry, worker, selected in zip(answers.entry[chosen], answers.worker[chosen], answers.selected[chosen]):  # noqa: B905
        if answers.workers[worker] not in content.left_out:
            table[worker + len(answers.workers) * seen[worker, entry], entry] = selected
            seen[worker, entry] += 1
    return table


def test_answers_by_image_lists_every_counted_answer(release):
    content = read_release(release)
    table = answers_by_image(content.answers, content.left_out)
    by_entry = [c.assignments for c in content.counted_candidates]
    assert sorted((table >= 0).sum(axis=0).tolist()) == sorted(by_entry)
    assert table.max() == 1


def test_croissant_is_valid_and_loads_the_images(release):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import mlcroissant
        except ModuleNotFoundError:
            skip("mlcroissant is not installed: pip install 'regrade[dev]'")
        dataset = mlcroissant.Dataset(jsonld=str(release / "croissant.json"))  # raises if it is not valid
        records = list(dataset.records("examples"))
    manifest = rows(release / "manifest.csv")
    assert [record["examples/image"].decode() for record in records] == [row["image"] for row in manifest]
    assert [record["examples/selection_frequency"] for record in records] == pytest.approx(
        [float(row["selection_frequency"]) for row in manifest]
    )
    assert all(record["examples/pixels"].size == (8, 6) for record in records)


def test_croissant_names_the_manifest_by_its_hash(release):
    described = json.loads((release / "croissant.json").read_text())
    manifest, images = described["distribution"]
    assert manifest["sha256"] == hashlib.sha256((release / "manifest.csv").read_bytes()).hexdigest()
    assert (images["includes"], images["encodingFormat"]) == ("images/*/*", "image/png")
    assert described["license"] == ["CC BY 4.0", "CC0"]
    assert described["conformsTo"] == "http://mlcommons.org/croissant/1.0"


def test_freezing_again_changes_nothing(frozen):
    before = snapshot(frozen.store.root)
    assert not frozen.build.freeze("new", "fresh").new
    assert snapshot(frozen.store.root) == before


def test_freeze_command_writes_to_a_folder(workspace, tmp_path):
    root = workspace.store.root
    workspace.build.sample("new", "top", per_class=5)
    out = tmp_path / "my release"
    run_well("build", "clean", "new", "-w", root)
    done = run_well("build", "freeze", "new", "--as", "top five", "--out", out, "-w", root)
    assert "frozen and verified" in done.out
    assert "sound" in run_well("build", "verify", out).out
    assert json.loads(run_well("build", "verify", out, "--json").out)["sound"] is True
    assert not (root / "releases").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "threshold", "lowest": 0.6, "overrides": ["n02=0.5"]},
        {"strategy": "target-frequency", "target": 0.6},
        {"strategy": "keyword-matched"},
        {"strategy": "matched-frequency", "debias": True},
        {"strategy": "matched-frequency", "borrow": False, "seed": 4},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_every_strategy_follows_again_from_its_release(workspace, options):
    assert not workspace.build.sample("new", per_class=4, **options).problems
    workspace.build.clean("new")
    workspace.build.freeze("new", "fresh")
    assert workspace.build.verify(workspace.store.root / "releases" / "fresh").sound


def test_a_continued_revision_follows_again_from_its_release(workspace, tmp_path):
    workspace.build.sample("new", "matched-frequency", per_class=5)
    drawn = RevisionCollection(workspace.store.root).read("new", 0).sample.examples
    (tmp_path / "bad.txt").write_text(drawn[0][0])
    workspace.build.sample(
        "new", "matched-frequency", per_class=5, blacklist=tmp_path / "bad.txt", continue_from=0, seed=9
    )
    folder = workspace.store.root / "releases" / "fresh"
    assert workspace.build.freeze("new", "fresh", unchecked_duplicates=True).revision == 1
    assert workspace.build.verify(folder).sound
    candidates = rows(folder / "candidates.csv")
    assert sum(row["in_previous_revision"] == "yes" for row in candidates) == len(drawn)
    assert [row["image"] for row in candidates if row["excluded"] == "blacklisted"] == [drawn[0][0]]
    assert workspace.build.freeze("new", "first", revision=0, unchecked_duplicates=True).revision == 0


def test_freeze_refuses_a_revision_with_problems(workspace):
    workspace.build.sample("new", "threshold", per_class=39)
    done = run("build", "freeze", "new", "--as", "fresh", "-w", workspace.store.root)
    assert_one_line(done)
    assert "revision 0 of new cannot be frozen: n01: " in done.err
    assert not workspace.store.test_sets.has("fresh")
    assert not (workspace.store.root / "releases").exists()


def test_freeze_refuses_names_that_are_taken(workspace):
    workspace.build.sample("new", "top", per_class=4)
    with pytest.raises(AlreadyStored, match="a different test set is stored as 'pool'"):
        workspace.build.freeze("new", "pool")
    with pytest.raises(InputError, match="test set in the catalog"):
        workspace.build.freeze("new", "imagenet-a")
    workspace.build.freeze("new", "fresh", unchecked_duplicates=True)
    workspace.build.sample("new", "top", per_class=5)
    with pytest.raises(AlreadyStored, match="a different test set is stored as 'fresh'"):
        workspace.build.freeze("new", "fresh")
    with pytest.raises(AlreadyStored, match="exists already with other content: name a new folder with --out"):
        workspace.build.freeze(
            "new", "other", out=workspace.store.root / "releases" / "fresh", unchecked_duplicates=True
        )
    assert not workspace.store.test_sets.has("other")
    with pytest.raises(RegradeError, match="unknown revision of new '7'"):
        workspace.build.freeze("new", "seven", revision=7)


@pytest.mark.parametrize("field", ["pool_digest", "reference_digest"])
def test_freeze_refuses_if_pool_or_reference_changed(workspace, field):
    root = workspace.store.root
    workspace.build.sample("new", "top", per_class=4)
    stored = TaskCollection(root).read("new")
    TaskCollection(root).remove("new", "tasks")
    TaskCollection(root).add(replace(stored, **{field: "0" * 64}), None)
    with pytest.raises(MismatchError, match=f"test set {field[:-7]} changed after the tasks of new were made"):
        workspace.build.freeze("new", "fresh")


def test_freeze_refuses_a_revision_that_later_answers_contradict(workspace):
    root = workspace.store.root
    workspace.build.sample("new", "top", per_class=4)
    tasks = TaskCollection(root).read("new").tasks
    late = tuple(Assignment(task.id, f"late {n}", frozenset()) for task in tasks[:3] for n in range(6))
    AnswerCollection(root).add(AnswerBatch("new", late, "late.csv"), None)
    with pytest.raises(
        MismatchError,
        match=r"not follow from the answers that are stored now \(18 answers arrived later, from late\.csv\): draw",
    ):
        workspace.build.freeze("new", "fresh")


def test_answers_that_arrive_later_and_agree_are_released_as_late(workspace):
    root = workspace.store.root
    workspace.build.sample("new", "threshold", per_class=4, lowest=0.0)
    task = TaskCollection(root).read("new").tasks[0]
    late = tuple(Assignment(task.id, f"late {n}", frozenset()) for n in range(2))
    AnswerCollection(root).add(AnswerBatch("new", late), None)
    workspace.build.freeze("new", "fresh", unchecked_duplicates=True)
    folder = root / "releases" / "fresh"
    marked = [row for row in rows(folder / "answers.csv") if row["after_draw"] == "yes"]
    assert [(row["task"], row["selected"]) for row in marked] == [(task.id, "")] * 2
    assert "answers that arrived after the set was drawn, and agree with it: 2" in (folder / "datasheet.md").read_text()
    checks = {check.subject: check for check in workspace.build.verify(folder).checks}
    assert checks["late answers"].outcome is CheckOutcome.VERIFIED
    assert checks["late answers"].detail.startswith("2 answers of ")
    before = RevisionCollection(root).read("new", 0).answers
    assert before == tuple(name for name in AnswerCollection(root).batches("new") if name in before)
    assert len(before) == 1


def test_freeze_refuses_unreadable_and_repeated_images(workspace):
    root = workspace.store.root
    workspace.build.sample("new", "top", per_class=4)
    first, second = (image for image, _ in RevisionCollection(root).read("new", 0).sample.examples[:2])
    paths = [root.parent / "pool" / f"{image.removeprefix('pool-')}.png" for image in (first, second)]
    shutil.copy(paths[0], paths[1])
    with pytest.raises(InputError, match=f"images '{first}' and '{second}' have the same content"):
        workspace.build.freeze("new", "fresh", unchecked_duplicates=True)
    paths[1].write_bytes(b"<html>404</html>")
    with pytest.raises(RegradeError, match=f"image '{second}' of pool cannot be released"):
        workspace.build.freeze("new", "fresh", unchecked_duplicates=True)
    paths[1].write_bytes(png(5000))
    assert workspace.build.freeze("new", "fresh", unchecked_duplicates=True).new


def test_pixels_of_a_pool_are_released_as_png(tmp_path):
    path = small_set.npz(tmp_path / "pixels")
    listed = reader_for(path).find(path, ReaderOptions(small_set.SPACE))
    source = ImageSource(reader_for(path).name, str(path), listed.locations)
    pool = TestSet("pixels", small_set.SPACE, listed.ids, listed.labels)
    images = PoolImages(pool, source)
    assert not images.has_pixels
    content = images.content(listed.ids[3])
    assert images.has_pixels
    assert released_name("n01", content).endswith(".png")
    assert (np.asarray(decode(content)) == np.asarray(decode(open_images(source).read(3)))).all()


def test_freeze_refuses_a_pool_with_frequencies_of_its_own(workspace):
    from regrade.core import SliceSet

    workspace.build.sample("new", "top", per_class=4)
    pool = workspace.store.test_set("pool")
    name = "selection_frequency"
    slices = SliceSet(name, "pool", len(pool), columns={name: ("high",) * len(pool)})
    workspace.store.slices.add(slices, pool)
    with pytest.raises(InputError, match="pool pool has a group column 'selection_frequency'"):
        workspace.build.freeze("new", "fresh")


def test_a_set_drawn_by_confusion_is_released_with_its_scores_and_verified(workspace):
    pool = workspace.store.test_set("pool")
    scores = (
        np.random.default_rng(0).normal(size=(2, 3, len(pool), len(SPACE))) * np.linspace(0.1, 3, len(pool))[:, None]
    )
    workspace.models.add_checkpoints("small", scores, test_set="pool", kind="logits")
    workspace.build.sample("new", "target-confusion", per_class=4, target=1.2, ensemble="small")
    checks = {check.subject: check.outcome.value for check in workspace.build.check("new", by=["exact"]).checks}
    assert checks["follows from the answers"] == "passed"
    workspace.build.freeze("new", "fresh", unchecked_duplicates=True)
    folder = workspace.store.root / "releases" / "fresh"
    assert all(float(row["confusion"]) > 0 for row in rows(folder / "candidates.csv"))
    assert workspace.build.verify(folder).sound
    changed = (folder / "candidates.csv").read_text().replace(rows(folder / "candidates.csv")[0]["confusion"], "9.0")
    (folder / "candidates.csv").write_text(changed)
    assert not workspace.build.verify(folder).sound
