"""regrade study geography, end to end: a GeoDE-like release, predictions in ImageNet's classes, and standard sets."""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from geography_world import World
from releases import write_csv
from running import assert_one_line, run, run_well, snapshot

import regrade
from regrade.classes import imagenet_1k
from regrade.report import figure, findings, map_figure
from regrade.stats import clustered_proportion, confidence_of_each

WORLD = World(
    sizes=(160, 150, 140, 170, 120, 130),
    difficulty=(0.4, 0.1, 0.2, -0.1, 0.15, 0.3),
    gains=(0.3, 0.9, 0.7, 1.0, 0.7, 0.5),
    skills=tuple(np.linspace(-0.3, 1.6, 8)),
)
OBJECTS = {"bag": (414, 748), "cup": (968, 504), "chair": (559, 765), "spices": ()}
STUDY = ("study", "geography", "-t", "homes", "--by", "region")
FISH = (0, 1, 2, 3, 4)


def columns():
    """Object, region, country, household and income of every image; an image of spices has no ImageNet class."""
    test_set = WORLD.test_set()
    things = [list(OBJECTS)[0 if i % 12 else 3] if i % 3 == 0 else list(OBJECTS)[i % 3] for i in range(len(test_set))]
    countries = {"Africa": "Nigeria", "Americas": "Mexico", "EastAsia": "Japan", "Europe": "Italy",
                 "SouthEastAsia": "Thailand", "WestAsia": "Jordan"}  # fmt: skip
    regions = test_set.groups["region"]
    return things, regions, [countries[one] for one in regions], test_set.groups["household"], test_set.groups["income"]


@dataclass(frozen=True)
class Made:
    """A workspace with the set homes, its class map and eight models there and on two other sets; and what is right."""

    workspace: Path
    correct: np.ndarray
    scored: np.ndarray
    region: np.ndarray
    household: np.ndarray


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Made:
    folder = tmp_path_factory.mktemp("geography")
    workspace = folder / "W"
    run_well("init", workspace)
    things, regions, countries, homes, incomes = columns()
    ids = [f"g{i:04}" for i in range(len(things))]
    heading = ("id", "object", "region", "country", "household", "income")
    table = write_csv(folder / "homes.csv", heading, *zip(ids, things, regions, countries, homes, incomes, strict=True))
    space = write_csv(folder / "objects.csv", ("id", "name"), *((thing, thing) for thing in OBJECTS))
    wnids = imagenet_1k().ids
    mapped = [(thing, wnids[index]) for thing, found in OBJECTS.items() for index in found]
    chart = write_csv(folder / "map.csv", ("target", "source"), *mapped, ("spices", ""))
    groups = [part for name in heading[2:] for part in ("--group", name)]
    columns_of = ("--classes", space, "--label-column", "object", *groups)
    run_well("testsets", "add", "homes", table, *columns_of, "--map", chart, "-w", workspace)
    correct = WORLD.correct(np.random.default_rng(4))
    for model, right in zip(WORLD.models, correct, strict=True):
        answers = [_best_five(OBJECTS[thing], bool(yes)) for thing, yes in zip(things, right, strict=True)]
        rows = ((name, *five) for name, five in zip(ids, answers, strict=True))
        best = write_csv(folder / f"{model}.csv", ("id", *(f"top{k}" for k in range(1, 6))), *rows)
        imported = ("import", "predictions", best, "-t", "homes", "--model", model, "--classes", "imagenet-1k")
        run_well(*imported, "-w", workspace)
    for name, slope, offset in (("val", 1.0, 0.0), ("v2", 1.1, -0.15)):
        _standard(folder, workspace, name, offset + slope * WORLD.original_accuracy)
    return Made(workspace, correct, np.array(things) != "spices", np.array(regions), np.array(homes))


def _best_five(mapped: tuple[int, ...], right: bool) -> tuple[int, ...]:
    """The first of the mapped classes or, if wrong, a fish first and a mapped class third."""
    if not mapped:
        return FISH
    return (mapped[0], *FISH[:4]) if right else (FISH[0], FISH[1], mapped[-1], FISH[2], FISH[3])


def _standard(folder: Path, workspace: Path, name: str, accuracies: np.ndarray, images: int = 400) -> None:
    """A test set of ImageNet's classes on which models have these accuracies."""
    ids = [f"{name}{i:04}" for i in range(images)]
    rows = [(one, 5, *(5 if i < accuracy * images else 6 for accuracy in accuracies)) for i, one in enumerate(ids)]
    table = write_csv(folder / f"{name}.csv", ("id", "label", *WORLD.models), *rows)
    indices = ("--classes", "imagenet-1k", "--class-numbers", "indices")
    run_well("import", "predictions", table, "-t", name, *indices, "-w", workspace)


@pytest.fixture(scope="module")
def told(made) -> dict:
    more = ("--original", "val", "--standard", "v2", "--between", "Europe", "Africa")
    return json.loads(run_well(*STUDY, *more, "--json", "-w", made.workspace).out)


class TestEndToEnd:
    def test_accuracies_go_through_the_map_and_households(self, made, told):
        assert told["clusters"] == "household" and told["top"] == 1
        assert [group["name"] for group in told["groups"]] == sorted(set(made.region))
        inside = made.scored & (made.region == "Africa")
        for row in told["rows"]:
            right = made.correct[WORLD.models.index(row["model"])]
            each = confidence_of_each(len(told["groups"]))
            expected = clustered_proportion(right[inside], made.household[inside], confidence=each)[0]
            assert row["groups"][0]["n"] == inside.sum()
            for part in ("value", "low", "high"):
                assert row["groups"][0][part] == pytest.approx(getattr(expected, part))
        assert any("73 of 870 labeled examples are left out" in note for note in told["notes"])

    def test_progress_gap_and_growth(self, told):
        rates = {rate["benchmark"]: rate["robust_slope"]["value"] for rate in told["progress"]["rates"]}
        assert rates["v2"] == pytest.approx(1.1, abs=0.02)
        (gap,) = told["progress"]["gaps"]
        assert gap["difference"]["value"] == pytest.approx(rates["v2"] - rates["homes"])
        assert gap["ratio"]["low"] < gap["ratio"]["value"] < gap["ratio"]["high"]
        assert told["progress"]["extremes"] == ["Europe", "Africa"]
        assert told["growth"]["best"] == ["model-07", "model-06"]
        assert told["growth"]["verdict"] == "not settled"

    def test_any_mapped_class_among_the_best_three_is_right(self, made):
        found = json.loads(run_well(*STUDY, "--top", "3", "--json", "-w", made.workspace).out)
        assert {row["overall"]["value"] for row in found["rows"]} == {1.0}

    def test_the_tables(self, made):
        more = ("--original", "val", "--standard", "v2")
        shown = run_well(*STUDY, *more, "-w", made.workspace).out
        assert "homes by region, in %" in shown and "disparity at least tripled: not settled" in shown
        homes = len(set(made.household[made.scored]))
        assert f"intervals are over {homes} clusters of images, by column household" in shown
        groups = run_well(*STUDY, "--show", "groups", "--csv", "-w", made.workspace).out
        assert len(list(csv.DictReader(io.StringIO(groups)))) == 8 * 6
        progress = run_well(*STUDY, *more, "--show", "progress", "-w", made.workspace).out
        assert "points gained with a point on val" in progress

    def test_incomes_and_countries(self, made):
        by = ("study", "geography", "-t", "homes", "-w", made.workspace, "--by")
        found = json.loads(run_well(*by, "income", "--parts", "3", "--json").out)
        assert len(found["edges"]) == 4 and len(found["groups"]) == 3
        assert "Nigeria" in run_well(*by, "country").out

    def test_figures_and_the_map(self, made, tmp_path):
        paths = tmp_path / "f.svg", tmp_path / "m.html"
        ran = run_well(*STUDY, "--original", "val", "--figure", paths[0], "--map", paths[1], "-w", made.workspace)
        assert ran.err == f"figure: {paths[0]}\nmap: {paths[1]}\n"
        assert "Disparity: each model" in paths[0].read_text()
        assert '"topojson"' in paths[1].read_text() and "Africa" in paths[1].read_text()

    def test_from_python_in_a_notebook(self, made, told):
        result = regrade.open(made.workspace).geography(
            "homes", by="region", original="val", standard=["v2"], between=[("Europe", "Africa")]
        )
        assert json.loads(json.dumps(result.as_dict())) == told
        assert "<table>" in result._repr_html_() and "homes by region" in repr(result)
        assert figure(result)._repr_mimebundle_()["text/plain"]
        assert map_figure(result).alt.startswith("model-07")
        assert 1 <= len(findings(result)) <= 3

    def test_nothing_is_written(self, made):
        before = snapshot(made.workspace)
        run_well(*STUDY, "-w", made.workspace)
        assert snapshot(made.workspace) == before


class TestTrouble:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("-t", "homes", "--by", "regoin"), ("unknown group column of homes 'regoin'", "did you mean region?")),
            (("-t", "home", "--by", "region"), ("unknown test set 'home'", "homes")),
            (("-t", "homes", "--by", "region", "--between", "Europe", "Asia"), ("unknown region of homes 'Asia'",)),
            (("-t", "homes", "--by", "region", "--between", "Europe", "Europe"), ("two different groups, got Europe",)),
            (("-t", "homes", "--by", "region", "--show", "progress"), ("name it with --original",)),
            (("-t", "homes", "--by", "region", "--standard", "v2"), ("name it too",)),
            (("-t", "homes", "--by", "region", "--original", "homes"), ("named twice",)),
            (("-t", "homes", "--by", "region", "--clusters", "region"), ("at once",)),
            (("-t", "homes", "--by", "region", "--model", "m"), ("unknown model on homes 'm'",)),
            (("-t", "homes", "--by", "region", "--top", "6"), ("only the best 5 were stored",)),
            (("-t", "homes", "--by", "region", "--parts", "3"), ("holds no numbers",)),
            (("-t", "homes", "--by", "region", "--growth", "model-07", "model-7"), ("did you mean",)),
        ],
    )
    def test_one_clear_line(self, made, options, words):
        assert_one_line(run("study", "geography", *options, "-w", made.workspace), *words)

    def test_incomes_have_no_map_and_the_study_is_shown_all_the_same(self, made, tmp_path):
        by = ("study", "geography", "-t", "homes", "--by", "income", "-w", made.workspace)
        ran = run_well(*by, "--map", tmp_path / "m.svg")
        assert ran.err == "no map: the groups by income are neither countries nor known regions\n"
        assert "homes by income, in %" in ran.out and not (tmp_path / "m.svg").exists()

    def test_an_unknown_original(self, made):
        assert_one_line(run(*STUDY, "--original", "vall", "-w", made.workspace), "unknown test set 'vall'", "val")
