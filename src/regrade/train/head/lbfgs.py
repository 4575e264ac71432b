"""L-BFGS with a diagonal preconditioner (Nocedal and Wright 2006, section 7.2), on any device of torch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Function = Callable[[Any], tuple[float, Any]]
"""Returns the value and the gradient at a point."""

_MEMORY = 10
_REFRESHED = 20  # iterations after which the preconditioner is computed again
_ARMIJO = 1e-4
_TRIALS = 25


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a solver stopped: the point, its value and gradient norm, and the work that was done."""

    point: Any
    value: float
    gradient_norm: float
    iterations: int
    evaluations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class _Step:
    """A change of the point and of the gradient, and 1 / their inner product."""

    change: Any
    bend: Any
    inverse: Any


@dataclass(frozen=True, eq=False)
class _Place:
    """A point with its value and its gradient."""

    point: Any
    value: float
    gradient: Any


def minimize(
    function: Function,
    start: Any,
    diagonal_at: Callable[[Any], Any],
    *,
    tolerance: float,
    most_iterations: int = 1000,
    noise: float = 0.0,
) -> Minimum:
    """Minimize a smooth function until the norm of its gradient is at most ``tolerance``.

    ``diagonal_at`` returns the approximate inverse of the Hessian's diagonal at a point; it is called now and then.
    Values that differ by less than ``noise`` times their size count as equal: it is the rounding error of the function.
    """
    place, evaluations = _Place(start, *function(start)), 1
    steps: deque[_Step] = deque(maxlen=_MEMORY)
    for iteration in range(most_iterations + 1):
        norm = float(place.gradient.norm())
        if norm <= tolerance or iteration == most_iterations:
            break
        if iteration % _REFRESHED == 0:
            diagonal = diagonal_at(place.point)
        following, tried = _descended(function, place, _direction(place.gradient, steps, diagonal), noise)
        evaluations += tried
        if following is None:
            if not steps:
                break
            steps.clear()  # the memory may mislead: try once along the preconditioned gradient
            continue
        _remember(steps, place, following)
        place = following
    return Minimum(place.point, place.value, norm, iteration, evaluations, norm <= tolerance)


def _direction(gradient: Any, steps: deque[_Step], diagonal: Any) -> Any:
    """The two-loop recursion: minus the approximate inverse Hessian times the gradient."""
    direction, factors = -gradient, []
    for step in reversed(steps):
        factor = step.inverse * _inner(step.change, direction)
        direction = direction - factor * step.bend
        factors.append(factor)
    scale = 1.0
    if steps:
        last = steps[-1]
        scale = 1 / (last.inverse * _inner(last.bend, diagonal * last.bend))
    direction = scale * diagonal * direction
    for step, factor in zip(steps, reversed(factors), strict=True):
        direction = direction + (factor - step.inverse * _inner(step.bend, direction)) * step.change
    return direction


def _descended(function: Function, place: _Place, direction: Any, noise: float) -> tuple[_Place | None, int]:
    """The first point along the direction that is low enough, and the number of evaluations; None if there is none."""
    slope, length = float(_inner(place.gradient, direction)), 1.0
    if not slope < 0:
        return None, 0
    slack = noise * abs(place.value)
    for trial in range(1, _TRIALS + 1):
        point = place.point + length * direction
        value, gradient = function(point)
        if value <= place.value + _ARMIJO * length * slope + slack:
            return _Place(point, value, gradient), trial
        length *= _shortened(value - place.value, length * slope)
    return None, _TRIALS


def _shortened(rise: float, slope: float) -> float:
    """The minimum of the parabola through both values, within [0.1, 0.5]; 0.1 for a value that is not finite."""
    share = -slope / (2 * (rise - slope))
    return min(max(share, 0.1), 0.5) if math.isfinite(share) else 0.1


def _remember(steps: deque[_Step], before: _Place, after: _Place) -> None:
    change, bend = after.point - before.point, after.gradient - before.gradient
    product = _inner(change, bend)
    if float(product) > 1e-12 * float(change.norm() * bend.norm()):
        steps.append(_Step(change, bend, 1 / product))


def _inner(first: Any, second: Any) -> Any:
    return torch.dot(first.reshape(-1), second.reshape(-1))
