"""The reader of tar shards in the WebDataset format."""

import gzip
import json
import os
import tarfile
from pathlib import Path

import pytest
from small_set import ITEMS, SPACE, by_id, encoded, found_in, noise, tar_id, write_tar

from regrade.core import FormatError, InputError, MismatchError, UnreadableImage
from regrade.tables import Columns
from regrade.testsets import Layout, ReaderOptions, open_images, reader_for

PNG = encoded(noise(0))


def labels(path, options=None):
    result = found_in(path, options)[0]
    return dict(zip(result.ids, result.labels.tolist(), strict=True))


class TestLabels:
    @pytest.mark.parametrize(
        ("name", "text", "index"),
        [
            ("a.cls", "2", 2),
            ("a.cls", " n03\n", 2),
            ("a.cls", "hérisson", 2),
            ("a.txt", "n04", 3),
            ("a.label", "0", 0),
            ("a.json", json.dumps({"label": 1}), 1),
            ("a.json", json.dumps({"wnid": "n02", "label": None}), 1),
            ("a.json", json.dumps({"class": "n01"}), 0),
        ],
    )
    def test_labels_in_sibling_files(self, tmp_path, name, text, index):
        assert labels(write_tar(tmp_path / "x.tar", ("a.png", PNG), (name, text))) == {"a": index}

    @pytest.mark.parametrize("text", ["4", "-1", "n05", "²", "", "1.0", "n01 n02"])
    def test_rejects_unknown_classes(self, tmp_path, text):
        with pytest.raises(
            MismatchError, match=rf"an image|label '{text}' of .*x\.tar is not a class id or index or name"
        ):
            labels(write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.cls", text)))

    def test_all_labels_use_one_layout(self, tmp_path):
        path = write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.cls", "1"), ("b.png", PNG), ("b.cls", "n01"))
        with pytest.raises(MismatchError, match="is not a class"):
            labels(path)

    def test_label_column_of_the_json(self, tmp_path):
        path = write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.json", json.dumps({"label": 1, "fine": 3})))
        assert labels(path, ReaderOptions(SPACE, columns=Columns(label="fine"))) == {"a": 3}
        with pytest.raises(FormatError, match=r"a has no \.json with a value for 'coarse'"):
            labels(path, ReaderOptions(SPACE, columns=Columns(label="coarse")))

    def test_rejects_missing_labels(self, tmp_path):
        path = write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.cls", "1"), ("b.png", PNG))
        with pytest.raises(
            FormatError,
            match=r"b has no .cls, .txt or .json with its class; for images without labels use --layout flat",
        ):
            labels(path)
        assert found_in(path, ReaderOptions(SPACE, Layout.FLAT))[0].ids == ("a", "b")

    @pytest.mark.parametrize("text", ["{", "[1]", "3", '"n01"', "null", "[" * 100_000])
    def test_rejects_json_that_is_not_an_object(self, tmp_path, text):
        with pytest.raises(FormatError, match=r"a.json (is not valid JSON|contains \w+, expected an object)"):
            labels(write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.json", text)))

    def test_rejects_labels_that_are_not_utf_8(self, tmp_path):
        with pytest.raises(FormatError, match=r"x\.tar: a\.cls is not UTF-8 text"):
            labels(write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.cls", b"\xff\xfe")))

    def test_rejects_an_id_column(self, tmp_path):
        with pytest.raises(InputError, match="--id-column"):
            found_in(tar_id(tmp_path / "set"), ReaderOptions(SPACE, columns=Columns(id="key")))


class TestMembers:
    def test_keys_keep_their_folders(self, tmp_path):
        path = write_tar(tmp_path / "x.tar", ("./u/a.png", PNG), ("./u/a.cls", "0"), ("v/a.png", PNG), ("v/a.cls", "1"))
        assert labels(path) == {"u/a": 0, "v/a": 1}

    def test_label_and_image_in_any_order(self, tmp_path):
        path = write_tar(tmp_path / "x.tar", ("b.cls", "1"), ("a.png", PNG), ("b.png", PNG), ("a.cls", "0"))
        assert labels(path) == {"a": 0, "b": 1}

    def test_other_files_are_skipped(self, tmp_path):
        members = [("a.png", PNG), ("a.cls", "0"), ("README.txt", "x"), ("._a.png", b"x"), (".x.jpg", b"x"), ("d/", "")]
        assert labels(write_tar(tmp_path / "x.tar", *members, ("a.seg.png", b"mask"))) == {"a": 0}

    @pytest.mark.parametrize(
        ("members", "reason"),
        [
            ([("a.png", PNG), ("a.jpg", PNG)], "there are two images of a"),
            ([("a.png", PNG), ("a.png", PNG)], "there are two images of a"),
            ([("a.1.png", PNG)], r"a\.1\.png: the key of a sample ends at the first dot"),
            ([("b.png", PNG), ("b.cls", "0"), ("a.cls", "0")], "a has a class but no image"),
        ],
    )
    def test_rejects_incomplete_samples(self, tmp_path, members, reason):
        with pytest.raises(FormatError, match=reason):
            labels(write_tar(tmp_path / "x.tar", *members, ("z.png", PNG), ("z.cls", "0")))

    def test_find_counts_skipped_members(self, tmp_path):
        members = [("a.png", PNG), ("a.cls", "0"), ("b.mp4", b"x"), ("c.mp4", b"x"), ("README", "x"), ("d.txt", "x")]
        path = write_tar(tmp_path / "x.tar", *members, ("a.seg.png", b"mask"))
        with tarfile.open(path, "a") as archive:
            for name, kind in (("e.png", tarfile.SYMTYPE), ("f.png", tarfile.LNKTYPE), ("g.png", tarfile.FIFOTYPE)):
                link = tarfile.TarInfo(name)
                link.type, link.linkname = kind, "a.png"
                archive.addfile(link)
        result, _ = found_in(path)
        assert result.ids == ("a",)
        assert result.notes == (
            "passed over 8 files that are not images regrade reads: 2 .mp4, 2 links, 1 without a suffix, 1 .seg.png, "
            "1 devices, 1 .txt",
        )

    @pytest.mark.parametrize("name", ["/abs/a", "../../a"])
    def test_names_with_parent_folders_write_nothing(self, tmp_path, name):
        path = write_tar(tmp_path / "in" / "x.tar", (f"{name}.png", PNG), (f"{name}.cls", "0"))
        result, source = found_in(path)
        assert result.ids == (name,)
        assert open_images(source).read(0) == PNG
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["in", "x.tar"]

    def test_rejects_sparse_members(self, tmp_path):
        """The bytes of a sparse member in the shard differ from the file."""
        path = write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.cls", "0"))
        content = bytearray(path.read_bytes())
        content[156:157] = tarfile.GNUTYPE_SPARSE
        content[257:265] = b"ustar  \0"
        content[148:156] = b" " * 8
        content[148:156] = b"%06o\0 " % sum(content[:512])
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"a\.png is a sparse file: create the shard without --sparse"):
            found_in(path)

    def test_rejects_a_repeated_label(self, tmp_path):
        with pytest.raises(FormatError, match=r"x\.tar: the shard contains a\.cls twice"):
            found_in(write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.cls", "0"), ("a.cls", "1")))

    def test_rejects_json_with_a_repeated_key(self, tmp_path):
        path = write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.json", '{"label": 0, "label": 1}'))
        with pytest.raises(FormatError, match=r"a\.json has the key 'label' twice"):
            found_in(path)

    def test_rejects_huge_labels(self, tmp_path):
        path = write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.cls", b"0" * (1 << 25)))
        with pytest.raises(FormatError, match=r"a\.cls has 33,554,432 bytes, too many for a label"):
            found_in(path)

    def test_rejects_a_shard_without_images(self, tmp_path):
        with pytest.raises(InputError, match="contains no images"):
            labels(write_tar(tmp_path / "x.tar", ("README.txt", "x")))

    def test_links_and_folders_are_skipped(self, tmp_path):
        path = write_tar(tmp_path / "x.tar", ("a.png", PNG), ("a.cls", "0"))
        with tarfile.open(path, "a") as archive:
            link = tarfile.TarInfo("b.png")
            link.type, link.linkname = tarfile.SYMTYPE, "a.png"
            archive.addfile(link)
        assert labels(path) == {"a": 0}

    def test_long_names(self, tmp_path):
        key = "folder " * 20 + "/" + "ü" * 90
        path = write_tar(tmp_path / "x.tar", (f"{key}.png", PNG), (f"{key}.cls", "0"))
        result, source = found_in(path)
        assert result.ids == (key,)
        assert open_images(source).read(0) == PNG

    def test_rejects_names_that_are_not_utf_8(self, tmp_path):
        name = os.fsdecode(b"caf\xe9")
        path = tmp_path / "x.tar"
        with tarfile.open(path, "w", format=tarfile.GNU_FORMAT, encoding="utf-8") as archive:
            archive.addfile(tarfile.TarInfo(f"{name}.png"))
            archive.addfile(tarfile.TarInfo(f"{name}.cls"))
        with pytest.raises(InputError, match="not valid UTF-8"):
            labels(path, ReaderOptions(SPACE, Layout.FLAT))


class TestShards:
    def test_folder_with_images_is_not_tar(self, tmp_path):
        write_tar(by_id(tmp_path) / "official.tar", ("x.png", PNG))
        assert reader_for(tmp_path).name == "folder"

    def test_hidden_shards_are_skipped(self, tmp_path):
        (tar_id(tmp_path / "set") / "._a.tar").write_bytes(b"x")
        assert len(labels(tmp_path / "set")) == 12

    def test_rejects_compressed_shards(self, tmp_path):
        path = tar_id(tmp_path / "set") / "a.tar"
        path.write_bytes(gzip.compress(path.read_bytes()))
        with pytest.raises(FormatError, match=r"a\.tar cannot be read as an uncompressed tar"):
            labels(path)

    @pytest.mark.parametrize("cut", [0, 100, 700, 5000])
    def test_rejects_damaged_shards(self, tmp_path, cut):
        path = tar_id(tmp_path / "set") / "b.tar"
        path.write_bytes(path.read_bytes()[:cut])
        with pytest.raises(FormatError, match=r"b\.tar"):
            labels(tmp_path / "set")

    def test_truncated_or_removed_shards_are_unreadable(self, tmp_path):
        _, source = found_in(tar_id(tmp_path / "set"))
        images = open_images(source)
        path = tmp_path / "set" / "b.tar"
        assert images.read(11) == ITEMS[11].data
        path.write_bytes(path.read_bytes()[:3000])
        with pytest.raises(UnreadableImage, match=r"b\.tar is truncated within the image"):
            images.read(11)
        path.unlink()
        with pytest.raises(UnreadableImage, match=r"b\.tar: No such file"):
            images.read(11)
        assert images.read(0) == ITEMS[0].data

    def test_no_file_is_left_open(self, tmp_path):
        before = len(list(Path("/proc/self/fd").iterdir()))
        _, source = found_in(tar_id(tmp_path / "set"))
        images = open_images(source)
        for position in range(12):
            images.read(position)
        assert len(list(Path("/proc/self/fd").iterdir())) == before
