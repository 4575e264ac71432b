"""The record of the study of audits: its options, and the stored audits that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from regrade.core import InputError
from regrade.core.label_set import without_version
from regrade.studies.label_audit.analysis import LabelAudits, audit_result
from regrade.studies.study import Study, StudyOptions, labels_option, option, test_set_option

if TYPE_CHECKING:
    from regrade.store import Store


@dataclass(frozen=True)
class LabelAuditOptions(StudyOptions):
    """Which audits."""

    test_set: str = test_set_option()
    labels: str | None = labels_option("Only audits of this label set: NAME or NAME@VERSION (default: all).")
    name: str | None = option("Only this audit, by the name of its queue.", None)


def run(store: Store, options: LabelAuditOptions) -> LabelAudits:
    """The audits of the labels of a test set, with the share of labels that people decided to be wrong."""
    test_set, confidence = store.test_set(options.test_set), store.config.confidence
    names = store.audits.names(test_set.name) if options.name is None else (options.name,)
    audits = [store.audits.read(test_set, name) for name in names]
    if options.labels is not None:
        named_labels = {options.labels, store.labels.read(test_set, options.labels).full_name}
        is_versioned = without_version(options.labels) != options.labels
        audits = [
            audit
            for audit in audits
            if (audit.labels if is_versioned else without_version(audit.labels)) in named_labels
        ]
    if not audits:
        of_labels = f" {options.labels}" if options.labels else ""
        raise InputError(f"the labels{of_labels} of {test_set.name} were not audited yet: run regrade review audit")
    results = tuple(audit_result(audit, confidence=confidence) for audit in audits)
    return LabelAudits(test_set.name, tuple(sorted(results, key=lambda row: (row.labels, row.audit))), confidence)


LABEL_AUDIT = Study(
    name="audit",
    question="How many of the labels that all models agree with are wrong?",
    summary="Show the audits of the labels that all models predict: the share that is wrong, unclear or problematic."
    "\n\n`regrade review audit` draws them at random for people to judge, and `regrade review publish` stores the "
    "decisions.",
    options=LabelAuditOptions,
    result=LabelAudits,
    run=run,
)
"""The audits of labels that all models agree with."""
