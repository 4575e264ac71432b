"""Reading and writing other people's files: predictions, labels, slices, mistakes, decisions, answers, checkpoints."""

from regrade.formats.answer_counts import read_human_entropies
from regrade.formats.checkpoint_files import CheckpointArray, checkpoint_notes, read_checkpoint_files
from regrade.formats.decision_files import read_decision_file
from regrade.formats.file_predictions import FileClassSpaces, FilePredictions, PredictionFile, predictions_from_scores
from regrade.formats.label_export import Authors, LabelAuthors, labels_as_file
from regrade.formats.label_files import LabelFile, LabelFormat, read_label_file
from regrade.formats.mistake_files import MistakeFile, MistakeFormat, read_mistake_file
from regrade.formats.people_files import PeopleFile, PeopleFormat, read_people_file
from regrade.formats.prediction_files import read_prediction_file
from regrade.formats.slice_files import SliceFile, SliceFormat, read_slice_file

__all__ = [
    "Authors",
    "CheckpointArray",
    "FileClassSpaces",
    "FilePredictions",
    "LabelAuthors",
    "LabelFile",
    "LabelFormat",
    "MistakeFile",
    "MistakeFormat",
    "PeopleFile",
    "PeopleFormat",
    "PredictionFile",
    "SliceFile",
    "SliceFormat",
    "checkpoint_notes",
    "labels_as_file",
    "predictions_from_scores",
    "read_checkpoint_files",
    "read_decision_file",
    "read_human_entropies",
    "read_label_file",
    "read_mistake_file",
    "read_people_file",
    "read_prediction_file",
    "read_slice_file",
]
