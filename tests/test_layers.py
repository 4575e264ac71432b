"""Imports go one way: a package knows only the rows below its own, and the pure ones touch nothing outside."""

import ast
from functools import cache
from pathlib import Path

import pytest

import regrade

SOURCE = Path(regrade.__file__).parent
ROWS = (
    {"core"},
    {"metrics", "stats", "classes", "tables", "kernels"},
    {"store", "formats", "testsets", "models", "executors", "neighbors", "ledger"},
    {"display"},
    {"studies"},
    {"predict", "reports", "build", "train"},
    {"workspace"},
    {"app", "demo", "replicate"},
    {"cli"},
    {"__main__"},
)
PURE = ("core", "metrics", "stats", "studies")
NOT_PURE = {
    "study.py", "figure.py", "figure_parts.py", "paper_figures.py", "stride_figures.py", "rival_figure.py",
    "gallery.py", "progress_figure.py", "world_map.py", "label_places.py", "flow_figure.py", "pair_figure.py",
    "slice_figure.py", "figure_files.py", "sets_figure.py", "trend_figure.py",
}  # fmt: skip
"""Files in the folder of a study that may load data or draw; its analysis and its result may not."""
SHARED_LOADERS = {
    "loading.py", "methods.py", "offered.py", "registry.py", "report_data.py", "stored_subset.py", "study.py",
    "thumbnails.py", "grade/metric_registry.py",
}  # fmt: skip
IMAGE_SEARCH = {
    "leakage/search.py",
    "leakage/signatures.py",
    "leakage/pairs_page.py",
    "leakage/pair_search.py",
    "neighbors/search.py",
}  # fmt: skip - decode and compare images
PURE_IMPORTS = {
    "__future__", "abc", "bisect", "collections", "dataclasses", "difflib", "enum", "errno", "functools", "hashlib",
    "html", "itertools", "json", "math", "numpy", "re", "regrade", "scipy", "types", "typing",
    "statistics", "unicodedata",
}  # fmt: skip
EXCEPTIONS = {
    ("core/table.py", "pyarrow"),  # a table turns into either when asked
    ("core/table.py", "pandas"),
    ("core/lazy_names.py", "importlib"),  # public names are imported when asked for
    ("core/images.py", "pathlib"),  # where images are is a value; nothing is opened
    ("core/cores.py", "os"),  # how many cores there are, and work on all of them
    ("core/cores.py", "concurrent"),
}


def is_pure(path):
    if package_of(path) != "studies":
        return package_of(path) in PURE
    place = path.relative_to(SOURCE / "studies").as_posix()
    return path.name not in NOT_PURE and place not in SHARED_LOADERS | IMAGE_SEARCH


def row_of(package):
    return next(row for row, packages in enumerate(ROWS) if package in packages)


@cache
def modules():
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def package_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def imported(path):
    """The names of the modules that a file imports."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.append(node.module)
    return names


def test_every_package_has_a_row():
    assert {package_of(path) for path in modules()} == set().union(*ROWS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_imports_only_from_rows_below(path):
    package = package_of(path)
    for name in imported(path):
        if not name.startswith("regrade."):
            continue
        imported_package = name.split(".")[1]
        assert imported_package == package or row_of(imported_package) < row_of(package), f"{path} imports {name}"


@pytest.mark.parametrize(
    "path", [path for path in modules() if is_pure(path)], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_pure_packages_know_no_files_clock_or_network(path):
    place = path.relative_to(SOURCE).as_posix()
    roots = {name.split(".")[0] for name in imported(path)}
    impure = sorted(root for root in roots - PURE_IMPORTS if (place, root) not in EXCEPTIONS)
    assert not impure, f"{place} imports {impure}: it is pure; load data in study.py and draw in figure.py of the study"


@pytest.mark.parametrize(
    "path",
    [path for path in modules() if package_of(path) == "studies" and is_pure(path)],
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_analyses_do_not_import_the_store_or_charts(path):
    packages = {name.split(".")[1] for name in imported(path) if name.startswith("regrade.")}
    assert not packages & {"store", "testsets", "models", "executors", "neighbors", "ledger"}
    assert not {"regrade.display.figure", "regrade.display.parts"} & set(imported(path))


@pytest.mark.parametrize(
    "path", [path for path in modules() if is_pure(path)], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_pure_packages_draw_only_from_a_generator_they_are_given(path):
    text = path.read_text()
    for seed in ("default_rng", "random.seed", "RandomState", "random.rand("):
        assert seed not in text, f"{path} uses {seed}"


def test_few_packages_import_an_optional_dependency():
    optional = {
        "sklearn",
        "torch",
        "torchvision",
        "timm",
        "onnxruntime",
        "transformers",
        "open_clip",
        "statsmodels",
        "faiss",
        "triton",
        "nvidia",
    }
    users = {package_of(path) for path in modules() for name in imported(path) if name.split(".")[0] in optional}
    assert users == {"demo", "kernels", "models", "neighbors", "predict", "train"}
