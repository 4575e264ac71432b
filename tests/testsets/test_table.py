"""The readers of tables of paths and of Parquet files with images."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_set import ITEMS, SPACE, csv_manifest, encoded, found_in, hugging_face, noise, parquet_manifest

from regrade.core import FormatError, ImageSource, InputError, UnknownName, UnreadableImage
from regrade.tables import Columns
from regrade.testsets import ReaderOptions, open_images, reader_for
from regrade.testsets.table import ManifestReader

PNG = encoded(noise(0))


def manifest(folder, text: str, name: str = "list.csv"):
    (folder / name).write_text(text)
    (folder / "a.png").write_bytes(PNG)
    (folder / "b.png").write_bytes(PNG + b"b")
    return folder / name


class TestNotes:
    def test_find_notes_unused_columns(self, tmp_path):
        path = manifest(tmp_path, "id,path,label,width,split\nx,a.png,n01,3,a\ny,b.png,n02,4,b\n")
        assert found_in(path)[0].notes == ("ignored the columns width, split",)
        assert found_in(hugging_face(tmp_path / "set"))[0].notes == ("ignored the column region",)

    @pytest.mark.parametrize("column", ["lable", "class_name"])
    def test_find_rejects_a_misspelled_label_column(self, tmp_path, column):
        with pytest.raises(UnknownName, match=f"unknown column '{column}'; did you mean"):
            found_in(manifest(tmp_path, f"path,{column}\na.png,n01\nb.png,n02\n"))

    @pytest.mark.parametrize("column", ["image", "region"])
    def test_find_rejects_a_repeated_parquet_column(self, tmp_path, column):
        path = hugging_face(tmp_path / "set") / "test-00000-of-00002.parquet"
        table = pq.read_table(path)
        pq.write_table(table.append_column(column, table[column]), path)
        with pytest.raises(FormatError, match=f"column '{column}' (occurs )?twice"):
            found_in(path)


class TestManifest:
    def test_ids_are_the_paths_unless_there_is_a_column(self, tmp_path):
        assert found_in(csv_manifest(tmp_path / "x"))[0].ids[0] == "files/pic00.png"
        path = manifest(tmp_path, "id,path,label\nx,a.png,n01\ny,b.png,n02\n")
        result, source = found_in(path)
        assert (result.ids, result.locations) == (("x", "y"), ("a.png", "b.png"))
        assert open_images(source).read(1) == PNG + b"b"

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("l.tsv", "path\tlabel\na.png\tn01\nb.png\tn02\n"),
            ("l.jsonl", '{"path": "a.png", "label": "n01"}\n{"path": "b.png", "label": "n02"}\n'),
            ("l.CSV", "Path,Label\na.png,n01\nb.png,n02\n"),
            ("l.csv", "﻿path,label\r\na.png,n01\r\nb.png,n02\r\n"),
            ("m.csv", "image,label\na.png,n01\nb.png,n02\n"),
        ],
    )
    def test_other_tables(self, tmp_path, name, text):
        result, source = found_in(manifest(tmp_path, text, name))
        assert (source.reader, result.labels.tolist()) == ("manifest", [0, 1])
        assert open_images(source).read(0) == PNG

    def test_absolute_paths(self, tmp_path):
        path = manifest(tmp_path, f"id,path,label\nx,{tmp_path}/a.png,n01\n")
        assert open_images(found_in(path)[1]).read(0) == PNG

    def test_without_labels(self, tmp_path):
        assert found_in(manifest(tmp_path, "path\na.png\nb.png\n"))[0].labels is None

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("path,label\na.png,n01\na.png,n02\n", "'a.png' occurs more than once"),
            ("id,path,label\nx,a.png,n01\ny,,n02\n", "column 'path' has 1 empty cells"),
            ("path,label\na.png,n09\nb.png,n02\n", "column 'label', row 1: .*'n09'; did you mean"),
            ("path,label\na.png,4\nb.png,1\n", "class index 4 is outside"),
            ("path,label\na.png,\nb.png,n02\n", "cell is empty"),
        ],
    )
    def test_find_rejects_invalid_tables(self, tmp_path, text, reason):
        with pytest.raises(InputError, match=reason):
            found_in(manifest(tmp_path, text))

    def test_table_of_ids_is_not_recognized(self, tmp_path):
        for text in ("image,label\nimg1,n01\n", "id,label\n1,n01\n", f"image,label\n{'x' * 5000},n01\n"):
            assert not ManifestReader().recognizes(manifest(tmp_path, text))

    def test_removed_images_are_unreadable(self, tmp_path):
        _, source = found_in(manifest(tmp_path, "path,label\na.png,n01\n"))
        (tmp_path / "a.png").unlink()
        with pytest.raises(UnreadableImage, match=r"a\.png: No such file"):
            open_images(source).read(0)

    @pytest.mark.parametrize("place", ["a\0.png", "x" * 5000, ".", "a.png/b.png"])
    def test_invalid_paths_are_unreadable(self, tmp_path, place):
        manifest(tmp_path, "")
        with pytest.raises(UnreadableImage):
            open_images(ImageSource("manifest", str(tmp_path / "list.csv"), (place,))).read(0)

    def test_images_open_without_their_table(self, tmp_path):
        path = parquet_manifest(tmp_path / "set")
        _, source = found_in(path)
        path.unlink()
        assert open_images(source).read(3) == ITEMS[3].data


class TestParquet:
    def write(self, folder, name="x.parquet", **columns):
        pq.write_table(pa.table(columns), folder / name)
        return folder / name

    def test_bytes_without_a_struct(self, tmp_path):
        path = self.write(tmp_path, image=[PNG, PNG + b"b"], label=["n02", "n01"])
        result, source = found_in(path)
        assert (result.ids, result.labels.tolist()) == (("x.parquet:0:0", "x.parquet:0:1"), [1, 0])
        assert open_images(source).read(1) == PNG + b"b"

    @pytest.mark.parametrize("name", ["img", "photo", "Image"])
    def test_other_names_for_the_images(self, tmp_path, name):
        path = self.write(tmp_path, **{name: [{"bytes": PNG, "path": "p.png"}], "label": [2]})
        result, source = found_in(path)
        assert (source.reader, result.ids, result.labels.tolist()) == ("parquet", ("p.png",), [2])

    def test_images_without_labels(self, tmp_path):
        result = found_in(self.write(tmp_path, image=[PNG, PNG]))[0]
        assert (len(result.ids), result.labels) == (2, None)

    def test_categories_as_pandas_writes_them(self, tmp_path):
        path = self.write(tmp_path, image=[PNG, PNG], label=pa.array(["n02", "n01"]).dictionary_encode())
        assert found_in(path)[0].labels.tolist() == [1, 0]

    def test_an_id_column_comes_first(self, tmp_path):
        path = self.write(tmp_path, image=[{"bytes": PNG, "path": "p.png"}], id=["mine"], label=[0])
        assert found_in(path)[0].ids == ("mine",)
        path = self.write(tmp_path, image=[PNG], key=["k"], label=[0])
        assert found_in(path, ReaderOptions(SPACE, columns=Columns(id="key")))[0].ids == ("k",)

    @pytest.mark.parametrize("paths", [("0.png", "0.png"), (None, "0.png"), ("", "1.png")])
    def test_repeated_paths_are_not_used_as_ids(self, tmp_path, paths):
        for number, path in enumerate(paths):
            self.write(tmp_path, f"{number}.parquet", image=[{"bytes": PNG, "path": path}], label=[0])
        assert found_in(tmp_path)[0].ids == ("0.parquet:0:0", "1.parquet:0:0")

    def test_an_empty_file_among_others(self, tmp_path):
        hugging_face(tmp_path / "set")
        first = next((tmp_path / "set").glob("*00000-*"))
        pq.write_table(pq.read_table(first).slice(0, 0), tmp_path / "set" / "test-00002.parquet")
        assert len(found_in(tmp_path / "set")[0].ids) == 12

    def test_find_rejects_empty_files(self, tmp_path):
        self.write(tmp_path, image=pa.array([], pa.binary()), label=pa.array([], pa.string()))
        with pytest.raises(FormatError, match="has no rows"):
            found_in(tmp_path)

    def test_hidden_files_are_skipped(self, tmp_path):
        hugging_face(tmp_path / "set")
        (tmp_path / "set" / "._test-00000-of-00002.parquet").write_bytes(b"junk")
        assert len(found_in(tmp_path / "set")[0].ids) == 12

    def test_find_rejects_damaged_files(self, tmp_path):
        hugging_face(tmp_path / "set")
        second = next((tmp_path / "set").glob("*00001-*"))
        second.write_bytes(second.read_bytes()[:500])
        with pytest.raises(FormatError, match=r"00001.* cannot be read as Parquet"):
            found_in(tmp_path / "set")

    def test_find_rejects_files_with_different_columns(self, tmp_path):
        self.write(tmp_path, "a.parquet", image=[PNG], label=[0])
        self.write(tmp_path, "b.parquet", image=[PNG], target=["n01"])
        with pytest.raises(FormatError, match="do not have the same columns"):
            found_in(tmp_path)

    def test_find_rejects_labels_of_other_classes(self, tmp_path):
        path = self.write(tmp_path, image=[PNG, PNG], label=[0, 7])
        with pytest.raises(InputError, match="class index 7 is outside animals"):
            found_in(path)
        with pytest.raises(UnknownName, match="fine_label"):
            found_in(path, ReaderOptions(SPACE, columns=Columns(label="fine_label")))

    @pytest.mark.parametrize("cell", [None, {"bytes": None, "path": "elsewhere.png"}])
    def test_row_without_an_image_is_unreadable(self, tmp_path, cell):
        path = self.write(tmp_path, image=[{"bytes": PNG, "path": "a.png"}, cell], label=[0, 1])
        images = open_images(found_in(path)[1])
        assert images.read(0) == PNG
        with pytest.raises(UnreadableImage, match=r"row 2 of row group 1 of x\.parquet contains no image"):
            images.read(1)

    def test_replaced_file_is_unreadable(self, tmp_path):
        path = self.write(tmp_path, image=[PNG] * 3, label=[0] * 3)
        _, source = found_in(path)
        self.write(tmp_path, image=[PNG], label=[0])
        with pytest.raises(UnreadableImage, match="row 3"):
            open_images(source).read(2)
        self.write(tmp_path, label=[0])
        with pytest.raises(UnreadableImage, match="has changed"):
            open_images(source).read(0)
        path.write_bytes(b"PAR1 no more")
        with pytest.raises(UnreadableImage, match=r"x\.parquet"):
            open_images(source).read(0)

    def test_removed_file_is_unreadable(self, tmp_path):
        _, source = found_in(hugging_face(tmp_path / "set"))
        next((tmp_path / "set").glob("*00001-*")).unlink()
        images = open_images(source)
        assert images.read(0) == ITEMS[0].data
        with pytest.raises(UnreadableImage, match="00001"):
            images.read(11)
        assert images.read(7) == ITEMS[7].data

    def test_folder_with_images_is_not_parquet(self, tmp_path):
        hugging_face(tmp_path / "set")
        (tmp_path / "set" / "n01").mkdir()
        (tmp_path / "set" / "n01" / "a.png").write_bytes(PNG)
        assert reader_for(tmp_path / "set").name == "folder"

    def test_single_file_can_be_moved(self, tmp_path):
        hugging_face(tmp_path / "set")
        alone = next((tmp_path / "set").glob("*00001-*"))
        result, source = found_in(alone)
        assert len(result.ids) == 4
        shutil.copytree(tmp_path / "set", tmp_path / "copy")
        copy = ImageSource("parquet", str(tmp_path / "copy" / alone.name), source.locations)
        assert open_images(copy).read(0) == ITEMS[8].data
