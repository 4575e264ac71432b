"""regrade build simulate: every assumption about crowd and images is an option that changes the result."""

import numpy as np
import pytest
from running import assert_one_line, run, run_well

from regrade.build.crowd import Care
from regrade.build.steps.simulate import BUILD_SIMULATE, SimulationOptions, _plan
from regrade.core import InputError

SMALL = {"classes": 4, "candidates": 42, "references": 40, "crowd": 20, "workers": (6,)}


def simulated(**options):
    [row] = BUILD_SIMULATE.run(None, SimulationOptions(**{**SMALL, **options})).rows
    return row


def true_chances(**options):
    settings = SimulationOptions(**{**SMALL, **options})
    return _plan(settings, np.random.default_rng(0))[1]


def test_frequencies_have_the_chosen_means_and_spread():
    chances = true_chances(candidates=2000, pool_frequency=0.6, concentration=4, negative_frequency=0.07)
    candidates = [chance for (image, _), chance in chances.items() if "candidate" in image]
    assert np.mean(candidates) == pytest.approx(0.6, abs=0.02)
    assert np.var(candidates) == pytest.approx(0.6 * 0.4 / 5, abs=0.005)  # of a beta distribution with a + b = 4
    negatives = {chance for (image, shown_for), chance in chances.items() if not image.startswith(shown_for)}
    assert negatives == {0.07}


@pytest.mark.parametrize("kind", [care.value for care in Care if care is not Care.CAREFUL])
def test_workers_of_each_kind_make_frequencies_worse(kind):
    nobody = {"careless": 0.0, "random": 0.0, "adversarial": 0.0}
    careful, mixed = simulated(**nobody), simulated(**nobody | {kind: 0.4})
    assert careful.bad_excluded is None
    assert mixed.bad_excluded is not None
    assert mixed.frequency_error > careful.frequency_error + 0.01


def test_more_controls_reveal_more_bad_workers():
    few, many = (simulated(controls=controls, random=0.3, candidates=300, crowd=60) for controls in (1, 6))
    assert few.bad_excluded < many.bad_excluded


def test_more_candidates_give_more_tasks_and_complete_classes():
    few, many = simulated(candidates=6, per_class=10), simulated(candidates=120, per_class=10)
    assert few.answers < many.answers
    assert few.images < many.images == 40


def test_shares_above_100_percent_are_refused():
    with pytest.raises(InputError, match="careless, random and adversarial workers must not exceed 100 % together"):
        simulated(careless=0.5, random=0.3, adversarial=0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--crowd", "5", "--workers", "6"), "6 workers per task were requested, and there are 5"),
        (("--crowd", "2", "--adversarial", "1", "--workers", "2"), "a crowd of 2 is too small for these shares"),
        (("--candidates", "3", "--references", "5"), "this build is not possible: class-0000: 5 reference images"),
    ],
)
def test_impossible_simulations_are_one_line(arguments, message):
    done = run("build", "simulate", "--classes", "2", *arguments)
    assert_one_line(done)
    assert message in done.err


def test_all_options_are_on_the_command_line():
    output = run_well(
        "build", "simulate", "--classes", "3", "--candidates", "42", "--references", "30", "--workers", "4",
        "--controls", "2", "--careless", "10", "--random", "10", "--adversarial", "10", "--concentration", "3",
        "--negative-frequency", "5",
    ).out  # fmt: skip
    assert "simulated builds of" in output
