"""Commands that change several files, killed at any step: the workspace has the old state or the new one."""

import shutil
from pathlib import Path

import pytest

from benchmarks.fault_world import add_published_queues, make_every_file, read_every_file
from benchmarks.kill_scenarios import SCENARIOS, run_scenario, write_inputs
from benchmarks.kills import run_killed
from regrade.store import Store

STRIDE = 5
"""Only every fifth step is tried here; `python -m benchmarks faults` tries all."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("every")
    add_published_queues(make_every_file(folder))
    write_inputs(folder)
    return folder


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_command_leaves_the_old_state_or_the_new_one(template, tmp_path, name):
    old = read_every_file(Store.open(template / "W"))
    run_scenario(name, finished := Path(shutil.copytree(template / "W", tmp_path / "finished")), template)
    new = read_every_file(Store.open(finished))
    assert new != old
    outcomes, at = [], 0
    while True:
        root = Path(shutil.copytree(template / "W", tmp_path / "W"))
        through = run_killed(lambda root=root: run_scenario(name, root, template), at=at, below=root)
        state = read_every_file(Store.open(root))
        assert state in (old, new), at
        outcomes.append(state == new)
        assert sorted(path.name for path in root.iterdir() if path.name.startswith(".")) == []
        shutil.rmtree(root)
        if through:
            break
        at += STRIDE
    assert at >= 2 * STRIDE
    assert outcomes == sorted(outcomes) and not outcomes[0] and outcomes[-1]
