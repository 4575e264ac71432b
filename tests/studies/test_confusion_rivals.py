"""Rivals of the confusion score, scores by stride, ensembles side by side, and bands before and after a remedy."""

import json
from math import log2

import numpy as np
import pytest
from confusion_world import CLASSES, SPACE, world
from scipy import stats

from regrade.core import InputError, MismatchError, ScoreKind, TestSet, UndefinedError, UnknownName, checkpoints_of
from regrade.metrics import confusion_score, el2n, final_predictions, prediction_entropies, training_scores
from regrade.replicate.albiero2023 import CLASSES as IMAGENET_CLASSES
from regrade.replicate.albiero2023 import simulated_training
from regrade.stats import auroc_difference, mean_auroc, paired_difference, rank_errors
from regrade.studies import ConfusionPart
from regrade.studies.confusion.analysis import FurtherInputs, confusion
from regrade.studies.confusion.bands import Remedy, compare_bands
from regrade.studies.confusion.distribution import ScoreBins, skewness
from regrade.studies.confusion.graded_models import GradedModel
from regrade.studies.confusion.reduced_checkpoints import strided_scores
from regrade.studies.confusion.rivals import ImageScore, TrainingCost, compare_rivals, image_scores


def graded(wrong, counted=None):
    wrong = np.asarray(wrong, dtype=bool)
    counted = np.ones(len(wrong), dtype=bool) if counted is None else np.asarray(counted, dtype=bool)
    return GradedModel(np.zeros(len(wrong), dtype=int), "eight", wrong, counted)


@pytest.fixture(scope="module")
def studied():
    rng = np.random.default_rng(0)
    images = world(800, rng)
    models = [images.model(f"m{i}", skill, rng) for i, skill in enumerate((1.5, 2.5, 4.0))]
    ensembles = [images.ensemble(rng, epochs=12), images.ensemble(rng, name="F", seeds=1, skill=2.0)]
    human = np.where(np.arange(800) < 600, np.maximum(images.hardness + rng.normal(0, 0.5, 800), 0), np.nan)
    further = FurtherInputs([images.scoring], human, early=3, train=ensembles[0], remedy=Remedy("m0", "m2", 1.0))
    scored = [(model, images.scoring) for model in models]
    result = confusion(images.test_set, ensembles, scored, rng=rng, own=images.scoring, further=further)
    wrong = np.stack([model.top1 != images.test_set.labels for model in models])
    return images, ensembles, human, wrong, result


class TestRivals:
    def test_every_score_with_its_cost(self, studied):
        *_, result = studied
        costs = {row.score: (row.cost.training_epochs, row.cost.checkpoints) for row in result.rivals if row.cost}
        assert costs == {
            "confusion score": (24, 24),
            "entropy after the last epoch, all members": (24, 2),
            "confusion score of member 0": (12, 12),
            "entropy after the last epoch, member 0": (12, 1),
            "margin after the last epoch, member 0": (12, 1),
            "EL2N of the first 3 checkpoints": (6, 6),
            "AUM, member 0": (12, 12),
            "confidence, member 0": (12, 12),
            "variability, member 0": (12, 12),
        }
        assert result.rivals[-1].score == "human entropy" and result.rivals[-1].cost is None
        assert [row.score for row in result.rivals if not row.cheaper] == ["confusion score", "human entropy"]
        assert [row.score.split()[0] for row in result.rivals if row.uses_labels] == [
            "EL2N", "AUM,", "confidence,", "variability,",
        ]  # fmt: skip

    def test_values_follow_from_the_plain_functions(self, studied):
        images, ensembles, human, wrong, result = studied
        rows = {row.score: row for row in result.rivals}
        probabilities = np.exp(ensembles[0].scores(0, 11))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        entropy = prediction_entropies(probabilities)
        row = rows["entropy after the last epoch, member 0"]
        full = rank_errors(result.scores, wrong)
        assert row.auroc.value == pytest.approx(rank_errors(entropy, wrong).value, abs=1e-4)
        assert row.tau.value == pytest.approx(stats.kendalltau(entropy, result.scores).statistic, abs=1e-3)
        expected = auroc_difference(rank_errors(entropy, wrong), full, confidence=1 - 0.05 / 9)
        assert row.difference.low == pytest.approx(expected.low, abs=1e-4)
        assert row.difference.method == "paired auroc, delong, 9 together 95%"
        assert rows["confusion score"].auroc.low == pytest.approx(mean_auroc(full).low, abs=1e-4)
        hardest = np.argsort(-entropy, kind="stable")[:80]
        assert row.hardest_error.value == pytest.approx(wrong[:, hardest].mean(), abs=2e-3)
        both = np.isfinite(human)
        assert row.human_tau.value == pytest.approx(stats.kendalltau(entropy[both], human[both]).statistic, abs=1e-3)
        early = [[ensembles[0].scores(member, epoch) for epoch in range(3)] for member in range(2)]
        odds = np.exp(np.array(early)).reshape(6, 800, CLASSES)
        norms = el2n(odds / odds.sum(axis=2, keepdims=True), images.test_set.labels)
        assert rows["EL2N of the first 3 checkpoints"].auroc.value == pytest.approx(
            rank_errors(norms, wrong).value, abs=1e-4
        )

    def test_human_entropy_is_compared_on_its_own_images(self, studied):
        _, _, human, wrong, result = studied
        row = result.rivals[-1]
        same = slice(0, 600)
        first, second = rank_errors(human[same], wrong[:, same]), rank_errors(result.scores[same], wrong[:, same])
        assert row.auroc.n == 600
        assert row.difference.value == pytest.approx(first.value - second.value, abs=1e-4)

    def test_scores_that_are_equal_by_definition_are_left_out(self):
        logits = np.random.default_rng(0).normal(size=(2, 3, 5, 4))
        labels = np.arange(5) % 4

        def names(part):
            checkpoints = checkpoints_of(part, kind=ScoreKind.LOGITS)
            return [score.name for score in image_scores(checkpoints, training_scores(checkpoints, labels))]

        assert names(logits[:1, :1]) == [
            "confusion score", "margin after the last epoch, member 0", "EL2N of 1 checkpoint", "AUM, member 0",
            "confidence, member 0",
        ]  # fmt: skip
        assert "entropy after the last epoch, member 0" in names(logits[:1])
        assert "entropy after the last epoch, member 0" in names(logits[:, :1])
        assert not [name for name in names(logits[:1]) if "all members" in name or "of member" in name]
        assert not [name for name in names(logits[:, :1]) if "all members" in name or "of member" in name]

    def test_epochs_may_count_from_one_and_be_strided(self):
        checkpoints = checkpoints_of(np.zeros((3, 2, 4, 2)), kind=ScoreKind.LOGITS, epochs=(10, 20))
        scores = image_scores(checkpoints, training_scores(checkpoints, np.zeros(4, int), early=1), early=1)
        costs = {score.name.split()[0]: score.cost for score in scores}
        assert costs["confusion"] == TrainingCost(1, 20, 2)  # of one member, the last with that name
        assert scores[0].cost == TrainingCost(3, 60, 6)
        assert costs["EL2N"] == TrainingCost(3, 30, 3)

    def test_without_outside_models_only_ranks_are_compared(self):
        scores = [ImageScore("a", np.arange(20.0), None), ImageScore("b", np.arange(20.0)[::-1].copy(), None)]
        first, second = compare_rivals(scores, [], confidence=0.95)
        assert (first.auroc, second.auroc, second.difference, second.hardest_error) == (None,) * 4
        assert second.tau.value == -1

    def test_hardest_tenth_and_counted_images(self):
        """The hardest two of twenty graded images are missed by one of two models, and by the only one that counts."""
        values = np.r_[np.arange(20.0), 99.0]
        wrong = np.zeros((2, 21), dtype=bool)
        wrong[0, [18, 19, 3]] = True
        counted = np.ones((2, 21), dtype=bool)
        counted[:, 20], counted[1, 19] = False, False
        models = [graded(row, own) for row, own in zip(wrong, counted, strict=True)]
        (row,) = compare_rivals([ImageScore("a", values, None)], models, confidence=0.95)
        assert row.hardest_error.value == pytest.approx((0.5 + 1) / 2)
        assert row.auroc.n == 20

    def test_cost_is_less_if_neither_part_is_more(self):
        full = TrainingCost(3, 30, 30)
        assert TrainingCost(3, 30, 3).less_than(full) and TrainingCost(1, 10, 10).less_than(full)
        assert not full.less_than(full) and not TrainingCost(1, 31, 1).less_than(full)

    def test_other_classes_have_no_label_scores(self):
        rng = np.random.default_rng(0)
        images = world(50, rng)
        ensemble = checkpoints_of(rng.normal(size=(2, 2, 50, 20)), kind=ScoreKind.LOGITS, class_space="twenty")
        result = confusion(images.test_set, [ensemble], rng=rng)
        assert not [row for row in result.rivals if row.uses_labels]

    def test_tables_and_json(self, studied):
        *_, result = studied
        for part in (ConfusionPart.RIVALS, ConfusionPart.STRIDES, ConfusionPart.ENSEMBLES, ConfusionPart.BANDS):
            table = result.part(part)
            assert table.rows and table.texts() and table.records()
        content = json.loads(json.dumps(result.as_dict(), allow_nan=False))
        assert content["rivals"][0]["cost"] == {"members": 2, "training_epochs": 24, "checkpoints": 24}
        assert content["train"]["images"] == 800 and "compared" not in content


class TestStrides:
    def test_easy_images_peak_at_the_largest_score_over_the_epochs(self):
        """Strides 1, 3, 5, 10 and 20 of 100 epochs: log2(1000) over 100, 34, 20, 10 and 5 epochs (METHODS D2)."""
        training = training_scores(simulated_training(np.random.default_rng(0), images=150))
        bins = ScoreBins(0.1, log2(IMAGENET_CLASSES))
        rows = strided_scores(training, bins, np.full(150, np.nan), unit=1.0, confidence=0.95)
        assert [(row.stride, row.epochs, row.members) for row in rows] == [
            (stride, epochs, members)
            for members in (3, 1)
            for stride, epochs in ((1, 100), (3, 34), (5, 20), (10, 10), (20, 5))
        ]
        for row in rows:
            assert row.easy_score == pytest.approx(log2(1000) / row.epochs)
            assert row.peak == pytest.approx(row.easy_score, abs=0.01)
            assert sum(row.counts) == 150 and row.error_correlation is None
        assert [round(row.peak, 2) for row in rows[3:5]] == [1.0, 1.99]

    def test_correlation_with_the_share_of_models_that_err(self, studied):
        _, ensembles, _, wrong, result = studied
        third = [[ensembles[0].scores(0, epoch) for epoch in range(0, 12, 3)]]
        scores = confusion_score(checkpoints_of(third, kind=ScoreKind.LOGITS))
        (row,) = [row for row in result.strides if (row.stride, row.members) == (3, 1)]
        assert row.error_correlation.value == pytest.approx(np.corrcoef(scores, wrong.mean(axis=0))[0, 1], abs=1e-4)
        assert {(row.stride, row.members) for row in result.strides} == {
            (stride, members) for stride in (1, 3, 5, 10) for members in (1, 2)
        }

    def test_one_checkpoint_has_nothing_to_compare(self):
        rng = np.random.default_rng(0)
        images = world(30, rng)
        result = confusion(images.test_set, [images.ensemble(rng, seeds=1, epochs=1)], rng=rng)
        assert len(result.strides) == 1 and ConfusionPart.STRIDES not in result.parts
        with pytest.raises(UndefinedError, match="several epochs or several members"):
            result.part(ConfusionPart.STRIDES)


class TestEnsembles:
    def test_mean_skewness_and_accuracy(self, studied):
        images, ensembles, _, _, result = studied
        assert [row.ensemble for row in result.ensembles] == ["E", "F"]
        for row, ensemble in zip(result.ensembles, ensembles, strict=True):
            scores = confusion_score(ensemble)
            right = final_predictions(ensemble).classes == images.test_set.labels
            assert row.mean.value == pytest.approx(scores.mean(), abs=1e-4)
            assert row.skewness == pytest.approx(stats.skew(scores), abs=1e-3)
            assert row.accuracy.value == right.mean()
            assert row.mean.low < row.mean.value < row.mean.high
        assert result.compared["F"] == pytest.approx(confusion_score(ensembles[1]))

    def test_skewness_by_hand(self):
        """Deviations -1, -1, 2: third moment 2, variance 2."""
        assert skewness(np.array([0.0, 0.0, 3.0])) == pytest.approx(2 / 2**1.5)
        assert skewness(np.full(4, 0.3)) is None

    def test_train_must_be_of_the_same_ensemble(self, studied):
        images, ensembles, *_ = studied
        result = studied[-1]
        assert result.train.distribution.mean == pytest.approx(result.distribution.mean)
        with pytest.raises(MismatchError, match="other members, epochs or classes"):
            confusion(
                images.test_set, ensembles[:1], rng=np.random.default_rng(0), further=FurtherInputs(train=ensembles[1])
            )


class TestBands:
    BEFORE = np.array([1, 1, 1, 0, 0, 1, 0, 0], dtype=bool)
    AFTER = np.array([0, 0, 1, 1, 0, 1, 0, 0], dtype=bool)
    SCORES = np.array([1.5, 1.6, 1.7, 1.8, 1.5, 0.1, 0.2, 0.3])

    def bands(self, threshold=None, models=None):
        models = models or {"b": graded(self.BEFORE), "a": graded(self.AFTER)}
        return compare_bands(Remedy("b", "a", threshold), models, self.SCORES, top=3.0, confidence=0.95)

    def test_by_hand(self):
        """Of five hard images one breaks and two are corrected; of three easy ones nothing changes."""
        comparison = self.bands()
        assert comparison.threshold == 1.5
        easy, hard = comparison.bands
        assert (easy.name, easy.images, easy.change.value) == ("easy", 3, 0)
        assert (hard.images, hard.before.value, hard.after.value) == (5, 0.6, 0.4)
        bounds = paired_difference(1, 2, 5, confidence=0.975)
        assert (hard.change.value, hard.change.low, hard.change.high) == (
            pytest.approx(-0.2), pytest.approx(bounds.low), pytest.approx(bounds.high),
        )  # fmt: skip
        assert hard.change.method == "paired score, 2 together 95%"

    def test_a_band_without_images_is_left_out(self):
        (band,) = self.bands(threshold=0.0).bands
        assert (band.name, band.images, band.change.method) == ("hard", 8, "paired score 95%")

    def test_only_images_that_count_for_both(self):
        models = {"b": graded(self.BEFORE, np.arange(8) > 0), "a": graded(self.AFTER, np.arange(8) < 7)}
        assert [band.images for band in self.bands(models=models).bands] == [2, 4]
        nothing = {"b": graded(self.BEFORE, np.arange(8) > 3), "a": graded(self.AFTER, np.arange(8) < 2)}
        with pytest.raises(UndefinedError, match="no image is graded for both"):
            self.bands(models=nothing)

    def test_remedy_rejects_unknown_and_equal_models(self):
        with pytest.raises(InputError, match="must differ"):
            Remedy("a", "a")
        with pytest.raises(UnknownName, match="'b'"):
            self.bands(models={"a": graded(self.AFTER)})

    def test_a_model_of_the_ensemble_is_noted(self):
        rng = np.random.default_rng(0)
        images = world(100, rng)
        ensemble, model = images.ensemble(rng), images.model("m", 2.0, rng)
        further = FurtherInputs(remedy=Remedy("E (after epoch 5)", "m", 1.0))
        result = confusion(
            images.test_set, [ensemble], [(model, images.scoring)], rng=rng, own=images.scoring, further=further
        )
        assert any("took part in scoring" in note for note in result.part(ConfusionPart.BANDS).notes)


def test_a_set_without_labels_has_rivals_by_rank():
    rng = np.random.default_rng(0)
    images = world(60, rng)
    bare = TestSet("bare", SPACE, images.test_set.ids, np.full(60, -1))
    result = confusion(bare, [images.ensemble(rng)], rng=rng)
    assert len(result.rivals) == 5 and all(row.auroc is None for row in result.rivals)
    assert "nothing is said of errors" in " ".join(result.part(ConfusionPart.RIVALS).notes)
