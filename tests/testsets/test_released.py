"""The class map of ObjectNet's release."""

import json
import re

import pytest
from releases import OBJECTNET_LABELS, OBJECTNET_TO_IMAGENET, write_objectnet

from regrade.classes import imagenet_1k
from regrade.core import InputError, MapRule
from regrade.testsets.released import objectnet_map

SPACE = imagenet_1k()


def test_classes_have_folder_ids_and_label_names(tmp_path):
    space = objectnet_map(write_objectnet(tmp_path), SPACE).target
    assert space.ids == ("alarm_clock", "banana", "blender", "chair", "mixing_salad_bowl")
    assert space.names == ("Alarm clock", "Banana", "Blender", "Chair", "Mixing / Salad Bowl")


def test_descriptions_are_mapped_to_imagenet_classes(tmp_path):
    class_map = objectnet_map(write_objectnet(tmp_path), SPACE)
    assert class_map.sources == ((409, 530), (954,), (), (423, 559, 765), (659,))
    assert class_map.rule is MapRule.ANY_IN_TOP_K
    assert class_map.scorable.tolist() == [True, True, False, True, True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Banana": "bananna"}, r"objectnet_to_imagenet_1k\.json, 'Banana': unknown .*'bananna'; did you mean banana"),
        ({"Banana": "crane"}, "'Banana': the description 'crane' could mean n02012849 or n03126707"),
        ({"Banana": "banana; rocker"}, "'Banana': unknown description .* 'rocker'"),
        ({"Pear": "fig"}, r"maps 'Pear', which is not in folder_to_objectnet_label\.json"),
        ({"Banana": ["banana"]}, "a JSON object that maps strings to strings"),
    ],
)
def test_objectnet_map_rejects_unknown_names(tmp_path, changes, message):
    root = write_objectnet(tmp_path)
    path = root / "mappings" / "objectnet_to_imagenet_1k.json"
    path.write_text(json.dumps({**OBJECTNET_TO_IMAGENET, **changes}))
    with pytest.raises(InputError, match=message):
        objectnet_map(root, SPACE)


@pytest.mark.parametrize("name", ["folder_to_objectnet_label.json", "objectnet_to_imagenet_1k.json"])
def test_objectnet_map_rejects_missing_or_damaged_files(tmp_path, name):
    root = write_objectnet(tmp_path)
    path = root / "mappings" / name
    path.write_text("{")
    with pytest.raises(InputError, match=f"{re.escape(name)} is not valid JSON"):
        objectnet_map(root, SPACE)
    path.unlink()
    with pytest.raises(InputError, match=f"{re.escape(name)} is missing: give the folder"):
        objectnet_map(root, SPACE)


def test_objectnet_map_rejects_two_folders_with_one_label(tmp_path):
    root = write_objectnet(tmp_path)
    path = root / "mappings" / "folder_to_objectnet_label.json"
    path.write_text(json.dumps({**OBJECTNET_LABELS, "bananas": "Banana"}))
    with pytest.raises(InputError, match="the name 'Banana' occurs twice"):
        objectnet_map(root, SPACE)
