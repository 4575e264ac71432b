"""The command line: `regrade COMMAND --help` is enough to use a command."""

from regrade.cli.app import main

__all__ = ["main"]
