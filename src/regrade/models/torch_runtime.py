"""Running a torch module as a model: the one file that knows torch."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core import InputError, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.core.preprocessing import Preprocessing
from regrade.models.failures import loading, needs, running
from regrade.models.frame import Box, frame_of
from regrade.models.model import Device, Model, Precision, Settings
from regrade.models.score_checks import checked_scores, checked_scores_and_features
from regrade.models.statement import Statement

_OLDEST_OPSET = 17


def require_torch(what: str, extra: str) -> None:
    """Raise `MissingExtra` where torch is not installed."""
    with needs(extra, what):
        import torch  # noqa: F401


def read_weights(path: str | Path) -> Any:
    """The tensors in a file of weights; a file that holds anything else, such as code, is refused by torch."""
    import torch

    with loading(f"{path} cannot be read"):
        return torch.load(path, map_location="cpu", weights_only=True)


def is_module(thing: object) -> bool:
    """Whether something is a torch module."""
    import torch

    return isinstance(thing, torch.nn.Module)


def weights_hash(module: Any) -> str:
    """A hash of all parameters and buffers: names, types, shapes and bytes."""
    import torch

    state = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        if isinstance(value, torch.Tensor):
            state.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
            state.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        else:
            state.update(f"{name} {value!r}\n".encode())
    return state.hexdigest()


def resize_by_torch(pixels: NDArray[np.uint8], size: tuple[int, int], mode: str) -> NDArray[np.uint8]:
    """Pixels (height, width) or (height, width, 3) at another size (width, height), with anti-aliasing."""
    import torch

    # a copy, since torch takes no array that must not be written to
    image = torch.from_numpy(np.atleast_3d(pixels).copy()).permute(2, 0, 1)[None]
    resized = torch.nn.functional.interpolate(image, (size[1], size[0]), mode=mode, antialias=True)
    return resized[0].permute(1, 2, 0).numpy().reshape(size[1], size[0], *pixels.shape[2:])


def bytes_tensor(data: bytes) -> Any:
    """Bytes as a tensor."""
    import torch

    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def wait_for_gpu() -> None:
    """Wait until the GPU has done all it was asked to."""
    import torch

    torch.cuda.synchronize()


def framed_on_gpu(picture: Any, recipe: Preprocessing) -> Any:
    """Shape (size, size, 3): what the model sees of an RGB picture (3, height, width) on the GPU, in grey levels."""
    import torch

    frame = frame_of((picture.shape[2], picture.shape[1]), recipe)
    if frame.first is not None:
        picture = _cropped(picture, frame.first)
    resized = torch.nn.functional.interpolate(
        picture[None].float(), (frame.size[1], frame.size[0]), mode=recipe.interpolation.value, antialias=True
    )
    return _cropped(resized[0], frame.then).round_().clamp_(0, 255).to(torch.uint8).permute(1, 2, 0)


def _normalised(levels: Any, recipe: Preprocessing) -> Any:
    """Shape (n, channels, size, size): grey levels as a model's input."""
    import torch

    mean, std = (
        torch.tensor(values, dtype=torch.float32, device=levels.device)[:, None, None]
        for values in (recipe.mean, recipe.std)
    )
    return (levels.float() / 255 - mean) / std


def _cropped(picture: Any, box: Box) -> Any:
    left, top, right, bottom = box
    return picture[:, top:bottom, left:right]


def zero_shot_module(encoder: Any, class_embeddings: Any) -> Any:
    """A module that scores images by their likeness to class embeddings (features, classes), as its encoder scales."""
    import torch

    class ZeroShot(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder
            self.register_buffer("class_embeddings", class_embeddings)

        def forward(self, images: Any) -> Any:
            return self.scores_and_features(images)[0]

        def scores_and_features(self, images: Any) -> tuple[Any, Any]:
            features = self.encoder.encode_image(images, normalize=True)
            scores = self.encoder.logit_scale.exp() * features @ self.class_embeddings
            bias = getattr(self.encoder, "logit_bias", None)
            return scores if bias is None else scores + bias, features

    return ZeroShot()


def logits_module(module: Any) -> Any:
    """A module that gives the ``logits`` of another one's output."""
    import torch

    class Logits(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, images: Any) -> Any:
            return self.module(images).logits

    return Logits()


def with_features(module: Any, width: int, name: str) -> Any:
    """A module that gives scores and features: those it names itself, or the input of its last layer.

    The last layer is the linear one, or 1 x 1 convolution, with as many outputs as there are classes that runs last.
    """
    import torch

    layers = _layers_of_width(module, width)
    own = getattr(module, "scores_and_features", None)

    class WithFeatures(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, images: Any) -> tuple[Any, Any]:
            if own is not None:
                return own(images)
            seen: list[Any] = []
            hooks = [layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0])) for layer in layers]
            try:
                scores = self.module(images)
            finally:
                for hook in hooks:
                    hook.remove()
            if not seen:
                raise InputError(f"{name} runs no linear layer of {width} outputs: leave out --keep features")
            return scores, seen[-1].flatten(1)

    return WithFeatures().eval()  # else an export would put it, and all in it, back into training


def _layers_of_width(module: Any, width: int) -> list[Any]:
    """The linear layers and 1 x 1 convolutions with so many outputs."""
    import torch

    def fits(layer: Any) -> bool:
        if isinstance(layer, torch.nn.Linear):
            return bool(layer.out_features == width)
        return isinstance(layer, torch.nn.Conv2d) and layer.out_channels == width and layer.kernel_size == (1, 1)

    return [layer for layer in module.modules() if fits(layer)]


class TorchModel(Model):
    """A torch module in evaluation mode, on a device and in a precision."""

    def __init__(
        self,
        module: Any,
        statement: Statement,
        settings: Settings,
        *,
        score_kind: ScoreKind = ScoreKind.LOGITS,
        training_data: str = "",
    ) -> None:
        import torch

        _check_device(settings.device)
        self.statement = statement
        self.class_space = statement.class_space
        self.preprocessing = statement.preprocessing
        self.score_kind = score_kind
        self.spec = statement.spec(weights_hash(module), training_data)
        self.settings = settings
        self.takes_pixels = settings.device is Device.CUDA  # a quarter of the bytes to copy
        self._pinned: Any = None
        compiled = " compiled" if settings.compile else ""
        self.runtime = f"torch {torch.__version__} {settings.device.value} {settings.precision.value}{compiled}"
        # on a GPU, convolutions are fastest with the channels innermost
        self._layout = torch.channels_last if settings.device is Device.CUDA else torch.contiguous_format
        with loading(f"{statement.name} cannot be moved to {settings.device.value}"):
            self._module = module.eval().requires_grad_(False).to(settings.device.value, memory_format=self._layout)

    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) for inputs (n, channels, size, size)."""
        (scores,) = self._outputs(self._runnable, batch)
        return checked_scores(scores, self.statement, rows=len(batch))

    def scores_and_features(self, batch: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores (n, c) and the input of the last layer (n, d)."""
        scores, features = self._outputs(self._runnable_with_features, batch)
        return checked_scores_and_features(scores, features, self.statement, rows=len(batch))

    def stacked(self, inputs: Sequence[FloatArray]) -> FloatArray:
        """A batch; for a GPU in memory that is never paged out, or on the GPU itself where an input is there."""
        import torch

        if self.settings.device is not Device.CUDA:
            return super().stacked(inputs)
        if any(isinstance(one, torch.Tensor) for one in inputs):
            return torch.stack([torch.as_tensor(one).to("cuda") for one in inputs])
        shape = (len(inputs), *inputs[0].shape)
        if self._pinned is None or self._pinned.shape[1:] != shape[1:] or len(self._pinned) < len(inputs):
            self._pinned = torch.empty(shape, dtype=torch.uint8, pin_memory=True).numpy()
        return np.stack(inputs, out=self._pinned[: len(inputs)])

    def peak_memory(self, batch: FloatArray) -> int | None:
        """How many bytes of the GPU's memory a batch needs, beside the weights."""
        import torch

        if self.settings.device is not Device.CUDA:
            return None
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        self.scores(batch)
        return int(torch.cuda.max_memory_allocated() - before)

    def free_memory(self) -> int | None:
        """How many bytes of the GPU's memory are free."""
        import torch

        return int(torch.cuda.mem_get_info()[0]) if self.settings.device is Device.CUDA else None

    @cached_property
    def _runnable(self) -> Any:
        return self._compiled(self._module)

    @cached_property
    def _runnable_with_features(self) -> Any:
        return self._compiled(self._with_features)

    @cached_property
    def _with_features(self) -> Any:
        return with_features(self._module, len(self.class_space), self.statement.name)

    def _compiled(self, module: Any) -> Any:
        import torch

        return torch.compile(module) if self.settings.compile else module

    def _outputs(self, runnable: Any, batch: FloatArray) -> list[FloatArray]:
        import torch

        if self.settings.threads and torch.get_num_threads() != self.settings.threads:
            torch.set_num_threads(self.settings.threads)
        with running(self.statement.name, batch.shape), torch.inference_mode(), self._precision():
            given = runnable(self._images(batch))
            outputs = (given,) if runnable is self._runnable else _two(given, self.statement.name)
            for output in outputs:
                if not isinstance(output, torch.Tensor):
                    raise InputError(
                        f"{self.statement.name} gave a {type(output).__name__}, expected one tensor (pictures, classes)"
                    )
            return [(one if one.dtype is torch.float64 else one.float()).cpu().numpy() for one in outputs]

    def _images(self, batch: Any) -> Any:
        """A batch on the device, normalised there if it is in grey levels."""
        import torch

        if not isinstance(batch, torch.Tensor):
            kind = np.uint8 if batch.dtype == np.uint8 else np.float32
            batch = torch.from_numpy(np.require(batch, kind, ["C", "W"]))
        there = batch.to(self.settings.device.value, non_blocking=True)
        if there.dtype is torch.uint8:
            there = _normalised(there.permute(0, 3, 1, 2), self.preprocessing)
        return there.contiguous(memory_format=self._layout)

    def export(self, path: Path, *, features: bool = False) -> None:
        """Write the module as an ONNX file of single precision whose batch axis is free."""
        import torch

        recipe = self.preprocessing
        example = torch.zeros(2, recipe.channels, recipe.size, recipe.size)
        outputs = ["scores", "features"] if features else ["scores"]
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # tracing warns of what the comparison with torch would show
            torch.onnx.export(
                self._with_features if features else self._module,
                (example,),
                str(path),
                dynamo=False,  # the newer exporter needs one more library, and does no better on classifiers
                opset_version=_OLDEST_OPSET,
                input_names=["images"],
                output_names=outputs,
                dynamic_axes={name: {0: "n"} for name in ("images", *outputs)},
            )

    def _precision(self) -> AbstractContextManager[Any]:
        import torch

        types = {Precision.BF16: torch.bfloat16, Precision.FP16: torch.float16}
        if self.settings.precision is Precision.FP32:
            # else convolutions keep 10 bits of 23 (TF32), and scores change with the size of the batch
            cuda = self.settings.device is Device.CUDA
            return torch.backends.cudnn.flags(enabled=True, allow_tf32=False) if cuda else nullcontext()
        return torch.autocast(self.settings.device.value, dtype=types[self.settings.precision])


def _two(given: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(given, tuple) or len(given) != 2:
        raise InputError(f"scores_and_features of {name} gave a {type(given).__name__}, expected scores and features")
    return given


def _check_device(device: Device) -> None:
    import torch

    there = {
        Device.CPU: lambda: True,
        Device.CUDA: torch.cuda.is_available,
        Device.MPS: torch.backends.mps.is_available,
    }
    if not there[device]():
        raise InputError(f"torch {torch.__version__} finds no {device.value} device here: give --device cpu")
