"""The command line: `regrade COMMAND --help` is enough to use a command."""

import sys

from regrade.cli.interrupts import INTERRUPTED, exiting_at_once

__all__ = ["main"]


def main() -> None:
    """Run a command; Control-C ends it without a traceback, also during imports."""
    with exiting_at_once():
        from regrade.cli.app import main as run
    try:
        run()
    except KeyboardInterrupt:  # between the imports and the command
        sys.exit(INTERRUPTED)
