"""A user's function is found by module or by file, and every failure names it."""

import sys

import pytest

from regrade.core import InputError, UnknownName
from regrade.models.user_code import called, user_object


def test_by_file(user_module):
    path = user_module("def make():\n    return 3\n")
    assert called(user_object(f"{path}:make", prefix="torch"), f"{path}:make", "m") == 3


def test_by_module_in_the_working_folder(user_module):
    user_module("def make():\n    return 4\n", "lonely_module_of_a_test.py")
    before = list(sys.path)
    assert user_object("lonely_module_of_a_test:make", prefix="torch")() == 4
    assert sys.path == before


def test_by_installed_package():
    import json.decoder

    assert user_object("json.decoder:JSONDecoder", prefix="python") is json.decoder.JSONDecoder


def test_a_file_finds_its_neighbors_and_its_own_dataclasses(user_module):
    user_module("SIDE = 5\n", "neighbor_of_a_test.py")
    text = """
from __future__ import annotations
from dataclasses import dataclass
from neighbor_of_a_test import SIDE

@dataclass
class A:
    x: int = SIDE
"""
    path = user_module(text)
    assert user_object(f"{path}:A", prefix="python")().x == 5


def test_a_function_finds_modules_beside_its_file_while_it_runs(user_module, tmp_path):
    (tmp_path / "inner").mkdir()
    user_module("SIDE = 6\n", "inner/late_neighbor_of_a_test.py")
    path = user_module("def make():\n    from late_neighbor_of_a_test import SIDE\n    return SIDE\n", "inner/m.py")
    before = list(sys.path)
    assert called(user_object(f"{path}:make", prefix="torch"), f"{path}:make", "m") == 6
    assert sys.path == before


def test_a_changed_file_is_read_again(user_module):
    path = user_module("A = 1\n")
    assert user_object(f"{path}:A", prefix="python") == 1
    path = user_module("A = 'changed'\n")
    assert user_object(f"{path}:A", prefix="python") == "changed"


def test_no_such_module():
    with pytest.raises(InputError, match=r"there is no module 'no_such_package.models', neither installed nor in"):
        user_object("no_such_package.models:make", prefix="torch")


def test_no_such_file():
    with pytest.raises(InputError, match=r"there is no file nowhere/models\.py"):
        user_object("nowhere/models.py:make", prefix="torch")


def test_no_such_function_suggests_its_neighbors(user_module):
    path = user_module("def make_resnet(): ...\n")
    with pytest.raises(UnknownName, match=r"unknown function of .*mine\.py 'make_resnt'; did you mean make_resnet\?"):
        user_object(f"{path}:make_resnt", prefix="torch")


def test_a_module_whose_own_import_fails(user_module):
    user_module("import no_such_thing_at_all\n", "broken_module_of_a_test.py")
    with pytest.raises(InputError, match=r"broken_module_of_a_test cannot be imported: ModuleNotFoundError: No module"):
        user_object("broken_module_of_a_test:make", prefix="torch")


@pytest.mark.parametrize("text, kind", [("1 / 0\n", "ZeroDivisionError"), ("def make(:\n", "SyntaxError")])
def test_a_file_that_fails(user_module, text, kind):
    path = user_module(text)
    with pytest.raises(InputError, match=rf"mine\.py cannot be imported: {kind}: "):
        user_object(f"{path}:make", prefix="torch")


def test_a_function_that_raises(user_module):
    path = user_module("def make():\n    raise ValueError('no weights at /x\\nsecond line')\n")
    with pytest.raises(InputError) as raised:
        called(user_object(f"{path}:make", prefix="torch"), f"{path}:make", "torch:mine.py:make")
    assert str(raised.value) == "torch:mine.py:make raised: ValueError: no weights at /x"


@pytest.mark.parametrize("place", ["mine", "mine:", ":make"])
def test_a_place_without_both_parts(place):
    with pytest.raises(InputError, match=r"should be torch:package\.module:name or torch:path/to/file\.py:name"):
        user_object(place, prefix="torch")
