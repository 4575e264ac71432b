"""The steps of a build as methods of the workspace's ``build``, and as commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from regrade.build.steps.answers import BUILD_ANSWERS
from regrade.build.steps.check import BUILD_CHECK
from regrade.build.steps.clean import BUILD_CLEAN
from regrade.build.steps.compare import BUILD_COMPARE
from regrade.build.steps.export import BUILD_EXPORT
from regrade.build.steps.forecast import BUILD_FORECAST
from regrade.build.steps.freeze import BUILD_FREEZE
from regrade.build.steps.frequencies import BUILD_FREQUENCIES
from regrade.build.steps.history import BUILD_HISTORY
from regrade.build.steps.open import BUILD_OPEN
from regrade.build.steps.pool import BUILD_POOL
from regrade.build.steps.queries import BUILD_QUERIES
from regrade.build.steps.review import BUILD_REVIEW
from regrade.build.steps.revisions import BUILD_REVISIONS
from regrade.build.steps.sample import BUILD_SAMPLE
from regrade.build.steps.simulate import BUILD_SIMULATE
from regrade.build.steps.tasks import BUILD_TASKS
from regrade.build.steps.verify import BUILD_VERIFY
from regrade.build.steps.workers import BUILD_WORKERS
from regrade.store import Store
from regrade.studies.methods import studies_of, study_method

if TYPE_CHECKING:
    from regrade.ledger import Ledger


class Builds:
    """Building a new test set: selection tasks, their export, answers of workers, frequencies, and samples.

    ``open_ledger`` returns the ledger of votes, for the steps that ask people in the browser.
    """

    def __init__(self, store: Store, open_ledger: Callable[[], Ledger]) -> None:
        self.store = store
        self._open_ledger = open_ledger

    @property
    def ledger(self) -> Ledger:
        """The ledger of votes, for writing."""
        return self._open_ledger()

    queries = study_method(BUILD_QUERIES)
    pool = study_method(BUILD_POOL)
    compare = study_method(BUILD_COMPARE)
    tasks = study_method(BUILD_TASKS)
    open = study_method(BUILD_OPEN, data=lambda builds: builds)
    workers = study_method(BUILD_WORKERS, data=lambda builds: builds)
    export = study_method(BUILD_EXPORT)
    answers = study_method(BUILD_ANSWERS)
    frequencies = study_method(BUILD_FREQUENCIES)
    forecast = study_method(BUILD_FORECAST)
    sample = study_method(BUILD_SAMPLE)
    clean = study_method(BUILD_CLEAN, data=lambda builds: builds)
    review = study_method(BUILD_REVIEW, data=lambda builds: builds)
    revisions = study_method(BUILD_REVISIONS)
    check = study_method(BUILD_CHECK)
    freeze = study_method(BUILD_FREEZE)
    verify = study_method(BUILD_VERIFY)
    simulate = study_method(BUILD_SIMULATE)
    history = study_method(BUILD_HISTORY)


BUILD_STEPS = studies_of(Builds)
"""The steps, in the order of a build."""
