"""The workspace on disk: plain files, each written atomically and only once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from regrade.store.atomic import (
        PRIVATE,
        check_folder,
        check_new_file,
        replace_file,
        replace_folder,
        write_file,
        write_image,
        write_new_file,
    )
    from regrade.store.checked_files import checked_json, read_checked_json, read_stored_json, stored_json
    from regrade.store.checkpoints import CheckpointManifest, CheckpointWriter
    from regrade.store.collection import Collection, Stored
    from regrade.store.file_errors import FIRST_MODEL
    from regrade.store.folder import Store, keep_slices
    from regrade.store.image_pairs import DecisionBatch
    from regrade.store.layout import file_name, original_name
    from regrade.store.partial_predictions import Part, PartialPredictions, empty_part, joined_parts, with_replaced_rows
    from regrade.store.predictions import Manifest, PartialReads, PredictionSource, manifest_of, tied_images
    from regrade.store.removals import Removal, RemovalPlan, StoredRecord
    from regrade.store.reviews import AddedDecisions
    from regrade.store.signatures import PartialSignatures, SignatureKey
    from regrade.store.testsets import check_slice_name
    from regrade.store.training_sets import RegisteredTrainingSet
    from regrade.store.upgrade import upgrade_workspace
    from regrade.store.verify import (
        CheckedFile,
        broken_links,
        check_stored_file,
        first_published,
        first_published_file,
        stored_files,
    )

__all__ = [
    "FIRST_MODEL",
    "PRIVATE",
    "AddedDecisions",
    "CheckedFile",
    "CheckpointManifest",
    "CheckpointWriter",
    "Collection",
    "DecisionBatch",
    "Manifest",
    "Part",
    "PartialPredictions",
    "PartialReads",
    "PartialSignatures",
    "PredictionSource",
    "RegisteredTrainingSet",
    "Removal",
    "RemovalPlan",
    "SignatureKey",
    "Store",
    "Stored",
    "StoredRecord",
    "broken_links",
    "check_folder",
    "check_new_file",
    "check_slice_name",
    "check_stored_file",
    "checked_json",
    "empty_part",
    "file_name",
    "first_published",
    "first_published_file",
    "joined_parts",
    "keep_slices",
    "manifest_of",
    "original_name",
    "read_checked_json",
    "read_stored_json",
    "replace_file",
    "replace_folder",
    "stored_files",
    "stored_json",
    "tied_images",
    "upgrade_workspace",
    "with_replaced_rows",
    "write_file",
    "write_image",
    "write_new_file",
]

_HOME = {
    "regrade.store.atomic": (
        "PRIVATE check_folder check_new_file replace_file replace_folder write_file write_image write_new_file"
    ),
    "regrade.store.checked_files": "checked_json read_checked_json read_stored_json stored_json",
    "regrade.store.checkpoints": "CheckpointManifest CheckpointWriter",
    "regrade.store.collection": "Collection Stored",
    "regrade.store.file_errors": "FIRST_MODEL",
    "regrade.store.folder": "Store keep_slices",
    "regrade.store.image_pairs": "DecisionBatch",
    "regrade.store.layout": "file_name original_name",
    "regrade.store.partial_predictions": "Part PartialPredictions empty_part joined_parts with_replaced_rows",
    "regrade.store.predictions": "Manifest PartialReads PredictionSource manifest_of tied_images",
    "regrade.store.removals": "Removal RemovalPlan StoredRecord",
    "regrade.store.reviews": "AddedDecisions",
    "regrade.store.signatures": "PartialSignatures SignatureKey",
    "regrade.store.testsets": "check_slice_name",
    "regrade.store.training_sets": "RegisteredTrainingSet",
    "regrade.store.upgrade": "upgrade_workspace",
    "regrade.store.verify": (
        "CheckedFile broken_links check_stored_file first_published first_published_file stored_files"
    ),
}

if not TYPE_CHECKING:  # type checkers then find misspelled names
    __getattr__, __dir__ = lazy_names(globals(), _HOME)
