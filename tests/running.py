"""Running the command line as a user does, and seeing what it left behind."""

import contextlib
import hashlib
import io
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from regrade.cli import main

EXECUTABLE = Path(sys.executable).parent / "regrade"

HANG_LIMIT = 600
"""Seconds after which a command is taken to hang: however busy the machine, none that works takes as long."""


@dataclass(frozen=True)
class Ran:
    """The exit code and the two streams of a command."""

    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    """A stream that says a person is watching."""

    def isatty(self) -> bool:
        return True


def run(*arguments: object, out: io.StringIO | None = None) -> Ran:
    """Run a command inside this process, by the entry point of the executable."""
    out, err = out or io.StringIO(), io.StringIO()
    argv = ["regrade", *(str(argument) for argument in arguments)]
    as_script = mock.patch.object(sys.modules["__main__"], "__package__", None)  # not as `python -m pytest`
    with (
        as_script,
        mock.patch.object(sys, "argv", argv),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Ran(code, out.getvalue(), err.getvalue())


def run_well(*arguments: object) -> Ran:
    """Run a command that must succeed."""
    ran = run(*arguments)
    assert ran.code == 0, ran.err
    return ran


def run_on_terminal(*arguments: object, columns: int = 200) -> Ran:
    """Run a command that must succeed, its result shown on a terminal without colors."""
    with mock.patch.dict("os.environ", {"COLUMNS": str(columns), "LINES": "50", "TERM": "dumb"}):
        ran = run(*arguments, out=Terminal())
    assert ran.code == 0, ran.err
    return ran


def run_process(*arguments: object, **options) -> Ran:
    """Run the installed executable as a process of its own."""
    command = [EXECUTABLE, *(str(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_LIMIT, check=False, **options)
    return Ran(done.returncode, done.stdout, done.stderr)


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    """Wait for a condition; a process that ends before it holds, or that hangs, fails the test."""
    deadline = time.monotonic() + HANG_LIMIT
    while not condition():
        assert process is None or process.poll() is None, "the process ended too early"
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.005)


def snapshot(folder: Path) -> dict[str, str]:
    """Every file below a folder with the hash of its content, and every link and odd thing by name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif name.startswith(".") or not path.is_dir():
            found[name] = "present"
    return found


def assert_one_line(ran: Ran, *words: str, code: int = 1) -> None:
    """An expected error: one line on standard error, nothing on standard output, these words in it."""
    assert ran.code == code, ran
    assert ran.out == ""
    assert ran.err.startswith("error: "), ran.err
    assert ran.err.endswith("\n") and ran.err.count("\n") == 1, ran.err
    for word in words:
        assert word in ran.err, ran.err
