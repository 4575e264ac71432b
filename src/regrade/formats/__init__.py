"""Reading and writing other people's files: predictions, labels, slices, mistakes, models, answers and more."""

from regrade.formats.answer_counts import read_human_entropies
from regrade.formats.checkpoint_files import CheckpointArray, checkpoint_notes, read_checkpoint_files
from regrade.formats.decision_files import read_decision_file
from regrade.formats.file_predictions import FileClassSpaces, FilePredictions, PredictionFile, predictions_from_scores
from regrade.formats.label_export import Authors, LabelAuthors, labels_as_file
from regrade.formats.label_files import LabelFile, LabelFormat, read_label_file
from regrade.formats.mistake_files import MistakeFile, MistakeFormat, read_mistake_file
from regrade.formats.model_files import MODEL_COLUMNS, ModelFormat, read_model_file
from regrade.formats.people_files import PeopleFile, PeopleFormat, read_people_file
from regrade.formats.prediction_arrays import (
    ArrayClasses,
    PredictionKind,
    complete_labels,
    given_classes,
    inferred_classes,
    kind_of,
    no_labels,
    predictions_from_array,
)
from regrade.formats.prediction_files import read_prediction_file
from regrade.formats.prediction_table import read_prediction_table
from regrade.formats.slice_files import SliceFile, SliceFormat, read_slice_file
from regrade.formats.vocabulary_files import read_vocabulary
from regrade.formats.zoo_names import Zoo, attributes_of_name, source_of_name, zoo_of

__all__ = [
    "MODEL_COLUMNS",
    "ArrayClasses",
    "Authors",
    "CheckpointArray",
    "FileClassSpaces",
    "FilePredictions",
    "LabelAuthors",
    "LabelFile",
    "LabelFormat",
    "MistakeFile",
    "MistakeFormat",
    "ModelFormat",
    "PeopleFile",
    "PeopleFormat",
    "PredictionFile",
    "PredictionKind",
    "SliceFile",
    "SliceFormat",
    "Zoo",
    "attributes_of_name",
    "checkpoint_notes",
    "complete_labels",
    "given_classes",
    "inferred_classes",
    "kind_of",
    "labels_as_file",
    "no_labels",
    "predictions_from_array",
    "predictions_from_scores",
    "read_checkpoint_files",
    "read_decision_file",
    "read_human_entropies",
    "read_label_file",
    "read_mistake_file",
    "read_model_file",
    "read_people_file",
    "read_prediction_file",
    "read_prediction_table",
    "read_slice_file",
    "read_vocabulary",
    "source_of_name",
    "zoo_of",
]
