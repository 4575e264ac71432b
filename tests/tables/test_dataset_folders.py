"""Datasets of the Hugging Face library: class names of the schema, paths of images, splits of a folder."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regrade.core import InputError
from regrade.tables import read_any_table

NAMES = ["airplane", "cat", "dog"]
LABEL = {"names": NAMES, "_type": "ClassLabel"}
IMAGES = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def dataset(rows: int = 3) -> pa.Table:
    """A table with the schema metadata that the library writes."""
    columns = {
        "image": pa.array([{"bytes": b"...", "path": f"{i}.png"} for i in range(rows)], IMAGES),
        "label": pa.array([i % 3 for i in range(rows)], pa.int64()),
        "top": pa.array([[i % 3, (i + 1) % 3] for i in range(rows)], pa.list_(pa.int64())),
    }
    info = {"features": {"image": {"_type": "Image"}, "label": LABEL, "top": {"feature": LABEL, "_type": "List"}}}
    metadata = {"huggingface": json.dumps({"info": info})}
    return pa.table(columns).replace_schema_metadata(metadata)


def test_dataset_file_has_class_names_and_paths(tmp_path):
    pq.write_table(dataset(), tmp_path / "m.parquet")
    assert read_any_table(tmp_path / "m.parquet").to_pylist()[1:] == [
        {"image": "1.png", "label": "cat", "top": ["cat", "dog"]},
        {"image": "2.png", "label": "dog", "top": ["dog", "airplane"]},
    ]


def test_dataset_file_without_labels_has_no_label_column(tmp_path):
    table = dataset().set_column(1, "label", pa.array([-1, -1, -1]))
    pq.write_table(table, tmp_path / "m.parquet")
    assert read_any_table(tmp_path / "m.parquet").column_names == ["image", "top"]


def test_dataset_file_rejects_an_index_without_a_name(tmp_path):
    pq.write_table(dataset().set_column(1, "label", pa.array([0, 1, 3])), tmp_path / "m.parquet")
    with pytest.raises(InputError, match="column 'label' has a class index outside its 3 class names"):
        read_any_table(tmp_path / "m.parquet")


@pytest.mark.parametrize(
    "names",
    [
        ("data/test-00000-of-00002.parquet", "data/test-00001-of-00002.parquet"),
        ("default/test/0000.parquet", "default/test/0001.parquet"),
    ],
)
def test_dataset_folder_joins_the_files_of_a_split(tmp_path, names):
    for place, name in enumerate((*names, names[0].replace("test", "train"))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(dataset(3 + place), tmp_path / name)
    with pytest.raises(InputError, match="has the splits test, train: choose one with --split"):
        read_any_table(tmp_path)
    table = read_any_table(tmp_path, split="test")
    assert table["image"].to_pylist() == [f"{i}.png" for i in (*range(3), *range(4))]
    with pytest.raises(InputError, match="has no split 'val': it has test, train"):
        read_any_table(tmp_path, split="val")


def test_dataset_folder_reads_arrow_files(tmp_path):
    with (
        pa.OSFile(str(tmp_path / "data-00000-of-00001.arrow"), "wb") as file,
        pa.ipc.new_stream(file, dataset().schema) as writer,
    ):
        writer.write_table(dataset())
    assert read_any_table(tmp_path)["label"].to_pylist() == NAMES


def test_split_of_a_file_is_refused(tmp_path):
    pq.write_table(dataset(), tmp_path / "m.parquet")
    with pytest.raises(InputError, match="--split chooses a split of a folder"):
        read_any_table(tmp_path / "m.parquet", split="test")
