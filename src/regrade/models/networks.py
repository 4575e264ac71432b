"""Untrained networks by name: small ones of our own, and those of timm, torchvision and users' code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from regrade.core import InputError, UnknownName
from regrade.models.failures import loading
from regrade.models.timm_model import untrained_timm
from regrade.models.torch_runtime import is_module, require_torch
from regrade.models.torchvision_model import untrained_torchvision
from regrade.models.user_code import OwnCode, call_user_function, own_code_of, user_object


def new_network(architecture: str, *, channels: int, size: int, classes: int) -> Any:
    """An untrained network for images (channels, size, size), with torch's global random state.

    ``architecture`` is the name of a small network, ``timm:NAME``, ``torchvision:NAME``, or ``torch:FILE.py:FUNCTION``:
    a function of the number of classes that returns a module.
    """
    require_torch(architecture, "torch")
    prefix, colon, rest = architecture.partition(":")
    if not colon:
        if architecture not in SMALL_NETWORKS:
            raise UnknownName("network", architecture, SMALL_NETWORKS)
        return SMALL_NETWORKS[architecture](channels, size, classes)
    if prefix not in _SOURCES:
        raise UnknownName("source of networks", prefix, _SOURCES)
    with loading(f"{architecture} cannot be made"):
        network = _SOURCES[prefix](rest, channels, classes)
    if not is_module(network):
        raise InputError(f"{architecture} returned a {type(network).__name__}, expected a torch.nn.Module")
    return network


def network_code(architecture: str, network: Any) -> OwnCode:
    """The user's own code of a network that `new_network` has made."""
    prefix, _, place = architecture.partition(":")
    if prefix != "torch":
        return OwnCode()
    return own_code_of(user_object(place, prefix=prefix), place, architecture, parts=network.modules())


def with_absolute_path(architecture: str) -> str:
    """The architecture, with the full path of a user's file, so that it can be found from any folder."""
    prefix, _, place = architecture.partition(":")
    file, _, function = place.rpartition(":")
    return f"torch:{Path(file).absolute()}:{function}" if prefix == "torch" and file.endswith(".py") else architecture


def _user(place: str, _channels: int, classes: int) -> Any:
    function = user_object(place, prefix="torch")
    return call_user_function(lambda: function(classes), place, f"torch:{place}")


_SOURCES: dict[str, Callable[[str, int, int], Any]] = {
    "timm": untrained_timm,
    "torchvision": untrained_torchvision,
    "torch": _user,
}


def mlp(channels: int, size: int, classes: int) -> Any:
    """Two hidden layers of 256 units."""
    from torch import nn

    return nn.Sequential(
        nn.Flatten(), nn.Linear(channels * size * size, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
        nn.Linear(256, classes),
    )  # fmt: skip


def small_cnn(channels: int, _size: int, classes: int) -> Any:
    """Three convolutions with batch normalization, and a linear layer on their mean."""
    from torch import nn

    def block(inputs: int, outputs: int, stride: int) -> list[Any]:
        convolution = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        return [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]

    layers = [*block(channels, 16, 1), *block(16, 32, 2), *block(32, 64, 2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


def cifar_resnet(depth: int) -> Callable[[int, int, int], Any]:
    """The residual network of He et al. 2016 for CIFAR, with 6n + 2 layers and shortcuts without parameters."""
    blocks_per_stage, rest = divmod(depth - 2, 6)
    if rest or blocks_per_stage < 1:
        raise InputError(f"the depth of a residual network for CIFAR is 6n + 2, such as 20 or 56, got {depth}")

    def build(channels: int, _size: int, classes: int) -> Any:
        from torch import nn

        block = _residual_block()
        widths = (16, 32, 64)
        layers = [nn.Conv2d(channels, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
        inputs = 16
        for width in widths:
            for number in range(blocks_per_stage):
                layers.append(block(inputs, width, 2 if number == 0 and width != 16 else 1))
                inputs = width
        network = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))
        for layer in network.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight)
        return network

    return build


def _residual_block() -> Any:
    """The class of residual blocks; it is made here because torch is imported when it is used."""
    import torch
    from torch import nn

    class ResidualBlock(nn.Module):  # type: ignore[misc]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
            self.first_norm = nn.BatchNorm2d(outputs)
            self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
            self.second_norm = nn.BatchNorm2d(outputs)
            self.stride, self.added = stride, outputs - inputs

        def forward(self, images: Any) -> Any:
            hidden = torch.relu(self.first_norm(self.first(images)))
            hidden = self.second_norm(self.second(hidden))
            shortcut = images[:, :, :: self.stride, :: self.stride]
            if self.added:  # new channels of the shortcut are zero, half of them on each side
                shortcut = nn.functional.pad(shortcut, (0, 0, 0, 0, self.added // 2, self.added - self.added // 2))
            return torch.relu(hidden + shortcut)

    return ResidualBlock


def random_features(channels: int, size: int, classes: int) -> Any:
    """A linear classifier on 2,048 random rectified features, which are not trained (Rahimi and Recht 2007)."""
    from torch import nn

    features = nn.Linear(channels * size * size, 2048).requires_grad_(False)
    return nn.Sequential(nn.Flatten(), features, nn.ReLU(), nn.Linear(2048, classes))


SMALL_NETWORKS: dict[str, Callable[[int, int, int], Any]] = {
    "mlp": mlp,
    "cnn": small_cnn,
    "resnet20": cifar_resnet(20),
    "resnet56": cifar_resnet(56),
    "random-features": random_features,
}
"""The networks of our own by name: functions of the number of channels, the size and the number of classes."""
