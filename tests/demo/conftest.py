"""The demo, run once for all tests."""

import pytest
from built_once import built_once
from running import run


@pytest.fixture(scope="session")
def shown(tmp_path_factory):
    """The workspace of the demo, and what the command printed."""

    def run_demo(folder):
        return folder / "demo", run("demo", "-w", folder / "demo")

    return built_once(tmp_path_factory, "demo", run_demo)
