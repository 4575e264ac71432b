"""A user's function is imported by module or by file; every error names it."""

import sys

import pytest

from regrade.core import InputError, UnknownName
from regrade.models.user_code import call_user_function, user_object


def test_user_object_by_file(user_module):
    path = user_module("def make():\n    return 3\n")
    assert call_user_function(user_object(f"{path}:make", prefix="torch"), f"{path}:make", "m") == 3


def test_user_object_by_module_in_the_working_directory(user_module):
    user_module("def make():\n    return 4\n", "lonely_module_of_a_test.py")
    before = list(sys.path)
    assert user_object("lonely_module_of_a_test:make", prefix="torch")() == 4
    assert sys.path == before


def test_user_object_by_installed_package():
    import json.decoder

    assert user_object("json.decoder:JSONDecoder", prefix="python") is json.decoder.JSONDecoder


def test_user_object_file_imports_modules_next_to_it(user_module):
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


def test_call_user_function_imports_modules_next_to_the_file(user_module, tmp_path):
    (tmp_path / "inner").mkdir()
    user_module("SIDE = 6\n", "inner/late_neighbor_of_a_test.py")
    path = user_module("def make():\n    from late_neighbor_of_a_test import SIDE\n    return SIDE\n", "inner/m.py")
    before = list(sys.path)
    assert call_user_function(user_object(f"{path}:make", prefix="torch"), f"{path}:make", "m") == 6
    assert sys.path == before


def test_user_object_rereads_a_changed_file(user_module):
    path = user_module("A = 1\n")
    assert user_object(f"{path}:A", prefix="python") == 1
    path = user_module("A = 'changed'\n")
    assert user_object(f"{path}:A", prefix="python") == "changed"


def test_user_object_reports_a_missing_module():
    with pytest.raises(InputError, match=r"there is no module 'no_such_package.models', neither installed nor in"):
        user_object("no_such_package.models:make", prefix="torch")


def test_user_object_reports_a_missing_file():
    with pytest.raises(InputError, match=r"there is no file nowhere/models\.py"):
        user_object("nowhere/models.py:make", prefix="torch")


def test_user_object_suggests_a_similar_function(user_module):
    path = user_module("def make_resnet(): ...\n")
    with pytest.raises(UnknownName, match=r"unknown function of .*mine\.py 'make_resnt'; did you mean make_resnet\?"):
        user_object(f"{path}:make_resnt", prefix="torch")


def test_user_object_reports_a_failing_import(user_module):
    user_module("import no_such_module_at_all\n", "broken_module_of_a_test.py")
    with pytest.raises(InputError, match=r"broken_module_of_a_test cannot be imported: ModuleNotFoundError: No module"):
        user_object("broken_module_of_a_test:make", prefix="torch")


@pytest.mark.parametrize("text, kind", [("1 / 0\n", "ZeroDivisionError"), ("def make(:\n", "SyntaxError")])
def test_user_object_reports_a_failing_file(user_module, text, kind):
    path = user_module(text)
    with pytest.raises(InputError, match=rf"mine\.py cannot be imported: {kind}: "):
        user_object(f"{path}:make", prefix="torch")


def test_call_user_function_reports_an_error(user_module):
    path = user_module("def make():\n    raise ValueError('no weights at /x\\nsecond line')\n")
    with pytest.raises(InputError) as raised:
        call_user_function(user_object(f"{path}:make", prefix="torch"), f"{path}:make", "torch:mine.py:make")
    assert str(raised.value) == "torch:mine.py:make raised: ValueError: no weights at /x"


@pytest.mark.parametrize("place", ["mine", "mine:", ":make"])
def test_user_object_rejects_a_place_without_both_parts(place):
    with pytest.raises(InputError, match=r"should be torch:package\.module:name or torch:path/to/file\.py:name"):
        user_object(place, prefix="torch")
