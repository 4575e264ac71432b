"""Damaged files of any kind are named and never used, and `verify` finds all of them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import regrade
from benchmarks.fault_world import make_every_file, read_every_file
from regrade.core import RegradeError
from regrade.store import Store, stored_files

Damage = Callable[[bytes, np.random.Generator], bytes]


def flip_a_bit(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def zero_a_block(content: bytes, rng: np.random.Generator) -> bytes:
    start = int(rng.integers(max(1, len(content) - 64)))
    zeroed = content[:start] + bytes(min(64, len(content) - start)) + content[start + 64 :]
    return zeroed if zeroed != content else flip_a_bit(content, rng)


DAMAGES: dict[str, Damage] = {
    "bit": flip_a_bit,
    "zeros": zero_a_block,
    "cut": lambda content, rng: content[: int(rng.integers(len(content)))],
    "empty": lambda *_: b"",
    "longer": lambda content, rng: content + content[: 1 + int(rng.integers(16))],
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_every_file(tmp_path_factory.mktemp("every")).store.root


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "W"))


def checked_files(root: Path) -> list[Path]:
    """Every file of the workspace except its settings and its images."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and path.name != "regrade.toml"]
    return [path for path in files if "photos" not in path.relative_to(root).parts]


def test_every_kind_of_file_is_in_the_workspace(root):
    kinds = {path.relative_to(root).parts[0] for path in checked_files(root)}
    assert kinds == {
        "checkpoints", "classes", "labels", "maps", "mistakes", "neighbors", "images", "predictions", "reviews",
        "slices", "testsets", "contents.json",
    }  # fmt: skip
    names = {path.name for path in checked_files(root)}
    assert {"scores.npy", "features.npy", "times.parquet", "topk.parquet", "drawn.json", "thumbnails.npy"} <= names


def test_verify_covers_every_file(root):
    verified = regrade.open(root).verify()
    assert verified.problems == ()
    assert verified.files == len(checked_files(root))
    assert len(stored_files(root)) < verified.files  # arrays and tables are listed in the manifests beside them


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_file_is_named_and_never_used(root, damage):
    rng = np.random.default_rng(0)
    for path in checked_files(root):
        content = path.read_bytes()
        for _ in range(2):
            path.write_bytes(damage(content, rng))
            with pytest.raises(RegradeError, match=path.name) as refused:
                read_every_file(Store.open(root))
            assert "damaged" in str(refused.value)
            assert path.relative_to(root).as_posix() in {
                problem.subject for problem in regrade.open(root).verify().problems
            }
        path.write_bytes(content)
    assert regrade.open(root).verify().problems == ()


def test_missing_array_is_named(root):
    (root / "predictions" / "shelf" / "first" / "scores.npy").unlink()
    (problem,) = regrade.open(root).verify().problems
    assert problem.subject == "predictions/shelf/first/scores.npy" and "missing" in problem.trouble
    with pytest.raises(RegradeError, match=r"scores\.npy is damaged \(it is missing\)"):
        read_every_file(Store.open(root))


def test_moved_workspace_reads_the_same(root, tmp_path):
    before = read_every_file(Store.open(root))
    root.rename(tmp_path / "elsewhere")
    moved = regrade.open(tmp_path / "elsewhere")
    assert moved.verify().problems == ()
    assert moved.testsets.missing_images() == {}
    after = read_every_file(moved.store)
    assert after == before
