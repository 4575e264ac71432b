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
from regrade.store.checkpoint_files import CheckpointArray, read_checkpoint_files
from regrade.store.checkpoint_folder import CheckpointManifest
from regrade.store.checkpoint_writer import CheckpointWriter
from regrade.store.folder import FIRST_LABELS, FIRST_MODEL, Store, Stored
from regrade.store.import_checkpoints import ImportedCheckpoints, import_checkpoints
from regrade.store.import_labels import ImportedLabels, create_labels, import_labels
from regrade.store.import_mistakes import ImportedMistakes, import_mistakes
from regrade.store.import_people import ImportedPeople, import_people
from regrade.store.import_predictions import ImportedPredictions, import_predictions, manifest_of, store_predictions
from regrade.store.import_slices import ImportedSlices, import_slices, keep_slices
from regrade.store.label_export import Authors, LabelAuthors, labels_as_file
from regrade.store.label_files import LabelFile, LabelFormat, read_label_file
from regrade.store.links import broken_links
from regrade.store.mistake_files import MistakeFile, MistakeFormat, read_mistake_file
from regrade.store.partial_predictions import Part, PartialPredictions, empty_part, joined_parts, with_replaced_rows
from regrade.store.partial_signatures import PartialSignatures
from regrade.store.people_files import PeopleFile, PeopleFormat, read_people_file
from regrade.store.prediction_files import (
    FileClassSpaces,
    FilePredictions,
    PredictionFile,
    predictions_from_scores,
    read_prediction_file,
)
from regrade.store.prediction_folder import Manifest, PredictionSource
from regrade.store.published_files import first_published_file
from regrade.store.review_files import AddedDecisions, ReviewDecisions
from regrade.store.signature_folder import SignatureKey
from regrade.store.slice_files import SliceFile, SliceFormat, read_slice_file
from regrade.store.upgrade import upgrade_workspace
from regrade.store.verify import CheckedFile, check_stored_file, stored_files

__all__ = [
    "FIRST_LABELS",
    "FIRST_MODEL",
    "PRIVATE",
    "AddedDecisions",
    "Authors",
    "CheckedFile",
    "CheckpointArray",
    "CheckpointManifest",
    "CheckpointWriter",
    "FileClassSpaces",
    "FilePredictions",
    "ImportedCheckpoints",
    "ImportedLabels",
    "ImportedMistakes",
    "ImportedPeople",
    "ImportedPredictions",
    "ImportedSlices",
    "LabelAuthors",
    "LabelFile",
    "LabelFormat",
    "Manifest",
    "MistakeFile",
    "MistakeFormat",
    "Part",
    "PartialPredictions",
    "PartialSignatures",
    "PeopleFile",
    "PeopleFormat",
    "PredictionFile",
    "PredictionSource",
    "ReviewDecisions",
    "SignatureKey",
    "SliceFile",
    "SliceFormat",
    "Store",
    "Stored",
    "broken_links",
    "check_folder",
    "check_stored_file",
    "checked_json",
    "create_labels",
    "empty_part",
    "first_published_file",
    "import_checkpoints",
    "import_labels",
    "import_mistakes",
    "import_people",
    "import_predictions",
    "import_slices",
    "joined_parts",
    "keep_slices",
    "labels_as_file",
    "manifest_of",
    "predictions_from_scores",
    "read_checked_json",
    "read_checkpoint_files",
    "read_label_file",
    "read_mistake_file",
    "read_people_file",
    "read_prediction_file",
    "read_slice_file",
    "read_stored_json",
    "replace_file",
    "replace_folder",
    "store_predictions",
    "stored_files",
    "stored_json",
    "upgrade_workspace",
    "with_replaced_rows",
    "write_file",
    "write_image",
    "write_new_file",
]
