"""Run a command and write its seconds, processor seconds and peak memory in bytes to a file.

A child inherits the peak memory of its parent, so this script imports almost nothing:

    python launch.py FIGURES.json COMMAND ARGUMENT ...
"""

import json
import os
import sys
import time

_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # see getrusage(2)

if __name__ == "__main__":
    start = time.perf_counter()
    process = os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    with open(sys.argv[1], "w", encoding="utf-8") as figures:  # noqa: PTH123 - pathlib would add memory
        json.dump([seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _MAXRSS_UNIT], figures)
    sys.exit(os.waitstatus_to_exitcode(status))
