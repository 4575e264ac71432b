"""regrade import slices: ImageNet-X, ImageNet-M, lists and tables beside a test set that stays what it is."""

import json
import shutil
from pathlib import Path

import pytest
from releases import val_name, write_csv, write_imagenet_x
from running import assert_one_line, run, run_well, snapshot

from regrade.classes import class_space
from regrade.stats import bonferroni_confidence, mark_simultaneous, proportion
from regrade.testsets import entry
from regrade.workspace import open as open_workspace

SPACE = class_space("imagenet-1k")
LABELS = (10, 11, 12, 13, 14, 15)
ANSWERS = (10, 11, 0, 13, 0, 0)
"""Of validation images 1 to 6, the first, second and fourth are right."""
FACTORS = {1: ("pose",), 2: ("pose", "larger"), 3: ("pose",), 4: (), 5: ("larger",), 6: ("shape",)}


@pytest.fixture(scope="module")
def _val(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("val")
    rows = [(val_name(n + 1), SPACE.ids[label], SPACE.ids[ANSWERS[n]]) for n, label in enumerate(LABELS)]
    write_csv(folder / "p.csv", ("image", "label", "m"), *rows)
    run_well("init", folder / "W")
    new = ("-t", "imagenet-val", "--classes", "imagenet-1k", "-w", folder / "W")
    run_well("import", "predictions", folder / "p.csv", *new)
    return folder / "W"


@pytest.fixture
def val(_val: Path, tmp_path: Path) -> Path:
    """A workspace with six images of imagenet-val and a model that is right on three of them."""
    return Path(shutil.copytree(_val, tmp_path / "W"))


def graded(workspace: Path, *slices: str, **options: str) -> dict[str, dict]:
    chosen = [word for name in slices for word in ("--slice", name)]
    chosen += [word for key, value in options.items() for word in (f"--{key}", value)]
    result = json.loads(run_well("grade", "-t", "imagenet-val", *chosen, "--json", "-w", workspace).out)
    return {row["slice"]: row for row in result["rows"]}


def counts(rows: dict[str, dict], key: str = "top1") -> dict[str, tuple[int, int]]:
    """Right and counted of each slice; its interval is that of the two, together with those of the other slices."""
    result, slices = {}, len(rows) - 1
    for name, row in rows.items():
        result[name] = (round(row[key]["value"] * row[key]["n"]), row[key]["n"])
        together = 1 if name == "all" else slices
        expected = proportion(*result[name], confidence=bonferroni_confidence(together))
        assert row[key] == mark_simultaneous(expected, together).as_dict()
    return result


def import_slices(workspace: Path, path: Path, name: str, form: str = "list", *options: object):
    command = ("import", "slices", path, "-t", "imagenet-val", "--name", name, "--format", form, *options)
    return run(*command, "-w", workspace)


def refused(workspace: Path, *arguments: object, words: tuple[str, ...]) -> None:
    before = snapshot(workspace)
    assert_one_line(import_slices(workspace, *arguments), *words)
    assert snapshot(workspace) == before


class TestImageNetX:
    @pytest.fixture
    def factors(self, tmp_path) -> Path:
        return write_imagenet_x(tmp_path / "imagenet_x_val_multi_factor.jsonl", FACTORS)

    def test_grade_by_factor_with_stored_predictions(self, val, factors):
        digest = open_workspace(val).store.test_set("imagenet-val").digest
        done = import_slices(val, factors, "imagenet-x", "imagenet-x")
        assert (
            done.err == "imported imagenet-x of imagenet-val: 16 slices (imagenet-x:multiple_objects, ...), 5 images\n"
        )
        assert open_workspace(val).store.test_set("imagenet-val").digest == digest
        rows = counts(graded(val, "imagenet-x:pose", "imagenet-x:larger"))
        assert rows == {"all": (3, 6), "imagenet-x:pose": (2, 3), "imagenet-x:larger": (1, 2)}

    def test_grade_by_all_factors(self, val, factors):
        import_slices(val, factors, "imagenet-x", "imagenet-x")
        assert counts(graded(val, "imagenet-x")) == {
            "all": (3, 6),
            "imagenet-x:larger": (1, 2),
            "imagenet-x:pose": (2, 3),
            "imagenet-x:shape": (0, 1),
        }

    def test_chosen_hard_slices_are_noted(self, val, factors):
        import_slices(val, factors, "imagenet-x", "imagenet-x", "--chosen-hard")
        command = ("grade", "-t", "imagenet-val", "--slice", "imagenet-x:pose", "--json", "-w", val)
        result = json.loads(run_well(*command).out)
        assert result["hard_slices"] == ["imagenet-x:pose"]
        assert "chosen because models find them hard: imagenet-x:pose" in result["notes"]

    def test_a_factor_without_an_image(self, val, factors):
        import_slices(val, factors, "imagenet-x", "imagenet-x")
        ran = run("grade", "-t", "imagenet-val", "--slice", "imagenet-x:style", "-w", val)
        assert_one_line(ran, "slice 'imagenet-x:style' of imagenet-val contains no images")

    def test_compare_on_one_factor(self, val, factors, tmp_path):
        import_slices(val, factors, "imagenet-x", "imagenet-x")
        rows = [(val_name(n + 1), SPACE.ids[label]) for n, label in enumerate(LABELS)]
        write_csv(tmp_path / "n.csv", ("image", "n"), *rows)
        run_well("import", "predictions", tmp_path / "n.csv", "-t", "imagenet-val", "-w", val)
        command = ("compare", "m", "n", "-t", "imagenet-val", "--json", "-w", val)
        result = json.loads(run_well(*command, "--slice", "imagenet-x:pose").out)
        assert (result["images"], result["pairs"][0]["only_second"]) == (3, 1)
        assert_one_line(run(*command, "--slice", "imagenet-x"), "a set of slices", "imagenet-x:multiple_objects")

    def test_show_lists_the_slices(self, val, factors):
        import_slices(val, factors, "imagenet-x", "imagenet-x")
        shown = json.loads(run_well("testsets", "show", "imagenet-val", "--json", "-w", val).out)
        sizes = {row["slice"]: row["examples"] for row in shown["slices"]}
        assert (sizes["imagenet-x:pose"], sizes["imagenet-x:style"]) == (3, 0)
        assert shown["class_map"] is None

    def test_import_is_idempotent(self, val, factors):
        import_slices(val, factors, "imagenet-x", "imagenet-x")
        before = snapshot(val)
        assert import_slices(val, factors, "imagenet-x", "imagenet-x").err.startswith(
            "unchanged: imagenet-x of imagenet-val"
        )
        assert snapshot(val) == before

    def test_other_content_is_rejected_with_advice(self, val, factors, tmp_path):
        import_slices(val, factors, "imagenet-x", "imagenet-x")
        different = write_imagenet_x(tmp_path / "top.jsonl", {1: ("pose",)})
        words = ("other slices are stored as imagenet-x of imagenet-val", "choose another name, or remove", "first")
        refused(val, different, "imagenet-x", "imagenet-x", words=words)
        assert import_slices(val, different, "imagenet-x-top", "imagenet-x").code == 0
        assert counts(graded(val, "imagenet-x-top:pose"))["imagenet-x-top:pose"] == (1, 1)

    def test_images_that_are_not_in_the_test_set(self, val, tmp_path):
        path = write_imagenet_x(tmp_path / "x.jsonl", {1: ("pose",), 70: (), 71: ()})
        words = ("contains 2 images not in test set imagenet-val", "ILSVRC2012_val_00000070.JPEG")
        refused(val, path, "imagenet-x", "imagenet-x", words=words)

    def test_command_of_the_catalog(self, val, factors, monkeypatch):
        monkeypatch.chdir(factors.parent)
        run_well(*entry("imagenet-x").command.split()[1:], "-w", val)
        assert "imagenet-x:pose" in open_workspace(val).store.test_set("imagenet-val").subsets


class TestImageNetM:
    """The list in the file of multi-label annotations."""

    @pytest.fixture
    def annotations(self, tmp_path) -> Path:
        own = {val_name(n + 1): {"correct": [SPACE.ids[label]]} for n, label in enumerate(LABELS)}
        own[val_name(3)]["unclear"] = [SPACE.ids[0]]
        own[val_name(5)]["wrong"] = [SPACE.ids[0]]
        own[val_name(6)]["correct"].append(SPACE.ids[0])
        content = {
            "initial_annots": {**own, "0a1b.jpeg": {"correct": [SPACE.ids[0]]}},
            "problematic_images": {val_name(4): "painting"},
            "imagenet_m": [val_name(n) for n in (2, 3, 5, 6)] + ["0a1b.jpeg", val_name(40000)],
        }
        (tmp_path / "human_accuracy_v3.0.0.json").write_text(json.dumps(content))
        return tmp_path / "human_accuracy_v3.0.0.json"

    @pytest.mark.parametrize("name", ["imagenet-m", "multilabel-v3"])
    def test_command_of_the_catalog_imports_labels_and_slice(self, val, annotations, monkeypatch, name):
        monkeypatch.chdir(annotations.parent)
        done = run_well(*entry(name).command.split()[1:], "-w", val)
        assert done.err.splitlines()[1] == "slice imagenet-m of imagenet-val: 4 images"
        store = open_workspace(val).store
        assert store.labels.names("imagenet-val") == ("multilabel-v3@1",)
        assert store.test_set("imagenet-val").slice("imagenet-m").tolist() == [False, True, True, False, True, True]

    def test_multilabel_accuracy_on_it(self, val, annotations):
        command = ("import", "labels", annotations, "--format", "multilabel-v3", "-t", "imagenet-val", "--name", "v3")
        run_well(*command, "-w", val)
        rows = graded(val, "imagenet-m", labels="v3")
        assert counts(rows)["imagenet-m"] == (1, 4)
        assert counts(rows, "multilabel") == {"all": (3, 5), "imagenet-m": (2, 4)}
        by_classes = graded(val, "imagenet-m", labels="v3", rule="classes")["imagenet-m"]["multilabel"]
        assert by_classes["value"] == pytest.approx(3 / 4)

    def test_new_version_with_another_list_is_rejected(self, val, annotations):
        command = ("import", "labels", annotations, "--format", "multilabel-v3", "-t", "imagenet-val", "--name", "v3")
        run_well(*command, "-w", val)
        before = snapshot(val)
        assert run_well(*command, "-w", val).err.startswith("unchanged: v3@1")
        content = json.loads(annotations.read_text())
        content["imagenet_m"].pop(0)
        content["problematic_images"][val_name(1)] = "edited"
        annotations.write_text(json.dumps(content))
        ran = run(*command, "--new-version", "-w", val)
        assert_one_line(ran, "other slices are stored as imagenet-m of imagenet-val", "imagenet-m.parquet first")
        assert snapshot(val) == before
        (val / "slices" / "imagenet-val" / "imagenet-m.parquet").unlink()
        assert "v3@2" in run_well(*command, "--new-version", "-w", val).err

    def test_invalid_list_is_rejected(self, val, annotations):
        content = json.loads(annotations.read_text())
        annotations.write_text(json.dumps({**content, "imagenet_m": {"a": 1}}))
        command = ("import", "labels", annotations, "--format", "multilabel-v3", "-t", "imagenet-val", "--name", "v3")
        assert_one_line(run(*command, "-w", val), "imagenet_m must be a list of image file names")

    def test_set_without_these_images(self, val, annotations):
        content = json.loads(annotations.read_text())
        annotations.write_text(json.dumps({**content, "imagenet_m": ["0a1b.jpeg"]}))
        command = ("import", "labels", annotations, "--format", "multilabel-v3", "-t", "imagenet-val", "--name", "v3")
        assert run_well(*command, "-w", val).err.endswith("note: 1 image not in imagenet-val passed over\n")
        assert not (val / "slices").exists()


class TestOwn:
    def test_a_list(self, val, tmp_path):
        (tmp_path / "blurred.txt").write_text(f"{val_name(4)}\n{val_name(5)}\n")
        done = import_slices(val, tmp_path / "blurred.txt", "blurred")
        assert done.err == "imported slice blurred of imagenet-val: 2 images\n"
        assert counts(graded(val, "blurred"))["blurred"] == (1, 2)

    def test_a_table_of_groups(self, val, tmp_path):
        rows = [(val_name(n), "ns"[n % 2], n) for n in range(1, 7)]
        path = write_csv(tmp_path / "geo.csv", ("image", "region", "income"), *rows)
        done = run_well("import", "slices", path, "-t", "imagenet-val", "--name", "geo", "--group", "region", "-w", val)
        assert done.err == "imported geo of imagenet-val: 1 group columns (geo:region)\n"
        expected = {"geo:region=n": (2, 3), "geo:region=s": (1, 3)}
        for name in ("geo", "geo:region"):
            assert counts(graded(val, name)) == {"all": (3, 6), **expected}
        assert counts(graded(val, "geo:region=s"))["geo:region=s"] == (1, 3)

    def test_a_table_must_name_every_example(self, val, tmp_path):
        path = write_csv(tmp_path / "geo.csv", ("image", "region"), (val_name(1), "n"))
        words = ("5 of the 6 examples of imagenet-val are missing", "ILSVRC2012_val_00000002.JPEG")
        refused(val, path, "geo", "table", words=words)

    @pytest.mark.parametrize("name", ["dogs", "n01440764", "a:b", "a=b", " "])
    def test_conflicting_names_are_rejected(self, val, tmp_path, name):
        (tmp_path / "x.txt").write_text(val_name(1))
        refused(val, tmp_path / "x.txt", name, words=("name",))

    def test_an_unknown_test_set_or_form(self, val, tmp_path):
        (tmp_path / "x.txt").write_text(val_name(1))
        ran = run("import", "slices", tmp_path / "x.txt", "-t", "imagenet-vall", "--name", "x", "-w", val)
        assert_one_line(ran, "'imagenet-vall'", "imagenet-val")
        assert import_slices(val, tmp_path / "x.txt", "x", "masks").code == 2

    def test_missing_file(self, val, tmp_path):
        refused(val, tmp_path / "no.txt", "x", words=("there is no file",))
