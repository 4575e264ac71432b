"""Run a torch module as a model."""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import io
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import InputError, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.models.description import ModelDescription, checked_scores, checked_scores_and_features
from regrade.models.devices import use_many_queues
from regrade.models.failures import loading, needs, running
from regrade.models.fused_layers import with_fused_layers
from regrade.models.model import Device, Model, Precision, Settings
from regrade.models.preprocess import normalize_by_torch
from regrade.models.user_code import importable_from

_ONNX_OPSET = 17


def require_torch(what: str, extra: str) -> None:
    """Raise `MissingExtra` if torch is not installed."""
    with needs(extra, what):
        import torch  # noqa: F401


def read_weights(path: str | Path) -> Any:
    """The tensors in a file of weights; torch refuses a file that contains anything else, such as code."""
    import torch

    with loading(f"{path} cannot be read"):
        return torch.load(path, map_location="cpu", weights_only=True)


def packed_weights(content: Mapping[str, Any]) -> bytes:
    """Tensors and plain values as the bytes of a file that `read_weights` reads."""
    import torch

    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def is_module(candidate: object) -> bool:
    """Whether an object is a torch module."""
    import torch

    return isinstance(candidate, torch.nn.Module)


def weights_hash(module: Any) -> str:
    """Hash all parameters and buffers: names, types, shapes and bytes."""
    import torch

    state = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        if isinstance(value, torch.Tensor):
            state.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
            state.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        else:
            state.update(f"{name} {value!r}\n".encode())
    return state.hexdigest()


def parameter_count(module: Any) -> int | None:
    """The number of parameters; None for a module without any, such as a fixed function."""
    return sum(parameter.numel() for parameter in module.parameters()) or None


class TorchModel(Model):
    """A torch module in evaluation mode, on a device and in a precision."""

    def __init__(
        self,
        module: Any,
        description: ModelDescription,
        settings: Settings,
        *,
        score_kind: ScoreKind = ScoreKind.LOGITS,
        training_data: str = "",
    ) -> None:
        import torch

        check_device(settings.device)
        self.description = description
        self.class_space = description.class_space
        self.preprocessing = description.preprocessing
        self.score_kind = score_kind
        self.spec = description.spec(weights_hash(module), training_data, parameter_count(module))
        self.settings = settings
        self.takes_pixels = settings.device is Device.CUDA  # a quarter of the data to copy
        self._pinned: Any = None
        self._may_fuse = torch.version.hip is None  # cuDNN computes fused layers
        # on a GPU, convolutions are fastest with the channels innermost
        self._layout = torch.channels_last if settings.device is Device.CUDA else torch.contiguous_format
        with loading(f"{description.name} cannot be moved to {settings.device.value}"):
            self._module = module.eval().requires_grad_(False).to(settings.device.value, memory_format=self._layout)
        self._set_up()

    def with_settings(self, settings: Settings) -> TorchModel:
        """The same model with another precision, or compiled or not."""
        model = self._copy()
        model.settings = settings
        model._module = copy.deepcopy(self._module)
        model._set_up()
        return model

    def unfused(self) -> TorchModel:
        """The same model, which calls each layer by itself, so that features can be taken between them."""
        model = self._copy()
        model._may_fuse = False
        model._set_up()
        return model

    def _copy(self) -> TorchModel:
        """A copy that has not prepared its module for calls yet."""
        model = copy.copy(self)
        for name in ("_runnable", "_runnable_with_features", "_with_features"):
            model.__dict__.pop(name, None)
        return model

    def _set_up(self) -> None:
        """Adapt the module to the precision."""
        import torch

        settings, how = self.settings, " compiled" if self.settings.compile else ""
        self._fused = None
        if settings.device is Device.CUDA and self.precision in half_types():
            if self.precision is Precision.BF16 and not computes_in_bf16():
                raise InputError("this GPU does not compute in bf16: give --precision fp16 or fp32")
            with importable_from(self.description.code.folder):
                self._fused = with_fused_layers(self._module) if self._may_fuse and not settings.compile else None
            for module in (self._module, self._fused):
                if module is not None:
                    _cast_layers(module.to(memory_format=self._layout), half_types()[self.precision])
        if self._fused is not None:
            how = " fused"
        self.runtime = f"torch {torch.__version__} {settings.device.value} {self.precision.value}{how}"

    @property
    def precision(self) -> Precision:
        """The precision in which the model computes."""
        return self.settings.precision or Precision.FP32

    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) for inputs (n, channels, size, size)."""
        (scores,) = self._outputs(self._runnable, batch)
        return checked_scores(scores, self.description, rows=len(batch))

    def scores_and_features(self, batch: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores (n, c) and the input of the last layer (n, d)."""
        scores, features = self._outputs(self._runnable_with_features, batch)
        return checked_scores_and_features(scores, features, self.description, rows=len(batch))

    def stacked(self, inputs: Sequence[FloatArray]) -> FloatArray:
        """Stack inputs into a batch; for a GPU in pinned memory, or on the GPU if an input is already there."""
        import torch

        if self.settings.device is not Device.CUDA:
            return super().stacked(inputs)
        if any(isinstance(image, torch.Tensor) for image in inputs):
            return torch.stack([torch.as_tensor(image).to("cuda") for image in inputs])
        shape = (len(inputs), *inputs[0].shape)
        if self._pinned is None or self._pinned.shape[1:] != shape[1:] or len(self._pinned) < len(inputs):
            self._pinned = torch.empty(shape, dtype=torch.uint8, pin_memory=True).numpy()
        return np.stack(inputs, out=self._pinned[: len(inputs)])

    def peak_memory(self, batch: FloatArray) -> int | None:
        """Bytes of GPU memory that a batch needs, without the weights."""
        import torch

        if self.settings.device is not Device.CUDA:
            return None
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        self.scores(batch)
        return int(torch.cuda.max_memory_allocated() - before)

    def free_memory(self) -> int | None:
        """Free bytes of GPU memory."""
        import torch

        return int(torch.cuda.mem_get_info()[0]) if self.settings.device is Device.CUDA else None

    @cached_property
    def _runnable(self) -> Any:
        return self._compiled(self._module if self._fused is None else self._fused)

    @cached_property
    def _runnable_with_features(self) -> Any:
        return self._compiled(self._with_features)

    @cached_property
    def _with_features(self) -> Any:
        return with_features(self._module, len(self.class_space), self.description.name)

    def _compiled(self, module: Any) -> Any:
        import torch

        return torch.compile(module) if self.settings.compile else module

    def outputs_on_device(self, images: Any, *, features: bool) -> tuple[Any, Any | None]:
        """Scores (n, c), and features (n, d) if asked for, as tensors on the device; nothing waits for it.

        ``images`` (n, channels, size, size) are there, and normalized.
        """
        outputs = self._tensors(self._runnable_with_features if features else self._runnable, images)
        return (outputs[0], outputs[1]) if features else (outputs[0], None)

    def _outputs(self, runnable: Any, batch: FloatArray) -> list[FloatArray]:
        with running(self.description.name, batch.shape):
            return [output.cpu().numpy() for output in self._tensors(runnable, batch)]

    def _tensors(self, runnable: Any, batch: Any) -> list[Any]:
        """What a module returns for a batch, in single precision at least."""
        import torch

        if self.settings.threads and torch.get_num_threads() != self.settings.threads:
            torch.set_num_threads(self.settings.threads)
        name, folder = self.description.name, self.description.code.folder
        with importable_from(folder), running(name, tuple(batch.shape)), torch.inference_mode(), self._precision():
            returned = runnable(self._images(batch))
            outputs = (returned,) if runnable is self._runnable else _scores_and_features(returned, name)
            for output in outputs:
                if not isinstance(output, torch.Tensor):
                    raise InputError(
                        f"{name} returned a {type(output).__name__}, expected one tensor (images, classes)"
                    )
            return [output if output.dtype is torch.float64 else output.float() for output in outputs]

    def _images(self, batch: Any) -> Any:
        """A batch on the device, normalized there if it consists of bytes."""
        import torch

        if not isinstance(batch, torch.Tensor):
            kind = np.uint8 if batch.dtype == np.uint8 else np.float32
            batch = torch.from_numpy(np.require(batch, kind, ["C", "W"]))
        images = batch.to(self.settings.device.value, non_blocking=True)
        if images.dtype is torch.uint8:
            images = normalize_by_torch(images.permute(0, 3, 1, 2), self.preprocessing)
        return images.contiguous(memory_format=self._layout)

    def export(self, path: Path, *, features: bool = False) -> None:
        """Write the module as an ONNX file in single precision with a dynamic batch axis."""
        import torch

        preprocessing = self.preprocessing
        example = torch.zeros(2, preprocessing.channels, preprocessing.size, preprocessing.size)
        outputs = ["scores", "features"] if features else ["scores"]
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # the comparison with torch shows what tracing warns about
            torch.onnx.export(
                self._with_features if features else self._module,
                (example,),
                str(path),
                dynamo=False,  # the newer exporter needs another library and is no better for classifiers
                opset_version=_ONNX_OPSET,
                input_names=["images"],
                output_names=outputs,
                dynamic_axes={name: {0: "n"} for name in ("images", *outputs)},
            )

    def _precision(self) -> AbstractContextManager[Any]:
        import torch

        if self.precision is Precision.FP32:
            # otherwise convolutions keep 10 of 23 bits (TF32), and scores depend on the batch size
            cuda = self.settings.device is Device.CUDA
            return torch.backends.cudnn.flags(enabled=True, allow_tf32=False) if cuda else nullcontext()
        return torch.autocast(self.settings.device.value, dtype=half_types()[self.precision])


def half_types() -> dict[Precision, Any]:
    """The types of torch in which layers compute in half precision."""
    import torch

    return {Precision.BF16: torch.bfloat16, Precision.FP16: torch.float16}


def torch_uses_gpu() -> bool:
    """Whether torch is installed and finds a GPU."""
    if not importlib.util.find_spec("torch"):
        return False
    import torch

    return bool(torch.cuda.is_available())


def computes_in_bf16() -> bool:
    """Whether the GPU has instructions for bf16."""
    import torch

    return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def _cast_layers(module: Any, kind: Any) -> None:
    """Store the weights of layers as autocast would cast them for every batch."""
    import torch

    cast = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)
    for layer in module.modules():
        if type(layer) in cast:  # a layer of another type may use its weights in other ways
            layer.to(kind)


def _scores_and_features(returned: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise InputError(
            f"scores_and_features of {name} returned a {type(returned).__name__}, expected scores and features"
        )
    return returned


def check_device(device: Device) -> None:
    """Raise if there is no such device."""
    if device is Device.CUDA:
        use_many_queues()
    import torch

    is_available = {
        Device.CPU: lambda: True,
        Device.CUDA: torch.cuda.is_available,
        Device.MPS: torch.backends.mps.is_available,
    }
    if not is_available[device]():
        raise InputError(f"torch {torch.__version__} finds no {device.value} device: give --device cpu")


def zero_shot_module(encoder: Any, class_embeddings: Any) -> Any:
    """A module that scores images by similarity to class embeddings (features, classes), times the encoder's scale."""
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
    """A module that returns the ``logits`` of another module's output."""
    import torch

    class Logits(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, images: Any) -> Any:
            return self.module(images).logits

    return Logits()


def with_features(module: Any, width: int, name: str) -> Any:
    """A module that returns scores and features: by its own ``scores_and_features``, or the input of its last layer.

    The last layer is the linear layer or 1 x 1 convolution with one output per class that runs last.
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
                raise InputError(f"{name} runs no linear layer with {width} outputs: leave out --keep features")
            return scores, seen[-1].flatten(1)

    return WithFeatures().eval()  # otherwise an export would put it and its parts back into training mode


def _layers_of_width(module: Any, width: int) -> list[Any]:
    """The linear layers and 1 x 1 convolutions with ``width`` outputs."""
    import torch

    def fits(layer: Any) -> bool:
        if isinstance(layer, torch.nn.Linear):
            return bool(layer.out_features == width)
        return isinstance(layer, torch.nn.Conv2d) and layer.out_channels == width and layer.kernel_size == (1, 1)

    return [layer for layer in module.modules() if fits(layer)]
