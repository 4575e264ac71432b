"""The command line in new processes that start immediately: forks of a process that has already imported regrade.

A command affects its process, files and streams as with the executable, but saves the time of the import. Tests of
startup use the executable itself.
"""

import json
import os
import selectors
import socket
import subprocess
import sys
from pathlib import Path

from running import HANG_LIMIT, Ran

_SERVER = """
import gc, json, os, signal, socket, sys
import regrade.cli.app, regrade.workspace

def requested(line):
    "Wait for requests; each is returned in a forked process, whose exit code a second fork reports."
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, handles, *_ = socket.recv_fds(line, 1 << 20, 3)
        if not message:
            sys.exit()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            process = os.fork()
            if process == 0:
                line.close()
                os.close(handles[2])
                return json.loads(message), handles[:2]
            os.close(handles[0])
            os.close(handles[1])
            _, status = os.waitpid(process, 0)
            os.write(handles[2], str(os.waitstatus_to_exitcode(status)).encode())
            os._exit(0)
        for handle in handles:
            os.close(handle)

gc.collect()
gc.freeze()
request, streams = requested(socket.socket(fileno=int(sys.argv[1])))
for place, stream in enumerate(streams, 1):
    os.dup2(stream, place)
    os.close(stream)
os.chdir(request["cwd"])
os.environ.clear()
os.environ.update(request["environment"])
sys.argv = request["argv"]
exec(request["first"])
regrade.cli.main()
"""


class WarmProcess:
    """Runs commands in forked processes, also concurrently; call `close` at the end."""

    def __init__(self) -> None:
        self._line, other_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-P", "-c", _SERVER, str(other_end.fileno())]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # pipes, like the streams of the commands
            stderr=subprocess.PIPE,
            pass_fds=[other_end.fileno()],
        )
        other_end.close()

    def __call__(self, *arguments: object, first: str = "", cwd: Path | None = None) -> Ran:
        """Run a command; ``first`` is code that its process runs before it."""
        argv = ["regrade", *(str(argument) for argument in arguments)]
        request = {"argv": argv, "cwd": str(cwd or Path.cwd()), "environment": dict(os.environ), "first": first}
        pipes = [os.pipe() for _ in range(3)]
        socket.send_fds(self._line, [json.dumps(request).encode()], [written for _, written in pipes])
        for _, written in pipes:
            os.close(written)
        out, err, code = _read_to_the_end([read for read, _ in pipes])
        return Ran(int(code), out.decode(), err.decode())

    def close(self) -> None:
        self._line.close()
        self._process.communicate(timeout=HANG_LIMIT)


def _read_to_the_end(handles: list[int]) -> list[bytes]:
    """Read pipes until all writers have closed them."""
    content = dict.fromkeys(handles, b"")
    with selectors.DefaultSelector() as selector:
        for handle in handles:
            selector.register(handle, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(timeout=HANG_LIMIT)
            assert ready, "the command hangs"
            for key, _ in ready:
                more = os.read(key.fd, 1 << 16)
                content[key.fd] += more
                if not more:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return list(content.values())
