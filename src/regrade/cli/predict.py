"""regrade predict: run models on the images of test sets and store the predictions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.completion import complete_test_sets
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import prediction_bars, say
from regrade.core import IMAGENET, Interpolation, Preprocessing
from regrade.core.finite import finite
from regrade.models import Device, Precision, Resizer

_STDOUT, _STDERR = 1, 2  # file descriptors


class Where(StrEnum):
    """Where models run."""

    LOCAL = "here"
    RAY = "ray"


@shown
def predict(
    model: Annotated[
        list[str], typer.Argument(help="Models as PREFIX:NAME: onnx:FILE, torch:module:function, lite:NAME, ...")
    ],
    test_set: Annotated[
        list[str],
        typer.Option(
            "--test-set", "-t", help="Test set with images. May be repeated.", autocompletion=complete_test_sets
        ),
    ],
    classes: Annotated[
        str | None,
        typer.Option(help="Class space of models that do not declare one: a name, TXT, CSV, JSON or folder."),
    ] = None,
    size: Annotated[
        int | None, typer.Option(min=1, help="Crop size in pixels, for models without their own preprocessing.")
    ] = None,
    short_side: Annotated[
        int | None, typer.Option(min=1, help="Size of the shorter side before the crop, in pixels (default: --size).")
    ] = None,
    interpolation: Annotated[Interpolation | None, typer.Option(help="Interpolation (default: bilinear).")] = None,
    mean: Annotated[
        str | None, typer.Option(help="Mean of each channel, in 0 to 1 (default: ImageNet's); one value: grayscale.")
    ] = None,
    std: Annotated[
        str | None,
        typer.Option(help="Standard deviation of each channel, e.g. 0.229,0.224,0.225 (default: ImageNet's)."),
    ] = None,
    device: Annotated[
        Device | None, typer.Option(help="Device that runs the models (default: the GPU if there is one).")
    ] = None,
    precision: Annotated[
        Precision | None,
        typer.Option(
            help="Numeric precision of the models (default: fp32; on a GPU fp16 if the first images keep their scores)."
        ),
    ] = None,
    compile_: Annotated[
        bool | None,
        typer.Option(
            "--compile/--no-compile", help="Compile the models first (default: on a GPU, from a million images on)."
        ),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Images per batch (default: chosen by the available memory).")
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(min=0.001, help="Memory limit of a batch in gigabytes (default: half of the free memory)."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of threads that read and decode images (default: one per CPU core)."),
    ] = None,
    resizer: Annotated[
        Resizer | None,
        typer.Option(
            help="What resizes images: pillow, torch (faster, differs by about one gray level; default), "
            "gpu (the default there)."
        ),
    ] = None,
    keep: Annotated[
        str, typer.Option(help="What else to store, in half precision: scores, features or scores,features.")
    ] = "",
    allow_unreadable: Annotated[
        str | None,
        typer.Option(
            metavar="N%", help="Share of images that may be unreadable (default: 5%, but at least 10 images)."
        ),
    ] = None,
    retry_unreadable: Annotated[
        bool, typer.Option("--retry-unreadable", help="Predict images again that are stored as unreadable.")
    ] = False,
    together: Annotated[
        bool, typer.Option("--together", help="Decode each image once for all models, which are all in memory then.")
    ] = False,
    on: Annotated[
        Where, typer.Option(help="Where models run: on this machine (here), or on the machines of a Ray cluster (ray).")
    ] = Where.LOCAL,
    address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster (default: the one that runs on this machine).")
    ] = None,
    per_machine: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of workers per machine of the cluster.")
    ] = None,
    per_gpu: Annotated[
        int | None, typer.Option(min=1, help="Number of workers of the cluster that share a GPU (default: 1).")
    ] = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Run every model on every image of the test sets and store the predictions; an interrupted run can be resumed.

    Exits with 3 if an image is unreadable: it then has no prediction and counts as wrong. Too many unreadable images
    stop the run with an error before anything is stored. If one of several models fails, the others still run; the
    command then exits with 1.
    """
    os.environ.setdefault(
        "ARROW_DEFAULT_MEMORY_POOL", "system"
    )  # Arrow's default pool does not return much of the freed memory
    from regrade.executors import RayCluster

    if on is Where.LOCAL and (address or per_machine or per_gpu):
        raise typer.BadParameter("--address, --per-machine and --per-gpu require --on ray")
    if per_gpu and device is not Device.CUDA:
        raise typer.BadParameter("--per-gpu requires --device cuda")
    preprocessing = _preprocessing(size, short_side, interpolation, mean, std)
    ws = opened(workspace)
    try:
        with models_print_to_stderr(), prediction_bars() as watch:
            run = ws.predict(
                model,
                test_sets=test_set,
                classes=classes,
                preprocessing=preprocessing,
                device=device,
                precision=precision,
                compile=compile_,
                batch=batch,
                memory=None if memory is None else int(finite("--memory", memory) * 1e9),
                workers=workers,
                resizer=resizer,
                keep=[name.strip() for name in keep.split(",") if name.strip()],
                allow_unreadable=None if allow_unreadable is None else _share(allow_unreadable),
                retry_unreadable=retry_unreadable,
                together=together,
                cluster=RayCluster(address, per_machine=per_machine, per_gpu=per_gpu or 1) if on is Where.RAY else None,
                progress=watch,
            )
    except KeyboardInterrupt:
        say("interrupted: finished batches are stored; run the same command again to resume")
        raise typer.Exit(130) from None
    if run.unreadable:
        count = f"unreadable images: {run.unreadable:,}"
        say(f"{count}; they have no prediction and count as wrong; once they are readable, use --retry-unreadable")
    for failure in run.failures:
        say(f"error: {failure.reason}")
    return CommandResult(run.table(), run.as_dict(), exit_code=1 if run.failures else 3 if run.unreadable else 0)


def _preprocessing(
    size: int | None, short_side: int | None, interpolation: Interpolation | None, mean: str | None, std: str | None
) -> Preprocessing | None:
    """The preprocessing that the options describe; None if no option is given."""
    if size is None:
        if any(option is not None for option in (short_side, interpolation, mean, std)):
            raise typer.BadParameter("--short-side, --interpolation, --mean and --std require --size")
        return None
    return Preprocessing(
        size,
        size if short_side is None else short_side,
        interpolation=interpolation or IMAGENET.interpolation,
        mean=IMAGENET.mean if mean is None else _numbers(mean, "--mean"),
        std=IMAGENET.std if std is None else _numbers(std, "--std"),
    )


def _share(text: str) -> float:
    """A fraction from a percentage, such as 20% or 20."""
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = float("nan")
    if not 0 <= percent <= 100:
        raise typer.BadParameter("--allow-unreadable takes a percentage from 0 to 100, such as 20%")
    return percent / 100


def _numbers(text: str, option: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{option} takes numbers separated by commas, such as 0.5,0.5,0.5") from None
    return tuple(finite(option, number) for number in numbers)


@contextmanager
def models_print_to_stderr() -> Iterator[None]:
    """Send what models and their libraries print to standard error, and keep the streams open if they close them."""
    streams = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = cast("TextIO", _Unclosable(sys.stderr))
    descriptor = _redirect_stdout()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        if descriptor is not None:
            os.dup2(descriptor, _STDOUT)
            os.close(descriptor)


def _redirect_stdout() -> int | None:
    """Redirect the file descriptor of standard output, used by compiled code, to standard error; return a copy."""
    try:
        copy = os.dup(_STDOUT)
    except OSError:  # the caller has closed it
        return None
    with suppress(OSError):
        os.dup2(_STDERR, _STDOUT)
    return copy


class _Unclosable:
    """A stream whose close() only flushes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def close(self) -> None:
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
