"""The figure of a comparison: ranks with their intervals, or the difference between two models."""

from __future__ import annotations

from typing import Any

from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, interval, interval_text, layered, name_axis, name_step, percent_axis
from regrade.display.style import COLORS, GRAY
from regrade.studies.compare.result import Comparison

_MODELS = 120  # the most rows that are readable


def comparison_figure(result: Comparison) -> Figure:
    """The difference of two models, or the rank intervals of more."""
    return _difference(result) if len(result.ranks) == 2 else _ranks(result)


def _ranks(result: Comparison) -> Figure:
    rows: list[dict[str, Any]] = [
        {
            "model": rank.model, "rank": rank.rank, "low": rank.low, "high": rank.high, "start": rank.low - 0.35,
            "end": rank.high + 0.35, "ranks": f"{rank.rank} [{rank.low}, {rank.high}]",
            "accuracy": interval_text(rank.accuracy),
        }
        for rank in result.ranks[:_MODELS]
    ]  # fmt: skip
    count, models = len(rows), len(result.ranks)
    shown = f"; the best {_MODELS} of {models:,}" if models > _MODELS else ""
    base = altair.Chart(inline(rows)).encode(
        y=altair.Y("model:N", sort=[row["model"] for row in rows], axis=name_axis(count)),
        tooltip=[altair.Tooltip(f"{key}:N") for key in ("model", "ranks", "accuracy")],
    )
    x = altair.X(
        "start:Q",
        scale=altair.Scale(domain=[0.5, max(row["high"] for row in rows) + 0.5], nice=False),
        axis=altair.Axis(title="rank, 1 the best", tickMinStep=1, format="d"),
    )
    chart = layered(
        base.mark_bar(
            color=COLORS[0], fillOpacity=0.35, stroke=COLORS[0], height=0.6 * name_step(count), cornerRadius=2
        ).encode(x=x, x2="end:Q"),
        base.mark_point(color=COLORS[0]).encode(x="rank:Q"),
    ).properties(
        width=380,
        height=count * name_step(count),
        title=heading(
            _ranks_title(result),
            f"Ranks by accuracy on {amount(result.basis.images, 'image')} of {result.basis.title}, with simultaneous "
            f"{100 * result.basis.confidence:g}% ranges for all models. {result.different_pairs:,} of "
            f"{len(result.pairs):,} pairs differ (exact McNemar tests, Holm){shown}",
        ),
    )
    alt = f"{_ranks_title(result)}. Ranks of {models} models on {result.basis.title} with their intervals."
    return Figure(f"ranks on {result.basis.test_set}", alt, chart)


def _ranks_title(result: Comparison) -> str:
    """The leading model, or how many models may be the best."""
    leaders = [rank.model for rank in result.ranks if rank.low == 1]
    models = len(result.ranks)
    if len(leaders) == 1:
        return f"{leaders[0]} is ahead of the other {models - 1} models"
    if len(leaders) == models:
        return f"Any of the {models} models may be the best"
    return f"{len(leaders)} of {models} models may be the best"


def _difference(result: Comparison) -> Figure:
    (pair,) = result.pairs
    words = pair.in_words(result.basis.level, margin=result.basis.equivalence)
    row: dict[str, Any] = {
        "pair": f"{pair.first} − {pair.second}",
        **interval(pair.difference),
        "difference": interval_text(pair.difference, digits=2),
        "p (exact McNemar)": f"{pair.p_values.exact:.2g}",
    }
    base = altair.Chart(inline([row])).encode(
        y=altair.Y("pair:N", axis=name_axis(1)),
        tooltip=[altair.Tooltip("pair:N"), altair.Tooltip("difference:N"), altair.Tooltip("p (exact McNemar):N")],
    )
    x = altair.X("value:Q", axis=percent_axis("difference of accuracies"))
    none = altair.Chart(inline([{"none": 0}])).mark_rule(color=GRAY, strokeDash=[5, 4])
    chart = layered(
        none.encode(x=altair.X("none:Q")),
        base.mark_rule(color=COLORS[0], strokeWidth=3).encode(x=altair.X("value_low:Q"), x2="value_high:Q"),
        base.mark_point(color=COLORS[0], size=110).encode(x=x),
    ).properties(
        width=320,
        height=60,
        title=heading(
            words,
            f"On {amount(result.basis.images, 'image')} of {result.basis.title}; interval: {pair.difference.method}",
        ),
    )
    return Figure(f"difference on {result.basis.test_set}", words, chart)
