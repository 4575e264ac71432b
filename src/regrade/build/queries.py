"""Search queries for candidates: every lemma of a class, alone and with a word of each parent (Recht et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from regrade.core import ClassSpace


class QueryKind(StrEnum):
    """What a query consists of."""

    LEMMA = "lemma"
    LEMMA_AND_PARENT = "lemma and parent"


@dataclass(frozen=True)
class Query:
    """A query for candidates of a class; ``also_for`` are the other classes that have a query of the same words."""

    class_id: str
    text: str
    kind: QueryKind
    also_for: tuple[str, ...] = ()


def query_plan(space: ClassSpace) -> tuple[Query, ...]:
    """The queries of all classes: first the lemmas of a class, then each lemma with the first word of each parent.

    Queries of a class have different words, whatever their case and order; so a parent whose words are all in a lemma
    adds nothing to it. Classes without a place in a hierarchy have lemmas only.
    """
    queries = [query for index in range(len(space)) for query in _queries_of(space, index)]
    classes: dict[frozenset[str], list[str]] = {}
    for query in queries:
        classes.setdefault(_words(query.text), []).append(query.class_id)
    return tuple(
        Query(query.class_id, query.text, query.kind, _without(query.class_id, classes[_words(query.text)]))
        for query in queries
    )


def _queries_of(space: ClassSpace, index: int) -> Iterator[Query]:
    class_id = space.ids[index]
    lemmas = [lemma for words in space.lemmas[index] if (lemma := " ".join(words.replace("_", " ").split()))]
    texts = [(lemma, QueryKind.LEMMA) for lemma in lemmas]
    texts += [
        (f"{lemma} {word}", QueryKind.LEMMA_AND_PARENT) for lemma in lemmas for word in _parent_words(space, class_id)
    ]
    seen: set[frozenset[str]] = set()
    for text, kind in texts:
        if (words := _words(text)) not in seen:
            seen.add(words)
            yield Query(class_id, text, kind)


def _parent_words(space: ClassSpace, class_id: str) -> list[str]:
    """The first lemma of each parent."""
    if space.hierarchy is None:
        return []
    parents = space.hierarchy.parents.get(class_id, ())
    lemmas = (space.hierarchy.lemmas.get(parent, ())[:1] for parent in parents)
    return [word.replace("_", " ") for first in lemmas for word in first]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


def _without(class_id: str, classes: list[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(classes) if name != class_id)
