import pytest

from regrade.classes import class_map_from_file
from regrade.core import ClassSpace, FormatError, InputError, MapRule

SOURCE = ClassSpace("breeds", ("pug", "collie", "tabby", "carp"))
TARGET = ClassSpace("pets", ("dog", "cat", "parrot"))


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
