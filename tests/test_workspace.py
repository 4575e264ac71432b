"""The workspace from Python: custom classes, groups, class maps, and grading within a subset of the classes."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from running import run_well, snapshot

import regrade
from regrade.classes import class_space
from regrade.core import InputError, MismatchError
from regrade.stats import proportion
from regrade.tables import Columns
from regrade.workspace import Workspace

SPACE = class_space("imagenet-1k")
SUBSET = class_space("imagenet-a")


def write(path: Path, *rows: tuple) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return regrade.init(tmp_path / "W")


class TestCustomClasses:
    def test_class_space_from_a_csv_file_with_groups(self, workspace, tmp_path):
        toys = (("b", "ball", "soft"), ("d", "doll", "soft"), ("c", "car", "hard"))
        classes = write(tmp_path / "toys.csv", ("id", "name", "groups"), *toys)
        file = write(tmp_path / "p.csv", ("image", "label", "m"), ("1", "b", "b"), ("2", "d", "c"), ("3", "c", "c"))
        workspace.models.import_predictions(file, test_set="shelf", classes=classes)
        assert workspace.testsets.class_space("toys").names == ("ball", "doll", "car")
        rows = {row.slice: row for row in workspace.grade("shelf", slices=["soft", "c"]).rows}
        assert (rows["all"].top1.value, rows["soft"].top1.value, rows["c"].top1.value) == (2 / 3, 1 / 2, 1)
        shutil.move(classes, tmp_path / "gone.csv")
        assert regrade.open(workspace.store.root).grade("shelf").rows[0].top1.value == 2 / 3

    def test_class_space_file_can_be_imported_again(self, workspace, tmp_path):
        classes = write(tmp_path / "toys.csv", ("id",), ("b",), ("d",))
        for model in ("m", "n"):
            file = write(tmp_path / f"{model}.csv", ("image", "label", model), ("1", "b", "d"))
            workspace.models.import_predictions(file, test_set="shelf", classes=classes)
        assert workspace.models.names("shelf") == ("m", "n")

    def test_class_space_object_is_stored_once(self, workspace):
        space = workspace.testsets.class_space(SUBSET)
        assert space is SUBSET
        assert not (workspace.store.root / "classes").exists()
        own = SPACE.subset("fish", [0, 1])
        workspace.testsets.class_space(own)
        assert workspace.testsets.class_space("fish") == own


class TestGroups:
    @pytest.fixture
    def regions(self, workspace, tmp_path) -> Workspace:
        file = write(
            tmp_path / "p.csv",
            ("image", "label", "region", "income", "m"),
            ("1", "cat", "Africa", "low", "cat"),
            ("2", "dog", "Asia", "low", "cat"),
            ("3", "cat", "Africa", "high", "dog"),
            ("4", "cat", "NA", "low", "cat"),
        )
        columns = Columns(groups=("region", "income"))
        workspace.models.import_predictions(file, test_set="world", classes="cifar-10", columns=columns)
        return workspace

    def test_grade_slices_by_one_value(self, regions):
        rows = {row.slice: row.top1 for row in regions.grade("world", slices=["region=Africa"]).rows}
        assert list(rows) == ["all", "region=Africa"]
        assert rows["region=Africa"] == proportion(1, 2)

    def test_grade_slices_by_all_values_of_a_column(self, regions):
        rows = {row.slice: row.top1.value for row in regions.grade("world", slices=["region", "income"]).rows}
        by_region = {"region=Africa": 0.5, "region=Asia": 0.0, "region=NA": 1.0}
        assert rows == {"all": 0.5, **by_region, "income=high": 0.0, "income=low": 2 / 3}

    def test_grade_command_slices_by_a_column(self, regions):
        command = ("grade", "-t", "world", "--slice", "region", "-w", regions.store.root, "--json")
        assert [r["slice"] for r in json.loads(run_well(*command).out)["rows"]][1:] == [
            "region=Africa", "region=Asia", "region=NA",
        ]  # fmt: skip

    def test_grade_suggests_similar_group_values(self, regions):
        with pytest.raises(InputError, match="'Afrika'; did you mean Africa"):
            regions.grade("world", slices=["region=Afrika"])


OBJECTS = {"bowl": ["n07920052", "n04263257"], "mug": ["n03063599", "n07930864"], "lamp": ["n04380533"], "spice": []}


class TestClassMap:
    """Four household objects with ImageNet predictions; any mapped class among the top k is correct."""

    @pytest.fixture
    def homes(self, workspace, tmp_path) -> tuple[Workspace, np.ndarray, list[str]]:
        rng = np.random.default_rng(4)
        classes = write(tmp_path / "homes.csv", ("id",), *((name,) for name in OBJECTS))
        labels = [list(OBJECTS)[i % 4] for i in range(40)]
        write(tmp_path / "set.csv", ("image", "label"), *((f"i{n}", label) for n, label in enumerate(labels)))
        workspace.testsets.add("homes", tmp_path / "set.csv", classes=classes)
        mapped = [SPACE.index(c) for ids in OBJECTS.values() for c in ids]
        best = np.array([[*rng.permutation(mapped)[:2], *rng.permutation(np.arange(900, 960))[:5]] for _ in labels])
        best = rng.permuted(best, axis=1)[:, :5]
        np.save(tmp_path / "m.npy", best)
        workspace.models.import_predictions(tmp_path / "m.npy", test_set="homes", classes="imagenet-1k")
        return workspace, best, labels

    @pytest.mark.parametrize("form", ["json", "csv"])
    def test_class_map_matches_a_plain_implementation(self, homes, tmp_path, form):
        workspace, best, labels = homes
        path = tmp_path / f"map.{form}"
        if form == "json":
            path.write_text(json.dumps(OBJECTS))
        else:
            write(path, ("target", "source"), *((t, s) for t, ids in OBJECTS.items() for s in ids or [""]))
        (row,) = workspace.grade("homes", class_map=path).rows
        for k, estimate in ((1, row.top1), (5, row.top5)):
            outcomes = [
                any(SPACE.ids[c] in OBJECTS[label] for c in top[:k])
                for top, label in zip(best, labels, strict=True)
                if OBJECTS[label]
            ]
            assert (estimate.value, estimate.n) == (sum(outcomes) / 30, 30)
        assert 0 < row.top1.value < row.top5.value < 1

    def test_grade_requires_a_class_map(self, homes):
        with pytest.raises(MismatchError, match="give a class map with --map"):
            homes[0].grade("homes")

    def test_label_sets_reject_predictions_in_other_classes(self, homes, tmp_path):
        workspace, *_ = homes
        file = write(tmp_path / "l.csv", ("image", "class"), ("i0", "bowl"))
        workspace.labels.import_file(file, test_set="homes", name="judged")
        path = tmp_path / "map.json"
        path.write_text(json.dumps(OBJECTS))
        with pytest.raises(MismatchError, match="imagenet-1k"):
            workspace.grade("homes", labels="judged", class_map=path)
        with pytest.raises(MismatchError, match="imagenet-1k"):
            workspace.labels.novel("homes", labels="judged")


class TestWithin:
    """The 200-way rule of ImageNet-A and -R, from full scores."""

    N = 300

    @pytest.fixture
    def scored(self, workspace, tmp_path) -> tuple[Workspace, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(8)
        labels = rng.choice([*(SPACE.index(c) for c in SUBSET.ids), *range(50)], self.N)
        scores = rng.normal(size=(self.N, 1000)).astype(np.float32)
        scores[np.arange(self.N), labels] += rng.normal(3, 1, self.N).astype(np.float32)
        write(tmp_path / "set.csv", ("image", "wnid"), *((f"i{n}", SPACE.ids[c]) for n, c in enumerate(labels)))
        workspace.testsets.add("val", tmp_path / "set.csv", classes="imagenet-1k")
        workspace.models.add_predictions("m", scores, test_set="val")
        return workspace, scores, labels

    @staticmethod
    def plain_counts(scores: np.ndarray, labels: np.ndarray, k: int) -> tuple[int, int]:
        allowed = [SPACE.index(c) for c in SUBSET.ids]
        right = counted = 0
        for row, label in zip(scores, labels, strict=True):
            if label in allowed:
                counted += 1
                right += label in sorted(allowed, key=lambda c: (-row[c], c))[:k]
        return right, counted

    def test_within_matches_a_plain_implementation(self, scored):
        workspace, scores, labels = scored
        (row,) = workspace.grade("val", within="imagenet-a").rows
        assert row.top1 == proportion(*self.plain_counts(scores, labels, 1))
        assert row.top5 == proportion(*self.plain_counts(scores, labels, 5))
        assert row.undetermined == 0
        assert row.top1.value > workspace.grade("val").rows[0].top1.value

    def test_within_breaks_near_ties_before_rounding(self, workspace, tmp_path):
        first, second = (SPACE.index(c) for c in SUBSET.ids[:2])
        scores = np.zeros((2, 1000), dtype=np.float32)
        scores[:, first], scores[:, second] = 10.0, 10.001
        write(tmp_path / "set.csv", ("image", "wnid"), ("a", SUBSET.ids[1]), ("b", SUBSET.ids[1]))
        workspace.testsets.add("val", tmp_path / "set.csv", classes="imagenet-1k")
        workspace.models.add_predictions("m", scores, test_set="val")
        assert workspace.grade("val", within="imagenet-a").rows[0].top1.value == 1

    def test_test_set_of_a_subset_is_scored_within_it(self, scored, tmp_path):
        """ImageNet-A: labels in 200 classes, predictions in 1,000, without an option."""
        workspace, scores, labels = scored
        inside = [n for n, c in enumerate(labels) if SPACE.ids[c] in SUBSET.index_of]
        write(tmp_path / "a.csv", ("image", "wnid"), *((f"i{n}", SPACE.ids[labels[n]]) for n in inside))
        workspace.testsets.add("a", tmp_path / "a.csv", classes="imagenet-a")
        np.save(tmp_path / "m.npy", scores[inside])
        workspace.models.import_predictions(tmp_path / "m.npy", test_set="a", classes="imagenet-1k")
        (row,) = workspace.grade("a").rows
        assert row.top1 == workspace.grade("val", within="imagenet-a").rows[0].top1

    def test_within_fewer_than_five_classes_has_no_top5(self, scored, tmp_path):
        workspace, scores, labels = scored
        few = write(tmp_path / "few.csv", ("id",), *((c,) for c in SPACE.ids[:3]))
        before = snapshot(workspace.store.root)
        (row,) = workspace.grade("val", within=few).rows
        right = [scores[n, :3].argmax() == c for n, c in enumerate(labels) if c < 3]
        assert row.top1 == proportion(sum(right), len(right))
        assert row.top5 is None
        assert snapshot(workspace.store.root) == before  # grading stores nothing


class TestResults:
    @pytest.fixture
    def shelf(self, pets: Path, tmp_path: Path) -> Workspace:
        file = write(tmp_path / "n.csv", ("image", "second <b>"), *((f"p{i}", "cat") for i in range(6)))
        run_well("import", "predictions", file, "-t", "pets", "-w", pets)
        return regrade.open(pets)

    def test_workspace_lists_its_contents(self, shelf):
        assert shelf.testsets.names() == ("pets",)
        assert shelf.models.names("pets") == ("first", "second <b>")
        assert shelf.labels.names("pets") == ()
        assert repr(shelf) == f"regrade.open({str(shelf.store.root)!r})"
        with pytest.raises(InputError, match="did you mean pets"):
            shelf.models.names("pet")

    def test_grade_converts_to_html_and_pandas(self, shelf):
        grade = shelf.grade("pets")
        assert "second &lt;b&gt;" in grade._repr_html_() and "<b>" not in grade._repr_html_()
        frame = grade.to_pandas()
        assert frame["model"].tolist() == ["first", "second <b>"]
        assert frame["top1"].tolist() == pytest.approx([4 / 6, 2 / 6])
        assert grade.to_arrow().column_names[:5] == ["model", "top1", "top1_low", "top1_high", "top1_n"]

    def test_comparison_converts_to_pandas(self, shelf):
        comparison = shelf.compare(test_set="pets")
        assert comparison.to_pandas()["difference"].tolist() == pytest.approx([2 / 6])
        assert (comparison.pairs[0].only_first, comparison.pairs[0].only_second) == (2, 0)
        assert comparison == shelf.compare("pets", ["first", "second <b>"])
        turned = shelf.compare("pets", ["second <b>", "first"]).pairs[0]
        assert (turned.only_second, turned.difference.value) == (2, pytest.approx(-2 / 6))

    def test_confidence_is_that_of_the_workspace(self, shelf):
        wide = shelf.grade("pets").rows[0].top1
        config = shelf.store.root / "regrade.toml"
        config.write_text(config.read_text().replace("0.95", "0.5"))
        narrow = regrade.open(shelf.store.root).grade("pets").rows[0].top1
        assert wide.low < narrow.low < narrow.value < narrow.high < wide.high
        assert narrow.method == "clopper-pearson 50%"
        assert "50%" in regrade.open(shelf.store.root).compare(test_set="pets").pairs[0].difference.method

    def test_python_and_command_line_give_the_same_grade(self, shelf):
        ran = run_well("grade", "-t", "pets", "-w", shelf.store.root, "--json")
        assert json.loads(ran.out) == json.loads(json.dumps(shelf.grade("pets").as_dict()))
