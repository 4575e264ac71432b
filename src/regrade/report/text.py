"""Tables as text for files: CSV with every number apart, Markdown and LaTeX as people read them."""

from __future__ import annotations

import csv
import io

from regrade.core import Table

_LATEX = str.maketrans({
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "–": "--",
})  # fmt: skip


def to_csv(table: Table) -> str:
    """Comma-separated values, an estimate spread over its value, bounds and count, as fractions."""
    columns = table.to_arrow().column_names
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([record[name] for name in columns] for record in table.records())
    return buffer.getvalue()


def to_markdown(table: Table) -> str:
    """A Markdown table with its title above and its notes below."""
    heading = [column.heading for column in table.columns]
    marks = ["---:" if right else "---" for right in table.numeric()]
    lines = [heading, marks, *([text.replace("|", r"\|") for text in row] for row in table.texts())]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "".join(f"\n{note}  " for note in table.notes)
    return f"**{table.title}**\n\n{body}\n{notes}\n"


def to_latex(table: Table) -> str:
    """A LaTeX table for the booktabs package."""
    layout = "".join("r" if right else "l" for right in table.numeric())
    heading = " & ".join(_escaped(column.heading) for column in table.columns)
    body = "\n".join(f"    {' & '.join(_escaped(text) for text in row)} \\\\" for row in table.texts())
    caption = _escaped(". ".join((table.title, *table.notes)))
    return (
        "\\begin{table}\n  \\centering\n"
        f"  \\caption{{{caption}}}\n"
        f"  \\begin{{tabular}}{{{layout}}}\n    \\toprule\n    {heading} \\\\\n    \\midrule\n"
        f"{body}\n    \\bottomrule\n  \\end{{tabular}}\n\\end{{table}}\n"
    )


def _escaped(text: str) -> str:
    return text.translate(_LATEX)
