"""Measured accuracies are compared with published ones."""

import pytest

from regrade.core import Estimate, InputError
from regrade.models import PublishedAccuracies
from regrade.predict import check_published
from regrade.studies import Grade, GradeRow


def grade(**accuracies: float) -> Grade:
    rows = tuple(
        GradeRow(model, "all", Estimate(v, v - 0.004, v + 0.004, 50_000, "m"), None, None, None, None, 0, 0, 0, None)
        for model, v in accuracies.items()
    )
    return Grade("imagenet-val", None, None, None, rows, ())


PUBLISHED = PublishedAccuracies("imagenet-val", "a card", {"good": (0.75,), "off": (0.80, 0.81), "absent": (0.5,)})


def test_check_published_warns_about_a_distant_accuracy():
    check = check_published(grade(good=0.756, off=0.70, unknown=0.3), [PUBLISHED])
    assert check.published == {"good": (0.75,), "off": (0.80, 0.81)}
    assert len(check.warnings) == 1 and check.warnings[0].startswith("off: ")
    assert [row[0] for row in check.table().rows] == ["good", "off"]


def test_check_published_ignores_other_test_sets():
    elsewhere = PublishedAccuracies("imagenet-a", "a card", {"good": (0.75,)})
    with pytest.raises(InputError, match="--published"):
        check_published(grade(good=0.75), [elsewhere])
