"""Slice files in every format, and their errors."""

import json

import numpy as np
import pytest
from releases import FACTORS, val_name, write_imagenet_x

from regrade.classes import class_space
from regrade.core import FormatError, InputError, MismatchError, TestSet
from regrade.formats import SliceFormat, read_slice_file
from regrade.formats.slice_files import FACTORS as OURS
from regrade.store import Store
from regrade.tables import Columns, ExamplePositions
from regrade.testsets import entry
from regrade.workspace.imports import import_slices

IMAGENET = class_space("imagenet-1k")
VAL = TestSet("imagenet-val", IMAGENET, tuple(val_name(n) for n in (1, 2, 3, 4)), np.array([0, 1, 2, 3]))
BARE = TestSet("bare", IMAGENET, tuple(val_name(n).removesuffix(".JPEG") for n in (1, 2, 3, 4)), VAL.labels)


def read(path, form="list", test_set=VAL, **options):
    return read_slice_file(path, test_set, form=SliceFormat(form), name="mine", **options).slices


class TestExamplePositions:
    def test_positions_with_or_without_extension(self):
        for test_set in (VAL, BARE):
            assert [ExamplePositions(test_set).of(name) for name in (val_name(3), val_name(3)[:-5])] == [2, 2]

    def test_positions_need_the_extension_if_ambiguous(self):
        same_stem = TestSet("same-stem", IMAGENET, ("a.png", "a.jpg", "b.png"), np.array([0, 1, 2]))
        assert [ExamplePositions(same_stem).of(name) for name in ("a.png", "a.jpg", "a", "b", "b.jpg")] == [
            0,
            1,
            None,
            2,
            2,
        ]


class TestImageNetX:
    def test_factors_become_slices(self, tmp_path):
        path = write_imagenet_x(tmp_path / "x.jsonl", {2: ("pose", "larger"), 4: ("pose",), 1: ()})
        for test_set in (VAL, BARE):
            slices = read(path, "imagenet-x", test_set)
            assert list(slices.subsets) == [f"mine:{factor}" for factor in FACTORS]
            assert slices.subsets["mine:pose"].tolist() == [False, True, False, True]
            assert slices.subsets["mine:larger"].tolist() == [False, True, False, False]
            assert not slices.subsets["mine:style"].any()

    def test_factors_are_those_of_the_catalog(self):
        assert OURS == entry("imagenet-x").groups == FACTORS

    def test_factors_can_be_booleans_or_a_table(self, tmp_path):
        path = write_imagenet_x(tmp_path / "x.jsonl", {2: ("pose",), 4: ()})
        (tmp_path / "b.jsonl").write_text(path.read_text().replace(": 0", ": false").replace(": 1", ": true"))
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        cells = [",".join(str(row[key]) for key in ("file_name", *FACTORS)) for row in rows]
        (tmp_path / "x.csv").write_text("\n".join([",".join(("file_name", *FACTORS)), *cells]))
        for name in ("b.jsonl", "x.csv"):
            assert read(tmp_path / name, "imagenet-x").digest == read(path, "imagenet-x").digest

    @pytest.mark.parametrize(
        ("old", "new", "error", "message"),
        [
            ('"pose"', '"posture"', FormatError, "has no column pose of ImageNet-X; it has file_name"),
            ('"pose": 1', '"pose": 2', FormatError, "the factor pose must be 0 or 1"),
            ('"pose": 1', '"pose": null', FormatError, "the factor pose must be 0 or 1"),
            (val_name(2), val_name(9), MismatchError, "contains 1 image not in test set imagenet-val.*00009"),
            (val_name(2), val_name(4), FormatError, "occurs more than once"),
            (val_name(2), val_name(4)[:-5], FormatError, "twice, with and without its file extension"),
        ],
    )
    def test_invalid_content_raises(self, tmp_path, old, new, error, message):
        path = write_imagenet_x(tmp_path / "x.jsonl", {2: ("pose",), 4: ()})
        path.write_text(path.read_text().replace(old, new))
        with pytest.raises(error, match=message):
            read(path, "imagenet-x")


class TestList:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("x.txt", f"{val_name(2)}\n\n{val_name(4)}\r\n"),
            ("x", f"﻿{val_name(2)[:-5]}\n{val_name(4)}"),
            ("x.json", json.dumps([val_name(4), val_name(2)])),
            ("x.csv", f"file_name\n{val_name(2)}\n{val_name(4)}\n"),
            ("x.tsv", f"why\timage\nblur\t{val_name(2)}\ndark\t{val_name(4)}\n"),
        ],
    )
    def test_listed_images_become_one_slice(self, tmp_path, name, text):
        (tmp_path / name).write_text(text)
        slices = read(tmp_path / name)
        assert {key: inside.tolist() for key, inside in slices.subsets.items()} == {"mine": [False, True, False, True]}
        assert slices.origin == f"list: {name}"

    def test_id_column_can_be_named(self, tmp_path):
        (tmp_path / "x.csv").write_text(f"photo\n{val_name(1)}\n")
        with pytest.raises(FormatError, match="no column with the example ids"):
            read(tmp_path / "x.csv")
        assert read(tmp_path / "x.csv", columns=Columns(id="photo")).subsets["mine"].sum() == 1

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("x.txt", b"no such image\n", "not in test set imagenet-val, for instance 'no such image'"),
            ("x.txt", f"{val_name(1)}\n{val_name(1)}\n".encode(), "occurs more than once"),
            ("x.txt", b"\n \n", "contains no image"),
            ("x.txt", f" {val_name(1)}\n".encode(), "has surrounding spaces"),
            ("x.csv", f"image\n {val_name(1)}\n".encode(), "has surrounding spaces"),
            ("x.txt", b"", "is empty"),
            ("x.txt", b"\xff\xfe", "not UTF-8"),
            ("x.json", b'{"a": 1}', "expected a JSON list of images"),
            ("x.json", b"[1, 2]", "expected a JSON list of images"),
            ("x.json", b"[", "not valid JSON"),
        ],
    )
    def test_invalid_content_raises(self, tmp_path, name, content, message):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            read(tmp_path / name)


class TestTable:
    def table(self, tmp_path, *rows, heading=",image,region,income"):
        (tmp_path / "t.csv").write_text("\n".join([heading, *rows]) + "\n")
        return tmp_path / "t.csv"

    def rows(self, *numbers):
        return [f"{n},{val_name(n)},{'ns'[n % 2]},{n * 100}" for n in numbers]

    def test_columns_become_group_columns(self, tmp_path):
        slices = read(self.table(tmp_path, *self.rows(4, 1, 3, 2)), "table")
        assert slices.columns == {
            "mine:region": ("s", "n", "s", "n"),
            "mine:income": ("100", "200", "300", "400"),
        }
        assert slices.subsets == {}

    def test_group_columns_can_be_chosen(self, tmp_path):
        path = self.table(tmp_path, *self.rows(1, 2, 3, 4))
        assert list(read(path, "table", columns=Columns(groups=("income",))).columns) == ["mine:income"]
        with pytest.raises(InputError, match="has no column 'country'; it has"):
            read(path, "table", columns=Columns(groups=("country",)))

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ((1, 2, 4), "1 of the 4 examples of imagenet-val are missing, for instance '.*00003"),
            ((1, 2, 3, 4, 5), "contains 1 image not in test set"),
            ((1, 2, 3, 4, 4), "occurs more than once"),
        ],
    )
    def test_table_needs_every_example_exactly_once(self, tmp_path, rows, message):
        with pytest.raises(InputError, match=message):
            read(self.table(tmp_path, *self.rows(*rows)), "table")

    def test_empty_cells_and_tables_without_columns_raise(self, tmp_path):
        rows = self.rows(1, 2, 3, 4)
        with pytest.raises(FormatError, match="column 'region' has 1 empty cells"):
            read(self.table(tmp_path, *rows[:3], f"4,{val_name(4)},,1"), "table")
        with pytest.raises(FormatError, match="has no column except image"):
            read(self.table(tmp_path, *(val_name(n) for n in (1, 2, 3, 4)), heading="image"), "table")


class TestNames:
    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("", "needs a name"),
            ("a:b", "contains :"),
            ("a=b", "contains ="),
            ("light", "'light' is a group column of imagenet-val already"),
            ("dogs", "'dogs' is a group of classes of imagenet-val already"),
            ("n01440764", "'n01440764' is a class of imagenet-val already"),
        ],
    )
    def test_names_with_another_meaning_raise(self, tmp_path, name, message):
        store = Store.create(tmp_path / "W")
        store.add_test_set(TestSet(VAL.name, IMAGENET, VAL.ids, VAL.labels, {"light": ("a", "b", "a", "b")}))
        (tmp_path / "x.txt").write_text(val_name(1))
        with pytest.raises(InputError, match=message):
            import_slices(store, tmp_path / "x.txt", test_set=VAL.name, form=SliceFormat.LIST, name=name)
        assert not (store.root / "slices").exists()
