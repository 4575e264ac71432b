"""Other people's code is contained: whatever it raises or changes does not affect our own code."""

import inspect
import os
import signal
import sys
import threading
import warnings

import numpy as np
import pytest

from regrade.core import InputError
from regrade.models import OutOfMemory
from regrade.models.failures import Uncaught, contained, is_control_c, loading, running, tracking_control_c


class Strange(BaseException):
    """An error that is not an Exception."""


@pytest.mark.parametrize("error", [SystemExit(0), GeneratorExit(), Strange("odd"), SystemExit()])
def test_contained_turns_everything_into_an_exception(error):
    with pytest.raises(Uncaught, match=type(error).__name__), contained():
        raise error


@pytest.mark.parametrize("error", [ValueError("x"), StopIteration(), OutOfMemory(), InputError("x")])
def test_contained_leaves_exceptions_as_they_are(error):
    with pytest.raises(type(error)) as caught, contained():
        raise error
    assert caught.value is error


def test_loading_and_running_report_errors_that_would_end_the_program():
    with pytest.raises(InputError, match=r"^m cannot be loaded: SystemExit: 0$"), loading("m cannot be loaded"):
        raise SystemExit(0)
    with pytest.raises(InputError, match=r"^m failed on a batch of shape \(2,\): Strange: odd$"), running("m", (2,)):
        raise Strange("odd")


def test_contained_restores_the_error_state_of_numpy():
    before = np.geterr()
    with contained():
        np.seterr(all="raise")
    assert np.geterr() == before


def test_contained_removes_filters_that_make_warnings_errors_and_keeps_others():
    with warnings.catch_warnings():
        warnings.resetwarnings()
        with contained():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message="kept")
        assert [entry[0] for entry in warnings.filters] == ["ignore"]
        warnings.simplefilter("error")
        with contained():
            warnings.filterwarnings("error", message="new")
        assert warnings.filters[0][:2] == ("error", None)


@pytest.mark.parametrize(
    ("ending", "code"), [(None, 0), (SystemExit(5), 5), (SystemExit(), 0), (SystemExit("text"), 1), (ValueError(), 1)]
)
def test_contained_ends_a_process_that_was_forked_inside(ending, code):
    reader, writer = os.pipe()
    with contained():
        child = os.fork()
        if not child and ending is not None:
            raise ending
    os.write(writer, str(os.getpid()).encode() + b"\n")  # only the parent gets here
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code
    assert os.read(reader, 1000) == f"{os.getpid()}\n".encode()


class TestControlC:
    def test_interrupt_counts_as_control_c_if_untracked(self):
        with pytest.raises(KeyboardInterrupt), contained():
            raise KeyboardInterrupt

    def test_interrupt_without_a_signal_is_the_models_own(self):
        with tracking_control_c(), pytest.raises(Uncaught, match="KeyboardInterrupt"), contained():
            raise KeyboardInterrupt

    def test_signal_is_control_c(self):
        import signal

        with tracking_control_c(), pytest.raises(KeyboardInterrupt), contained():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_interrupt_in_another_thread_is_never_control_c(self):
        seen = []
        thread = threading.Thread(target=lambda: seen.append(is_control_c(KeyboardInterrupt())))
        thread.start()
        thread.join()
        assert seen == [False]


def test_contained_restores_the_umask():
    before = os.umask(0o022)
    try:
        with contained():
            os.umask(0o777)
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_contained_restores_the_recursion_limit():
    before = sys.getrecursionlimit()

    def deeper(steps: int) -> None:
        if steps:
            deeper(steps - 1)
        else:
            sys.setrecursionlimit(len(inspect.stack()) + 40)

    with contained():
        deeper(30)
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("timer", [signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF])
def test_contained_stops_timers_and_restores_the_handler_of_alarms(timer):
    handler = signal.getsignal(signal.SIGALRM)
    with contained():
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(timer, 1000)
    assert signal.getitimer(timer) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) is handler


def test_contained_leaves_a_timer_that_was_running():
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with contained():
            pass
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
