"""The layout of a workspace: paths and glob patterns of its files, relative to its folder."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote, unquote

from regrade.core import InputError

IMAGES = "images/*.parquet"
"""Parquet files with the locations of the images of test sets; included in `TABLES`."""

TABLES = (
    "testsets/*.parquet",
    IMAGES,
    "slices/*/*.parquet",
    "labels/*/*@*.parquet",
    "reviews/*/*/*.parquet",
    "mistakes/*/*.parquet",
    "builds/*/*.parquet",
    "pairs/*/*.parquet",
    "models/*.parquet",
    "ladders/*.parquet",
    "nearest/*/*/*.parquet",
    "audits/*/*.parquet",
)
"""Parquet files with their own checksum."""

STORED_OBJECTS = (
    "classes/*.json",
    "maps/*.json",
    "training_sets/*.json",
    "reviews/*/*/drawn.json",
    "reviews/*/*/draw-*.json",
)
"""JSON files with their own checksum that contents.json lists."""

CONTENTS = "contents.json"
"""The list of all stored files."""

REMOVED = ".removed"
"""The folder of removed records, which can be restored."""

REMOVAL = "removal.json"
"""The file with what a removal has removed, in the folder of its number."""

OBJECTS = (CONTENTS, "ledger.json", *STORED_OBJECTS, f"{REMOVED}/*.json", f"{REMOVED}/*/{REMOVAL}")
"""All JSON files with their own checksum."""

FRAMES = "reviews/*/*/frame.parquet"
"""The frames of reviews; included in `TABLES`."""

PREDICTIONS = "predictions/*/*/manifest.json"
"""Manifests of predictions, with the checksums of the other files of their folder."""

CHECKPOINTS = "checkpoints/*/*/manifest.json"
"""Manifests of checkpoints, with the checksums of the other files of their folder."""

SIGNATURES = "neighbors/*/*/signatures.parquet"
"""Tables of signatures, with the checksum of the thumbnails in their folder."""

_SUFFIXES = {
    "classes": ".json",
    "testsets": ".parquet",
    "images": ".parquet",
    "maps": ".json",
    "training_sets": ".json",
    "slices": ".parquet",
    "labels": ".parquet",
    "mistakes": ".parquet",
    "builds": ".parquet",
    "pairs": ".parquet",
    "models": ".parquet",
    "ladders": ".parquet",
    "nearest": ".parquet",
    "audits": ".parquet",
    "predictions": "",
    "checkpoints": "",
    "reviews": "",
    "neighbors": "",
}
"""The suffix of the records of each kind; empty if they are folders."""

_KEPT = " :+=@,()[]~"
_LONGEST = 200


def place_of(kind: str, *names: str) -> str:
    """The path of a record, relative to the workspace.

    >>> place_of("labels", "pets", "own@1")
    'labels/pets/own@1.parquet'
    """
    return "/".join((kind, *map(file_name, names))) + suffix_of(kind)


def suffix_of(kind: str) -> str:
    """The suffix of the records of a kind; empty if they are folders."""
    return _SUFFIXES[kind]


def file_name(name: str) -> str:
    """A file name for any name that is valid on every file system; `original_name` reverses it.

    >>> file_name("open_clip:ViT-B-32/laion2b")
    'open_clip:ViT-B-32%2Flaion2b'
    """
    if not name.strip():
        raise InputError("a name must not be empty")
    if any(unicodedata.category(letter) == "Cc" for letter in name):
        raise InputError(f"the name {name!r} contains a control character")
    try:
        quoted = quote(name, safe=_KEPT)
    except UnicodeEncodeError:
        raise InputError(f"the name {name!r} is not valid text: give it in UTF-8") from None
    if quoted.startswith("."):
        quoted = "%2E" + quoted[1:]
    if len(quoted) > _LONGEST:
        raise InputError(f"the name {name[:40]!r}... is too long: {len(quoted)} characters, at most {_LONGEST}")
    return quoted


def original_name(file: str) -> str:
    """The name from which `file_name` made a file name."""
    return unquote(file)
