"""regrade build verify: changes of released files are noticed and named, also if the checksums were adapted."""

import csv
import io
import json
import re
import shutil

import pytest
from build_world import make_build
from running import run

from regrade.build.release_check import CheckOutcome, check_release, checksums, file_digest
from regrade.core import InputError

FILES = (
    "manifest.csv", "candidates.csv", "tasks.csv", "answers.csv", "draw.json", "classes.json", "datasheet.md",
    "croissant.json", "checksums.txt",
)  # fmt: skip


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    workspace = make_build(tmp_path_factory.mktemp("released"))
    workspace.build.sample("new", "threshold", per_class=4, lowest=0.6)
    workspace.build.clean("new")
    workspace.build.freeze("new", "fresh")
    return workspace.store.root / "releases" / "fresh"


@pytest.fixture
def folder(released, tmp_path):
    """A copy of the release, to be changed."""
    return shutil.copytree(released, tmp_path / "copy")


def failures(folder):
    return [check for check in check_release(folder) if check.outcome is CheckOutcome.FAILED]


def named(folder):
    """Everything that the failures say."""
    return " ".join(f"{check.subject} {check.detail}" for check in failures(folder))


def adapt_checksums(folder):
    """Write checksums.txt anew, as someone would who wants to hide a change."""
    digests = {
        path.relative_to(folder).as_posix(): file_digest(path)
        for path in folder.rglob("*")
        if path.is_file() and path.name != "checksums.txt"
    }
    (folder / "checksums.txt").write_text(checksums(digests))


def edit(folder, name, change):
    """Change the rows of a CSV file."""
    with (folder / name).open(newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    change(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, reader.fieldnames, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    (folder / name).write_text(text.getvalue())


def test_verify_says_what_was_verified_and_what_cannot_be(folder):
    checks = check_release(folder)
    outcomes = {check.subject: check.outcome for check in checks}
    assert not failures(folder)
    for subject in ("checksums", "images", "class balance", "frequencies", "draw", "datasheet.md", "croissant.json"):
        assert outcomes[subject] is CheckOutcome.VERIFIED
    for subject in ("answers", "sources", "exclusions by name", "reference images"):
        assert outcomes[subject] is CheckOutcome.NOT_VERIFIABLE


@pytest.mark.parametrize("name", [*FILES, "image"])
def test_verify_names_a_file_that_was_changed(folder, name):
    path = next((folder / "images").rglob("*.png")) if name == "image" else folder / name
    path.write_bytes(path.read_bytes() + b"\n")
    assert path.name in " ".join(check.subject for check in failures(folder))


@pytest.mark.parametrize("name", [*FILES, "image"])
def test_verify_names_a_file_that_is_missing(folder, name):
    path = next((folder / "images").rglob("*.png")) if name == "image" else folder / name
    path.unlink()
    assert path.name in " ".join(check.subject for check in failures(folder))


def test_verify_names_a_file_that_was_added(folder):
    (folder / "images" / "more.png").write_bytes(b"png")
    assert "images/more.png the file is not listed in checksums.txt" in named(folder)


def nothing_selected(rows):
    max(rows, key=lambda row: len(row["selected"]))["selected"] = ""


def another_label(rows):
    rows[0]["label"], rows[0]["class_name"] = ("n01", "cat") if rows[0]["label"] != "n01" else ("n02", "dog")


EDITS = {
    "an answer": ("answers.csv", nothing_selected, "candidates.csv"),
    "a worker who does not count": (
        "answers.csv",
        lambda rows: [row.update(counted="no") for row in rows if row["worker"] == "worker-001"],
        "candidates.csv",
    ),
    "an answer twice": ("answers.csv", lambda rows: rows.append(rows[0]), "answered task"),
    "answers that are said to be late": (
        "answers.csv",
        lambda rows: [row.update(after_draw="yes") for row in rows if row["worker"] < "worker-006"],
        "other images would have been drawn",
    ),
    "an answer to an unknown task": ("answers.csv", lambda rows: rows[0].update(task="x"), "answers.csv"),
    "the role of a tile": (
        "tasks.csv",
        lambda rows: next(row for row in rows if row["role"] == "candidate").update(role="positive"),
        "the names of the tiles",
    ),
    "the image of a tile": ("tasks.csv", lambda rows: rows[0].update(image=rows[1]["image"]), "tasks.csv"),
    "a frequency": ("candidates.csv", lambda rows: rows[0].update(selection_frequency="0.123"), "candidates.csv"),
    "a candidate less": ("candidates.csv", lambda rows: rows.pop(), "candidates.csv"),
    "an exclusion": (
        "candidates.csv",
        lambda rows: next(row for row in rows if row["drawn"] == "yes").update(excluded="blacklisted"),
        "candidates.csv",
    ),
    "a label": ("manifest.csv", another_label, "manifest.csv"),
    "a frequency of the manifest": (
        "manifest.csv",
        lambda rows: rows[0].update(selection_frequency="1"),
        "manifest.csv",
    ),
    "a bin": ("manifest.csv", lambda rows: rows[0].update(frequency_bin="[0, 0.2)"), "manifest.csv"),
    "the order": ("manifest.csv", lambda rows: rows.reverse(), "another order"),
    "an image less": ("manifest.csv", lambda rows: rows.pop(), "class balance"),
    "an invalid number": ("manifest.csv", lambda rows: rows[0].update(answers="ten"), "manifest.csv"),
    "a license": ("manifest.csv", lambda rows: rows[0].update(license="mine"), "datasheet.md"),
}


@pytest.mark.parametrize("change", EDITS)
def test_verify_notices_a_change_in_spite_of_adapted_checksums(folder, change):
    file, edited, expected = EDITS[change]
    edit(folder, file, edited)
    adapt_checksums(folder)
    assert expected in named(folder)
    assert "checksums.txt" not in named(folder)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("seed", 1),
        ("per_class", 3),
        ("lowest", 0.75),
        ("strategy", "top"),
        ("per_class", "x"),
        ("strategy", "zzz"),
        ("min_answers", None),
        ("lowest", "x"),
        ("overrides", "n01=1"),
    ],
)
def test_verify_notices_other_settings(folder, setting, value):
    draw = json.loads((folder / "draw.json").read_text())
    draw["settings"][setting] = value
    (folder / "draw.json").write_text(json.dumps(draw, indent=1, sort_keys=True) + "\n")
    adapt_checksums(folder)
    assert failures(folder)


@pytest.mark.parametrize("name", ["datasheet.md", "croissant.json"])
def test_verify_notices_other_texts(folder, name):
    path = folder / name
    path.write_text(re.sub(r"12 images", "13 images", path.read_text()))
    adapt_checksums(folder)
    assert [check.subject for check in failures(folder)] == [name]


def test_verify_does_not_compare_texts_of_another_version(folder):
    draw = json.loads((folder / "draw.json").read_text())
    draw["regrade"] = "0.0.1"
    (folder / "draw.json").write_text(json.dumps(draw, indent=1, sort_keys=True) + "\n")
    (folder / "datasheet.md").write_text("another text\n")
    adapt_checksums(folder)
    assert not failures(folder)
    texts = {check.subject: check for check in check_release(folder)}
    assert texts["datasheet.md"].outcome is CheckOutcome.NOT_VERIFIABLE
    assert "written by regrade 0.0.1" in texts["datasheet.md"].detail


@pytest.mark.parametrize("name", [name for name in FILES if name != "checksums.txt"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a,b\n1,2,3\n", b"[]", b"{}"], ids=repr)
def test_verify_reports_files_of_another_format(folder, name, content):
    (folder / name).write_bytes(content)
    adapt_checksums(folder)
    assert name in named(folder)


def test_verify_command_ends_with_exit_code_3(folder):
    (folder / "answers.csv").write_text("")
    done = run("build", "verify", folder)
    assert done.code == 3
    assert "not sound" in done.out
    assert "answers.csv" in done.out
    done = run("build", "verify", folder, "--json")
    assert (done.code, json.loads(done.out)["sound"]) == (3, False)


def test_verify_rejects_folders_that_are_no_release(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        check_release(tmp_path / "none")
    with pytest.raises(InputError, match=r"is not a release: it has neither checksums.txt nor manifest.csv"):
        check_release(tmp_path)
