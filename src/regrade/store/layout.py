"""Where the files of a workspace are, as patterns below its folder."""

from __future__ import annotations

TABLES = (
    "testsets/*.parquet",
    "pictures/*.parquet",
    "slices/*/*.parquet",
    "labels/*/*@*.parquet",
    "reviews/*/*/*.parquet",
    "mistakes/*/*.parquet",
)
"""Parquet files that carry their own checksum."""

OBJECTS = ("ledger.json", "classes/*.json", "maps/*.json", "reviews/*/*/drawn.json")
"""JSON files that carry their own checksum."""

PREDICTIONS = "predictions/*/*/manifest.json"
"""Manifests of predictions, with the checksums of the files beside them."""

CHECKPOINTS = "checkpoints/*/*/manifest.json"
"""Manifests of checkpoints, likewise."""

SIGNATURES = "neighbours/*/*/signatures.parquet"
"""Tables of signatures, with the checksum of the thumbnails beside them."""
