"""Names of folders become classes by a given or detected layout, and groups by the levels above them."""

import random
from pathlib import Path

import numpy as np
import pytest
from small_set import SPACE, by_id, encoded, found_in, noise

from regrade.classes import class_space
from regrade.core import UNLABELED, ClassSpace, InputError, MismatchError, TestSet
from regrade.tables import Columns
from regrade.testsets import Layout, Level, ReaderOptions, ReaderResult, locations_for, open_images
from regrade.testsets.reader import classes_by_name, known_classes

ROOT = Path("set")
THREE = ClassSpace("three", ("a", "b", "c"), ("ant", "bee", "cat"))

CIFAR = class_space("cifar-10")


def meaning(*names: str, space: ClassSpace = THREE, layout: Layout = Layout.PROVEN) -> dict[str, int]:
    return classes_by_name({name: name for name in names}, space, layout, what="label", where=ROOT)


@pytest.mark.parametrize("names", [("c", "a"), ("2", "0"), ("cat", "ant")])
def test_classes_by_name_detects_each_layout(names):
    assert list(meaning(*names).values()) == [2, 0]


def test_classes_by_name_ignores_the_order_of_names():
    many = ClassSpace("many", tuple(f"id{k}" for k in range(200)))
    names = [str(k) for k in range(200)]
    random.Random(0).shuffle(names)
    assert meaning(*names, space=many) == {name: int(name) for name in names}


def test_classes_by_name_maps_shown_texts():
    classes = classes_by_name({"x/a": "a", "y/a": "a", "x/b": "b"}, THREE, Layout.PROVEN, what="folder", where=ROOT)
    assert classes == {"x/a": 0, "y/a": 0, "x/b": 1}


def test_error_names_the_name_that_does_not_fit_the_best_layout():
    with pytest.raises(MismatchError, match=r"label 'dog' of set is not a class id or index or name of three"):
        meaning("ant", "bee", "dog")
    with pytest.raises(MismatchError, match="label '3' of set"):
        meaning("0", "1", "3")


def test_a_given_layout_is_the_only_one_tried():
    with pytest.raises(MismatchError, match="label 'ant' of set is not a class id of three"):
        meaning("ant", layout=Layout.ID)


def test_classes_by_name_rejects_ambiguous_names():
    swapped = ClassSpace("swapped", ("1", "0"), ("x", "y"))
    for names in (("0", "1"), ("0",), ("1",)):
        with pytest.raises(InputError, match="the labels of set could be read as id or index of swapped"):
            meaning(*names, space=swapped)
    assert meaning("0", "1", space=swapped, layout=Layout.ID) == {"0": 1, "1": 0}


PLACES = (
    "snow/1/n01/a.png",
    "snow/1/n02/b.png",
    "snow/2/n01/a.png",
    "snow/2/n02/b.png",
    "fog/1/n01/a.png",
    "fog/1/n02/b.png",
    "fog/2/n01/a.png",
    "fog/2/n02/b.png",
)
LEVELS = (Level("corruption", ("fog", "snow")), Level("severity", ("1", "2")))
KNOWN = ReaderOptions(SPACE, levels=LEVELS)
STATED = ReaderOptions(SPACE, columns=Columns(groups=("corruption", "severity")))
IDS = ("fog/1/a.png", "fog/1/b.png", "fog/2/a.png", "fog/2/b.png",
       "snow/1/a.png", "snow/1/b.png", "snow/2/a.png", "snow/2/b.png")  # fmt: skip


def put(root: Path, *places: str) -> Path:
    for number, place in enumerate(places):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_bytes(encoded(noise(number)))
    return root


def table(root: Path, options: ReaderOptions) -> dict[str, tuple]:
    result = found_in(root, options)[0]
    return dict(zip(result.ids, zip(result.labels.tolist(), *result.groups.values(), strict=True), strict=True))


@pytest.mark.parametrize("options", [KNOWN, STATED], ids=["known", "stated"])
def test_levels_are_groups_and_ids_begin_with_them(tmp_path, options):
    result = found_in(put(tmp_path, *PLACES), options)[0]
    assert result.ids == IDS
    assert result.labels.tolist() == [0, 1] * 4
    assert result.groups == {"corruption": ("fog",) * 4 + ("snow",) * 4, "severity": ("1", "1", "2", "2") * 2}


@pytest.mark.parametrize("options", [KNOWN, STATED], ids=["known", "stated"])
def test_outer_folders_do_not_change_ids(tmp_path, options):
    plain = put(tmp_path / "plain", *PLACES)
    nested = put(tmp_path / "nested", *(f"weather/more/{place}" for place in PLACES))
    mixed = put(tmp_path / "mixed", *(f"cold/{place}" if "snow" in place else place for place in PLACES))
    assert table(plain, options) == table(nested, options) == table(mixed, options)


def test_a_part_of_the_set_has_the_same_ids(tmp_path):
    whole = table(put(tmp_path, *PLACES), KNOWN)
    assert table(tmp_path / "snow", KNOWN) == {i: v for i, v in whole.items() if i.startswith("snow/")}
    assert table(tmp_path / "snow" / "2", KNOWN) == {i: v for i, v in whole.items() if i.startswith("snow/2")}


def test_a_part_by_relative_path_or_link(tmp_path, monkeypatch):
    put(tmp_path, *(f"data/{place.removeprefix('snow/')}" for place in PLACES if "snow" in place))
    (tmp_path / "snow").symlink_to(tmp_path / "data")
    monkeypatch.chdir(tmp_path / "data" / "1")
    assert set(table(tmp_path / "snow", KNOWN)) == {i for i in IDS if "snow" in i}
    put(tmp_path, *PLACES[4:])
    monkeypatch.chdir(tmp_path / "fog")
    assert set(table(Path(), KNOWN)) == {i for i in IDS if "fog" in i}


def test_images_match_their_ids(tmp_path):
    result, source = found_in(put(tmp_path, *PLACES), KNOWN)
    images = open_images(source)
    for position, example in enumerate(result.ids):
        corruption, severity, name = example.split("/")
        folder = {"a.png": "n01", "b.png": "n02"}[name]
        assert images.read(position) == (tmp_path / corruption / severity / folder / name).read_bytes()


def test_repeated_names_add_the_class_folder_to_ids(tmp_path):
    result = found_in(put(tmp_path, "fog/1/n01/1.png", "fog/1/n02/1.png", "fog/2/n01/7.png"), KNOWN)[0]
    assert result.ids == ("fog/1/n01/1.png", "fog/1/n02/1.png", "fog/2/n01/7.png")


def test_levels_without_class_folders(tmp_path):
    options = ReaderOptions(SPACE, Layout.FLAT, Columns(groups=("region",)))
    result = found_in(put(tmp_path, "north/a.png", "south/a.png", "x/south/b.png"), options)[0]
    assert result.ids == ("north/a.png", "south/a.png", "south/b.png")
    assert (result.labels, result.groups) == (None, {"region": ("north", "south", "south")})


def test_known_values_apply_to_named_levels(tmp_path):
    both = ReaderOptions(SPACE, columns=Columns(groups=("severity",)), levels=LEVELS)
    assert found_in(put(tmp_path, *PLACES[:2]), both)[0].groups == {"severity": ("1", "1")}
    with pytest.raises(InputError, match="unknown severity '3'"):
        found_in(put(tmp_path, "snow/3/n01/c.png"), both)


class TestErrors:
    def test_rejects_an_unknown_value(self, tmp_path):
        put(tmp_path, *PLACES, "snwo/1/n01/c.png")
        with pytest.raises(InputError, match=r"unknown corruption 'snwo'; did you mean snow\? \(a folder's name in"):
            found_in(tmp_path, KNOWN)

    def test_rejects_a_set_without_levels(self, tmp_path):
        root = by_id(tmp_path / "imagenet" / "val")
        with pytest.raises(InputError, match="unknown corruption 'imagenet'"):
            found_in(root, KNOWN)
        with pytest.raises(MismatchError, match="but there is none for 'corruption'"):
            found_in(root, STATED)

    def test_named_level_must_be_below_the_root(self, tmp_path):
        put(tmp_path, *PLACES)
        with pytest.raises(MismatchError, match=r"by corruption/severity/class, but .* for 'corruption'"):
            found_in(tmp_path / "snow", STATED)

    def test_rejects_more_levels_than_folders(self, tmp_path):
        many = tuple(Level(f"level{number}", ("x",)) for number in range(60))
        with pytest.raises(InputError, match="unknown level0 ''"):
            found_in(by_id(tmp_path), ReaderOptions(SPACE, levels=many))

    def test_rejects_id_and_label_columns(self, tmp_path):
        for columns in (Columns(id="name"), Columns(label="kind", groups=("corruption", "severity"))):
            with pytest.raises(InputError, match="a folder of images has no columns, so"):
                found_in(put(tmp_path, *PLACES), ReaderOptions(SPACE, columns=columns))


def known(*ids: str, labels: tuple[int, ...] = (3, 5, 8)) -> TestSet:
    return TestSet("pets", CIFAR, ids, np.array(labels[: len(ids)], dtype=np.int32))


def found(*ids: str, labels: tuple[int, ...] | None = None) -> ReaderResult:
    return ReaderResult(ids, None if labels is None else np.array(labels), tuple(f"at {i}" for i in ids))


@pytest.mark.parametrize(
    ("ids", "images"),
    [
        (("a", "b", "c"), ("a", "b", "c")),
        (("a", "b", "c"), ("a.png", "b.JPEG", "c.webp")),
        (("a.JPEG", "b.JPEG", "c.JPEG"), ("a", "b", "c")),
        (("a.JPEG", "b.JPEG", "c.JPEG"), ("a.png", "b.png", "c.png")),
        (("a", "b", "c"), ("n01/a.png", "n02/b.png", "n03/c.png")),
        (("val/a.png", "val/b.png", "val/c.png"), ("a.png", "b.png", "c.png")),
        (("n01/1.png", "n02/1.png", "n02/2.png"), ("n01/1.png", "n02/1.png", "n02/2.png")),
        (("n01/1", "n02/1", "n02/2"), ("n01/1.png", "n02/1.png", "n02/2.png")),
        (("a.png", "a.jpg", "b.png"), ("a.png", "a.jpg", "b.png")),
        (("v1.0", "v1.1", "v1.2"), ("v1.0.png", "v1.1.png", "v1.2.png")),
    ],
)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_locations_match_ids_with_and_without_extension(ids, images, order):
    shuffled = found(*(images[place] for place in order), labels=tuple((3, 5, 8)[place] for place in order))
    assert locations_for(known(*ids), shuffled) == tuple(f"at {image}" for image in images)


def test_locations_rejects_a_missing_image():
    with pytest.raises(MismatchError, match="2 of the 3 examples of pets have no image, for example 'b'"):
        locations_for(known("a", "b", "c"), found("a.png"))


def test_locations_rejects_an_extra_image():
    with pytest.raises(MismatchError, match=r"1 images belong to no example of pets, for example 'x\.png'"):
        locations_for(known("a", "b"), found("a.png", "x.png", "b.png"))


def test_locations_reports_many_extra_images_quickly():
    many = found(*(f"{k}.png" for k in range(100_000)))
    with pytest.raises(MismatchError, match="99,997 images belong to no example"):
        locations_for(known("0", "1", "2"), many)


def test_locations_rejects_different_labels():
    with pytest.raises(MismatchError, match=r"1 images have another label than in test set pets.*'b'"):
        locations_for(known("a", "b"), found("b.png", "a.png", labels=(4, 3)))


def test_locations_accepts_any_label_for_unlabeled_examples():
    assert locations_for(known("a", "b", labels=(3, UNLABELED)), found("a", "b", labels=(3, 7))) == ("at a", "at b")


@pytest.mark.parametrize(
    ("ids", "images"),
    [(("a", "b"), ("a.png", "a.jpg", "b.png")), (("1", "2"), ("n01/1.png", "n02/1.png", "n02/2.png"))],
)
def test_locations_rejects_two_images_for_one_id(ids, images):
    with pytest.raises(MismatchError, match="several images match the same id"):
        locations_for(known(*ids), found(*images))


def test_locations_never_share_an_image():
    with pytest.raises(MismatchError, match=r"no image|several"):
        locations_for(known("n01/1", "n02/1"), found("1.png"))


def test_known_classes_leave_out_names_that_are_not_classes():
    space = ClassSpace("pets", ("n1", "n2"), ("cat", "dog"))
    where = Path("pool.csv")
    assert known_classes(["dog", "elk", "cat", ""], space, Layout.PROVEN, what="label", where=where) == {
        "dog": 1,
        "cat": 0,
    }
    assert known_classes(["n2", "n2", "dog"], space, Layout.ID, what="label", where=where) == {"n2": 1}
    with pytest.raises(MismatchError, match=r"label 'elk' of pool\.csv is not a class id or index or name of pets"):
        known_classes(["elk"], space, Layout.PROVEN, what="label", where=where)


def test_known_classes_do_not_guess_between_readings():
    space = ClassSpace("shifted", ("1", "2", "3"))
    with pytest.raises(
        InputError, match=r"the labels of pool\.csv could be read as id or index or name of shifted: choose one"
    ):
        known_classes(["1", "2", "elk"], space, Layout.PROVEN, what="label", where=Path("pool.csv"))
