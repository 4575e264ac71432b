"""The figure of confused pairs: the most frequent ones by name, and the long tail by rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, layered, name_axis, name_step, panel_heading
from regrade.display.style import COLORS, GRAY, INK
from regrade.studies.mistakes.confused_classes import PairTail
from regrade.studies.mistakes.result import Mistakes

_NAMED = 20  # pairs shown by name
_WIDTH = 340


def pair_figure(result: Mistakes) -> Figure | None:
    """Bars of the most confused pairs, and how often every pair is confused by its rank; None without a pair."""
    pairs = result.pairs
    if not len(pairs):
        return None
    chart = altair.vconcat(_named_pairs(pairs), _tail(pairs), spacing=28).properties(
        title=heading(_title(pairs), f"{_sources(pairs)} on {result.images_title} under {result.labels}. {_RULE}")
    )
    alt = f"{_title(pairs)}. The most frequent pairs as bars, and all pairs by rank."
    return Figure(f"confused classes on {result.test_set}", alt, chart)


_RULE = "A pair has no order, and a mistake counts for each right class of its image"


def _title(pairs: PairTail) -> str:
    single = pairs.frequencies.get(1, 0)
    total = f"{amount(len(pairs), 'pair')} of classes {'is' if len(pairs) == 1 else 'are'} confused"
    return f"{total}, {single:,} of them only once" if single else f"{total}, each more than once"


def _sources(pairs: PairTail) -> str:
    return f"Mistakes of {pairs.sources[0] if len(pairs.sources) == 1 else amount(len(pairs.sources), 'model')}"


def _named_pairs(pairs: PairTail) -> altair.LayerChart:
    rows: list[dict[str, Any]] = [
        {"pair": f"{pair.first_name} / {pair.second_name}", "key": f"{pair.first} {pair.second}", "count": pair.count,
         "models": pair.models, "shown": f"{pair.count:,}"}
        for pair in pairs.rows(_NAMED)
    ]  # fmt: skip
    keys = [row["key"] for row in rows]
    names = {row["key"]: row["pair"] for row in rows}
    labels = altair.Axis(**name_axis(len(rows), labelExpr=f"({_lookup(names)})[datum.value]", labelLimit=260).to_dict())
    tooltip = [
        altair.Tooltip("pair:N"),
        altair.Tooltip("count:Q", title="confused", format=","),
        altair.Tooltip("models:Q"),
    ]
    base = altair.Chart(inline(rows)).encode(y=altair.Y("key:N", sort=keys, axis=labels), tooltip=tooltip)
    x = altair.X("count:Q", axis=altair.Axis(title="times confused", format=",", tickMinStep=1))
    bars = base.mark_bar(color=COLORS[0]).encode(x=x)
    numbers = base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(x="count:Q", text="shown:N")
    shown = f"The {len(rows)} most confused of {len(pairs):,} pairs" if len(rows) < len(pairs) else "All pairs"
    return layered(bars, numbers).properties(title=_panel(shown), width=_WIDTH, height=len(rows) * name_step(len(rows)))


def _lookup(names: dict[str, str]) -> str:
    """A Vega expression that maps keys to names; two pairs of classes may have the same names."""
    quoted = (f"{_quoted(key)}: {_quoted(name)}" for key, name in names.items())
    return "{" + ", ".join(quoted) + "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _tail(pairs: PairTail) -> altair.LayerChart:
    rows = _steps(pairs)
    most, count = int(pairs.counts.max()), len(pairs)
    line = (
        altair.Chart(inline(rows))
        .mark_line(interpolate="step-after", color=COLORS[0])
        .encode(
            x=altair.X("rank:Q", axis=_log_axis("rank of the pair", count), scale=_log_scale(count)),
            y=altair.Y("count:Q", axis=_log_axis("times confused", most), scale=_log_scale(most)),
        )
    )
    once = int((pairs.counts > 1).sum())
    if not 0 < once < count:
        return layered(line).properties(
            title=_panel("The long tail", "Both axes are logarithmic"), width=_WIDTH, height=200
        )
    mark = [{"rank": once, "text": f"{once:,} pairs more than once"}]
    rule = altair.Chart(inline(mark)).mark_rule(strokeDash=[4, 3], color=GRAY).encode(x="rank:Q")
    side: dict[str, Any] = {"align": "right", "dx": -6} if once > count**0.5 else {"align": "left", "dx": 6}
    text = (
        altair.Chart(inline(mark)).mark_text(baseline="top", color=GRAY, y=0, **side).encode(x="rank:Q", text="text:N")
    )
    return layered(line, rule, text).properties(
        title=_panel("The long tail", "Both axes are logarithmic"), width=_WIDTH, height=200
    )


def _panel(title: str, *subtitle: str) -> altair.TitleParams:
    """A panel's heading, aligned with its axis."""
    aligned = panel_heading(title, *subtitle, width=_WIDTH)
    aligned.frame = "group"
    return aligned


def _steps(pairs: PairTail) -> list[dict[str, int]]:
    """The ranks at which the frequency changes, first and last of each frequency."""
    counts = np.sort(pairs.counts)[::-1]
    edges = np.flatnonzero(np.diff(counts)) + 1
    ranks = np.unique(np.concatenate([[1], edges, edges + 1, [len(counts)]]))
    return [{"rank": int(rank), "count": int(counts[rank - 1])} for rank in ranks]


def _log_scale(most: int) -> altair.Scale:
    return altair.Scale(type="log", domain=[0.9, max(1.15 * most, 2)], nice=False)


def _log_axis(title: str, most: int) -> altair.Axis:
    values = [10**power for power in range(len(str(most)))]
    return altair.Axis(title=title, values=values, format=",")
