"""The replications of all papers, each computed once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from regrade.replicate import Replication, official_files, replicate


@pytest.fixture(scope="session")
def replication_of(published: Path) -> Callable[[str], Replication]:
    """A paper's replication, from the published data where it needs any."""

    @cache
    def computed(paper: str) -> Replication:
        return replicate(paper, published / paper if official_files(paper) else None)

    return computed
