"""Candidates in folders, tar shards and tables, with their metadata."""

import io
import json
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from candidate_images import png

from regrade.build.pool_source import downloaded_name, read_source
from regrade.core import ClassSpace, InputError

PETS = ClassSpace("pets", ("cat", "dog"))


def written(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_read_source_takes_the_class_from_the_last_folder(tmp_path):
    for name in ("cat/a.png", "more/dog/b.png", "c.png"):
        written(tmp_path, name, b"")
    source = read_source(tmp_path, PETS)
    assert (source.reader, source.is_remote, source.columns) == ("folder", False, ())
    assert [(row.id, row.class_name, row.location) for row in source.candidates] == [
        ("c.png", "", "c.png"),
        ("a.png", "cat", "cat/a.png"),
        ("b.png", "dog", "more/dog/b.png"),
    ]


def test_read_source_reads_metadata_of_a_table(tmp_path):
    written(tmp_path, "a.png", png(0))
    table = written(
        tmp_path,
        "pool.csv",
        "path,Query class,Source ID,author,license,uploaded,sha256,views\n"
        "a.png,cat,17,ann,,2013-01-02,AB,5\n"
        ",dog,,,,,,\n",
    )
    source = read_source(table, PETS)
    first, second = source.candidates
    assert (first.id, first.class_name, first.source_id, first.sha256) == ("a.png", "cat", "17", "ab")
    assert first.metadata == {"source_id": "17", "author": "ann", "license": "", "uploaded": "2013-01-02"}
    assert (second.id, second.source_id) == ("row 2", "row 2")
    assert source.columns == ("source_id", "author", "uploaded")
    assert source.notes == ("ignored the column views",)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_read_source_reads_urls_from_every_kind_of_table(tmp_path, suffix):
    rows = [
        {"url": "https://x.org/1.jpg?size=z", "label": "cat", "source_id": "9"},
        {"url": "https://x.org/2", "label": "dog"},
    ]
    path = tmp_path / f"pool{suffix}"
    if suffix == ".csv":
        path.write_text(
            "url,label,source_id\n" + "".join(f"{r['url']},{r['label']},{r.get('source_id', '')}\n" for r in rows)
        )
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps({"source_id": None, **row}) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist([{"source_id": None, **row} for row in rows]), path)
    source = read_source(path, PETS)
    assert source.is_remote
    first, second = source.candidates
    assert (first.id, first.url) == ("9", "https://x.org/1.jpg?size=z")
    assert first.location == downloaded_name(first.url)
    assert first.location.endswith(".jpg")
    assert second.id == second.location == downloaded_name("https://x.org/2")


def test_read_source_prefers_existing_paths_to_urls(tmp_path):
    written(tmp_path, "a.png", png(0))
    existing = written(tmp_path, "here.csv", "path,url,label\na.png,https://x.org/a.png,cat\n")
    gone = written(tmp_path, "gone.csv", "path,url,label\nb.png,https://x.org/b.png,cat\n")
    assert not read_source(existing, PETS).is_remote
    assert read_source(gone, PETS).is_remote


def test_read_source_reads_tar_samples_without_a_class(tmp_path):
    path = tmp_path / "shard.tar"
    with tarfile.open(path, "w") as archive:
        for name, content in (
            ("1.png", png(1)),
            ("1.json", json.dumps({"label": "cat", "author": "ann", "license": None}).encode()),
            ("2.png", png(2)),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    first, second = read_source(path, PETS).candidates
    assert (first.id, first.class_name, first.metadata) == ("1", "cat", {"author": "ann"})
    assert (second.class_name, second.metadata) == ("", {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("path,author\na.png,ann\n", "no column with the class of each candidate"),
        ("label,author\ncat,ann\n", "no column with the path or URL of each candidate"),
        ("path,label,licnse\na.png,cat,cc\n", "unknown column 'licnse'; did you mean license"),
        ("path,label\n", "contains no rows"),
    ],
)
def test_read_source_rejects_tables_that_list_no_candidates(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_source(written(tmp_path, "pool.csv", content), PETS)


def test_downloaded_name_depends_on_the_whole_url():
    urls = ["https://x.org/a.jpg", "https://y.org/a.jpg", "https://x.org/a.jpg?b", "https://x.org/a.exe", "http://[bad"]
    names = [downloaded_name(url) for url in urls]
    assert len(set(names)) == len(names)
    assert [name.rpartition(".")[2] for name in names[:3]] == ["jpg"] * 3
    assert all(name[:2] == name[3:5] and len(name) >= 35 for name in names)
    assert "." not in names[3] + names[4]
