"""Results of the studies of this package, which draw themselves."""

from __future__ import annotations

from typing import Any

from regrade.core import Tabular


class StudyResult(Tabular):
    """A result with the figure of its study, also if only its analysis has been imported, or if it was unpickled."""

    def figure(self) -> Any:
        """The figure of the result, shown in a notebook and written with ``save``; raises if it has none."""
        if self._draw is None:
            from regrade.studies import registry  # noqa: F401 - the record of a study gives its results their figure
        return super().figure()
