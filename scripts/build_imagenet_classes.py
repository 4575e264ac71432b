"""Build the ImageNet class space from timm's tables and WordNet 3.0: ids, names and structure only."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

OUTPUT = Path(__file__).parents[1] / "src/regrade/classes/data/imagenet-1k.json"
CLASS_COUNT = 1000
SUBSETS = ("imagenet-a", "imagenet-r")
SUBSET_SIZE = 200
REST, REST_OF, REST_SIZE = "objects", "organisms", 590
"""The group of the classes that are not in another group, and its size."""

FAMILIES = {
    "amphibians": ("n01627424", 8),
    "beetles": ("n02164464", 8),
    "birds": ("n01503061", 59),
    "butterflies": ("n02274259", 6),
    "cats": ("n02120997", 13),  # felines: the true cats and the big cats
    "clothing": ("n03051540", 49),
    "dogs": ("n02084071", 118),
    "fish": ("n02512053", 16),
    "fungi": ("n12992868", 7),
    "furniture": ("n03405725", 22),
    "insects": ("n02159955", 27),
    "lizards": ("n01674464", 11),
    "mammals": ("n01861778", 218),
    "monkeys": ("n02484322", 13),
    "musical instruments": ("n03800933", 26),
    "organisms": ("n00004475", 410),
    "primates": ("n02469914", 20),
    "produce": ("n07705711", 23),  # fruit and vegetables
    "rays": ("n01495701", 2),
    "reptiles": ("n01661091", 36),
    "rodents": ("n02329401", 6),
    "snakes": ("n01726692", 17),
    "spiders": ("n01772222", 6),
    "terriers": ("n02092468", 26),
    "vehicles": ("n04524313", 67),
}
"""Each group, the WordNet concept above its classes, and the expected number of classes."""

_WEASELS = (356, 357, 358, 359)
COLLAPSED = {
    249: (248,),
    250: (248,),
    **{label: tuple(weasel for weasel in _WEASELS if weasel != label) for label in _WEASELS},
    385: (101,),
    386: (101,),
    435: (876,),
    482: (848,),
    504: (968,),
    620: (681,),
    638: (639,),
    639: (638,),
    657: (744,),
    664: (782,),
    681: (620,),
    744: (657,),
    782: (664,),
    836: (837,),
    837: (836,),
}
"""Predictions that also count as correct for a label (Vasudevan et al. 2022; as in Peychev et al. 2023)."""


class BuildError(Exception):
    """The sources do not give the expected class space."""


@dataclass(frozen=True)
class Synset:
    """One WordNet concept: its words and its hypernyms, both in WordNet's order."""

    lemmas: tuple[str, ...]
    parents: tuple[str, ...]


def main(arguments: list[str] | None = None) -> int:
    """Build the file; an expected error is one line and exit status 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timm-info", type=Path, help="timm's folder data/_info (default: the installed timm)")
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"), help="WordNet 3.0")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    try:
        content = build(options.timm_info or installed_timm_info(), options.wordnet)
    except (BuildError, OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    options.output.write_text(as_text(content), encoding="utf-8")
    return 0


def installed_timm_info() -> Path:
    """Find the installed timm's tables without importing timm."""
    spec = find_spec("timm")
    if spec is None or not spec.submodule_search_locations:
        raise BuildError("timm is not installed: give its folder data/_info with --timm-info")
    return Path(spec.submodule_search_locations[0]) / "data" / "_info"


def build(timm_info: Path, wordnet: Path) -> dict[str, Any]:
    """Make the content of the file; raises `BuildError` if a count is not the expected one."""
    ids = read_ids(timm_info)
    synsets = read_synsets(wordnet, ids)
    names = display_names(ids, synsets)
    return {
        "name": "imagenet-1k",
        "origin": "classes and subsets: timm; words and hypernyms: WordNet 3.0, Princeton University",
        "classes": names,
        "synsets": {wnid: [synset.parents, synset.lemmas] for wnid, synset in sorted(synsets.items())},
        "groups": dict(sorted(groups(ids, synsets, timm_info).items())),
        "collapsed": COLLAPSED,
    }


def read_ids(timm_info: Path) -> list[str]:
    """Read the wnids in the order of the class indices."""
    ids = (timm_info / "imagenet_synsets.txt").read_text().split()
    _require("classes", CLASS_COUNT, len(set(ids)))
    if ids != sorted(ids):
        raise BuildError("imagenet_synsets.txt is not sorted, so its order is not that of the class indices")
    return ids


def read_synsets(wordnet: Path, ids: Iterable[str]) -> dict[str, Synset]:
    """Read every synset on any hypernym path from the classes up."""
    synsets: dict[str, Synset] = {}
    waiting = list(ids)
    with (wordnet / "data.noun").open("rb") as file:
        while waiting:
            wnid = waiting.pop()
            if wnid not in synsets:
                synsets[wnid] = _read_synset(file, wnid)
                waiting.extend(synsets[wnid].parents)
    return synsets


def _read_synset(file: BinaryIO, wnid: str) -> Synset:
    """Read one line of data.noun; the wnid is its byte offset (wndb(5WN) describes the fields)."""
    file.seek(int(wnid[1:]))
    fields = file.readline().partition(b" | ")[0].decode("ascii", errors="replace").split()
    if not fields or fields[0] != wnid[1:]:
        raise BuildError(f"{file.name} has no synset {wnid}: it must be WordNet 3.0")
    after_words = 4 + 2 * int(fields[3], 16)
    pointers = fields[after_words + 1 : after_words + 1 + 4 * int(fields[after_words])]
    return Synset(
        tuple(word.replace("_", " ") for word in fields[4:after_words:2]),
        tuple(f"n{pointers[i + 1]}" for i in range(0, len(pointers), 4) if pointers[i] in ("@", "@i")),
    )


def display_names(ids: list[str], synsets: Mapping[str, Synset]) -> dict[str, str]:
    """Name each class by its first word, followed by a distinguishing word in parentheses if it is ambiguous."""
    bearers: dict[str, set[str]] = {}
    for wnid in ids:
        for word in synsets[wnid].lemmas:
            bearers.setdefault(word.casefold(), set()).add(wnid)
    rivals = {wnid: _bearers_of(synsets[wnid].lemmas[0], bearers) - {wnid} for wnid in ids}
    names = {wnid: _display_name(wnid, rivals, synsets) for wnid in ids}
    _require("names that differ", CLASS_COUNT, len({name.casefold() for name in names.values()}))
    return names


def _bearers_of(word: str, bearers: Mapping[str, set[str]]) -> set[str]:
    """Find the classes that a word can mean, whatever its case, in singular or plural."""
    word = word.casefold()
    forms = (word, f"{word}s", f"{word}es", word.removesuffix("s"), word.removesuffix("es"))
    return set().union(*(bearers.get(form, ()) for form in forms))


def _display_name(wnid: str, rivals: Mapping[str, set[str]], synsets: Mapping[str, Synset]) -> str:
    """Name one class, given for each class the other classes that its first word can mean.

    Ambiguous classes are distinguished by their parents, unless the parent's word is in the name
    or is the parent of the other class too. Then an unambiguous name stays as it is, and an ambiguous
    one gets another of its words: tub (vat), as opposed to bathtub.
    """
    name, *other_lemmas = synsets[wnid].lemmas
    ambiguous = rivals[wnid] | {rival for rival, theirs in rivals.items() if wnid in theirs}
    if not ambiguous:
        return name
    parent = _parent_word(wnid, synsets)
    if parent not in name and parent not in {_parent_word(rival, synsets) for rival in ambiguous}:
        return f"{name} ({parent})"
    if not rivals[wnid]:
        return name
    own = [word for word in other_lemmas if not any(word in synsets[rival].lemmas for rival in ambiguous)]
    if not own:
        raise BuildError(f"no word distinguishes {wnid} ({name}) from {', '.join(sorted(ambiguous))}")
    return f"{name} ({own[0]})"


def _parent_word(wnid: str, synsets: Mapping[str, Synset]) -> str:
    return synsets[synsets[wnid].parents[0]].lemmas[0]


def groups(ids: list[str], synsets: Mapping[str, Synset], timm_info: Path) -> dict[str, list[int]]:
    """List the class indices of every group, ascending."""
    above = [concepts_above(wnid, synsets) for wnid in ids]
    indices = {
        group: [index for index, concepts in enumerate(above) if concept in concepts]
        for group, (concept, _) in FAMILIES.items()
    }
    indices[REST] = sorted(set(range(len(ids))).difference(indices[REST_OF]))
    for group, size in {REST: REST_SIZE, **{group: size for group, (_, size) in FAMILIES.items()}}.items():
        _require(group, size, len(indices[group]))
    return indices | {subset: read_subset(timm_info, subset, ids) for subset in SUBSETS}


def concepts_above(wnid: str, synsets: Mapping[str, Synset]) -> set[str]:
    """Collect every synset on any path from a class up, itself included."""
    concepts: set[str] = set()
    waiting = [wnid]
    while waiting:
        concept = waiting.pop()
        if concept not in concepts:
            concepts.add(concept)
            waiting.extend(synsets[concept].parents)
    return concepts


def read_subset(timm_info: Path, subset: str, ids: list[str]) -> list[int]:
    """Read the class indices of a subset, checked against its wnids."""
    stem = subset.replace("-", "_")
    indices = [int(word) for word in (timm_info / f"{stem}_indices.txt").read_text().split()]
    wnids = (timm_info / f"{stem}_synsets.txt").read_text().split()
    _require(f"classes of {subset}", SUBSET_SIZE, len(set(indices)))
    by_index = dict(enumerate(ids))
    if [by_index.get(index) for index in indices] != wnids:
        raise BuildError(f"{stem}_indices.txt and {stem}_synsets.txt do not name the same classes")
    return indices


def as_text(content: Mapping[str, Any]) -> str:
    """Write the content as JSON with one synset per line, so that diffs are readable."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {_section(value)}" for key, value in content.items()) + "\n}\n"


def _section(value: Any) -> str:
    if not isinstance(value, Mapping):
        return json.dumps(value)
    lines = (f"{json.dumps(str(key))}: {json.dumps(entry, separators=(',', ':'))}" for key, entry in value.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def _require(what: str, expected: int, actual: int) -> None:
    if actual != expected:
        raise BuildError(f"expected {expected} {what}, found {actual}")


if __name__ == "__main__":
    sys.exit(main())
