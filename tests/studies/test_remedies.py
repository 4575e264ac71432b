"""Remedies compared with their baseline: values by hand, a plain restatement, simulations, and the command."""

import csv
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import assert_one_line, run, run_well
from scipy import stats

from benchmarks.calibration.null_remedies import compared_drops, compared_methods, seeded_correctness, seeded_drops
from regrade.core import InputError, UnknownName
from regrade.studies import RemedyMeasure, RemedyVerdict, figure, findings
from regrade.studies.paired_groups import contrast, paired_groups
from regrade.studies.seeded_methods import paired_methods, seeded_method

STORED = ("trained:plain/seed-0", "trained:plain/seed-1", "trained:dro/seed-0", "trained:dro/seed-1", "single")


def row_of(result, measure, group=None):
    return next(row for row in result.rows if row.measure is measure and row.group == group)


def test_difference_of_single_models_matches_values_by_hand():
    before, after = [1, 1, 0, 0, 0, 0, 1, 0], [1, 0, 1, 1, 1, 1, 1, 0]  # 3 and 6 of 8 right; 4 gained, 1 lost
    row = compared_methods(np.array([[before], [after]], dtype=bool), groups=0).rows[0]
    assert (row.baseline.value, row.remedied.value, row.difference.value) == (3 / 8, 6 / 8, 3 / 8)
    squares = 4 * (5 / 8) ** 2 + 1 * (11 / 8) ** 2 + 3 * (3 / 8) ** 2
    variance = squares / 8 / 7 + 2 / 10**2  # of the mean, and of two more discordant images among ten
    assert row.difference.low == pytest.approx(3 / 8 - stats.t.ppf(0.975, 7) * variance**0.5)
    assert row.verdict is RemedyVerdict.NOT_DETECTED
    assert row.difference.method == "t over images 95%"


def test_worst_group_and_disparity_of_a_small_table():
    before = np.repeat([1, 1, 0, 1, 1, 1], 20).astype(bool)
    after = np.repeat([1, 1, 1, 0, 1, 1], 20).astype(bool)
    members = np.tile(np.arange(3), 40)
    result = compared_methods(np.array([[before], [after]]), groups=3)
    means = [[side[members == group].mean() for group in range(3)] for side in (before, after)]
    worst, disparity = (row_of(result, measure) for measure in (RemedyMeasure.WORST_GROUP, RemedyMeasure.DISPARITY))
    assert worst.difference.value == pytest.approx(min(means[1]) - min(means[0]))
    assert disparity.difference.value == pytest.approx(np.ptp(means[1]) - np.ptp(means[0]))
    assert (worst.baseline.value, disparity.remedied.value) == pytest.approx((min(means[0]), np.ptp(means[1])))


def test_groups_with_fewer_than_20_images_are_not_drawn():
    correct = seeded_correctness(np.random.default_rng(0), np.array([[1.0], [1.2]]), seeds=1, images=59)
    result = compared_methods(correct, groups=3)  # 20, 20 and 19 images
    small = next(row for row in result.rows if row.images == 19)
    drawn = figure(result)
    assert {point["label"] for data in drawn.spec["datasets"].values() for point in data if "label" in point} == {
        row.label for row in result.rows if row is not small
    }
    assert "; 1 slice or group with fewer than 20 images not drawn" in drawn.alt


@pytest.mark.parametrize("household", [1, 3])
def test_interval_over_seeds_and_images_matches_a_plain_restatement(household):
    correct = seeded_correctness(np.random.default_rng(0), np.array([[1.0], [1.2]]), seeds=5, images=240)
    clusters = np.arange(240) // household
    paired = paired_groups(correct, np.zeros(240, dtype=int), clusters if household > 1 else None)
    estimate = contrast(paired, np.array([-1.0, 1.0]), 240, confidence=0.95)
    difference = correct[1].astype(float) - correct[0]
    per_seed, units = difference.mean(axis=1), 240 // household
    sums = (difference - per_seed[:, None]).reshape(5, units, household).sum(axis=2) / 240
    covariance = sums @ sums.T * units / (units - 1) + 2 / (units + 2) ** 2
    t_images, t_seeds = stats.t.ppf(0.975, units - 1), stats.t.ppf(0.975, 4)
    images = covariance.mean()
    own = (np.trace(covariance) / 5 - images) / 4
    over_seeds = per_seed.var(ddof=1) / 5
    expected = max(t_seeds**2 * over_seeds + t_images**2 * max(images - own, 0), t_images**2 * images) ** 0.5
    assert estimate.value == pytest.approx(per_seed.mean())
    assert (estimate.high - estimate.low) / 2 == pytest.approx(expected)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 3))
def test_swapping_baseline_and_remedy_negates_every_difference(seed, seeds, groups):
    correct = seeded_correctness(np.random.default_rng(seed), np.array([[1.0], [0.5]]), seeds=seeds, images=30)
    there_and_back = [compared_methods(side, groups=groups).rows for side in (correct, correct[::-1])]
    for forward, backward in zip(*there_and_back, strict=True):
        ahead, back = forward.difference, backward.difference
        assert (ahead.value, ahead.low, ahead.high) == pytest.approx((-back.value, -back.high, -back.low), abs=1e-12)
        assert ahead.low <= ahead.value <= ahead.high


def test_no_verdict_without_an_effect_though_seeds_vary():
    rng, runs = np.random.default_rng(7), 150
    false = sum(
        any(
            row.verdict is not RemedyVerdict.NOT_DETECTED
            for row in compared_methods(
                seeded_correctness(rng, np.full((2, 3), 1.0), seeds=3, images=150, seed_spread=0.3), groups=3
            ).rows
        )
        for _ in range(runs)
    )
    assert false <= stats.binom.isf(1e-4, runs, 0.05)


def test_images_alone_would_claim_too_much_if_seeds_vary():
    """The simulation above can fail: single models of such methods differ far more often than in 5% of runs."""
    rng, runs = np.random.default_rng(8), 60
    drawn = (seeded_correctness(rng, np.full((2, 1), 1.0), seeds=1, images=600, seed_spread=0.5) for _ in range(runs))
    verdicts = [compared_methods(correct, groups=0).rows[0].verdict for correct in drawn]
    assert sum(verdict is not RemedyVerdict.NOT_DETECTED for verdict in verdicts) > stats.binom.isf(1e-4, runs, 0.05)


def test_large_effect_is_stated_and_drawn():
    skills = np.array([[1.5, 1.0, -0.5], [1.4, 1.0, 1.0]])
    result = compared_methods(seeded_correctness(np.random.default_rng(1), skills, seeds=6, images=3000), groups=3)
    verdicts = {row.label: row.verdict for row in result.rows}
    assert verdicts["worst-group accuracy"] is verdicts["disparity"] is verdicts["c"] is RemedyVerdict.BETTER
    headlines = [finding.headline for finding in findings(result)]
    assert "remedy lowers disparity on images" in headlines
    assert "remedy raises accuracy in 1 group by group on images" in headlines
    assert "Less disparity is better" in figure(result).alt


def test_drop_of_single_models_matches_values_by_hand():
    old = np.array([[[1, 1, 1, 0]], [[1, 1, 1, 0]]], dtype=bool)  # 3 of 4 right, by both on the same images
    new = np.array([[[1, 0, 0, 0, 0, 0, 0, 0]], [[1, 1, 1, 1, 1, 0, 0, 0]]], dtype=bool)  # 1 and 5 of 8
    row = row_of(compared_drops(old, new), RemedyMeasure.DROP)
    assert (row.baseline.value, row.remedied.value, row.difference.value) == (3 / 4 - 1 / 8, 3 / 4 - 5 / 8, -4 / 8)
    assert (row.test_set, row.images, row.seeds) == ("new", 12, 1)
    gains = 8 * (4 / 8) ** 2 / 8 / 7  # of the mean gain on the new set: 4 of 8 gained; none on the original set
    level = 1 - 0.05 / 3 / 2  # three rows
    on_old = stats.t.ppf(level, 3) ** 2 * 2 / 6**2  # two more discordant images among six
    on_new = stats.t.ppf(level, 7) ** 2 * (gains + 2 / 10**2)
    assert row.difference.low == pytest.approx(max(-0.5 - (on_old + on_new) ** 0.5, -2.0))
    assert row.verdict is RemedyVerdict.NOT_DETECTED


def test_interval_of_the_drop_agrees_with_a_bootstrap_over_seeds_and_images():
    rng, skills = np.random.default_rng(3), np.array([[1.4, 0.4], [1.3, 0.8]])
    old, new = seeded_drops(rng, skills, seeds=40, images=(500, 400), seed_spread=0.2)
    row = row_of(compared_drops(old, new), RemedyMeasure.DROP)
    values = []
    for _ in range(2000):
        seeds = rng.integers(0, 40, 40)
        of_set = [
            correct[:, seeds][:, :, rng.integers(0, n, n)].mean(axis=(1, 2))
            for correct, n in zip((old, new), (500, 400), strict=True)
        ]
        before, after = of_set[0] - of_set[1]
        values.append(after - before)
    factor = stats.norm.ppf(1 - 0.05 / 6)  # three rows
    assert row.difference.value == pytest.approx(np.mean(values), abs=0.002)
    assert row.difference.half_width == pytest.approx(factor * np.std(values), rel=0.15)


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_swapping_methods_or_sets_negates_the_change_of_the_drop(seed, seeds):
    old, new = seeded_drops(
        np.random.default_rng(seed), np.array([[1.0, 0.2], [0.5, 0.5]]), seeds=seeds, images=(30, 20)
    )
    ahead = row_of(compared_drops(old, new), RemedyMeasure.DROP).difference
    for swapped in (compared_drops(old[::-1], new[::-1]), compared_drops(new, old)):
        back = row_of(swapped, RemedyMeasure.DROP).difference
        assert (ahead.value, ahead.low, ahead.high) == pytest.approx((-back.value, -back.high, -back.low), abs=1e-12)
    accuracies = [row.difference.value for row in compared_drops(old, new).rows[:2]]
    assert ahead.value == pytest.approx(accuracies[0] - accuracies[1])


def test_drop_from_one_extreme_to_the_other_has_bounds_around_it():
    old = np.array([[[True] * 5], [[False] * 5]])
    difference = row_of(compared_drops(old, ~old), RemedyMeasure.DROP).difference
    assert difference.low == difference.value == -2.0 < difference.high


def test_large_change_of_the_drop_is_stated():
    skills = np.array([[1.5, 0.0], [1.5, 1.2]])
    old, new = seeded_drops(np.random.default_rng(1), skills, seeds=6, images=(1500, 1500))
    shrunk, grown = compared_drops(old, new), compared_drops(old[::-1], new[::-1])
    assert row_of(shrunk, RemedyMeasure.DROP).verdict is RemedyVerdict.BETTER
    assert row_of(grown, RemedyMeasure.DROP).verdict is RemedyVerdict.WORSE
    assert findings(shrunk)[0].headline == "With remedy, the drop from old to new shrinks"
    assert findings(grown)[0].headline == "With remedy, the drop from old to new grows"
    assert "Less drop is better" in figure(shrunk).alt


def test_clusters_of_the_two_sets_are_separate():
    old, new = seeded_drops(np.random.default_rng(2), np.array([[1.0, 0.2], [1.0, 0.5]]), seeds=3, images=(60, 40))
    plain = compared_drops(old, new)
    alone = compared_drops(old, new, clusters=(None, np.arange(40)))
    assert row_of(alone, RemedyMeasure.DROP).difference.high == pytest.approx(
        row_of(plain, RemedyMeasure.DROP).difference.high
    )
    doubled = compared_drops(
        np.repeat(old, 2, axis=2), np.repeat(new, 2, axis=2), clusters=(np.arange(120) // 2, np.arange(80) // 2)
    )
    assert row_of(doubled, RemedyMeasure.DROP).difference.high == pytest.approx(
        row_of(plain, RemedyMeasure.DROP).difference.high
    )


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        ("plain", ["0", "1"]),
        ("trained:plain/seed-*", ["0", "1"]),
        ("trained:*/seed-0", ["plain", "dro"]),
        ("single", [""]),
    ],
)
def test_name_of_a_method_stands_for_its_models(name, seeds):
    assert list(seeded_method(name, STORED, where="pets").models) == seeds


def test_models_are_paired_by_seed_or_compared_with_a_single_model():
    plain, dro, single = (seeded_method(name, STORED, where="pets") for name in ("plain", "dro", "single"))
    reordered = seeded_method("dro", STORED[::-1], where="pets")
    assert paired_methods(plain, reordered).rows == paired_methods(plain, dro).rows
    assert paired_methods(plain, dro).rows[1] == ("trained:plain/seed-1", "trained:dro/seed-1")
    with_single = paired_methods(single, dro)
    assert with_single.rows == (("single", "trained:dro/seed-0"), ("single", "trained:dro/seed-1"))
    assert "single is a single model, compared with each of 2 seeds" in with_single.notes[0]
    with pytest.raises(UnknownName, match="did you mean"):
        seeded_method("singel", STORED, where="pets")
    with pytest.raises(InputError, match="plain is ambiguous on pets: trained:plain/seed-0 and plain/seed-0"):
        seeded_method("plain", ["trained:plain/seed-0", "plain/seed-0"], where="pets")
    with pytest.raises(InputError, match="must differ: single belongs to both"):
        paired_methods(single, seeded_method("sing*", STORED, where="pets"))


def write_predictions(path, seeds, *, images=120, extra=()):
    rng = np.random.default_rng(images)
    labels = rng.integers(0, 2, images)
    regions = [*(["north", "south"] * images)[: images - 1], "island"]
    skills = {f"trained:plain/seed-{seed}": 0.6 for seed in seeds}
    skills |= {f"trained:dro/seed-{seed}": 0.95 for seed in seeds} | {name: 0.5 for name in extra}
    predicted = {name: np.where(rng.random(images) < skill, labels, 1 - labels) for name, skill in skills.items()}
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["image", "label", "region", "side", *predicted])
        for place in range(images):
            answers = [("cat", "dog")[classes[place]] for classes in predicted.values()]
            rows.writerow([place, ("cat", "dog")[labels[place]], regions[place], "ab"[place % 2], *answers])


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("remedies")
    (folder / "classes.csv").write_text("id,name\ncat,cat\ndog,dog\n")
    write_predictions(folder / "old.csv", range(4), extra=("lone/seed-0", "lone/seed-9", "only-old"))
    write_predictions(folder / "new.csv", range(4), images=90)
    run_well("init", folder / "work")
    for name in ("old", "new"):
        groups = ("--group", "region", "--group", "side")
        run_well("import", "predictions", folder / f"{name}.csv", "-t", name, "--classes", folder / "classes.csv",
                 *groups, "-w", folder / "work")  # fmt: skip
    return folder / "work"


def test_command_compares_two_sets_by_group(pets, tmp_path):
    command = ("study", "remedies", "-t", "old", "-t", "new", "--baseline", "plain", "--remedy", "dro", "--by", "side")
    result = json.loads(run_well(*command, "-w", pets, "--json", "--figure", tmp_path / "f.svg").out)
    assert [(row["test_set"], row["measure"], row["group"]) for row in result["rows"]] == [
        (name, *row)
        for name in ("old", "new")
        for row in (
            ("accuracy", None), ("accuracy in a group", "a"), ("accuracy in a group", "b"),
            ("worst-group accuracy", None), ("disparity", None),
        )
    ]  # fmt: skip
    assert result["rows"][0]["verdict"] == "better" and result["rows"][0]["seeds"] == 4
    assert result["rows"][0]["difference"]["method"] == "t over seeds and images, 10 together 95%"
    assert "remedy minus baseline" in (tmp_path / "f.svg").read_text()
    assert "no difference detected" in run_well(*command, "-w", pets, "--csv").out


def test_command_compares_drops(pets):
    command = ("study", "remedies", "-t", "old", "-t", "new", "--baseline", "plain", "--remedy", "dro")
    result = json.loads(run_well(*command, "--original", "old", "-w", pets, "--json").out)
    assert [(row["test_set"], row["measure"]) for row in result["rows"]] == [
        ("old", "accuracy"), ("new", "accuracy"), ("new", "drop"),
    ]  # fmt: skip
    values = [[row[key]["value"] for row in result["rows"]] for key in ("baseline", "remedied", "difference")]
    assert all(old - new == pytest.approx(drop) for old, new, drop in values)
    assert "accuracy on old minus accuracy on the test set" in run_well(*command, "--original", "old", "-w", pets).out


def test_command_notes_a_single_pair_of_models(pets):
    names = ("--baseline", "trained:plain/seed-0", "--remedy", "trained:dro/seed-1")
    shown = run_well("study", "remedies", "-t", "old", *names, "-w", pets, "--markdown").out
    assert "over images only, and says nothing about other seeds" in shown


BASE = ("--baseline", "plain")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((*BASE, "--remedy", "only-odl"), ("unknown model on old, new 'only-odl'", "only-old")),
        ((*BASE, "--remedy", "upsampled/*"), ("no model on old, new matches 'upsampled/*'",)),
        ((*BASE, "--remedy", "plain"), ("the baseline and the remedy must differ: both are plain",)),
        ((*BASE, "--remedy", "lone/seed-*"), ("plain and lone/seed-* have different seeds: 1, 2, 3 and 1 more",)),
        ((*BASE, "--remedy", "only-old"), ("unknown model on new 'only-old'",)),
        ((*BASE, "--remedy", "dro", "--by", "regoin"), ("unknown group column of old, new 'regoin'", "region")),
        ((*BASE, "--remedy", "dro", "--by", "region"), ("region island of old has a single image",)),
        ((*BASE, "--remedy", "dro", "--remedy", "dro"), ("--remedy names the same twice",)),
        ((*BASE, "--remedy", "dro", "--original", "odl"), ("unknown original test set 'odl'", "old", "one of -t")),
        ((*BASE, "--remedy", "dro", "--parts", "2"), ("--parts requires --by",)),
        ((*BASE, "--remedy", "dro", "--by", "side", "--clusters", "side"), ("side cannot be both",)),
    ],
)
def test_command_rejects_bad_input_in_one_line(pets, options, words):
    assert_one_line(run("study", "remedies", "-t", "old", "-t", "new", *options, "-w", pets), *words)


def test_drop_needs_a_second_test_set(pets):
    ran = run("study", "remedies", "-t", "old", *BASE, "--remedy", "dro", "--original", "old", "-w", pets)
    assert_one_line(ran, "--original old requires another test set")
