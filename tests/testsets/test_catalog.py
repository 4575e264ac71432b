import re
from urllib.parse import urlsplit

import pytest

from regrade.classes import BUILT_IN, class_space
from regrade.core import UnknownName
from regrade.testsets import brings_classes
from regrade.testsets.catalog import CatalogEntry, Download, EntryKind, Files, entry, names

ENTRIES = [entry(name) for name in names()]
DOWNLOADS = [item for found in ENTRIES for item in found.downloads]

COUNTS = {
    "imagenet-val": 50_000,
    "imagenetv2-matched-frequency": 10_000,
    "imagenetv2-threshold-0.7": 10_000,
    "imagenetv2-top-images": 10_000,
    "imagenet-a": 7_500,
    "imagenet-r": 30_000,
    "imagenet-sketch": 50_889,
    "imagenet-c": 3_750_000,
    "objectnet": 50_273,
    "cifar-10": 10_000,
    "cifar-10.1-v4": 2_021,
    "cifar-10.1-v6": 2_000,
    "cifar-10.2": 2_000,
    "dollarstreet": None,
    "geode": 10_333,
    "real": 50_000,
    "multilabel-v3": 20_000,
    "imagenet-m": 68,
    "imagenet-x": 50_000,
}


def by_name(items):
    return pytest.mark.parametrize("found", items, ids=lambda found: found.name)


def test_the_sets_of_the_field_are_there_with_their_counts():
    assert {found.name: found.examples for found in ENTRIES} == COUNTS
    assert len(names()) == len(set(names()))


def test_test_sets_come_before_label_sets_and_those_before_slices():
    kinds = [found.kind for found in ENTRIES]
    assert kinds == sorted(kinds, key=list(EntryKind).index)
    assert [found.name for found in ENTRIES if found.kind is EntryKind.LABEL_SET] == ["real", "multilabel-v3"]
    assert [found.name for found in ENTRIES if found.kind is EntryKind.SLICES] == ["imagenet-m", "imagenet-x"]


@by_name(ENTRIES)
def test_an_entry_says_what_a_user_needs(found: CatalogEntry):
    assert found.class_space in (*BUILT_IN, "")
    assert found.command.startswith("regrade ") and "\n" not in found.command
    assert urlsplit(found.address).scheme == "https" and urlsplit(found.address).hostname
    assert found.title and found.rule and found.terms
    assert found.border >= 0
    assert len(set(found.groups)) == len(found.groups)


@by_name([found for found in ENTRIES if found.command.startswith("regrade testsets add")])
def test_a_recipe_adds_its_own_set(found: CatalogEntry):
    assert found.command.split()[3] == found.name


@by_name([found for found in ENTRIES if found.class_space])
def test_the_rule_names_the_width_of_the_class_space(found: CatalogEntry):
    assert found.rule.startswith(f"{len(class_space(found.class_space))}-way")


@by_name([found for found in ENTRIES if not found.class_space])
def test_a_set_with_classes_of_its_own_is_scored_through_a_map(found: CatalogEntry):
    assert found.rule.startswith("any mapped class in the top k")
    assert brings_classes(found)


@pytest.mark.parametrize("name", ["imagenet-a", "imagenet-r"])
def test_the_200_way_sets_say_so(name):
    assert entry(name).rule.startswith("200-way")
    assert "same 200 classes" in entry(name).note


def test_imagenetv2_folders_are_class_indices():
    variants = [found for found in ENTRIES if found.name.startswith("imagenetv2-")]
    assert len(variants) == 3
    assert {found.files for found in variants} == {Files.INDEX_FOLDERS}


def test_objectnet_loses_the_border_its_own_loader_cuts():
    assert entry("objectnet").border == 2
    assert all(found.border == 0 for found in ENTRIES if found.name != "objectnet")


@by_name([found for found in ENTRIES if found.levels])
def test_levels_of_folders_are_the_groups_of_a_set(found: CatalogEntry):
    assert tuple(level.name for level in found.levels) == found.groups
    assert found.name == "imagenet-c" and [len(level.values) for level in found.levels] == [15, 5]


def test_no_pipeline_of_the_field_follows_exif():
    assert not any(found.applies_exif for found in ENTRIES)


@pytest.mark.parametrize("item", DOWNLOADS, ids=lambda item: urlsplit(item.url).path.rpartition("/")[2])
def test_a_download_can_be_verified_or_says_why_not(item: Download):
    assert urlsplit(item.url).scheme == "https" and not urlsplit(item.url).query
    assert bool(item.checksum) != bool(item.unchecked)
    if item.checksum:
        assert re.fullmatch(r"sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}", item.checksum)
        assert item.size


def test_sets_behind_a_registration_are_not_fetched():
    for name in ("imagenet-val", "objectnet", "dollarstreet"):
        assert entry(name).downloads == ()


def test_the_published_real_labels_have_the_catalog_s_checksum(published):
    import hashlib

    (item,) = entry("real").downloads
    content = (published / "real" / "real.json").read_bytes()
    assert (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}") == (item.size, item.checksum)


def test_an_unknown_name_is_told_with_its_neighbors():
    with pytest.raises(UnknownName, match=r"unknown test set .* 'imagenet-v'; did you mean imagenet-val"):
        entry("imagenet-v")
