"""The registry of readers."""

import pytest
from offered_readers import install
from small_set import FORMS

from regrade.core import InputError, UnknownName
from regrade.testsets import reader_for, reader_named, readers

BUILT_IN = ["arrays", "cifar", "parquet", "manifest", "tar", "folder"]


def test_readers_by_name(monkeypatch):
    install(monkeypatch)
    assert list(readers()) == BUILT_IN


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_each_format_is_recognized_by_one_reader(form, tmp_path):
    path = form(tmp_path / "set")
    matching = [reader.name for reader in readers().values() if reader.name != "folder" and reader.recognizes(path)]
    assert len(matching) == (0 if form.__name__.startswith("by_") else 1)


def test_reader_named_rejects_unknown_names():
    with pytest.raises(UnknownName, match="folder"):
        reader_named("foldr")


def test_reader_for_rejects_missing_paths(tmp_path):
    with pytest.raises(InputError, match="there is no file or folder"):
        reader_for(tmp_path / "nowhere")


def test_reader_for_rejects_unknown_formats(tmp_path):
    for name, hint in (("x.pkl", r"folder\)$"), ("x.zip", "unpack it first"), ("x.tar.gz", "unpack it first")):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(InputError, match=rf"no reader recognizes .*{name} .*{hint}"):
            reader_for(tmp_path / name)


def test_corrupted_reader_is_not_listed(monkeypatch):
    install(monkeypatch)
    assert reader_named("corrupted").name == "corrupted"
    assert "corrupted" not in readers()
