"""Metrics by name: built-in ones, those of installed packages, and those listed in regrade.toml."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

import regrade
from regrade.core import Estimate, InputError, UnknownName
from regrade.studies import GradeMetric
from regrade.studies.grade import metric_registry
from regrade.studies.grade.metric_registry import GROUP, installed_metrics
from regrade.studies.grade.metrics import BUILT_IN


def images_graded(images, *, confidence):
    return Estimate(float(len(images.labels)), 0.0, 100.0, len(images.labels), f"count {confidence:g}")


RECORD = GradeMetric("record", images_graded, heading="images graded", percent=False, digits=0)
NUMBER = 3


@pytest.fixture
def offered(monkeypatch):
    """Entry points as an installed package would declare them."""
    entries = [
        EntryPoint("record", f"{__name__}:RECORD", GROUP),
        EntryPoint("function", f"{__name__}:images_graded", GROUP),
        EntryPoint("number", f"{__name__}:NUMBER", GROUP),
        EntryPoint("missing", "no_such_package:METRIC", GROUP),
        EntryPoint("ece", f"{__name__}:RECORD", GROUP),
    ]
    monkeypatch.setattr(EntryPoint, "load", _load)
    monkeypatch.setattr(metric_registry, "entry_points", lambda *, group: entries if group == GROUP else [])


def _load(entry):
    if entry.module != __name__:
        raise ModuleNotFoundError(f"No module named {entry.module!r}")
    return globals()[entry.attr]


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "pets.csv").write_text("image,label,net\na,cat,cat\nb,dog,cat\nc,dog,dog\n")
    (tmp_path / "classes.csv").write_text("id,name\ncat,cat\ndog,dog\n")
    opened = regrade.init(tmp_path / "study")
    opened.models.import_predictions(tmp_path / "pets.csv", test_set="pets", classes=tmp_path / "classes.csv")
    opened.models.add_predictions("scored", np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), test_set="pets")
    return opened


@pytest.mark.usefixtures("offered")
def test_built_in_names_cannot_be_replaced():
    assert installed_metrics()["ece"].heading == "ECE"
    assert len(installed_metrics()) == len(list(installed_metrics())) == len(BUILT_IN) + 4


def test_built_in_metrics_do_not_search_the_installed_packages(workspace, monkeypatch):
    def refuse(*, group):
        raise AssertionError(f"{group} was searched")

    monkeypatch.setattr(metric_registry, "entry_points", refuse)
    assert workspace.grade("pets", models=["scored"], metrics=["brier"]).rows
    with pytest.raises(AssertionError, match="was searched"):
        workspace.grade("pets", metrics=["unknown"])


@pytest.mark.usefixtures("offered")
def test_grade_uses_the_metrics_of_installed_packages(workspace):
    graded = workspace.grade("pets", models=["scored"], metrics=["record", "function", "brier"])
    (row,) = graded.rows
    assert {name: estimate.value for name, estimate in row.values.items()} == {
        "record": 3,
        "function": 3,
        "brier": pytest.approx(
            (2 * 0.1**2 + 2 * 0.6**2 + 2 * 0.2**2) / 3, abs=1e-3
        ),  # scores are stored in half precision
    }
    assert [column.heading for column in graded.table().columns][-3:] == ["images graded", "function", "Brier score"]


@pytest.mark.usefixtures("offered")
def test_metrics_that_cannot_be_loaded_are_errors_in_one_line(workspace):
    for name, message in (
        ("number", "must be a GradeMetric or a function"),
        ("missing", r"cannot be loaded: No module named 'no_such_package'"),
    ):
        with pytest.raises(InputError, match=message):
            workspace.grade("pets", metrics=[name])
    with pytest.raises(UnknownName, match="did you mean record"):
        workspace.grade("pets", metrics=["recrd"])


def test_grade_names_models_without_the_scores_a_metric_requires(workspace):
    graded = workspace.grade("pets", metrics=["nll"])
    assert "NLL: undefined for net; it may require stored scores of all classes" in graded.notes
    assert {row.model: set(row.values) for row in graded.rows} == {"net": set(), "scored": {"nll"}}


def test_metrics_in_the_settings_are_part_of_every_grade(workspace):
    settings = workspace.store.root / "regrade.toml"
    settings.write_text(settings.read_text().replace("metrics = []", 'metrics = ["ece"]'))
    opened = regrade.open(workspace.store.root)
    assert [metric.name for metric in opened.grade("pets").metrics] == ["ece"]
    assert opened.grade("pets", metrics=[]).metrics == ()
    settings.write_text(settings.read_text().replace('["ece"]', '"ece"'))
    with pytest.raises(InputError, match="metrics must be a list of names"):
        regrade.open(workspace.store.root)
