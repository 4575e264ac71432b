"""The tables of GeoDE and Dollar Street: their own classes, and the accepted ImageNet classes."""

from dataclasses import replace

import pytest
from releases import GEODE, STREET, write_csv, write_dollarstreet, write_geode

from regrade.classes import imagenet_1k
from regrade.core import FormatError, ImageSource, InputError, MapRule
from regrade.tables import Columns
from regrade.testsets import Layout, brings_classes, entry, find_released, names, open_images
from regrade.testsets.mapped_table import Disagreement, MappedColumns, read_mapped_table

SPACE = imagenet_1k()


def geode(path, **options):
    return find_released(entry("geode"), path, SPACE, **options)


def street(path):
    return find_released(entry("dollarstreet"), path, SPACE)


def test_brings_classes():
    assert [name for name in names() if brings_classes(entry(name))] == ["objectnet", "dollarstreet", "geode"]


class TestGeode:
    def test_objects_are_mapped_classes(self, tmp_path):
        released = geode(write_geode(tmp_path))
        assert released.class_map.target.ids == ("bag", "light_switch", "spices")
        assert released.class_map.sources == ((414, 748), (844,), ())
        assert released.class_map.rule is MapRule.ANY_IN_TOP_K
        assert released.examples.ids == ("g1", "g2", "g3", "g4", "g5")
        assert released.examples.labels.tolist() == [0, 0, 1, 2, 1]

    def test_groups_are_those_of_the_catalog(self, tmp_path):
        path = write_geode(tmp_path)
        released = geode(path).examples.groups
        assert released == {
            "region": ("Africa", "Europe", "Africa", "Africa", "Europe"),
            "ip_country": ("Nigeria", "Spain", "Nigeria", "Egypt", "Italy"),
        }
        more = geode(path, columns=Columns(groups=("tree_tag", "region"))).examples.groups
        assert list(more) == ["region", "ip_country", "tree_tag"]

    def test_images_are_below_images_or_next_to_the_table(self, tmp_path):
        path = write_geode(tmp_path)
        for folder in ("images/", ""):
            released = geode(path)
            assert (released.reader, released.examples.missing) == ("manifest", 0)
            assert released.examples.locations[0] == f"{folder}Africa/Nigeria/Nigeria_bag_0.jpg"
            source = ImageSource(released.reader, str(path), released.examples.locations)
            assert open_images(source).read(4)[:4] == b"\x89PNG"
            for place in (tmp_path / "geode" / "images").glob("*"):
                place.rename(tmp_path / "geode" / place.name)

    def test_missing_images_are_counted(self, tmp_path):
        path = write_geode(tmp_path)
        (path.parent / "images" / "Europe" / "Spain" / "Spain_bag_1.jpg").unlink()
        released = geode(path)
        assert (released.reader, released.examples.missing, len(released.examples.locations)) == ("manifest", 1, 5)

    def test_without_any_image(self, tmp_path):
        released = geode(write_geode(tmp_path, images=False))
        assert (released.reader, released.examples.missing, released.examples.locations) == (None, 5, ())

    def test_the_order_and_repeats_of_a_list_do_not_matter(self, tmp_path):
        rows = (
            *GEODE,
            ("g6", "bag", "Asia", "Japan", "[748, 414, 748]"),
            ("g7", "bag", "Asia", "Japan", "['n02769748', 748]"),
        )
        assert geode(write_geode(tmp_path, rows)).class_map.sources[0] == (414, 748)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (
                ("g6", "bag", "A", "B", "[414]"),
                r"rows of 'bag' list different classes, \[n02769748, n04026417\] and \[",
            ),
            (
                ("g6", "cup", "A", "B", "[1000]"),
                r"column '1k_index', row 6: 1000 is not a class of imagenet-1k \(0 to 999",
            ),
            (("g6", "cup", "A", "B", "[-1]"), "row 6: -1 is not a class"),
            (("g6", "cup", "A", "B", "[True]"), "row 6: True is not a class"),
            (("g6", "cup", "A", "B", "['n01']"), "row 6: unknown class id of imagenet-1k 'n01'"),
            (("g6", "cup", "A", "B", "968"), "row 6: '968' is not a list of classes"),
            (("g6", "cup", "A", "B", "[968"), r"row 6: '\[968' is not a list of classes"),
            (("g6", "cup", "A", "B", "__import__('os')"), "is not a list of classes"),
            (("g6", "cup", "A", "B", ""), "row 6: None is not a list of classes"),
            (("g1", "bag", "A", "B", "[414, 748]"), "'g1' occurs more than once"),
            (("g6", "bag", "", "B", "[414, 748]"), "column 'region' has 1 empty cells"),
        ],
    )
    def test_rejects_invalid_rows(self, tmp_path, row, message):
        with pytest.raises(InputError, match=message):
            geode(write_geode(tmp_path, (*GEODE, row)))

    def test_rejects_a_table_without_a_required_column(self, tmp_path):
        path = write_csv(tmp_path / "index.csv", ("file_path", "object", "region", "ip_country", "id"), tuple("abcde"))
        with pytest.raises(FormatError, match=r"no column '1k_index', .* see regrade testsets catalog geode"):
            geode(path)

    @pytest.mark.parametrize(
        "options", [{"columns": Columns(id="id")}, {"columns": Columns(label="object")}, {"layout": Layout.FLAT}]
    )
    def test_rejects_column_options(self, tmp_path, options):
        with pytest.raises(InputError, match="omit all column options but --group"):
            geode(write_geode(tmp_path), **options)


class TestDollarStreet:
    def test_topics_with_different_lists_are_separate_classes(self, tmp_path):
        released = street(write_dollarstreet(tmp_path))
        lists = dict(zip(released.class_map.target.ids, released.class_map.sources, strict=True))
        assert lists == {
            "cups/mugs/glasses (coffee mug, cup)": (504, 968),
            "cups/mugs/glasses (cup)": (968,),
            "toilet, bathroom/toilet": (861,),
            "tv": (851,),
        }
        labels = [released.class_map.target.ids[label] for label in released.examples.labels]
        assert labels[3:] == ["cups/mugs/glasses (coffee mug, cup)"] * 2 + ["cups/mugs/glasses (cup)"]

    def test_topic_without_accepted_classes(self, tmp_path):
        rows = (*STREET, ("s7", "Peru", "am", "['tv']", "10", "[]"))
        ids = street(write_dollarstreet(tmp_path, rows)).class_map.target.ids
        assert ids[-2:] == ("tv (no class)", "tv (television)")

    def test_income_is_kept_as_text(self, tmp_path):
        groups = street(write_dollarstreet(tmp_path)).examples.groups
        assert groups["income"] == ("1020.5", "45", "98.0", "45", "3010", "3010")
        assert groups["region.id"] == ("as", "af", "as", "af", "am", "am")
        assert list(groups) == ["region.id", "country.name", "income"]

    def test_images_are_below_the_table(self, tmp_path):
        released = street(write_dollarstreet(tmp_path))
        assert (released.reader, released.examples.missing, released.examples.locations[1]) == (
            "manifest",
            0,
            "assets/s2/s2.jpg",
        )

    def test_rows_that_disagree_can_be_rejected(self, tmp_path):
        strict = replace(entry("dollarstreet").columns, disagreement=Disagreement.REFUSE)
        with pytest.raises(FormatError, match="rows of 'cups/mugs/glasses' list different classes"):
            read_mapped_table(write_dollarstreet(tmp_path), "dollarstreet", strict, (), SPACE)


def test_a_list_column_of_parquet(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {"id": ["a", "b"], "what": ["x", "y"], "right": [["n01440764", "n01443537"], []], "path": ["1", "2"]}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    released = read_mapped_table(
        tmp_path / "t.parquet", "mine", MappedColumns("id", "what", "right", "path"), (), SPACE
    )
    assert released.class_map.sources == ((0, 1), ())
