"""A new last layer compared with scikit-learn's LogisticRegression: seconds per iteration, and to the same objective.

    python -m benchmarks.head [--device cuda] [--images 100000] [--width 768] [--classes 1000] [--iterations 50]

It needs numpy, scipy, scikit-learn and torch only. Both minimize the same objective on the same embeddings, in single
precision. Scikit-learn is stopped after a number of iterations; our time is that until its objective is reached.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import regrade
from benchmarks.result import Result, verify


def _solver() -> ModuleType:
    """The module of the solver; without the dependencies of regrade, its package is not imported."""
    try:
        import_module("regrade.train")
    except ImportError:
        package = ModuleType("regrade.train")
        package.__path__ = [str(Path(regrade.__file__).parent / "train")]
        sys.modules["regrade.train"] = package
    return import_module("regrade.train.head.problem")


@dataclass(frozen=True)
class HeadCase:
    """The size of a problem, its penalty, and how long scikit-learn may run."""

    images: int = 100_000
    width: int = 768
    classes: int = 1_000
    l2: float = 1e-3
    iterations: int = 50
    device: str = "cpu"

    def __str__(self) -> str:
        return f"head, {self.images:,} x {self.width} x {self.classes:,} classes on {self.device}, L2 {self.l2:g}"


SMALL = HeadCase(4_000, 128, 50, iterations=100)


def run(case: HeadCase = SMALL) -> Iterator[Result]:
    """Both solvers on one problem."""
    embeddings, labels = simulated_embeddings(case)
    _solver()  # imports are not measured
    started = time.perf_counter()
    ours = Ours(case, embeddings, labels)
    ours.minimize(started)
    theirs = Rival(case, ours.problem.basis, embeddings, labels)
    common = theirs.objective(ours)
    reached = next((seconds for seconds, value in ours.curve if value <= common), None)
    print(
        f"  objective: ours {ours.curve[-1][1]:.6f} after {ours.iterations} iterations and {ours.curve[-1][0]:.2f} s "
        f"(gradient {ours.gradient_norm:.1e}, {'' if ours.converged else 'not '}converged), scikit-learn {common:.6f} "
        f"after {theirs.iterations} iterations and {theirs.seconds:.2f} s",
        flush=True,
    )
    verify(reached is not None, f"{case}: our objective is not above that of scikit-learn")
    assert reached is not None
    baseline = "LogisticRegression of scikit-learn"
    aim = 10.0 if case.device == "cuda" else None
    yield Result("train", f"{case}: to the objective {common:.5f}", "s", reached, theirs.seconds, baseline, aim)
    per_evaluation = (ours.curve[-1][0] - ours.setup) / len(ours.curve)
    each = theirs.seconds / max(theirs.iterations, 1)
    yield Result("train", f"{case}: per iteration", "s", per_evaluation, each, baseline)


def simulated_embeddings(case: HeadCase) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings with a mean and variances that fall as a power law, as those of networks do, and noisy labels."""
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.standard_normal((case.width, case.width)))[0].astype(np.float32)
    latent = rng.standard_normal((case.images, case.width), dtype=np.float32)
    latent *= np.arange(1, case.width + 1, dtype=np.float32) ** -0.5
    directions = rng.standard_normal((case.width, case.classes), dtype=np.float32) * 3
    labels = np.empty(case.images, dtype=np.int64)
    for start in range(0, case.images, 8192):
        scores = latent[start : start + 8192] @ directions
        labels[start : start + 8192] = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    labels[: case.classes] = np.arange(case.classes)
    return latent @ turned + rng.standard_normal(case.width, dtype=np.float32), labels


class Ours:
    """The solver of `regrade train head`, with the objective after each evaluation."""

    def __init__(self, case: HeadCase, embeddings: np.ndarray, labels: np.ndarray) -> None:
        started, module = time.perf_counter(), _solver()
        self.problem = module.HeadProblem(embeddings, module.HeadTargets(labels, case.classes), device=case.device)
        weights = np.full(case.images, 1 / case.images)
        self.evaluated = self.problem.objective(np.arange(case.images), weights, case.l2)
        self.settings = module.SolverSettings(tolerance=1e-5)
        self.setup = time.perf_counter() - started
        self.curve: list[tuple[float, float]] = []
        self.iterations, self.converged, self.gradient_norm = 0, False, float("nan")

    def minimize(self, started: float) -> None:
        """Minimize, and keep the lowest objective so far by the seconds since ``started``, which include the setup."""
        lowest = float("inf")
        evaluate = type(self.evaluated).__call__

        def recorded(objective: Any, parameters: Any) -> tuple[float, Any]:
            nonlocal lowest
            value, gradient = evaluate(objective, parameters)
            lowest = min(lowest, value)
            self.curve.append((time.perf_counter() - started, lowest))
            return value, gradient

        watched = type("Watched", (type(self.evaluated),), {"__call__": recorded})
        fields = {name: getattr(self.evaluated, name) for name in self.evaluated.__dataclass_fields__}
        minimum = self.problem.minimize(watched(**fields), self.problem.start(), self.settings, seed=0)
        self.iterations, self.converged = minimum.iterations, minimum.converged
        self.gradient_norm = minimum.gradient_norm


class Rival:
    """Scikit-learn on the centered and scaled embeddings, which suit it better than the raw ones."""

    def __init__(self, case: HeadCase, basis: Any, embeddings: np.ndarray, labels: np.ndarray) -> None:
        scaled = ((embeddings - basis.mean.cpu().numpy()) / basis.scale).astype(np.float32)
        model = LogisticRegression(C=1 / (case.images * case.l2), tol=1e-12, max_iter=case.iterations)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            started = time.perf_counter()
            model.fit(scaled, labels)
            self.seconds = time.perf_counter() - started
        self.model, self.iterations = model, int(model.n_iter_.max())

    def objective(self, ours: Ours) -> float:
        """Its objective, by our function: the weights are rotated into our coordinates."""
        basis = ours.problem.basis
        weight = torch.from_numpy(self.model.coef_.T.astype(np.float64)).to(basis.rotation.device)
        bias = torch.from_numpy(self.model.intercept_.astype(np.float64)).to(basis.rotation.device)
        return float(ours.evaluated(torch.cat([basis.rotation.T @ weight, bias[None]]))[0])


def main() -> None:
    """Run one case with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.head", description=__doc__.splitlines()[0])
    for name, default in vars(HeadCase()).items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"default: {default}")
    case = HeadCase(**vars(parser.parse_args()))
    print(f"{case}: torch {torch.__version__}, {torch.get_num_threads()} threads", flush=True)
    for result in run(case):
        print(f"  {result}", flush=True)


if __name__ == "__main__":
    main()
