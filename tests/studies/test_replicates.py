"""Grades of replicates: the mean over the seeds of a method, with intervals over seeds and images."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import run, run_well
from scipy import stats

import regrade
from regrade.core import InputError
from regrade.studies.grade.findings import grade_findings


def predictions(correct, labels):
    """Predicted classes (n,) that are right where ``correct`` (n,) is true."""
    return np.where(correct, labels, (labels + 1) % 3)


def graded(correct, **options):
    labels = np.arange(correct.shape[1]) % 3
    models = {f"net-s{seed}": predictions(row, labels) for seed, row in enumerate(correct)}
    return regrade.grade(labels, models, replicates=["net-s*"], **options)


def test_mean_and_deviation_by_hand():
    correct = np.array([[1, 1, 1, 0], [1, 0, 0, 0]], dtype=bool)
    (row,) = graded(correct).rows
    assert (row.model, row.seeds, row.top1.value, row.top1.n) == ("net-s*", 2, 0.5, 4)
    assert row.deviation == pytest.approx(np.sqrt(2) / 4)  # of 3/4 and 1/4
    assert (row.top1.low, row.top1.high) == (0.0, 1.0)  # t with one degree of freedom is wide, within [0, 1]


def test_interval_matches_a_plain_restatement():
    """Variance over seeds with the t quantile, plus what all seeds share over images with the normal quantile."""
    rng = np.random.default_rng(3)
    difficulty = rng.normal(size=400)
    correct = np.array([difficulty + rng.normal(size=400) + skill > 0 for skill in rng.normal(0.8, 0.1, 6)])
    (row,) = graded(correct).rows
    accuracies, shared = correct.mean(axis=1), np.cov(correct) / 400
    over_seeds = accuracies.var(ddof=1) / 6
    of_single_seeds = (np.trace(shared) / 6 - shared.mean()) / 5
    half = np.sqrt(
        stats.t.ppf(0.975, 5) ** 2 * over_seeds + stats.norm.ppf(0.975) ** 2 * (shared.mean() - of_single_seeds)
    )
    assert row.top1.value == pytest.approx(accuracies.mean())
    assert row.top1.half_width == pytest.approx(half, rel=1e-3)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_order_of_seeds_and_images_does_not_matter(seed, seeds):
    rng = np.random.default_rng(seed)
    correct = rng.random((seeds, 30)) < 0.6
    first = graded(correct).rows[0]
    for again in (correct[rng.permutation(seeds)], correct[:, rng.permutation(30)]):
        row = graded(again).rows[0]
        assert (row.top1.low, row.top1.high) == pytest.approx((first.top1.low, first.top1.high))
        assert row.deviation == pytest.approx(first.deviation)
    assert 0 <= first.top1.low <= first.top1.value <= first.top1.high <= 1


def test_interval_is_wider_than_that_of_images_alone_if_seeds_vary():
    rng = np.random.default_rng(4)
    correct = np.array([rng.random(2000) < share for share in (0.5, 0.6, 0.7, 0.8)])
    (row,) = graded(correct).rows
    alone = regrade.grade(np.zeros(2000, dtype=int), predictions(correct[1], np.zeros(2000, dtype=int))).rows[0]
    assert row.top1.half_width > 3 * alone.top1.half_width


def test_replicates_have_slices_and_stand_next_to_single_models():
    labels = np.arange(60) % 3
    models = {
        "net-s1": labels,
        "net-s2": predictions(np.arange(60) < 30, labels),
        "vit": predictions(labels > 0, labels),
    }
    halves = {"half": ["left"] * 30 + ["right"] * 30}
    result = regrade.grade(labels, models, replicates=["net-s*"], groups=halves)
    assert [(row.model, row.slice) for row in result][:4] == [
        ("net-s*", "all"), ("net-s*", "half=left"), ("net-s*", "half=right"), ("vit", "all"),
    ]  # fmt: skip
    assert result["net-s*", "half=right"].top1.value == 0.5 and result["net-s*", "half=left"].top1.value == 1
    assert "2 together" in result["net-s*", "half=left"].top1.method
    assert result["vit"].seeds is None and "seeds" not in result.as_dict()["rows"][3]
    assert "SD over seeds" in str(result) and result.figure().alt.startswith("Accuracies of 2 models")
    assert all("net-s" not in finding.text for finding in grade_findings(result))


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (["vit"], "'vit' are a single model"),
        (["net-s*", "net*"], "net-s1 belongs to two replicates, 'net-s\\*' and 'net\\*'"),
        (["resnet*"], "no model on test set matches 'resnet\\*'; there are net-s1, net-s2"),
        ("net-s*", "replicates must be a list of names"),
    ],
)
def test_bad_patterns_raise(patterns, message):
    models = {"net-s1": [0, 1], "net-s2": [0, 0], "vit": [0, 1]}
    with pytest.raises(InputError, match=message):
        regrade.grade([0, 1], models, replicates=patterns)


def test_lists_of_labels_have_no_replicates():
    with pytest.raises(InputError, match="against one label per image"):
        regrade.grade([[0], [1]], {"a-1": [0, 1], "a-2": [0, 1]}, replicates=["a-*"])


def test_slice_with_one_image_is_undefined():
    models = {"a-1": [0, 1, 1], "a-2": [0, 1, 0]}
    result = regrade.grade([0, 1, 1], models, replicates=["a-*"], groups={"g": ["x", "y", "y"]})
    assert result["a-*", "g=x"].top1 is None and result["a-*", "g=y"].top1.value == 0.75


def test_command_grades_replicates(tmp_path):
    workspace = regrade.init(tmp_path / "w")
    labels = np.arange(30) % 3
    workspace.testsets.add("t", labels, classes=["a", "b", "c"])
    models = {f"net-s{seed}": predictions(np.arange(30) % (seed + 4) > 0, labels) for seed in range(3)}
    workspace.models.import_predictions(models, test_set="t")
    done = run_well("grade", "-t", "t", "--replicates", "net-s*", "--json", "-w", tmp_path / "w")
    (row,) = json.loads(done.out)["rows"]
    shares = [(np.arange(30) % (seed + 4) > 0).mean() for seed in range(3)]
    assert row["top1"]["value"] == pytest.approx(np.mean(shares)) and row["seeds"] == 3
    assert row["standard_deviation"] == pytest.approx(np.std(shares, ddof=1))
    refused = run("grade", "-t", "t", "--replicates", "net-s*", "--clean", "t", "-w", tmp_path / "w")
    assert refused.code == 1 and "leave out --labels and --clean" in refused.err


class TestMethodDifferences:
    LABELS = np.arange(300) % 3

    def models(self, seeds=4):
        rng = np.random.default_rng(8)
        difficulty = rng.normal(size=300)
        skills = {"a": 0.9, "b": 0.4, "c": 0.4}
        return {
            f"{name}-s{seed}": predictions(difficulty + rng.normal(size=300) + skill > 0, self.LABELS)
            for name, skill in skills.items()
            for seed in range(seeds)
        }

    def test_difference_by_hand(self):
        right = {"a-1": [1, 1, 1, 0], "a-2": [1, 1, 0, 0], "b-1": [1, 0, 0, 0], "b-2": [0, 1, 0, 0]}
        labels = np.arange(4) % 3
        models = {name: predictions(np.array(row, dtype=bool), labels) for name, row in right.items()}
        (row,) = regrade.compare(labels, models, replicates=["a-*", "b-*"]).methods
        assert (row.first, row.second, row.seeds, row.difference.n) == ("a-*", "b-*", 2, 4)
        assert (row.first_accuracy.value, row.second_accuracy.value, row.difference.value) == (0.625, 0.25, 0.375)

    def test_difference_equals_that_of_the_study_of_remedies(self, tmp_path):
        workspace = regrade.init(tmp_path / "w")
        workspace.testsets.add("t", self.LABELS, classes=["x", "y", "z"])
        workspace.models.import_predictions(self.models(), test_set="t")
        (ours,) = workspace.compare("t", replicates=["a-s*", "b-s*"]).methods
        remedy = workspace.study.remedies(["t"], "b-s*", ["a-s*"]).rows[0]
        assert (ours.difference.low, ours.difference.high) == pytest.approx(
            (remedy.difference.low, remedy.difference.high)
        )

    def test_swapping_methods_negates_the_difference(self):
        models = self.models()
        first, second = (
            regrade.compare(self.LABELS, models, replicates=names).methods[0].difference
            for names in (["a-s*", "b-s*"], ["b-s*", "a-s*"])
        )
        assert (first.low, first.high) == pytest.approx((-second.high, -second.low))

    def test_three_methods_are_compared_simultaneously(self):
        result = regrade.compare(self.LABELS, self.models(), replicates=["a-s*", "b-s*", "c-s*"])
        assert [(row.first, row.second) for row in result.methods] == [
            ("a-s*", "b-s*"), ("a-s*", "c-s*"), ("b-s*", "c-s*"),
        ]  # fmt: skip
        (alone,) = regrade.compare(self.LABELS, self.models(), replicates=["a-s*", "b-s*"]).methods
        assert result.methods[0].difference.half_width > alone.difference.half_width
        assert "3 together" in result.methods[0].difference.method and "methods on test set" in str(result)
        assert "methods" not in regrade.compare(self.LABELS, self.models()).as_dict()

    def test_bad_methods_raise(self):
        models = self.models()
        with pytest.raises(InputError, match="needs at least two methods, got 1"):
            regrade.compare(self.LABELS, models, replicates=["a-s*"])
        with pytest.raises(InputError, match="a-s0 belongs to two of the replicates"):
            regrade.compare(self.LABELS, models, replicates=["a-s*", "a-*"])
        single = regrade.compare(self.LABELS, models, replicates=["a-s*", "b-s0"])
        assert single.methods[0].seeds == 4 and any("b-s0 is a single model" in note for note in single.basis.notes)
        del models["b-s3"]
        with pytest.raises(InputError, match=r"a-s\* and b-s\* have different seeds: 3 only on one side"):
            regrade.compare(self.LABELS, models, replicates=["a-s*", "b-s*"])

    def test_command_shows_methods(self, tmp_path):
        workspace = regrade.init(tmp_path / "w")
        workspace.testsets.add("t", self.LABELS, classes=["x", "y", "z"])
        workspace.models.import_predictions(self.models(), test_set="t")
        options = ("compare", "-t", "t", "-w", tmp_path / "w")
        done = run_well(*options, "--replicates", "a-s*", "--replicates", "b-s*")
        assert "methods on t" in done.out and "--show: ranks, pairs" in done.out
        refused = run(*options, "--show", "methods")
        assert refused.code != 0 and "methods" in refused.err
