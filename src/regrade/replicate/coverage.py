"""Which tables, figures and sections of a paper are covered by cells, and why the rest is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from regrade.replicate.printed import PrintedFigure, packaged_rows, printed_figures


@dataclass(frozen=True)
class CoveredPart:
    """A table, section or caption: how many figures it prints, how many have a cell, and why the rest have none.

    ``coverable`` names figures that published data would allow, ``not_coverable`` those that it does not, and
    ``no_result`` figures that are not results.
    """

    where: str
    printed: int
    from_data: int
    by_construction: int
    coverable: str
    not_coverable: str
    no_result: str


@dataclass(frozen=True)
class Coverage:
    """The coverage of a paper, part by part."""

    parts: tuple[CoveredPart, ...]

    def as_dict(self) -> list[dict[str, Any]]:
        """The coverage, ready for JSON."""
        return [asdict(part) for part in self.parts]

    def lines(self) -> tuple[str, ...]:
        """Four sentences: covered, not covered although data would allow, not coverable, and nothing to recompute."""
        covered = [_described(part) for part in self.parts if part.from_data or part.by_construction]
        return (
            f"covered: {'; '.join(covered) or 'nothing'}",
            self._reasons("not covered although data would allow", "coverable"),
            self._reasons("not coverable", "not_coverable"),
            self._reasons("nothing of its own to recompute", "no_result"),
        )

    def _reasons(self, label: str, field: str) -> str:
        reasons = [f"{part.where} ({getattr(part, field)})" for part in self.parts if getattr(part, field)]
        return f"{label}: {'; '.join(reasons) or 'nothing'}"


def coverage(paper: str, from_data: Iterable[PrintedFigure], by_construction: Iterable[PrintedFigure]) -> Coverage:
    """The coverage of a paper by the figures that have a cell, with the reasons in ``data/coverage.csv``."""
    listed = printed_figures(paper)
    data = {figure.place for figure in from_data} & listed.keys()
    construction = {figure.place for figure in by_construction} & listed.keys() - data
    printed_in, data_in, construction_in = (
        Counter(where for where, *_ in group) for group in (listed, data, construction)
    )
    reasons = {row["where"]: row for row in packaged_rows("coverage.csv") if row["paper"] == paper}
    return Coverage(
        tuple(
            CoveredPart(where, printed, data_in[where], construction_in[where], *_reasons(reasons.get(where, {})))
            for where, printed in printed_in.items()
        )
    )


def _reasons(row: Mapping[str, str]) -> tuple[str, str, str]:
    return row.get("coverable", ""), row.get("not_coverable", ""), row.get("no_result", "")


def _described(part: CoveredPart) -> str:
    counts = ((part.from_data, "from data"), (part.by_construction, "by construction"))
    covered = " and ".join(f"{count} {how}" for count, how in counts if count)
    return f"{part.where} ({covered}, of {part.printed})"
