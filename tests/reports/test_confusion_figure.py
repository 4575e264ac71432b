"""The figure and the findings of a confusion study."""

from dataclasses import replace

import numpy as np
import pytest
from confusion_world import world

from regrade.core import UNLABELED, Estimate
from regrade.studies import Scoring, UnlabeledInputs, figure, findings
from regrade.studies.confusion.analysis import FurtherInputs, confusion
from regrade.studies.confusion.bands import Remedy
from regrade.studies.confusion.rivals import TrainingCost

SKILLS = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0)


def studied(*, models=6, images=600, with_unlabeled=False, own=True, seed=0, **options):
    rng = np.random.default_rng(seed)
    labeled = world(images, rng, name="labeled")
    scored = [
        (labeled.model(f"m{i}", skill, rng, scores=True), labeled.scoring) for i, skill in enumerate(SKILLS[:models])
    ]
    ensemble = labeled.ensemble(rng)
    unlabeled = None
    if with_unlabeled:
        new = world(400, rng, name="new", shift=0.5)
        predictions = [(new.model(f"m{i}", s, rng, scores=True), new.scoring) for i, s in enumerate(SKILLS[:models])]
        unlabeled = UnlabeledInputs(new.test_set, new.ensemble(rng), predictions, new.scoring)
    own_scoring = labeled.scoring if own else None
    return confusion(labeled.test_set, [ensemble], scored, rng=rng, own=own_scoring, unlabeled=unlabeled, **options)


def panels(drawn):
    return [panel["title"]["text"] for panel in drawn.spec["vconcat"]]


def rows(drawn, *, having):
    return [row for values in drawn.spec["datasets"].values() for row in values if having in row]


class TestFigure:
    def test_panels_and_title(self):
        study = studied(with_unlabeled=True)
        drawn = figure(study)
        assert len(panels(drawn)) == 5
        assert drawn.spec["title"]["text"] == ["Images that confuse E are harder for all 6 other models"]
        shares = rows(drawn, having="share")
        assert sum(row["images"] for row in shares) == 600
        assert sum(row["images"] for row in shares if row["part"] == "hard") == study.hard.images

    def test_errors_on_fewer_than_20_hard_images_are_not_drawn(self):
        drawn = figure(studied(images=190))  # a tenth is 19
        assert "Which models err on the hard images?" not in [" ".join(title) for title in panels(drawn)]
        assert "errors on fewer than 20 hard images not drawn" in " ".join(drawn.spec["title"]["subtitle"])
        assert len(panels(figure(studied(images=200)))) == len(panels(drawn)) + 1

    def test_errors_by_score_have_intervals_and_cover_all_images(self):
        drawn = figure(studied())
        points = rows(drawn, having="at")
        names = {row["model"] for row in points}
        assert names == {"E (after epoch 5)", "m5", "m2", "m0"}  # itself, the best, the middle and the worst
        for name in names:
            assert sum(row["images"] for row in points if row["model"] == name) == 600
        assert all(row["value_low"] <= row["value"] <= row["value_high"] for row in points)
        assert min(row["images"] for row in points) >= 25

    def test_without_labels_only_scores_are_drawn(self):
        rng = np.random.default_rng(1)
        images = world(100, rng)
        bare = replace(images.test_set, labels=np.full(100, UNLABELED))
        drawn = figure(confusion(bare, [images.ensemble(rng)], rng=rng, own=Scoring(bare)))
        assert panels(drawn) == [["How confusing are the images?"]]

    @pytest.mark.parametrize("images", [1, 2, 5])
    def test_few_images(self, images, tmp_path):
        drawn = figure(studied(images=images))
        assert drawn.save(tmp_path / "f.svg").stat().st_size > 1000

    def test_every_format(self, tmp_path):
        drawn = figure(studied(with_unlabeled=True))
        for ending in ("html", "svg", "png", "pdf", "json"):
            assert drawn.save(tmp_path / f"f.{ending}").stat().st_size > 2000
        assert "Images that confuse E" in drawn.alt


def headlines(study):
    return [finding.headline for finding in findings(study)]


def finding_about(study, words):
    (finding,) = [finding for finding in findings(study) if words in finding.headline]
    return finding


class TestFindings:
    def test_hard_for_all_models(self):
        first = findings(studied())[0]
        assert first.headline == "Images that confuse E are harder for all 6 other models"
        assert "selected without using labels" in first.text

    def test_counts_are_corrected_for_the_number_of_models(self):
        """Differences just above 0 by their own intervals are not significant by simultaneous intervals."""
        study = studied()
        near = Estimate(0.1, 0.01, 0.19, 400, "newcombe 95%")
        close = [replace(model, transfer=replace(model.transfer, difference=near)) for model in study.models]
        assert "No evidence that images that confuse E are hard for other models" in headlines(
            replace(study, models=tuple(close))
        )

    def test_one_other_model(self):
        first = findings(studied(models=1))[0]
        assert first.headline == "Images that confuse E are harder for m0"
        assert first.text.startswith("Its error there is ")

    def test_hard_for_no_model(self):
        """The scores are independent of the models' errors."""
        rng = np.random.default_rng(4)
        images, unrelated = world(300, rng), world(300, rng)
        model = (images.model("m", 2.0, rng), images.scoring)
        titles = headlines(confusion(images.test_set, [unrelated.ensemble(rng)], [model], rng=rng))
        assert titles == [
            "No evidence that images that confuse E are hard for other models",
            "No evidence that the confusion score of E is worth its cost: no difference from margin after the last "
            "epoch, member 0 detected",
        ]

    def test_the_ensemble_alone(self):
        assert headlines(studied(models=0)) == [
            "E (after epoch 5) errs more on images on which the ensemble was uncertain during training"
        ]
        assert headlines(studied(models=0, own=False)) == []

    @pytest.mark.parametrize(
        ("low", "high", "words"),
        [
            (0.7, 0.9, "The order of models is largely kept on confusing images"),
            (-0.2, 0.4, "The order of models changes on confusing images"),
            (0.2, 0.9, "Not enough data to tell whether models keep their order on confusing images"),
        ],
    )
    def test_order_headline_follows_the_interval(self, low, high, words):
        study = replace(studied(), ranking=Estimate((low + high) / 2, low, high, 6, "kendall 95%"))
        assert words in headlines(study)

    def test_expected_error(self):
        study = studied(with_unlabeled=True)
        expected = finding_about(study, "Expected error on new")
        assert "No difference between expected and actual error detected for any of" in expected.text
        rows = study.unlabeled.errors
        shifts = (-0.2, *[0.01] * (len(rows) - 1))  # only the first is further than corrected intervals reach
        gaps = [replace(row, gap=Estimate(d, d - 0.05, d + 0.05, 400, "")) for row, d in zip(rows, shifts, strict=True)]
        off = replace(study, unlabeled=replace(study.unlabeled, errors=tuple(gaps)))
        too_low = finding_about(off, "estimated from the score")
        assert too_low.headline == f"The error estimated from the score on new is too low for 1 of {len(rows)} models"
        assert "−20.0 points (−25.0 to −15.0)" in too_low.text
        assert "half of the models are within 1.0 points" in too_low.text
        assert "Spearman's rank correlation" in too_low.text
        blind = [replace(row, actual=None, gap=None) for row in study.unlabeled.errors]
        unknown = replace(study, unlabeled=replace(study.unlabeled, errors=tuple(blind)))
        assert "actual" not in finding_about(unknown, "Expected error on new").text

    @pytest.mark.parametrize(
        ("bounds", "words"),
        [
            ([(-0.04, -0.01), (-0.03, -0.01)], "identifies errors better than every cheaper score without labels"),
            (
                [(-0.04, -0.01), (-0.03, 0.01)],
                "worth its cost: no difference from b detected",
            ),
            (
                [(-0.04, -0.01), (0.01, 0.03)],
                "identifies errors better than the confusion score of E: b",
            ),
        ],
    )
    def test_worth_follows_from_the_cheaper_scores_without_labels(self, bounds, words):
        study = studied()
        first = study.rivals[0]
        cheap = [
            replace(
                first,
                score=name,
                cheaper=True,
                cost=TrainingCost(1, 6, 1),
                difference=Estimate((low + high) / 2, low, high, 600, "paired auroc, delong, 3 together 95%"),
            )
            for name, (low, high) in zip("ab", bounds, strict=True)
        ]
        labeled = replace(cheap[0], score="c", uses_labels=True, difference=Estimate(0.2, 0.1, 0.3, 600, ""))
        expensive = replace(cheap[0], score="d", cheaper=False, difference=Estimate(0.2, 0.1, 0.3, 600, ""))
        finding = finding_about(replace(study, rivals=(first, *cheap, labeled, expensive)), words)
        assert "from 12 epochs of training and 12 checkpoints" in finding.text
        assert "corrected for 4 scores" in finding.text
        assert not [f for f in findings(replace(study, rivals=(first, labeled, expensive))) if "cost" in f.headline]

    def test_remedy(self):
        study = studied(further=FurtherInputs(remedy=Remedy("m0", "m5", 2.2)))
        changed = finding_about(
            study, "The error of m5 is lower on easy images and lower on hard images than that of m0"
        )
        assert "Hard images have a confusion score of 2.20 bits or more" in changed.text
        same = [replace(band, change=Estimate(0.01, -0.01, 0.03, 100, "")) for band in study.bands.bands]
        open_study = replace(study, bands=replace(study.bands, bands=tuple(same)))
        assert finding_about(open_study, "No change of the error from m0 to m5 detected")

    def test_at_most_four_findings_by_weight(self):
        weights = [finding.weight for finding in findings(studied(with_unlabeled=True))]
        assert len(weights) == 4
        assert weights == sorted(weights, reverse=True)
