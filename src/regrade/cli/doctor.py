"""regrade doctor: what is installed, what it enables, which devices there are, and whether a workspace is sound."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import watching
from regrade.core.amounts import amount

EXTRAS: Mapping[str, str] = {
    "figures": "reports, and figures as .svg, .png, .pdf and .html",
    "serve": "the browser app: labels and judgments of people",
    "torch": "models of your own, training, and images on a GPU",
    "timm": "models of timm",
    "clip": "models of OpenCLIP",
    "transformers": "models of Hugging Face",
    "onnx": "models as ONNX files",
    "lite": "EfficientNet-Lite models",
    "ray": "prediction on a cluster",
    "cuda": "images decoded and resized on a GPU, and the search for neighbors there",
    "faiss": "a faster search for near duplicates",
    "postgres": "the ledger in PostgreSQL",
    "demo": "regrade demo",
}
"""What each optional part enables."""

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,-]+)\])?(?:>=([\d.]+))?")
_EXTRA = re.compile(r"""extra == ['"]([\w-]+)['"]""")


@dataclass(frozen=True)
class Diagnosis:
    """One line of the diagnosis; ``status`` is "ok", "not installed", "none" or "broken"."""

    part: str
    name: str
    status: str
    detail: str


@shown
def doctor(workspace: WorkspaceOption = Path()) -> CommandResult:
    """Show versions, optional parts, devices, and whether the workspace is sound.

    Exits with 1 if something is broken: a dependency is missing or too old, or files of the workspace are damaged. An
    optional part that is not installed is not broken.
    """
    from regrade.core import Column, Table

    findings = [*_versions(), *_extras(), *_devices(), *_workspace(workspace)]
    broken = [finding for finding in findings if finding.status == "broken"]
    columns = tuple(Column(key, key) for key in ("part", "name", "status", "detail"))
    rows = tuple((finding.part, finding.name, finding.status, finding.detail) for finding in findings)
    title = amount(len(broken), "problem") if broken else "no problems"
    errors = tuple(f"{finding.part} {finding.name}: {finding.detail}" for finding in broken)
    data = {"sound": not broken, "findings": [asdict(finding) for finding in findings]}
    return CommandResult(Table(title, columns, rows), data, exit_code=1 if broken else 0, errors=errors)


def _versions() -> Iterator[Diagnosis]:
    """Python, regrade and its dependencies."""
    yield Diagnosis("version", "python", "ok", f"{platform.python_version()} ({sys.executable})")
    yield Diagnosis("version", "regrade", "ok", metadata.version("regrade"))
    for requirement in _requirements()[""]:
        name, _, minimum = _parsed(requirement)
        trouble = _trouble(name, minimum)
        yield Diagnosis("version", name, "broken" if trouble else "ok", trouble or metadata.version(name))


def _extras() -> Iterator[Diagnosis]:
    """Every optional part: what it enables, and what is missing."""
    requirements = _requirements()
    for extra, purpose in EXTRAS.items():
        troubles = [trouble for name, least in _needed(extra, requirements) if (trouble := _trouble(name, least))]
        if not troubles:
            yield Diagnosis("optional part", extra, "ok", purpose)
            continue
        detail = f"{purpose}: pip install 'regrade[{extra}]' ({', '.join(troubles)})"
        yield Diagnosis("optional part", extra, "not installed", detail)


def _requirements() -> dict[str, list[str]]:
    """The requirements of regrade by extra; those without an extra are under the empty name."""
    by_extra: dict[str, list[str]] = {"": []}
    for line in metadata.requires("regrade") or []:
        requirement, _, marker = line.partition(";")
        extra = _EXTRA.search(marker)
        by_extra.setdefault(extra[1] if extra else "", []).append(requirement.strip())
    return by_extra


def _needed(extra: str, requirements: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """The distributions that an extra needs, each with its minimum version."""
    for requirement in requirements.get(extra, []):
        name, included, minimum = _parsed(requirement)
        if name == "regrade":
            for part in included.split(","):
                yield from _needed(part, requirements)
        else:
            yield name, minimum


def _parsed(requirement: str) -> tuple[str, str, str]:
    """The name, the extras and the minimum version of a requirement.

    >>> _parsed("regrade[torch]"), _parsed("numpy>=1.26")
    (('regrade', 'torch', ''), ('numpy', '', '1.26'))
    """
    name, extras, minimum = _REQUIREMENT.match(requirement).groups(default="")  # type: ignore[union-attr]
    return name, extras, minimum


def _trouble(name: str, minimum: str) -> str:
    """Why a distribution cannot be used; empty if it can."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is missing"
    return f"{name} {version} is older than {minimum}" if _release(version) < _release(minimum) else ""


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without trailing zeros.

    >>> _release("2.13.0+cpu"), _release("1.0") < _release("1.0.25"), _release("")
    ((2, 13), True, ())
    """
    numbers = [int(number) for number in re.match(r"[\d.]*", version)[0].split(".") if number]  # type: ignore[index]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _devices() -> Iterator[Diagnosis]:
    """CPU cores and GPUs, as the driver reports them."""
    from regrade.core.cores import usable_cores
    from regrade.models import gpu_names

    yield Diagnosis("device", "cpu", "ok", amount(usable_cores(), "core"))
    gpus = gpu_names()
    if not gpus:
        yield Diagnosis("device", "cuda", "none", "no NVIDIA GPU or driver")
    for number, gpu in enumerate(gpus):
        yield Diagnosis("device", f"cuda:{number}", "ok", gpu + _unused_gpu())


def _unused_gpu() -> str:
    """What keeps torch from using a GPU, by its version alone."""
    try:
        return ", not used: torch is a build for CPUs" if metadata.version("torch").endswith("+cpu") else ""
    except metadata.PackageNotFoundError:
        return ", not used: torch is not installed"


def _workspace(folder: Path) -> Iterator[Diagnosis]:
    """What `regrade verify` reports about the workspace; nothing is checked where there is none."""
    if not (folder / "regrade.toml").is_file():
        yield Diagnosis("workspace", str(folder), "none", "no regrade.toml: give a workspace with -w")
        return
    verification = opened(folder).verify(progress=watching)
    has_ledger = any(part.part == "ledger" for part in verification.checked)
    detail = f"{amount(verification.files, 'file')} checked, {'with a' if has_ledger else 'no'} ledger"
    yield Diagnosis("workspace", str(folder), "ok" if not verification.problems else "broken", detail)
    for problem in verification.problems:
        yield Diagnosis("workspace", problem.subject, "broken", problem.trouble)
