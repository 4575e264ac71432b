"""What the accuracies of a generalization study measure: top-k or multi-label accuracy, on all images or a slice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regrade.core.record import Record, json_key


@dataclass(frozen=True)
class AccuracyMeasure(Record):
    """The accuracy on both axes: that of the ``top`` classes, or against ``labels`` by the name of the test set.

    ``labels`` have versions, and ``rule`` says which of their judgments count as correct. ``slice`` restricts the
    images of both sets.
    """

    top: int = 1
    labels: Mapping[str, str] | None = field(default=None, metadata=json_key("labels", only_if_set=True))
    rule: str | None = field(default=None, metadata=json_key("rule", only_if_set=True))
    slice: str | None = field(default=None, metadata=json_key("slice", only_if_set=True))

    @property
    def name(self) -> str:
        """The accuracy in words: ``top-1``, ``top-5`` or ``multi-label accuracy``."""
        return "multi-label accuracy" if self.labels else f"top-{self.top}"

    @property
    def accuracy(self) -> str:
        """The accuracy in sentences; that of the best class is just ``accuracy``."""
        if self.labels:
            return self.name
        return "accuracy" if self.top == 1 else f"{self.name} accuracy"

    def images(self, test_set: str) -> str:
        """A test set with the slice, if there is one: ``val (dogs)``."""
        return f"{test_set} ({self.slice})" if self.slice else test_set

    def axis(self, test_set: str) -> str:
        """The title of an axis: ``val, slice dogs, top-1 in %``."""
        return f"{self.images(test_set)}, {self.name} in %"

    def place(self, test_set: str) -> str:
        """The images of a test set, for headings: ``val, slice dogs, against real@1``."""
        part = f", slice {self.slice}" if self.slice else ""
        against = f", against {self.labels[test_set]}" if self.labels else ""
        return f"{test_set}{part}{against}"

    def of_both(self, original: str, new: str) -> str:
        """The two sets and the slice, for headings."""
        part = f", slice {self.slice}" if self.slice else ""
        against = "" if self.name == TOP1.name else f", {self.name}"
        return f"{original} and {new}{part}{against}"


TOP1 = AccuracyMeasure()
"""Top-1 accuracy on all images."""
