"""The layout of a workspace: paths and glob patterns of its files, relative to its folder."""

from __future__ import annotations

from regrade.store.names import file_name

IMAGES = "images/*.parquet"
"""Parquet files with the locations of the images of test sets; included in `TABLES`."""

TABLES = (
    "testsets/*.parquet",
    IMAGES,
    "slices/*/*.parquet",
    "labels/*/*@*.parquet",
    "reviews/*/*/*.parquet",
    "mistakes/*/*.parquet",
)
"""Parquet files with their own checksum."""

STORED_OBJECTS = ("classes/*.json", "maps/*.json", "reviews/*/*/drawn.json", "reviews/*/*/draw-*.json")
"""JSON files with their own checksum that contents.json lists."""

CONTENTS = "contents.json"
"""The list of all stored files."""

OBJECTS = (CONTENTS, "ledger.json", *STORED_OBJECTS)
"""All JSON files with their own checksum."""

FRAMES = "reviews/*/*/frame.parquet"
"""The frames of reviews; included in `TABLES`."""

PREDICTIONS = "predictions/*/*/manifest.json"
"""Manifests of predictions, with the checksums of the other files of their folder."""

CHECKPOINTS = "checkpoints/*/*/manifest.json"
"""Manifests of checkpoints, with the checksums of the other files of their folder."""

SIGNATURES = "neighbors/*/*/signatures.parquet"
"""Tables of signatures, with the checksum of the thumbnails in their folder."""


def place_of_class_space(name: str) -> str:
    """The path of a class space, relative to the workspace."""
    return f"classes/{file_name(name)}.json"


def place_of_test_set(name: str) -> str:
    """The path of a test set."""
    return f"testsets/{file_name(name)}.parquet"


def place_of_images(test_set: str) -> str:
    """The path of the table with the locations of a test set's images."""
    return f"images/{file_name(test_set)}.parquet"


def place_of_class_map(test_set: str) -> str:
    """The path of a test set's class map."""
    return f"maps/{file_name(test_set)}.json"


def place_of_slices(test_set: str, name: str) -> str:
    """The path of a slice set."""
    return f"slices/{file_name(test_set)}/{file_name(name)}.parquet"


def place_of_labels(test_set: str, full_name: str) -> str:
    """The path of a version of a label set; its full name is ``name@version``."""
    return f"labels/{file_name(test_set)}/{file_name(full_name)}.parquet"


def place_of_mistakes(test_set: str, model: str) -> str:
    """The path of the review of a model's mistakes."""
    return f"mistakes/{file_name(test_set)}/{file_name(model)}.parquet"


def folder_of_predictions(test_set: str, model: str) -> str:
    """The folder of a model's predictions or a person's answers."""
    return f"predictions/{file_name(test_set)}/{file_name(model)}"


def folder_of_checkpoints(test_set: str, ensemble: str) -> str:
    """The folder of an ensemble's checkpoints."""
    return f"checkpoints/{file_name(test_set)}/{file_name(ensemble)}"


def folder_of_review(test_set: str, labels: str) -> str:
    """The folder of the review of a label set, given by its full name."""
    return f"reviews/{file_name(test_set)}/{file_name(labels)}"


def folder_of_signatures(name: str, digest: str) -> str:
    """The folder of the signatures of a set of images."""
    return f"neighbors/{file_name(name)}/{digest[:16]}"
