"""regrade build pool: from folders, tables and a server with bad images to a stored test set."""

import csv
import hashlib
import io
import json
import subprocess
import sys
import tarfile
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from candidate_images import HTML, encoded, image_server, near_duplicate, png, texture
from running import run, run_well

import regrade
from regrade.build.pool import PoolExclusion
from regrade.build.pool_record import PoolCollection
from regrade.build.pool_report import PoolPart
from regrade.build.pool_source import downloaded_name
from regrade.core import AlreadyStored, ClassSpace, DownloadInterrupted, InputError, MismatchError, UnknownName
from regrade.testsets import RetryPolicy, decode, open_images

PETS = ClassSpace("pets", ("cat", "dog", "fox"))
QUICK = RetryPolicy(tries=2, first_wait=0.001, longest_wait=0.001, timeout=10)


@pytest.fixture
def workspace(tmp_path):
    return regrade.init(tmp_path / "workspace")


@pytest.fixture
def server():
    with image_server() as site:
        yield site


def folder_of(path, images):
    """Write images, by their paths."""
    for name, content in images.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def table_of(path, rows):
    """Write rows of different columns as CSV."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def excluded(report):
    return {row.image: row.reason.value for row in report.excluded}


def files_of(workspace):
    root = workspace.store.root
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


@pytest.fixture
def reference(workspace, tmp_path):
    """A reference set: two images of a cat, one of a dog, none of a fox."""
    images = {"cat/r1.png": png(100), "cat/r2.png": png(101), "dog/r3.png": png(102)}
    workspace.testsets.add("val", folder_of(tmp_path / "val", images), classes=PETS)
    return "val"


def test_pool_from_folders_is_a_test_set_that_everything_else_reads(workspace, tmp_path):
    source = folder_of(tmp_path / "pool", {"cat/a.png": png(1), "cat/b.png": png(2), "dog/c.png": png(3)})
    report = workspace.build.pool("candidates", source, PETS, per_class=2)
    assert (report.listed, report.kept, report.exclusions, report.stored, report.new) == (3, 3, {}, True, True)
    assert report.lagging == ("dog",)
    assert report.table().notes == (
        "1 class lags behind the target: dog (1 of 2)",
        "1 class has no candidates at all",
        "3 of 3 images have no license",
    )
    test_set = workspace.store.test_set("candidates")
    assert list(test_set.ids) == ["a.png", "b.png", "c.png"]
    assert test_set.labels.tolist() == [0, 0, 1]
    assert workspace.testsets.check("candidates").sound
    assert workspace.study.leakage("candidates").pairs == ()


def test_pool_again_changes_nothing(workspace, tmp_path):
    source = folder_of(tmp_path / "pool", {"cat/a.png": png(1), "dog/c.png": b"no image"})
    workspace.build.pool("candidates", source, PETS)
    files = files_of(workspace)
    again = workspace.build.pool("candidates", source, PETS)
    assert (again.stored, again.new, again.kept) == (True, False, 1)
    assert files_of(workspace) == files
    folder_of(source, {"cat/b.png": png(2)})
    with pytest.raises(AlreadyStored, match="candidates"):
        workspace.build.pool("candidates", source, PETS)


def test_pool_excludes_by_the_first_failing_reason(workspace, reference, tmp_path):
    folder = folder_of(
        tmp_path / "images",
        {
            "good.png": png(1),
            "copy.png": encoded(texture(1), "BMP"),
            "near.jpg": near_duplicate(1),
            "reference.png": png(100),
            "near_reference.jpg": near_duplicate(101),
            "html.jpg": HTML,
            "truncated.png": png(2)[:200],
            "early.png": png(3),
            "undated.png": png(4),
            "dragon.png": png(5),
            "same_source.png": png(6),
            "dog.png": png(7),
        },
    )
    day, rows = "2013-01-01", []
    for number, image in enumerate(sorted(path.name for path in folder.iterdir())):
        label = {"dragon.png": "dragon", "dog.png": "dog", "copy.png": "dog"}.get(image, "cat")
        date = {"early.png": "2009-05-05", "undated.png": ""}.get(image, day)
        rows.append({"path": image, "label": label, "source_id": f"s{number}", "uploaded": date, "license": "CC"})
    good = next(row for row in rows if row["path"] == "good.png")
    next(row for row in rows if row["path"] == "same_source.png")["source_id"] = good["source_id"]
    rows.sort(key=lambda row: row["path"] != "good.png")
    rows.append({**good, "label": "dog"})  # the same image under two classes
    rows.append({**good, "path": "missing.png", "source_id": "s99"})
    table = table_of(folder / "pool.csv", rows)
    report = workspace.build.pool(
        "candidates", table, references=[reference], from_date="2012-07-11", to_date="2013-07-11"
    )
    assert [(row.image, row.reason.value) for row in report.excluded] == [
        ("copy.png", "exact_duplicate"),
        ("dragon.png", "unknown_class"),
        ("early.png", "outside_dates"),
        ("html.jpg", "unreadable"),
        ("near.jpg", "near_duplicate"),
        ("near_reference.jpg", "near_reference"),
        ("reference.png", "identical_to_reference"),
        ("same_source.png", "duplicate_source"),
        ("truncated.png", "unreadable"),
        ("undated.png", "no_date"),
        ("good.png", "duplicate_source"),
        ("missing.png", "unreadable"),
    ]
    assert list(report.exclusions) == [reason.value for reason in PoolExclusion]
    assert sum(report.exclusions.values()) + report.kept == report.listed == len(rows)
    assert list(workspace.store.test_set("candidates").ids) == ["good.png", "dog.png"]
    details = {row.image: row.detail for row in report.excluded}
    assert details["html.jpg"] == "an HTML page, not an image"
    assert details["reference.png"] == "it is image 'r1.png' of val"
    assert details["near_reference.jpg"].startswith("near duplicate of image 'r2.png' of val: ")
    assert details["copy.png"] == "same pixels as 'good.png' (class cat)"
    assert "truncated" in details["truncated.png"]
    assert report.in_two_classes == 2  # the copy, and the image under two classes
    assert report.as_dict()["excluded"][0] == {
        "image": "copy.png",
        "class_name": "dog",
        "reason": "exact_duplicate",
        "detail": "same pixels as 'good.png' (class cat)",
    }


def test_pool_metadata_become_group_columns(workspace, tmp_path):
    folder = folder_of(tmp_path / "images", {"a.png": png(1), "b.png": png(2)})
    rows = [
        {"path": "a.png", "label": "cat", "author": "ann", "license": "CC0", "keyword": "tabby", "query": "tabby cat"},
        {"path": "b.png", "label": "cat", "author": "bob", "license": "", "keyword": "tabby", "query": ""},
    ]
    report = workspace.build.pool("candidates", table_of(folder / "pool.csv", rows), PETS)
    groups = workspace.store.test_set("candidates").group_columns
    assert dict(groups) == {
        "keyword": ("tabby", "tabby"),
        "author": ("ann", "bob"),
        "license": ("CC0", ""),
        "query": ("tabby cat", ""),
    }
    assert report.without_license == 1
    assert "1 of 2 images have no license" in report.notes
    assert [(row.keyword, row.listed, row.kept) for row in report.keywords] == [("tabby", 2, 2)]


def test_pool_names_classes_of_one_author_and_without_reference_images(workspace, reference, tmp_path):
    folder = folder_of(tmp_path / "images", {f"{number}.png": png(number) for number in range(5)})
    labels, authors = ("cat", "cat", "fox", "fox", "dog"), ("ann", "bob", "cy", "cy", "")
    rows = [
        {"path": f"{number}.png", "label": label, "author": author}
        for number, (label, author) in enumerate(zip(labels, authors, strict=True))
    ]
    report = workspace.build.pool("candidates", table_of(folder / "pool.csv", rows), references=[reference])
    assert report.classes_of_one_author == ("fox",)
    assert report.classes_without_references == ("fox",)
    assert "1 class has images of one author only: fox (2 by cy)" in report.notes
    assert "1 class has no reference images: fox" in report.notes
    assert [(row.author, row.images, row.share) for row in report.authors] == [
        ("cy", 2, 0.4),
        ("ann", 1, 0.2),
        ("bob", 1, 0.2),
    ]


def test_pool_keeps_the_largest_of_near_duplicates_and_only_exact_ones_are_excluded_on_request(workspace, tmp_path):
    large = encoded(texture(1).resize((96, 96), 3))
    source = folder_of(tmp_path / "pool", {"cat/a.jpg": near_duplicate(1), "cat/b.png": large, "dog/c.png": large})
    assert excluded(workspace.build.pool("near", source, PETS)) == {
        "a.jpg": "near_duplicate",
        "c.png": "exact_duplicate",
    }
    assert excluded(workspace.build.pool("exact", source, PETS, by=["exact"])) == {"c.png": "exact_duplicate"}
    assert (
        excluded(workspace.build.pool("strict", source, PETS, by=["phash"], near={"phash": 0.0})).get("b.png") is None
    )


def test_pool_dry_run_stores_nothing(workspace, tmp_path, server):
    server.files |= {"a.png": png(1)}
    source = folder_of(tmp_path / "pool", {"cat/a.png": png(1), "dog/b.png": png(1)})
    table = table_of(tmp_path / "pool.csv", [{"url": server.url("a.png"), "label": "cat"}, {"url": "", "label": "elk"}])
    before = files_of(workspace)
    report = workspace.build.pool("candidates", source, PETS, dry_run=True)
    assert (report.stored, report.new, report.kept) == (False, False, 1)
    assert excluded(report) == {"b.png": "exact_duplicate"}
    remote = workspace.build.pool("candidates", table, PETS, dry_run=True)
    assert (remote.kept, remote.not_downloaded) == (1, 1)
    assert excluded(remote) == {downloaded_name(""): "unknown_class"}
    assert (files_of(workspace), server.requests) == (before, [])


def test_pool_downloads_urls_and_excludes_what_the_server_does_not_have(workspace, tmp_path, server):
    server.files |= {"1/photo.png": png(1), "2/photo.png": png(2), "page.jpg": HTML, "cut.png": png(3)[:300]}
    server.files["other.png"] = png(4)
    digest = hashlib.sha256(png(1)).hexdigest()
    rows = [
        {"url": server.url("1/photo.png"), "label": "cat", "source_id": "1", "sha256": digest},
        {"url": server.url("2/photo.png"), "label": "dog", "source_id": "2"},
        {"url": server.url("1/photo.png"), "label": "dog", "source_id": "1"},
        {"url": server.url("gone.png"), "label": "dog", "source_id": "3"},
        {"url": server.url("page.jpg"), "label": "dog", "source_id": "4"},
        {"url": server.url("cut.png"), "label": "dog", "source_id": "5"},
        {"url": server.url("other.png"), "label": "dog", "source_id": "6", "sha256": digest},
        {"url": "ftp://example.org/a.png", "label": "dog", "source_id": "7"},
        {"url": "", "label": "dog", "source_id": "8"},
    ]
    table = table_of(tmp_path / "pool.csv", rows)
    report = workspace.build.pool("flickr", table, PETS, retries=QUICK)
    assert excluded(report) == {
        "1": "duplicate_source",
        **dict.fromkeys("345678", "unreadable"),
    }
    details = {row.image: row.detail for row in report.excluded}
    assert details["3"].endswith("the server responded 404 Not Found")
    assert details["4"] == "an HTML page, not an image"
    assert "truncated" in details["5"]
    assert f"expected {digest}" in details["6"]
    assert "a URL must begin with https:// or http://" in details["7"]
    assert details["8"] == "it has no URL"
    assert Counter(server.requests)["1/photo.png"] == 1
    test_set = workspace.store.test_set("flickr")
    assert (list(test_set.ids), test_set.labels.tolist()) == (["1", "2"], [0, 1])
    source = workspace.store.images.read(test_set)
    assert source.root == "builds/flickr/images"
    assert np.array_equal(np.asarray(decode(open_images(source).read(1))), np.asarray(texture(2)))
    record = PoolCollection(workspace.store.root).read("flickr")
    assert [entry.excluded is None for entry in record.entries] == [True, True, *[False] * 7]
    assert record.entries[0].url == rows[0]["url"]


def test_pool_moves_with_its_workspace(workspace, tmp_path, server):
    server.files["a.png"] = png(1)
    table = table_of(tmp_path / "pool.csv", [{"url": server.url("a.png"), "label": "cat"}])
    workspace.build.pool("flickr", table, PETS, retries=QUICK)
    moved = workspace.store.root.rename(tmp_path / "moved")
    assert regrade.open(moved).testsets.check("flickr").sound
    run_well("verify", "-w", moved)


def test_pool_stops_if_a_server_does_not_respond_and_resumes_later(workspace, tmp_path, server):
    server.files |= {"a.png": png(1), "b.png": png(2)}
    server.failures["b.png"] = QUICK.tries
    table = table_of(
        tmp_path / "pool.csv",
        [{"url": server.url(f"{name}.png"), "label": "cat", "source_id": name} for name in "ab"],
    )
    with pytest.raises(DownloadInterrupted, match=r"1 of 2 images are not downloaded yet.*--skip-failed"):
        workspace.build.pool("flickr", table, PETS, retries=QUICK)
    assert "flickr" not in workspace.testsets.names()
    assert workspace.build.pool("flickr", table, PETS, retries=QUICK).kept == 2
    assert Counter(server.requests)["a.png"] == 1, "what was downloaded is not requested again"


def test_pool_without_failed_downloads_on_request(workspace, tmp_path, server):
    server.files |= {"a.png": png(1)}
    server.failures["b.png"] = QUICK.tries
    rows = [{"url": server.url(f"{name}.png"), "label": "cat", "source_id": name} for name in "ab"]
    report = workspace.build.pool(
        "flickr", table_of(tmp_path / "pool.csv", rows), PETS, retries=QUICK, skip_failed=True
    )
    assert excluded(report) == {"b": "unreadable"}


KILLED = """
import os, sys, regrade
from regrade.testsets import RetryPolicy
images = iter(range(3))
def progress(items, total):
    for item in items:
        yield item
        if next(images, None) is None:
            os.kill(os.getpid(), 9)
workspace = regrade.open(sys.argv[1])
workspace.build.pool("flickr", sys.argv[2], "pets", downloads=1, image_progress=progress)
"""


def test_pool_resumes_after_a_kill(workspace, tmp_path, server):
    names = [f"{number}.png" for number in range(8)]
    server.files |= {name: png(number) for number, name in enumerate(names)}
    workspace.testsets.class_space(PETS)
    table = table_of(tmp_path / "pool.csv", [{"url": server.url(name), "label": "cat"} for name in names])
    killed = subprocess.run([sys.executable, "-c", KILLED, str(workspace.store.root), str(table)], check=False)
    assert killed.returncode == -9
    before = set(server.requests)
    assert before
    report = workspace.build.pool("flickr", table, "pets", retries=QUICK)
    assert report.kept == 8
    complete = [name for name in before if Counter(server.requests)[name] == 1]
    assert len(complete) >= 3, "finished files are not downloaded again"


def test_pool_reads_repaired_images_again(workspace, tmp_path):
    source = folder_of(tmp_path / "pool", {"cat/a.png": png(1), "cat/b.png": b"damaged"})
    assert workspace.build.pool("candidates", source, PETS).kept == 1
    folder_of(source, {"cat/b.png": png(2)})
    with pytest.raises(AlreadyStored, match="candidates"):  # the image now counts, and a pool does not change
        workspace.build.pool("candidates", source, PETS)


def test_pool_checks_the_checksum_of_local_files(workspace, tmp_path):
    folder = folder_of(tmp_path / "images", {"a.png": png(1), "b.png": png(2)})
    digest = hashlib.sha256(png(1)).hexdigest()
    rows = [{"path": f"{name}.png", "label": "cat", "sha256": digest} for name in "ab"]
    report = workspace.build.pool("candidates", table_of(folder / "pool.csv", rows), PETS)
    assert excluded(report) == {"b.png": "unreadable"}


def test_pool_suspects_the_placeholder_of_a_server(workspace, tmp_path, server):
    rows = []
    for number in range(7):
        server.files[f"{number}.png"] = png(0 if number < 6 else 1)
        rows.append({"url": server.url(f"{number}.png"), "label": "cat", "source_id": f"s{number}"})
    report = workspace.build.pool("flickr", table_of(tmp_path / "pool.csv", rows), PETS, retries=QUICK)
    assert report.kept == 2
    assert "5 candidates have the pixels of 's0': it may be the placeholder of a server" in report.notes


def test_pool_from_shards_keeps_their_metadata(workspace, tmp_path):
    (tmp_path / "shards").mkdir()
    for shard, number in enumerate((1, 2, 1)):
        with tarfile.open(tmp_path / "shards" / f"{shard}.tar", "w") as archive:
            fields = {"label": "fox", "author": f"author {shard}", "uploaded": 1373533500}
            for name, content in ((f"{shard}.png", png(number)), (f"{shard}.json", json.dumps(fields).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    report = workspace.build.pool("candidates", tmp_path / "shards", PETS, from_date="2013-07-11", to_date="2013-07-11")
    assert excluded(report) == {"2": "exact_duplicate"}
    test_set = workspace.store.test_set("candidates")
    assert (list(test_set.ids), test_set.labels.tolist()) == (["0", "1"], [2, 2])
    assert test_set.group_columns["author"] == ("author 0", "author 1")
    assert workspace.testsets.check("candidates").sound


def test_pool_from_encoded_images_in_parquet(workspace, tmp_path):
    path = tmp_path / "images.parquet"
    images = [{"bytes": png(number), "path": f"{number}.png"} for number in (1, 2, 2)]
    pq.write_table(pa.table({"image": images, "label": [0, 1, 2]}), path)
    report = workspace.build.pool("candidates", path, PETS)
    assert report.exclusions == {"exact_duplicate": 1}
    assert report.in_two_classes == 1
    assert "1 candidate is a duplicate of one of another class: see --show excluded" in report.notes
    assert workspace.store.test_set("candidates").labels.tolist() == [0, 1]


def test_pool_rejects_bad_input_in_one_line(workspace, reference, tmp_path):
    source = folder_of(tmp_path / "pool", {"cat/a.png": png(1)})
    build = workspace.build
    with pytest.raises(InputError, match="give the classes of the pool"):
        build.pool("candidates", source)
    with pytest.raises(AlreadyStored, match="test set val exists and is not a pool"):
        build.pool(reference, source, PETS)
    with pytest.raises(InputError, match="name of a test set in the catalog"):
        build.pool("imagenet-val", source, PETS)
    with pytest.raises(UnknownName, match="unknown test set 'train'"):
        build.pool("candidates", source, PETS, ["train"])
    with pytest.raises(MismatchError, match=r"label 'cat' of .* is not a class .* of elks, nor is any other label$"):
        build.pool("candidates", source, ClassSpace("elks", ("elk",)))
    with pytest.raises(InputError, match=r"no candidate is left: 1 no date; see them with --dry-run --show excluded"):
        build.pool("candidates", source, PETS, from_date="2012-01-01")
    with pytest.raises(InputError, match="there is no file or folder"):
        build.pool("candidates", tmp_path / "absent", PETS)
    with pytest.raises(InputError, match="candidates need a class"):
        build.pool("candidates", source, PETS, layout="flat")
    with pytest.raises(InputError, match="no features yet"):
        build.pool("candidates", source, PETS, by=["features"])
    assert workspace.testsets.names() == ("val",)


def test_pool_command_prints_every_table(workspace, tmp_path):
    folder = folder_of(tmp_path / "images", {"a.png": png(1), "b.png": png(1)})
    rows = [
        {"path": f"{name}.png", "label": "cat", "author": "ann", "keyword": "tabby", "license": "CC0"} for name in "ab"
    ]
    table = table_of(folder / "pool.csv", rows)
    workspace.testsets.class_space(PETS)
    command = ["build", "pool", "candidates", table, "--classes", "pets", "--per-class", "5"]
    command += ["-w", workspace.store.root]
    printed = run_well(*command)
    assert "candidates: stored" in printed.out
    assert "excluded: exact duplicate" in printed.out
    for part in PoolPart:
        assert run_well(*command, "--show", part.value).out
    answer = json.loads(run_well(*command, "--json").out)
    assert answer["exclusions"] == {"exact_duplicate": 1}
    assert answer["lagging"] == ["cat"]
    assert answer["classes"][0]["kept"] == 1
    bad = run("build", "pool", "more", tmp_path / "none.csv", "--classes", "pets", "-w", workspace.store.root)
    assert (bad.code, bad.err.count("\n")) == (1, 1)
