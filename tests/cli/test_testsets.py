"""regrade testsets: add, check, list, catalog, download, as a hurried user types them."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from offered_readers import install
from PIL import Image
from running import assert_one_line, run, run_well, snapshot
from small_set import encoded, noise, write_tar

from regrade.workspace import open as open_workspace

PNG = encoded(noise(0))
CLASSES = ("--classes", "cifar-10")
PETS = ("cat/p0.png", "dog/p1.png", "bird/p2.png", "cat/p3.JPEG", "ship/p4.png", "frog/p5.png")


def fill(root: Path, places: tuple[str, ...] = PETS) -> Path:
    for number, place in enumerate(places):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_bytes(encoded(noise(number)))
    return root


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """The images of the test set pets, in folders by class."""
    return fill(tmp_path / "images")


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    run_well("init", tmp_path / "E")
    return tmp_path / "E"


def refused(workspace: Path, *arguments: object, words: tuple[str, ...]) -> None:
    before = snapshot(workspace)
    assert_one_line(run("testsets", *arguments, "-w", workspace), *words)
    assert snapshot(workspace) == before


class TestAdd:
    @pytest.mark.parametrize("name", ["p\t6.png", "p\n6.png", " p6.png"], ids=["tab", "newline", "blank"])
    def test_invalid_file_names_are_rejected(self, empty, images, name):
        fill(images, (f"cat/{name}",))
        words = (f"example {name!a} has surrounding spaces or control characters",)
        refused(empty, "add", "zoo", images, *CLASSES, words=words)

    def test_a_folder(self, empty, images):
        done = run_well("testsets", "add", "zoo", images, *CLASSES, "-w", empty)
        assert done.err == "added test set zoo: 6 examples, images by reader folder\n"
        assert done.out == ""
        again = run_well("testsets", "add", "zoo", images, *CLASSES, "-w", empty)
        assert again.err == "unchanged: test set zoo: 6 examples, images by reader folder\n"

    def test_images_are_not_copied(self, empty, images):
        before = snapshot(images)
        run_well("testsets", "add", "zoo", images, *CLASSES, "-w", empty)
        assert snapshot(images) == before
        assert not list(empty.rglob("*.png"))

    def test_by_a_relative_path(self, empty, images, monkeypatch):
        monkeypatch.chdir(images.parent)
        run_well("testsets", "add", "zoo", "images/", *CLASSES, "-w", empty)
        monkeypatch.chdir("/")
        run_well("testsets", "check", "zoo", "-w", empty)

    def test_catalog_name_selects_the_class_space(self, empty, tmp_path):
        np.savez(tmp_path / "x.npz", images=np.zeros((3, 32, 32, 3), np.uint8), labels=np.array([0, 1, 9]))
        run_well("testsets", "add", "cifar-10.2", tmp_path / "x.npz", "-w", empty)
        assert open_workspace(empty).store.test_set("cifar-10.2").class_space.name == "cifar-10"

    def test_folder_100_is_class_100(self, empty, tmp_path):
        fill(tmp_path / "v2", tuple(f"{index}/{index}.png" for index in (*range(10), 100)))
        run_well("testsets", "add", "imagenetv2-top-images", tmp_path / "v2", "-w", empty)
        test_set = open_workspace(empty).store.test_set("imagenetv2-top-images")
        assert {example: int(label) for example, label in zip(test_set.ids, test_set.labels, strict=True)} == {
            f"{index}.png": index for index in (*range(10), 100)
        }

    def test_layout_option(self, empty, tmp_path):
        (tmp_path / "odd.csv").write_text("id,name\n1,one\n2,two\n0,none\n")
        path = fill(tmp_path / "odd", ("1/a.png", "2/b.png"))
        options = ("add", "odd", path, "--classes", tmp_path / "odd.csv")
        refused(empty, *options, words=("could be read as id or index", "--layout"))
        run_well("testsets", *options, "--layout", "index", "-w", empty)
        assert open_workspace(empty).store.test_set("odd").labels.tolist() == [1, 2]

    def test_without_labels(self, empty, images):
        run_well("testsets", "add", "zoo", images, *CLASSES, "--layout", "flat", "-w", empty)
        assert open_workspace(empty).store.test_set("zoo").labels.tolist() == [-1] * 6

    def test_a_table_without_images(self, empty, tmp_path):
        (tmp_path / "x.csv").write_text("image,label,region\na,cat,north\nb,dog,south\n")
        done = run_well("testsets", "add", "zoo", tmp_path / "x.csv", *CLASSES, "--group", "region", "-w", empty)
        assert done.err == "added test set zoo: 2 examples, without images\n"
        refused(empty, "check", "zoo", words=("test set zoo has no images: regrade testsets add zoo PATH",))

    def test_groups_of_a_manifest(self, empty, images):
        rows = "".join(f"{place},{place.split('/')[0]},r{n % 2}\n" for n, place in enumerate(PETS))
        (images / "list.csv").write_text("path,label,region\n" + rows)
        run_well("testsets", "add", "zoo", images / "list.csv", *CLASSES, "--group", "region", "-w", empty)
        assert open_workspace(empty).store.test_set("zoo").groups["region"] == ("r0", "r1") * 3
        run_well("testsets", "check", "zoo", "-w", empty)

    def test_missing_images_of_a_table_are_counted(self, empty, images):
        rows = "".join(f"{place},{place.split('/')[0]}\n" for place in (*PETS, "cat/p8.png", "dog/p9.png"))
        (images / "list.csv").write_text("path,label\n" + rows)
        done = run_well("testsets", "add", "zoo", images / "list.csv", *CLASSES, "-w", empty)
        assert done.err == "added test set zoo: 8 examples, images by reader manifest, 2 of them missing\n"

    def test_table_with_only_missing_images_is_rejected(self, empty, tmp_path):
        (tmp_path / "list.csv").write_text("path,label\ncat/p0.png,cat\ndog/p1.png,dog\n")
        words = ("none of the 2 images", "'cat/p0.png'", "name the column image instead of path")
        refused(empty, "add", "zoo", tmp_path / "list.csv", *CLASSES, words=words)
        (tmp_path / "list.csv").write_text("image,label\ncat/p0.png,cat\ndog/p1.png,dog\n")
        done = run_well("testsets", "add", "zoo", tmp_path / "list.csv", *CLASSES, "-w", empty)
        assert done.err == "added test set zoo: 2 examples, without images\n"

    @pytest.mark.parametrize("heading", ["path,label", "image,label", "path,what"])
    def test_layout_flat_rejects_a_table_with_labels(self, empty, images, heading):
        rows = "".join(f"{place},{place.split('/')[0]}\n" for place in PETS)
        (images / "list.csv").write_text(f"{heading}\n{rows}")
        options = () if heading.endswith("label") else ("--label-column", "what")
        words = ("list.csv has labels in column", heading.rpartition(",")[2], "--layout flat")
        refused(empty, "add", "zoo", images / "list.csv", *CLASSES, *options, "--layout", "flat", words=words)

    def test_layout_flat_accepts_a_table_without_labels(self, empty, images):
        (images / "list.csv").write_text("path,what\n" + "".join(f"{place},x\n" for place in PETS))
        run_well("testsets", "add", "zoo", images / "list.csv", *CLASSES, "--layout", "flat", "-w", empty)
        assert open_workspace(empty).store.test_set("zoo").labels.tolist() == [-1] * 6

    def test_layout_flat_rejects_parquet_with_labels(self, empty, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"image": [PNG], "label": ["cat"]}), tmp_path / "x.parquet")
        words = ("x.parquet has labels in column 'label'", "--layout flat")
        refused(empty, "add", "zoo", tmp_path / "x.parquet", *CLASSES, "--layout", "flat", words=words)

    @pytest.mark.parametrize(
        ("places", "options", "words"),
        [
            ((), CLASSES, ("contains no images",)),
            (("cta/a.png",), CLASSES, ("folder 'cta'", "not a class id or index or name of cifar-10", "--layout flat")),
            (("a.png",), CLASSES, ("--layout flat",)),
            (("cat/a.png",), (), ("give its classes with --classes",)),
            (("cat/a.png",), ("--classes", "cifar-11"), ("cifar-11", "cifar-10")),
            (("cat/a.png",), (*CLASSES, "--layout", "index"), ("folder 'cat'", "not a class index")),
            (("cat/a.png",), (*CLASSES, "--group", "region"), ("folders by region/class", "'region'")),
        ],
    )
    def test_unknown_class_folders_are_rejected(self, empty, tmp_path, places, options, words):
        (tmp_path / "set").mkdir()
        refused(empty, "add", "zoo", fill(tmp_path / "set", places), *options, words=words)

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("x.npz", b"PK\x03\x04", ("x.npz cannot be read",)),
            ("x.npy", b"", ("x.npy is empty",)),
            ("x.tar", b"junk", ("x.tar cannot be read",)),
            ("x.parquet", b"PAR1", ("x.parquet cannot be read",)),
            ("x.csv", b"", ("x.csv is empty",)),
            ("x.csv", b"path,label\n", ("x.csv contains no rows",)),
            ("x.zip", b"PK", ("no reader recognizes", "unpack it first")),
            ("x.jpg", b"x", ("no reader recognizes",)),
            ("x", b"x", ("no reader recognizes",)),
        ],
    )
    def test_files_that_cannot_be_read(self, empty, tmp_path, name, content, words):
        (tmp_path / name).write_bytes(content)
        refused(empty, "add", "zoo", tmp_path / name, *CLASSES, words=words)

    def test_add_notes_skipped_files(self, empty, tmp_path):
        (tmp_path / "set").mkdir()
        root = fill(tmp_path / "set", ("cat/a.png", "dog/b.png"))
        (root / "cat" / "c.heic").write_bytes(b"x")
        (root / "README").write_text("x")
        ran = run_well("testsets", "add", "zoo", root, *CLASSES, "--json", "-w", empty)
        note = "passed over 2 files that are not images regrade reads: "
        assert ran.err.startswith("added test set zoo: 2 examples, images by reader folder\nnote: " + note)
        data = json.loads(ran.out)
        assert data["notes"][0].startswith(note)
        assert "1 .heic" in data["notes"][0] and "1 without a suffix" in data["notes"][0]
        assert {key: data[key] for key in ("new", "examples", "labeled", "reader", "missing")} == {
            "new": True, "examples": 2, "labeled": 2, "reader": "folder", "missing": 0
        }  # fmt: skip

    def test_add_notes_ignored_columns_and_missing_labels(self, empty, tmp_path):
        (tmp_path / "s.csv").write_text("image,split\na,x\nb,y\n")
        ran = run_well("testsets", "add", "zoo", tmp_path / "s.csv", *CLASSES, "-w", empty)
        assert ran.err == (
            "added test set zoo: 2 examples without labels, without images\nnote: ignored the column split\n"
        )
        (tmp_path / "t.csv").write_text("image,lable\na,cat\n")
        refused(empty, "add", "cats", tmp_path / "t.csv", *CLASSES, words=("'lable'", "did you mean label?"))

    @pytest.mark.parametrize("name", ["nowhere", "nowhere.csv", "nowhere.tar", "nowhere.npz", "nowhere.parquet"])
    def test_missing_paths_are_rejected(self, empty, tmp_path, name):
        refused(empty, "add", "zoo", tmp_path / name, *CLASSES, words=("there is no file", name))

    def test_a_key_in_two_shards(self, empty, tmp_path):
        for shard in ("a", "b"):
            write_tar(tmp_path / "set" / f"{shard}.tar", ("x.png", PNG), ("x.cls", "3"))
        refused(empty, "add", "zoo", tmp_path / "set", *CLASSES, words=("'x' occurs more than once",))

    def test_unknown_layout_is_rejected(self, empty, images):
        ran = run("testsets", "add", "zoo", images, *CLASSES, "--layout", "sorted", "-w", empty)
        assert ran.code == 2
        assert "sorted" in ran.err

    def test_broken_third_party_reader_is_reported(self, empty, images, monkeypatch):
        install(monkeypatch, mine="no_such_module:Reader")
        refused(empty, "add", "zoo", images, *CLASSES, words=("entry point 'mine'", "no_such_module"))

    def test_third_party_reader(self, empty, images, monkeypatch):
        (images / "drawers").touch()
        install(monkeypatch, mine="Drawers")
        done = run_well("testsets", "add", "zoo", images, *CLASSES, "-w", empty)
        assert done.err == "added test set zoo: 2 examples, images by reader drawers\n"
        checked = run("testsets", "check", "zoo", "--json", "-w", empty)
        assert checked.code == 3
        assert json.loads(checked.out)["unreadable"] == [["two", "reader mine: KeyError: 'drawer 2'"]]


class TestAttach:
    """The test set pets was created by an import of predictions; its images are added later."""

    def test_by_id_without_extension(self, pets, images):
        run_well("testsets", "add", "pets", images, "-w", pets)
        workspace = open_workspace(pets)
        test_set = workspace.store.test_set("pets")
        assert workspace.store.images.read(test_set).locations == PETS
        run_well("testsets", "check", "pets", "-w", pets)
        run_well("grade", "-t", "pets", "-w", pets)

    def test_a_flat_folder(self, pets, tmp_path):
        fill(tmp_path / "flat", tuple(place.rpartition("/")[2] for place in reversed(PETS)))
        refused(pets, "add", "pets", tmp_path / "flat", words=("--layout flat",))
        run_well("testsets", "add", "pets", tmp_path / "flat", "--layout", "flat", "-w", pets)
        assert open_workspace(pets).store.test_set("pets").labels.tolist() == [3, 5, 2, 3, 8, 6]

    def test_a_missing_image(self, pets, images):
        (images / PETS[1]).unlink()
        refused(pets, "add", "pets", images, words=("1 of the 6 examples of pets have no image", "'p1'"))

    def test_an_extra_image(self, pets, images):
        fill(images, ("cat/p7.png",))
        refused(pets, "add", "pets", images, words=("belong to no example of pets", "'p7.png'"))

    def test_different_labels(self, pets, images):
        (images / "deer").mkdir()
        (images / PETS[0]).rename(images / "deer" / "p0.png")
        refused(pets, "add", "pets", images, words=("1 images have another label", "'p0'"))

    def test_other_images_are_rejected(self, pets, images, tmp_path):
        run_well("testsets", "add", "pets", images, "-w", pets)
        shutil.copytree(images, tmp_path / "copy")
        refused(pets, "add", "pets", tmp_path / "copy", words=("which exists: remove",))


class TestCheck:
    @pytest.fixture
    def zoo(self, empty, images) -> Path:
        run_well("testsets", "add", "zoo", images, *CLASSES, "-w", empty)
        return empty

    def test_a_sound_set(self, zoo):
        done = run_well("testsets", "check", "zoo", "-w", zoo)
        assert "zoo: sound" in done.out
        assert done.err == ""

    def test_as_json(self, zoo):
        data = json.loads(run_well("testsets", "check", "zoo", "--json", "-w", zoo).out)
        assert (data["sound"], data["examples"], data["classes"], data["unreadable"]) == (True, 6, 5, [])

    def test_as_csv(self, zoo):
        rows = list(csv.reader(io.StringIO(run_well("testsets", "check", "zoo", "--csv", "-w", zoo).out)))
        assert ["examples", "6"] in rows

    def test_an_unreadable_image_exits_with_3(self, zoo, images):
        (images / PETS[3]).write_bytes(b"")
        ran = run("testsets", "check", "zoo", "--csv", "-w", zoo)
        assert ran.code == 3
        assert "unreadable: p3.JPEG,the file is empty" in ran.out
        assert ran.err == ""

    def test_checking_changes_nothing(self, zoo, images):
        (images / PETS[3]).write_bytes(b"")
        before = snapshot(zoo)
        run("testsets", "check", "zoo", "-w", zoo)
        assert snapshot(zoo) == before

    def test_count_is_compared_with_the_catalog(self, empty, tmp_path):
        np.savez(tmp_path / "x.npz", images=np.zeros((3, 32, 32, 3), np.uint8), labels=np.array([0, 1, 9]))
        run_well("testsets", "add", "cifar-10.2", tmp_path / "x.npz", "-w", empty)
        ran = run("testsets", "check", "cifar-10.2", "-w", empty)
        assert ran.code == 3
        assert "cifar-10.2: not sound" in ran.out
        assert "3 (expected 2,000)" in ran.out

    def test_catalog_sets_orientation_and_border(self, empty, tmp_path):
        exif = Image.Exif()
        exif[0x0112] = 6
        for name, size in (("imagenetv2-top-images", [20, 24]), ("mine", [24, 20])):
            path = fill(tmp_path / name, ("0/a.png",))
            (path / "0" / "a.png").write_bytes(encoded(noise(0, (20, 24)), exif=exif))
            run_well("testsets", "add", name, path, "--classes", "imagenet-1k", "-w", empty)
            data = json.loads(run("testsets", "check", name, "--json", "-w", empty).out)
            assert data["largest"] == size

    def test_removed_images_of_a_table(self, empty, images):
        rows = "".join(f"{place},{place.split('/')[0]}\n" for place in PETS)
        (images / "list.csv").write_text("path,label\n" + rows)
        run_well("testsets", "add", "zoo", images / "list.csv", *CLASSES, "-w", empty)
        shutil.rmtree(images / "cat")
        ran = run("testsets", "check", "zoo", "--json", "-w", empty)
        assert ran.code == 3
        assert [name for name, _ in json.loads(ran.out)["unreadable"]] == ["cat/p0.png", "cat/p3.JPEG"]

    def test_moved_folder_is_one_line(self, zoo, images):
        images.rename(images.with_name("moved"))
        refused(
            zoo,
            "check",
            "zoo",
            words=("the images were at", "images, which does not exist any more", "regrade testsets add"),
        )
        refused(zoo, "check", "zoo", "--sheet", zoo.parent / "s.png", words=("which does not exist any more",))
        assert not (zoo.parent / "s.png").exists()

    def test_a_contact_sheet(self, zoo, tmp_path):
        for name in ("a.png", "b.png"):
            done = run_well("testsets", "check", "zoo", "--sheet", tmp_path / name, "--seed", "3", "-w", zoo)
            assert done.err == f"contact sheet: {tmp_path / name}\n"
        assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
        with Image.open(tmp_path / "a.png") as sheet:
            assert (sheet.format, sheet.size) == ("PNG", (6 * 168 + 8, 210))

    def test_contact_sheet_write_error(self, zoo, tmp_path):
        ran = run("testsets", "check", "zoo", "--sheet", tmp_path / "no" / "where.png", "-w", zoo)
        assert ran.code == 1
        assert ran.err.startswith("error: ") and ran.err.count("\n") == 1

    def test_an_unknown_name(self, zoo):
        refused(zoo, "check", "zo", words=("'zo'", "zoo"))

    def test_check_in_a_process(self, zoo, images, run_warm):
        (images / PETS[0]).write_bytes(PNG[:200])
        ran = run_warm("testsets", "check", "zoo", "-w", zoo)
        assert (ran.code, ran.err) == (3, "")


class TestList:
    def test_sets_with_and_without_images(self, pets, images):
        run_well("testsets", "add", "zoo", images, *CLASSES, "-w", pets)
        rows = json.loads(run_well("testsets", "list", "--json", "-w", pets).out)["test_sets"]
        assert [(row["test_set"], row["examples"], row["classes"]) for row in rows] == [("pets", 6, 5), ("zoo", 6, 5)]

    def test_empty_workspace(self, empty):
        assert json.loads(run_well("testsets", "list", "--json", "-w", empty).out) == {"test_sets": [], "errors": []}

    def test_no_workspace(self, tmp_path):
        assert_one_line(run("testsets", "list", "-w", tmp_path / "nowhere"), "nowhere")


class TestCatalog:
    def test_all(self):
        rows = json.loads(run_well("testsets", "catalog", "--json").out)["catalog"]
        assert {"imagenet-val", "imagenetv2-matched-frequency", "objectnet", "real"} <= {row["name"] for row in rows}

    def test_one_in_full(self):
        done = run_well("testsets", "catalog", "imagenet-a")
        assert "200-way" in done.out
        row = json.loads(run_well("testsets", "catalog", "objectnet", "--json").out)["catalog"][0]
        assert (row["border"], row["examples"], row["files"]) == (
            2,
            50_273,
            "folder by class, beside a map onto ImageNet's",
        )

    @pytest.mark.parametrize("form", ["--csv", "--markdown", "--latex"])
    def test_other_formats(self, form):
        assert "imagenet-sketch" in run_well("testsets", "catalog", form).out

    def test_an_unknown_name(self):
        assert_one_line(run("testsets", "catalog", "imagenet-vla"), "'imagenet-vla'", "imagenet-val")

    def test_two_formats_are_rejected(self):
        assert run("testsets", "catalog", "--csv", "--json").code == 2


class TestDownload:
    def test_download_not_allowed(self, tmp_path):
        ran = run("testsets", "download", "imagenet-val", "--to", tmp_path)
        assert_one_line(ran, "imagenet-val cannot be downloaded directly", "registration", "https://image-net.org")
        assert list(tmp_path.iterdir()) == []

    def test_an_unknown_name(self, tmp_path):
        assert_one_line(run("testsets", "download", "imagnet-a", "--to", tmp_path), "'imagnet-a'", "imagenet-a")
