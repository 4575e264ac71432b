"""The figures of Albiero et al. 2023 by name: their data, and which are left out without data."""

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from confusion_world import CLASSES, world

from regrade.studies.confusion.analysis import FurtherInputs, confusion
from regrade.studies.confusion.bands import Remedy
from regrade.studies.confusion.paper_figures import paper_figures


@pytest.fixture(scope="module")
def studied():
    rng = np.random.default_rng(0)
    images, train = world(500, rng, name="val"), world(900, rng, name="train")
    models = [images.model(f"m{i}", skill, rng) for i, skill in enumerate((1.0, 2.0, 3.0, 4.0))]
    ensembles = [images.ensemble(rng, epochs=12), images.ensemble(rng, name="F", seeds=1)]
    further = FurtherInputs([images.scoring], train=train.ensemble(rng, epochs=12), remedy=Remedy("m0", "m3"))
    scored = [(model, images.scoring) for model in models]
    result = confusion(images.test_set, ensembles, scored, rng=rng, own=images.scoring, further=further)
    return result, paper_figures(result)


def values(figure):
    """All rows of inline data of a figure."""
    rows = list(figure.spec.get("datasets", {}).values())

    def walk(part):
        if isinstance(part, dict):
            if "values" in part.get("data", {}):
                rows.append(part["data"]["values"])
            for child in part.values():
                walk(child)
        elif isinstance(part, list):
            for child in part:
                walk(child)

    walk({key: part for key, part in figure.spec.items() if key != "datasets"})
    return [row for table in rows for row in table]


def test_every_figure_is_drawn(studied, tmp_path):
    _, figures = studied
    assert list(figures) == [
        "figure-2-distribution", "figure-3-ensembles", "figure-4-error-by-score", "figure-5-strides",
        "figure-6-correlations", "figure-7-bands", "accuracy-by-confusion", "rivals",
        "trends",
    ]  # fmt: skip
    for name, figure in figures.items():
        assert figure.alt and figure.save(tmp_path / f"{name}.svg").stat().st_size > 5_000


def test_distribution_has_the_counts_of_both_sets(studied):
    result, figures = studied
    rows = values(figures["figure-2-distribution"])
    for name, own in (("val", result.distribution), ("train", result.train.distribution)):
        counts = [row["images"] for row in rows if row["set"] == name]
        assert counts[:-1] == [max(count, 0.5) for count in own.counts]
    assert figures["figure-2-distribution"].spec["encoding"]["y"]["scale"]["type"] == "log"


def test_scatter_counts_every_image_and_states_skewness_and_tau(studied):
    result, figures = studied
    rows = values(figures["figure-3-ensembles"])
    assert sum(row.get("images", 0) for row in rows) == result.images
    skews = [f"{row.skewness:.2f} of {row.ensemble}" for row in result.ensembles]
    assert f"Skewness {skews[0]} and {skews[1]}" in figures["figure-3-ensembles"].alt
    assert f"Kendall's tau {result.agreements[0].tau.value:.2f}" in figures["figure-3-ensembles"].alt


def test_errors_of_all_models_are_drawn(studied):
    result, figures = studied
    rows = values(figures["figure-4-error-by-score"])
    assert {row["model"] for row in rows} == {"m0", "m1", "m2", "m3"}
    assert {row["series"] for row in rows} == {"best: m3", "median: m1", "worst: m0", "other models"}
    own = [row for row in rows if row["model"] == "m2"]
    assert sum(row["images"] for row in own) == result.images
    errors = sum(row["value"] * row["images"] for row in own) / result.images
    (model,) = [model for model in result.models if model.model == "m2"]
    assert errors == pytest.approx(100 * model.error.value, abs=0.01)


def test_errors_have_the_color_of_the_family_if_several_are_stated(studied):
    result, _ = studied
    families = {"m0": "small", "m1": "small", "m3": "large"}
    described = replace(
        result, models=tuple(replace(model, family=families.get(model.model)) for model in result.models)
    )
    rows = values(paper_figures(described)["figure-4-error-by-score"])
    series = {row["model"]: row["series"] for row in rows}
    assert series == {"m0": "small", "m1": "small", "m2": "other models", "m3": "large"}
    assert "family" not in result.as_dict()["models"][0]
    assert [model["family"] for model in described.as_dict()["models"] if model["model"] == "m3"] == ["large"]


def test_histograms_mark_the_score_of_an_easy_image(studied):
    _, figures = studied
    rows = values(figures["figure-5-strides"])
    easy = {(row["stride"], row["members"]): row["easy"] for row in rows}
    assert easy["every 3rd: 4 epochs", "2 members"] == pytest.approx(log2(CLASSES) / 4, abs=1e-3)
    assert len(easy) == 8
    for setting in easy:
        assert sum(row["share"] for row in rows if (row["stride"], row["members"]) == setting) == pytest.approx(
            100, abs=0.5
        )


def test_bands_show_the_change(studied):
    result, figures = studied
    rows = values(figures["figure-7-bands"])
    changes = [row["change"] for row in rows if "change" in row]
    assert len(changes) == len(result.bands.bands)
    assert changes[-1].startswith(f"{100 * result.bands.bands[-1].change.value:+.1f}".replace("-", "−"))


def test_figures_without_data_are_left_out():
    rng = np.random.default_rng(0)
    images = world(40, rng)
    result = confusion(images.test_set, [images.ensemble(rng, seeds=1, epochs=1)], rng=rng)
    assert list(paper_figures(result)) == ["figure-2-distribution"]


def test_two_models_are_both_named():
    rng = np.random.default_rng(0)
    images = world(200, rng)
    scored = [(images.model(f"m{i}", 2.0 + i, rng), images.scoring) for i in range(2)]
    figures = paper_figures(confusion(images.test_set, [images.ensemble(rng)], scored, rng=rng))
    assert {row["series"] for row in values(figures["figure-4-error-by-score"])} == {"model: m0", "model: m1"}
