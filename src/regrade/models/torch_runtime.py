"""Running a torch module as a model: the one file that knows torch."""

from __future__ import annotations

import hashlib
import warnings
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import InputError, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.models.failures import loading, needs, running
from regrade.models.model import Device, Model, Precision, Settings
from regrade.models.score_checks import checked_scores
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


def zero_shot_module(encoder: Any, class_embeddings: Any) -> Any:
    """A module that scores images by their likeness to class embeddings (features, classes), as its encoder scales."""
    import torch

    class ZeroShot(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder
            self.register_buffer("class_embeddings", class_embeddings)

        def forward(self, images: Any) -> Any:
            features = self.encoder.encode_image(images, normalize=True)
            scores = self.encoder.logit_scale.exp() * features @ self.class_embeddings
            bias = getattr(self.encoder, "logit_bias", None)
            return scores if bias is None else scores + bias

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
        self.runtime = f"torch {torch.__version__} {settings.device.value} {settings.precision.value}"
        # on a GPU, convolutions are fastest with the channels innermost
        self._layout = torch.channels_last if settings.device is Device.CUDA else torch.contiguous_format
        with loading(f"{statement.name} cannot be moved to {settings.device.value}"):
            self._module = module.eval().requires_grad_(False).to(settings.device.value, memory_format=self._layout)

    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) for inputs (n, channels, size, size)."""
        import torch

        if self.settings.threads and torch.get_num_threads() != self.settings.threads:
            torch.set_num_threads(self.settings.threads)
        with running(self.statement.name, batch.shape), torch.inference_mode(), self._precision():
            images = torch.from_numpy(np.require(batch, np.float32, ["C", "W"]))
            output = self._module(images.to(self.settings.device.value, memory_format=self._layout))
            if not isinstance(output, torch.Tensor):
                raise InputError(
                    f"{self.statement.name} gave a {type(output).__name__}, expected one tensor (pictures, classes)"
                )
            scores = (output if output.dtype is torch.float64 else output.float()).cpu().numpy()
        return checked_scores(scores, self.statement, rows=len(batch))

    def export(self, path: Path) -> None:
        """Write the module as an ONNX file of single precision whose batch axis is free."""
        import torch

        recipe = self.preprocessing
        example = torch.zeros(2, recipe.channels, recipe.size, recipe.size)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # tracing warns of what the comparison with torch would show
            torch.onnx.export(
                self._module,
                (example,),
                str(path),
                dynamo=False,  # the newer exporter needs one more library, and does no better on classifiers
                opset_version=_OLDEST_OPSET,
                input_names=["images"],
                output_names=["scores"],
                dynamic_axes={"images": {0: "n"}, "scores": {0: "n"}},
            )

    def _precision(self) -> AbstractContextManager[Any]:
        import torch

        types = {Precision.BF16: torch.bfloat16, Precision.FP16: torch.float16}
        if self.settings.precision is Precision.FP32:
            # else convolutions keep 10 bits of 23 (TF32), and scores change with the size of the batch
            cuda = self.settings.device is Device.CUDA
            return torch.backends.cudnn.flags(enabled=True, allow_tf32=False) if cuda else nullcontext()
        return torch.autocast(self.settings.device.value, dtype=types[self.settings.precision])


def _check_device(device: Device) -> None:
    import torch

    there = {
        Device.CPU: lambda: True,
        Device.CUDA: torch.cuda.is_available,
        Device.MPS: torch.backends.mps.is_available,
    }
    if not there[device]():
        raise InputError(f"torch {torch.__version__} finds no {device.value} device here: give --device cpu")
