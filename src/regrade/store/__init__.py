"""The workspace on disk: plain files, each written whole and once."""

from regrade.store.amended_predictions import amended
from regrade.store.atomic import check_folder, replace_file, replace_folder, write_file, write_picture
from regrade.store.checkpoint_files import CheckpointArray, read_checkpoint_files
from regrade.store.checkpoint_folder import CheckpointManifest
from regrade.store.checkpoint_writer import CheckpointWriter
from regrade.store.folder import Store, Stored
from regrade.store.import_checkpoints import ImportedCheckpoints, import_checkpoints
from regrade.store.import_labels import ImportedLabels, import_labels
from regrade.store.import_mistakes import ImportedMistakes, import_mistakes
from regrade.store.import_people import ImportedPeople, import_people
from regrade.store.import_predictions import ImportedPredictions, import_predictions, manifest_of, store_answers
from regrade.store.import_slices import ImportedSlices, import_slices, keep_slices
from regrade.store.label_export import Authors, KnownAuthors, labels_as_file
from regrade.store.label_files import LabelFile, LabelFormat, read_label_file
from regrade.store.mistake_files import MistakeFormat, read_mistake_file
from regrade.store.partial_predictions import Part, PartialPredictions, joined, no_answers
from regrade.store.partial_signatures import PartialSignatures
from regrade.store.people_files import PeopleFile, PeopleFormat, read_people_file
from regrade.store.prediction_files import (
    Answers,
    PredictionFile,
    Spaces,
    answers_from_scores,
    read_prediction_file,
)
from regrade.store.prediction_folder import Manifest, Source
from regrade.store.review_files import Verdicts
from regrade.store.signature_folder import Signed
from regrade.store.slice_files import SliceFormat, read_slice_file

__all__ = [
    "Answers",
    "Authors",
    "CheckpointArray",
    "CheckpointManifest",
    "CheckpointWriter",
    "ImportedCheckpoints",
    "ImportedLabels",
    "ImportedMistakes",
    "ImportedPeople",
    "ImportedPredictions",
    "ImportedSlices",
    "KnownAuthors",
    "LabelFile",
    "LabelFormat",
    "Manifest",
    "MistakeFormat",
    "Part",
    "PartialPredictions",
    "PartialSignatures",
    "PeopleFile",
    "PeopleFormat",
    "PredictionFile",
    "Signed",
    "SliceFormat",
    "Source",
    "Spaces",
    "Store",
    "Stored",
    "Verdicts",
    "amended",
    "answers_from_scores",
    "check_folder",
    "import_checkpoints",
    "import_labels",
    "import_mistakes",
    "import_people",
    "import_predictions",
    "import_slices",
    "joined",
    "keep_slices",
    "labels_as_file",
    "manifest_of",
    "no_answers",
    "read_checkpoint_files",
    "read_label_file",
    "read_mistake_file",
    "read_people_file",
    "read_prediction_file",
    "read_slice_file",
    "replace_file",
    "replace_folder",
    "store_answers",
    "write_file",
    "write_picture",
]
