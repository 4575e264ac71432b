"""The command line as a process of its own that starts at once: a copy of a process that has loaded regrade already.

What a command does to its process, to its files and to its streams is as real as with the executable; what loading
takes is saved. Tests of how a command starts use the executable itself.
"""

import json
import os
import selectors
import socket
import subprocess
import sys
from pathlib import Path

from running import HANG_LIMIT, Ran

_COPIED = """
import gc, json, os, signal, socket, sys
import regrade.cli.app, regrade.workspace

def requested(line):
    "Wait for requests; each is returned in a process of its own, for which another waits."
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
    """Runs commands as processes of their own, also several at the same time; close it in the end."""

    def __init__(self) -> None:
        self._line, other_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-P", "-c", _COPIED, str(other_end.fileno())]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # its own streams are pipes, as those of the commands are
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
    """All that is written to pipes until no process holds their other ends."""
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
