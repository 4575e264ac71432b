"""The figures of revisions: how many images each one added, and how many had to be reviewed."""

from __future__ import annotations

from collections.abc import Mapping

from regrade.core import UndefinedError
from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, layered
from regrade.display.style import COLORS

_WIDTH, _HEIGHT = 460, 240
_TICKS = 8
_POINTS = 80  # the most revisions that are drawn with a point each


def revision_figure(build: str, added: Mapping[int, int], to_review: Mapping[int, int]) -> Figure:
    """The convergence curve of a build: the number of images that each revision after the first added.

    ``to_review`` is the number of images that had to be reviewed when a revision was drawn; empty without a review.
    """
    if not added:
        raise UndefinedError(f"build {build} has one revision: a convergence curve needs two")
    last = max(added)
    title = f"Revision {last} of {build} added {amount(added[last], 'image')}"
    description = f"{title}. Added per revision: {_counts(added)}."
    if to_review:
        description += f" To review: {_counts(to_review)}."
    curves = {"added": added, **({"to review": to_review} if to_review else {})}
    return Figure(f"revisions of {build}", description, _chart(curves, title, "images"))


def history_figure(added: Mapping[str, Mapping[int, int]]) -> Figure:
    """The convergence curves of several sets, by their names."""
    if not any(added.values()):
        raise UndefinedError("no set has two revisions: a convergence curve needs two")
    curves = {name: own for name, own in added.items() if own}
    last = ", ".join(f"{own[max(own)]} of {name}" for name, own in curves.items())
    title = f"Images added by the last revision: {last}"
    lists = " ".join(f"{name}: {_counts(own)}." for name, own in added.items())
    return Figure("revisions", f"{title}. Added per revision: {lists}", _chart(curves, title, "images added"))


def _counts(curve: Mapping[int, int]) -> str:
    return ", ".join(map(str, curve.values()))


def _chart(curves: Mapping[str, Mapping[int, int]], title: str, counted: str) -> altair.LayerChart:
    """A line per curve, by name; a single one needs no legend."""
    subtitle = "Images of each revision that the one before did not have; the review ends when there are none."
    legend = altair.Legend(title=None, orient="top-right") if len(curves) > 1 else None
    scale = altair.Scale(domain=list(curves), range=list(COLORS[: len(curves)]))
    first, last = (pick(map(pick, curves.values())) for pick in (min, max))
    ticks = list(range(first, last + 1, max(1, (last - first) // _TICKS)))
    base = altair.Chart().encode(
        x=altair.X("revision:Q", title="revision", axis=altair.Axis(format="d", values=ticks)),
        y=altair.Y("images:Q", title=counted, axis=altair.Axis(tickMinStep=1)),
        color=altair.Color("curve:N", scale=scale, legend=legend),
        tooltip=["curve:N", "revision:Q", "images:Q"],
    )
    marks = [base.mark_line()]
    if max(map(len, curves.values())) <= _POINTS:
        marks.append(base.mark_point(filled=True, opacity=1, size=36))
    rows = [
        {"curve": name, "revision": number, "images": count}
        for name, curve in curves.items()
        for number, count in curve.items()
    ]
    return layered(*marks).properties(
        data=inline(rows), width=_WIDTH, height=_HEIGHT, title=heading(title, subtitle, width=_WIDTH)
    )
