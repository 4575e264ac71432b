"""The demo: from training on data that ships with dependencies to a finished report."""

from regrade.demo.pipeline import run_demo

__all__ = ["run_demo"]
