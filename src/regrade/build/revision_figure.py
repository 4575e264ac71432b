"""The figure of revisions: how many images each one added."""

from __future__ import annotations

from collections.abc import Mapping

from regrade.core import UndefinedError
from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, layered
from regrade.display.style import COLORS

_WIDTH, _HEIGHT = 460, 240
_POINTS = 80  # the most revisions that are drawn with a point each


def revision_figure(build: str, added: Mapping[int, int]) -> Figure:
    """The convergence curve of a build, from the number of images that each revision after the first added."""
    if not added:
        raise UndefinedError(f"build {build} has one revision: a convergence curve needs two")
    last = max(added)
    title = f"Revision {last} of {build} added {amount(added[last], 'image')}"
    subtitle = "Images of each revision that the one before did not have; the review ends when there are none."
    base = altair.Chart().encode(
        x=altair.X("revision:Q", title="revision", axis=altair.Axis(format="d", tickMinStep=1)),
        y=altair.Y("added:Q", title="images added", axis=altair.Axis(tickMinStep=1)),
        tooltip=["revision:Q", "added:Q"],
    )
    marks = [base.mark_line(color=COLORS[0])]
    if len(added) <= _POINTS:
        marks.append(base.mark_point(color=COLORS[0], filled=True, opacity=1, size=36))
    rows = [{"revision": number, "added": count} for number, count in added.items()]
    chart = layered(*marks).properties(
        data=inline(rows), width=_WIDTH, height=_HEIGHT, title=heading(title, subtitle, width=_WIDTH)
    )
    counts = ", ".join(map(str, added.values()))
    return Figure(f"revisions of {build}", f"{title}. Added per revision: {counts}.", chart)
