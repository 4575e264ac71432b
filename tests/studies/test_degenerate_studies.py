"""Every study of the registry on degenerate data: one clear line, or valid intervals."""

import json
import math
from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import partial
from unittest import mock

import numpy as np
import pytest
from PIL import Image

import regrade
from regrade.core import InputError, RegradeError
from regrade.studies import ReportData, all_studies, findings
from regrade.studies.geography.analysis import geography

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
IMAGES = 24
CASES = {
    "one model": {"models": 1},
    "one image": {"images": 1},
    "all right": {"wrong": 0.0},
    "all wrong": {"wrong": 1.0},
    "identical models": {"identical": True},
    "overlapping sets": {"prefix": "shared"},
    "NaN scores": {"nan": True},
    "a slice of one image": {"lone": True},
    "zero votes": {},
}
REQUIRED = {
    "test_set": "old",
    "labels": "own",
    "original": "old",
    "new": ("new",),
    "by": "region",
    "before": "own",
    "after": "second",
    "test_sets": ("old", "new"),
}
"""A value of every option without a default; a study with another one needs a line here."""
MORE = (
    {"labels": "own"},
    {"slice": "region=south"},
    {"slices": ("region", "region=south")},
    {"against": "new"},
    {"against": "m0"},
    {"original": "old", "standard": ("new",)},
    {"unlabeled": "new"},
    {"equivalence": 0.05},
    {"metrics": ("ece", "adaptive-ece", "brier", "nll")},
    {"bootstrap": True},
    {"test_set": "corrupted", "clean": "old"},
    {"test_set": "new", "by": "country", "original": "old", "growth": None},
    {"test_sets": ("old", "new"), "baseline": "m0", "remedies": ("m1", "m2")},
    {"test_sets": ("old",), "by": "region", "baseline": "m0", "remedies": ("m1", "m2"), "slices": ("region=south",)},
)
"""Further options, for the studies that have all of them."""
RULES = {
    "candidate": "m1", "baseline": "m0", "test_sets": ("old",), "margin": 0.01, "slice_margins": {"region": 0.02},
    "floors": {"all": 0.5, "region": 0.5}, "max_negative_flips": 0.1,
    "at_most": {"ece": 0.2}, "at_least": {"top-5": 0.5},
}  # fmt: skip
"""Rules of a gate, which has none by default."""


def scores_of(labels, *, models, wrong, identical, seed=1):
    """Probabilities (n, 10) of each model; ``wrong`` is the share of errors, by default a different one per model."""
    rng, result = np.random.default_rng(seed), []
    for model in range(models):
        errors = rng.random(len(labels)) < (0.2 + 0.2 * model if wrong is None else wrong)
        scores = 0.1 * rng.random((len(labels), 10))
        scores[np.arange(len(labels)), np.where(errors, (labels + 1) % 10, labels)] += 2
        result.append(result[0] if identical and result else scores / scores.sum(axis=1, keepdims=True))
    return result


def add_set(
    workspace, folder, name, *, images=IMAGES, prefix="", lone=False, models=3, wrong=None, identical=False, nan=False
):
    """A test set with images, groups and corruptions, and models; with ``lone``, one image is in the south."""
    labels = np.arange(images) % 10
    lines = ["path,image,label,region,country,corruption,severity"]
    for row, label in enumerate(labels):
        image, south = f"{prefix or name}{row}", row == 0 if lone else row % 3 == 0
        pixels = np.random.default_rng(row if prefix else row + 1000 * len(name)).integers(0, 255, (32, 32, 3))
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{name}{row}.png")
        place = "south,Chile" if south else "north,Norway"
        lines.append(f"{name}{row}.png,{image},{CLASSES[label]},{place},{('fog', 'snow')[row % 2]},{1 + row % 5}")
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    columns = regrade.tables.Columns(id="image", groups=("region", "country", "corruption", "severity"))
    workspace.testsets.add(name, folder / f"{name}.csv", classes="cifar-10", columns=columns)
    seed = 1 if prefix else len(name)
    scores = scores_of(labels, models=models, wrong=wrong, identical=identical, seed=seed)
    for number, model in enumerate(scores):
        workspace.models.add_predictions(f"m{number}", model, test_set=name)
    epochs = [[model, model[:, ::-1]] for model in (scores * 2)[:2]]
    workspace.models.add_checkpoints("ensemble", epochs, test_set=name, kind="probabilities")
    if nan:
        scores[0][0, 0] = np.nan
        with pytest.raises(InputError, match=r"NaN|finite|not a number"):
            workspace.models.add_predictions("broken", scores[0], test_set=name)
        with pytest.raises(InputError, match=r"NaN|finite|not a number"):
            workspace.models.add_checkpoints("broken", [[scores[0]]], test_set=name, kind="probabilities")


def add_people(workspace, folder, wrong, identical):
    test_set = workspace.store.test_set("old")
    answers = scores_of(test_set.labels, models=2, wrong=wrong, identical=identical)
    lines = ["image,class,person"]
    for person, scores in zip(("Ada", "Ben"), answers, strict=True):
        chosen = scores.argmax(axis=1)
        lines += [f"{image},{CLASSES[answer]},{person}" for image, answer in zip(test_set.ids, chosen, strict=True)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    workspace.models.import_people(folder / "people.csv", test_set="old")


def add_labels(workspace, folder):
    """A label set that nobody has reviewed, and another one."""
    workspace.labels.create("old", name="own")
    test_set = workspace.store.test_set("old")
    lines = ["image,label"]
    for row, (image, label) in enumerate(zip(test_set.ids, test_set.labels.tolist(), strict=True)):
        lines.append(f"{image},{CLASSES[(label + (row % 4 == 0)) % 10]}")
    (folder / "second.csv").write_text("\n".join(lines) + "\n")
    workspace.labels.import_file(folder / "second.csv", test_set="old", name="second", complete=True)


@pytest.fixture(scope="module", autouse=True)
def _few_draws():
    """Bootstraps of 200 draws of models; their number does not matter here."""
    with (
        mock.patch("regrade.studies.geography.study.geography", partial(geography, draws=200)),
        mock.patch("regrade.studies.generalization.study.DRAWS", 200),
    ):
        yield


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def workspace(case, tmp_path_factory):
    """Three test sets with models, an ensemble, people, two label sets and a queue that nobody has voted on."""
    folder, options = tmp_path_factory.mktemp("degenerate"), CASES[case]
    result = regrade.init(folder / "W")
    for name in ("old", "new", "corrupted"):
        add_set(result, folder, name, **options)
    add_people(result, folder, options.get("wrong"), options.get("identical", False))
    add_labels(result, folder)
    return result


def option_sets(study, workspace) -> Iterator[object]:
    """The options of a study: its required ones, further ones, and those of its chapters in a report."""
    names = {field.name: field for field in fields(study.option_class)}
    required = {name: _required_value(field) for name, field in names.items() if _is_required(field)}
    required |= RULES if study.name == "gate" else {}
    yield study.options(**required)
    for more in MORE:
        if more.keys() <= names.keys():
            several = {name for name in more if names[name].default == () and isinstance(more[name], str)}
            yield study.options(**{**required, **more, **{name: (more[name],) for name in several}})
    for original in (None, "new"):
        for chapter in study.chapters(ReportData(workspace.store, original=original)):
            yield chapter.options


def _required_value(field) -> object:
    """The value of a required option; the first one if it takes only one."""
    value = REQUIRED[field.name]
    return value[0] if isinstance(value, tuple) and field.type == "str" else value


def _is_required(field) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def refused(constant: str) -> float:
    raise AssertionError(f"{constant} in JSON")


def estimates(node: object, place: str = "") -> Iterator[tuple[str, dict]]:
    """Every value with an interval in a JSON document, with its place."""
    if isinstance(node, dict):
        if {"value", "low", "high"} <= node.keys():
            yield place, node
        for key, part in node.items():
            yield from estimates(part, f"{place}.{key}")
    for part in node if isinstance(node, list) else ():
        yield from estimates(part, f"{place}[]")


def assert_valid(content: object) -> None:
    """Assert that a document is strict JSON, and that every interval contains its value and has a width."""
    text = json.dumps(content, allow_nan=False)
    for place, estimate in estimates(json.loads(text, parse_constant=refused)):
        low, value, high = (estimate[key] for key in ("low", "value", "high"))
        if isinstance(value, list):  # matrices of pairs have their own tests
            continue
        if None in (low, value, high):  # a ratio without bounds
            continue
        if low == high and estimate["method"].startswith("bootstrap over models"):  # models exactly on a line
            continue
        assert all(map(math.isfinite, (low, value, high))), (place, estimate)
        assert low <= value + 1e-9 and value <= high + 1e-9 and low < high, (place, estimate)


def assert_clear(error: RegradeError) -> None:
    """Assert that an error is one line that says something."""
    text = str(error)
    assert len(text) > 15 and "\n" not in text and "nan" not in text.lower(), text


def plan_review(workspace):
    return workspace.plan.review(["m0", "m1"], test_set="old", labels="own")


def panel_agreement(workspace):
    workspace.review.queue_labels("old")
    return workspace.review.agreement(workspace.ledger.queues.all()[0].name)


OTHER_RESULTS = {
    "plan accuracy": lambda workspace: workspace.plan.accuracy(0.02, test_set="old", labels="own"),
    "plan difference": lambda workspace: workspace.plan.difference(test_set="old"),
    "plan rank": lambda workspace: workspace.plan.rank(test_set="old", slice="region=south"),
    "plan disparity": lambda workspace: workspace.plan.disparity(test_set="old", by="region"),
    "plan review": plan_review,
    "review agreement": panel_agreement,
}


@pytest.mark.parametrize("name", OTHER_RESULTS)
def test_result_has_valid_intervals_or_one_line(workspace, name):
    try:
        result = OTHER_RESULTS[name](workspace)
    except RegradeError as error:
        assert_clear(error)
        return
    assert_valid(result.as_dict())
    assert "nan" not in str(result.table()).lower()


@pytest.mark.parametrize("study", all_studies(), ids=lambda study: study.name)
def test_study_gives_valid_intervals_or_one_line(workspace, study):
    for options in {repr(options): options for options in option_sets(study, workspace)}.values():
        try:
            result = study.run(workspace.store, options)
        except RegradeError as error:
            assert_clear(error)
            continue
        assert_valid(result.as_dict())
        for finding in study.findings(result):
            assert "nan" not in finding.text.lower().split(), finding
        result.table()
        if study.figure is not None:
            try:
                study.figure(result)
            except RegradeError as error:
                assert_clear(error)


def test_errors_that_no_one_judged_are_not_called_wrong(workspace):
    """The label set holds the original labels only, so that nobody has judged any other prediction."""
    headlines = [finding.headline for finding in findings(workspace.study.mistakes("old", "own"))]
    assert not any(headline.startswith("None of the best model's errors") for headline in headlines)
