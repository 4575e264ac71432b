"""The objective of a head, its solvers, weights and parts: values by hand, oracles, properties."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from regrade.core import InputError
from regrade.train.head.adam import AdamSettings, batch_of
from regrade.train.head.fitting import HeadFitter, TrainingDesign
from regrade.train.head.lbfgs import minimize
from regrade.train.head.objective import CrossEntropy, HeadObjective, MappedLoss
from regrade.train.head.problem import EmbeddingBasis, HeadProblem, HeadTargets, SolverSettings
from regrade.train.head.splits import Balance, balanced_weights, cluster_parts

EXACT = SolverSettings(1e-10)


def simulated(images=300, width=8, classes=3, seed=0):
    """Embeddings with unequal spreads and correlations, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((width, width)) * np.geomspace(3, 0.1, width)
    embeddings = rng.standard_normal((images, width)) @ mixing + 2
    scores = embeddings @ rng.standard_normal((width, classes)) * 0.5
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    labels[:classes] = range(classes)  # a class without images has no finite bias
    return embeddings, labels


def fitted(embeddings, targets, weights, l2, *, solver=EXACT, dtype=torch.float64):
    problem = HeadProblem(embeddings, targets, dtype=dtype)
    objective = problem.objective(np.arange(len(embeddings)), weights, l2)
    return problem, problem.minimize(objective, problem.start(), solver, seed=0)


def mapped_targets(images=60, seed=1):
    """Four base classes, three labels; label 1 has two accepted classes and class 3 belongs to none."""
    rng = np.random.default_rng(seed)
    accepts = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]], dtype=bool)
    labels = rng.integers(0, 3, images)
    return HeadTargets(labels, 4, accepts, rng.standard_normal((images, 4)))


def slow_mapped_value(inputs, targets, weights, l2, parameters):
    """The mapped objective, image by image and class by class."""
    value = l2 / 2 * sum(float(number) ** 2 for number in parameters.ravel())
    for row, label, offsets, weight in zip(inputs, targets.labels, targets.offsets, weights, strict=True):
        exponentials = [math.exp(offsets[c] + sum(row * parameters[:, c])) for c in range(targets.classes)]
        accepted = sum(e for c, e in enumerate(exponentials) if targets.accepts[label, c])
        value -= weight * math.log(accepted / sum(exponentials))
    return value


def test_cross_entropy_by_hand():
    losses, slopes = CrossEntropy(torch.tensor([1])).losses_and_slopes(
        torch.log(torch.tensor([[1.0, 3.0]])), slice(0, 1)
    )
    assert losses.tolist() == pytest.approx([math.log(4 / 3)])
    assert slopes.tolist() == [pytest.approx([0.25, -0.25])]


def test_mapped_loss_by_hand():
    accepts = torch.tensor([[True, True, False]])
    logits = torch.log(torch.tensor([[1.0, 2.0, 1.0]]))
    losses, slopes = MappedLoss(accepts, torch.tensor([0])).losses_and_slopes(logits, slice(0, 1))
    assert losses.tolist() == pytest.approx([math.log(4 / 3)])
    assert slopes.tolist() == [pytest.approx([1 / 4 - 1 / 3, 2 / 4 - 2 / 3, 1 / 4])]


def test_mapped_loss_survives_very_unlikely_classes():
    accepts, logits = torch.tensor([[True, False]]), torch.tensor([[-500.0, 500.0]])
    losses, slopes = MappedLoss(accepts, torch.tensor([0])).losses_and_slopes(logits, slice(0, 1))
    assert losses.tolist() == [1000.0] and slopes.tolist() == [[-1.0, 1.0]]


def test_mapped_objective_equals_a_slow_restatement_and_finite_differences():
    embeddings, _ = simulated(60, 5)
    targets, rng = mapped_targets(), np.random.default_rng(2)
    weights = rng.dirichlet(np.ones(60))
    problem = HeadProblem(embeddings, targets, dtype=torch.float64)
    objective = problem.objective(np.arange(60), weights, 0.3)
    point = rng.standard_normal((6, 4))
    value, gradient = objective(torch.from_numpy(point))
    inputs = problem.inputs.numpy()
    assert value == pytest.approx(slow_mapped_value(inputs, targets, weights, 0.3, point), rel=1e-12)
    for place in np.ndindex(point.shape):
        step = np.zeros_like(point)
        step[place] = 1e-5
        rise = slow_mapped_value(inputs, targets, weights, 0.3, point + step)
        fall = slow_mapped_value(inputs, targets, weights, 0.3, point - step)
        assert float(gradient[place]) == pytest.approx((rise - fall) / 2e-5, abs=1e-8)


def test_blocks_do_not_change_the_objective(monkeypatch):
    embeddings, labels = simulated(1000)
    problem = HeadProblem(embeddings, HeadTargets(labels, 3), dtype=torch.float64)
    objective = problem.objective(np.arange(1000), np.full(1000, 1e-3), 0.1)
    point = torch.from_numpy(np.random.default_rng(0).standard_normal((9, 3)))
    value, gradient = objective(point)
    loss = objective.mean_loss(point)
    monkeypatch.setitem(__import__("regrade.train.head.objective", fromlist=["_"])._BLOCK_BYTES, "cpu", 1)
    again, in_blocks = objective(point)
    assert again == pytest.approx(value, rel=1e-13) and torch.allclose(gradient, in_blocks, rtol=1e-12)
    assert objective.mean_loss(point) == pytest.approx(loss, rel=1e-13)
    assert value == pytest.approx(loss + 0.05 * float(point[:-1].square().sum()), rel=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l2", [1.0, 1e-3])
def test_head_equals_logistic_regression_of_scikit_learn(weighted, l2):
    embeddings, labels = simulated()
    rng = np.random.default_rng(3)
    weights = rng.dirichlet(np.ones(300)) if weighted else np.full(300, 1 / 300)
    problem, minimum = fitted(embeddings, HeadTargets(labels, 3), weights, l2)
    assert minimum.converged
    weight, bias = problem.basis.weight_and_bias(minimum.point)
    rival = LogisticRegression(C=1 / (300 * l2 * problem.basis.scale**2), tol=1e-12, max_iter=20_000)
    rival.fit(embeddings, labels, sample_weight=300 * weights)
    ours = torch.from_numpy(embeddings @ weight + bias).softmax(dim=1).numpy()
    assert np.abs(ours - rival.predict_proba(embeddings)).max() < 1e-5


def test_single_precision_reaches_the_same_minimum():
    embeddings, labels = simulated(500)
    weights = np.full(500, 1 / 500)
    _, exact = fitted(embeddings, HeadTargets(labels, 3), weights, 1e-3)
    _, single = fitted(
        embeddings, HeadTargets(labels, 3), weights, 1e-3, solver=SolverSettings(1e-5), dtype=torch.float32
    )
    assert single.converged
    assert single.value == pytest.approx(exact.value, rel=1e-6)


def test_strong_penalty_leaves_the_base_model_as_it_is():
    embeddings, _ = simulated(60, 5)
    targets = mapped_targets()
    problem, minimum = fitted(embeddings, targets, np.full(60, 1 / 60), 1e9)
    assert np.abs(problem.scores(np.arange(60), minimum.point) - targets.offsets).max() < 1e-6
    assert np.array_equal(problem.scores(np.arange(60), problem.start()), targets.offsets)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_permuted_rows_and_classes_permute_the_head(seed):
    embeddings, labels = simulated(80, 4, seed=seed)
    rng = np.random.default_rng(seed)
    rows, classes = rng.permutation(80), rng.permutation(3)
    weights = rng.dirichlet(np.full(80, 5.0))
    problem, minimum = fitted(embeddings, HeadTargets(labels, 3), weights, 0.1)
    other_problem, permuted = fitted(embeddings[rows], HeadTargets(classes[labels][rows], 3), weights[rows], 0.1)
    scores = problem.scores(rows, minimum.point)
    assert np.allclose(scores, other_problem.scores(np.arange(80), permuted.point)[:, classes], atol=1e-4)
    assert permuted.value == pytest.approx(minimum.value, rel=1e-9)


def test_moved_and_scaled_embeddings_give_the_same_scores():
    embeddings, labels = simulated()
    weights = np.full(300, 1 / 300)
    first, before = fitted(embeddings, HeadTargets(labels, 3), weights, 0.01)
    second, after = fitted(embeddings * 7 - 40, HeadTargets(labels, 3), weights, 0.01)
    rows = np.arange(300)
    assert np.allclose(first.scores(rows, before.point), second.scores(rows, after.point), atol=1e-4)


def test_basis_gives_uncorrelated_coordinates():
    embeddings, _ = simulated()
    basis = EmbeddingBasis.of(embeddings)
    inputs = basis.inputs(embeddings, torch.float64).numpy()
    products = inputs.T @ inputs / 300
    assert np.allclose(products, np.diag([*basis.spread.numpy(), 1.0]), atol=1e-5)
    assert np.mean(basis.spread.numpy()) == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(InputError, match="all embeddings of the training images are equal"):
        EmbeddingBasis.of(np.ones((4, 3)))


def test_lbfgs_finds_the_minimum_of_a_quadratic_and_of_rosenbrock():
    scales = torch.tensor([1.0, 100.0, 1e4], dtype=torch.float64)

    def quadratic(x):
        return float((scales * x**2).sum() / 2 - x.sum()), scales * x - 1

    def rosenbrock(x):
        a, b = x[0], x[1]
        gradient = torch.stack([-2 * (1 - a) - 400 * a * (b - a**2), 200 * (b - a**2)])
        return float((1 - a) ** 2 + 100 * (b - a**2) ** 2), gradient

    start = torch.zeros(3, dtype=torch.float64)
    with_scales = minimize(quadratic, start, lambda _: 1 / scales, tolerance=1e-9)
    assert torch.allclose(with_scales.point, 1 / scales) and with_scales.iterations <= 2
    minimum = minimize(
        rosenbrock, torch.tensor([-1.2, 1.0], dtype=torch.float64), lambda _: torch.ones(2), tolerance=1e-8
    )
    assert minimum.converged and torch.allclose(minimum.point, torch.ones(2, dtype=torch.float64), atol=1e-6)
    stopped = minimize(rosenbrock, minimum.point * 0, lambda _: torch.ones(2), tolerance=1e-8, most_iterations=2)
    assert not stopped.converged and stopped.iterations == 2


def test_adam_approaches_the_minimum_and_its_batches_are_unbiased():
    embeddings, labels = simulated()
    weights = np.random.default_rng(0).dirichlet(np.ones(300))
    _, exact = fitted(embeddings, HeadTargets(labels, 3), weights, 0.1)
    adam = SolverSettings(adam=AdamSettings(epochs=300, batch=50, learning_rate=3e-3))
    problem, close = fitted(embeddings, HeadTargets(labels, 3), weights, 0.1, solver=adam)
    assert exact.value < close.value < exact.value * 1.05
    assert torch.equal(close.point, fitted(embeddings, HeadTargets(labels, 3), weights, 0.1, solver=adam)[1].point)
    objective = problem.objective(np.arange(300), weights, 0.1)
    point = torch.ones((9, 3), dtype=torch.float64)
    batches = [batch_of(objective, rows)(point)[1] for rows in torch.arange(300).split(50)]
    assert torch.allclose(torch.stack(batches).mean(dim=0), objective(point)[1], rtol=1e-10)


def test_weights_give_every_part_the_same_total():
    weights = balanced_weights(np.array([3, 3, 3, 7, 7, 9]), 6)
    assert weights.tolist() == pytest.approx([1 / 9] * 3 + [1 / 6] * 2 + [1 / 3])
    assert balanced_weights(None, 4).tolist() == [0.25] * 4


@given(st.integers(2, 6), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_parts_are_made_of_whole_clusters(count, seed):
    rng = np.random.default_rng(seed)
    clusters, strata = rng.integers(0, 12, 60), rng.integers(0, 3, 60)
    parts = cluster_parts(clusters, strata, count, rng=rng)
    assert all(len(set(parts[clusters == cluster])) == 1 for cluster in np.unique(clusters))
    sizes = [len(set(clusters[parts == part])) for part in range(count)]
    assert max(sizes) - min(sizes) <= 1


def test_parts_of_single_images_have_equal_shares_of_every_stratum():
    strata = np.repeat([0, 1, 2], [20, 40, 7])
    parts = cluster_parts(np.arange(67), strata, 5, rng=np.random.default_rng(0))
    for stratum in range(3):
        sizes = np.bincount(parts[strata == stratum], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    with pytest.raises(InputError, match="5 parts cannot be made of 2 clusters of images"):
        cluster_parts(np.array([0, 0, 1]), np.zeros(3, int), 5, rng=np.random.default_rng(0))


def fitter(embeddings, labels, penalties, *, groups=None, balance=Balance.NONE, clusters=None):
    clusters = np.arange(len(labels)) if clusters is None else clusters
    design = TrainingDesign(clusters, groups, balance, penalties, 4)
    problem = HeadProblem(embeddings, HeadTargets(labels, 3), dtype=torch.float64)
    return HeadFitter(problem, design, EXACT)


def test_chosen_penalty_has_the_smallest_held_out_loss_and_is_fitted_on_all_images():
    embeddings, labels = simulated(120, 30)
    fit = fitter(embeddings, labels, (10.0, 0.1, 1e-5)).fit(np.arange(120), 0)
    losses = [trial.held_out_loss for trial in fit.path]
    assert fit.chosen.l2 == fit.path[int(np.argmin(losses))].l2 == 0.1
    assert losses[2] > losses[1] < losses[0]
    alone = fitter(embeddings, labels, (0.1,)).fit(np.arange(120), 0)
    assert torch.allclose(fit.parameters, alone.parameters, atol=1e-6)
    assert alone.path[0].held_out_loss is None


def test_balanced_groups_choose_the_penalty_by_the_worst_group():
    fits = fitter(*simulated(), (1.0, 0.1), groups=np.arange(300) % 2, balance=Balance.GROUP)
    path = fits.fit(np.arange(300), 0).path
    assert all(0 < trial.held_out_worst_group < 1 for trial in path)
    low, high = (replace_trial(path[0], worst, loss) for worst, loss in ((0.5, 0.1), (0.6, 9.0)))
    assert fits._rank(high) < fits._rank(low)
    assert fits._rank(replace_trial(low, 0.6, 0.1)) < fits._rank(high)


def replace_trial(trial, worst, loss):
    return type(trial)(trial.l2, loss, worst, trial.objective, trial.iterations, trial.gradient_norm, True)


def test_images_are_predicted_by_heads_that_have_not_seen_their_cluster():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(20), 3)
    labels = np.repeat(rng.integers(0, 2, 20), 3)
    embeddings = np.repeat(rng.standard_normal((20, 200)), 3, axis=0) + 0.01 * rng.standard_normal((60, 200))
    fits = fitter(embeddings, labels, (1e-4,), clusters=clusters)
    right = np.zeros(60)
    for rows, scores in fits.out_of_fold(np.arange(60), 0):
        right[rows] = scores[:, :2].argmax(axis=1) == labels[rows]
    everything = fits.fit(np.arange(60), 0)
    seen = fits.problem.scores(np.arange(60), everything.parameters)[:, :2].argmax(axis=1) == labels
    assert seen.all() and right.mean() < 0.75  # labels of clusters are random: only leakage could predict them


def test_objective_reports_the_curvatures_of_classes():
    embeddings, labels = simulated()
    problem = HeadProblem(embeddings, HeadTargets(labels, 3), dtype=torch.float64)
    objective: HeadObjective = problem.objective(np.arange(300), np.full(300, 1 / 300), 0.1)
    assert objective.curvatures(problem.start()).tolist() == pytest.approx([2 / 9] * 3)
