"""Metrics listed in regrade.toml are columns of Explore's table: users' own and calibration, with intervals."""

import sys

import pytest
from page_reader import parse_page
from playwright.sync_api import expect

import regrade

MODULE = """
from regrade.core import UndefinedError
from regrade.stats import proportion
from regrade.studies import GradeMetric

def sure_accuracy(images, *, confidence):
    sure = images.confidences() >= 0.2
    if not sure.any():
        raise UndefinedError("no prediction has a probability of 0.2")
    return proportion(int(images.correct[sure].sum()), int(sure.sum()), confidence=confidence)

METRIC = GradeMetric("top1", sure_accuracy, heading="accuracy where sure")  # has the name of another column
"""
METRICS = ["sure", "ece", "brier", "balanced-accuracy"]
ENTRY_POINTS = "[regrade.metrics]\nsure = users_metrics:METRIC\nabsent = no_such_package:METRIC\n"


@pytest.fixture(autouse=True)
def _installed_package(tmp_path, monkeypatch):
    """A user's package with metrics, as pip installs it."""
    about = tmp_path / "packages" / "users_metrics-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: users-metrics\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    (about.parent / "users_metrics.py").write_text(MODULE)
    monkeypatch.syspath_prepend(about.parent)
    yield
    sys.modules.pop("users_metrics", None)


@pytest.fixture
def workspace(workspace):
    """The workspace with metrics in its settings, and a model without scores."""
    settings = workspace.store.root / "regrade.toml"
    settings.write_text(settings.read_text().replace("metrics = []", f"metrics = {[*METRICS, 'absent']}"))
    target = workspace.store.test_set("digits")
    plain = workspace.store.root / "plain.csv"
    pairs = zip(target.ids, target.labels, strict=True)
    plain.write_text("image,plain\n" + "".join(f"{id},{label}\n" for id, label in pairs))
    workspace.models.import_predictions(plain, test_set="digits")
    return regrade.open(workspace.store.root)


def graded(workspace, **options):
    rows = workspace.grade("digits", metrics=METRICS, **options).rows
    return {row.model: row.values for row in rows if row.slice == next(iter(options.get("slices", ["all"])))}


def shown(estimate, *, percent=True, digits=1):
    values = [number * (100 if percent else 1) for number in (estimate.value, estimate.low, estimate.high)]
    return "{} [{}, {}]".format(*(f"{value:.{digits}f}" for value in values))


def test_users_metric_and_calibration_are_columns_with_intervals(workspace, visitor):
    page = parse_page(visitor("Rita").get("/explore", params={"set": "digits", "labels": "multi"}))
    assert page.rows[0][5:11] == [
        "multi-label, %",
        "calibration error, %",
        "accuracy where sure, %",
        "ECE, %",
        "Brier score",
        "balanced accuracy, %",
    ]
    for name, values in graded(workspace).items():
        cells, balanced = page.row(name)[7:11], shown(values["balanced-accuracy"])
        if name == "plain":
            assert cells == [*["–"] * 3, balanced]
        else:
            brier = shown(values["brier"], percent=False, digits=3)
            assert cells == [shown(values["top1"]), shown(values["ece"]), brier, balanced], name
    assert "ECE: 15 bins of equal width; intervals" in page.text
    assert "accuracy where sure: undefined for plain" in page.text


def test_metric_that_cannot_be_loaded_is_a_note(visitor):
    page = parse_page(visitor("Rita").get("/explore", params={"set": "digits"}))
    assert "the metric absent of regrade.toml is not shown: the metric 'absent' (no_such_package:METRIC)" in page.text
    assert page.row("alpha")


def test_metric_sorts_in_both_directions_with_undefined_values_last(workspace, visitor):
    rita, values = visitor("Rita"), graded(workspace)
    best_first = sorted((name for name in values if name != "plain"), key=lambda name: -values[name]["brier"].value)
    for sort, names in (("-metric:brier", best_first), ("metric:brier", best_first[::-1])):
        page = parse_page(rita.get("/explore", params={"set": "digits", "sort": sort}))
        assert [row[0] for row in page.rows[1:]] == [*names, "plain"]
    assert rita.get("/explore", params={"set": "digits", "sort": "metric:none"}).status_code == 404


def test_metrics_are_those_of_the_slice(workspace, visitor, tmp_path):
    target = workspace.store.test_set("digits")
    values = "".join(f"{id},{'yes' if place % 2 else 'no'}\n" for place, id in enumerate(target.ids))
    (tmp_path / "odd.csv").write_text(f"image,odd\n{values}")
    workspace.testsets.import_slices(tmp_path / "odd.csv", test_set="digits", name="odd")
    page = parse_page(visitor("Rita").get("/explore", params={"set": "digits", "slice": "odd:odd=yes"}))
    values = graded(workspace, slices=["odd:odd=yes"])["alpha"]
    assert shown(values["ece"]) in page.row("alpha")


@pytest.mark.parametrize("width", [1280, 820])
def test_metrics_are_sorted_by_a_click_and_fit_the_window(server, page_of, width):
    page = page_of(server, "Rita", width=width)
    page.goto("/explore?set=digits")
    page.get_by_role("link", name="Brier score").click()
    heading = page.get_by_role("columnheader", name="Brier score", exact=True)
    expect(heading).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_role("row").nth(1)).to_contain_text("gamma")
    expect(page.get_by_role("row").last).to_contain_text("plain")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
