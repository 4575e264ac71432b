"""`ProcessPerThread` returns the results of a function, even if its processes die."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from running import run_process

from regrade.executors import processes
from regrade.executors.processes import ProcessPerThread, started_ahead

FUNCTIONS = """
import os
import numpy as np

def pid(_):
    return os.getpid()

def loud(number):
    print("output of a library", flush=True)
    os.write(1, b"output of native code\\n")
    return number + 1

def ones(size):
    return np.ones(size, dtype=np.uint8)

class Counting:
    def __init__(self, weight=0):
        self.count = 0
        self.weight = bytes(weight)

    def __call__(self, _):
        self.count += 1
        return self.count

class Mortal:
    "Dies in any other process than its own, after a few calls."
    def __init__(self, after):
        self.home, self.left = os.getpid(), after

    def __call__(self, number):
        if os.getpid() != self.home:
            self.left -= 1
            if self.left < 0:
                os._exit(9)
        return number, os.getpid()

def refuse(number):
    raise ValueError(f"{number} is too many")
"""


@pytest.fixture
def functions(tmp_path, monkeypatch):
    """A module that other processes can import too."""
    (tmp_path / "helper_functions.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    import helper_functions

    yield helper_functions
    del sys.modules["helper_functions"]


def test_each_thread_has_its_own_process(functions):
    together = threading.Barrier(3)

    def call_twice(_):
        first = helpers(0)
        together.wait(30)
        return first, helpers(0)

    with ProcessPerThread(functions.pid) as helpers, ThreadPoolExecutor(3) as pool:
        pairs = list(pool.map(call_twice, range(3)))
    assert all(first == second for first, second in pairs)
    assert len({os.getpid(), *(first for first, _ in pairs)}) == 4


def test_function_is_sent_once(functions):
    with ProcessPerThread(functions.Counting()) as helpers:
        assert [helpers(0) for _ in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize("size", [0, 1, 10_000_000])
def test_results_may_have_any_size(functions, size):
    with ProcessPerThread(functions.ones) as helpers:
        np.testing.assert_array_equal(helpers(size), np.ones(size, np.uint8))


def test_function_may_have_any_size(functions):
    with ProcessPerThread(functions.Counting(5_000_000)) as helpers:
        assert [helpers(0), helpers(0)] == [1, 2]


def test_printed_output_does_not_mix_with_results(functions, capfd):
    with ProcessPerThread(functions.loud) as helpers:
        assert [helpers(number) for number in range(5)] == [1, 2, 3, 4, 5]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("after", [0, 1, 3])
def test_thread_calls_the_function_itself_after_its_process_died(functions, after):
    with ProcessPerThread(functions.Mortal(after)) as helpers:
        results = [helpers(number) for number in range(6)]
    assert [number for number, _ in results] == list(range(6))
    assert [process == os.getpid() for _, process in results] == [False] * after + [True] * (6 - after)


def test_thread_calls_the_function_itself_until_its_process_has_started(functions, monkeypatch):
    start = processes._started
    monkeypatch.setattr(processes, "_started", lambda: start("sys; sys.stdin.buffer.read(1)"))  # waits for input
    with ProcessPerThread(functions.pid, meanwhile=True) as helpers:
        assert [helpers(0), helpers(0)] == [os.getpid()] * 2
        (worker,) = helpers._all
        worker.process.stdin.write(b" ")
        worker.process.stdin.flush()
        worker.ready.wait(30)
        assert helpers(0) not in (os.getpid(), None)


@pytest.mark.parametrize("weight", [0, 5_000_000])
def test_thread_calls_the_function_itself_if_its_process_dies_at_once(functions, monkeypatch, weight):
    def exited_process():
        process = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.wait(30)
        return process

    monkeypatch.setattr(processes, "_started", exited_process)
    with ProcessPerThread(functions.Counting(weight)) as helpers:
        assert [helpers(0), helpers(0)] == [1, 2]


@pytest.mark.usefixtures("capfd")
def test_errors_of_the_function_are_raised_in_the_caller(functions):
    with ProcessPerThread(functions.refuse) as helpers:
        for _ in range(2):
            with pytest.raises(ValueError, match="7 is too many"):
                helpers(7)


def test_exit_ends_all_processes(functions):
    with ProcessPerThread(functions.pid) as helpers, ThreadPoolExecutor(2) as pool:
        list(pool.map(helpers, range(8)))
        assert 1 <= len(helpers._all) <= 2 and all(worker.process.poll() is None for worker in helpers._all)
    assert all(worker.process.returncode == 0 for worker in helpers._all)


def test_processes_that_were_started_ahead_are_used_first(functions):
    with started_ahead(2, "json"):
        ahead = [worker.process.pid for worker in processes._idle]
        with ProcessPerThread(functions.pid) as helpers:
            assert helpers(0) in ahead
            assert len(processes._idle) == 1
    assert processes._idle == []
    with pytest.raises(ProcessLookupError):
        os.kill(ahead[0], 0)


def test_no_process_starts_before_the_first_call(functions):
    with ProcessPerThread(functions.pid) as helpers:
        assert helpers._all == []


def test_report_command_draws_figures_in_processes(pets):
    pytest.importorskip("vl_convert")
    ran = run_process("report", "drawn", "-w", pets)
    assert ran.code == 0 and "Warning" not in ran.err, ran.err
    forms = {path.suffix for path in (pets / "reports" / "drawn" / "figures").iterdir() if path.stat().st_size}
    assert forms >= {".svg", ".png", ".pdf"}
