"""Readers by name and by what they recognize."""

import pytest
from offered_readers import install
from small_set import FORMS

from regrade.core import InputError, UnknownName
from regrade.testsets import reader_for, reader_named, readers

BUILT_IN = ["arrays", "cifar", "parquet", "manifest", "tar", "folder"]


def test_names(monkeypatch):
    install(monkeypatch)
    assert list(readers()) == BUILT_IN


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_each_form_is_recognized_by_one(form, tmp_path):
    path = form(tmp_path / "set")
    others = [reader.name for reader in readers().values() if reader.name != "folder" and reader.recognizes(path)]
    assert len(others) == (0 if form.__name__.startswith("by_") else 1)


def test_an_unknown_name():
    with pytest.raises(UnknownName, match="folder"):
        reader_named("foldr")


def test_no_such_path(tmp_path):
    with pytest.raises(InputError, match="there is no file or folder"):
        reader_for(tmp_path / "nowhere")


def test_no_known_form(tmp_path):
    for name, hint in (("x.pkl", r"folder\)$"), ("x.zip", "unpack it first"), ("x.tar.gz", "unpack it first")):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(InputError, match=rf"no reader recognizes .*{name} .*{hint}"):
            reader_for(tmp_path / name)


def test_corrupted_images_have_a_reader_that_is_not_offered_for_paths(monkeypatch):
    install(monkeypatch)
    assert reader_named("corrupted").name == "corrupted"
    assert "corrupted" not in readers()
