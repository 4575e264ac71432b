import dataclasses
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.classes import (
    BUILT_IN,
    class_map_from_file,
    class_space,
    class_space_as_json,
    class_space_from_file,
    class_space_from_json,
)
from regrade.core import ClassSpace, FormatError, Hierarchy, InputError, MapRule, hierarchy_distances

FULL_CSV = """id,name,parent,groups
pug,Pug,dog,small;at home
tabby,,cat,at home
wolf,Gray wolf,canine; predator,
dog,Dog,canine,
"""

SOURCE = ClassSpace("breeds", ("pug", "collie", "tabby", "carp"))
TARGET = ClassSpace("pets", ("dog", "cat", "parrot"))


@pytest.fixture
def written(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_text_has_one_id_per_line(written):
    space = class_space_from_file(written("pets.txt", "\ufeffcat\r\nbig dog\n\n"))
    assert (space.name, space.ids, space.names) == ("pets", ("cat", "big dog"), ("cat", "big dog"))
    with pytest.raises(InputError, match="is empty"):
        class_space_from_file(written("none.txt", "\n"))


def test_csv_with_ids_only(written):
    space = class_space_from_file(written("pets.csv", "id\nwolf\npug\n"))
    assert (space.name, space.ids, space.names) == ("pets", ("wolf", "pug"), ("wolf", "pug"))
    assert space.hierarchy is None


def test_csv_with_names_parents_and_groups(written):
    space = class_space_from_file(written("pets.csv", FULL_CSV))
    assert space.names == ("Pug", "tabby", "Gray wolf", "Dog")
    assert space.groups == {"small": (0,), "at home": (0, 1)}
    assert space.hierarchy.parents["wolf"] == ("canine", "predator")
    assert space.group("canine").tolist() == [0, 2, 3]
    assert hierarchy_distances(space)[0, 2] == 2


def test_csv_saved_by_spreadsheets(written):
    space = class_space_from_file(written("pets.csv", '\ufeffID, Name\r\npug,"Pug, small"\r\n\r\n wolf ,\r\n'))
    assert (space.ids, space.names) == (("pug", "wolf"), ("Pug, small", "wolf"))


def test_a_json_list_of_ids(written):
    assert class_space_from_file(written("pets.json", '["wolf", "pug"]')).ids == ("wolf", "pug")


def test_a_json_object_of_names(written):
    space = class_space_from_file(written("pets.json", '{"wolf": "Gray wolf", "pug": "Pug"}'))
    assert (space.ids, space.names) == (("wolf", "pug"), ("Gray wolf", "Pug"))


def test_a_json_object_with_all_keys(written):
    content = {
        "name": "my pets",
        "ids": ["wolf", "pug"],
        "names": ["Gray wolf", "Pug"],
        "groups": {"at home": ["pug"], "wild": [0]},
        "parents": {"wolf": "canine", "pug": ["dog"], "dog": ["canine"]},
    }
    space = class_space_from_file(written("pets.json", json.dumps(content)))
    assert (space.name, space.names) == ("my pets", ("Gray wolf", "Pug"))
    assert space.groups == {"at home": (1,), "wild": (0,)}
    assert space.group("dog").tolist() == [1]
    assert space.group("canine").tolist() == [0, 1]


def test_folder_classes_are_sorted_as_text(tmp_path):
    for name in ("2", "10", ".cache"):
        (tmp_path / "v1.0" / name).mkdir(parents=True)
    (tmp_path / "v1.0" / "README").touch()
    space = class_space_from_file(tmp_path / "v1.0")
    assert (space.name, space.ids) == ("v1.0", ("10", "2"))


def test_given_name_overrides_the_file(written):
    assert class_space_from_file(written("a.json", '{"name": "b", "ids": ["x"]}'), "c").name == "c"
    assert class_space_from_file(str(written("a.csv", "id\nx\n")), name="c").name == "c"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "id,name\n", "has a header but no rows"),
        ("a.csv", "class,name\npug,Pug\n", "has no column 'id'; its header contains class, name"),
        ("a.csv", "id,id\npug,Pug\n", "has a column twice"),
        ("a.csv", "id\npug\nwolf\npug\n", "the id 'pug' occurs on line 2 and on line 4"),
        ("a.csv", "id,name\n,Pug\n", "line 2 has no id"),
        ("a.csv", "id,name\npug,Pug,small\n", "line 2 has more cells"),
        ("a.csv", "id,name\npug,Dog\nwolf,Dog\n", "the name 'Dog' occurs twice"),
        ("a.csv", 'id\n"pug\n', "is not valid CSV"),
        ("a.csv", "id,parent\na,b\nb,a\n", "'a' is its own ancestor"),
        ("a.csv", b"id\n\xff\xfe\n", "is not UTF-8 text"),
        ("a.json", " \n", "is empty"),
        ("a.json", "[1,", r"is not valid JSON: a value is missing \(column 4\)"),
        ("a.json", "3", "expected a list of ids or an object"),
        ("a.json", "[]", "has no classes"),
        ("a.json", "[1, 2]", "ids: expected a list of strings, got 1"),
        ("a.json", '["a", "a"]', "the id 'a' occurs twice"),
        ("a.json", '["a", " "]', "an id is empty"),
        ("a.json", '{"a": "x", "a": "y"}', "has the key 'a' twice"),
        ("a.json", '{"a": 1}', "or an object with the key 'ids'"),
        ("a.json", '{"ids": ["a"], "nmaes": ["x"]}', "unknown key .* 'nmaes'; did you mean names"),
        ("a.json", '{"ids": ["a"], "names": ["x", "y"]}', "1 ids, 2 names"),
        ("a.json", '{"ids": ["a"], "groups": {"g": ["b"]}}', "unknown class id of a 'b'"),
        ("a.json", '{"ids": ["a"], "groups": {"g": [1]}}', "a group contains class 1, but there are 1 classes"),
        ("a.json", '{"ids": ["a"], "groups": {"g": [true]}}', "expected a class id or class index, got True"),
        ("a.json", '{"ids": ["a"], "groups": ["g"]}', "groups: expected an object"),
        ("a.json", '{"ids": ["a"], "parents": {"a": 1}}', "parents: expected a list, got 1"),
        ("a.json", '{"ids": ["a"], "name": ""}', "a class space needs a name"),
        ("a.tsv", "pug\n", "expected a file that ends in .csv, .json or .txt"),
    ],
)
def test_class_space_from_file_rejects_invalid_files(written, name, content, message):
    path = written(name, content)
    with pytest.raises(FormatError, match=message) as caught:
        class_space_from_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_class_space_from_file_rejects_folders_without_folders(tmp_path):
    with pytest.raises(FormatError, match="has no sub-folders; expected one per class"):
        class_space_from_file(tmp_path)


def test_class_space_from_file_rejects_missing_files(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: no such file"):
        class_space_from_file(tmp_path / "none.csv")


@pytest.mark.parametrize("column", ["parents", "group", "names"])
def test_csv_with_a_misspelled_column_is_rejected(written, column):
    """A misspelled column would silently drop the hierarchy, the groups or the names."""
    with pytest.raises(FormatError, match=f"unknown column '{column}'; did you mean"):
        class_space_from_file(written("pets.csv", f"id,{column}\nwolf,canine\n"))


def test_other_csv_columns_are_ignored(written):
    assert class_space_from_file(written("pets.csv", "id,remark\nwolf,gray\n")).ids == ("wolf",)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "id,name\nwolf\n", "line 2 has fewer cells"),
        ("a.json", '["wolf "]', "begins or ends with whitespace"),
        ("a.json", '["\\ud800"]', "invalid character"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.json", '{"ids": ["a"], "names": [NaN]}', "contains NaN"),
        ("a.json", f"[{'9' * 5000}]", "is not valid JSON"),
        ("a.json", f'{{"ids": {"[" * 500}{"]" * 500}}}', "expected a list of strings"),
    ],
)
def test_class_space_from_file_errors_are_one_short_line(written, name, content, words):
    with pytest.raises(InputError, match=words) as refused:
        class_space_from_file(written(name, content))
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


def test_folder_names_must_be_utf_8(tmp_path):
    (tmp_path / "v" / os.fsdecode(b"\xff")).mkdir(parents=True)
    with pytest.raises(FormatError, match=r"'\\udcff' is not valid UTF-8: rename it first"):
        class_space_from_file(tmp_path / "v")


def read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return class_map_from_file(path, SOURCE, TARGET, MapRule.ANY_IN_TOP_K)


def test_csv_has_one_pair_per_row(tmp_path):
    rows = "target,source\ndog,pug\ncat,tabby\ndog,collie\ndog,pug\nparrot,\n"
    class_map = read(tmp_path, "map.csv", rows)
    assert class_map.sources == ((0, 1), (2,), ())
    assert class_map.rule is MapRule.ANY_IN_TOP_K
    assert (class_map.source, class_map.target) == (SOURCE, TARGET)


def test_a_json_object_lists_ids_or_indices(tmp_path):
    class_map = read(tmp_path, "map.json", '{"cat": ["tabby"], "dog": [1, "pug"], "parrot": []}')
    assert class_map.sources == ((1, 0), (2,), ())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("map.csv", "target,source\ndog,pug\n", "lacks 2 classes of pets, for example 'cat'"),
        ("map.csv", "target,source\ndog,pugg\n", "line 2: unknown class id of breeds 'pugg'; did you mean pug"),
        ("map.csv", "target,source\ndug,pug\n", "line 2: unknown class id of pets 'dug'; did you mean dog"),
        ("map.csv", "target\ndog\n", "has no column 'source'"),
        ("map.json", '{"dog": [4], "cat": [], "parrot": []}', "class index outside 'breeds'"),
        ("map.json", '{"dog": "pug", "cat": [], "parrot": []}', "dog: expected a list, got 'pug'"),
        ("map.json", '{"dog": [1.5], "cat": [], "parrot": []}', "dog: expected a class id"),
        ("map.json", '{"dig": ["pug"]}', "unknown class id of pets 'dig'"),
        ("map.json", '["pug"]', "expected an object"),
        ("map.json", '{"dog": [], "cat": [], "parrot": []}', "maps no class: give each class"),
        ("map.csv", "target,source\ndog,\ncat,\nparrot,\n", "maps no class: give each class"),
        ("map.txt", "dog pug", "expected a file that ends in .csv or .json"),
    ],
)
def test_class_map_from_file_rejects_invalid_files(tmp_path, name, text, message):
    with pytest.raises(FormatError, match=message) as caught:
        read(tmp_path, name, text)
    assert str(caught.value).startswith(f"{tmp_path / name}: ")


def test_class_map_from_file_rejects_missing_files(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        class_map_from_file(tmp_path / "map.csv", SOURCE, TARGET, MapRule.WITHIN_MAPPED)


def everything(space):
    """All fields of a class space, for comparison."""
    fields = {field.name: getattr(space, field.name) for field in dataclasses.fields(space)}
    hierarchy = fields.pop("hierarchy")
    return fields, hierarchy and (hierarchy.parents, hierarchy.lemmas)


def through_json(space):
    return class_space_from_json(json.loads(json.dumps(class_space_as_json(space))))


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_space_round_trip(name):
    space = class_space(name)
    assert everything(through_json(space)) == everything(space)


@st.composite
def class_spaces(draw):
    ids = tuple(draw(st.lists(st.text('abc\n"é;,', min_size=1).filter(str.strip), min_size=1, max_size=5, unique=True)))
    words = st.lists(st.text(), max_size=2).map(tuple)
    indices = st.lists(st.sampled_from(range(len(ids))), unique=True).map(tuple)
    parents = {class_id: draw(st.sampled_from([(), ("above",)])) for class_id in ids}
    lemmas = draw(st.dictionaries(st.sampled_from(["above", *ids]), words))
    return ClassSpace(
        "random",
        ids,
        names=tuple(f"{class_id}!" for class_id in ids),
        lemmas=tuple(draw(words) for _ in ids),
        hierarchy=draw(st.sampled_from([None, Hierarchy(parents, lemmas)])),
        groups=draw(st.dictionaries(st.text(), indices, max_size=2)),
        collapsed=draw(st.dictionaries(st.sampled_from(range(len(ids))), indices, max_size=2)),
    )


@given(class_spaces())
def test_any_space_round_trip(space):
    assert everything(through_json(space)) == everything(space)


def test_name_and_ids_are_sufficient():
    space = class_space_from_json({"name": "two", "ids": ["a", "b"]})
    assert everything(space) == everything(ClassSpace("two", ("a", "b")))


@pytest.mark.parametrize("content", [{"ids": ["a"]}, {"name": "x"}, {"name": 1, "ids": ["a"]}])
def test_name_and_ids_are_required(content):
    with pytest.raises(FormatError):
        class_space_from_json(content)


def test_collapsed_classes_may_be_named_by_id_or_index():
    space = class_space_from_json({"name": "two", "ids": ["a", "b"], "collapsed": {"a": ["b"], "b": [0]}})
    assert space.collapsed == {0: (1,), 1: (0,)}


def test_a_collapsed_label_must_be_a_class():
    with pytest.raises(InputError, match="class id of two 'c'"):
        class_space_from_json({"name": "two", "ids": ["a", "b"], "collapsed": {"c": ["b"]}})
