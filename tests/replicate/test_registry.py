"""The published files of papers: addresses, checksums, and the cache folder."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from regrade.replicate import fetch, folder_for, official_files, papers, registry, replicate


def test_official_files_of_recht2019():
    files = official_files("recht2019")
    assert len(files) == 4 * (67 + 1) + 2 * (30 + 1)
    assert len({file.path for file in files}) == len(files)
    alexnet = next(file for file in files if file.path.name == "alexnet.npy" and "b-33" in str(file.path))
    assert str(alexnet.path) == "ImageNetV2/data/predictions/imagenetv2-b-33/alexnet.npy"
    assert alexnet.download.size == 400_128
    assert alexnet.download.url.startswith("https://raw.githubusercontent.com/modestyachts/ImageNetV2/")
    assert alexnet.download.url.endswith("/data/predictions/imagenetv2-b-33/alexnet.npy")


@pytest.mark.parametrize("paper", ["recht2019", "vasudevan2022"])
def test_official_files_have_checksums_and_a_fixed_commit(paper):
    for file in official_files(paper):
        assert len(file.download.checksum) == len("sha256:") + 64
        assert file.download.size > 0
        commit = file.download.url.split("/")[5]
        assert len(commit) == 40 and set(commit) <= set("0123456789abcdef")
        assert not file.path.is_absolute() and ".." not in file.path.parts


def test_official_checksums_match_the_files(published):
    by_name = {file.path.name: file.download for file in official_files("vasudevan2022")}
    labels = next(f.download for f in official_files("recht2019") if f.path.parts[0] == "label-errors")
    local_files = {published / "vasudevan2022" / name: item for name, item in by_name.items()}
    local_files[published / "label_errors" / "cifar10_test_set_original_labels.npy"] = labels
    for path, item in local_files.items():
        content = path.read_bytes()
        assert (f"sha256:{hashlib.sha256(content).hexdigest()}", len(content)) == (item.checksum, item.size)


def test_official_files_of_a_paper_without_files():
    assert official_files("nothing1999") == ()


def test_folder_for_respects_xdg_cache_home(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder_for("recht2019") == tmp_path / "regrade" / "papers" / "recht2019"
    for unusable in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", unusable)
        assert folder_for("recht2019") == Path.home() / ".cache" / "regrade" / "papers" / "recht2019"


@pytest.fixture
def fetched(monkeypatch, tmp_path):
    """The requested downloads; nothing is fetched."""
    requests = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(registry, "download", lambda item, folder: requests.append((item, folder)))
    return requests


def test_fetch_downloads_each_file_to_its_folder(fetched, tmp_path):
    seen = []

    def progress(files):
        for file in files:
            seen.append(file)
            yield file

    assert fetch("recht2019", progress=progress) == tmp_path / "regrade" / "papers" / "recht2019"
    files = official_files("recht2019")
    assert tuple(seen) == files and [item for item, _ in fetched] == [file.download for file in files]
    places = {folder / item.url.rpartition("/")[2] for item, folder in fetched}
    assert places == {folder_for("recht2019") / file.path for file in files}


def test_replicate_fetches_without_data(fetched, monkeypatch):
    from regrade.replicate import registry

    monkeypatch.setitem(registry._PAPERS, "recht2019", lambda folder: folder)
    assert replicate("recht2019") == folder_for("recht2019")
    assert fetched


def test_official_files_are_packaged():
    code = "from regrade.replicate import official_files; print(len(official_files('recht2019')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "334"
    assert "recht2019" in papers()
