"""regrade predict: images through models into the workspace."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.model_output import models_print_to_stderr
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import prediction_bars, say

if TYPE_CHECKING:
    from regrade.core import Preprocessing


class DeviceName(StrEnum):
    """Where a model runs."""

    cpu = "cpu"
    cuda = "cuda"
    mps = "mps"


class PrecisionName(StrEnum):
    """In which precision a model computes."""

    fp32 = "fp32"
    bf16 = "bf16"
    fp16 = "fp16"


class InterpolationName(StrEnum):
    """How pixels in between are found."""

    nearest = "nearest"
    bilinear = "bilinear"
    bicubic = "bicubic"


class ResizerName(StrEnum):
    """What resizes images."""

    pillow = "pillow"
    torch = "torch"
    gpu = "gpu"


class Where(StrEnum):
    """Where models run."""

    here = "here"
    ray = "ray"


@shown
def predict(
    model: Annotated[
        list[str], typer.Argument(help="Models by prefix and name: onnx:FILE, torch:module:function, lite:NAME, ...")
    ],
    test_set: Annotated[
        list[str], typer.Option("--test-set", "-t", help="A test set that has images. May be repeated.")
    ],
    classes: Annotated[
        str | None, typer.Option(help="The class space of models that do not say: a name, CSV, JSON or folder.")
    ] = None,
    size: Annotated[int | None, typer.Option(min=1, help="The recipe's crop, for models that bring none.")] = None,
    short_side: Annotated[
        int | None, typer.Option(min=1, help="To what the shorter side is resized before the crop; as --size if left.")
    ] = None,
    interpolation: Annotated[
        InterpolationName | None, typer.Option(help="How pixels in between are found; bilinear if left.")
    ] = None,
    mean: Annotated[
        str | None, typer.Option(help="Mean of each channel on the scale of 0 to 1; ImageNet's if left. One: gray.")
    ] = None,
    std: Annotated[str | None, typer.Option(help="Standard deviation of each channel, e.g. 0.229,0.224,0.225.")] = None,
    device: Annotated[DeviceName, typer.Option(help="Where the models run.")] = DeviceName.cpu,
    precision: Annotated[PrecisionName, typer.Option(help="In which precision they compute.")] = PrecisionName.fp32,
    compile_: Annotated[
        bool, typer.Option("--compile", help="Have torch compile the models first: pays on long runs.")
    ] = False,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Images a batch; found by the memory it may take if left.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option(min=0.001, help="Gigabytes a batch may take; half of what is free if left.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads that read and decode images; one a core if left.")
    ] = None,
    resizer: Annotated[
        ResizerName | None,
        typer.Option(help="What resizes images: pillow, torch (faster, about a gray level off; if left), gpu."),
    ] = None,
    keep: Annotated[
        str, typer.Option(help="What else to keep, in half precision: scores, features or scores,features.")
    ] = "",
    allow_unreadable: Annotated[
        str | None,
        typer.Option(
            metavar="N%", help="Share of images that may be unreadable (default: 5%, or 10 images where that is more)."
        ),
    ] = None,
    retry_unreadable: Annotated[
        bool, typer.Option("--retry-unreadable", help="Compute images again that are stored as unreadable.")
    ] = False,
    on: Annotated[
        Where, typer.Option(help="Where to compute: here, or on the machines of a Ray cluster.")
    ] = Where.here,
    address: Annotated[str | None, typer.Option(help="The cluster's address; the one that runs here if left.")] = None,
    per_machine: Annotated[
        int | None, typer.Option(min=1, help="Workers a machine of the cluster takes at most.")
    ] = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Predict every image of the test sets by every model, once; a run that was stopped goes on where it was.

    Exits with 3 if an image is unreadable: it has no prediction then, and counts as wrong. Too many of them stop the
    run with an error before anything is stored. Of several models one that fails does not stop the others; the command
    then exits with 1.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # its own keeps much of what it has freed
    from regrade.executors import RayCluster

    if on is Where.here and (address or per_machine):
        raise typer.BadParameter("--address and --per-machine speak of a cluster: give --on ray")
    recipe = _recipe(size, short_side, interpolation, mean, std)
    here = opened(workspace)
    try:
        with models_print_to_stderr(), prediction_bars() as watch:
            run = here.predict(
                model,
                test_sets=test_set,
                classes=classes,
                preprocessing=recipe,
                device=device.value,
                precision=precision.value,
                compile=compile_,
                batch=batch,
                memory=None if memory is None else int(memory * 1e9),
                workers=workers,
                resizer=resizer.value if resizer else None,
                keep=[what.strip() for what in keep.split(",") if what.strip()],
                allow_unreadable=None if allow_unreadable is None else _share(allow_unreadable),
                retry_unreadable=retry_unreadable,
                cluster=RayCluster(address, per_machine=per_machine) if on is Where.ray else None,
                progress=watch,
            )
    except KeyboardInterrupt:
        say("stopped: what is done is kept, and the same command goes on from there")
        raise typer.Exit(130) from None
    if run.unreadable:
        count = f"unreadable images: {run.unreadable:,}"
        say(f"{count}; they have no prediction and count as wrong; when they can be read, add --retry-unreadable")
    for failure in run.failures:
        say(f"error: {failure.reason}")
    return CommandResult(run.table(), run.as_dict(), exit_code=1 if run.failures else 3 if run.unreadable else 0)


def _recipe(
    size: int | None, short_side: int | None, interpolation: InterpolationName | None, mean: str | None, std: str | None
) -> Preprocessing | None:
    """The recipe that the options spell out, none if they are left."""
    from regrade.core import IMAGENET, Interpolation, Preprocessing

    if size is None:
        if any(option is not None for option in (short_side, interpolation, mean, std)):
            raise typer.BadParameter("a recipe needs --size")
        return None
    return Preprocessing(
        size,
        size if short_side is None else short_side,
        interpolation=Interpolation(interpolation.value) if interpolation else IMAGENET.interpolation,
        mean=IMAGENET.mean if mean is None else _numbers(mean, "--mean"),
        std=IMAGENET.std if std is None else _numbers(std, "--std"),
    )


def _share(text: str) -> float:
    """A share of at most 1 from a percentage, such as 20% or 20."""
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = float("nan")
    if not 0 <= percent <= 100:
        raise typer.BadParameter("--allow-unreadable takes a percentage from 0 to 100, such as 20%")
    return percent / 100


def _numbers(text: str, option: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{option} takes numbers with commas between them, such as 0.5,0.5,0.5") from None
