"""The demonstration: real data that ships with the dependencies, from training to the finished grade."""

from regrade.demo.story import run_demo

__all__ = ["run_demo"]
