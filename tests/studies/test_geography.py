"""Tests of the geography study on synthetic data with known accuracies."""

import json
from dataclasses import replace

import numpy as np
import pytest
from geography_world import REGIONS, SPACE, World

from regrade.core import ClassMap, ClassSpace, InputError, MapRule, Predictions, TestSet, UndefinedError, UnknownName
from regrade.stats import (
    clustered_share,
    fit_lines,
    independent_difference,
    largest_covariance,
    proportion,
    spread_beyond_noise,
)
from regrade.studies import BenchmarkKind, GeographyPart, GrowthVerdict, ModelCounts, Scoring, SetCounts, grouping
from regrade.studies.geography.analysis import geography

WORLD = World()
SET = WORLD.test_set()
CORRECT = WORLD.correct(np.random.default_rng(0))
ORIGINAL = WORLD.counts("val", 1.0, 0.0)
STANDARD = [WORLD.counts("v2", 1.1, -0.2), WORLD.counts("sketch", 0.9, -0.2)]


def plain(test_set, *without):
    """The set without some of its columns."""
    return replace(test_set, groups={name: values for name, values in test_set.groups.items() if name not in without})


def region_accuracies(correct):
    """The accuracy in each region, over one or several models."""
    return [correct[..., np.array(SET.groups["region"]) == region].mean() for region in REGIONS]


def study(test_set=SET, correct=CORRECT, *, by="region", world=WORLD, **options):
    predictions = options.pop("predictions", None) or world.predictions(test_set, correct)
    options = {"draws": 500, **options}
    return geography(test_set, predictions, by=by, rng=np.random.default_rng(0), **options)


class TestAccuracies:
    def test_they_are_shares_of_each_group(self):
        result = study(plain(SET, "household"))
        in_region = [np.array(SET.groups["region"]) == region for region in REGIONS]
        assert result.names == REGIONS
        assert [group.images for group in result.groups] == [inside.sum() for inside in in_region]
        for i, model in enumerate(WORLD.models):
            row = result.row(model)
            assert row.overall == proportion(int(CORRECT[i].sum()), CORRECT.shape[1])
            for inside, accuracy in zip(in_region, row.groups, strict=True):
                level = 1 - 0.05 / len(REGIONS)
                share = proportion(int(CORRECT[i, inside].sum()), int(inside.sum()), confidence=level)
                assert accuracy == replace(share, method=f"clopper-pearson, {len(REGIONS)} together 95%")
            accuracies = region_accuracies(CORRECT[i])
            assert row.disparity.value.value == pytest.approx(np.ptp(accuracies))
            assert row.disparity.worst == REGIONS[np.argmin(accuracies)]

    def test_households_are_found_and_widen_the_intervals(self):
        result, alone = study(), study(plain(SET, "household"))
        assert (result.clusters, alone.clusters) == ("household", None)
        assert "intervals are over 543 clusters of images, by column household" in result.notes
        inside = np.array(SET.groups["region"]) == "Africa"
        homes, level = np.array(SET.groups["household"])[inside], 1 - 0.05 / len(REGIONS)
        accuracy = clustered_share(CORRECT[3][inside], homes, confidence=level)
        row = result.row("model-03").groups[0]
        assert (row.value, row.low, row.high, row.n) == pytest.approx(
            (accuracy.value, accuracy.low, accuracy.high, 400)
        )
        assert row.half_width > alone.row("model-03").groups[0].half_width
        assert result.groups[0].clusters == 100

    def test_another_column_of_clusters(self):
        renamed = replace(SET, groups={"region": SET.groups["region"], "home": SET.groups["household"]})
        assert study(renamed).clusters is None
        result = study(renamed, clusters="home")
        assert result.rows == study().rows and result.clusters == "home"

    def test_top_2_accuracy_is_1(self):
        result = study(top=2)
        assert all(row.overall.value == 1.0 for row in result.rows)
        assert all(row.disparity.value.low == 0.0 and row.disparity.value.high > 0 for row in result.rows)
        with pytest.raises(UndefinedError, match="only the top 2 are stored"):
            study(top=3)

    def test_any_mapped_class_among_the_best_k_of_all_classes(self):
        """Richards et al. 2023: predictions are not restricted to mapped classes."""
        wide = ClassSpace("wide", tuple("abcdef"), tuple("abcdef"))
        few = ClassSpace("few", ("bag", "cup", "odd"), ("bag", "cup", "odd"))
        chart = ClassMap(wide, few, ((0, 1), (2,), ()), MapRule.ANY_IN_TOP_K)
        test_set = TestSet(
            "t", few, ("1", "2", "3", "4", "5"), np.array([0, 0, 1, 1, 2]), {"region": ("n", "n", "s", "s", "s")}
        )
        classes = np.array([[1, 5], [5, 0], [5, 4], [2, 0], [0, 1]])  # 5 is no mapped class, and is in the way
        answers = [(Predictions("m", "t", "wide", classes), Scoring(test_set, chart))]
        top_1, top_2 = (study(test_set, predictions=answers, top=k).rows[0] for k in (1, 2))
        assert [(e.value, e.n) for e in top_1.groups] == [(0.5, 2), (0.5, 2)]
        assert [(e.value, e.n) for e in top_2.groups] == [(1.0, 2), (0.5, 2)]

    def test_best_first(self):
        values = [row.overall.value for row in study().rows]
        assert values == sorted(values, reverse=True)


class TestGrouping:
    def test_incomes_are_cut_at_quantiles(self):
        result = study(by="income")
        incomes = np.array([float(value) for value in SET.groups["income"]])
        assert result.edges == pytest.approx(np.quantile(incomes, [0, 0.25, 0.5, 0.75, 1]))
        assert [group.images for group in result.groups] == [540, 540, 540, 540]
        assert result.names[0] == "12.17 to 205.6" and result.names[1] == "over 205.6 to 403.4"
        assert any(note.startswith("income cut at quantiles of the images: 12.17; ") for note in result.notes)
        inside = incomes <= np.quantile(incomes, 0.25)
        assert result.row("model-05").groups[0].value == pytest.approx(CORRECT[5][inside].mean())

    def test_parts_sets_the_number_of_groups(self):
        assert len(study(by="income", parts=10).names) == 10

    def test_household_in_several_groups_is_noted(self):
        result = study(by="income")
        assert any("in more than one income: differences take it into account" in note for note in result.notes)

    @pytest.mark.parametrize(
        ("values", "options", "names"),
        [
            (("1", "2", "1", "2"), {}, ("1", "2")),
            (("1", "2", "3", "4"), {"parts": 2}, ("1 to 2.5", "over 2.5 to 4")),
            (("1", "1", "1", "9"), {"parts": 3}, ("1 to 9",)),
            (("b", "", "a", "nan"), {}, ("a", "b")),
            (("1000000", "1000001", "1000002", "1000003"), {"parts": 2}, ("1,000,000 to 1,000,001.5",
             "over 1,000,001.5 to 1,000,003")),
        ],
    )  # fmt: skip
    def test_groupings_by_hand(self, values, options, names):
        test_set = TestSet("t", SPACE, ("1", "2", "3", "4"), np.zeros(4, dtype=int), {"g": values})
        assert grouping(test_set, "g", **options).names == names

    def test_number_on_an_edge_belongs_to_the_lower_group(self):
        test_set = TestSet("t", SPACE, ("1", "2", "3", "4"), np.zeros(4, dtype=int), {"g": ("1", "2", "2", "3")})
        groups = grouping(test_set, "g", parts=2)
        assert groups.names == ("1 to 2", "over 2 to 3") and groups.members.tolist() == [0, 0, 0, 1]

    def test_an_image_without_a_value_is_left_out(self):
        test_set = TestSet("t", SPACE, ("1", "2", "3"), np.zeros(3, dtype=int), {"g": ("a", "", "b")})
        groups = grouping(test_set, "g")
        assert groups.members.tolist() == [0, -1, 1] and groups.notes == ("1 image without g: left out",)

    @pytest.mark.parametrize(
        ("values", "options", "words"),
        [
            (("", ""), {}, "has no values"),
            (("a", "b"), {"parts": 2}, "is not numeric"),
            (("3", "3"), {"parts": 2}, "single distinct number"),
            (("3", "4"), {"parts": 1}, "parts must be at least 2"),
        ],
    )
    def test_grouping_rejects_invalid_columns(self, values, options, words):
        test_set = TestSet("t", SPACE, ("1", "2"), np.zeros(2, dtype=int), {"g": values})
        with pytest.raises(InputError, match=words):
            grouping(test_set, "g", **options)


class TestBetween:
    def test_two_named_groups(self):
        alone = plain(SET, "household")
        result = study(alone, between=[("Europe", "Africa"), ("Africa", "Europe")])
        row = result.row("model-04")
        africa, europe = row.groups[0], row.groups[3]
        counts = [round(accuracy.value * accuracy.n) for accuracy in (europe, africa)]
        expected = independent_difference(counts[0], europe.n, counts[1], africa.n)
        assert row.between[0].value == pytest.approx(europe.value - africa.value)
        assert (row.between[0].low, row.between[0].high) == pytest.approx((float(expected.low), float(expected.high)))
        assert row.between[1].value == pytest.approx(-row.between[0].value)
        assert "Europe - Africa" in str(result)

    def test_a_group_that_is_not_there(self):
        with pytest.raises(UnknownName, match="unknown region of geode 'Afrika'; did you mean Africa"):
            study(between=[("Afrika", "Europe")])


class TestProgress:
    def test_rates_are_slopes_over_the_same_models(self):
        result = study(original=ORIGINAL, standard=STANDARD)
        progress = result.progress
        x = np.array([ORIGINAL.models[model].right / 50_000 for model in progress.models])
        y = np.array([result.row(model).overall.value for model in progress.models])
        (geographic,) = progress.of(BenchmarkKind.GEOGRAPHIC)
        assert geographic.rate.value == pytest.approx(np.polyfit(x, y, 1)[0])
        assert geographic.line.r_squared == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
        rates = {rate.benchmark: rate.rate.value for rate in progress.rates}
        assert rates["v2"] == pytest.approx(1.1, abs=1e-3) and rates["sketch"] == pytest.approx(0.9, abs=1e-3)
        assert rates["mean of 2 standard sets"] == pytest.approx(1.0, abs=1e-3)
        assert [rate.benchmark for rate in progress.of(BenchmarkKind.GROUP)] == list(REGIONS)
        for gap in progress.gaps:
            assert gap.difference.value == pytest.approx(rates[gap.standard] - rates["geode"])
            assert gap.ratio.value == pytest.approx(rates[gap.standard] / rates["geode"])
            assert gap.difference.low <= gap.difference.value <= gap.difference.high
            assert gap.ratio.low <= gap.ratio.value <= gap.ratio.high

    def test_the_line_of_disparities(self):
        result = study(original=ORIGINAL)
        x = np.array([ORIGINAL.models[model].right / 50_000 for model in result.progress.models])
        gaps = np.array([result.row(model).disparity.value.value for model in result.progress.models])
        assert result.progress.disparity.slope.value == pytest.approx(np.polyfit(x, gaps, 1)[0])
        assert result.progress.extremes == ("Europe", "Africa")
        apart = np.array(
            [result.row(model).groups[3].value - result.row(model).groups[0].value for model in result.progress.models]
        )
        assert result.progress.apart.value == pytest.approx(np.polyfit(x, apart, 1)[0])
        assert result.progress.apart.method == "robust t over models and images 95%"

    def test_rates_of_groups_are_over_models_and_images(self):
        result = study(original=ORIGINAL)
        x = np.array([ORIGINAL.models[model].right / 50_000 for model in result.progress.models])
        for place, rate in enumerate(result.progress.of(BenchmarkKind.GROUP)):
            accuracies = np.array([result.row(model).groups[place].value for model in result.progress.models])
            alone = fit_lines(x, accuracies[None])[0].slope
            assert rate.rate.method == "robust t over models and images 95%"
            assert rate.rate.value == pytest.approx(alone.value)
            assert rate.rate.half_width >= alone.half_width
        assert result.progress.disparity.robust_slope.method == "robust t over models 95%"

    def test_note_gives_attenuation_by_the_original(self):
        right = [ORIGINAL.models[model].right for model in study(original=ORIGINAL).progress.models]
        noise = largest_covariance(right, np.full(len(right), 50_000))
        share = 100 * (1 - spread_beyond_noise(np.array(right) / 50_000, noise)[0])
        notes = [note for note in study(original=ORIGINAL).notes if "makes every rate smaller" in note]
        assert len(notes) == 1 and f"is {share:.1f}% of the models' spread" in notes[0]

    def test_a_model_missing_on_one_set_is_left_out_and_named(self):
        fewer = SetCounts("v2", {model: counts for model, counts in STANDARD[0].models.items() if model != "model-07"})
        result = study(original=ORIGINAL, standard=[fewer])
        assert "model-07" not in result.progress.models and len(result.progress.models) == 11
        assert any(note.endswith("left out of progress: model-07") for note in result.notes)
        assert result.row("model-07").original is not None

    def test_two_models_have_no_rates_but_everything_else(self):
        few = WORLD.predictions(SET, CORRECT)[:2]
        result = study(predictions=few, original=ORIGINAL, standard=STANDARD)
        assert result.progress is None and result.growth is not None
        assert any(
            note.startswith("no progress rates: a line needs at least three models, got 2") for note in result.notes
        )

    def test_equal_accuracy_on_the_original_has_no_progress(self):
        flat = SetCounts("val", dict.fromkeys(WORLD.models, ModelCounts(30_000, 50_000)))
        result = study(original=flat)
        assert result.progress is None
        assert any("all models have the same accuracy on the original" in note for note in result.notes)

    def test_no_progress_at_all_has_no_ratio(self):
        """Models equal on the geographic set: the ratio has no bounds, and the text explains why."""
        same = np.broadcast_to(CORRECT[5], CORRECT.shape)
        gap = study(correct=same, original=ORIGINAL, standard=STANDARD[:1]).progress.gaps[0]
        assert (gap.ratio.value, gap.ratio.low, gap.ratio.high) == (None, None, None)
        assert "not significantly different from 0" in gap.in_words()

    def test_one_group_has_no_disparity(self):
        result = study(by="constant", original=ORIGINAL, clusters="household")
        assert result.progress is None and result.growth is None
        assert all(row.disparity is None for row in result.rows)
        assert any("there is no disparity" in note for note in result.notes)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"standard": STANDARD}, "needs an original test set"),
            ({"original": WORLD.counts("geode", 1, 0)}, "named twice"),
            ({"original": ORIGINAL, "standard": [STANDARD[0], STANDARD[0]]}, "named twice"),
        ],
    )
    def test_sets_that_do_not_fit_together(self, options, words):
        with pytest.raises(InputError, match=words):
            study(**options)


class TestGrowth:
    def test_quarters_by_the_original(self):
        growth = study(original=ORIGINAL).growth
        assert (growth.best, growth.weakest) == (
            ("model-11", "model-10", "model-09"),
            ("model-02", "model-01", "model-00"),
        )
        ratio = np.ptp(region_accuracies(CORRECT[9:])) / np.ptp(region_accuracies(CORRECT[:3]))
        assert growth.ratio.value == pytest.approx(ratio)
        assert "3 models" in growth.chosen

    def test_two_named_models_need_no_original(self):
        growth = study(growth=("model-11", "model-00")).growth
        assert (growth.best, growth.weakest) == (("model-11",), ("model-00",))
        assert growth.chosen == "model-11 against model-00"

    @pytest.mark.parametrize(
        ("gains", "sizes", "verdict"),
        [
            ((0.3, 1.6), (20_000, 20_000), GrowthVerdict.SUPPORTED),
            ((1.0, 1.05), (20_000, 20_000), GrowthVerdict.CONTRADICTED),
            ((0.6, 1.0), (200, 200), GrowthVerdict.NOT_SETTLED),
        ],
    )
    def test_verdicts(self, gains, sizes, verdict):
        world = World(sizes=sizes, difficulty=(0.1, 0.0), gains=gains, skills=(0.0, 0.5, 1.0), regions=("a", "b"))
        test_set = world.test_set()
        correct = world.correct(np.random.default_rng(1))
        growth = study(test_set, correct, world=world, growth=("model-02", "model-00")).growth
        assert growth.verdict is verdict
        assert f"tripled: {verdict.value}" in growth.in_words()

    @pytest.mark.parametrize(
        ("low", "high", "verdict"),
        [
            (3.0, None, GrowthVerdict.SUPPORTED),
            (2.9, 5.0, GrowthVerdict.NOT_SETTLED),
            (0.0, 3.0, GrowthVerdict.NOT_SETTLED),
            (0.0, 2.9, GrowthVerdict.CONTRADICTED),
            (0.0, None, GrowthVerdict.NOT_SETTLED),
        ],
    )
    def test_three_is_the_limit(self, low, high, verdict):
        growth = study(growth=("model-11", "model-00")).growth
        assert replace(growth, ratio=replace(growth.ratio, low=low, high=high)).verdict is verdict

    @pytest.mark.parametrize(
        ("named", "words"), [(("model-11", "model-11"), "two different"), (("model-11", "modl-00"), "did you mean")]
    )
    def test_growth_rejects_invalid_models(self, named, words):
        with pytest.raises(InputError, match=words):
            study(growth=named)


class TestEdgeCases:
    def test_an_unknown_column_suggests_its_neighbors(self):
        with pytest.raises(UnknownName, match="unknown group column of geode 'regon'; did you mean region"):
            study(by="regon")
        with pytest.raises(UnknownName, match="unknown group column of geode 'huosehold'; did you mean household"):
            study(clusters="huosehold")

    def test_groups_and_clusters_must_differ(self):
        with pytest.raises(InputError, match="both the group column"):
            study(clusters="region")

    def test_by_household_has_no_clusters(self):
        assert study(by="household", predictions=WORLD.predictions(SET, CORRECT)[:2]).clusters is None

    def test_a_group_with_one_example(self):
        regions = ("Nauru", *plain(SET, "household").groups["region"][1:])
        result = study(replace(SET, groups={"region": regions}), original=ORIGINAL)
        assert result.progress.of(BenchmarkKind.GROUP)[result.names.index("Nauru")].rate.method.startswith("robust t")
        place, miss = result.names.index("Nauru"), 0.025 / len(result.names)
        for row in result.rows:
            accuracy = row.groups[place]
            assert accuracy.n == 1 and (accuracy.low, accuracy.high) == pytest.approx(
                (miss, 1) if accuracy.value else (0, 1 - miss)
            )
            assert row.disparity.value.high > 0.3
        assert any("few images, which widen every disparity: Nauru (1)" in note for note in result.notes)

    def test_no_model_on_the_original(self):
        result = study(original=SetCounts("val", {"stranger": ModelCounts(5, 10)}))
        assert result.progress is None and any(note.startswith("no progress rates") for note in result.notes)

    def test_a_group_with_one_household(self):
        pairs = zip(SET.groups["region"], SET.groups["household"], strict=True)
        homes = ["same" if region == "Africa" else home for region, home in pairs]
        result = study(replace(SET, groups={**SET.groups, "household": tuple(homes)}))
        assert all((row.groups[0].low, row.groups[0].high) == (0.0, 1.0) for row in result.rows)
        assert "a single cluster, which says nothing of others: Africa" in result.notes

    def test_single_household_has_intervals_0_to_1(self):
        result = study(replace(SET, groups={**SET.groups, "household": ("same",) * len(SET)}))
        assert all((row.overall.low, row.overall.high) == (0.0, 1.0) for row in result.rows)

    def test_a_household_in_two_regions(self):
        homes = list(SET.groups["household"])
        homes[0] = homes[-1]
        result = study(replace(SET, groups={**SET.groups, "household": tuple(homes)}), between=[("Africa", "WestAsia")])
        assert any(note.startswith("1 cluster of column household in more than one region") for note in result.notes)

    def test_images_without_a_household_are_single_clusters(self):
        result = study(replace(SET, groups={**SET.groups, "household": ("", "", *SET.groups["household"][2:])}))
        assert "2 images without household: each a cluster of its own" in result.notes

    def test_a_region_missing_for_a_model(self):
        """Its accuracy in the region and its disparity are None, and it is excluded from progress."""
        answers = WORLD.predictions(SET, CORRECT)
        first, scoring = answers[0]
        counted = np.array(SET.groups["region"]) != "Africa"
        part = replace(first, classes=np.where(counted[:, None], first.classes, -1), covered=counted)
        result = study(predictions=[(part, scoring), *answers[1:]], original=ORIGINAL)
        row = result.row("model-00")
        assert row.groups[0] is None and row.disparity is None and row.groups[1] is not None
        assert "model-00" not in result.progress.models and "model-00" not in result.growth.weakest
        assert any("no image of some region counts for model-00" in note for note in result.notes)
        assert json.dumps(result.as_dict(), allow_nan=False)

    def test_a_region_without_any_image_that_counts(self):
        labels = np.where(np.array(SET.groups["region"]) == "Africa", -1, SET.labels)
        result = study(replace(SET, labels=labels))
        assert "Africa" not in result.names and len(result.names) == 5
        assert "region without an image that counts, left out: Africa" in result.notes

    def test_all_models_right_everywhere(self):
        result = study(correct=np.ones_like(CORRECT), original=ORIGINAL)
        assert all(row.disparity.value.value == 0 and row.disparity.value.low == 0 for row in result.rows)
        assert result.growth.verdict is GrowthVerdict.NOT_SETTLED and result.growth.ratio.value is None
        assert json.dumps(result.as_dict(), allow_nan=False)

    def test_no_model(self):
        with pytest.raises(InputError, match="no model has predictions"):
            geography(SET, [], by="region", rng=np.random.default_rng(0))


class TestTables:
    def test_parts(self):
        result = study(original=ORIGINAL, standard=STANDARD, between=[("Europe", "Africa")])
        models, groups, progress = (result.part(part) for part in GeographyPart)
        assert len(models.rows) == 12 and len(groups.rows) == 72
        assert [column.heading for column in models.columns][:4] == ["model", "original", "top-1", "Africa"]
        assert len(progress.rows) == 1 + 3 + 6 + 2
        assert any("disparity at least tripled" in note for note in models.notes)
        assert result.to_pandas()["disparity_low"].notna().all()

    def test_many_groups_have_no_columns(self):
        result = study(by="household", predictions=WORLD.predictions(SET, CORRECT)[:2])
        assert len(result.names) == 543 and len(result.table().columns) == 7

    def test_json_contains_all_parts(self):
        result = study(original=ORIGINAL, standard=STANDARD)
        parsed = json.loads(json.dumps(result.as_dict(), allow_nan=False))
        assert len(parsed["rows"]) == 12 and len(parsed["progress"]["rates"]) == 10
        assert parsed["growth"]["verdict"] in {"supported", "not settled", "contradicted"}


def test_disparities_cover_the_truth_of_a_world_with_households():
    held = []
    for seed in range(12):
        result = study(correct=WORLD.correct(np.random.default_rng(100 + seed)), between=[("Europe", "Africa")])
        for i, model in enumerate(WORLD.models):
            truth, row = WORLD.truth(i), result.row(model)
            gap = row.disparity
            held.append(
                (
                    gap.value.low <= np.ptp(truth) <= gap.value.high,
                    gap.lowest.low <= truth.min() <= gap.lowest.high,
                    row.between[0].low <= truth[3] - truth[0] <= row.between[0].high,
                )
            )
    assert (np.mean(held, axis=0) > 0.9).all()
