"""Run the command line as a user does, and inspect the results."""

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

HANG_LIMIT = 40
"""Seconds after which a command counts as hanging, even on a busy machine."""


@dataclass(frozen=True)
class Ran:
    """The exit code and the two streams of a command."""

    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def run(*arguments: object, out: io.StringIO | None = None) -> Ran:
    """Run a command in this process, through the entry point of the executable."""
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
    """Run a command that must succeed, with output to a terminal without colors."""
    with mock.patch.dict("os.environ", {"COLUMNS": str(columns), "LINES": "50", "TERM": "dumb"}):
        ran = run(*arguments, out=Terminal())
    assert ran.code == 0, ran.err
    return ran


def run_process(*arguments: object, **options) -> Ran:
    """Run the installed executable in a new process."""
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
    """Every file below a folder with its content hash; links, hidden folders and special files by name."""
    hashes = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file():
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif name.startswith(".") or not path.is_dir():
            hashes[name] = "present"
    return hashes


def assert_one_line(ran: Ran, *words: str, code: int = 1) -> None:
    """Assert an expected error: one line on standard error that contains these words, nothing on standard output."""
    assert ran.code == code, ran
    assert ran.out == ""
    assert ran.err.startswith("error: "), ran.err
    assert ran.err.endswith("\n") and ran.err.count("\n") == 1, ran.err
    for word in words:
        assert word in ran.err, ran.err
