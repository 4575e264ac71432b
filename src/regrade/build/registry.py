"""The steps of a build as methods of the workspace's ``build``, and as commands."""

from __future__ import annotations

from regrade.build.steps.answers import BUILD_ANSWERS
from regrade.build.steps.export import BUILD_EXPORT
from regrade.build.steps.forecast import BUILD_FORECAST
from regrade.build.steps.freeze import BUILD_FREEZE
from regrade.build.steps.frequencies import BUILD_FREQUENCIES
from regrade.build.steps.pool import BUILD_POOL
from regrade.build.steps.queries import BUILD_QUERIES
from regrade.build.steps.revisions import BUILD_REVISIONS
from regrade.build.steps.sample import BUILD_SAMPLE
from regrade.build.steps.simulate import BUILD_SIMULATE
from regrade.build.steps.tasks import BUILD_TASKS
from regrade.build.steps.verify import BUILD_VERIFY
from regrade.store import Store
from regrade.studies.registry import studies_of, study_method


class Builds:
    """Building a new test set: selection tasks, their export, answers of workers, frequencies, and samples."""

    def __init__(self, store: Store) -> None:
        self.store = store

    queries = study_method(BUILD_QUERIES)
    pool = study_method(BUILD_POOL)
    tasks = study_method(BUILD_TASKS)
    export = study_method(BUILD_EXPORT)
    answers = study_method(BUILD_ANSWERS)
    frequencies = study_method(BUILD_FREQUENCIES)
    forecast = study_method(BUILD_FORECAST)
    sample = study_method(BUILD_SAMPLE)
    revisions = study_method(BUILD_REVISIONS)
    freeze = study_method(BUILD_FREEZE)
    verify = study_method(BUILD_VERIFY)
    simulate = study_method(BUILD_SIMULATE)


BUILD_STEPS = studies_of(Builds)
"""The steps, in the order of a build."""
