"""The core data types of regrade: immutable records that all other packages use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from regrade.core.checkpoints import Checkpoints, checkpoints_of
    from regrade.core.class_space import ClassMap, ClassSpace, Hierarchy, MapRule, subset_map
    from regrade.core.errors import (
        AlreadyStored,
        ChangedImage,
        DamagedFile,
        DownloadError,
        DownloadInterrupted,
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
        TooManyImages,
        UndefinedError,
        UnknownName,
        UnreadableImage,
        VersionError,
        WriteError,
        refusal,
    )
    from regrade.core.estimate import Estimate
    from regrade.core.hierarchy_distance import UNRELATED, Paths, Steps, hierarchy_distances
    from regrade.core.image_pairs import ImagePair, PairDecision, PairSearch, PairSide
    from regrade.core.images import (
        FINGERPRINT,
        UNKNOWN_STAMP,
        FileStamp,
        Fingerprints,
        Images,
        ImageSource,
        Orientation,
        StoredImage,
        no_fingerprints,
    )
    from regrade.core.label_audit import LabelAudit
    from regrade.core.label_set import LabelSet, LabelState, Unlisted, own_labels
    from regrade.core.ladder import Ladder, Submission
    from regrade.core.mistake_annotations import (
        MistakeAnnotations,
        MistakeCategory,
        ReusedFrom,
        Severity,
        category_named,
        severity_named,
    )
    from regrade.core.model_attributes import (
        ATTRIBUTES,
        AttributeChange,
        DescribedModels,
        ModelAttributes,
        described_models,
    )
    from regrade.core.model_spec import IMAGENET, CropMode, Interpolation, ModelSpec, Preprocessing
    from regrade.core.near_duplicates import Distance, NearPairs, Signatures, joined_signatures
    from regrade.core.novel_sample import NovelSample, ReviewDecisions, StratifyBy
    from regrade.core.predictions import (
        NO_ANSWER,
        PERSON_PREFIX,
        STORED_K,
        TIE_RULE,
        Answerer,
        AnswerTimes,
        Predictions,
        ScoreKind,
    )
    from regrade.core.table import Cell, Column, MappedRows, Table, Tabular
    from regrade.core.test_set import UNLABELED, Example, PackedTexts, SliceSet, TestSet
    from regrade.core.ties import Ties, joined_ties

__all__ = [
    "ATTRIBUTES",
    "FINGERPRINT",
    "IMAGENET",
    "NO_ANSWER",
    "PERSON_PREFIX",
    "STORED_K",
    "TIE_RULE",
    "UNKNOWN_STAMP",
    "UNLABELED",
    "UNRELATED",
    "AlreadyStored",
    "AnswerTimes",
    "Answerer",
    "AttributeChange",
    "Cell",
    "ChangedImage",
    "Checkpoints",
    "ClassMap",
    "ClassSpace",
    "Column",
    "CropMode",
    "DamagedFile",
    "DescribedModels",
    "Distance",
    "DownloadError",
    "DownloadInterrupted",
    "Estimate",
    "Example",
    "ExecutorError",
    "FileStamp",
    "Fingerprints",
    "FormatError",
    "Hierarchy",
    "ImagePair",
    "ImageSource",
    "ImageSourceError",
    "Images",
    "InputError",
    "Interpolation",
    "LabelAudit",
    "LabelSet",
    "LabelState",
    "Ladder",
    "LedgerDamaged",
    "LedgerRefused",
    "LedgerUnavailable",
    "MapRule",
    "MappedRows",
    "MismatchError",
    "MissingExtra",
    "MistakeAnnotations",
    "MistakeCategory",
    "ModelAttributes",
    "ModelError",
    "ModelSpec",
    "NearPairs",
    "NovelSample",
    "Orientation",
    "PackedTexts",
    "PairDecision",
    "PairSearch",
    "PairSide",
    "Paths",
    "Predictions",
    "Preprocessing",
    "ReasonNeeded",
    "RegradeError",
    "ReusedFrom",
    "ReviewDecisions",
    "ScoreKind",
    "Severity",
    "Signatures",
    "SliceSet",
    "Steps",
    "StoreError",
    "StoredImage",
    "StratifyBy",
    "Submission",
    "Table",
    "Tabular",
    "TestSet",
    "Ties",
    "TooManyImages",
    "UndefinedError",
    "UnknownName",
    "Unlisted",
    "UnreadableImage",
    "VersionError",
    "WriteError",
    "category_named",
    "checkpoints_of",
    "described_models",
    "hierarchy_distances",
    "joined_signatures",
    "joined_ties",
    "no_fingerprints",
    "own_labels",
    "refusal",
    "severity_named",
    "subset_map",
]

_HOME = {
    "regrade.core.checkpoints": "Checkpoints checkpoints_of",
    "regrade.core.class_space": "ClassMap ClassSpace Hierarchy MapRule subset_map",
    "regrade.core.errors": (
        "AlreadyStored ChangedImage DamagedFile DownloadError DownloadInterrupted ExecutorError FormatError "
        "ImageSourceError InputError LedgerDamaged LedgerRefused LedgerUnavailable MismatchError MissingExtra "
        "ModelError ReasonNeeded RegradeError StoreError TooManyImages UndefinedError UnknownName "
        "UnreadableImage VersionError WriteError refusal"
    ),
    "regrade.core.estimate": "Estimate",
    "regrade.core.hierarchy_distance": "UNRELATED Paths Steps hierarchy_distances",
    "regrade.core.image_pairs": "ImagePair PairDecision PairSearch PairSide",
    "regrade.core.images": (
        "FINGERPRINT UNKNOWN_STAMP FileStamp Fingerprints Images ImageSource Orientation StoredImage no_fingerprints"
    ),
    "regrade.core.label_audit": "LabelAudit",
    "regrade.core.label_set": "LabelSet LabelState Unlisted own_labels",
    "regrade.core.ladder": "Ladder Submission",
    "regrade.core.mistake_annotations": (
        "MistakeAnnotations MistakeCategory ReusedFrom Severity category_named severity_named"
    ),
    "regrade.core.model_attributes": "ATTRIBUTES AttributeChange DescribedModels ModelAttributes described_models",
    "regrade.core.model_spec": "IMAGENET CropMode Interpolation ModelSpec Preprocessing",
    "regrade.core.near_duplicates": "Distance NearPairs Signatures joined_signatures",
    "regrade.core.novel_sample": "NovelSample ReviewDecisions StratifyBy",
    "regrade.core.predictions": (
        "NO_ANSWER PERSON_PREFIX STORED_K TIE_RULE Answerer AnswerTimes Predictions ScoreKind"
    ),
    "regrade.core.table": "Cell Column MappedRows Table Tabular",
    "regrade.core.test_set": "UNLABELED Example PackedTexts SliceSet TestSet",
    "regrade.core.ties": "Ties joined_ties",
}

if not TYPE_CHECKING:  # type checkers then find misspelled names
    __getattr__, __dir__ = lazy_names(globals(), _HOME)
