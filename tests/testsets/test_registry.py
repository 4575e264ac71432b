"""The registry of readers."""

import functools
import pickle
from pathlib import Path

import numpy as np
import pytest
from offered_readers import CIFAR, PNG, install
from small_set import FORMS, by_id, found_in

from regrade.classes import class_space
from regrade.core import ImageSource, InputError, TestSet, UnknownName, UnreadableImage
from regrade.testsets import ReaderOptions, check, open_images, reader_for, reader_named, readers

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


@pytest.fixture
def offer(monkeypatch):
    """Register readers as entry points, like an installed package."""
    return functools.partial(install, monkeypatch)


@pytest.fixture
def drawers(tmp_path) -> Path:
    path = by_id(tmp_path / "set")
    (path / "drawers").touch()
    return path


class TestThirdParties:
    def test_take_precedence_over_built_in_readers(self, offer, drawers):
        assert reader_for(drawers).name == "folder"
        built_in = list(readers())
        offer(mine="Drawers")
        assert list(readers()) == ["drawers", *built_in]
        assert reader_for(drawers).name == "drawers"

    def test_other_paths_go_to_built_in_readers(self, offer, tmp_path):
        offer(mine="Drawers")
        assert reader_for(by_id(tmp_path)).name == "folder"

    def test_find_and_open(self, offer, drawers):
        offer(mine="Drawers")
        result, source = found_in(drawers, ReaderOptions(CIFAR))
        assert (result.ids, result.labels.tolist(), result.labels.dtype) == (("one", "two"), [3, 5], np.int32)
        assert open_images(source).read(0) == PNG

    def test_errors_in_read_make_the_image_unreadable(self, offer, drawers):
        offer(mine="Drawers")
        result, source = found_in(drawers, ReaderOptions(CIFAR))
        done = check(TestSet("x", CIFAR, result.ids, result.labels), source)
        assert done.unreadable == (("two", "reader mine: KeyError: 'drawer 2'"),)

    def test_reader_that_exits_makes_the_image_unreadable(self, offer, drawers, monkeypatch):
        def exit_(*_):
            raise SystemExit(0)

        offer(mine="Drawers")
        images = open_images(found_in(drawers, ReaderOptions(CIFAR))[1])
        monkeypatch.setattr(type(images.images), "read", exit_)
        with pytest.raises(UnreadableImage, match="reader mine: SystemExit: 0"):
            images.read(0)

    def test_read_must_return_bytes_or_an_array(self, offer, drawers):
        offer(mine="Odd")
        with pytest.raises(UnreadableImage, match="reader mine returned str, expected bytes"):
            open_images(found_in(drawers, ReaderOptions(CIFAR))[1]).read(0)

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("no_such_module:Reader", "ModuleNotFoundError: No module named 'no_such_module'"),
            ("NoSuchClass", "AttributeError"),
            ("Abstract", "TypeError: Can't instantiate abstract class"),
            ("not_a_reader", "it is not a regrade.testsets.Reader"),
            ("Unnamed", "it is not a regrade.testsets.Reader with a name"),
            ("CIFAR", "TypeError"),
            ("Stumbling", "RuntimeError: oh;"),
            ("Exiting", "SystemExit: 0;"),
            ("Taken", "has the name 'folder', which is already taken"),
            ("Corrupted", "has the name 'corrupted', which is already taken"),
        ],
    )
    def test_broken_readers_are_reported(self, offer, drawers, value, reason):
        offer(mine=value)
        with pytest.raises(InputError, match=rf"entry point 'mine' \(regrade\.readers\).*{reason}") as raised:
            reader_for(drawers)
        assert "\n" not in str(raised.value)

    def test_rejects_two_readers_with_one_name(self, offer, drawers):
        offer(mine="Drawers", yours="Drawers")
        with pytest.raises(InputError, match=r"'yours'.*has the name 'drawers', which is already taken"):
            reader_for(drawers)

    @pytest.mark.parametrize(
        ("reader", "reason"),
        [("Short", "2 ids, but locations, groups and labels of length 1"), ("Nothing", "AttributeError")],
    )
    def test_rejects_inconsistent_results(self, offer, drawers, reader, reason):
        offer(mine=reader)
        with pytest.raises(InputError, match=f"entry point 'mine'.*{reason}"):
            found_in(drawers, ReaderOptions(CIFAR))

    def test_regrade_errors_pass_unchanged(self, offer, drawers):
        offer(mine="Drawers")
        with pytest.raises(UnknownName, match="cat"):
            found_in(drawers, ReaderOptions(class_space("digits")))

    def test_built_in_readers_work_despite_a_broken_reader(self, offer, tmp_path):
        _, source = found_in(by_id(tmp_path))
        offer(mine="no_such_module:Reader")
        assert open_images(source).read(0)

    def test_uninstalled_reader_is_reported(self, offer, drawers):
        offer()
        with pytest.raises(UnknownName, match="drawers"):
            open_images(ImageSource("drawers", str(drawers), ("1",)))

    def test_images_can_be_pickled(self, offer, drawers):
        offer(mine="Drawers")
        images = pickle.loads(pickle.dumps(open_images(found_in(drawers, ReaderOptions(CIFAR))[1])))
        assert images.read(0) == PNG
