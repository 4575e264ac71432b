"""Folders above the class folders: stated by whoever adds a set, or proven by names that are known beforehand."""

from pathlib import Path

import pytest
from small_set import SPACE, by_id, encoded, found_in, noise

from regrade.core import InputError, MismatchError
from regrade.tables import Columns
from regrade.testsets import Layout, Level, ReaderOptions, open_images

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


def table(root: Path, wanted: ReaderOptions) -> dict[str, tuple]:
    found = found_in(root, wanted)[0]
    return dict(zip(found.ids, zip(found.labels.tolist(), *found.groups.values(), strict=True), strict=True))


@pytest.mark.parametrize("wanted", [KNOWN, STATED], ids=["known", "stated"])
def test_levels_are_groups_and_ids_begin_with_them(tmp_path, wanted):
    found = found_in(put(tmp_path, *PLACES), wanted)[0]
    assert found.ids == IDS
    assert found.labels.tolist() == [0, 1] * 4
    assert found.groups == {"corruption": ("fog",) * 4 + ("snow",) * 4, "severity": ("1", "1", "2", "2") * 2}


@pytest.mark.parametrize("wanted", [KNOWN, STATED], ids=["known", "stated"])
def test_folders_further_out_leave_no_trace(tmp_path, wanted):
    plain = put(tmp_path / "plain", *PLACES)
    nested = put(tmp_path / "nested", *(f"weather/more/{place}" for place in PLACES))
    mixed = put(tmp_path / "mixed", *(f"cold/{place}" if "snow" in place else place for place in PLACES))
    assert table(plain, wanted) == table(nested, wanted) == table(mixed, wanted)


def test_a_part_is_the_same_part(tmp_path):
    whole = table(put(tmp_path, *PLACES), KNOWN)
    assert table(tmp_path / "snow", KNOWN) == {i: v for i, v in whole.items() if i.startswith("snow/")}
    assert table(tmp_path / "snow" / "2", KNOWN) == {i: v for i, v in whole.items() if i.startswith("snow/2")}


def test_a_part_by_a_relative_path_or_a_link(tmp_path, monkeypatch):
    put(tmp_path, *(f"data/{place.removeprefix('snow/')}" for place in PLACES if "snow" in place))
    (tmp_path / "snow").symlink_to(tmp_path / "data")
    monkeypatch.chdir(tmp_path / "data" / "1")
    assert set(table(tmp_path / "snow", KNOWN)) == {i for i in IDS if "snow" in i}
    put(tmp_path, *PLACES[4:])
    monkeypatch.chdir(tmp_path / "fog")
    assert set(table(Path(), KNOWN)) == {i for i in IDS if "fog" in i}


def test_images_are_those_of_their_ids(tmp_path):
    found, source = found_in(put(tmp_path, *PLACES), KNOWN)
    images = open_images(source)
    for position, example in enumerate(found.ids):
        corruption, severity, name = example.split("/")
        folder = {"a.png": "n01", "b.png": "n02"}[name]
        assert images.read(position) == (tmp_path / corruption / severity / folder / name).read_bytes()


def test_names_that_repeat_bring_the_class_folder_in(tmp_path):
    found = found_in(put(tmp_path, "fog/1/n01/1.png", "fog/1/n02/1.png", "fog/2/n01/7.png"), KNOWN)[0]
    assert found.ids == ("fog/1/n01/1.png", "fog/1/n02/1.png", "fog/2/n01/7.png")


def test_without_class_folders(tmp_path):
    wanted = ReaderOptions(SPACE, Layout.FLAT, Columns(groups=("region",)))
    found = found_in(put(tmp_path, "north/a.png", "south/a.png", "x/south/b.png"), wanted)[0]
    assert found.ids == ("north/a.png", "south/a.png", "south/b.png")
    assert (found.labels, found.groups) == (None, {"region": ("north", "south", "south")})


def test_known_names_hold_where_the_level_is_stated_too(tmp_path):
    both = ReaderOptions(SPACE, columns=Columns(groups=("severity",)), levels=LEVELS)
    assert found_in(put(tmp_path, *PLACES[:2]), both)[0].groups == {"severity": ("1", "1")}
    with pytest.raises(InputError, match="unknown severity '3'"):
        found_in(put(tmp_path, "snow/3/n01/c.png"), both)


class TestMisfits:
    def test_a_name_that_is_none_of_the_known(self, tmp_path):
        put(tmp_path, *PLACES, "snwo/1/n01/c.png")
        with pytest.raises(InputError, match=r"unknown corruption 'snwo'; did you mean snow\? \(a folder's name in"):
            found_in(tmp_path, KNOWN)

    def test_a_plain_set_is_not_taken_for_one_with_levels(self, tmp_path):
        root = by_id(tmp_path / "imagenet" / "val")
        with pytest.raises(InputError, match="unknown corruption 'imagenet'"):
            found_in(root, KNOWN)
        with pytest.raises(MismatchError, match="but there is none for 'corruption'"):
            found_in(root, STATED)

    def test_a_level_that_is_stated_must_lie_below(self, tmp_path):
        put(tmp_path, *PLACES)
        with pytest.raises(MismatchError, match=r"by corruption/severity/class, but .* for 'corruption'"):
            found_in(tmp_path / "snow", STATED)

    def test_more_levels_than_the_disk_has_folders(self, tmp_path):
        many = tuple(Level(f"level{number}", ("x",)) for number in range(60))
        with pytest.raises(InputError, match="unknown level0 ''"):
            found_in(by_id(tmp_path), ReaderOptions(SPACE, levels=many))

    def test_columns_of_ids_and_labels_mean_nothing_in_a_folder(self, tmp_path):
        for columns in (Columns(id="name"), Columns(label="kind", groups=("corruption", "severity"))):
            with pytest.raises(InputError, match="a folder of images has no columns, so"):
                found_in(put(tmp_path, *PLACES), ReaderOptions(SPACE, columns=columns))
