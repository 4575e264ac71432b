"""Fixtures: workspaces with published predictions, and preloaded processes."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from running import run_well
from warm_process import WarmProcess


@pytest.fixture(scope="session")
def pack(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of all 67 models on the ImageNet validation images, with ReaL labels; read-only."""
    workspace = tmp_path_factory.mktemp("pack") / "W"
    predictions = published / "recht2019" / "imagenet-val.top5.parquet"
    run_well("init", workspace)
    done = run_well(
        "import", "predictions", predictions, "--test-set", "imagenet-val", "--classes", "imagenet-1k", "-w", workspace
    )
    assert "models imported: 67" in done.err
    labels = ("import", "labels", published / "real" / "real.json", "--format", "real")
    run_well(*labels, "--test-set", "imagenet-val", "--name", "real", "-w", workspace)
    return workspace


@pytest.fixture(scope="session")
def run_warm() -> Iterator[WarmProcess]:
    """Runs commands in forked processes with all modules loaded."""
    with closing(WarmProcess()) as warm:
        yield warm
