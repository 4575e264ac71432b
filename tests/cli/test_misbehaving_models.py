"""Models that misbehave: always one error line and exit code 1, and the other models of the run are stored."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from predicting import noise
from running import EXECUTABLE, HANG_LIMIT, assert_one_line, run, run_process, run_well, wait_until

END_PROCESS = os._exit
GOOD = """
import numpy as np
WEIGHTS = np.random.default_rng(0).normal(size=(192, 10)).astype(np.float32)
def scores(batch):
    return batch.reshape(len(batch), -1) @ WEIGHTS
"""
BAD = """
import os, signal, sys, warnings
import numpy as np
from good import scores

class Strange(BaseException):
    pass

def act():
    {action}

if {stage!r} == "import":
    act()

class Model:
    calls = 0

    def __init__(self):
        if {stage!r} == "construction":
            act()

    def __call__(self, batch):
        Model.calls += 1
        if {stage!r} == "first batch" or ({stage!r} == "middle" and Model.calls > 5):
            act()
        return scores(batch)
"""
STAGES = ["import", "construction", "first batch", "middle"]
PREPROCESSING = ("--classes", "cifar-10", "--size", 8, "--mean", "0.5,0.5,0.5", "--std", "0.5,0.5,0.5", "--batch", 4)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with forty images, a workspace and a good model."""
    (tmp_path / "good.py").write_text(GOOD)
    run_well("init", tmp_path / "W")
    images = noise(tmp_path / "images", 40)
    run_well("testsets", "add", "noise", images, "--classes", "cifar-10", "--layout", "index", "-w", tmp_path / "W")
    return tmp_path


@pytest.fixture(autouse=True)
def fresh_modules(monkeypatch):
    """The valid model of each folder is a separate module."""
    monkeypatch.delitem(sys.modules, "good", raising=False)


def command(folder: Path, *models: str) -> tuple[object, ...]:
    names = [f"python:{folder}/{model}" for model in models]
    return ("predict", *names, "-t", "noise", "-w", folder / "W", *PREPROCESSING)


def stored_models(folder: Path) -> list[str]:
    return [path.name.rpartition(":")[2] for path in sorted((folder / "W" / "predictions" / "noise").glob("*"))]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    ("action", "word"),
    [
        ("sys.exit(0)", "SystemExit: 0"),
        ("os._exit(0)", "SystemExit: os._exit(0)"),
        ("raise Strange('odd')", "Strange: odd"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise StopIteration", "StopIteration"),
        ("raise MemoryError", "emory"),
    ],
)
def test_predict_reports_whatever_a_model_raises(folder, action, word, stage):
    (folder / "bad.py").write_text(BAD.format(action=action, stage=stage))
    assert_one_line(run(*command(folder, "bad.py:Model")), "bad.py", word)
    assert stored_models(folder) == []


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("action", ["sys.exit(0)", "os._exit(0)"])
def test_predict_continues_with_the_next_model(folder, run_warm, action, stage):
    (folder / "bad.py").write_text(BAD.format(action=action, stage=stage))
    ran = run_warm(*command(folder, "bad.py:Model", "good.py:scores"), "--json")
    assert ran.code == 1 and ran.err.startswith("error: ") and ran.err.count("\n") == 1
    assert len(json.loads(ran.out)["pairs"]) == 1 and stored_models(folder) == ["scores"]


def test_predict_lets_forked_processes_exit(folder):
    fork = "child = os.fork(); child or os._exit(7); assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7"
    (folder / "bad.py").write_text(BAD.format(action=fork, stage="first batch"))
    run_well(*command(folder, "bad.py:Model"))
    assert os._exit is END_PROCESS


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ("scores(batch).astype(np.float64) * 1e300", "too large for single precision"),
        ("-1e300 * np.ones((len(batch), 10))", "too large for single precision"),
        ("scores(batch).astype(np.longdouble) * np.longdouble('1e4000')", "too large for single precision"),
        ("scores(batch).astype(complex)", "complex128"),
        ("scores(batch).astype(object)", "object"),
        ("(row for row in scores(batch))", "object"),
        ("scores(batch)[1:]", "shape"),
        ("np.where(np.arange(len(batch))[:, None] == 1, np.nan, scores(batch))", "NaN"),
        ("np.full((len(batch), 10), np.inf)", "infinity"),
        ("__import__('torch').ones((len(batch), 10), requires_grad=True)", "detach"),
    ],
)
def test_predict_rejects_outputs_that_cannot_be_stored(folder, expression, word):
    (folder / "bad.py").write_text(f"import numpy as np\nfrom good import scores\ndef f(batch): return {expression}\n")
    assert_one_line(run(*command(folder, "bad.py:f")), "bad.py:f", word)
    assert stored_models(folder) == []


@pytest.mark.parametrize(
    "expression",
    [
        "scores(batch).astype(np.longdouble)",
        "np.asfortranarray(scores(batch))",
        "np.repeat(scores(batch), 2, axis=1)[:, ::2]",
        "np.broadcast_to(scores(batch), (len(batch), 10))",
        "locked(scores(batch))",
        "scores(batch).tolist()",
        "emptied(batch, scores(batch.copy()))",
    ],
)
def test_predict_accepts_unusual_array_types(folder, expression):
    text = """
import numpy as np
from good import scores
def locked(array):
    array.flags.writeable = False
    return array
def emptied(batch, array):
    batch[:] = 0
    return array
"""
    (folder / "odd.py").write_text(f"{text}\ndef f(batch): return {expression}\n")
    assert run_well(*command(folder, "odd.py:f", "good.py:scores"), "--keep", "scores").err == ""
    tables = [np.load(path) for path in (folder / "W").glob("predictions/noise/*/scores.npy")]
    np.testing.assert_array_equal(*tables)


def test_predict_keeps_scores_finite_in_the_store(folder):
    """The largest finite scores pass; nothing infinite is stored."""
    (folder / "edge.py").write_text("import numpy as np\ndef f(b): return np.tile(np.arange(10) * 3e37, (len(b), 1))\n")
    run_well(*command(folder, "edge.py:f"))
    (table,) = (folder / "W").glob("predictions/noise/*/topk.parquet")
    assert np.isfinite(pq.read_table(table)["scores"].combine_chunks().flatten().to_numpy()).all()


@pytest.mark.parametrize(
    ("action", "stage"),
    [
        ("print('chatter')", "import"),
        ("os.write(1, b'chatter')", "first batch"),
        ("sys.stdout.close()", "middle"),
        ("sys.stderr.close()", "construction"),
        ("Model.calls == 6 and os.close(1)", "middle"),
        ("Model.calls == 6 and os.close(2)", "middle"),
        ("sys.setrecursionlimit(80)", "import"),
        ("sys.setrecursionlimit(80)", "first batch"),
        ("np.seterr(all='raise')", "import"),
        ("np.seterr(all='raise')", "middle"),
        ("warnings.simplefilter('error')", "import"),
        ("warnings.simplefilter('error')", "middle"),
        ("os.fork() or os._exit(0)", "middle"),
        ("os.fork()", "import"),
        ("os.fork()", "middle"),
        ("os.fork() or sys.exit(0)", "construction"),
        ("os.fork() or 1 / 0", "middle"),
    ],
)
def test_predict_survives_models_that_change_the_process(folder, run_warm, action, stage):
    (folder / "bad.py").write_text(BAD.format(action=action, stage=stage))
    ran = run_warm(*command(folder, "bad.py:Model", "good.py:scores"), "--json", "--keep", "scores")
    assert ran.code == 0, ran.err
    assert [pair["examples"] for pair in json.loads(ran.out)["pairs"]] == [40, 40]
    tables = [np.load(path) for path in (folder / "W").glob("predictions/noise/*/scores.npy")]
    np.testing.assert_array_equal(*tables)


def test_predict_prints_the_error_of_a_model_that_closed_standard_error(folder):
    (folder / "bad.py").write_text(BAD.format(action="os.close(2); 1 / 0", stage="first batch"))
    ran = run_process(*command(folder, "bad.py:Model"))
    assert_one_line(ran, "ZeroDivisionError")


def test_predict_writes_to_a_relative_workspace_after_a_change_of_folder(folder, run_warm):
    (folder / "bad.py").write_text(BAD.format(action="os.chdir('/')", stage="import"))
    models = (f"python:{folder}/bad.py:Model", "python:good.py:scores")
    ran = run_warm("predict", *models, "-t", "noise", "-w", "W", *PREPROCESSING, cwd=folder)
    assert ran.code == 0, ran.err
    assert len(stored_models(folder)) == 2


def test_predict_distinguishes_control_c_from_a_raised_interrupt(folder):
    """A real Control-C ends the run with 130, even if model code catches and raises it again."""
    text = """
import threading
from pathlib import Path
from good import scores as plain
calls = 0
def scores(batch):
    global calls
    calls += 1
    if calls > 5:
        Path(__file__).with_name("ready").touch()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            raise KeyboardInterrupt("by the model")
    return plain(batch)
"""
    (folder / "slow.py").write_text(text)
    arguments = [str(part) for part in (EXECUTABLE, *command(folder, "slow.py:scores"))]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until((folder / "ready").exists, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANG_LIMIT)
    assert (process.returncode, out) == (130, "") and err.startswith("interrupted: ")


def test_predict_halves_the_batch_if_memory_is_short(folder):
    text = """
from good import scores
def f(batch):
    if len(batch) > 1:
        raise MemoryError
    return scores(batch)
"""
    (folder / "large.py").write_text(text)
    run_well(*command(folder, "large.py:f"))
