"""Full disks, killed processes and concurrent commands never leave partial files."""

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from pets import ANSWERS, IDS, LABELS, wide
from running import EXECUTABLE, assert_one_line, run, run_well, snapshot, wait_until
from skipping import skip

from regrade.store import transaction

MANY = tuple(f"m{i}" for i in range(30))


def models(workspace: Path) -> list[str]:
    return [row["model"] for row in json.loads(run_well("models", "list", "-w", workspace, "--json").out)["models"]]


def wide_file(path: Path, names: tuple[str, ...] = MANY, examples: int = 6) -> Path:
    """A file of many models on a new test set."""
    rows = [f"x{i},{LABELS[i % 6]}" + f",{ANSWERS[i % 6]}" * len(names) for i in range(examples)]
    path.write_text("\n".join([",".join(("image", "label", *names)), *rows]) + "\n")
    return path


def scores_file(path: Path, examples: int = 6) -> Path:
    np.save(path, np.random.default_rng(0).normal(size=(examples, 10)))
    return path


def import_many(path: Path, workspace: Path) -> tuple[object, ...]:
    return ("import", "predictions", path, "--test-set", "many", "--classes", "cifar-10", "-w", workspace)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 100 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", disk]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        skip("a small disk cannot be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


class TestFullDisk:
    """With real limits (file size, a small disk), and with a simulated failure at every step."""

    LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
"""

    @pytest.mark.parametrize("size", [0, 100, 1000])
    def test_predictions(self, pets, tmp_path, run_warm, size):
        before = snapshot(pets)
        file = wide_file(tmp_path / "many.csv", ("m0", "m1"), examples=3000)
        ran = run_warm(*import_many(file, pets), first=self.LIMITED.format(size=size))
        assert_one_line(ran, "cannot write to", "larger than this system allows", "nothing was left half-written")
        assert snapshot(pets) == before

    def test_full_scores(self, pets, tmp_path, run_warm):
        before = snapshot(pets)
        (tmp_path / "set.csv").write_text("image,label\n" + "".join(f"x{i},cat\n" for i in range(3000)))
        run_well("testsets", "add", "many", tmp_path / "set.csv", "--classes", "cifar-10", "-w", pets)
        before = snapshot(pets)
        ran = run_warm(
            *import_many(scores_file(tmp_path / "s.npy", 3000), pets), first=self.LIMITED.format(size=50_000)
        )  # enough space for the top five, not for all scores
        assert_one_line(ran, "larger than this system allows")
        assert snapshot(pets) == before

    def test_labels_init_and_sample(self, pets, tmp_path, run_warm):
        limit = self.LIMITED.format(size=10)
        (tmp_path / "l.csv").write_text("image,class\n" + "".join(f"{i},truck\n" for i in IDS))
        before = snapshot(pets)
        command = ("import", "labels", tmp_path / "l.csv", "-t", "pets", "--name", "l", "-w", pets)
        assert_one_line(run_warm(*command, first=limit), "cannot write to")
        assert snapshot(pets) == before
        run_well(*command)
        before = snapshot(pets)
        sample = ("labels", "sample", "-t", "pets", "-l", "l", "--size", 2, "--out", tmp_path / "o.csv", "-w", pets)
        assert_one_line(run_warm(*sample, first=limit), "cannot write to")
        assert snapshot(pets) == before
        assert not (tmp_path / "o.csv").exists()
        assert_one_line(run_warm("init", tmp_path / "new", first=limit), "cannot write to")
        assert snapshot(tmp_path / "new") == {}

    def test_disk_of_100_kilobytes(self, small_disk, tmp_path):
        run_well("init", small_disk / "W")
        before = snapshot(small_disk)
        ran = run(*import_many(wide_file(tmp_path / "many.csv"), small_disk / "W"))
        assert_one_line(ran, "cannot write to", "the disk is full")
        assert snapshot(small_disk) == before
        run_well(*import_many(wide_file(tmp_path / "few.csv", MANY[:2]), small_disk / "W"))
        assert models(small_disk / "W") == ["m0", "m1"]

    def test_import_survives_a_full_disk_at_every_step(self, pets, tmp_path, monkeypatch):
        """The disk fills up at the n-th call that writes, for every n until the import gets through."""
        (tmp_path / "own.csv").write_text("id\n" + "".join(f"{c}\n" for c in sorted(set(LABELS + ANSWERS))))
        command = ["import", "predictions", wide_file(tmp_path / "f.csv", ("a", "b"))]
        command += ["--test-set", "many", "--classes", tmp_path / "own.csv", "-w", pets]
        before = snapshot(pets)
        steps = 0
        while True:
            with monkeypatch.context() as patch:
                fill_up(patch, steps)
                ran = run(*command)
            if ran.code == 0:
                break
            assert_one_line(ran, "the disk is full")
            assert snapshot(pets) == before
            steps += 1
        assert steps > 10
        assert models(pets) == ["a", "b", "first"]


def fill_up(patch: pytest.MonkeyPatch, steps: int) -> None:
    """Let the first calls succeed that create, write or move something, and fail the next one."""
    remaining = [steps]
    reading = Path.open

    def counted(real):
        def call(*arguments, **options):
            if real is reading and "wb" not in arguments:
                return real(*arguments, **options)
            remaining[0] -= 1
            if remaining[0] == -1:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*arguments, **options)

        return call

    calls = ((os, "fsync"), (os, "link"), (Path, "rename"), (Path, "replace"), (Path, "mkdir"), (Path, "open"))
    for owner, name in calls:
        patch.setattr(owner, name, counted(getattr(owner, name)))


class TestKilled:
    def test_killed_import_is_completed_by_the_next_one(self, pets, tmp_path):
        file = wide_file(tmp_path / "many.csv", tuple(f"m{i}" for i in range(300)))
        before = snapshot(pets)
        command = [str(part) for part in (EXECUTABLE, *import_many(file, pets))]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        staging = pets / ".staging"
        wait_until(lambda: list(staging.glob("*/5/manifest.json")), process)
        process.kill()
        process.wait()
        assert staging.exists()
        assert {name: text for name, text in snapshot(pets).items() if not name.startswith(".staging")} == before
        assert "first" in run_well("grade", "-t", "pets", "-w", pets).out
        run_well(*import_many(file, pets))
        assert not staging.exists()
        assert len(models(pets)) == 301

    def test_partly_stored_models_are_completed(self, pets, tmp_path):
        file = wide_file(tmp_path / "many.csv", MANY[:4])
        run_well(*import_many(file, pets))
        whole = snapshot(pets)
        shutil.rmtree(pets / "predictions" / "many" / "m2")
        assert "models imported: 1 (m2), unchanged: 3" in run_well(*import_many(file, pets)).err
        assert snapshot(pets).keys() == whole.keys()

    def test_control_c_leaves_no_partial_files(self, pets, tmp_path, monkeypatch):
        before = snapshot(pets)
        monkeypatch.setattr(transaction, "sync_files", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        assert run(*import_many(wide_file(tmp_path / "f.csv"), pets)).code != 0
        assert snapshot(pets) == before


class TestConcurrent:
    def test_many_imports_of_the_same_file(self, pets, tmp_path, run_warm):
        command = import_many(wide_file(tmp_path / "many.csv"), pets)
        with ThreadPoolExecutor() as pool:
            ran = list(pool.map(lambda _: run_warm(*command), range(4)))
        assert [r.code for r in ran] == [0] * 4, ran
        assert sum("models imported: 30" in r.err for r in ran) == 1
        assert sum("unchanged: 30" in r.err for r in ran) == 3
        assert len(models(pets)) == 31
        assert not (pets / ".staging").exists()

    def test_different_content_under_one_name_is_stored_once(self, pets, tmp_path, run_warm):
        for number, answer in enumerate(("cat", "dog", "ship")):
            (tmp_path / f"{number}.csv").write_text(wide(*[answer] * 6))
        commands = [("import", "predictions", tmp_path / f"{n}.csv", "-t", "pets", "-w", pets) for n in range(3)]
        with ThreadPoolExecutor() as pool:
            ran = list(pool.map(lambda command: run_warm(*command), commands))
        assert sorted(r.code for r in ran) == [0, 1, 1]
        for loser in (r for r in ran if r.code):
            assert_one_line(loser, "other predictions of 'second'")
        assert models(pets) == ["first", "second"]


def test_read_only_disk(pets, small_disk):
    workspace = Path(shutil.copytree(pets, small_disk / "W"))
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    (pets / "second.csv").write_text(wide())
    file = ("import", "predictions", pets / "second.csv", "-t", "pets", "-w", workspace)
    assert_one_line(run(*file), "cannot write to", "the disk is read-only")
    assert "first" in run_well("grade", "-t", "pets", "-w", workspace).out


class TestOutput:
    def test_broken_pipe(self, pets):
        command = f"{EXECUTABLE} grade -t pets -w {pets} --csv | head -c 1"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
        assert done.stdout == "m"
        assert done.stderr == ""

    def test_full_output_device(self, pets):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [EXECUTABLE, "grade", "-t", "pets", "-w", pets, "--json"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode == 1
        assert done.stderr == "error: the output: No space left on device\n"

    @pytest.mark.parametrize("form", ["", "--json", "--csv", "--markdown", "--latex"])
    def test_output_encoding_without_unicode(self, pets, tmp_path, run_warm, form):
        (tmp_path / "second.csv").write_text(wide(model="модель"))
        run_well("import", "predictions", tmp_path / "second.csv", "-t", "pets", "-w", pets)
        command = ("grade", "-t", "pets", "-w", pets, *([form] if form else []))
        ran = run_warm(*command, first="sys.stdout.reconfigure(encoding='ascii', errors='strict')")
        assert (ran.code, ran.err) == (0, "")
        assert "first" in ran.out and "\\u043c" in ran.out
        if form == "--json":
            assert json.loads(ran.out)["rows"][1]["model"] == "модель"

    def test_closed_output(self, pets, tmp_path):
        (tmp_path / "second.csv").write_text(wide())
        command = f"{EXECUTABLE} import predictions {tmp_path / 'second.csv'} -t pets -w {pets} >&-"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "models imported: 1" in done.stderr
