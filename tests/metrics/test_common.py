"""Properties of all metrics: invariance to the order of images and models, bounds, unchanged inputs."""

from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade import metrics
from regrade.core import ClassMap, ClassSpace, LabelSet, MapRule, ScoreKind, Unlisted, checkpoints_of

MODELS, CLASSES = 4, 6
ALLOWED = np.array([5, 0, 3])
CLASS_MAP = ClassMap(
    ClassSpace("six", tuple("abcdef")), ClassSpace("also six", tuple("uvwxyz")),
    ((0, 1), (2,), (), (3, 4), (1, 5), (0,)), MapRule.ANY_IN_TOP_K,
)  # fmt: skip


@dataclass(frozen=True)
class Graded:
    """Four models on n images of six classes, with many ties; errors (m, q, s) under corruptions."""

    scores: np.ndarray  # (m, n, c)
    labels: np.ndarray  # (n,)
    states: np.ndarray  # (n, c), 0 where nobody judged
    covered: np.ndarray  # (n,)
    errors: np.ndarray  # (m, q, s)

    def __post_init__(self):
        for field in fields(self):
            getattr(self, field.name).setflags(write=False)

    @property
    def top2(self):
        return np.stack([metrics.top_k_classes(own, k=2) for own in self.scores])

    @property
    def predictions(self):
        return self.top2[:, :, 0]

    @property
    def correct(self):
        return self.predictions == self.labels

    @property
    def label_set(self):
        examples, classes = np.nonzero(self.states)
        return LabelSet(
            "labels", 1, "images", CLASSES, examples, classes, self.states[examples, classes],
            self.covered, ("",) * len(self.labels), Unlisted.NOVEL,
        )  # fmt: skip

    def images(self, order):
        """The same images in another order."""
        parts = {name: getattr(self, name)[order] for name in ("labels", "states", "covered")}
        return replace(self, scores=self.scores[:, order], **parts)

    def models(self, order):
        """The same models in another order."""
        return replace(self, scores=self.scores[order], errors=self.errors[order])


@st.composite
def graded(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    images = draw(st.integers(1, 30))
    raw = rng.integers(1, 4, size=(MODELS, images, CLASSES)).astype(float)
    covered = rng.random(images) < 0.8
    covered[0] = True
    return Graded(
        scores=raw / raw.sum(axis=2, keepdims=True),
        labels=rng.integers(CLASSES, size=images),
        states=rng.integers(4, size=(images, CLASSES)).astype(np.int8),
        covered=covered,
        errors=rng.uniform(0.1, 1, (MODELS, 3, 5)),
    )


def each(function):
    """Apply a metric of one model to all models."""
    return lambda g: np.array([function(g, model) for model in range(MODELS)])


def flags(g, model):
    judged = metrics.judge(g.predictions[model], g.label_set, rule=metrics.MultilabelRule.CLASSES, originals=g.labels)
    return np.stack([judged.right, judged.novel, judged.scored], axis=1)


def calibration(binned, figure):
    return each(lambda g, model: getattr(binned(g.scores[model].max(axis=1), g.correct[model], bins=4), figure))


def counted(pairs):
    return np.stack([pairs.first, pairs.second, pairs.counts])


def checkpoint(g, model):
    """A model as an ensemble of one member and one epoch."""
    return checkpoints_of([[g.scores[model]]], kind=ScoreKind.PROBABILITIES)


def temperature(g, model):
    """The temperature of the scores and of 60 right and a wrong prediction more, which make it finite."""
    sure = np.where(np.arange(CLASSES) == 0, 0.9, 0.1 / (CLASSES - 1))
    scores = np.concatenate([g.scores[model], np.tile(sure, (61, 1))])
    return metrics.fit_temperature(scores, np.append(g.labels, np.repeat([0, 1], [60, 1])))


def label_scores(g, model):
    return metrics.lac_scores(g.scores[model])[np.arange(len(g.labels)), g.labels]


def tied_classes(g, model):
    """The classes of each image that are tied across the second place."""
    tied = np.zeros((len(g.labels), CLASSES), dtype=bool)
    if ties := metrics.ties_across(g.scores[model], g.top2[model]):
        tied[ties.rows] = ties.classes(np.arange(len(ties)), CLASSES)
    return tied


def expected_top2(g, model):
    accepted = np.arange(CLASSES) == g.labels[:, None]
    lowest = np.take_along_axis(g.scores[model], g.top2[model], axis=1)[:, -1:]
    return metrics.expected_correct(g.top2[model], g.scores[model] == lowest, accepted)


def scaled(g, model):
    values = metrics.scale_predictions(g.scores[model], g.labels, 2.0)
    return np.stack([values.confidences, values.at_label], axis=1)


REFERENCE = np.full(3, 0.5)  # of three corruptions

# one value an image and model: shape (m, n, ...)
PER_IMAGE = {
    "top_k_classes": each(lambda g, m: metrics.top_k_classes(g.scores[m], k=3)),
    "top_k_correct": each(lambda g, m: metrics.top_k_correct(g.top2[m], g.labels)),
    "top_k_within": each(lambda g, m: metrics.top_k_within(g.scores[m], ALLOWED, k=2)),
    "best_within": each(lambda g, m: metrics.best_within(g.top2[m], ALLOWED)),
    "mapped_correct": each(lambda g, m: metrics.mapped_correct(g.top2[m], g.labels, CLASS_MAP)),
    "judge": each(flags),
    "brier_scores": each(lambda g, m: metrics.brier_scores(g.scores[m], g.labels)),
    "log_losses": each(lambda g, m: metrics.log_losses(g.scores[m], g.labels)),
    "confusion_score": each(lambda g, m: metrics.confusion_score(checkpoint(g, m))),
    "confusion_entropies": each(lambda g, m: metrics.confusion_entropies(checkpoint(g, m)).epochs[0]),
    "training_scores": each(
        lambda g, m: metrics.training_scores(checkpoint(g, m), g.labels).by_label.area_under_margin
    ),
    "prediction_entropies": each(lambda g, m: metrics.prediction_entropies(g.scores[m])),
    "prediction_margins": each(lambda g, m: metrics.prediction_margins(g.scores[m])),
    "el2n": each(lambda g, m: metrics.el2n(g.scores[[m, m]], g.labels)),
    "area_under_margin": each(lambda g, m: metrics.area_under_margin(g.scores[[m, m]], g.labels)),
    "label_confidence": each(lambda g, m: metrics.label_confidence(g.scores[[m, m]], g.labels)),
    "label_variability": each(
        lambda g, m: metrics.label_variability(np.stack([g.scores[m], g.scores[m] ** 2]), g.labels)
    ),
    "human_entropies": each(lambda g, m: metrics.human_entropies(np.round(10 * g.scores[m]))),
    "lac_scores": each(lambda g, m: metrics.lac_scores(g.scores[m])),
    "aps_scores": each(lambda g, m: metrics.aps_scores(g.scores[m], g.scores[m].max(axis=1))),
    "raps_scores": each(lambda g, m: metrics.raps_scores(g.scores[m], g.scores[m].max(axis=1))),
    "ordered_aps_scores": each(lambda g, m: metrics.ordered_aps_scores(g.scores[m], g.scores[m].max(axis=1))),
    "label_places": each(lambda g, m: metrics.label_places(g.scores[m], g.labels)),
    "ties_across": each(tied_classes),
    "expected_correct": each(expected_top2),
    "scale_predictions": each(scaled),
    "scale_probabilities": each(lambda g, m: metrics.scale_probabilities(g.scores[m], 2.0)),
    "final_predictions": each(lambda g, m: metrics.final_predictions(checkpoint(g, m)).classes),
}
# one value a model: shape (m, ...), with its bounds
PER_MODEL = {
    "balanced_accuracy": (lambda g: metrics.balanced_accuracy(g.correct, g.labels), 0, 1),
    "reliability_bins": (calibration(metrics.reliability_bins, "expected_calibration_error"), 0, 1),
    "reliability_bins maximum": (calibration(metrics.reliability_bins, "maximum_calibration_error"), 0, 1),
    "equal_size_bins": (calibration(metrics.equal_size_bins, "expected_calibration_error"), 0, 1),
    "equal_size_bins maximum": (calibration(metrics.equal_size_bins, "maximum_calibration_error"), 0, 1),
    "brier_score": (each(lambda g, m: metrics.brier_score(g.scores[m], g.labels)), 0, 2),
    "negative_log_likelihood": (
        each(lambda g, m: metrics.negative_log_likelihood(g.scores[m], g.labels)),
        0,
        24 * np.log(2),
    ),
    "fit_temperature": (each(temperature), 0.02, 50),
    "conformal_threshold": (each(lambda g, m: metrics.conformal_threshold(label_scores(g, m), miss=0.5)), 0, 1),
    "corruption_errors": (lambda g: metrics.corruption_errors(g.errors, REFERENCE), 0, np.inf),
    "mean_corruption_error": (lambda g: metrics.mean_corruption_error(g.errors, REFERENCE), 0, np.inf),
    "effective_robustness": (
        lambda g: metrics.effective_robustness(
            g.correct.mean(axis=1), 1 - g.errors.mean(axis=(1, 2)), expected=lambda x: np.asarray(x) / 2
        ),
        -1,
        1,
    ),
    "relative_robustness": (
        lambda g: metrics.relative_robustness(1 - g.errors[:, 0].mean(axis=1), g.correct.mean(axis=1)),
        -1,
        1,
    ),
    "relative_mean_corruption_error": (
        lambda g: metrics.relative_mean_corruption_error(
            g.errors, REFERENCE, clean=1 - g.correct.mean(axis=1), reference_clean=0.2
        ),
        -np.inf,
        np.inf,
    ),
}
# one value a pair of models: shape (m, m), with its bounds
PER_PAIR = {
    "error_consistency": (lambda g: metrics.error_consistency(g.correct), -1, 1),
    "dominance_probability": (lambda g: metrics.dominance_probability(g.correct), 0, 0.5),
    "independent_dominance": (lambda g: metrics.independent_dominance(g.correct), 0, 0.25),
    "agreement": (lambda g: metrics.agreement(g.predictions), 0, 1),
}
# counts over images of the first model
COUNTS = {
    "confusions": lambda g: counted(metrics.confusions(g.labels, g.predictions[0])),
    "rank_penalties": lambda g: metrics.rank_penalties(g.scores.shape[2]),
    "conformal_rank": lambda g: np.array(metrics.conformal_rank(len(g.labels), 0.1)),
    "confused_pairs": lambda g: counted(metrics.confused_pairs(g.labels, g.predictions[0])),
    "last_column_p_value": lambda g: np.array(metrics.last_column_p_value(g.top2[0], g.labels)),
    "looks_reversed": lambda g: np.array(metrics.looks_reversed(metrics.top_k_classes(g.scores[0], k=3), g.labels)),
}
WITH_BOUNDS = PER_MODEL | PER_PAIR
OVER_IMAGES = {name: metric for name, (metric, *_) in WITH_BOUNDS.items()} | COUNTS
ALL = OVER_IMAGES | PER_IMAGE


def same(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_every_metric_is_listed():
    functions = {name for name in metrics.__all__ if name.islower()}
    listed = {name.split()[0] for name in ALL}
    missing = sorted(functions - listed)
    assert not missing, f"add {missing} to PER_IMAGE, PER_MODEL, PER_PAIR or COUNTS above, so that they are tested"
    assert listed == functions


@pytest.mark.parametrize("name", OVER_IMAGES)
@given(graded(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=15)
def test_the_order_of_the_images_does_not_matter(name, g, random):
    order = random.sample(range(len(g.labels)), len(g.labels))
    same(OVER_IMAGES[name](g.images(order)), OVER_IMAGES[name](g))


@pytest.mark.parametrize("name", PER_IMAGE)
@given(graded(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=15)
def test_per_image_metrics_do_not_depend_on_other_images(name, g, random):
    chosen = random.sample(range(len(g.labels)), random.randint(1, len(g.labels)))
    same(PER_IMAGE[name](g.images(chosen)), PER_IMAGE[name](g)[:, chosen])


@pytest.mark.parametrize("name", PER_IMAGE | PER_MODEL)
@given(graded(), st.permutations(range(MODELS)))
@settings(deadline=None, max_examples=15)
def test_per_model_metrics_do_not_depend_on_the_order_of_models(name, g, order):
    metric = ALL[name]
    same(metric(g.models(order)), metric(g)[order])


@pytest.mark.parametrize("name", PER_PAIR)
@given(graded(), st.permutations(range(MODELS)))
@settings(deadline=None, max_examples=15)
def test_pairwise_metrics_are_symmetric_and_do_not_depend_on_order(name, g, order):
    metric = ALL[name]
    same(metric(g), metric(g).T)
    same(metric(g.models(order)), metric(g)[np.ix_(order, order)])


@pytest.mark.parametrize("name", WITH_BOUNDS)
@given(graded())
@settings(deadline=None, max_examples=25)
def test_values_keep_within_their_bounds(name, g):
    metric, low, high = WITH_BOUNDS[name]
    values = metric(g)
    defined = values[~np.isnan(values)]
    assert (defined >= low - 1e-12).all()
    assert (defined <= high + 1e-12).all()


NOT_BY_SHARES = {
    *("equal_size_bins", "equal_size_bins maximum"),  # twice the images fill the bins otherwise
    "fit_temperature",  # the images that are added here are not doubled
}


@pytest.mark.parametrize("name", sorted(WITH_BOUNDS.keys() - NOT_BY_SHARES))
@given(graded())
@settings(deadline=None, max_examples=10)
def test_every_image_twice_changes_no_share(name, g):
    twice = np.tile(np.arange(len(g.labels)), 2)
    same(ALL[name](g.images(twice)), ALL[name](g))


@pytest.mark.parametrize("name", ALL)
def test_the_layout_of_the_arrays_in_memory_does_not_matter(name):
    rng = np.random.default_rng(0)
    raw = rng.integers(1, 4, size=(MODELS, 20, CLASSES)).astype(float)
    g = Graded(
        raw / raw.sum(axis=2, keepdims=True), rng.integers(CLASSES, size=20),
        rng.integers(4, size=(20, CLASSES)).astype(np.int8), np.ones(20, bool), rng.random((MODELS, 3, 5)),
    )  # fmt: skip
    columns_first = replace(
        g, scores=np.asfortranarray(g.scores), states=np.asfortranarray(g.states),
        errors=np.asfortranarray(g.errors), labels=np.repeat(g.labels, 2)[::2],
    )  # fmt: skip
    same(ALL[name](columns_first), ALL[name](g))
