"""Measured accuracies beside published ones."""

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


FIGURES = PublishedAccuracies("imagenet-val", "a card", {"good": (0.75,), "off": (0.80, 0.81), "absent": (0.5,)})


def test_what_is_far_from_its_published_figure_is_named():
    found = check_published(grade(good=0.756, off=0.70, unknown=0.3), [FIGURES])
    assert found.published == {"good": (0.75,), "off": (0.80, 0.81)}
    assert len(found.warnings) == 1 and found.warnings[0].startswith("off: ")
    assert [row[0] for row in found.table().rows] == ["good", "off"]


def test_figures_of_another_test_set_do_not_count():
    other = PublishedAccuracies("imagenet-a", "a card", {"good": (0.75,)})
    with pytest.raises(InputError, match="--published"):
        check_published(grade(good=0.75), [other])
