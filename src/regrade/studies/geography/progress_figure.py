"""Figures of progress: points gained on each benchmark per point on the original test set (Richards et al. 2023)."""

from __future__ import annotations

from typing import Any

from regrade.display.lazy_altair import altair
from regrade.display.parts import inline, layered, name_axis, name_step, panel_heading
from regrade.display.style import COLORS, GRAY, INK, SHAPES, WIDTH
from regrade.display.wording import plain
from regrade.studies.geography.progress import BenchmarkKind, Progress, ProgressRate

_WIDE = WIDTH - 150
_MOST = 24  # groups with a row of their own, those with the lowest and the highest rates
_DIGITS = 4
_KINDS = (BenchmarkKind.STANDARD, BenchmarkKind.GEOGRAPHIC, BenchmarkKind.GROUP)


def progress_panel(progress: Progress) -> altair.LayerChart:
    """The progress rate of each benchmark and of each group with its interval; the line is one point per point."""
    rates = [
        *progress.of(BenchmarkKind.STANDARD), *progress.of(BenchmarkKind.GEOGRAPHIC), *_extreme_groups(progress)
    ]  # fmt: skip
    rows = [
        {
            "benchmark": rate.benchmark,
            "kind": rate.kind.value,
            "value": round(rate.rate.value, _DIGITS),
            "low": round(rate.rate.low, _DIGITS),
            "high": round(rate.rate.high, _DIGITS),
            "shown": plain(rate.rate),
            "fit": f"{rate.line.r_squared:.2f}",
        }
        for rate in rates
    ]
    names = [rate.benchmark for rate in rates]
    y = altair.Y("benchmark:N", sort=names, axis=name_axis(len(names), labelLimit=140))
    title = f"points per point on {progress.original}"
    x: dict[str, Any] = {"scale": altair.Scale(zero=False), "axis": altair.Axis(title=title, tickCount=6)}
    tooltip = [
        altair.Tooltip("benchmark:N"), altair.Tooltip("kind:N"), altair.Tooltip("shown:N", title="progress rate"),
        altair.Tooltip("fit:N", title="R²"),
    ]  # fmt: skip
    color, shape = _by_kind()
    base = altair.Chart(inline(rows)).encode(y=y, color=color, tooltip=tooltip)
    equal = altair.Chart(inline([{"equal": 1}])).mark_rule(color=INK, strokeWidth=1, strokeDash=[3, 3])
    chart = layered(
        equal.encode(x=altair.X("equal:Q", **x)),
        base.mark_rule(strokeWidth=1.5).encode(x=altair.X("low:Q", **x), x2="high:Q"),
        base.mark_point(size=60).encode(x=altair.X("value:Q", **x), shape=shape),
    )
    heading = panel_heading("Progress rates: gain per point of accuracy on the original", *_gaps(progress))
    return chart.properties(width=_WIDE, height=name_step(len(names)) * len(names), title=heading)


def _extreme_groups(progress: Progress) -> list[ProgressRate]:
    """The groups by their rate, the highest first; of very many only those at both ends."""
    groups = sorted(progress.of(BenchmarkKind.GROUP), key=lambda rate: -rate.rate.value)
    if len(groups) <= _MOST:
        return groups
    return [*groups[: _MOST // 2], *groups[-_MOST // 2 :]]


def _gaps(progress: Progress) -> tuple[str, ...]:
    """The progress gaps in words."""
    dashed = "Dashed: one point per point."
    if not progress.gaps:
        return (dashed,)
    gap = progress.gaps[-1]  # that to the mean of the standard sets, if there are several
    return (f"{dashed} Gap, {gap.standard} minus the geographic set: {plain(gap.difference)}; ratio {gap.ratio}.",)


def _by_kind() -> tuple[altair.Color, altair.Shape]:
    names = [kind.value for kind in _KINDS]
    colors, shapes = (
        altair.Scale(domain=names, range=list(palette))
        for palette in ((COLORS[0], COLORS[1], GRAY), SHAPES[: len(_KINDS)])
    )
    legend = altair.Legend(title=None, orient="top", symbolOpacity=1)
    return (
        altair.Color("kind:N", sort=names, scale=colors, legend=legend),
        altair.Shape("kind:N", sort=names, scale=shapes, legend=legend),
    )
