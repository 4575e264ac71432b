"""Compare the JSON output of two checkouts of the project, command by command, on the same workspaces.

    python scripts/compare_json.py BEFORE AFTER [--data ../shared/data] [--kept FOLDER] [--only TEXT]
        [--rename OLD=NEW] [--step OLD=NEW] [--added KEY] [--text KEY] [--ignored KEY] [--unordered KEY]

BEFORE creates the workspaces: the demo, and with ``--data`` one of published predictions. Each case is a list of steps
on a copy of a workspace; AFTER gets a copy that it has upgraded. Numbers, keys and their order must be the same.
Intended differences are named: renamed words, added keys, keys whose text was reworded (numbers in it must be the
same), keys that are not compared, lists in another order. Cases are written in the words of AFTER. The exit code is 1
if a case differs, or if a command with ``--json`` has no case.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet

# Steps of a case are joined by "&&". A step prints JSON, unless it starts with "!" or is one of `_FILE_STEPS`.
_JUDGE = "review queue -t uci-digits -l own --size 60 --name novel --overlap 2"
_VOTES = (
    "!review export {workspace}/votes.json && cast-votes {workspace}/votes.json && review import {workspace}/votes.json"
)
_PEOPLE = "import people {inputs}/people.csv -t uci-digits"
_LABELS = "import labels {inputs}/labels.csv -t uci-digits --name own --new-version"
_BUILD = (
    "build tasks new --pool mnist --reference uci-digits --confused-by 'naive Bayes' --workers 8"
    " && build export new {workspace}/crowd --size 32 && answer-tasks {workspace}/crowd"
    " && build answers new {workspace}/crowd/answers.csv"
)
_PLACES = (
    "testsets add places {inputs}/places.parquet --classes digits --group region --group household"
    " && import predictions {inputs}/places.csv -t places"
)
_CONFUSION = "study confusion -t mnist --ensemble 'small network'"
_PREDICT = "predict python:{inputs}/brightness.py:brightness --classes digits --size 8 --mean 0.5 --std 0.5"

DEMO = (
    "testsets list",
    "testsets show mnist",
    "!testsets training-set uci-half uci-digits && testsets show uci-half",
    "testsets catalog",
    "testsets catalog imagenetv2-matched-frequency",
    "testsets check uci-digits",
    "testsets add again {inputs}/places.parquet --classes digits --group region && testsets show again",
    "testsets add folder {inputs}/first --classes digits && testsets check folder",
    "build queries --classes imagenet-a --from 2012-07-11 --to 2013-07-11 --per-author 5",
    "build pool candidates {inputs}/first --classes digits --per-class 5 && testsets show candidates",
    "models list",
    "models check -t mnist --published {inputs}/published.csv --prefix ''",
    "models remove 'random forest' -y && models list && removed restore && removed list",
    "models rename 'naive Bayes' bayes && compare -t mnist && testsets rename uci-half half && grade -t half",
    "testsets remove uci-half -y && testsets list && removed purge -y",
    "!labels create -t mnist --name own && labels rename own mine -t mnist && labels remove mine -t mnist -y",
    "labels list",
    "labels novel -t uci-digits -l own",
    f"{_LABELS} && labels list && labels diff own@1 own@2 -t uci-digits",
    f"{_LABELS} && labels diff own@1 own@2 -t uci-digits --show pairs --rule classes",
    f"{_LABELS} && labels diff own@1 own@2 -t uci-digits --slice 8",
    f"{_LABELS} && study multilabel -t uci-digits -l own && study multilabel -t uci-digits -l own --rule classes",
    f"{_LABELS} && {_PEOPLE} && study multilabel -t uci-digits -l own --min-images 5",
    "!labels sample -t uci-digits -l own --out {workspace}/sample.csv --size 80 && answer-sample {workspace}/sample.csv"
    " && import verdicts {workspace}/sample.csv -t uci-digits -l own && grade -t uci-digits -l own"
    " && compare -t uci-digits -l own && plan review 'random forest' 'naive Bayes' -t uci-digits -l own",
    "review list",
    f"{_JUDGE} && {_VOTES} && review list && review agreement && review agreement novel --show reviewers"
    " && review agreement novel --reviewer-models"
    " && review publish novel --dry-run && review publish novel && team list && verify",
    f"review audit -t uci-digits -l own --size 50 --name audit --overlap 2 && {_VOTES} && review publish audit"
    " && labels audit -t uci-digits && team propose-links",
    f"{_PEOPLE} && review people -t uci-digits -l own --name blind --overlap 2 && {_VOTES} && review publish blind",
    "import labels {inputs}/labels.csv -t uci-digits --name all --complete && review mistakes -t uci-digits -l all"
    f" --model 'naive Bayes' --name errors --overlap 2 && {_VOTES} && review publish errors"
    " && study mistakes -t uci-digits -l all --show categories",
    f"review label -t uci-digits --size 40 --name quiz --overlap 2 && {_VOTES} && review agreement quiz"
    " && review publish quiz && study people -t uci-digits",
    f"review label -t mnist -t uci-digits --per-class 2 --name mixed --overlap 2 && {_VOTES} && review list"
    " && review publish mixed && study people -t mnist && study people -t uci-digits",
    "grade -t mnist",
    "grade -t mnist --slice 3",
    f"{_PLACES} && grade -t places --slice region && compare -t places && grade -t places --clusters household",
    "grade -t uci-digits -l own --half-width 1",
    "grade -t uci-digits -l own --rule classes --model 'naive Bayes'",
    "!testsets corrupt mnist --name mnist-c --images 20 --corruption fog --corruption contrast"
    f" && {_PREDICT} -t mnist-c -t mnist && study corruptions -t mnist-c",
    f"{_PREDICT} -t uci-digits --keep scores,features && models list && grade -t uci-digits",
    "models describe {inputs}/models.csv && models list && study remedies -t mnist -t uci-digits --slice 8",
    f"{_PLACES} && models describe {{inputs}}/attributes.csv && study models -t places --original mnist"
    " --disparity-by region",
    "models describe {inputs}/attributes.csv && study models -t mnist --by family --show families",
    "compare -t mnist",
    "compare -t mnist --show pairs --equivalence 0.5",
    "compare -t uci-digits 'random forest' 'naive Bayes' --slice 8",
    "gate 'neural network' -t mnist -t uci-digits --baseline 'random forest' --margin 1 --slice-margin 8=3 --floor 70"
    " --max-negative-flips 5 --at-least top-5=90 --at-most ece=10",
    "gate 'nearest neighbors' -t uci-digits --ladder --baseline 'random forest' && testsets ladder uci-digits",
    "study generalization --original mnist --new uci-digits --bootstrap",
    "!labels create -t mnist --name own && study generalization --original mnist --new uci-digits --labels own@1",
    "study generalization --original mnist --new uci-digits --top 2 --without 'naive*' --slice 'not 3'",
    "compare -t uci-digits --slice 'not 3'",
    "study generalization --original mnist --new uci-digits --scale logit"
    " --standard 'naive Bayes' --standard 'random forest' --standard 'decision tree'",
    f"{_PLACES} && study geography -t places --by region --original mnist",
    f"{_PLACES} && study geography -t places --by region --original mnist --show groups",
    f"{_PLACES} && study geography -t places --by region --original mnist --show progress",
    "import slices {inputs}/frequencies.csv -t mnist --name asked && study frequency -t mnist --edge 50",
    "import slices {inputs}/frequencies.csv -t mnist --name asked && study frequency -t mnist --show models",
    "!testsets add objects {inputs}/places.parquet --classes {inputs}/objects.csv --map {inputs}/object-map.csv"
    " --map-source digits --group region --group household"
    " && import predictions {inputs}/places.csv -t objects --classes digits && study class-map -t objects"
    " && study class-map -t objects --alternative {inputs}/other-map.csv --show classes"
    " && study class-map -t objects --show omissions",
    "study leakage -t mnist --against mnist-train --by exact,pixels --size 32",
    f"review pairs -t mnist --by pixels --near pixels=200000 --size 32 --name twice --overlap 2 && {_VOTES}"
    " && review publish twice && study leakage -t mnist --by pixels --near pixels=200000 --size 32",
    "study leakage -t mnist --against mnist-train --by exact,pixels --size 32 --show pairs",
    "study leakage -t mnist --by exact,phash --size 32 --show groups",
    "neighbors {inputs}/first {inputs}/second --size 32",
    "neighbors {inputs}/first --size 32 --show groups",
    f"!{_PREDICT} -t uci-digits -t mnist-train --keep features && neighbors -t uci-digits --against mnist-train"
    " && import mistakes {inputs}/mistakes.csv -t uci-digits --model 'naive Bayes'"
    " && study mistakes -t uci-digits -l own --training-set mnist-train",
    "study mistakes -t uci-digits -l own",
    "study mistakes -t uci-digits -l own --show triage",
    "import mistakes {inputs}/mistakes.csv -t uci-digits --model 'naive Bayes'"
    " && import labels {inputs}/labels.csv -t uci-digits --name all --complete"
    " && study mistakes -t uci-digits -l all --slice 8 --show severity"
    " && review mistakes -t uci-digits -l all --model 'decision tree' --slice 8 --overlap 2"
    " && review publish 'mistakes uci-digits decision tree'",
    "import mistakes {inputs}/mistakes.csv -t uci-digits --model 'naive Bayes' && study mistakes -t uci-digits -l own",
    f"{_PEOPLE} && study people -t uci-digits",
    f"{_PEOPLE} && study people -t uci-digits --show agreement && study people -t uci-digits --show tests",
    f"{_PEOPLE} && study people -t uci-digits -l own --show times",
    f"{_PEOPLE} && study people -t uci-digits --reviewer-models",
    f"{_PEOPLE} && import people {{inputs}}/people-mnist.csv -t mnist && study people -t uci-digits -t mnist",
    "import predictions {inputs}/predictions.csv -t mnist && grade -t mnist --model copied",
    "import slices {inputs}/slices.csv -t mnist --name thirds && grade -t mnist --slice thirds:third",
    "import checkpoints '{workspace}/checkpoints/mnist/small network' -t mnist --ensemble again --kind probabilities"
    " && study confusion -t mnist --ensemble again",
    _CONFUSION,
    f"{_CONFUSION} --show bins",
    f"{_CONFUSION} --show images",
    f"{_CONFUSION} --unlabeled uci-digits --show expected",
    f"!{_PREDICT} -t mnist -t mnist-train -t uci-digits --keep features"
    " && study shift --original mnist --new mnist-train && study shift --original mnist --new uci-digits --show images",
    "study similarity -t mnist",
    "study classes -t mnist",
    "study classes -t mnist --model 'naive Bayes' --order clusters --most 3",
    "study checks",
    "study checks -t mnist -t uci-digits --original mnist",
    "study confidence -t mnist --new uci-digits",
    "study confidence -t uci-digits --model 'neural network' --miss 5 --target 90 --seed 1",
    "study similarity -t uci-digits -l own --slice 8",
    "plan accuracy -t mnist --half-width 1",
    "plan accuracy --half-width 1 --accuracy 80",
    "plan difference 'random forest' 'naive Bayes' -t mnist",
    "plan difference --difference 1 --disagreement 10",
    "plan rank -t mnist",
    f"{_PLACES} && plan disparity -t places --by region",
    "plan review --difference 1 --differing 10",
    f"{_BUILD} && build frequencies new --min-answers 5 --columns-of uci-digits && study frequency -t uci-digits",
    f"{_BUILD} && build frequencies new --min-answers 5"
    " && build forecast new --min-answers 5 && build sample new --strategy top --min-answers 5 --per-class 4"
    " && build revisions new && build check new --by exact && build clean new"
    " && build freeze new --as frozen && build verify {workspace}/releases/frozen"
    " && build review new && build open new --qualification 0 && build workers new",
    "train ensemble tiny --on mnist-train -t mnist --network mlp --epochs 2 --seed 0 --no-finish && train finish tiny",
    "train ensemble base --on mnist-train -t mnist-train --network mlp --epochs 2 --seed 0 && "
    "train groupdro dro --on mnist-train -t mnist --confused-by base --network mlp --epochs 2 --seed 0 && "
    "train upsample up --on mnist-train -t mnist --confused-by base --network mlp --epochs 2 --seed 0",
    "train ensemble plus --on mnist-train -t mnist -t uci-digits --add uci-digits --folds 2 --network mlp --size 8"
    " --epochs 2 --seed 0 --jobs 1",
    "train tune best --on mnist-train -t uci-digits --new uci-digits --grid learning-rate=0.01,0.1 --network mlp"
    " --size 8 --epochs 2 --seed 0 --jobs 1",
    f"{_PREDICT} -t mnist -t mnist-train --keep scores,features && train head new --on mnist-train -t mnist "
    "--model python:{inputs}/brightness.py:brightness --l2 1",
    f"{_PLACES} && study remedies -t places --baseline 'naive Bayes' --remedy 'random forest' --by region",
    "study remedies -t mnist -t uci-digits --original mnist --baseline 'naive Bayes' --remedy 'random forest'",
    "build compare mnist --reference uci-digits",
    "build simulate --workers 3 --workers 6 --classes 4",
    "replicate shankar2020",
    "replicate albiero2023",
    "replicate richards2023",
    "verify",
    "doctor",
)

PUBLISHED = (
    "testsets list",
    "testsets show imagenet-val",
    "models list",
    "models check -t imagenet-val --published {inputs}/published.csv --prefix ''",
    "labels list",
    "labels novel -t imagenet-val -l real --model vgg19",
    "grade -t imagenet-val",
    "grade -t imagenetv2-matched-frequency --slice dogs",
    "grade -t imagenet-val -l real --slice dogs",
    "grade -t imagenet-val -l real --rule classes",
    "grade -t imagenet-val -l real --collapsed --model vgg19",
    "compare -t imagenetv2-matched-frequency",
    "compare -t imagenet-val vgg19 resnet50 -l real",
    "study generalization --original imagenet-val --new imagenetv2-matched-frequency --new imagenetv2-top-images",
    "study generalization --original cifar10 --new cifar10.1-v6 --bootstrap",
    "study generalization --original imagenet-val --new imagenetv2-matched-frequency --without 'fv_*'"
    " --slice 'not dogs'",
    "study mistakes -t imagenet-val -l real --show triage --model vgg19",
    "import mistakes {data}/vasudevan2022/vit3b_mistakes.json -t imagenet-val --model vit3b --format vasudevan2022"
    " && study mistakes -t imagenet-val -l real --model vgg19",
    "study similarity -t imagenetv2-matched-frequency",
    "study similarity -t cifar10",
    "study classes -t imagenet-val --model vgg19",
    "plan rank -t cifar10",
    "plan difference vgg19 resnet50 -t imagenet-val",
    "plan accuracy -t imagenet-val -l real --half-width 0.5",
    "!labels create -t imagenetv2-top-images --name own && labels novel -t imagenetv2-top-images -l own"
    " && review queue -t imagenetv2-top-images -l own --size 50 --overlap 2",
    "review label -t imagenetv2-top-images --family dogs --size 20 --overlap 2",
    "build history {data}/imagenetv2_build",
    "replicate recht2019 --data {data}/recht2019",
    "replicate vasudevan2022 --data {data}/vasudevan2022",
    "verify",
)

CASES = {"demo": DEMO, "published": PUBLISHED}

_IMAGENET = ("imagenet-val", "imagenetv2-matched-frequency", "imagenetv2-top-images")
_CIFAR = {"cifar10": "cifar10.test", "cifar10.1-v6": "cifar10.1-v6"}
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Intended:
    """Differences that are no finding."""

    renames: dict[str, str]
    added: frozenset[str]
    text: frozenset[str]
    ignored: frozenset[str]
    unordered: frozenset[str]

    def renamed(self, text: str) -> str:
        for old, new in self.renames.items():
            text = re.sub(rf"(?<![^\W_]){re.escape(old)}(?![^\W_])", new, text)
        return text


@dataclass(frozen=True)
class Version:
    """A checkout, and where its copies of the workspaces and its outputs are."""

    checkout: Path
    workspaces: Path
    outputs: Path
    places: dict[str, Path]  # of input files and published data
    words: dict[str, str]  # names of commands that are others in this version
    steps: dict[str, str]  # steps that are written differently in this version

    def regrade(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(self.checkout.resolve() / "src")}
        command = [sys.executable, "-m", "regrade", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def results(self, workspace: str, case: str) -> list[Any]:
        """The JSON output of each step, from an earlier run if there is one."""
        slug = re.sub(r"[^a-z0-9.]+", "-", case.lower())[:80]
        kept = self.outputs / workspace / f"{slug}-{zlib.crc32(case.encode()):08x}.json"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(self._run(workspace, case), indent=1))
        return list(json.loads(kept.read_text()))

    def _run(self, workspace: str, case: str) -> list[Any]:
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch) / workspace
            shutil.copytree(self.workspaces / workspace, copy, symlinks=True)
            places = {**self.places, "workspace": copy}
            return [result for step in case.split(" && ") for result in self._step(step, places)]

    def _step(self, step: str, places: dict[str, Path]) -> list[Any]:
        step = self.steps.get(step, step)
        prints_json, words = not step.startswith("!"), shlex.split(step.removeprefix("!"))
        names = [self.words.get(word, word) for word in words[:2]]
        arguments = [word.format_map(places) for word in (*names, *words[2:])]
        if words[0] in _FILE_STEPS:
            _FILE_STEPS[words[0]](Path(arguments[1]))
            return []
        if prints_json:
            arguments.append("--json")
        if _uses_workspace(words):
            arguments += ["-w", str(places["workspace"])]
        finished = self.regrade(*arguments)
        if not prints_json and finished.returncode == 0:
            return []
        shown = finished.stdout
        for name, place in places.items():
            shown = shown.replace(str(place), f"<{name}>")
        try:
            return [{"exit code": finished.returncode, "json": json.loads(shown)}]
        except ValueError:
            return [{"exit code": finished.returncode, "failed": f"{finished.stderr}{shown}"}]


def main() -> int:
    options = _parse()
    intended = Intended(
        dict(pair.split("=", 1) for pair in options.rename),
        frozenset(options.added),
        frozenset(options.text),
        frozenset(options.ignored),
        frozenset(options.unordered),
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.kept or Path(scratch) / "before").resolve()
        places = {"inputs": folder / "inputs"} | ({"data": options.data.resolve()} if options.data else {})
        words = {new: old for old, new in intended.renames.items()}
        steps = {new: old for old, new in (pair.split("=", 1) for pair in options.step)}
        before = Version(options.before, folder, folder / "outputs", places, words, steps)
        after = Version(options.after, Path(scratch), Path(scratch) / "outputs", places, {}, {})
        workspaces = _create_workspaces(before, options.data)
        for name in workspaces:
            shutil.copytree(folder / name, after.workspaces / name, symlinks=True)
            after.regrade("upgrade", "-w", str(after.workspaces / name))
        cases = [(name, case) for name in workspaces for case in CASES[name] if options.only in case]
        differing = _compare_all(before, after, cases, intended)
        missing = [] if options.only else commands_without_case(after, cases)
    print(f"{len(cases)} cases, {differing} differ")
    if missing:
        print("commands with --json and without a case:", ", ".join(missing))
    return int(differing > 0 or bool(missing))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("before", type=Path, help="checkout of the version before")
    parser.add_argument("after", type=Path, help="checkout of the version after")
    parser.add_argument("--data", type=Path, help="folder of the published data")
    parser.add_argument(
        "--kept", type=Path, help="keep BEFORE's workspaces and outputs here; reuse those of an earlier run"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases that contain this text")
    repeated: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--rename", metavar="OLD=NEW", help="renamed word of a command, key or text", **repeated)
    parser.add_argument("--step", metavar="OLD=NEW", help="step that BEFORE writes differently", **repeated)
    parser.add_argument("--added", metavar="KEY", help="key that only AFTER has", **repeated)
    parser.add_argument("--text", metavar="KEY", help="key whose text was reworded, with the same numbers", **repeated)
    parser.add_argument("--ignored", metavar="KEY", help="key whose value is not compared", **repeated)
    parser.add_argument("--unordered", metavar="KEY", help="list whose order follows a renamed word", **repeated)
    return parser.parse_args()


def _uses_workspace(words: Sequence[str]) -> bool:
    alone = (["replicate"], ["testsets", "catalog"], ["build", "simulate"], *([] if "-t" in words else [["neighbors"]]))
    return not any(list(words[: len(start)]) == start for start in alone) and (words[0] != "plan" or "-t" in words)


def _compare_all(before: Version, after: Version, cases: Sequence[tuple[str, str]], intended: Intended) -> int:
    differing = 0

    def both(case: tuple[str, str]) -> list[str]:
        pairs = zip(before.results(*case), after.results(*case), strict=True)
        return [line for old, new in pairs for line in differences(old, new, intended)]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (workspace, case), lines in zip(cases, pool.map(both, cases), strict=True):
            print("DIFFERENT" if lines else "same     ", f"{workspace}: {case}", flush=True)
            differing += bool(lines)
            for line, count in list(Counter(lines).items())[:20]:
                print(f"    {line}" + (f"  ({count} times)" if count > 1 else ""), flush=True)
    return differing


def differences(before: Any, after: Any, intended: Intended, path: str = "", key: str = "") -> Iterator[str]:
    """One line per difference; places in lists are left out of paths, so that equal lines can be counted."""
    if key == "failed":
        yield f"fails: {str(after)[-300:]}"
    elif key in intended.ignored:
        return
    elif isinstance(before, dict) and isinstance(after, dict):
        yield from _object_differences(before, after, intended, path)
    elif key in intended.text and _is_text(before) and _is_text(after):
        if _numbers(before) != _numbers(after):
            yield f"{path}: numbers in text\n      before: {before}\n      after:  {after}"
    elif isinstance(before, list) and isinstance(after, list):
        if key in intended.unordered:
            before, after = (
                sorted(values, key=lambda value: intended.renamed(json.dumps(value))) for values in (before, after)
            )
        if len(before) != len(after):
            yield f"{path}: {len(before)} values before, {len(after)} after"
        for old, new in zip(before, after, strict=False):
            yield from differences(old, new, intended, f"{path}[]", key)
    elif isinstance(before, str) and isinstance(after, str):
        if after not in (before, intended.renamed(before)):
            yield f"{path}\n      before: {before[:400]}\n      after:  {after[:400]}"
    elif repr(before) != repr(after):
        yield f"{path}: {str(before)[:200]} before, {str(after)[:200]} after"


def _object_differences(before: dict[str, Any], after: dict[str, Any], intended: Intended, path: str) -> Iterator[str]:
    old_keys = {key if key in after else intended.renamed(key): key for key in before}
    new_keys = [key for key in after if key in old_keys or key not in intended.added]
    if list(old_keys) != new_keys:
        yield f"{path}: keys {list(old_keys)} before, {new_keys} after"
    for key in new_keys:
        if key in old_keys:
            yield from differences(before[old_keys[key]], after[key], intended, f"{path}.{key}", key)


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str) or (isinstance(value, list) and all(map(_is_text, value)))


def _numbers(value: Any) -> list[str]:
    return sorted(_NUMBER.findall(json.dumps(value, ensure_ascii=False)))


def commands_without_case(version: Version, cases: Sequence[tuple[str, str]]) -> list[str]:
    """The commands with ``--json`` that no case runs, from the command line of the version itself."""
    code = (
        "import typer.main, regrade.cli.app as module\n"
        "def walk(command, path):\n"
        "    names = command.list_commands(None) if hasattr(command, 'list_commands') else ()\n"
        "    for name in names: walk(command.get_command(None, name), (*path, name))\n"
        "    if any('--json' in option.opts for option in command.params): print(*path)\n"
        "walk(typer.main.get_command(module.app), ())"
    )
    environment = os.environ | {"PYTHONPATH": str(version.checkout.resolve() / "src")}
    listed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    steps = [f"{step} " for _, case in cases for step in case.split(" && ")]
    return [name for name in listed.stdout.splitlines() if not any(step.startswith(f"{name} ") for step in steps)]


# Workspaces and input files


def _create_workspaces(before: Version, data: Path | None) -> list[str]:
    demo, published = before.workspaces / "demo", before.workspaces / "published"
    if not demo.exists():
        before.regrade("demo", "-w", str(demo)).check_returncode()
    if not before.places["inputs"].exists():
        _write_inputs(demo, before.places["inputs"])
    if data is not None and not published.exists():
        _import_published(before, data, published)
    return ["demo", "published"] if data is not None else ["demo"]


def _import_published(before: Version, data: Path, workspace: Path) -> None:
    before.regrade("init", str(workspace)).check_returncode()
    files = {name: (f"{name}.top5.parquet", "imagenet-1k") for name in _IMAGENET}
    files |= {name: (f"{file}.top1.parquet", "cifar-10") for name, file in _CIFAR.items()}
    for test_set, (file, classes) in files.items():
        arguments = ("-t", test_set, "--classes", classes, "-w", str(workspace))
        before.regrade("import", "predictions", str(data / "recht2019" / file), *arguments).check_returncode()
    labels = str(data / "real" / "real.json")
    named = ("--format", "real", "-t", "imagenet-val", "--name", "real", "-w", str(workspace))
    before.regrade("import", "labels", labels, *named).check_returncode()


def _write_inputs(demo: Path, folder: Path) -> None:
    """Files of people's answers, labels, mistakes, predictions and images; no number in them is random."""
    folder.mkdir(parents=True)
    digits = {name: _examples(demo, name) for name in ("uci-digits", "mnist")}
    uci, mnist = digits["uci-digits"], digits["mnist"]
    for name, examples in (("people", uci), ("people-mnist", mnist)):
        answers = [
            (image, who, (label + (place % (7 + 4 * step) == 0)) % 10, place * 10, place * 10 + 3 + place % (5 + step))
            for step, who in enumerate(("Ada", "Bob", "Cleo"))
            for place, (image, label) in enumerate(examples[:300])
        ]
        _write_csv(folder / f"{name}.csv", ("image", "person", "class", "start", "end"), answers)
    states = ("correct", "correct", "correct", "wrong", "unclear")
    labels = [
        (image, (label + second) % 10, states[(place + second) % 5] if second else "correct")
        for place, (image, label) in enumerate(uci)
        for second in range(1 + (place % 3 == 0))
    ]
    _write_csv(folder / "labels.csv", ("image", "class", "state"), labels)
    copied = [(image, label, (label + (place % 5 == 0)) % 10) for place, (image, label) in enumerate(mnist)]
    _write_csv(folder / "predictions.csv", ("image", "label", "copied"), copied)
    thirds = [(image, ("first", "second", "third")[place % 3]) for place, (image, _) in enumerate(mnist)]
    _write_csv(folder / "slices.csv", ("image", "third"), thirds)
    frequencies = [(image, (place % 6) / 5, 5) for place, (image, _) in enumerate(mnist)]
    _write_csv(folder / "frequencies.csv", ("image", "selection_frequency", "answers"), frequencies)
    accuracies = [("naive Bayes", 80.0), ("random forest", 93.1), ("resnet50", 76.1), ("vgg19", 72.4)]
    _write_csv(folder / "published.csv", ("model", "top1"), accuracies)
    described = [("random forest", 2001, "decision tree"), ("naive Bayes", 1960, ""), ("resnet50", 2015, "")]
    _write_csv(folder / "models.csv", ("model", "year", "base_model"), described)
    families = ("neural", "tree", "other")
    attributes = [(name, families[n % 3], 1990 + 3 * n, 10 ** (n % 5 + 2)) for n, name in enumerate(_models(demo))]
    _write_csv(folder / "attributes.csv", ("model", "family", "year", "parameters"), attributes)
    _write_csv(folder / "mistakes.csv", ("image", "prediction", "category", "severity"), _mistakes(demo))
    (folder / "brightness.py").write_text(_BRIGHTNESS_MODEL)
    _write_places(demo, folder)
    images = pyarrow.parquet.read_table(demo / "digits" / "uci-digits.parquet").to_pylist()
    for name, rows in (("first", images[:60]), ("second", images[40:90])):
        for row in rows:
            path = folder / name / str(row["label"]) / f"{name}-{row['id']}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(row["image"])


def _write_places(demo: Path, folder: Path) -> None:
    """A test set with regions and households, none of them real, and predictions that are worse in some regions."""
    table = pyarrow.parquet.read_table(demo / "digits" / "mnist.parquet").select(["id", "image", "label"]).slice(0, 600)
    regions = [("North", "South", "West")[place // 4 % 3] for place in range(len(table))]
    households = [f"household {place // 4}" for place in range(len(table))]
    table = table.append_column("region", [regions]).append_column("household", [households])
    pyarrow.parquet.write_table(table, folder / "places.parquet")
    shapes = [f"shape {digit}" for digit in range(10)]
    _write_csv(folder / "objects.csv", ("id",), [(shape,) for shape in shapes])
    mapped = [(shapes[digit], source % 10) for digit in range(10) for source in range(digit, digit + 1 + digit % 2)]
    _write_csv(folder / "object-map.csv", ("target", "source"), mapped)
    fewer = [(shapes[0], ""), *((shapes[digit], digit) for digit in range(1, 10))]
    _write_csv(folder / "other-map.csv", ("target", "source"), fewer)
    models = ("naive Bayes", "decision tree", "random forest", "neural network")
    rows = [
        (row["id"], *((row["label"] + _is_wrong(place, row["region"], step)) % 10 for step in range(len(models))))
        for place, row in enumerate(table.to_pylist())
    ]
    _write_csv(folder / "places.csv", ("image", *models), rows)


def _is_wrong(place: int, region: str, step: int) -> bool:
    """Whether a model, the better the higher its ``step``, errs on an image; whole households are harder."""
    difficulty = zlib.crc32(f"household {place // 4}".encode()) % 40 + zlib.crc32(f"{place} {step}".encode()) % 60
    return difficulty > 60 + 8 * step - 10 * (region == "South")


def _examples(workspace: Path, test_set: str) -> list[tuple[str, int]]:
    table = pyarrow.parquet.read_table(workspace / "testsets" / f"{test_set}.parquet")
    return [(row["example"], int(row["label"])) for row in table.to_pylist()]


def _models(demo: Path) -> list[str]:
    return sorted(path.name for path in (demo / "predictions" / "uci-digits").iterdir())


def _mistakes(demo: Path) -> list[tuple[str, int, str, str]]:
    predictions = pyarrow.parquet.read_table(demo / "predictions" / "uci-digits" / "naive Bayes" / "topk.parquet")
    labels = dict(_examples(demo, "uci-digits"))
    categories = ("fine-grained", "fine-grained, out of vocabulary", "spurious correlation", "non-prototypical")
    severities = ("major", "minor", "borderline")
    top1 = [(row["example"], row["classes"][0]) for row in predictions.to_pylist()]
    mistakes = [(image, predicted) for image, predicted in top1 if predicted != labels[image]]
    return [(image, predicted, categories[n % 4], severities[n % 3]) for n, (image, predicted) in enumerate(mistakes)]


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


_BRIGHTNESS_MODEL = """\
import numpy as np

def _features(batch):
    return batch.reshape(len(batch), -1)[:, ::4].astype(np.float64)

def _scores(features):
    weights = np.sin(np.arange(features.shape[1] * 10, dtype=np.float64)).reshape(-1, 10)
    return (features @ weights).astype(np.float32)

def brightness(batch):
    return _scores(_features(np.asarray(batch)))

def scores_and_features(batch):
    features = _features(np.asarray(batch))
    return _scores(features), features.astype(np.float32)

brightness.scores_and_features = scores_and_features
"""


# Steps that change a file as people would


def _answer_sample(path: Path) -> None:
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    verdicts = ("wrong", "correct", "wrong", "unclear")
    for place, row in enumerate(rows):
        row[header.index("verdict")] = verdicts[place % len(verdicts)]
    _write_csv(path, header, rows)


def _answer_tasks(folder: Path) -> None:
    """Eight workers answer every task of an exported build."""
    rows = []
    for task in json.loads((folder / "tasks.json").read_text()):
        for worker in map(str, range(8)):
            chosen = [tile for tile in task["tiles"] if zlib.crc32(f"{tile} {worker}".encode()) % 10 < 7]
            rows.append([task["task"], f"worker {worker}", " ".join(chosen)])
    _write_csv(folder / "answers.csv", ["task", "worker", "selected"], rows)


def _cast_votes(path: Path) -> None:
    """Two reviewers vote on every item, and agree on most; agreement decides the item."""
    rows = json.loads(path.read_text())
    questions = {row["queue"]: row["question"] for row in rows if row["kind"] == "queue"}
    at = "2026-01-01T12:00:00.000000Z"
    rows += [{"kind": "person", "person": person, "role": "reviewer", "at": at} for person in ("Dan", "Eve")]
    for place, row in enumerate([row for row in rows if row["kind"] == "item"]):
        item = {name: row[name] for name in ("queue", "example", "class")}
        answers = _ANSWERS[questions[row["queue"]]]
        chosen = [answers[(place + (step and place % 5 == 0)) % len(answers)] for step in range(2)]
        votes = [
            {"kind": "vote", **item, "person": person, "key": f"{person} {place}", "answer": answer, "at": at}
            | {"severity": _severity(answer), "reason": None, "why": None, "seconds": 2.0 + place % 7}
            for person, answer in zip(("Dan", "Eve"), chosen, strict=True)
        ]
        rows += votes
        if chosen[0] == chosen[1]:
            decided = {"answer": chosen[0], "severity": _severity(chosen[0]), "reached": "unanimously", "at": at}
            rows.append(
                {"kind": "decision", **item, "person": None, "why": None, **decided, "last_vote": votes[1]["key"]}
            )
    path.write_text(json.dumps(rows))


def _severity(answer: str) -> str | None:
    return "minor" if answer in _ANSWERS["mistake"] else None


_ANSWERS = {
    "judge": ("correct", "wrong", "unclear"),
    "mistake": ("fine-grained", "fine-grained, out of vocabulary", "spurious correlation", "non-prototypical"),
    "label": ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
    "pair": ("duplicate", "different"),
}
_FILE_STEPS: dict[str, Callable[[Path], None]] = {
    "answer-sample": _answer_sample,
    "answer-tasks": _answer_tasks,
    "cast-votes": _cast_votes,
}


if __name__ == "__main__":
    sys.exit(main())
