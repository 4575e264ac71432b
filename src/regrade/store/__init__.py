"""The workspace on disk: plain files, each written atomically and only once."""

from regrade.store.atomic import (
    PRIVATE,
    check_folder,
    replace_file,
    replace_folder,
    write_file,
    write_image,
    write_new_file,
)
from regrade.store.checked_json import checked_json, read_checked_json, read_stored_json, stored_json
from regrade.store.checkpoint_folder import CheckpointManifest
from regrade.store.checkpoint_writer import CheckpointWriter
from regrade.store.folder import FIRST_LABELS, FIRST_MODEL, Store, Stored, keep_slices
from regrade.store.links import broken_links
from regrade.store.partial_predictions import Part, PartialPredictions, empty_part, joined_parts, with_replaced_rows
from regrade.store.partial_signatures import PartialSignatures
from regrade.store.prediction_folder import Manifest, PredictionSource, manifest_of
from regrade.store.published_files import first_published_file
from regrade.store.review_files import AddedVerdicts
from regrade.store.signature_folder import SignatureKey
from regrade.store.slice_file import check_slice_name
from regrade.store.upgrade import upgrade_workspace
from regrade.store.verify import CheckedFile, check_stored_file, stored_files

__all__ = [
    "FIRST_LABELS",
    "FIRST_MODEL",
    "PRIVATE",
    "AddedVerdicts",
    "CheckedFile",
    "CheckpointManifest",
    "CheckpointWriter",
    "Manifest",
    "Part",
    "PartialPredictions",
    "PartialSignatures",
    "PredictionSource",
    "SignatureKey",
    "Store",
    "Stored",
    "broken_links",
    "check_folder",
    "check_slice_name",
    "check_stored_file",
    "checked_json",
    "empty_part",
    "first_published_file",
    "joined_parts",
    "keep_slices",
    "manifest_of",
    "read_checked_json",
    "read_stored_json",
    "replace_file",
    "replace_folder",
    "stored_files",
    "stored_json",
    "upgrade_workspace",
    "with_replaced_rows",
    "write_file",
    "write_image",
    "write_new_file",
]
