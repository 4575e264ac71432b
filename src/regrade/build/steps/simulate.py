"""regrade build simulate: how many workers, controls and candidates a build needs, with a simulated crowd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.build.crowd import Care, crowd, simulate_answers
from regrade.build.eligibility import Candidate, Eligibility
from regrade.build.frequencies import SelectionFrequencies, collect_answers, selection_frequencies
from regrade.build.samplers import DrawOptions, Sample, matched_frequency
from regrade.build.selection_noise import debiased
from regrade.build.target_sampler import matched_mean
from regrade.build.tasks import TaskOptions, TaskPlan, make_tasks
from regrade.build.workers import Gate, Standing, worker_qualities
from regrade.core import Column, InputError, Table, Tabular
from regrade.studies.study import Study, StudyOptions, option, seed_option


def _share_option(what: str, default: float) -> Any:
    """The option of the share of a kind of workers; the others are careful."""
    return option(f"Share of workers, in percent, who {what}.", default, percent=True, minimum=0, maximum=100)


@dataclass(frozen=True)
class SimulationOptions(StudyOptions):
    """The size of the build, the crowd, and the numbers of workers per task to compare.

    Workers who are neither careless nor random nor adversarial are careful.
    """

    workers: Sequence[int] = option("Workers per task. May be repeated.", (3, 5, 10, 20), names=("--workers",))
    classes: int = option("Classes.", 20, minimum=2)
    candidates: int = option("Candidates per class.", 126, minimum=1)
    references: int = option("Reference images per class.", 50, minimum=1)
    per_class: int = option("Images per class of the new set.", 10, minimum=1)
    pool_frequency: float = option(
        "Mean selection frequency of the candidates, in percent.", 0.5, percent=True, minimum=1, maximum=99
    )
    reference_frequency: float = option(
        "Mean selection frequency of the reference images, in percent.", 0.7, percent=True, minimum=1, maximum=99
    )
    negative_frequency: float = option(
        "Selection frequency of negative controls, in percent.", 0.03, percent=True, minimum=0, maximum=100
    )
    concentration: float = option(
        "How similar images are: frequencies have a beta distribution whose parameters have this sum; 2 is wide, as on "
        "ImageNet.",
        2.0,
        minimum=0.1,
    )
    crowd: int = option("Workers in all.", 50, minimum=1)
    careless: float = _share_option("answer many tiles without looking", 0.1)
    random: float = _share_option("select at random", 0.04)
    adversarial: float = _share_option("select what careful workers do not", 0.0)
    controls: int = option("Controls of each kind per task.", 3, minimum=0)
    lowest_control_accuracy: float = option(
        "Workers are excluded if their accuracy on controls is proven to be below this percentage.",
        0.8,
        names=("--min-control-accuracy",),
        percent=True,
        minimum=1,
        maximum=99,
    )
    seed: int = seed_option("the simulation")


@dataclass(frozen=True)
class SimulatedBuild:
    """What a number of workers per task leads to.

    Errors are in points of selection frequency: ``frequency_error`` is the root mean square error per candidate, and
    the biases are those of the mean true frequency of the drawn set, naive and corrected. ``bad_excluded`` and
    ``careful_excluded`` are the shares of bad and of careful workers that were excluded.
    """

    workers: int
    answers: int
    frequency_error: float
    bad_excluded: float | None
    careful_excluded: float
    images: int
    naive_bias: float | None
    corrected_bias: float | None


@dataclass(frozen=True, repr=False)
class Simulation(Tabular, records="rows"):
    """Simulated builds, by the number of workers per task."""

    tasks: int
    rows: tuple[SimulatedBuild, ...]

    def table(self) -> Table:
        """One row per number of workers."""
        columns = (
            Column("workers", "workers per task"),
            Column("answers", "answers"),
            Column("frequency_error", "error of a frequency (points)"),
            Column("bad_excluded", "bad workers excluded (%)"),
            Column("careful_excluded", "careful workers excluded (%)"),
            Column("images", "images drawn"),
            Column("naive_bias", "bias of the set (points)"),
            Column("corrected_bias", "corrected bias (points)"),
        )
        rows = tuple(
            (
                row.workers,
                row.answers,
                row.frequency_error,
                row.bad_excluded,
                row.careful_excluded,
                row.images,
                row.naive_bias,
                row.corrected_bias,
            )
            for row in self.rows
        )
        note = (
            "bias: mean true selection frequency of a matched set minus that of the reference images; below 0 the set "
            "is harder than intended"
        )
        return Table(f"simulated builds of {self.tasks:,} tasks", columns, rows, (note,))


def run(_: None, options: SimulationOptions) -> Simulation:
    """Simulate a build for each number of workers per task."""
    if options.careless + options.random + options.adversarial > 1:
        raise InputError("the shares of careless, random and adversarial workers must not exceed 100 % together")
    generator = np.random.default_rng(options.seed)
    plan, chances = _plan(options, generator)
    rows = tuple(_build(options, plan, chances, workers) for workers in options.workers)
    return Simulation(len(plan.tasks), rows)


def _plan(options: SimulationOptions, generator: np.random.Generator) -> tuple[TaskPlan, dict[tuple[str, str], float]]:
    """Tasks of a synthetic pool, and the selection probability of every image for every class that it is shown for."""
    names = [f"class-{number:04}" for number in range(options.classes)]
    pool = {name: [f"{name}/candidate-{i:05}" for i in range(options.candidates)] for name in names}
    references = {name: [f"{name}/reference-{i:05}" for i in range(options.references)] for name in names}
    nearest = dict(zip(names, names[1:] + names[:1], strict=True))
    settings = TaskOptions(positives=options.controls, negatives=options.controls, seed=options.seed)
    plan = make_tasks(pool, references, nearest, settings)
    if plan.problems:
        raise InputError(f"this build is not possible: {plan.problems[0]}")
    chances: dict[tuple[str, str], float] = {}
    for name in names:
        for images, mean in ((pool[name], options.pool_frequency), (references[name], options.reference_frequency)):
            values = generator.beta(options.concentration * mean, options.concentration * (1 - mean), len(images))
            chances |= {(image, name): float(value) for image, value in zip(images, values, strict=True)}
        chances |= {(image, name): options.negative_frequency for image in references[nearest[name]]}
    return plan, chances


def _build(
    options: SimulationOptions, plan: TaskPlan, chances: dict[tuple[str, str], float], workers: int
) -> SimulatedBuild:
    people = crowd(options.crowd, {care: getattr(options, care.value) for care in Care if care is not Care.CAREFUL})
    assignments = simulate_answers(plan.tasks, chances, people, workers_per_task=workers, seed=options.seed + workers)
    answers = collect_answers(plan.tasks, assignments)
    gate = Gate(lowest=options.lowest_control_accuracy)
    excluded = {
        quality.worker
        for quality in worker_qualities(answers)
        if (rate := quality.control_accuracy) is not None
        and gate.standing(round(rate.value * rate.n), rate.n) is Standing.EXCLUDED
    }
    bad = {person.name for person in people if person.care is not Care.CAREFUL}
    counted = selection_frequencies(answers, excluded_workers=excluded)
    naive, corrected, intended = _draws(options, counted, workers, chances)
    return SimulatedBuild(
        workers,
        len(assignments),
        _frequency_error(counted, chances),
        len(bad & excluded) / len(bad) if bad else None,
        len(excluded - bad) / max(len(people) - len(bad), 1),
        len(naive.examples),
        _bias(naive, chances, intended),
        _bias(corrected, chances, intended),
    )


def _draws(
    options: SimulationOptions,
    counted: SelectionFrequencies,
    workers: int,
    chances: dict[tuple[str, str], float],
) -> tuple[Sample, Sample, float]:
    """The naive and the corrected draw, and the true mean frequency of the reference images that they aim at."""
    fewest = max(workers // 2, 1)
    draw = DrawOptions(options.per_class, options.seed, Eligibility(min_assignments=fewest))
    candidates, references = counted.candidates(), counted.references()
    annotated: list[Candidate] = [image for image in references if image.assignments >= fewest]
    intended = float(np.mean([chances[image.image, image.class_id] for image in annotated]))
    naive = matched_frequency(candidates, references, draw, min_references=1)
    corrected = matched_mean(debiased(candidates), references, draw, min_references=1)
    return naive, corrected, intended


def _frequency_error(counted: SelectionFrequencies, chances: dict[tuple[str, str], float]) -> float:
    answered = counted.assignments > 0
    truth = np.array([chances[entry] for entry in counted.entries])
    return float(np.sqrt(np.mean((counted.frequency - truth)[answered] ** 2)))


def _bias(sample: Sample, chances: dict[tuple[str, str], float], intended: float) -> float | None:
    return float(np.mean([chances[example] for example in sample.examples])) - intended if sample.examples else None


BUILD_SIMULATE = Study(
    name="simulate",
    question="How many workers does a build need?",
    summary="Simulate builds with a crowd of known quality: errors, excluded workers and bias by workers per task.",
    options=SimulationOptions,
    result=Simulation,
    run=run,
    in_workspace=False,
)
