"""The demonstration: real data that ships with the dependencies, from training to the finished grade."""

from regrade.demo.digits import Demo, run_demo

__all__ = ["Demo", "run_demo"]
