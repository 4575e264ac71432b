"""regrade build queries: the search queries with which candidates are collected."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regrade.build.date_window import date_window
from regrade.build.queries import Query, query_plan
from regrade.core import ClassSpace, Column, InputError, Table, Tabular
from regrade.core.amounts import amount
from regrade.core.record import NOT_IN_JSON, json_key
from regrade.display.text import to_csv
from regrade.store import Store, write_file
from regrade.studies.loading import resolve_class_space
from regrade.studies.study import Output, Study, StudyOptions, option


def from_option(help: str) -> Any:
    """The option ``from_date``."""
    return option(help, None, names=("--from",), metavar="DATE")


def to_option(help: str) -> Any:
    """The option ``to_date``."""
    return option(help, None, names=("--to",), metavar="DATE")


@dataclass(frozen=True)
class QueryOptions(StudyOptions):
    """The classes, and the limits to which a search should keep."""

    classes: str | Path | ClassSpace = option("Class space: a name, such as imagenet-1k, or a file.", kind=str)
    from_date: str | None = from_option("First day of the photos that are searched for, such as 2012-07-11.")
    to_date: str | None = to_option("Last day of the photos that are searched for.")
    per_author: int | None = option("Maximum number of images of one author per class.", None, minimum=1)


@dataclass(frozen=True, repr=False)
class QueryPlan(Tabular):
    """The queries of every class, with the date window and the limit per author for the search."""

    class_space: str
    from_date: str | None = field(metadata=json_key("from"))
    to_date: str | None = field(metadata=json_key("to"))
    per_author: int | None
    classes: int
    ambiguous: int
    queries: tuple[Query, ...] = field(metadata=NOT_IN_JSON)
    names: dict[str, str] = field(metadata=NOT_IN_JSON)

    def json_fields(self) -> dict[str, Any]:
        """The fields, and the rows of the table."""
        return {**super().json_fields(), "queries": self.rows()}

    def rows(self) -> list[dict[str, Any]]:
        """The queries with class, name, kind and limits, for any search client."""
        limits = {"from": self.from_date, "to": self.to_date, "per_author": self.per_author}
        return [
            {
                "class": query.class_id,
                "name": self.names[query.class_id],
                "query": query.text,
                "kind": query.kind.value,
                **limits,
                "also_for": list(query.also_for),
            }
            for query in self.queries
        ]

    def table(self) -> Table:
        """One row per query."""
        columns = (
            Column("class", "class"),
            Column("name", "name"),
            Column("query", "query"),
            Column("kind", "kind"),
            Column("from", "from"),
            Column("to", "to"),
            Column("per_author", "images per author"),
            Column("also_for", "also a query of"),
        )
        rows = tuple((*list(row.values())[:-1], " ".join(row["also_for"])) for row in self.rows())
        count = amount(len(rows), "query", "queries")
        title = f"{count} for {amount(self.classes, 'class', 'classes')} of {self.class_space}"
        return Table(title, columns, rows, self._notes())

    def _notes(self) -> tuple[str, ...]:
        if not self.ambiguous:
            return ()
        verb = "is" if self.ambiguous == 1 else "are"
        return (f"{self.ambiguous:,} {verb} ambiguous: another class has a query of the same words",)


def run(store: Store, options: QueryOptions) -> QueryPlan:
    """The queries for candidates of each class of a class space: its lemmas, alone and with a word of each parent.

    Nothing is searched: the plan is for the search client of a photo service. ``from_date``, ``to_date`` and
    ``per_author`` are repeated in every row.
    """
    window = date_window(options.from_date, options.to_date)
    space = resolve_class_space(store, options.classes)
    queries = query_plan(space)
    return QueryPlan(
        space.name,
        None if window.first is None else window.first.isoformat(),
        None if window.last is None else window.last.isoformat(),
        options.per_author,
        len(space),
        sum(bool(query.also_for) for query in queries),
        queries,
        dict(zip(space.ids, space.names, strict=True)),
    )


def write_queries(_: Store, result: QueryPlan, path: str) -> str:
    """Write the rows of the table as CSV or JSON."""
    target = Path(path)
    match target.suffix.lower():
        case ".csv":
            write_file(target, to_csv(result.table()))
        case ".json":
            write_file(target, json.dumps(result.rows(), indent=1, ensure_ascii=False) + "\n")
        case _:
            raise InputError(f"queries are written as .csv or .json, not as {target.name!r}")
    return f"queries: {target}"


BUILD_QUERIES = Study(
    name="queries",
    question="What should be searched for?",
    summary="List the search queries for candidates of each class: every lemma, then each lemma with a parent's word.",
    options=QueryOptions,
    result=QueryPlan,
    run=run,
    outputs=(Output("out", "FILE", "Also write the queries to a file: .csv or .json.", write_queries),),
)
