"""The figure, the map and the findings of a geography study."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from geography_world import REGIONS, World

from regrade.core import UndefinedError, UnknownName
from regrade.display.style import COLORS
from regrade.studies import ModelCounts, SetCounts, figure, findings
from regrade.studies.geography.analysis import geography
from regrade.studies.geography.world_map import map_figure

LARGE = World(
    sizes=(3000,) * 6, gains=(0.25, 0.4, 0.35, 0.5, 0.35, 0.3), difficulty=(0.1, 0, 0, -0.1, 0, 0.02), household=1
)


def study(world=LARGE, *, by="region", models=None, original=True, standard=(1.1,), seed=0, **options):
    rng = np.random.default_rng(seed)
    test_set = world.test_set()
    if options.pop("alone", True):
        test_set = replace(test_set, groups={k: v for k, v in test_set.groups.items() if k != "household"})
    answers = (
        world.predictions(test_set, world.correct(rng))[-models:]
        if models
        else world.predictions(test_set, world.correct(rng))
    )
    if original:
        options |= {
            "original": world.counts("imagenet-val", 1.0, 0.0),
            "standard": [world.counts(f"standard-{i}", slope, 0.2 - slope / 4) for i, slope in enumerate(standard)],
        }
    return geography(test_set, answers, by=by, rng=rng, draws=200, **options)


def values(spec):
    """All rows of data of a figure, except the outlines of countries."""
    rows = []

    def walk(part):
        if isinstance(part, dict):
            if isinstance(part.get("values"), list):
                rows.extend(row for row in part["values"] if isinstance(row, dict))
            for value in part.values():
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)

    walk({key: value for key, value in spec.items() if key != "datasets"})
    for dataset in spec.get("datasets", {}).values():
        rows.extend(dataset if isinstance(dataset, list) else [])
    return rows


def text_of(drawn):
    return " ".join(drawn.spec["title"]["text"])


@pytest.fixture(scope="module")
def figure_and_map():
    result = study(models=3)
    return figure(result), map_figure(result)


class TestFigure:
    def test_every_model_has_a_point_with_interval_in_every_group(self):
        result = study()
        points = [row for row in values(figure(result).spec) if "group" in row]
        assert {(row["model"], row["group"].partition(" (")[0]) for row in points} == {
            (row.model, name) for row in result.rows for name in REGIONS
        }
        for row in points:
            assert row["value_low"] <= row["value"] <= row["value_high"]
            accuracy = result.row(row["model"]).groups[REGIONS.index(row["group"].partition(" (")[0])]
            assert row["value"] == pytest.approx(100 * accuracy.value, abs=0.01)

    def test_disparity_is_drawn_versus_the_original(self):
        result = study()
        points = [row for row in values(figure(result).spec) if "original_text" in row]
        assert {row["model"] for row in points} == set(result.progress.models)
        point = next(row for row in points if row["model"] == "model-03")
        assert point["x"] == pytest.approx(100 * result.row("model-03").original.value, abs=0.01)
        assert point["value_low"] <= point["value"] <= point["value_high"]

    def test_progress_rates_are_drawn_with_their_intervals(self):
        result = study(standard=(1.1, 0.9))
        rows = {row["benchmark"]: row for row in values(figure(result).spec) if "benchmark" in row}
        assert set(rows) == {rate.benchmark for rate in result.progress.rates}
        for rate in result.progress.rates:
            drawn = [rows[rate.benchmark][end] for end in ("value", "low", "high")]
            assert drawn == pytest.approx([rate.rate.value, rate.rate.low, rate.rate.high], abs=1e-4)
        groups = [row["value"] for row in rows.values() if row["kind"] == "group"]
        assert groups == sorted(groups, reverse=True)

    def test_of_many_groups_the_slowest_and_the_fastest_have_a_rate(self):
        world = World(
            sizes=(40,) * 40,
            gains=(0.5,) * 40,
            difficulty=(0.1,) * 40,
            regions=tuple(f"r{place}" for place in range(40)),
        )
        rows = [row for row in values(figure(study(world)).spec) if row.get("kind") == "group"]
        assert len(rows) == 24

    def test_named_models_have_colors_and_shapes(self):
        text = json.dumps(figure(study()).spec)
        assert all(color in text for color in COLORS[:4]) and '"diamond"' in text

    def test_without_an_original_disparity_is_drawn_by_model(self):
        spec = figure(study(original=False)).spec
        assert len(spec["vconcat"]) == 2 and "Upright ticks" in json.dumps(spec)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({}, "lower in Africa than in Europe"),
            ({"by": "income"}, "No difference by income detected"),
            ({"by": "constant"}, "is right on"),
        ],
    )
    def test_title_claims_only_what_is_significant(self, options, words):
        drawn = figure(study(**options))
        assert words in text_of(drawn) and drawn.alt.startswith(text_of(drawn))

    def test_with_many_groups_only_the_best_and_worst_model_are_named(self):
        names = tuple(f"land {i:02}" for i in range(30))
        rng = np.random.default_rng(1)
        world = World(sizes=(40,) * 30, gains=(1.0,) * 30, difficulty=tuple(rng.normal(0, 0.2, 30)), regions=names)
        drawn = figure(study(world, original=False))
        assert "differs by region" in text_of(drawn) or "No difference" in text_of(drawn)
        legend = drawn.spec["vconcat"][0]["layer"][-1]["encoding"]["color"]["scale"]["domain"]
        assert legend == ["model-11", "model-00"]

    @pytest.mark.parametrize("ending", ["html", "svg", "png", "pdf", "json"])
    def test_every_format(self, figure_and_map, tmp_path, ending):
        for number, drawn in enumerate(figure_and_map):
            path = drawn.save(tmp_path / f"{number}.{ending}")
            assert path.stat().st_size > 1000


class TestMap:
    def test_countries_show_the_accuracy_of_their_region(self):
        result = study()
        spec = map_figure(result).spec
        rows = {row["country"]: row for row in values(spec) if "country" in row}
        best = result.rows[0]
        for country, region in (
            ("Nigeria", "Africa"),
            ("Italy", "Europe"),
            ("Japan", "EastAsia"),
            ("Jordan", "WestAsia"),
        ):
            accuracy = best.groups[REGIONS.index(region)]
            assert rows[country]["group"] == region
            assert rows[country]["value"] == pytest.approx(100 * accuracy.value, abs=0.01)
            assert (
                rows[country]["shown"]
                == f"{100 * accuracy.value:.1f}% [{100 * accuracy.low:.1f}, {100 * accuracy.high:.1f}]"
            )
            assert rows[country]["images"] == accuracy.n
        assert "India" not in rows  # of no region of GeoDE
        labels = [row["text"] for row in values(spec) if "text" in row]
        assert sorted(label.partition("|")[0] for label in labels) == sorted(REGIONS)
        assert all("% [" in label for label in labels)  # on paper there are no tooltips

    def test_country_without_an_outline_is_a_dot(self):
        names = ("Singapore", "Kenya", "France", "Atlantis")
        world = World(sizes=(300,) * 4, gains=(1.0,) * 4, difficulty=(0.5, 0.0, -0.5, 0), skills=(0, 1), regions=names)
        drawn = map_figure(study(world, original=False))
        dots = [row for row in values(drawn.spec) if "latitude" in row and "country" in row]
        assert [row["country"] for row in dots] == ["Singapore"]
        assert "Not on the map: Atlantis" in " ".join(drawn.spec["title"]["subtitle"])
        assert "Kenya" in drawn.alt

    def test_map_of_a_named_model(self):
        result = study()
        assert text_of(map_figure(result, "model-04")).startswith("model-04")
        with pytest.raises(UnknownName, match="did you mean"):
            map_figure(result, "modle-04")

    def test_map_rejects_groups_that_are_not_places(self):
        with pytest.raises(UndefinedError, match="neither countries nor known regions"):
            map_figure(study(by="income", original=False))


def headlines(result):
    return [finding.headline for finding in findings(result)]


class TestFindings:
    def test_at_most_three_findings_by_weight_with_intervals(self):
        ranked = findings(study())
        assert len(ranked) == 3
        weights = [finding.weight for finding in ranked]
        assert weights == sorted(weights, reverse=True)
        assert ranked[0].headline == "model-11 is right less often in Africa than in Europe"
        assert all(" to " in finding.text for finding in ranked)

    def test_progress_gap(self):
        texts = {finding.headline: finding.text for finding in findings(study(standard=(1.2, 1.0)))}
        text = texts["Gains on imagenet-val carry over less to geode than to standard test sets"]
        assert "the mean of 2 standard sets" in text and "times the second" in text
        assert any("carry over more to geode" in headline for headline in headlines(study(standard=(0.1,))))

    def test_inconclusive_intervals_make_no_claim(self):
        small = World(sizes=(60,) * 6, gains=(0.8,) * 6, difficulty=(0.0,) * 6, skills=(0.2, 0.5, 0.7), household=1)
        open_questions = headlines(study(small))
        assert any(headline.startswith("No difference by region detected") for headline in open_questions)
        assert any(headline.startswith("Not enough data to tell whether disparity") for headline in open_questions)

    def test_extremes_selected_by_chance_make_no_claim(self):
        """Equal regions: differences of extremes selected by chance shrink with accuracy, which is not a finding."""
        equal = World(sizes=(60,) * 6, gains=(0.8,) * 6, difficulty=(0.0,) * 6, household=1)
        for seed in range(20):
            assert not any(headline.startswith("Disparity") for headline in headlines(study(equal, seed=seed)))

    def test_ratio_without_bounds_is_undefined(self):
        flat = World(sizes=(60,) * 6, gains=(0.0,) * 6, difficulty=(0.0,) * 6)
        assert any("their ratio is undefined" in finding.text for finding in findings(study(flat)))

    def test_numeric_groups_use_at(self):
        (finding,) = findings(study(by="income", original=False))
        assert "at income" in finding.text

    def test_one_group_gives_no_findings(self):
        assert findings(study(by="constant")) == ()

    def test_perfect_models_give_finite_numbers(self):
        counts = SetCounts("imagenet-val", dict.fromkeys(LARGE.models, ModelCounts(40_000, 50_000)))
        test_set = LARGE.test_set()
        right = np.ones((len(LARGE.models), len(test_set)), dtype=bool)
        result = geography(
            test_set,
            LARGE.predictions(test_set, right),
            by="region",
            rng=np.random.default_rng(0),
            original=counts,
            draws=50,
        )
        for finding in findings(result):
            assert not any(word in finding.text for word in ("nan", "inf", "None"))
        assert all(math.isfinite(row["value"]) for row in values(figure(result).spec) if "value" in row)
