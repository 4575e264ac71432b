"""The figure of a mistakes study: its panels, every format, and sparse data."""

import itertools

import mistake_world as world
import pytest
from mistake_world import A, predictions, studied

from regrade.core import UndefinedError
from regrade.studies import figure


def values(spec, place, layer=0):
    """The rows of data of a panel, its own or those of one of its layers."""
    panel = spec["vconcat"][place]
    data = panel.get("data") or panel["layer"][layer]["data"]
    return data["values"] if "values" in data else spec["datasets"][data["name"]]


@pytest.fixture(scope="module")
def reviewed():
    return figure(studied(frame=world.verdicts()))


@pytest.mark.parametrize("ending", [".html", ".svg", ".png", ".pdf", ".json"])
def test_every_format(reviewed, tmp_path, ending):
    path = reviewed.save(tmp_path / f"m{ending}")
    assert path.stat().st_size > 1000


def test_panels_contain_the_counts():
    drawn = figure(studied())
    spec = drawn.spec
    assert len(spec["vconcat"]) == 4
    bars = [row for row in values(spec, 0) if row["model"] == "a (7)"]
    assert [row["count"] for row in bars] == [1, 2, 1, 1, 1, 1]
    assert bars[0]["start"] == 0 and bars[-1]["end"] == 100
    assert all(left["end"] == right["start"] for left, right in itertools.pairwise(bars))
    borders = values(spec, 0, layer=1)
    assert all(row["value_low"] <= row["value"] <= row["value_high"] for row in borders)
    shares = [row for row in values(spec, 1) if row["review"] == "a" and row["category"] == "fine-grained"]
    assert shares[0]["value"] == pytest.approx(33.33, abs=0.01)
    assert {row["distance"] for row in values(spec, 3)} == {"1", "3"}


def test_title_states_the_finding():
    first = studied(predictions("a", A))
    assert figure(first).alt == (
        "29% of a's 7 errors under the original labels are correct under the new ones; "
        "an automatic triage leaves 14% unexplained."
    )


def test_many_models_are_reduced_to_twelve():
    many = [predictions(f"m{i:02}", A) for i in range(30)]
    names = {row["model"] for row in values(figure(studied(*many)).spec, 0)}
    assert len(names) == 12 and {"m00 (7)", "m29 (7)"} <= names


def test_without_reviews_and_without_predictions():
    assert len(figure(studied(reviews=())).spec["vconcat"]) == 1
    reviews_only = studied(predictions("perfect", world.OWN))
    drawn = figure(reviews_only)
    assert len(drawn.spec["vconcat"]) == 3
    assert drawn.alt == "Reviewers call 2 of 3 mistakes of a major."


def test_figure_without_mistakes_raises():
    with pytest.raises(UndefinedError, match="no mistake on dozen"):
        figure(studied(predictions("perfect", world.OWN), reviews=()))
