"""Content of guide pages: an entry as safe HTML, the diff of two revisions, confusable classes and images."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from typing import Any, Literal

import numpy as np
from markdown_it import MarkdownIt
from markdown_it.token import Token

from regrade.app.hidden_images import HiddenImages
from regrade.app.references import reference_addresses
from regrade.app.site import Site
from regrade.core import ClassSpace, InputError, Paths, Steps, hierarchy_distances
from regrade.core.hierarchy_distance import UNRELATED
from regrade.ledger import GuideEntry, GuideText, Person

_WEB = re.compile(r"https?://", re.IGNORECASE)
_LOWEST_HEADING = 6
_HEADING_SHIFT = 2  # levels, since the page has headings of its own
_PIECE = re.compile(r"\s+|[^\s]+")
_MAX_PIECES = 4000  # words are compared up to this size; longer changes are shown as a whole


def render_markdown(text: str) -> str:
    r"""Return the text as HTML; markup that is not allowed stays as plain text.

    >>> render_markdown("**bold** <b>")
    '<p><strong>bold</strong> &lt;b&gt;</p>\n'
    """
    reader = _reader()
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(_LOWEST_HEADING, int(token.tag[1]) + _HEADING_SHIFT)}"
    html: str = reader.renderer.render(tokens, reader.options, {})
    return html


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image"])
    reader.validateLink = _is_web  # type: ignore[method-assign, assignment]
    reader.add_render_rule("link_open", _link)
    return reader


def _is_web(address: str) -> bool:
    return _WEB.match(address.strip()) is not None


def _link(self: Any, tokens: list[Token], place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("rel", "noopener noreferrer nofollow")
    tokens[place].attrSet("target", "_blank")
    html: str = self.renderToken(tokens, place, options, env)
    return html


@dataclass(frozen=True)
class TextChange:
    """A piece of text that is unchanged, was added or was removed."""

    kind: Literal["same", "added", "removed"]
    text: str


def word_diff(before: str, after: str) -> tuple[TextChange, ...]:
    """Return the pieces of both texts, in reading order.

    >>> [(change.kind, change.text) for change in word_diff("a red fox", "a gray fox")]
    [('same', 'a '), ('removed', 'red'), ('added', 'gray'), ('same', ' fox')]
    """
    return tuple(_joined(_by_line(before.splitlines(keepends=True), after.splitlines(keepends=True))))


def _by_line(before: list[str], after: list[str]) -> Iterator[TextChange]:
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        old, new = "".join(before[a:b]), "".join(after[c:d])
        if kind == "equal":
            yield TextChange("same", old)
        else:
            yield from _by_word(_PIECE.findall(old), _PIECE.findall(new))


def _by_word(before: list[str], after: list[str]) -> Iterator[TextChange]:
    if len(before) + len(after) > _MAX_PIECES:
        yield TextChange("removed", "".join(before))
        yield TextChange("added", "".join(after))
        return
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield TextChange("same", "".join(before[a:b]))
        else:
            yield TextChange("removed", "".join(before[a:b]))
            yield TextChange("added", "".join(after[c:d]))


def _joined(pieces: Iterator[TextChange]) -> Iterator[TextChange]:
    """Join adjacent pieces of the same kind, and drop empty ones."""
    last: TextChange | None = None
    for piece in pieces:
        if not piece.text:
            continue
        if last is not None and last.kind == piece.kind:
            last = TextChange(last.kind, last.text + piece.text)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last


VARIANT = (Steps.MAX, Paths.ALL)
"""The hierarchy distance that the guide shows."""

_IMAGES = 24  # images of a class, in addition to the examples of its entry
_NEIGHBORS = 8  # neighboring classes that are listed
_MAX_STEPS = 2  # distance within which a class is a neighbor


@dataclass(frozen=True)
class ConfusableClass:
    """A class that another is confused with, and their distance; None without a hierarchy."""

    id: str
    name: str
    distance: int | None


def confusable_classes(space: ClassSpace, index: int, ids: Iterable[str]) -> tuple[ConfusableClass, ...]:
    """The classes that an entry names, nearest first; ids outside the class space are skipped."""
    indices = [space.index_of[class_id] for class_id in ids if class_id in space.index_of]
    classes = (ConfusableClass(space.ids[near], space.names[near], _distance(space, index, near)) for near in indices)
    return tuple(sorted(classes, key=lambda near: (near.distance is None, near.distance or 0, near.name)))


def neighbors(space: ClassSpace, index: int, excluded: Iterable[str] = ()) -> tuple[ConfusableClass, ...]:
    """The classes close to a class in the hierarchy, nearest first, without the ids ``excluded``."""
    if space.hierarchy is None:
        return ()
    distances = _distances(space)[index]
    near = np.flatnonzero((distances <= _MAX_STEPS) & (distances > 0))
    ids = [space.ids[neighbor] for neighbor in near[np.argsort(distances[near], kind="stable")]]
    left_out = set(excluded)
    return confusable_classes(space, index, [class_id for class_id in ids if class_id not in left_out][:_NEIGHBORS])


def breadcrumbs(space: ClassSpace, index: int) -> tuple[str, ...]:
    """The names of the concepts above a class, from the root down, along first parents."""
    if space.hierarchy is None:
        return ()
    above = list(space.hierarchy.first_path_ancestors(space.ids[index]))[1:]
    return tuple(next(iter(space.hierarchy.lemmas.get(concept, ())), concept) for concept in reversed(above))


def example_images(
    site: Site, examples: Iterable[tuple[str, str]], person: Person, *, excluded: frozenset[str]
) -> list[str]:
    """Addresses of an entry's example images, without those hidden from a person and those that no longer exist."""
    named = [(test_set, example) for test_set, example in examples if test_set not in excluded]
    if not named:
        return []
    hidden = site.hidden_from(person) | site.hiding.all_of(site.ledger.queues.examinations())
    addresses = []
    for test_set, example in named:
        position = _position(site, test_set, example)
        if position is not None and hidden.visible(site.test_set(test_set), [position]):
            addresses.append(site.images.address(test_set, position))
    return [address for address in addresses if address is not None]


def hidden_examples(
    site: Site, examples: Iterable[tuple[str, str]], hidden: HiddenImages
) -> frozenset[tuple[str, str]]:
    """The examples of an entry that are hidden: next to a class, even their ids would reveal the answer."""
    located = ((test_set, example, _position(site, test_set, example)) for test_set, example in examples)
    return frozenset(
        (test_set, example)
        for test_set, example, position in located
        if position is not None and not hidden.visible(site.test_set(test_set), [position])
    )


def without_examples(text: GuideText, hidden: frozenset[tuple[str, str]]) -> GuideText:
    """An entry's text without its hidden examples."""
    return replace(text, examples=tuple(example for example in text.examples if example not in hidden))


def with_examples(text: GuideText, before: GuideText, hidden: frozenset[tuple[str, str]]) -> GuideText:
    """An entry's text with the hidden examples of the previous revision, which its writer was not shown."""
    examples = [example for example in text.examples if example not in hidden]
    for place, example in enumerate(before.examples):
        if example in hidden:
            examples.insert(place, example)
    return replace(text, examples=tuple(examples))


def other_images(site: Site, space: ClassSpace, index: int, person: Person) -> list[str]:
    """Addresses of more images of a class, from test sets without an examination."""
    sets = site.workspace.store.test_sets.names()
    return reference_addresses(site, site.hidden_from(person), space, index, sets=sets, count=_IMAGES)


def _position(site: Site, test_set: str, example: str) -> int | None:
    """The position of an example in its test set; None if either is missing or damaged."""
    if test_set not in site.readable_test_sets():
        return None
    return site.test_set(test_set).position_of.get(example)


def changes(
    space: ClassSpace, before: GuideText, after: GuideText, *, examples: bool
) -> dict[str, tuple[TextChange, ...]]:
    """The changes between two revisions of an entry, part by part; unchanged parts are left out."""
    old, new = (_parts(space, text) for text in (before, after))
    shown = {name: word_diff(old[name], new[name]) for name in old if old[name] != new[name]}
    return {name: pieces for name, pieces in shown.items() if examples or name != "Examples"}


def _parts(space: ClassSpace, text: GuideText) -> dict[str, str]:
    alike = [space.names[space.index_of[class_id]] for class_id in text.alike if class_id in space.index_of]
    return {
        "Traits": "\n".join(text.traits),
        "Text": text.text,
        "Looks like": "\n".join(alike),
        "Examples": example_lines(text.examples),
    }


def example_lines(examples: Iterable[tuple[str, str]]) -> str:
    """Examples in the format of the form: ``TESTSET/ID``, one per line."""
    return "\n".join(f"{test_set}/{example}" for test_set, example in examples)


def parse_examples(site: Site, lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Parse the example lines of the form; an unknown image raises."""
    return tuple(dict.fromkeys(_parse_example(site, line) for line in lines))


def _parse_example(site: Site, line: str) -> tuple[str, str]:
    names = site.workspace.testsets.names()
    for name in sorted(names, key=len, reverse=True):
        if line.startswith(f"{name}/"):
            example = line.removeprefix(f"{name}/")
            site.test_set(name).position(example)
            return name, example
    raise InputError(f"expected an example as TESTSET/IMAGE-ID with the name of a stored test set, got {line!r}")


def _distances(space: ClassSpace) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    steps, paths = VARIANT
    return np.asarray(hierarchy_distances(space, steps=steps, paths=paths), dtype=np.int64)


def _distance(space: ClassSpace, first: int, second: int) -> int | None:
    if space.hierarchy is None:
        return None
    distance = int(_distances(space)[first, second])
    return None if distance == UNRELATED else distance


def entries_with_names(site: Site, class_space: str) -> list[tuple[GuideEntry, str]]:
    """The entries of a class space with their class names, most recently changed first."""
    space = site.class_space(class_space)
    entries = [entry for entry in site.guide.entries(class_space) if entry.class_id in space.index_of]
    return [(entry, space.names[space.index_of[entry.class_id]]) for entry in entries]
