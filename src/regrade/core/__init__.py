"""The core data types of regrade: immutable records that all other packages use."""

from regrade.core.answer_times import AnswerTimes
from regrade.core.checkpoints import Checkpoints, checkpoints_of
from regrade.core.class_map import ClassMap, MapRule, subset_map
from regrade.core.class_space import ClassSpace
from regrade.core.errors import (
    AlreadyStored,
    DamagedFile,
    DownloadError,
    ExecutorError,
    FormatError,
    ImageSourceError,
    InputError,
    LedgerDamaged,
    LedgerRefused,
    LedgerUnavailable,
    MismatchError,
    MissingExtra,
    ModelError,
    ReasonNeeded,
    RegradeError,
    StoreError,
    UndefinedError,
    UnknownName,
    UnreadableImage,
    VersionError,
    WriteError,
    refusal,
)
from regrade.core.estimate import Estimate
from regrade.core.fingerprints import FINGERPRINT, UNKNOWN_STAMP, Fingerprints, no_fingerprints
from regrade.core.hierarchy import Hierarchy
from regrade.core.hierarchy_distance import UNRELATED, Paths, Steps, hierarchy_distances
from regrade.core.images import FileStamp, Images, ImageSource, Orientation, StoredImage
from regrade.core.label_set import LabelSet, LabelState, Unlisted, own_labels
from regrade.core.mistake_annotations import (
    MistakeAnnotations,
    MistakeCategory,
    Severity,
    category_named,
    severity_named,
)
from regrade.core.model_spec import ModelSpec
from regrade.core.near_pairs import Distance, NearPairs
from regrade.core.novel_sample import NovelSample
from regrade.core.packed_texts import PackedTexts
from regrade.core.predictions import NO_ANSWER, PERSON_PREFIX, TIE_RULE, Answerer, Predictions, ScoreKind
from regrade.core.preprocessing import IMAGENET, CropMode, Interpolation, Preprocessing
from regrade.core.signatures import Signatures, joined_signatures
from regrade.core.slice_set import SliceSet
from regrade.core.table import Cell, Column, MappedRows, Table, Tabular
from regrade.core.test_set import UNLABELED, Example, TestSet

__all__ = [
    "FINGERPRINT",
    "IMAGENET",
    "NO_ANSWER",
    "PERSON_PREFIX",
    "TIE_RULE",
    "UNKNOWN_STAMP",
    "UNLABELED",
    "UNRELATED",
    "AlreadyStored",
    "AnswerTimes",
    "Answerer",
    "Cell",
    "Checkpoints",
    "ClassMap",
    "ClassSpace",
    "Column",
    "CropMode",
    "DamagedFile",
    "Distance",
    "DownloadError",
    "Estimate",
    "Example",
    "ExecutorError",
    "FileStamp",
    "Fingerprints",
    "FormatError",
    "Hierarchy",
    "ImageSource",
    "ImageSourceError",
    "Images",
    "InputError",
    "Interpolation",
    "LabelSet",
    "LabelState",
    "LedgerDamaged",
    "LedgerRefused",
    "LedgerUnavailable",
    "MapRule",
    "MappedRows",
    "MismatchError",
    "MissingExtra",
    "MistakeAnnotations",
    "MistakeCategory",
    "ModelError",
    "ModelSpec",
    "NearPairs",
    "NovelSample",
    "Orientation",
    "PackedTexts",
    "Paths",
    "Predictions",
    "Preprocessing",
    "ReasonNeeded",
    "RegradeError",
    "ScoreKind",
    "Severity",
    "Signatures",
    "SliceSet",
    "Steps",
    "StoreError",
    "StoredImage",
    "Table",
    "Tabular",
    "TestSet",
    "UndefinedError",
    "UnknownName",
    "Unlisted",
    "UnreadableImage",
    "VersionError",
    "WriteError",
    "category_named",
    "checkpoints_of",
    "hierarchy_distances",
    "joined_signatures",
    "no_fingerprints",
    "own_labels",
    "refusal",
    "severity_named",
    "subset_map",
]
