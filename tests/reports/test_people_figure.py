"""The figure of a study of people: points, titles and every format."""

import json
from dataclasses import replace

import numpy as np
import pytest
from simulated_people import Skill, answers, test_set

from regrade.display.style import COLORS
from regrade.studies import Contender, Scoring, figure
from regrade.studies.people.analysis import people

TARGET = test_set(300)


def result(models: int, best: float = 0.8, skills=(0.95, 0.9), name: str = "m"):
    rng = np.random.default_rng(1)
    everyone = [answers(TARGET, f"person:{i}", Skill(s, s, 20), rng) for i, s in enumerate(skills)]
    accuracies = np.linspace(0.3, best, models)
    everyone += [answers(TARGET, f"{name}{i}", Skill(a, a), rng) for i, a in enumerate(accuracies)]
    return people(TARGET, [(predictions, Scoring(TARGET)) for predictions in everyone], rng=rng)


def points(drawn):
    (values,) = drawn.spec["datasets"].values()
    return values


def test_all_people_and_models_are_drawn_on_the_first_subsets():
    study = result(4)
    drawn = points(figure(study))
    assert len(drawn) == 6 * 3
    assert {point["panel"].partition(" (")[0] for point in drawn} == {"all", "without dogs", "objects"}
    for point in drawn:
        assert point["value_low"] <= point["value"] <= point["value_high"]
    row = study.rows[0]
    first = next(point for point in drawn if point["who"] == row.who and point["panel"].startswith("all"))
    assert first["value"] == pytest.approx(100 * row.accuracy.value, abs=0.01)
    assert {point["kind"] for point in drawn if point["who"].startswith("person:")} == {"people"}


def test_subsets_with_fewer_than_20_images_are_not_drawn():
    study = result(4)
    drawn = figure(replace(study, sizes=study.sizes | {"without dogs": 19}))
    assert not any(point["panel"].startswith("without dogs") for point in points(drawn))
    assert len({point["panel"] for point in points(drawn)}) == 3 - (len(study.sizes) == 3)
    assert "1 subset with fewer than 20 images not drawn" in " ".join(drawn.spec["title"]["subtitle"])


def test_of_many_models_only_the_best_are_drawn():
    study = result(40)
    drawn = figure(study)
    names = {point["who"] for point in points(drawn)}
    assert len(names) == 18 and {"person:0", "person:1"} <= names
    assert set(study.names(Contender.MODEL)[:16]) <= names
    assert "the best 16 of 40 models" in " ".join(drawn.spec["title"]["subtitle"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"models": 3}, "The best person is ahead of the best model on sim"),
        ({"models": 3, "best": 0.99, "skills": (0.6, 0.5)}, "The best model is ahead of the best person on sim"),
        ({"models": 3, "best": 0.95}, "Not enough data to tell whether the best person or the best model is ahead"),
        ({"models": 0}, "person:0 has the highest accuracy of 2 people"),
    ],
)
def test_title_follows_the_tests(options, words):
    drawn = figure(result(**options))
    assert words in " ".join(drawn.spec["title"]["text"])
    assert drawn.alt.startswith(" ".join(drawn.spec["title"]["text"]))


def test_people_and_models_differ_in_color_and_shape():
    text = json.dumps(figure(result(2)).spec)
    assert COLORS[1] in text and "diamond" in text and "circle" in text


@pytest.fixture(scope="module")
def three_people():
    return figure(result(3))


@pytest.mark.parametrize("ending", ["html", "svg", "png", "pdf", "json"])
def test_every_format(three_people, tmp_path, ending):
    path = three_people.save(tmp_path / f"people.{ending}")
    assert path.stat().st_size > 1000
    if ending == "svg":
        text = path.read_text()
        assert "person:0" in text and "without dogs" in text
