"""What is public is listed, is there, and says what it is."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import regrade

PACKAGES = (
    "core", "classes", "stats", "metrics", "tables", "store", "formats", "testsets", "models", "predict", "train",
    "studies", "reports", "workspace", "demo",
)  # fmt: skip
LAZY = ("core", "metrics", "stats", "store", "studies", "tables", "train", "workspace")


@pytest.mark.parametrize("name", PACKAGES)
def test_all_lists_exactly_what_the_package_shows(name):
    module = importlib.import_module(f"regrade.{name}")
    shown = {
        public for public, value in vars(module).items() if not public.startswith("_") and not inspect.ismodule(value)
    }
    if name in LAZY:
        assert shown - {"annotations", "lazy_names", "TYPE_CHECKING"} <= set(dir(module))
        shown = set(dir(module))
    assert set(module.__all__) == shown
    assert len(module.__all__) == len(set(module.__all__))


@pytest.mark.parametrize("name", LAZY)
def test_names_that_are_imported_when_asked_for_are_those_that_type_checkers_see(name):
    module = importlib.import_module(f"regrade.{name}")
    (block,) = (node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.If)
        and getattr(node.test, "id", "") == "TYPE_CHECKING")  # fmt: skip
    seen = {node.module: {alias.name for alias in node.names} for node in block.body}
    assert {home: set(names.split()) for home, names in module._HOME.items()} == seen
    modules = {path.stem for path in Path(module.__path__[0]).iterdir()}
    assert not modules & set(module.__all__), "a module hides the name: give it another"
    with pytest.raises(AttributeError, match=f"module 'regrade.{name}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_function_and_class_has_a_docstring_of_its_own(name):
    module = importlib.import_module(f"regrade.{name}")
    for public in module.__all__:
        value = getattr(module, public)
        if inspect.isclass(value) or inspect.isroutine(value):
            text = inspect.getdoc(value) or ""
            assert text and not text.startswith(f"{public}("), f"{name}.{public} has no docstring"


def test_the_face_of_the_project_is_what_it_lists():
    assert dir(regrade) == sorted(regrade.__all__)
    for name in regrade.__all__:
        assert getattr(regrade, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        regrade.opne  # noqa: B018


def test_statistics_come_without_the_rest():
    """`from regrade.stats import mcnemar` must not pull in readers, tables or the command line."""
    code = "import sys; from regrade.stats import mcnemar; print(*sorted(m.split('.')[0] for m in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pyarrow", "pydantic", "typer", "rich", "altair", "pandas"} & set(loaded)
