"""A user's function is imported by module or by file; every error names it."""

import hashlib
import math
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from regrade.core import InputError, UnknownName
from regrade.models import load_model
from regrade.models.user_code import OwnCode, call_user_function, hash_own_code, user_object

FUNCTION = """
{imports}

def f(batch):
    {body}
    return batch.reshape(len(batch), -1)[:, :10]
"""


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


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes Python files, named by their paths without the suffix, and returns the folder."""
    monkeypatch.chdir(tmp_path)

    def write(files: dict[str, str] | None = None, **more: str) -> Path:
        for name, text in {**(files or {}), **more}.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text)
        return tmp_path

    yield write
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def code(tmp_path, settings):
    """The hash of the code of ``mine.py``."""

    def loaded(prefix="python", function="f"):
        return load_model(f"{prefix}:{tmp_path}/mine.py:{function}", settings).spec.code_hash

    return loaded


@pytest.mark.parametrize(
    ("imports", "body"),
    [
        ("import helper", ""),
        ("from helper import side", ""),
        ("import helper as h", ""),
        ("from helper import *", ""),
        ("", "from helper import side"),
        ("import importlib\nhelper = importlib.import_module('helper')", ""),
        ("try:\n    import helper\nexcept ImportError:\n    pass", ""),
    ],
)
def test_own_code_covers_a_module_next_to_the_file(written, code, imports, body, monkeypatch):
    folder = written(helper="side = 1\n", mine=FUNCTION.format(imports=imports, body=body))
    if body:
        monkeypatch.syspath_prepend(folder)  # an import within a function happens later
    before = code()
    assert before and code() == before
    written(helper="side = 2\n")
    assert code() != before


def test_own_code_covers_modules_of_modules_and_packages(written, code):
    files = {
        "mine": FUNCTION.format(imports="from package.outer import outer", body=""),
        "package/__init__": "",
        "package/outer": "from . import inner\nfrom .deep import far\nouter = 1\n",
        "package/inner": "inner = 1\n",
        "package/deep/__init__": "from .leaf import far\n",
        "package/deep/leaf": "far = 1\n",
    }
    written(files)
    before = code()
    for name, text in files.items():
        written({name: text + "# changed\n"})
        assert code() != before, name
        written({name: text})
        assert code() == before, name
    written({"unrelated": "x = 1\n", "package/unused": "x = 1\n"})
    assert code() == before


def test_own_code_leaves_out_what_is_installed(written, code):
    text = FUNCTION.format(imports="import numpy, json, regrade", body="")
    written(mine=text)
    before = code()
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert before == hashlib.sha256(f"regrade_user_code_mine {digest}\n".encode()).hexdigest()


def test_own_code_is_the_same_whatever_was_loaded_before(written, code, settings):
    folder = written(
        helper="side = 1\n",
        mine=FUNCTION.format(imports="import helper", body=""),
        other=FUNCTION.format(imports="import helper", body=""),
    )
    alone = code()
    load_model(f"python:{folder}/other.py:f", settings)
    assert code() == alone


def test_own_code_of_an_object_covers_the_module_of_its_class(written, code):
    shapes = "class Model:\n    def __call__(self, batch):\n        return batch.reshape(len(batch), -1)[:, :10]\n"
    written(shapes=shapes, mine="from shapes import Model\nf = Model()\n")
    before = code()
    written(shapes=shapes + "# changed\n")
    assert code() != before


class TestFiles:
    TEXT = FUNCTION.format(imports="from pathlib import Path", body="") + "f.files = {files}\n"

    @pytest.mark.parametrize("files", ["'weights.bin'", "['weights.bin', 'more.bin']", "Path('weights.bin')"])
    def test_own_code_covers_files_that_a_model_names(self, written, code, files):
        folder = written(mine=self.TEXT.format(files=files))
        (folder / "more.bin").write_bytes(b"0")
        (folder / "weights.bin").write_bytes(b"1")
        before = code()
        assert code() == before
        (folder / "weights.bin").write_bytes(b"2")
        assert code() != before

    def test_files_are_relative_to_the_folder_of_the_model(self, written, code, tmp_path_factory, monkeypatch):
        folder = written(mine=self.TEXT.format(files="'weights.bin'"))
        (folder / "weights.bin").write_bytes(b"1")
        before = code()
        monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
        assert code() == before

    def test_missing_file_is_reported_in_one_line(self, written, code):
        written(mine=self.TEXT.format(files="'weights.bin'"))
        with pytest.raises(
            InputError, match=r"mine\.py:f: its attribute files names 'weights\.bin', which does not exist"
        ):
            code()


def test_stated_weights_hash_replaces_the_hash_of_the_code(written, code, settings):
    folder = written(mine=FUNCTION.format(imports="", body="") + "f.weights_hash = 'v1'\n")
    assert code() == ""
    assert load_model(f"python:{folder}/mine.py:f", settings).spec.weights_hash == "v1"


def test_code_without_a_file_is_noted(settings, monkeypatch):
    module = ModuleType("typed_into_a_notebook")
    exec(FUNCTION.format(imports="", body=""), vars(module))  # as a notebook does
    monkeypatch.setitem(sys.modules, module.__name__, module)
    spec = load_model("python:typed_into_a_notebook:f", settings).spec
    assert spec.code_hash == "" and spec.code_note.startswith("the code of typed_into_a_notebook is not in a file")


def test_code_in_an_archive_is_covered(tmp_path, settings, monkeypatch):
    hashes = []
    for version in (1, 2):
        path = tmp_path / f"code{version}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("zipped.py", FUNCTION.format(imports="", body="") + f"version = {version}\n")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(path)
            patch.delitem(sys.modules, "zipped", raising=False)
            spec = load_model("python:zipped:f", settings).spec
            hashes.append(spec.code_hash)
            assert spec.code_note == ""
            del sys.modules["zipped"]
    assert all(hashes) and hashes[0] != hashes[1]


class TestTorch:
    NET = "from torch import nn\ndef f():\n    return nn.Sequential(nn.Flatten(), nn.Linear(192, 10))\n"
    BLOCKS = "from torch import nn\nclass Net(nn.Sequential):\n    pass\n"

    @pytest.fixture(autouse=True)
    def needs_torch(self, library):
        library("torch")

    def test_torch_model_covers_the_code_of_its_module(self, written, code):
        written(blocks=self.BLOCKS, mine="from blocks import Net\n" + self.NET.replace("nn.Sequential(", "Net("))
        before = code("torch")
        assert before and code("torch") == before
        written(blocks=self.BLOCKS + "# changed\n")
        assert code("torch") != before

    def test_export_keeps_the_hash_of_the_code(self, written, settings, batch, library):
        library("onnxruntime")
        from regrade.models import export_to_onnx

        folder = written(mine=self.NET)
        model = load_model(f"torch:{folder}/mine.py:f", settings)
        assert export_to_onnx(model, batch).model.spec == model.spec and model.spec.code_hash


class TestFresh:
    """A file imports the modules next to it as they are on disk."""

    def test_model_gets_the_module_next_to_its_own_file(self, tmp_path, settings, batch):
        scores = []
        for name, factor in (("a", 2), ("b", 3)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "helper.py").write_text(f"factor = {factor}\n")
            text = FUNCTION.format(imports="import helper", body="batch = helper.factor * batch")
            (tmp_path / name / "mine.py").write_text(text)
            scores.append(load_model(f"python:{tmp_path}/{name}/mine.py:f", settings).scores(batch))
        assert scores[1] == pytest.approx(1.5 * scores[0])

    def test_model_gets_a_module_that_was_edited(self, written, settings, batch, tmp_path):
        text = FUNCTION.format(imports="import helper", body="batch = helper.factor * batch")
        written(helper="factor = 2\n", mine=text)
        first = load_model(f"python:{tmp_path}/mine.py:f", settings).scores(batch)
        written(helper="factor = 200\n")
        second = load_model(f"python:{tmp_path}/mine.py:f", settings).scores(batch)
        assert second == pytest.approx(100 * first)

    def test_modules_that_the_program_imported_itself_stay(self, written, settings, monkeypatch):
        folder = written(helper="side = 1\n", mine=FUNCTION.format(imports="import helper", body=""))
        monkeypatch.syspath_prepend(folder)
        import helper

        load_model(f"python:{folder}/mine.py:f", settings)
        load_model(f"python:{folder}/mine.py:f", settings)
        assert sys.modules["helper"] is helper


def test_own_code_of_built_in_functions_is_empty():
    assert hash_own_code(math.sin, [], "m") == OwnCode()
