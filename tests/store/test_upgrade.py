"""Upgrading a workspace of layout 2; ``layout_2`` is a small one, as the last version with that layout wrote it.

Layout 1 is tested in tests/cli/test_verify.py.
"""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from running import snapshot

import regrade
from benchmarks.fault_world import make_every_file, read_every_file
from regrade.core import DamagedFile, InputError, VersionError
from regrade.store import Store, read_checked_json, upgrade_workspace
from regrade.store.checked_files import stored_json, write_parquet
from regrade.store.contents import contents_after
from regrade.store.layout import CONTENTS

LAYOUT_2 = Path(__file__).with_name("layout_2")
OLD_IMAGES, OLD_NEIGHBORS = "pictures", "neighbours"
MOVED = {
    f"{OLD_IMAGES}/toys.parquet": "images/toys.parquet",
    f"{OLD_NEIGHBORS}/toys/22638c288ece3538/signatures.parquet": "neighbors/toys/22638c288ece3538/signatures.parquet",
    f"{OLD_NEIGHBORS}/toys/22638c288ece3538/thumbnails.npy": "neighbors/toys/22638c288ece3538/thumbnails.npy",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LAYOUT_2, tmp_path / "W"))


def files_below(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def to_layout_2(root: Path) -> None:
    """Turn a new workspace into one of layout 2: other names of two folders, and so other places in their files."""
    for new, old in (("images", OLD_IMAGES), ("neighbors", OLD_NEIGHBORS)):
        (root / new).rename(root / old)
        for path in (root / old).rglob("*.parquet"):
            table = pq.read_table(path)
            meta = json.loads(table.schema.metadata[b"regrade"])
            del meta["sha256"]
            meta["place"] = path.relative_to(root).as_posix()
            with path.open("wb") as file:
                write_parquet(table, meta, file)
    listed = read_checked_json(root / CONTENTS)["stored_files"]
    content = {place: digest for place, digest in listed.items() if not place.startswith("images/")}
    for path in (root / OLD_IMAGES).iterdir():
        content[path.relative_to(root).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    (root / CONTENTS).write_bytes(stored_json({"stored_files": content}, place=CONTENTS))
    config = root / "regrade.toml"
    config.write_text(re.sub(r"version = \d", "version = 2", config.read_text()))


def test_open_refuses_layout_2_and_names_the_upgrade(root):
    with pytest.raises(VersionError, match=r"older regrade \(layout 2; .*regrade upgrade -w"):
        Store.open(root)


def test_upgrade_of_layout_2_moves_renamed_folders(root):
    before = files_below(root)
    assert upgrade_workspace(root) == len(MOVED)
    after = files_below(root) - {".lock"}
    assert after == {MOVED.get(place, place) for place in before}
    assert not (root / OLD_IMAGES).exists() and not (root / OLD_NEIGHBORS).exists()


def test_upgrade_of_layout_2_keeps_all_content(root):
    upgrade_workspace(root)
    workspace = regrade.open(root)
    assert workspace.verify().problems == ()
    assert workspace.testsets.missing_images() == {}
    content = read_every_file(workspace.store)
    assert {"test set toys", "predictions toys net", "labels toys own@1", "images toys"} <= set(content)
    assert len(content["images toys"].locations) == 4
    assert content["signatures toys"] and None not in content["signatures toys"]
    assert workspace.grade("toys").rows[0].model == "net"


def test_upgrade_of_layout_2_lists_moved_files(root):
    upgrade_workspace(root)
    listed = read_checked_json(root / CONTENTS)["stored_files"]
    assert "images/toys.parquet" in listed and f"{OLD_IMAGES}/toys.parquet" not in listed
    assert contents_after(root, {}) is None


def test_upgrade_of_layout_2_without_contents_lists_all_files(root):
    listed_before = read_checked_json(root / CONTENTS)["stored_files"]
    (root / CONTENTS).unlink()
    upgrade_workspace(root)
    listed = read_checked_json(root / CONTENTS)["stored_files"]
    assert set(listed) == {MOVED.get(place, place) for place in listed_before}
    assert regrade.open(root).verify().problems == ()


def test_upgrade_of_layout_2_with_every_kind_of_file(tmp_path):
    root = make_every_file(tmp_path).store.root
    content = read_every_file(Store.open(root))
    files, listed = snapshot(root), read_checked_json(root / CONTENTS)
    to_layout_2(root)
    upgrade_workspace(root)
    assert read_every_file(Store.open(root)) == content
    assert regrade.open(root).verify().problems == ()
    assert snapshot(root) == files and read_checked_json(root / CONTENTS) == listed


@pytest.mark.parametrize("place", [*MOVED, CONTENTS])
def test_upgrade_of_layout_2_refuses_a_damaged_file(root, place):
    content = bytearray((root / place).read_bytes())
    content[len(content) // 2] ^= 1
    (root / place).write_bytes(content)
    before = snapshot(root)
    with pytest.raises(DamagedFile, match=re.escape(place)):
        upgrade_workspace(root)
    assert snapshot(root) == before


@pytest.mark.parametrize("place", MOVED)
def test_upgrade_of_layout_2_refuses_a_missing_file(root, place):
    (root / place).unlink()
    before = snapshot(root)
    with pytest.raises(DamagedFile, match=re.escape(place)):
        upgrade_workspace(root)
    assert snapshot(root) == before


def test_upgrade_of_layout_2_refuses_a_renamed_file(root):
    (root / OLD_IMAGES / "toys.parquet").rename(root / OLD_IMAGES / "pets.parquet")
    with pytest.raises(DamagedFile, match=rf"pets\.parquet is damaged \(it holds {OLD_IMAGES}/toys\.parquet"):
        upgrade_workspace(root)


def test_upgrade_refuses_a_file_in_the_way(root):
    (root / "images").mkdir()
    (root / "images" / "mine.parquet").write_bytes(b"mine")
    before = snapshot(root)
    with pytest.raises(InputError, match=r"mine\.parquet is in the way"):
        upgrade_workspace(root)
    assert snapshot(root) == before


def test_upgrade_keeps_files_of_the_user(root):
    (root / "images").mkdir()
    (root / "images" / "mine.png").write_bytes(b"mine")
    (root / OLD_IMAGES / "notes.txt").write_text("mine")
    upgrade_workspace(root)
    assert {"images/mine.png", f"{OLD_IMAGES}/notes.txt"} <= files_below(root)


def test_upgrade_that_was_killed_is_completed(root, monkeypatch):
    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("regrade.store.transaction._carry_out_or_undo", kill)
        with pytest.raises(KeyboardInterrupt):
            upgrade_workspace(root)
    with pytest.raises(InputError, match="has layout 3"):
        upgrade_workspace(root)
    assert regrade.open(root).verify().problems == ()
