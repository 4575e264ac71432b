"""The files of a build's grids in the browser: their settings, and the workers that were excluded, by version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa

from regrade.build.tasks import GridTask, Tile, TileRole
from regrade.core import InputError
from regrade.store.checked_files import PLACE, read_parquet, write_parquet
from regrade.store.collection import Collection
from regrade.store.layout import place_of

DEFAULT_INSTRUCTIONS = (
    "Select every image that contains the object, also if it is small, partly hidden, or one of several objects. "
    "Do not select drawings, paintings or toys of it."
)
"""What workers are told if the maintainer says nothing else."""

FEWEST_TO_WARN = 12
"""Controls that a worker has answered before a warning."""

_SETTINGS, _EXCLUDED = "grids-", "excluded-workers-"
_CONSENT_DIGITS = 12


@dataclass(frozen=True)
class GridOptions:
    """How the tasks of a build are given to workers in the browser.

    ``qualification`` tasks have to be passed first, in one of ``tries`` attempts. The gate warns below ``warn_below``,
    and pauses or excludes workers whose accuracy on controls is proven to be below ``lowest``. ``per_worker`` is the
    most tasks that one person may do, None for no limit. ``size`` is that of every tile in pixels.
    """

    qualification: int = 1
    tries: int = 2
    pass_accuracy: float = 0.8
    lowest: float = 0.8
    warn_below: float = 0.85
    per_worker: int | None = None
    consent: str = ""
    instructions: str = DEFAULT_INSTRUCTIONS
    contact: str = ""
    size: int = 400

    def __post_init__(self) -> None:
        if not self.lowest <= self.warn_below:
            raise InputError(
                f"workers must be warned before they are paused: --warn-below {100 * self.warn_below:g} is less than "
                f"--min-control-accuracy {100 * self.lowest:g}"
            )


@dataclass(frozen=True)
class GridSettings:
    """A version of the settings; ``tasks`` are the qualification tasks of all tries, in their order."""

    build: str
    number: int
    options: GridOptions
    tasks: tuple[GridTask, ...] = field(default=(), repr=False)

    @property
    def digest(self) -> str:
        """A hash of the options and of every tile."""
        tiles = [[task.id, task.class_id, tile.image, tile.role.value] for task in self.tasks for tile in task.tiles]
        return _digest([asdict(self.options), tiles])

    @property
    def consent_digest(self) -> str:
        """A hash of the text to which workers agree; a new text needs a new agreement."""
        return _digest(self.options.consent)[:_CONSENT_DIGITS]

    def attempt(self, number: int) -> tuple[GridTask, ...]:
        """The tasks of an attempt at the qualification, counted from 0."""
        size = self.options.qualification
        return self.tasks[number * size : (number + 1) * size]


class SettingsCollection(Collection[GridSettings, None]):
    """The versions of the settings of builds, numbered from 0; the newest counts."""

    kind = "builds"

    def names_of(self, settings: GridSettings, _context: None) -> tuple[str, ...]:
        """The build and the number."""
        return settings.build, f"{_SETTINGS}{settings.number:04}"

    def refusal(self, settings: GridSettings, _context: None) -> str:
        """The error for other settings with the same number."""
        return f"build {settings.build} has other settings {settings.number} already"

    def write(self, settings: GridSettings, _context: None, file: BinaryIO) -> None:
        """Write one row per tile of the qualification."""
        rows = [(task, tile) for task in settings.tasks for tile in task.tiles]
        table = pa.table(
            {
                "task": pa.array([task.id for task, _ in rows], pa.string()),
                "class": pa.array([task.class_id for task, _ in rows], pa.string()),
                "image": pa.array([tile.image for _, tile in rows], pa.string()),
                "role": pa.array([tile.role.value for _, tile in rows], pa.string()),
            }
        )
        meta = {
            PLACE: place_of(self.kind, *self.names_of(settings, None)),
            "options": asdict(settings.options),
            "digest": settings.digest,
        }
        write_parquet(table, meta, file)

    def newest(self, build: str) -> GridSettings | None:
        """The settings that count, or None if the grids of a build were never opened."""
        number = _newest(self.names(build), _SETTINGS)
        if number is None:
            return None
        table, meta = read_parquet(self.path(build, f"{_SETTINGS}{number:04}"))
        tiles: dict[tuple[str, str], list[Tile]] = {}
        for row in table.to_pylist():
            tiles.setdefault((row["task"], row["class"]), []).append(Tile(row["image"], TileRole(row["role"])))
        tasks = tuple(GridTask(task, class_id, tuple(own)) for (task, class_id), own in tiles.items())
        return GridSettings(build, number, GridOptions(**meta["options"]), tasks)


@dataclass(frozen=True)
class ExcludedWorkers:
    """A version of the workers whose answers do not count, with the reason of each."""

    build: str
    number: int
    reasons: Mapping[str, str]

    @property
    def digest(self) -> str:
        """A hash of names and reasons."""
        return _digest(sorted(self.reasons.items()))


class ExclusionCollection(Collection[ExcludedWorkers, None]):
    """The versions of the excluded workers of builds, numbered from 0; the newest counts."""

    kind = "builds"

    def names_of(self, excluded: ExcludedWorkers, _context: None) -> tuple[str, ...]:
        """The build and the number."""
        return excluded.build, f"{_EXCLUDED}{excluded.number:04}"

    def refusal(self, excluded: ExcludedWorkers, _context: None) -> str:
        """The error for other workers with the same number."""
        return f"build {excluded.build} has another list {excluded.number} of excluded workers already"

    def write(self, excluded: ExcludedWorkers, _context: None, file: BinaryIO) -> None:
        """Write one row per worker."""
        rows = sorted(excluded.reasons.items())
        table = pa.table(
            {
                "worker": pa.array([worker for worker, _ in rows], pa.string()),
                "reason": pa.array([reason for _, reason in rows], pa.string()),
            }
        )
        write_parquet(
            table, {PLACE: place_of(self.kind, *self.names_of(excluded, None)), "digest": excluded.digest}, file
        )

    def newest(self, build: str) -> ExcludedWorkers:
        """The list that counts; before the first, an empty one with the number -1."""
        number = _newest(self.names(build), _EXCLUDED)
        if number is None:
            return ExcludedWorkers(build, -1, {})
        rows = read_parquet(self.path(build, f"{_EXCLUDED}{number:04}"))[0].to_pylist()
        return ExcludedWorkers(build, number, {row["worker"]: row["reason"] for row in rows})


def _newest(names: tuple[str, ...], prefix: str) -> int | None:
    return max((int(name.removeprefix(prefix)) for name in names if name.startswith(prefix)), default=None)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
