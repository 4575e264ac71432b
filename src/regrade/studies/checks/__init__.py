"""Methodology checks: numbered pitfalls of an evaluation, each found, passed or not applicable."""
