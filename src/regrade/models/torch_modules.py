"""Wrappers around torch modules that return scores, and features on request."""

from __future__ import annotations

from typing import Any

from regrade.core import InputError


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
