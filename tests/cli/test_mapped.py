"""Test sets with other classes than the models predict."""

import json
from pathlib import Path

import pytest
from releases import (
    OBJECTNET_IMAGES,
    OBJECTNET_TO_IMAGENET,
    STREET,
    write_csv,
    write_dollarstreet,
    write_geode,
    write_objectnet,
)
from running import assert_one_line, run, run_well, snapshot

from regrade.classes import class_space
from regrade.stats import bonferroni_confidence, mark_simultaneous, proportion
from regrade.testsets import entry
from regrade.workspace import open as open_workspace

FISH = (0, 1, 2, 3, 4)
"""Classes that are not mapped to any label."""


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    run_well("init", tmp_path / "W")
    return tmp_path / "W"


def write_answers(path: Path, answers: dict[str, tuple[int, ...]]) -> Path:
    """The best five classes of ImageNet for each example, best first; filled with fish."""
    best = ((example, *given, *FISH[: 5 - len(given)]) for example, given in answers.items())
    return write_csv(path, ("id", "top1", "top2", "top3", "top4", "top5"), *best)


def import_answers(workspace: Path, test_set: str, answers: dict[str, tuple[int, ...]], model: str = "m") -> None:
    path = write_answers(workspace.parent / f"{model}.csv", answers)
    run_well(
        "import", "predictions", path, "-t", test_set, "--model", model, "--classes", "imagenet-1k", "-w", workspace
    )


def graded(workspace: Path, test_set: str, *options: object) -> tuple[dict, list[str]]:
    """Top-1 and top-5 of the only model for each slice as (right, counted), and the notes."""
    result = json.loads(run_well("grade", "-t", test_set, *options, "--json", "-w", workspace).out)
    rows = {}
    slices = len(result["rows"]) - 1
    for row in result["rows"]:
        together = 1 if row["slice"] == "all" else slices
        for key in ("top1", "top5"):
            n = row[key]["n"]
            right = round(row[key]["value"] * n)
            alone = proportion(right, n, confidence=bonferroni_confidence(together))
            assert row[key] == mark_simultaneous(alone, together).as_dict()
            rows[row["slice"], key] = (right, n)
    return rows, result["notes"]


def refused(workspace: Path, *command: object, words: tuple[str, ...]) -> None:
    before = snapshot(workspace)
    assert_one_line(run(*command, "-w", workspace), *words)
    assert snapshot(workspace) == before


OBJECTNET_ANSWERS = {
    "a1.png": (530,),  # digital clock: right
    "a2.png": (10, 11, 409),  # analog clock third: right among five
    "b1.png": (954,),  # banana: right
    "b2.png": (),  # wrong
    "x1.png": (954,),  # a blender has no class in ImageNet: not counted
    "x2.png": (),
    "c1.png": (559,),  # folding chair: right
    "c2.png": (10, 11, 12, 13, 765),  # rocking chair fifth: right among five
}


class TestObjectNet:
    @pytest.fixture
    def release(self, tmp_path) -> Path:
        return write_objectnet(tmp_path)

    @pytest.fixture
    def objectnet(self, empty, release) -> Path:
        run_well("testsets", "add", "objectnet", release, "-w", empty)
        import_answers(empty, "objectnet", OBJECTNET_ANSWERS)
        return empty

    def test_add_prints_the_class_map(self, empty, release):
        done = run_well("testsets", "add", "objectnet", release, "-w", empty)
        assert done.err == (
            "added test set objectnet: 8 examples, images by reader folder, "
            "class map from imagenet-1k onto 4 of 5 classes\n"
            "note: passed over 3 files that are not images regrade reads: 2 .json, 1 without a suffix\n"
        )
        before = snapshot(empty)
        again = run_well("testsets", "add", "objectnet", release, "-w", empty)
        assert again.err.startswith("unchanged: test set objectnet: 8 examples")
        assert snapshot(empty) == before

    def test_grade_accepts_any_mapped_class_and_skips_unmapped_ones(self, objectnet):
        rows, notes = graded(objectnet, "objectnet")
        assert rows == {("all", "top1"): (3, 6), ("all", "top5"): (5, 6)}
        assert notes[0] == (
            "label space: any mapped class in the top k over all classes, imagenet-1k onto objectnet (7 classes); "
            "2 of 8 labeled examples are left out, their classes are not scored"
        )

    def test_a_class_is_a_slice(self, objectnet):
        rows, _ = graded(objectnet, "objectnet", "--slice", "chair")
        assert (rows["chair", "top1"], rows["chair", "top5"]) == ((1, 2), (2, 2))

    def test_border_is_cropped(self, objectnet):
        store = open_workspace(objectnet).store
        assert store.images.read(store.test_set("objectnet")).border == 2
        checked = json.loads(run("testsets", "check", "objectnet", "--json", "-w", objectnet).out)
        assert (checked["unreadable"], checked["expected"]) == ([], 50_273)

    def test_map_option_overrides_the_stored_map(self, objectnet, tmp_path):
        rows = [
            ("alarm_clock", ""),
            ("banana", "n07753592"),
            ("blender", "n07753592"),
            ("chair", ""),
            ("mixing_salad_bowl", ""),
        ]
        path = write_csv(tmp_path / "map.csv", ("target", "source"), *rows)
        assert graded(objectnet, "objectnet", "--map", path)[0]["all", "top1"] == (2, 4)
        assert graded(objectnet, "objectnet")[0]["all", "top1"] == (3, 6)

    def test_compare_uses_the_map(self, objectnet):
        answers = {**OBJECTNET_ANSWERS, "b1.png": (), "b2.png": (954,), "a1.png": (), "x1.png": ()}
        import_answers(objectnet, "objectnet", answers, model="n")
        result = json.loads(run_well("compare", "m", "n", "-t", "objectnet", "--json", "-w", objectnet).out)
        pair = result["pairs"][0]
        assert (result["images"], pair["only_first"], pair["only_second"]) == (6, 2, 1)

    def test_model_with_objectnet_classes_needs_no_map(self, objectnet, tmp_path):
        folders = {place.rpartition("/")[2]: place.partition("/")[0] for place in OBJECTNET_IMAGES}
        path = write_csv(tmp_path / "own.csv", ("id", "own"), *folders.items())
        run_well("import", "predictions", path, "-t", "objectnet", "-w", objectnet)
        result = json.loads(run_well("grade", "-t", "objectnet", "--model", "own", "--json", "-w", objectnet).out)
        assert (result["rows"][0]["top1"]["value"], result["rows"][0]["top1"]["n"]) == (1, 8)

    def test_model_with_other_classes_needs_another_map(self, objectnet, tmp_path):
        path = write_csv(tmp_path / "c.csv", ("id", "c"), *((example, "cat") for example in OBJECTNET_ANSWERS))
        run_well("import", "predictions", path, "-t", "objectnet", "--classes", "cifar-10", "-w", objectnet)
        refused(objectnet, "grade", "-t", "objectnet", words=("'cifar-10'", "'objectnet'", "--map"))

    def test_show_prints_the_map(self, objectnet):
        command = ("testsets", "show", "objectnet", "-w", objectnet)
        assert "class map from imagenet-1k onto 4 of 5 classes" in run_well(*command).out
        assert json.loads(run_well(*command, "--json").out)["class_map"] == {
            "source": "imagenet-1k",
            "target": "objectnet",
            "rule": "any mapped class in the top k over all classes",
            "classes": 5,
            "mapped": 4,
        }

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--within", "imagenet-a"), ("scored through a class map", "--within")),
            (("--clean", "objectnet"), ("scored through a class map", "--clean")),
        ],
    )
    def test_map_rejects_conflicting_options(self, objectnet, options, words):
        refused(objectnet, "grade", "-t", "objectnet", *options, words=words)

    def test_unknown_class_is_reported(self, empty, release):
        path = release / "mappings" / "objectnet_to_imagenet_1k.json"
        path.write_text(json.dumps({**OBJECTNET_TO_IMAGENET, "Chair": "bar chair"}))
        refused(empty, "testsets", "add", "objectnet", release, words=("'Chair'", "'bar chair'", "barber chair"))

    def test_incomplete_release_is_reported(self, empty, release):
        refused(empty, "testsets", "add", "objectnet", release / "images", words=("mappings", "is missing"))
        (release / "mappings" / "objectnet_to_imagenet_1k.json").unlink()
        words = ("objectnet_to_imagenet_1k.json is missing", "give the folder")
        refused(empty, "testsets", "add", "objectnet", release, words=words)

    @pytest.mark.parametrize("name", ["nowhere", "objectnet-1.0.zip"])
    def test_file_instead_of_a_folder_is_reported(self, empty, tmp_path, name):
        (tmp_path / "objectnet-1.0.zip").write_bytes(b"PK")
        refused(empty, "testsets", "add", "objectnet", tmp_path / name, words=(name, "is not a folder", "unpacks"))

    def test_folder_without_a_label_is_reported(self, empty, release):
        (release / "images" / "banana").rename(release / "images" / "bananas")
        refused(empty, "testsets", "add", "objectnet", release, words=("folder 'images/bananas'", "objectnet"))

    def test_changed_mappings_are_rejected(self, objectnet, release):
        path = release / "mappings" / "objectnet_to_imagenet_1k.json"
        path.write_text(json.dumps({**OBJECTNET_TO_IMAGENET, "Blender": "banana"}))
        words = ("another class map is stored with objectnet", "objectnet.json to replace it", "--map")
        refused(objectnet, "testsets", "add", "objectnet", release, words=words)

    def test_classes_option_takes_precedence(self, empty, release, tmp_path):
        write_csv(tmp_path / "own.csv", ("id",), *((name,) for name in ("alarm_clock", "banana", "blender", "chair")))
        done = run_well("testsets", "add", "objectnet", release, "--classes", tmp_path / "own.csv", "-w", empty)
        assert "class map" not in done.err
        refused(empty, "testsets", "add", "objectnet", release, words=("stored with other classes (own)",))


class TestGeography:
    def test_geode(self, empty, tmp_path):
        path = write_geode(tmp_path)
        done = run_well("testsets", "add", "geode", path, "-w", empty)
        assert done.err == (
            "added test set geode: 5 examples, images by reader manifest, "
            "class map from imagenet-1k onto 2 of 3 classes\n"
        )
        answers = {"g1": (748,), "g2": (10, 414), "g3": (), "g4": (844,), "g5": (844,)}
        import_answers(empty, "geode", answers)
        rows, notes = graded(empty, "geode", "--slice", "region")
        assert rows == {
            ("all", "top1"): (2, 4),
            ("all", "top5"): (3, 4),
            ("region=Africa", "top1"): (1, 2),
            ("region=Africa", "top5"): (1, 2),
            ("region=Europe", "top1"): (1, 2),
            ("region=Europe", "top5"): (2, 2),
        }
        assert "1 of 5 labeled examples are left out" in notes[0]

    def test_geode_images_can_be_added_later(self, empty, tmp_path):
        path = write_geode(tmp_path, images=False)
        done = run_well("testsets", "add", "geode", path, "-w", empty)
        assert "5 examples, without images, all listed images are missing, class map" in done.err
        before = open_workspace(empty).store.test_set("geode").digest
        write_geode(tmp_path)
        (path.parent / "images" / "Europe" / "Spain" / "Spain_bag_1.jpg").unlink()
        done = run_well("testsets", "add", "geode", path, "-w", empty)
        assert done.err.startswith("added test set geode: 5 examples, images by reader manifest, 1 of them missing")
        assert open_workspace(empty).store.test_set("geode").digest == before
        checked = json.loads(run("testsets", "check", "geode", "--json", "-w", empty).out)
        assert [name for name, _ in checked["unreadable"]] == ["g2"]

    def test_geode_rows_must_agree(self, empty, tmp_path):
        rows = (("g1", "bag", "Africa", "Mali", "[414]"), ("g2", "bag", "Africa", "Mali", "[748]"))
        words = ("rows of 'bag' list different classes", "n02769748", "n04026417")
        refused(empty, "testsets", "add", "geode", write_geode(tmp_path, rows), words=words)

    def test_dollar_street(self, empty, tmp_path):
        done = run_well("testsets", "add", "dollarstreet", write_dollarstreet(tmp_path), "-w", empty)
        assert "6 examples, images by reader manifest, class map from imagenet-1k onto 4 of 4 classes" in done.err
        answers = {"s1": (851,), "s2": (10, 861), "s3": (), "s4": (504,), "s5": (968,), "s6": (504,)}
        import_answers(empty, "dollarstreet", answers)
        rows, _ = graded(empty, "dollarstreet", "--slice", "region.id", "--slice", "income=45")
        assert {name: right for (name, key), right in rows.items() if key == "top1"} == {
            "all": (3, 6), "region.id=af": (1, 2), "region.id=am": (1, 2), "region.id=as": (1, 2), "income=45": (1, 2),
        }  # fmt: skip
        assert rows["region.id=af", "top5"] == (2, 2)
        assert len(STREET) == 6

    @pytest.mark.parametrize(("name", "words"), [("nowhere.csv", "there is no file"), ("geode", "is a folder")])
    def test_file_that_is_not_a_table_is_reported(self, empty, tmp_path, name, words):
        write_geode(tmp_path)
        refused(empty, "testsets", "add", "geode", tmp_path / name, words=(name, words))

    def test_table_without_its_columns_is_reported(self, empty, tmp_path):
        path = write_csv(tmp_path / "x.csv", ("id", "topics"), ("a", "['tv']"))
        words = ("no column 'imagenet_sysnet_id'", "regrade testsets catalog dollarstreet")
        refused(empty, "testsets", "add", "dollarstreet", path, words=words)


HOMES = "image,label\nh1,bowl\nh2,mug\nh3,spice\nh4,mug\n"
HOME_MAP = {"bowl": ["n07920052"], "mug": ["n03063599", "n07930864"], "spice": []}


class TestOwnMap:
    @pytest.fixture
    def files(self, tmp_path) -> dict[str, Path]:
        (tmp_path / "homes.csv").write_text(HOMES)
        write_csv(tmp_path / "things.csv", ("id",), *((name,) for name in HOME_MAP))
        (tmp_path / "map.json").write_text(json.dumps(HOME_MAP))
        return {name: tmp_path / name for name in ("homes.csv", "things.csv", "map.json")}

    def test_map_is_stored_with_any_test_set(self, empty, files):
        add = ("testsets", "add", "homes", files["homes.csv"], "--classes", files["things.csv"], "-w", empty)
        done = run_well(*add, "--map", files["map.json"])
        assert done.err == (
            "added test set homes: 4 examples, without images, class map from imagenet-1k onto 2 of 3 classes\n"
        )
        for file in files.values():
            file.unlink()
        import_answers(empty, "homes", {"h1": (967,), "h2": (504,), "h3": (504,), "h4": (10, 968)})
        rows, _ = graded(empty, "homes")
        assert rows == {("all", "top1"): (2, 3), ("all", "top5"): (3, 3)}

    def test_map_can_be_added_once_later(self, empty, files, tmp_path):
        add = ("testsets", "add", "homes", files["homes.csv"])
        run_well(*add, "--classes", files["things.csv"], "-w", empty)
        assert run_well(*add, "--map", files["map.json"], "-w", empty).err.startswith("added")
        assert run_well(*add, "--map", files["map.json"], "-w", empty).err.startswith("unchanged:")
        assert "class map from imagenet-1k" in run_well(*add, "-w", empty).err
        other_map = tmp_path / "other.json"
        other_map.write_text(json.dumps({**HOME_MAP, "spice": ["n07753592"]}))
        refused(empty, *add, "--map", other_map, words=("another class map is stored with homes: remove",))

    def test_map_source_other_than_imagenet(self, empty, files, tmp_path):
        (tmp_path / "map.csv").write_text("target,source\nbowl,cat\nmug,dog\nspice,\n")
        add = ("testsets", "add", "homes", files["homes.csv"], "--classes", files["things.csv"])
        refused(empty, *add, "--map", tmp_path / "map.csv", words=("line 2", "unknown class id of imagenet-1k 'cat'"))
        done = run_well(*add, "--map", tmp_path / "map.csv", "--map-source", "cifar-10", "-w", empty)
        assert "class map from cifar-10 onto 2 of 3 classes" in done.err
        write_csv(tmp_path / "m.csv", ("image", "m"), ("h1", "cat"), ("h2", "cat"), ("h3", "cat"), ("h4", "dog"))
        run_well("import", "predictions", tmp_path / "m.csv", "-t", "homes", "--classes", "cifar-10", "-w", empty)
        result = json.loads(run_well("grade", "-t", "homes", "--json", "-w", empty).out)
        assert result["rows"][0]["top1"] == proportion(2, 3).as_dict()

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ({"bowl": []}, ("lacks 2 classes of things", "'mug'")),
            ({**HOME_MAP, "cup": []}, ("unknown class id of things 'cup'",)),
            ({**HOME_MAP, "bowl": ["bowl"]}, ("unknown class id of imagenet-1k 'bowl'",)),
            ({**HOME_MAP, "bowl": [1000]}, ("outside 'imagenet-1k'",)),
        ],
    )
    def test_invalid_map_is_rejected(self, empty, files, content, words):
        files["map.json"].write_text(json.dumps(content))
        add = ("testsets", "add", "homes", files["homes.csv"], "--classes", files["things.csv"])
        refused(empty, *add, "--map", files["map.json"], words=("map.json", *words))

    def test_missing_or_unneeded_map_is_rejected(self, empty, files, tmp_path):
        add = ("testsets", "add", "homes", files["homes.csv"], "--classes", files["things.csv"])
        refused(empty, *add, "--map", tmp_path / "no.json", words=("no.json: no such file",))
        refused(
            empty, *add, "--map", files["map.json"], "--map-source", files["things.csv"], words=("leave out --map",)
        )


class TestCatalogCommands:
    """The commands of the catalog work on small versions of the releases."""

    @pytest.mark.parametrize("name", ["objectnet", "geode", "dollarstreet"])
    def test_command_adds_the_set(self, empty, tmp_path, monkeypatch, name):
        {"objectnet": write_objectnet, "geode": write_geode, "dollarstreet": write_dollarstreet}[name](tmp_path)
        monkeypatch.chdir(tmp_path)
        program, *command = entry(name).command.split()
        assert program == "regrade"
        run_well(*command, "-w", empty)
        store = open_workspace(empty).store
        test_set = store.test_set(name)
        assert store.class_maps.read(test_set).source == class_space("imagenet-1k")
        assert tuple(test_set.groups) == entry(name).groups
        assert store.images.has(name)


@pytest.mark.parametrize("name", ["real", "multilabel-v3", "imagenet-m", "imagenet-x"])
def test_add_rejects_label_sets_of_the_catalog(empty, tmp_path, name):
    (tmp_path / "x.csv").write_text("image,label\na,n01440764\n")
    refused(
        empty,
        "testsets",
        "add",
        name,
        tmp_path / "x.csv",
        words=(f"{name} is not a test set", "regrade import"),
    )
