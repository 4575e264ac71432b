"""The figure and the words of a study of confusion."""

from dataclasses import replace

import numpy as np
import pytest
from confusion_world import world

from regrade.core import UNLABELED, Estimate
from regrade.report import figure, findings
from regrade.studies import Scoring, UnlabeledInputs, confusion

SKILLS = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0)


def studied(*, models=6, images=600, other=False, own=True, seed=0, **options):
    rng = np.random.default_rng(seed)
    here = world(images, rng, name="here")
    scored = [(here.model(f"m{i}", skill, rng, scores=True), here.scoring) for i, skill in enumerate(SKILLS[:models])]
    ensemble = here.ensemble(rng)
    side = None
    if other:
        there = world(400, rng, name="there", shift=0.5)
        answers = [(there.model(f"m{i}", s, rng, scores=True), there.scoring) for i, s in enumerate(SKILLS[:models])]
        side = UnlabeledInputs(there.test_set, there.ensemble(rng), answers, there.scoring)
    return confusion(
        here.test_set, [ensemble], scored, rng=rng, own=here.scoring if own else None, unlabeled=side, **options
    )


def panels(drawn):
    return [panel["title"]["text"] for panel in drawn.spec["vconcat"]]


def rows(drawn, *, having):
    return [row for values in drawn.spec["datasets"].values() for row in values if having in row]


class TestFigure:
    def test_what_is_drawn(self):
        study = studied(other=True)
        drawn = figure(study)
        assert len(panels(drawn)) == 4
        assert drawn.spec["title"]["text"] == ["Images that confuse E are harder for all 6 other models"]
        shares = rows(drawn, having="share")
        assert sum(row["images"] for row in shares) == 600
        assert sum(row["images"] for row in shares if row["part"] == "hard") == study.hard.images

    def test_errors_by_score_have_intervals_and_lose_no_image(self):
        drawn = figure(studied())
        points = rows(drawn, having="at")
        names = {row["model"] for row in points}
        assert names == {"E (after epoch 5)", "m5", "m2", "m0"}  # itself, the best, the middle and the worst
        for name in names:
            assert sum(row["images"] for row in points if row["model"] == name) == 600
        assert all(row["value_low"] <= row["value"] <= row["value_high"] for row in points)
        assert min(row["images"] for row in points) >= 25

    def test_without_labels_there_are_scores_alone(self):
        rng = np.random.default_rng(1)
        images = world(100, rng)
        bare = replace(images.test_set, labels=np.full(100, UNLABELED))
        drawn = figure(confusion(bare, [images.ensemble(rng)], rng=rng, own=Scoring(bare)))
        assert panels(drawn) == [["How confusing are the images?"]]

    @pytest.mark.parametrize("images", [1, 2, 5])
    def test_few_images(self, images, tmp_path):
        drawn = figure(studied(images=images))
        assert drawn.save(tmp_path / "f.svg").stat().st_size > 1000

    def test_every_form(self, tmp_path):
        drawn = figure(studied(other=True))
        for ending in ("html", "svg", "png", "pdf", "json"):
            assert drawn.save(tmp_path / f"f.{ending}").stat().st_size > 2000
        assert "Images that confuse E" in drawn.alt


def headlines(study):
    return [one.headline for one in findings(study)]


class TestWords:
    def test_hard_for_all(self):
        first = findings(studied())[0]
        assert first.headline == "Images that confuse E are harder for all 6 other models"
        assert "without a look at any label" in first.text

    def test_counts_of_models_are_corrected_for_all_of_them(self):
        """Differences just above 0 by their own intervals are none by intervals that hold for all models."""
        study = studied()
        near = Estimate(0.1, 0.01, 0.19, 400, "newcombe 95%")
        close = [replace(model, transfer=replace(model.transfer, difference=near)) for model in study.models]
        assert "Images that confuse E are not shown to be hard for other models" in headlines(
            replace(study, models=tuple(close))
        )

    def test_one_other_model(self):
        first = findings(studied(models=1))[0]
        assert first.headline == "Images that confuse E are harder for m0"
        assert first.text.startswith("Its error there is ")

    def test_hard_for_no_one(self):
        """Scores that have nothing to do with the models' errors."""
        rng = np.random.default_rng(4)
        images, others = world(300, rng), world(300, rng)
        model = (images.model("m", 2.0, rng), images.scoring)
        found = headlines(confusion(images.test_set, [others.ensemble(rng)], [model], rng=rng))
        assert found == ["Images that confuse E are not shown to be hard for other models"]

    def test_the_ensemble_alone(self):
        found = headlines(studied(models=0))
        assert found == ["E (after epoch 5) errs where the ensemble was unsure while it was trained"]
        assert headlines(studied(models=0, own=False)) == []

    @pytest.mark.parametrize(
        ("low", "high", "words"),
        [
            (0.7, 0.9, "The order of models is largely kept on confusing images"),
            (-0.2, 0.4, "The order of models changes on confusing images"),
            (0.2, 0.9, "Whether models keep their order on confusing images is not settled"),
        ],
    )
    def test_order_is_said_as_strongly_as_its_interval_allows(self, low, high, words):
        study = replace(studied(), ranking=Estimate((low + high) / 2, low, high, 6, "kendall 95%"))
        assert words in headlines(study)

    def test_what_to_expect(self):
        study = studied(other=True)
        (found,) = [one for one in findings(study) if "to expect on there" in one.headline]
        assert "No model of" in found.text and "is shown to err more or less than expected" in found.text
        rows = study.unlabeled.errors
        shifts = (-0.2, *[0.01] * (len(rows) - 1))  # only the first is further than corrected intervals reach
        gaps = [replace(row, gap=Estimate(d, d - 0.05, d + 0.05, 400, "")) for row, d in zip(rows, shifts, strict=True)]
        off = replace(study, unlabeled=replace(study.unlabeled, errors=tuple(gaps)))
        (found,) = [one for one in findings(off) if "expected by score" in one.headline]
        assert found.headline == f"The error expected by score on there is too low for 1 of {len(rows)} models"
        assert "−20.0 points (−25.0 to −15.0)" in found.text
        assert "half of the models are within 1.0 points" in found.text
        assert "Spearman's rank correlation" in found.text
        blind = [replace(row, actual=None, gap=None) for row in study.unlabeled.errors]
        unknown = replace(study, unlabeled=replace(study.unlabeled, errors=tuple(blind)))
        (found,) = [one for one in findings(unknown) if "to expect on there" in one.headline]
        assert "actual" not in found.text

    def test_never_more_than_three_the_weightiest_first(self):
        found = findings(studied(other=True))
        assert len(found) == 3
        assert [one.weight for one in found] == sorted((one.weight for one in found), reverse=True)
