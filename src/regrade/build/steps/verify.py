"""regrade build verify: recompute everything about a released test set from its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regrade.build.release_check import CheckOutcome, ReleaseCheck, check_release
from regrade.core import Column, Table, Tabular
from regrade.studies.study import Study, StudyOptions, option


@dataclass(frozen=True)
class VerifyOptions(StudyOptions):
    """The folder."""

    folder: Path = option("Folder of the release.", is_argument=True, metavar="FOLDER")


@dataclass(frozen=True, repr=False)
class VerifiedRelease(Tabular):
    """What was verified, what failed, and what cannot be verified from the files."""

    folder: str
    checks: tuple[ReleaseCheck, ...]

    @property
    def sound(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[ReleaseCheck, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.outcome is CheckOutcome.FAILED)

    def json_fields(self) -> dict[str, object]:
        """The fields, and whether no check failed."""
        return {"sound": self.sound, **super().json_fields()}

    def table(self) -> Table:
        """One row per check, failures first."""
        columns = (Column("subject", "what"), Column("outcome", "outcome"), Column("detail", "detail"))
        ordered = sorted(self.checks, key=lambda check: check.outcome is not CheckOutcome.FAILED)
        rows = tuple((check.subject, check.outcome.value, check.detail) for check in ordered)
        return Table(f"{self.folder}: {'sound' if self.sound else 'not sound'}", columns, rows)


def run(_: None, options: VerifyOptions) -> VerifiedRelease:
    """Recompute checksums, frequencies, class balance, the draw and the texts of a released test set."""
    return VerifiedRelease(str(options.folder), check_release(Path(options.folder)))


BUILD_VERIFY = Study(
    name="verify",
    question="Does a released test set follow from its answers?",
    summary="Recompute checksums, frequencies and the draw of a released test set from its files; needs no workspace.",
    options=VerifyOptions,
    result=VerifiedRelease,
    run=run,
    in_workspace=False,
    sound=lambda result: result.sound,
)
