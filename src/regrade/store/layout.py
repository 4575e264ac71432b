"""Where the files of a workspace are, as patterns below its folder."""

from __future__ import annotations

from regrade.store.names import file_name

IMAGES = "images/*.parquet"
"""Tables that say where the images of a test set are; they are among the tables."""

TABLES = (
    "testsets/*.parquet",
    IMAGES,
    "slices/*/*.parquet",
    "labels/*/*@*.parquet",
    "reviews/*/*/*.parquet",
    "mistakes/*/*.parquet",
)
"""Parquet files that carry their own checksum."""

STORED_OBJECTS = ("classes/*.json", "maps/*.json", "reviews/*/*/drawn.json", "reviews/*/*/draw-*.json")
"""JSON files of what is stored, which carry their own checksum."""

CONTENTS = "contents.json"
"""The list of all stored files."""

OBJECTS = (CONTENTS, "ledger.json", *STORED_OBJECTS)
"""All JSON files that carry their own checksum."""

FRAMES = "reviews/*/*/frame.parquet"
"""The frames of reviews, which are among the tables."""

PREDICTIONS = "predictions/*/*/manifest.json"
"""Manifests of predictions, with the checksums of the files beside them."""

CHECKPOINTS = "checkpoints/*/*/manifest.json"
"""Manifests of checkpoints, likewise."""

SIGNATURES = "neighbors/*/*/signatures.parquet"
"""Tables of signatures, with the checksum of the thumbnails beside them."""


def place_of_class_space(name: str) -> str:
    """Where a class space is, below the folder of the workspace."""
    return f"classes/{file_name(name)}.json"


def place_of_test_set(name: str) -> str:
    """Where a test set is."""
    return f"testsets/{file_name(name)}.parquet"


def place_of_images(test_set: str) -> str:
    """Where the file is that says where the images of a test set are."""
    return f"images/{file_name(test_set)}.parquet"


def place_of_class_map(test_set: str) -> str:
    """Where the class map of a test set is."""
    return f"maps/{file_name(test_set)}.json"


def place_of_slices(test_set: str, name: str) -> str:
    """Where a slice set is."""
    return f"slices/{file_name(test_set)}/{file_name(name)}.parquet"


def place_of_labels(test_set: str, full_name: str) -> str:
    """Where a version of a label set is; its full name is ``name@version``."""
    return f"labels/{file_name(test_set)}/{file_name(full_name)}.parquet"


def place_of_mistakes(test_set: str, model: str) -> str:
    """Where the review of a model's mistakes is."""
    return f"mistakes/{file_name(test_set)}/{file_name(model)}.parquet"


def folder_of_predictions(test_set: str, model: str) -> str:
    """Where the folder of a model's or a person's predictions is."""
    return f"predictions/{file_name(test_set)}/{file_name(model)}"


def folder_of_checkpoints(test_set: str, ensemble: str) -> str:
    """Where the folder of an ensemble's checkpoints is."""
    return f"checkpoints/{file_name(test_set)}/{file_name(ensemble)}"


def folder_of_review(test_set: str, labels: str) -> str:
    """Where the folder of the review of a label set is, by its full name."""
    return f"reviews/{file_name(test_set)}/{file_name(labels)}"


def folder_of_signatures(name: str, digest: str) -> str:
    """Where the folder of the signatures of a set of images is."""
    return f"neighbors/{file_name(name)}/{digest[:16]}"
