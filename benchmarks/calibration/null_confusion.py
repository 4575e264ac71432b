"""Null checks of the findings of `study confusion`: scores unrelated to errors, rankings that stay or change."""

from __future__ import annotations

import numpy as np
from scipy import special

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.households import alike, households
from benchmarks.calibration.worlds import correct_predictions, model_names
from regrade.core import Checkpoints, ClassSpace, ModelAttributes, Predictions, ScoreKind, TestSet, checkpoints_of
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.studies import Confusion, Scoring
from regrade.studies.confusion.analysis import FurtherInputs, confusion
from regrade.studies.confusion.bands import Remedy

_SPACE = ClassSpace("four", tuple("abcd"))


@null_check("confusion: hard for others", case="random scores, 6 models, 400 images")
def scores_by_chance(rng: np.random.Generator) -> Confusion:
    return studied(rng, rng.standard_normal(400), correct_predictions(rng, rng.uniform(0.6, 0.88, 6), images=400))


@null_check(
    "confusion: another ensemble is confused by the same images", case="unrelated scores, 3 ensembles, 200 images"
)
def unrelated_ensembles(rng: np.random.Generator) -> Confusion:
    test_set = _test_set(rng, 200)
    ensembles = [_ensemble(rng, rng.standard_normal(200), name=name) for name in ("E", "F", "G")]
    return confusion(test_set, ensembles, rng=rng)


@null_check("confusion: the score tells own errors", case="random scores, 300 images")
def own_scores_by_chance(rng: np.random.Generator) -> Confusion:
    """The ensemble's predictions are wrong at random, independently of its scores."""
    return studied(rng, rng.standard_normal(300), None)


@null_check("confusion: the order changes", case="the same order everywhere, 8 models close together, 1,000 images")
def same_order(rng: np.random.Generator) -> Confusion:
    difficulty = rng.standard_normal(1_000)
    return studied(rng, difficulty, _right(rng, rng.normal(1.0, 0.15, 8), difficulty))


@null_check("confusion: the order changes", case="the same order everywhere, 8 models, 1,000 images")
def same_order_of_different_models(rng: np.random.Generator) -> Confusion:
    difficulty = rng.standard_normal(1_000)
    return studied(rng, difficulty, _right(rng, rng.normal(1.0, 0.4, 8), difficulty))


@null_check("confusion: the order is kept", case="tau of 0.6 between hard images and the rest, 8 models, 1,000 images")
def half_an_order(rng: np.random.Generator) -> Confusion:
    """Abilities on hard images and on the rest have a tau of 0.6, a correlation of sin(0.3 pi)."""
    difficulty, agreement = rng.standard_normal(1_000), np.sin(0.3 * np.pi)
    ability, own = rng.standard_normal((2, 8))
    on_hard = agreement * ability + np.sqrt(1 - agreement**2) * own
    hard = difficulty >= np.quantile(difficulty, 0.9)
    right = np.where(hard, _right(rng, 1.5 + on_hard, difficulty), _right(rng, 1.5 + ability, difficulty))
    return studied(rng, difficulty, right)


_TREND = "confusion: the score goes more closely with the errors of some models"
_FAMILY = "confusion: the score goes more closely with the errors of a family"


@null_check(_TREND, _FAMILY, case="one relation at error rates of 8% to 50%, 15 models of 3 families, 500 images")
def one_relation(rng: np.random.Generator) -> Confusion:
    return _of_models(rng, rng.uniform(0.0, 1.8, 15), np.repeat(np.arange(3), 5))


@null_check(_TREND, _FAMILY, case="one relation, 12 models of nearly equal accuracy, 500 images")
def one_relation_and_accuracy(rng: np.random.Generator) -> Confusion:
    return _of_models(rng, rng.normal(0.8, 0.05, 12), np.repeat(np.arange(4), 3))


@null_check(_TREND, case="8 alike families of 1 to 6 models with relations of their own, 500 images")
def alike_families(rng: np.random.Generator) -> Confusion:
    families = np.repeat(np.arange(8), [6, 5, 4, 3, 2, 2, 1, 1])
    return _of_models(rng, rng.uniform(0.0, 1.8, len(families)), families, own=rng.uniform(0.7, 1.3, 8)[families])


def _of_models(
    rng: np.random.Generator,
    abilities: FloatArray,
    families: IntArray,
    *,
    own: FloatArray | None = None,
    homes: int | None = None,
) -> Confusion:
    """Models with errors by difficulty and noise of their ``own`` (m,); years and sizes are those of the family.

    Both are alike within so many ``homes``; None: images are independent.
    """
    clusters, rows = None, 1 + len(abilities)
    if homes is None:
        difficulty, *hidden = rng.standard_normal((rows, 500))
    else:
        clusters, (difficulty, *hidden) = _in_households(rng, homes, rows=rows)
    scale = np.ones(len(abilities)) if own is None else own
    noise = scale[:, None] * np.stack(hidden)
    right = (abilities * np.sqrt(1 + scale**2))[:, None] > difficulty + noise
    years, sizes = rng.integers(2012, 2022, 8), rng.uniform(5, 9, 8)
    stated = {
        name: ModelAttributes(family=f"family {family}", year=int(years[family]), parameters=int(10 ** sizes[family]))
        for name, family in zip(model_names(len(abilities)), families, strict=True)
    }
    logits = [[_with_entropy(rng, 1.0 + 0.25 * difficulty)]]
    return _studied(logits, right, rng, FurtherInputs(attributes=stated, clusters=clusters))


@null_check("confusion: hard for others", case="unrelated scores, 6 models, 80 households of 1 to 8 images")
def scores_of_households(rng: np.random.Generator) -> Confusion:
    clusters, (unsure, *hidden) = _in_households(rng, 80, rows=7)
    right = special.ndtri(rng.uniform(0.6, 0.88, 6))[:, None] > np.stack(hidden)
    return studied(rng, unsure, right, clusters)


@null_check(
    "confusion: another ensemble is confused by the same images",
    case="unrelated scores, 3 ensembles, 60 households of 1 to 8 images",
)
def unrelated_ensembles_in_households(rng: np.random.Generator) -> Confusion:
    clusters, unsure = _in_households(rng, 60, rows=3)
    test_set = _test_set(rng, len(clusters))
    ensembles = [_ensemble(rng, own, name=name) for own, name in zip(unsure, ("E", "F", "G"), strict=True)]
    return confusion(test_set, ensembles, rng=rng, further=FurtherInputs(clusters=clusters))


@null_check("confusion: the score tells own errors", case="unrelated scores, 80 households of 1 to 8 images")
def own_scores_of_households(rng: np.random.Generator) -> Confusion:
    clusters, (unsure, hidden) = _in_households(rng, 80, rows=2)
    test_set = _test_set(rng, len(clusters))
    predicted = np.where(hidden < 0.5, test_set.labels, (test_set.labels + 1) % len(_SPACE))
    ensemble = _ensemble(rng, unsure, predicted=predicted)
    further = FurtherInputs(clusters=clusters)
    return confusion(test_set, [ensemble], rng=rng, own=Scoring(test_set), further=further)


@null_check(_TREND, _FAMILY, case="one relation, 12 models of 3 families, 100 households of 1 to 8 images")
def one_relation_in_households(rng: np.random.Generator) -> Confusion:
    return _of_models(rng, rng.uniform(0.0, 1.2, 12), np.repeat(np.arange(3), 4), homes=100)


@null_check("confusion: the error changes after a remedy", case="two equal models, 100 households of 1 to 8 images")
def useless_remedy_in_households(rng: np.random.Generator) -> Confusion:
    clusters, (difficulty, *hidden) = _in_households(rng, 100, rows=3)
    before, after = model_names(2)
    further = FurtherInputs(remedy=Remedy(before, after, 1.0), clusters=clusters)
    logits = [[_with_entropy(rng, 1.0 + 0.3 * difficulty)]]
    return _studied(logits, np.stack(hidden) < 0.7, rng, further)


@null_check(
    "confusion: the score is worth its cost",
    "confusion: a cheaper score is better",
    case="the last epoch is as noisy as the mean over epochs, 5 models, 80 households of 1 to 8 images",
)
def equal_rivals_in_households(rng: np.random.Generator) -> Confusion:
    clusters, (difficulty, noise, rival_noise) = _in_households(rng, 80, rows=3)
    score, rival = (1.0 + 0.1 * (difficulty + own) for own in (noise, rival_noise))
    epochs = [_with_entropy(rng, bits) for bits in (2 * score - rival, rival)]
    right = _right(rng, rng.normal(1.0, 0.3, 5), difficulty)
    return _studied([epochs], right, rng, FurtherInputs(clusters=clusters))


def _in_households(rng: np.random.Generator, count: int, *, rows: int) -> tuple[IntArray, FloatArray]:
    """Households (n,), and normal numbers (rows, n) that are alike within them."""
    clusters = households(rng, count)
    return clusters, special.ndtri(alike(rng, clusters, rows=rows))


_ENTROPIES = (0.05, 1.95)  # bits of four classes that a simulated score may have


@null_check(
    "confusion: the score is worth its cost",
    "confusion: a cheaper score is better",
    case="the last epoch is as noisy as the mean over epochs, 5 models, 300 images",
)
def equal_rivals(rng: np.random.Generator) -> Confusion:
    """Score and rival are the difficulty plus independent noise of the same size; the first epoch makes up for it."""
    difficulty, noise, rival_noise = rng.standard_normal((3, 300))
    score, rival = (1.0 + 0.1 * (difficulty + own) for own in (noise, rival_noise))
    epochs = [_with_entropy(rng, bits) for bits in (2 * score - rival, rival)]
    return _studied([epochs], _right(rng, rng.normal(1.0, 0.3, 5), difficulty), rng)


@null_check(
    "confusion: the score is worth its cost",
    case="a second member of noise only, which adds nothing to the first, 5 models, 300 images",
)
def useless_member(rng: np.random.Generator) -> Confusion:
    """The second member knows nothing of the images, so the first one alone is better than both."""
    difficulty, noise, unrelated = rng.standard_normal((3, 300))
    members = [1.0 + 0.1 * (difficulty + noise), 1.0 + 0.1 * unrelated]
    logits = [[_with_entropy(rng, bits) for bits in (own, own)] for own in members]
    return _studied(logits, _right(rng, rng.normal(1.0, 0.3, 5), difficulty), rng)


@null_check("confusion: the error changes after a remedy", case="two equal models, easy and hard images, 400 images")
def useless_remedy(rng: np.random.Generator) -> Confusion:
    difficulty = rng.standard_normal(400)
    logits = [[_with_entropy(rng, 1.0 + 0.3 * difficulty)]]
    right = _right(rng, np.full(2, 1.0), difficulty)
    before, after = model_names(2)
    return _studied(logits, right, rng, FurtherInputs(remedy=Remedy(before, after, 1.2)))


def _with_entropy(rng: np.random.Generator, bits: FloatArray) -> FloatArray:
    """Shape (n, 4): log-probabilities with these entropies (n,); the best class is random."""
    best = np.linspace(0.25, 0.9999, 2_000)
    rest = (1 - best) / 3
    entropies = -(best * np.log2(best) + 3 * rest * np.log2(rest))
    chosen = np.interp(-np.clip(bits, *_ENTROPIES), -entropies, best)
    probabilities = np.repeat((1 - chosen)[:, None] / 3, len(_SPACE), axis=1)
    probabilities[np.arange(len(bits)), rng.integers(len(_SPACE), size=len(bits))] = chosen
    return np.log(probabilities)


def studied(
    rng: np.random.Generator, unsure: FloatArray, right: BoolArray | None, clusters: IntArray | None = None
) -> Confusion:
    """The study of models with this correctness (m, n) and of an ensemble that is ``unsure`` (n,) about images."""
    test_set = _test_set(rng, len(unsure))
    ensemble, scoring = _ensemble(rng, unsure), Scoring(test_set)
    if right is None:
        return confusion(test_set, [ensemble], rng=rng, own=scoring)
    further = FurtherInputs(clusters=clusters)
    return confusion(test_set, [ensemble], _predictions(test_set, right), rng=rng, further=further)


def _studied(
    logits: list[list[FloatArray]], right: BoolArray, rng: np.random.Generator, further: FurtherInputs | None = None
) -> Confusion:
    """The study of models with this correctness (m, n) and of an ensemble with these outputs by member and epoch."""
    test_set = _test_set(rng, len(right[0]))
    ensemble = checkpoints_of(logits, kind=ScoreKind.LOGITS, ensemble="E", test_set="set", class_space=_SPACE.name)
    return confusion(test_set, [ensemble], _predictions(test_set, right), rng=rng, further=further)


def _test_set(rng: np.random.Generator, images: int) -> TestSet:
    labels = rng.integers(len(_SPACE), size=images).astype(np.int32)
    return TestSet("set", _SPACE, tuple(map(str, range(images))), labels)


def _predictions(test_set: TestSet, right: BoolArray) -> list[tuple[Predictions, Scoring]]:
    labels = test_set.labels
    answers = np.where(right, labels, (labels + 1) % len(_SPACE)).astype(np.int32)
    return [
        (Predictions(name, "set", _SPACE.name, row[:, None]), Scoring(test_set))
        for name, row in zip(model_names(len(right)), answers, strict=True)
    ]


def _right(rng: np.random.Generator, abilities: FloatArray, difficulty: FloatArray) -> BoolArray:
    return rng.random((len(abilities), len(difficulty))) < special.ndtr(abilities[:, None] - difficulty)


def _ensemble(
    rng: np.random.Generator, unsure: FloatArray, *, name: str = "E", predicted: IntArray | None = None
) -> Checkpoints:
    """One member at two epochs, less confident the more ``unsure`` (n,) it is; by default it predicts at random."""
    logits = np.zeros((len(unsure), len(_SPACE)))
    best = rng.integers(len(_SPACE), size=len(unsure)) if predicted is None else predicted
    logits[np.arange(len(unsure)), best] = 3 * special.ndtr(-unsure) + 0.1
    return checkpoints_of(
        [[logits, 1.5 * logits]], kind=ScoreKind.LOGITS, ensemble=name, test_set="set", class_space=_SPACE.name
    )
