"""Compare the JSON output of two checkouts of the project, command by command, on the same workspaces.

    python scripts/compare_json.py BEFORE AFTER [--data ../shared/data] [--rename OLD=NEW] [--kept FOLDER]

BEFORE writes the workspaces: the demo, and with ``--data`` the published predictions. Each command runs on a copy.
``--rename`` names a JSON key, a value or a word of a command that was renamed on purpose.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEMO = (
    "testsets list",
    "testsets show mnist",
    "testsets catalog",
    "models list",
    "labels list",
    "labels novel -t uci-digits -l own",
    "review list",
    "grade -t mnist",
    "grade -t uci-digits --slice ink",
    "grade -t uci-digits -l own",
    "compare -t mnist --all",
    "compare -t mnist --all --pairs --equivalence 0.5",
    "study generalization --original mnist --new uci-digits --bootstrap",
    "study geography -t mnist --by ink --original uci-digits",
    "study geography -t mnist --by ink --original uci-digits --show groups",
    "study geography -t mnist --by ink --original uci-digits --show progress",
    "study leakage -t mnist --against mnist-train --by exact,pixels --size 32",
    "study leakage -t mnist --against mnist-train --by exact,pixels --size 32 --show pairs",
    "study mistakes -t uci-digits -l own",
    "study mistakes -t uci-digits -l own --show triage",
    "study confusion -t mnist",
    "study confusion -t mnist --show bins",
    "study confusion -t mnist --show images",
    "study similarity -t mnist",
    "plan accuracy -t mnist --half-width 1",
    "verify",
)

PUBLISHED = (
    "testsets list",
    "models list",
    "grade -t imagenet-val",
    "grade -t imagenet-val -l real --slice dogs",
    "grade -t imagenet-val -l real --rule classes",
    "compare -t imagenetv2-matched-frequency --all",
    "study generalization --original imagenet-val --new imagenetv2-matched-frequency --new imagenetv2-top-images",
    "study mistakes -t imagenet-val -l real --show triage --model vgg19",
    "study similarity -t imagenetv2-matched-frequency",
    "labels novel -t imagenet-val -l real --model vgg19",
)

PAPERS = ("recht2019", "shankar2020", "vasudevan2022", "albiero2023", "richards2023")

_IMAGENET = ("imagenet-val", "imagenetv2-matched-frequency", "imagenetv2-top-images")


def main() -> int:
    options = _parse()
    renames = dict(pair.split("=", 1) for pair in options.rename)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.kept or Path(scratch)
        differing = 0
        for workspace, commands in _workspaces(options.before, options.data, folder):
            for command in commands:
                before = _run(options.before, command, workspace)
                after = _run(options.after, _renamed_command(command, renames), workspace)
                same = _renamed(before, renames) == after
                print("same     " if same else "DIFFERENT", workspace.name, command, flush=True)
                differing += not same
                if not same:
                    print(_first_difference(_renamed(before, renames), after))
    print(f"{differing} commands differ")
    return int(differing > 0)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("before", type=Path, help="checkout of the version before")
    parser.add_argument("after", type=Path, help="checkout of the version after")
    parser.add_argument("--data", type=Path, help="folder of the published data")
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW", help="renamed on purpose")
    parser.add_argument("--kept", type=Path, help="keep the workspaces here, and use those of an earlier run")
    return parser.parse_args()


def _workspaces(before: Path, data: Path | None, folder: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    demo = folder / "demo"
    if not demo.exists():
        _run(before, "demo", demo)
    yield demo, DEMO
    if data is not None:
        published = folder / "published"
        if not published.exists():
            _import_published(before, data, published)
        yield published, PUBLISHED
        yield folder, tuple(f"replicate {paper} --data {data.resolve()}" for paper in PAPERS)


def _import_published(before: Path, data: Path, workspace: Path) -> None:
    _regrade(before, "init", str(workspace))
    for test_set in _IMAGENET:
        predictions = str(data / "recht2019" / f"{test_set}.top5.parquet")
        arguments = ("-t", test_set, "--classes", "imagenet-1k", "-w", str(workspace))
        _regrade(before, "import", "predictions", predictions, *arguments)
    labels = str(data / "real" / "real.json")
    named = ("--format", "real", "-t", "imagenet-val", "--name", "real", "-w", str(workspace))
    _regrade(before, "import", "labels", labels, *named)


def _run(checkout: Path, command: str, workspace: Path) -> Any:
    """The JSON output of a command on a copy of the workspace, or its exit code and error."""
    if command == "demo":
        return _regrade(checkout, "demo", "-w", str(workspace))
    if command.startswith("replicate"):
        return _parsed(_regrade(checkout, *command.split(), "--json"))
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / workspace.name
        shutil.copytree(workspace, copy, symlinks=True)
        _regrade(checkout, "upgrade", "-w", str(copy))
        return _parsed(_regrade(checkout, *command.split(), "--json", "-w", str(copy)))


def _regrade(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
    command = [sys.executable, "-m", "regrade", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def _parsed(finished: subprocess.CompletedProcess[str]) -> Any:
    try:
        return json.loads(finished.stdout)
    except ValueError:
        return {"exit code": finished.returncode, "error": finished.stderr, "printed": finished.stdout}


def _renamed_command(command: str, renames: dict[str, str]) -> str:
    return " ".join(renames.get(word, word) for word in command.split())


def _renamed(value: Any, renames: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {renames.get(key, key): _renamed(item, renames) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, renames) for item in value]
    return renames.get(value, value) if isinstance(value, str) else value


def _first_difference(before: Any, after: Any, path: str = "") -> str:
    if isinstance(before, dict) and isinstance(after, dict) and list(before) == list(after):
        pairs = [(f"{path}.{key}", before[key], after[key]) for key in before]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = [(f"{path}[{place}]", *values) for place, values in enumerate(zip(before, after, strict=True))]
    else:
        return f"    {path}\n      before: {str(before)[:300]}\n      after:  {str(after)[:300]}"
    return next(_first_difference(old, new, where) for where, old, new in pairs if old != new)


if __name__ == "__main__":
    sys.exit(main())
