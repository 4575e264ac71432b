"""Calls in processes of their own: the same answers, and none is lost with a process."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from running import run_process

from regrade.executors import processes
from regrade.executors.processes import Helpers

FUNCTIONS = """
import os
import numpy as np

def pid(_):
    return os.getpid()

def loud(number):
    print("a word from a library", flush=True)
    os.write(1, b"another from further below\\n")
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
    "Dies in any other process than its own, once it has answered a few times."
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
    """A module that other processes find too."""
    (tmp_path / "helper_functions.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    import helper_functions

    yield helper_functions
    del sys.modules["helper_functions"]


def test_every_thread_has_a_process_of_its_own(functions):
    together = threading.Barrier(3)

    def two(_):
        first = helpers(0)
        together.wait(30)
        return first, helpers(0)

    with Helpers(functions.pid) as helpers, ThreadPoolExecutor(3) as pool:
        pairs = list(pool.map(two, range(3)))
    assert all(first == second for first, second in pairs)
    assert len({os.getpid(), *(first for first, _ in pairs)}) == 4


def test_the_function_is_sent_once(functions):
    with Helpers(functions.Counting()) as helpers:
        assert [helpers(0) for _ in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize("size", [0, 1, 10_000_000])
def test_answers_of_any_size(functions, size):
    with Helpers(functions.ones) as helpers:
        np.testing.assert_array_equal(helpers(size), np.ones(size, np.uint8))


def test_a_function_of_any_size(functions):
    with Helpers(functions.Counting(5_000_000)) as helpers:
        assert [helpers(0), helpers(0)] == [1, 2]


def test_what_is_printed_does_not_get_between_the_answers(functions, capfd):
    with Helpers(functions.loud) as helpers:
        assert [helpers(number) for number in range(5)] == [1, 2, 3, 4, 5]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_process_that_dies_is_replaced_by_the_thread_for_good(functions, after):
    with Helpers(functions.Mortal(after)) as helpers:
        given = [helpers(number) for number in range(6)]
    assert [number for number, _ in given] == list(range(6))
    assert [process == os.getpid() for _, process in given] == [False] * after + [True] * (6 - after)


@pytest.mark.parametrize("weight", [0, 5_000_000])
def test_one_that_dies_at_once_is_replaced_too(functions, monkeypatch, weight):
    def stillborn():
        process = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.wait(30)
        return process

    monkeypatch.setattr(processes, "_started", stillborn)
    with Helpers(functions.Counting(weight)) as helpers:
        assert [helpers(0), helpers(0)] == [1, 2]


@pytest.mark.usefixtures("capfd")
def test_what_the_function_raises_is_raised_here(functions):
    with Helpers(functions.refuse) as helpers:
        for _ in range(2):
            with pytest.raises(ValueError, match="7 is too many"):
                helpers(7)


def test_at_the_end_no_process_is_left(functions):
    with Helpers(functions.pid) as helpers, ThreadPoolExecutor(2) as pool:
        list(pool.map(helpers, range(8)))
        assert 1 <= len(helpers._all) <= 2 and all(process.poll() is None for process in helpers._all)
    assert all(process.returncode == 0 for process in helpers._all)


def test_none_is_started_before_it_is_needed(functions):
    with Helpers(functions.pid) as helpers:
        assert helpers._all == []


def test_report_command_draws_in_processes_of_its_own(pets):
    pytest.importorskip("vl_convert")
    ran = run_process("report", "drawn", "-w", pets)
    assert ran.code == 0 and "Warning" not in ran.err, ran.err
    forms = {path.suffix for path in (pets / "reports" / "drawn" / "figures").iterdir() if path.stat().st_size}
    assert forms >= {".svg", ".png", ".pdf"}
