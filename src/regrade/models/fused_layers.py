"""Convolutions that normalize, add a shortcut and apply a ReLU themselves, instead of in passes of their own.

On a GPU, half of the time of a residual network goes into normalizations and activations: each of them reads and writes
all channels of all images once more.
"""

from __future__ import annotations

import copy
import operator
from typing import Any

from regrade.models.failures import contained


def with_fused_layers(module: Any) -> Any | None:
    """A copy of a module in evaluation mode with the same outputs, but fewer and larger calls; None if nothing changes.

    Batch normalization becomes part of the weights of the convolution before it. A convolution, the addition of a
    shortcut and a ReLU become one call.
    """
    import torch

    try:
        with contained():
            shared = {id(weight): weight for weight in module.parameters()}  # folding makes new ones
            traced = _traced(torch.nn.Sequential(copy.deepcopy(module, shared)))  # as a part, with its own hooks
            return traced if _Fusion(traced).run() else None
    except Exception:  # for instance, it branches on values of its inputs
        return None


def _traced(module: Any) -> Any:
    """The calls of a module as a graph; operations such as ``+=`` still change their tensor in place."""
    import torch

    class InPlace(torch.fx.Proxy):  # type: ignore[misc]
        __iadd__ = _recorded(operator.iadd)
        __isub__ = _recorded(operator.isub)
        __imul__ = _recorded(operator.imul)
        __itruediv__ = _recorded(operator.itruediv)

    class Tracer(torch.fx.Tracer):  # type: ignore[misc]
        def proxy(self, node: Any) -> Any:
            return InPlace(node, self)

        def create_node(self, *given: Any, **named: Any) -> Any:
            if _autocast_depth() > depth:
                raise NotImplementedError("a graph has no place for the precision of a part")
            return super().create_node(*given, **named)

    depth, tracer = _autocast_depth(), Tracer()
    return torch.fx.GraphModule(module, tracer.trace(module))


def _recorded(operation: Any) -> Any:
    return lambda proxy, term: proxy.tracer.create_proxy("call_function", operation, (proxy, term), {})


def _autocast_depth() -> int:
    """In how many contexts of autocast the current code is."""
    import torch

    depth = int(torch.autocast_increment_nesting()) - 1
    torch.autocast_decrement_nesting()
    return depth


def convolution_relu(images: Any, weight: Any, bias: Any, *geometry: Any) -> Any:
    """ReLU of a convolution; ``geometry`` is its stride, padding, dilation and groups."""
    import torch

    images = images.to(weight.dtype)
    if images.is_cuda:
        return torch.cudnn_convolution_relu(images, weight, bias, *geometry)
    return torch.nn.functional.conv2d(images, weight, bias, *geometry).relu_()


def convolution_add_relu(images: Any, weight: Any, shortcut: Any, bias: Any, *geometry: Any) -> Any:
    """ReLU of a convolution plus a shortcut."""
    import torch

    images, shortcut = images.to(weight.dtype), shortcut.to(weight.dtype)
    if images.is_cuda and shortcut.shape == _shape(images, weight, geometry):
        return torch.cudnn_convolution_add_relu(images, weight, shortcut, 1.0, bias, *geometry)
    return (torch.nn.functional.conv2d(images, weight, bias, *geometry) + shortcut).relu_()


def _shape(images: Any, weight: Any, geometry: tuple[Any, ...]) -> Any:
    """The shape of a convolution's output."""
    import torch

    return torch.nn.functional.conv2d(images.to("meta"), weight.to("meta"), None, *geometry).shape


class _Fusion:
    """Rewrites a traced module."""

    def __init__(self, traced: Any) -> None:
        self._traced = traced
        self._graph = traced.graph
        self._layers = dict(traced.named_modules())
        called = [node.target for node in traced.graph.nodes if node.op == "call_module"]
        read = {node.target.rpartition(".")[0] for node in traced.graph.nodes if node.op == "get_attr"}
        self._once = {name for name in called if called.count(name) == 1} - read

    def run(self) -> bool:
        """Whether anything was fused."""
        for node in list(self._graph.nodes):
            self._remove_identity(node)
        fused = [self._fold_normalization(node) for node in list(self._graph.nodes)]
        fused += [self._fuse_relu(node) for node in list(self._graph.nodes)]
        self._graph.lint()
        self._traced.recompile()
        return any(fused)

    def _remove_identity(self, node: Any) -> None:
        import torch

        if isinstance(self._layer(node), torch.nn.Identity | torch.nn.Dropout):
            self._replace(node, node.args[0])

    def _fold_normalization(self, node: Any) -> bool:
        """Multiply the weights of a convolution by the factors of the batch normalization after it."""
        import torch

        layer = self._layer(node)
        if type(layer) is not torch.nn.BatchNorm2d or layer.running_mean is None:
            return False
        convolution = node.args[0]
        if not self._is_convolution(convolution):
            return False
        folded = torch.nn.utils.fuse_conv_bn_eval(self._layer(convolution), layer)
        self._traced.set_submodule(convolution.target, folded)
        self._layers[convolution.target] = folded
        self._replace(node, convolution)
        return True

    def _fuse_relu(self, node: Any) -> bool:
        """Replace a ReLU of a convolution, or of its sum with another tensor, by one call."""
        if not self._is_relu(node):
            return False
        (summed,) = node.args
        if self._is_convolution(summed):
            self._replace(node, self._call(convolution_relu, summed, before=summed), summed)
            return True
        for convolution, shortcut in self._terms(summed):
            # later than where it is, the convolution may find its input changed in place
            if self._is_convolution(convolution) and convolution.next is summed:
                self._replace(node, self._call(convolution_add_relu, convolution, shortcut, before=summed), summed)
                self._graph.erase_node(convolution)
                return True
        return False

    def _call(self, function: Any, convolution: Any, *shortcut: Any, before: Any) -> Any:
        layer = self._layer(convolution)
        with self._graph.inserting_before(before):
            weight = self._graph.get_attr(f"{convolution.target}.weight")
            bias = None if layer.bias is None else self._graph.get_attr(f"{convolution.target}.bias")
            given = convolution.args[0], weight, *shortcut, bias
            return self._graph.call_function(
                function, (*given, layer.stride, layer.padding, layer.dilation, layer.groups)
            )

    def _replace(self, node: Any, by: Any, *unused: Any) -> None:
        node.replace_all_uses_with(by)
        for erased in (node, *unused):
            self._graph.erase_node(erased)

    def _layer(self, node: Any) -> Any:
        """The layer that a node calls with one argument; None if it does not, or if it may do more than its type."""
        if not hasattr(node, "op") or node.op != "call_module" or len(node.args) != 1 or node.kwargs:
            return None
        layer = self._layers[node.target]
        changed = layer._forward_hooks or layer._forward_pre_hooks or "forward" in vars(layer)
        return None if changed or layer.training else layer

    def _is_convolution(self, node: Any) -> bool:
        """Whether a node is a convolution that serves only the next node."""
        import torch

        layer = self._layer(node)
        return (
            type(layer) is torch.nn.Conv2d
            and layer.padding_mode == "zeros"
            and not isinstance(layer.padding, str)
            and node.target in self._once
            and len(node.users) == 1
        )

    def _is_relu(self, node: Any) -> bool:
        import torch

        if node.op == "call_function":
            return node.target in (torch.relu, torch.nn.functional.relu) and len(node.args) == 1
        return type(self._layer(node)) is torch.nn.ReLU

    def _terms(self, node: Any) -> list[tuple[Any, Any]]:
        """Both terms of a sum that only one node sees, also in the other order; nothing if a node is no such sum."""
        import torch

        additions = operator.add, operator.iadd, torch.add
        if getattr(node, "op", "") != "call_function" or node.target not in additions or len(node.users) > 1:
            return []
        tensors = [term for term in node.args if hasattr(term, "op")]
        if len(tensors) != 2 or len(node.args) != 2 or node.kwargs or tensors[0] is tensors[1]:
            return []
        if node.target is operator.iadd and not self._is_convolution(tensors[0]):
            return []  # others may see that this tensor changes
        return [(tensors[0], tensors[1]), (tensors[1], tensors[0])]
