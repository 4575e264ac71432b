"""The reader of folders of images; classes are never guessed from the order of folders."""

import os
from pathlib import Path

import pytest
from small_set import SPACE, by_id, encoded, found_in, noise

from regrade.classes import class_space
from regrade.core import ClassSpace, InputError, MismatchError, UnreadableImage
from regrade.tables import Columns
from regrade.testsets import Layout, ReaderOptions, open_images

PNG = encoded(noise(0))
IMAGENET = class_space("imagenet-1k")
CIFAR = class_space("cifar-10")


def put(root: Path, *places: str, data: bytes = PNG) -> Path:
    for place in places:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_bytes(data)
    return root


def labels(root: Path, space: ClassSpace, layout: Layout = Layout.PROVEN) -> dict[str, int]:
    result = found_in(root, ReaderOptions(space, layout))[0]
    return dict(zip(result.ids, result.labels.tolist(), strict=True))


class TestLayout:
    def test_folder_100_is_class_100(self, tmp_path):
        put(tmp_path, *(f"{index}/{index}.png" for index in (*range(10), 100)))
        assert labels(tmp_path, IMAGENET) == {f"{index}.png": index for index in (*range(10), 100)}

    @pytest.mark.parametrize("layout", [Layout.PROVEN, Layout.ID])
    def test_wnids_of_a_few_classes(self, tmp_path, layout):
        put(tmp_path, f"{IMAGENET.ids[999]}/a.png", f"{IMAGENET.ids[17]}/b.png")
        assert labels(tmp_path, IMAGENET, layout) == {"a.png": 999, "b.png": 17}

    def test_display_names_distinguish_two_classes(self, tmp_path):
        cranes = [index for index, name in enumerate(IMAGENET.names) if "crane" in name.lower()]
        put(tmp_path, *(f"{IMAGENET.names[index]}/{index}.png" for index in cranes))
        assert len(cranes) == 2
        assert labels(tmp_path, IMAGENET) == {f"{index}.png": index for index in cranes}

    def test_rejects_a_word_shared_by_two_classes(self, tmp_path):
        put(tmp_path, "crane/a.png")
        if "crane" in IMAGENET.names:
            pytest.fail("the names of imagenet-1k must tell the two cranes apart")
        with pytest.raises(MismatchError, match="folder 'crane'"):
            labels(tmp_path, IMAGENET)

    def test_rejects_numbers_that_could_be_ids_or_indices(self, tmp_path):
        put(tmp_path, "1/a.png", "2/b.png")
        shifted = ClassSpace("shifted", ("1", "2", "3"), ("x", "y", "z"))
        with pytest.raises(InputError, match=r"could be read as id or index of shifted: choose one with --layout"):
            labels(tmp_path, shifted)
        assert labels(tmp_path, shifted, Layout.ID) == {"a.png": 0, "b.png": 1}
        assert labels(tmp_path, shifted, Layout.INDEX) == {"a.png": 1, "b.png": 2}

    def test_numbers_that_fit_one_layout_are_accepted(self, tmp_path):
        put(tmp_path, "1/a.png", "3/b.png")
        assert labels(tmp_path, ClassSpace("shifted", ("1", "2", "3"), ("x", "y", "z"))) == {"a.png": 0, "b.png": 2}

    def test_layouts_that_agree_are_accepted(self, tmp_path):
        put(tmp_path, "3/a.png", "9/b.png")
        assert labels(tmp_path, class_space("digits")) == {"a.png": 3, "b.png": 9}

    def test_rejects_ids_that_are_names_of_other_classes(self, tmp_path):
        put(tmp_path, "left/a.png", "right/b.png")
        crossed = ClassSpace("crossed", ("left", "right"), ("right", "left"))
        with pytest.raises(InputError, match="could be read as id or name"):
            labels(tmp_path, crossed)
        assert labels(tmp_path, crossed, Layout.NAME) == {"a.png": 1, "b.png": 0}

    def test_error_names_the_unknown_folder(self, tmp_path):
        by_id(tmp_path)
        put(tmp_path, "n99/x.png")
        with pytest.raises(MismatchError, match=r"folder 'n99' of .* is not a class id or index or name of animals"):
            labels(tmp_path, SPACE)

    def test_rejects_mixed_layouts(self, tmp_path):
        put(tmp_path, "n01/a.png", "1/b.png")
        with pytest.raises(MismatchError, match="is not a class"):
            labels(tmp_path, SPACE)

    @pytest.mark.parametrize("folder", ["4", "-1", "01", "1.0", "٣", "N01", "n01 "])
    def test_rejects_names_similar_to_a_class(self, tmp_path, folder):
        put(tmp_path, f"{folder}/a.png")
        with pytest.raises(MismatchError, match="is not a class"):
            labels(tmp_path, SPACE)

    def test_rejects_a_given_layout_that_does_not_fit(self, tmp_path):
        with pytest.raises(MismatchError, match="is not a class index of animals"):
            labels(by_id(tmp_path), SPACE, Layout.INDEX)

    def test_rejects_an_image_next_to_the_class_folders(self, tmp_path):
        put(by_id(tmp_path), "stray.png")
        with pytest.raises(MismatchError, match=r"an image in .* itself has no folder"):
            labels(tmp_path, SPACE)

    def test_rejects_a_group_without_a_folder_level(self, tmp_path):
        with pytest.raises(InputError, match="'region'"):
            found_in(by_id(tmp_path), ReaderOptions(SPACE, columns=Columns(groups=("region",))))


class TestFiles:
    def test_innermost_folder_is_the_class(self, tmp_path):
        put(tmp_path, "noise/1/cat/a.png", "noise/2/cat/a.png", "blur/1/dog/b.png")
        assert labels(tmp_path, CIFAR) == {"blur/1/dog/b.png": 5, "noise/1/cat/a.png": 3, "noise/2/cat/a.png": 3}

    def test_skips_hidden_and_other_files(self, tmp_path):
        put(tmp_path, "cat/a.png", "cat/._a.png", "cat/.b.png", ".thumbnails/c.png", "__MACOSX/cat/._a.png")
        put(tmp_path, "cat/Thumbs.db", "cat/notes.txt", "cat/list.csv", ".DS_Store", "cat/a.png.part")
        put(tmp_path, "LICENSE", "cat/png", data=b"some text")
        assert labels(tmp_path, CIFAR) == {"a.png": 3}

    def test_extensions_ignore_case(self, tmp_path):
        put(tmp_path, "cat/a.PNG", "cat/b.JPEG", "cat/c.Jpg", "cat/d.webp")
        assert sorted(labels(tmp_path, CIFAR)) == ["a.PNG", "b.JPEG", "c.Jpg", "d.webp"]

    def test_ids_are_paths_if_names_repeat(self, tmp_path):
        put(tmp_path, "cat/1.png", "dog/1.png", "dog/2.png")
        assert labels(tmp_path, CIFAR) == {"cat/1.png": 3, "dog/1.png": 5, "dog/2.png": 5}

    def test_unlabeled(self, tmp_path):
        put(tmp_path, "b.png", "a.png", "more/c.png")
        result = found_in(tmp_path, ReaderOptions(CIFAR, Layout.FLAT))[0]
        assert (result.ids, result.labels) == (("a.png", "b.png", "c.png"), None)

    def test_rejects_a_flat_folder_without_layout_flat(self, tmp_path):
        with pytest.raises(MismatchError, match="--layout flat"):
            labels(put(tmp_path, "a.png"), CIFAR)

    @pytest.mark.parametrize("places", [(), ("cat/notes.txt",), (".hidden/cat/a.png",)])
    def test_no_images(self, tmp_path, places):
        put(tmp_path, *places)
        (tmp_path / "dog").mkdir()
        with pytest.raises(InputError, match="contains no images"):
            labels(tmp_path, CIFAR)

    def test_names_with_spaces_and_unicode(self, tmp_path):
        place = "great white shark/ça va? 日本 #1%20:2.png"
        put(tmp_path, place)
        result, source = found_in(tmp_path)
        assert (result.ids, result.labels.tolist()) == (("ça va? 日本 #1%20:2.png",), [3])
        assert open_images(source).read(0) == PNG

    def test_rejects_names_that_are_not_utf_8(self, tmp_path):
        (tmp_path / "cat").mkdir()
        (tmp_path / "cat" / os.fsdecode(b"caf\xe9.png")).write_bytes(PNG)
        with pytest.raises(InputError, match=r"'cat/caf\\udce9.png' is not valid UTF-8"):
            labels(tmp_path, CIFAR)

    def test_folder_with_an_image_suffix(self, tmp_path):
        put(tmp_path, "cat/a.png", "dog/b.png/note.txt")
        assert labels(tmp_path, CIFAR) == {"a.png": 3}

    def test_skips_named_pipes(self, tmp_path):
        put(tmp_path, "cat/a.png")
        os.mkfifo(tmp_path / "cat" / "b.png")
        assert labels(tmp_path, CIFAR) == {"a.png": 3}

    def test_rejects_an_unreadable_folder(self, tmp_path, monkeypatch):
        put(tmp_path, "cat/a.png", "dog/b.png")
        scandir = os.scandir

        def refusing(folder):
            if Path(folder).name == "dog":
                raise PermissionError(13, "Permission denied")
            return scandir(folder)

        monkeypatch.setattr(os, "scandir", refusing)
        with pytest.raises(InputError, match=r"dog: Permission denied"):
            labels(tmp_path, CIFAR)


class TestLinks:
    def test_links_are_followed(self, tmp_path):
        put(tmp_path / "store", "x.png", "kennel/y.png")
        root = tmp_path / "set"
        (root / "cat").mkdir(parents=True)
        (root / "cat" / "a.png").symlink_to(tmp_path / "store" / "x.png")
        (root / "dog").symlink_to(tmp_path / "store" / "kennel")
        (root / "deer").symlink_to(tmp_path / "store" / "kennel")
        assert labels(root, CIFAR) == {"cat/a.png": 3, "deer/y.png": 4, "dog/y.png": 5}

    def test_links_to_parents_end(self, tmp_path):
        put(tmp_path, "cat/a.png")
        (tmp_path / "cat" / "again").symlink_to(tmp_path)
        assert labels(tmp_path, CIFAR) == {"a.png": 3}

    @pytest.mark.parametrize("target", ["dog", "unmounted"])
    def test_rejects_broken_links_without_a_suffix(self, tmp_path, target):
        put(tmp_path, "cat/a.png")
        (tmp_path / "dog").symlink_to(tmp_path / target)
        with pytest.raises(InputError, match="dog is a broken link"):
            labels(tmp_path, CIFAR)

    def test_broken_links_to_images_are_unreadable(self, tmp_path):
        put(tmp_path, "cat/a.png")
        (tmp_path / "cat" / "b.png").symlink_to(tmp_path / "gone.png")
        result, source = found_in(tmp_path, ReaderOptions(CIFAR))
        assert result.ids == ("a.png", "b.png")
        with pytest.raises(UnreadableImage, match=r"cat/b.png: No such file"):
            open_images(source).read(1)
