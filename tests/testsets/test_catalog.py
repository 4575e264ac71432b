import re
from urllib.parse import urlsplit

import pytest

from regrade.classes import BUILT_IN, class_space
from regrade.core import UnknownName
from regrade.testsets import brings_classes
from regrade.testsets.catalog import CatalogEntry, Download, EntryKind, Files, entry, names

ENTRIES = [entry(name) for name in names()]
DOWNLOADS = [item for listed in ENTRIES for item in listed.downloads]

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
    return pytest.mark.parametrize("listed", items, ids=lambda listed: listed.name)


def test_catalog_contains_published_sets_with_their_counts():
    assert {listed.name: listed.examples for listed in ENTRIES} == COUNTS
    assert len(names()) == len(set(names()))


def test_names_are_ordered_by_kind():
    kinds = [listed.kind for listed in ENTRIES]
    assert kinds == sorted(kinds, key=list(EntryKind).index)
    assert [listed.name for listed in ENTRIES if listed.kind is EntryKind.LABEL_SET] == ["real", "multilabel-v3"]
    assert [listed.name for listed in ENTRIES if listed.kind is EntryKind.SLICES] == ["imagenet-m", "imagenet-x"]


@by_name(ENTRIES)
def test_entry_has_all_required_fields(listed: CatalogEntry):
    assert listed.class_space in (*BUILT_IN, "")
    assert listed.command.startswith("regrade ") and "\n" not in listed.command
    assert urlsplit(listed.address).scheme == "https" and urlsplit(listed.address).hostname
    assert listed.title and listed.rule and listed.terms
    assert listed.border >= 0
    assert len(set(listed.groups)) == len(listed.groups)


@by_name([listed for listed in ENTRIES if listed.command.startswith("regrade testsets add")])
def test_command_adds_its_own_test_set(listed: CatalogEntry):
    assert listed.command.split()[3] == listed.name


@by_name([listed for listed in ENTRIES if listed.class_space])
def test_rule_states_the_number_of_classes(listed: CatalogEntry):
    assert listed.rule.startswith(f"{len(class_space(listed.class_space))}-way")


@by_name([listed for listed in ENTRIES if not listed.class_space])
def test_sets_with_their_own_classes_use_a_class_map(listed: CatalogEntry):
    assert listed.rule.startswith("any mapped class in the top k")
    assert brings_classes(listed)


@pytest.mark.parametrize("name", ["imagenet-a", "imagenet-r"])
def test_imagenet_a_and_r_are_200_way(name):
    assert entry(name).rule.startswith("200-way")
    assert "same 200 classes" in entry(name).note


def test_imagenetv2_folders_are_class_indices():
    variants = [listed for listed in ENTRIES if listed.name.startswith("imagenetv2-")]
    assert len(variants) == 3
    assert {listed.files for listed in variants} == {Files.INDEX_FOLDERS}


def test_objectnet_crops_the_same_border_as_its_own_loader():
    assert entry("objectnet").border == 2
    assert all(listed.border == 0 for listed in ENTRIES if listed.name != "objectnet")


@by_name([listed for listed in ENTRIES if listed.levels])
def test_folder_levels_are_the_group_columns(listed: CatalogEntry):
    assert tuple(level.name for level in listed.levels) == listed.groups
    assert listed.name == "imagenet-c" and [len(level.values) for level in listed.levels] == [15, 5]


def test_no_entry_applies_exif_orientation():
    assert not any(listed.applies_exif for listed in ENTRIES)


@pytest.mark.parametrize("item", DOWNLOADS, ids=lambda item: urlsplit(item.url).path.rpartition("/")[2])
def test_downloads_have_a_checksum_or_a_reason(item: Download):
    assert urlsplit(item.url).scheme == "https" and not urlsplit(item.url).query
    assert bool(item.checksum) != bool(item.unchecked)
    if item.checksum:
        assert re.fullmatch(r"sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}", item.checksum)
        assert item.size


def test_sets_that_require_registration_have_no_downloads():
    for name in ("imagenet-val", "objectnet", "dollarstreet"):
        assert entry(name).downloads == ()


def test_checksum_matches_the_published_real_labels(published):
    import hashlib

    (item,) = entry("real").downloads
    content = (published / "real" / "real.json").read_bytes()
    assert (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}") == (item.size, item.checksum)


def test_entry_suggests_similar_names():
    with pytest.raises(UnknownName, match=r"unknown test set .* 'imagenet-v'; did you mean imagenet-val"):
        entry("imagenet-v")
