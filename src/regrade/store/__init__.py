"""The workspace on disk: plain files, each written whole and once."""

from regrade.store.class_columns import Reading
from regrade.store.examples import Columns, Examples, read_examples
from regrade.store.folder import Store, Stored
from regrade.store.import_labels import ImportedLabels, import_labels
from regrade.store.import_predictions import ImportedPredictions, import_predictions
from regrade.store.label_files import LabelFormat, read_label_file
from regrade.store.prediction_files import Answers, PredictionFile, Spaces, read_prediction_file
from regrade.store.tables import read_table

__all__ = [
    "Answers",
    "Columns",
    "Examples",
    "ImportedLabels",
    "ImportedPredictions",
    "LabelFormat",
    "PredictionFile",
    "Reading",
    "Spaces",
    "Store",
    "Stored",
    "import_labels",
    "import_predictions",
    "read_examples",
    "read_label_file",
    "read_prediction_file",
    "read_table",
]
