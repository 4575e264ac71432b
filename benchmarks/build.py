"""A build of 200,000 candidates and 10 workers per task compared with dicts of lists and with pandas."""

from __future__ import annotations

import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import Finished, command, seconds
from benchmarks.result import Result, verify
from regrade.build.crowd import Care, crowd, simulate_answers
from regrade.build.eligibility import Candidate, Eligibility
from regrade.build.files import AnswerBatch, AnswerCollection, BuildTasks, TaskCollection
from regrade.build.frequencies import SelectionFrequencies, collect_answers, selection_frequencies
from regrade.build.samplers import DrawOptions, Sample, keyword_matched, matched_frequency, threshold, top
from regrade.build.selection_noise import debiased
from regrade.build.target_sampler import matched_mean, target_mean
from regrade.build.tasks import TaskOptions, TileRole, make_tasks
from regrade.core import ClassSpace, TestSet
from regrade.store import Store

_CLASSES, _CANDIDATES, _REFERENCES, _WORKERS, _CROWD = 1_000, 200, 50, 10, 300
_PER_CLASS, _ROUNDS = 10, 3
_KEYWORDS = ("first", "second")
_LOWEST = 0.7
_CHANCES = {TileRole.CANDIDATE: (1.2, 1.0), TileRole.POSITIVE: (3.0, 1.0), TileRole.NEGATIVE: (0.5, 15.0)}


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        root = make_build(Path(folder) / "once", _WORKERS)
        case = f"{_CLASSES * _CANDIDATES:,} candidates x {_WORKERS} workers"
        yield from frequencies(root, case)
        twice = make_build(Path(folder) / "twice", 2 * _WORKERS)
        once, more = (measured("ours", path) for path in (root, twice))
        yield Result(
            "build", "peak memory, twice as many answers", "GB", more.gigabytes, once.gigabytes, "once as many"
        )
        yield from samplers(root)
        for name, arguments in (
            ("frequencies", ()),
            ("sample, matched", ("--strategy", "matched-frequency")),
            ("sample, corrected", ("--strategy", "matched-frequency", "--debias")),
        ):
            step = [sys.executable, "-m", "regrade", "build", name.partition(",")[0], "b", *arguments, "-w", root]
            done = command(step)
            yield Result("build", f"regrade build {name}", "s", done.seconds, aim_most=30)
            yield Result("build", f"regrade build {name}, peak memory", "GB", done.gigabytes, aim_most=1)


def frequencies(root: Path, case: str) -> Iterator[Result]:
    """Read tasks and answers, and count: ours and both baselines, each in a new process."""
    ours, plain = ours_frequencies(root), plain_frequencies(root)
    shares = dict(zip(ours.entries, ours.frequency.tolist(), strict=True))
    verify(shares == plain, "frequencies are those of dicts of lists")
    table = pandas_frequencies(root)
    same = all(abs(table[image, class_id] - share) < 1e-12 for (image, class_id), share in list(shares.items())[::97])
    verify(same and len(table) == len(shares), "frequencies are those of pandas")
    titles = {"plain": "dicts of lists", "pandas": "pandas merge and groupby"}
    rounds = [{name: measured(name, root) for name in ("ours", *titles)} for _ in range(_ROUNDS)]
    times = {name: min(each[name].seconds for each in rounds) for name in rounds[0]}
    memory = {name: min(each[name].gigabytes for each in rounds) for name in rounds[0]}
    for name, title in titles.items():
        yield Result("build", f"frequencies, {case}", "s", times["ours"], times[name], title, aim_most=10)
        yield Result("build", "frequencies, peak memory", "GB", memory["ours"], memory[name], title, aim_most=1)


def measured(name: str, root: Path) -> Finished:
    """Run one of the functions for frequencies in a new process."""
    code = f"from pathlib import Path; from benchmarks import build; build.{name}_frequencies(Path({str(root)!r}))"
    return command([sys.executable, "-c", code])


def samplers(root: Path) -> Iterator[Result]:
    """Every strategy on the counted candidates, in memory."""
    counted = ours_frequencies(root)
    keywords = {image: _KEYWORDS[number % 2] for number, (image, _) in enumerate(counted.entries)}
    candidates, references = counted.candidates(keywords), counted.references()
    options = DrawOptions(_PER_CLASS, 0, Eligibility())
    wishes = {class_id: dict.fromkeys(_KEYWORDS, 1) for class_id in {c.class_id for c in candidates}}
    table = pd.DataFrame([vars(candidate) for candidate in candidates])
    rivals: dict[str, tuple[str, Callable[[], object]]] = {
        "threshold": ("pandas groupby, sample", lambda: sample_by_pandas(table)),
        "top": ("pandas sort, groupby, head", lambda: top_by_pandas(table)),
        "matched-frequency": ("a plain loop over bins", lambda: matched_by_loop(candidates, references)),
    }
    strategies: dict[str, Callable[[], Sample]] = {
        "matched-frequency": lambda: matched_frequency(candidates, references, options),
        "matched-frequency, corrected": lambda: matched_mean(debiased(candidates), references, options),
        "threshold": lambda: threshold(candidates, options, lowest=_LOWEST),
        "top": lambda: top(candidates, options),
        "keyword-matched": lambda: keyword_matched(candidates, wishes, options),
        "target-frequency": lambda: target_mean(candidates, 0.6, options),
    }
    drawn = {image for image, _ in top(candidates, options).examples}
    verify(drawn == set(top_by_pandas(table)["image"]), "the most selected images are those of pandas")
    for name, draw in strategies.items():
        if name in rivals:
            title, rival = rivals[name]
            ours, baseline = seconds(draw, rival, rounds=2)
            yield Result("build", f"draw, {name}", "s", ours, baseline, title, aim_most=5)
        else:
            (ours,) = seconds(draw, rounds=1)
            yield Result("build", f"draw, {name}", "s", ours, aim_most=5)


def make_build(root: Path, workers: int) -> Path:
    """A workspace with the build ``b``: simulated answers to tasks without images."""
    ids = tuple(f"n{number:08}" for number in range(_CLASSES))
    space = ClassSpace("simulated", ids)
    store = Store.create(root)
    pool, reference = (_test_set(name, space, size) for name, size in (("pool", _CANDIDATES), ("ref", _REFERENCES)))
    for test_set in (pool, reference):
        store.add_test_set(test_set)
    options = TaskOptions(workers=workers)
    nearest = dict(zip(ids, (*ids[1:], ids[0]), strict=True))
    plan = make_tasks(_by_class(pool), _by_class(reference), nearest, options)
    tasks = BuildTasks("b", "pool", pool.digest, "ref", reference.digest, options, plan.tasks)
    TaskCollection(root).add(tasks, None)
    rng = np.random.default_rng(0)
    chances: dict[tuple[str, str], float] = {}
    for task in plan.tasks:
        for tile in task.tiles:
            chances.setdefault((tile.image, task.class_id), float(rng.beta(*_CHANCES[tile.role])))
    people = crowd(_CROWD, {Care.CARELESS: 0.1, Care.RANDOM: 0.03})
    answers = simulate_answers(plan.tasks, chances, people, workers_per_task=workers, seed=1)
    AnswerCollection(root).add(AnswerBatch("b", tuple(answers), "simulated"), None)
    return root


def _test_set(name: str, space: ClassSpace, per_class: int) -> TestSet:
    size = len(space) * per_class
    ids = tuple(f"{name}-{number:07}" for number in range(size))
    return TestSet(name, space, ids, (np.arange(size) // per_class).astype(np.int32))


def _by_class(test_set: TestSet) -> dict[str, list[str]]:
    images = defaultdict(list)
    for image, label in zip(test_set.ids, test_set.labels.tolist(), strict=True):
        images[test_set.class_space.ids[label]].append(image)
    return images


def ours_frequencies(root: Path) -> SelectionFrequencies:
    """Frequencies as the commands compute them."""
    tasks = TaskCollection(root).read("b").tasks
    return selection_frequencies(collect_answers(tasks, AnswerCollection(root).iterate("b")))


def plain_frequencies(root: Path) -> dict[tuple[str, str], float]:
    """A list of answers per image and class, in dicts."""
    tiles = defaultdict(list)
    for row in _table(root, "tasks").to_dict("records"):
        tiles[row["task"]].append((row["image"], row["class"]))
    answers = defaultdict(list)
    for row in _table(root, "answers-*").to_dict("records"):
        selected = set(row["selected"])
        for entry in tiles[row["task"]]:
            answers[entry].append(entry[0] in selected)
    return {entry: sum(own) / len(own) for entry, own in answers.items()}


def pandas_frequencies(root: Path) -> dict[tuple[str, str], float]:
    """Answers joined with the tiles of their tasks, and the mean per image and class."""
    tasks, answers = _table(root, "tasks"), _table(root, "answers-*")
    selected = answers[["task", "worker", "selected"]].explode("selected").rename(columns={"selected": "image"})
    shown = answers[["task", "worker"]].merge(tasks[["task", "class", "image"]], on="task")
    joined = shown.merge(selected.assign(selected=1.0), on=["task", "worker", "image"], how="left")
    means: dict[tuple[str, str], float] = joined["selected"].fillna(0.0).groupby(
        [joined["image"], joined["class"]]
    ).mean().to_dict()  # fmt: skip
    return means


def _table(root: Path, pattern: str) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(path) for path in sorted((root / "builds" / "b").glob(f"{pattern}.parquet"))])


def sample_by_pandas(table: pd.DataFrame) -> pd.DataFrame:
    """Ten images per class, at random among those above the threshold."""
    eligible = table[(table["assignments"] >= 10) & (table["frequency"] >= _LOWEST)]
    return eligible.groupby("class_id").sample(_PER_CLASS, random_state=0)


def top_by_pandas(table: pd.DataFrame) -> pd.DataFrame:
    """The most selected images per class."""
    ordered = table[table["assignments"] >= 10].sort_values(["frequency", "assignments", "image"], ascending=False)
    return ordered.groupby("class_id").head(_PER_CLASS)


def matched_by_loop(candidates: list[Candidate], references: list[Candidate]) -> list[str]:
    """For each class, as many images of each bin as the references have, without borrowing or rules for ties."""
    bins: dict[tuple[str, int], list[str]] = defaultdict(list)
    for candidate in candidates:
        if candidate.assignments >= 10:
            bins[candidate.class_id, min(int(candidate.frequency * 5), 4)].append(candidate.image)
    wishes: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    for image in references:
        if image.assignments >= 10:
            wishes[image.class_id][min(int(image.frequency * 5), 4)] += 1
    drawn: list[str] = []
    for class_id, counts in wishes.items():
        for number, count in enumerate(counts):
            available = bins[class_id, number]
            drawn += random.sample(available, min(round(_PER_CLASS * count / sum(counts)), len(available)))
    return drawn
