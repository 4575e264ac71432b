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
from regrade.stats import bonferroni_confidence, clustered_share
from regrade.studies import figure, findings
from regrade.studies.geography.world_map import map_figure

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
    objects = [list(OBJECTS)[0 if i % 12 else 3] if i % 3 == 0 else list(OBJECTS)[i % 3] for i in range(len(test_set))]
    countries = {"Africa": "Nigeria", "Americas": "Mexico", "EastAsia": "Japan", "Europe": "Italy",
                 "SouthEastAsia": "Thailand", "WestAsia": "Jordan"}  # fmt: skip
    regions = test_set.groups["region"]
    return (
        objects,
        regions,
        [countries[region] for region in regions],
        test_set.groups["household"],
        test_set.groups["income"],
    )


@dataclass(frozen=True)
class Made:
    """A workspace with the set homes, its class map and eight models there and on two other sets; and what is right."""

    workspace: Path
    correct: np.ndarray
    scored: np.ndarray
    region: np.ndarray
    household: np.ndarray


@pytest.fixture(scope="module")
def study_data(tmp_path_factory) -> Made:
    folder = tmp_path_factory.mktemp("geography")
    workspace = folder / "W"
    run_well("init", workspace)
    objects, regions, countries, homes, incomes = columns()
    ids = [f"g{i:04}" for i in range(len(objects))]
    heading = ("id", "object", "region", "country", "household", "income")
    table = write_csv(
        folder / "homes.csv", heading, *zip(ids, objects, regions, countries, homes, incomes, strict=True)
    )
    space = write_csv(folder / "objects.csv", ("id", "name"), *((object_name, object_name) for object_name in OBJECTS))
    wnids = imagenet_1k().ids
    mapped = [(object_name, wnids[index]) for object_name, indices in OBJECTS.items() for index in indices]
    chart = write_csv(folder / "map.csv", ("target", "source"), *mapped, ("spices", ""))
    groups = [part for name in heading[2:] for part in ("--group", name)]
    columns_of = ("--classes", space, "--label-column", "object", *groups)
    run_well("testsets", "add", "homes", table, *columns_of, "--map", chart, "-w", workspace)
    correct = WORLD.correct(np.random.default_rng(4))
    for model, right in zip(WORLD.models, correct, strict=True):
        answers = [_best_five(OBJECTS[object_name], bool(yes)) for object_name, yes in zip(objects, right, strict=True)]
        rows = ((name, *five) for name, five in zip(ids, answers, strict=True))
        best = write_csv(folder / f"{model}.csv", ("id", *(f"top{k}" for k in range(1, 6))), *rows)
        imported = ("import", "predictions", best, "-t", "homes", "--model", model, "--classes", "imagenet-1k")
        run_well(*imported, "-w", workspace)
    for name, slope, offset in (("val", 1.0, 0.0), ("v2", 1.1, -0.15)):
        _standard(folder, workspace, name, offset + slope * WORLD.original_accuracy)
    return Made(workspace, correct, np.array(objects) != "spices", np.array(regions), np.array(homes))


def _best_five(mapped: tuple[int, ...], right: bool) -> tuple[int, ...]:
    """Five classes: a mapped class first if right, otherwise a fish first and a mapped class third."""
    if not mapped:
        return FISH
    return (mapped[0], *FISH[:4]) if right else (FISH[0], FISH[1], mapped[-1], FISH[2], FISH[3])


def _standard(folder: Path, workspace: Path, name: str, accuracies: np.ndarray, images: int = 400) -> None:
    """A test set of ImageNet's classes on which models have these accuracies."""
    ids = [f"{name}{i:04}" for i in range(images)]
    rows = [
        (example, 5, *(5 if i < accuracy * images else 6 for accuracy in accuracies)) for i, example in enumerate(ids)
    ]
    table = write_csv(folder / f"{name}.csv", ("id", "label", *WORLD.models), *rows)
    indices = ("--classes", "imagenet-1k", "--class-numbers", "indices")
    run_well("import", "predictions", table, "-t", name, *indices, "-w", workspace)


@pytest.fixture(scope="module")
def output(study_data) -> dict:
    more = ("--original", "val", "--standard", "v2", "--between", "Europe", "Africa")
    return json.loads(run_well(*STUDY, *more, "--json", "-w", study_data.workspace).out)


class TestEndToEnd:
    def test_accuracies_use_the_class_map_and_clusters(self, study_data, output):
        assert output["clusters"] == "household" and output["top"] == 1
        assert [group["name"] for group in output["groups"]] == sorted(set(study_data.region))
        inside = study_data.scored & (study_data.region == "Africa")
        for row in output["rows"]:
            right = study_data.correct[WORLD.models.index(row["model"])]
            each = bonferroni_confidence(len(output["groups"]))
            expected = clustered_share(right[inside], study_data.household[inside], confidence=each)
            assert row["groups"][0]["n"] == inside.sum()
            for part in ("value", "low", "high"):
                assert row["groups"][0][part] == pytest.approx(getattr(expected, part))
        assert any("73 of 870 labeled examples are left out" in note for note in output["notes"])

    def test_progress_gap_and_growth(self, output):
        rates = {rate["benchmark"]: rate["robust_slope"]["value"] for rate in output["progress"]["rates"]}
        assert rates["v2"] == pytest.approx(1.1, abs=0.02)
        (gap,) = output["progress"]["gaps"]
        assert gap["difference"]["value"] == pytest.approx(rates["v2"] - rates["homes"])
        assert gap["ratio"]["low"] < gap["ratio"]["value"] < gap["ratio"]["high"]
        assert output["progress"]["extremes"] == ["Europe", "Africa"]
        assert output["growth"]["best"] == ["model-07", "model-06"]
        assert output["growth"]["verdict"] == "not settled"

    def test_top_3_accepts_any_mapped_class(self, study_data):
        data = json.loads(run_well(*STUDY, "--top", "3", "--json", "-w", study_data.workspace).out)
        assert {row["overall"]["value"] for row in data["rows"]} == {1.0}

    def test_the_tables(self, study_data):
        more = ("--original", "val", "--standard", "v2")
        shown = run_well(*STUDY, *more, "-w", study_data.workspace).out
        assert "homes by region, in %" in shown and "disparity at least tripled: not settled" in shown
        homes = len(set(study_data.household[study_data.scored]))
        assert f"intervals are over {homes} clusters of images, by column household" in shown
        groups = run_well(*STUDY, "--show", "groups", "--csv", "-w", study_data.workspace).out
        assert len(list(csv.DictReader(io.StringIO(groups)))) == 8 * 6
        progress = run_well(*STUDY, *more, "--show", "progress", "-w", study_data.workspace).out
        assert "points gained with a point on val" in progress

    def test_incomes_and_countries(self, study_data):
        by = ("study", "geography", "-t", "homes", "-w", study_data.workspace, "--by")
        data = json.loads(run_well(*by, "income", "--parts", "3", "--json").out)
        assert len(data["edges"]) == 4 and len(data["groups"]) == 3
        assert "Nigeria" in run_well(*by, "country").out

    def test_figures_and_the_map(self, study_data, tmp_path):
        paths = tmp_path / "f.svg", tmp_path / "m.html"
        ran = run_well(*STUDY, "--original", "val", "--figure", paths[0], "--map", paths[1], "-w", study_data.workspace)
        assert ran.err == f"figure: {paths[0]}\nmap: {paths[1]}\n"
        assert "Disparity: " in paths[0].read_text()
        assert '"topojson"' in paths[1].read_text() and "Africa" in paths[1].read_text()

    def test_from_python_in_a_notebook(self, study_data, output):
        result = regrade.open(study_data.workspace).study.geography(
            "homes", by="region", original="val", standard=["v2"], between=[("Europe", "Africa")]
        )
        assert json.loads(json.dumps(result.as_dict())) == output
        assert "<table>" in result._repr_html_() and "homes by region" in repr(result)
        assert figure(result)._repr_mimebundle_()["text/plain"]
        assert map_figure(result).alt.startswith("model-07")
        assert 1 <= len(findings(result)) <= 3

    def test_study_writes_nothing(self, study_data):
        before = snapshot(study_data.workspace)
        run_well(*STUDY, "-w", study_data.workspace)
        assert snapshot(study_data.workspace) == before


class TestErrors:
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
            (("-t", "homes", "--by", "region", "--clusters", "region"), ("both the group column",)),
            (("-t", "homes", "--by", "region", "--model", "m"), ("unknown model on homes 'm'",)),
            (("-t", "homes", "--by", "region", "--top", "6"), ("only the top 5 are stored",)),
            (("-t", "homes", "--by", "region", "--parts", "3"), ("is not numeric",)),
            (("-t", "homes", "--by", "region", "--growth", "model-07", "model-7"), ("did you mean",)),
        ],
    )
    def test_invalid_options_are_one_line(self, study_data, options, words):
        assert_one_line(run("study", "geography", *options, "-w", study_data.workspace), *words)

    def test_map_of_incomes_is_skipped_with_a_message(self, study_data, tmp_path):
        by = ("study", "geography", "-t", "homes", "--by", "income", "-w", study_data.workspace)
        ran = run_well(*by, "--map", tmp_path / "m.svg")
        assert ran.err == "no map: the groups by income are neither countries nor known regions: no map can be drawn\n"
        assert "homes by income, in %" in ran.out and not (tmp_path / "m.svg").exists()

    def test_an_unknown_original(self, study_data):
        assert_one_line(run(*STUDY, "--original", "vall", "-w", study_data.workspace), "unknown test set 'vall'", "val")
