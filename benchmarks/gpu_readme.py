"""Write the results of `python -m benchmarks gpu` into README.md, as a chart and a table.

python -m benchmarks.gpu_readme
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.result import number, times

README = Path(__file__).with_name("README.md")
RESULTS = Path(__file__).with_name("gpu_h200.json")
START, END = "<!-- results of gpu_h200.json -->\n", "<!-- end of gpu_h200.json -->\n"
_WIDTH = 30  # of the longest bar
_LONGEST = 8.0  # times as fast


def with_section(text: str, rows: list[dict[str, Any]]) -> str:
    """The text of README.md with the section between the two markers made anew."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return f"{before}{START}{section(rows)}{END}{after}"


def section(rows: list[dict[str, Any]]) -> str:
    """A chart of the ratios, and a table of all results."""
    compared = [row for row in rows if row["baseline"] is not None and row["unit"] != "%"]
    labels = [f"{row['case'].split(', torch')[0]}: {row['baseline_name']}" for row in compared]
    width = max(map(len, labels))
    bars = [f"{label:{width}}  {_bar(row)} {times(row['ratio'])}" for label, row in zip(labels, compared, strict=True)]
    lines = ["| case | ours | baseline | baseline is | ratio | aim | outcome |", "|---|---:|---:|---|---:|---:|---|"]
    lines += [_line(row) for row in rows]
    return "\n".join(["", "```text", "times as fast as", *bars, "```", "", *lines, "", ""])


def _bar(row: dict[str, Any]) -> str:
    return "█" * max(round(_WIDTH * min(row["ratio"] / _LONGEST, 1)), 1)


def _line(row: dict[str, Any]) -> str:
    unit = row["unit"]
    ours, baseline = (f"{number(cost)} {unit}" if cost is not None else "" for cost in (row["ours"], row["baseline"]))
    ratio = "" if row["ratio"] is None else times(row["ratio"])
    cells = row["case"], ours, baseline, row["baseline_name"], ratio, row["aim"], row["outcome"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    README.write_text(with_section(README.read_text(encoding="utf-8"), rows), encoding="utf-8")
