"""A function on a GPU that is launched as a whole, without Python between its kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regrade.models.failures import first_line

_CALLS_BEFORE = 2  # libraries allocate memory and choose kernels in the first ones

Tensors = dict[str, Any]


class CapturedFunction:
    """Calls a function of one tensor, and from the third call on replays its kernels as a CUDA graph.

    Inputs all have the same shape. The returned tensors are overwritten by the next call, so copies of them must be
    enqueued first. A function that cannot be captured, because it waits for the GPU, is called every time.
    """

    def __init__(self, function: Callable[[Any], Tensors]) -> None:
        self._function = function
        self._calls = 0
        self._graph: Any = None
        self._inputs: Any = None  # that the graph reads
        self._outputs: Tensors = {}
        self.reason = ""  # why it could not be captured

    def __call__(self, inputs: Any) -> Tensors:
        """What the function returns."""
        if self._calls == _CALLS_BEFORE:
            self._capture(inputs)
        self._calls += 1
        if self._graph is None:
            return self._function(inputs)
        self._inputs.copy_(inputs)
        self._graph.replay()
        return self._outputs

    def _capture(self, inputs: Any) -> None:
        import torch

        if not inputs.is_cuda:
            return
        graph, own = torch.cuda.CUDAGraph(), inputs.clone()
        try:
            # other threads may allocate memory meanwhile
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                outputs = self._function(own)
        except Exception as error:  # whatever is wrong shows in the next call
            self.reason = first_line(error)
            torch.cuda.synchronize()
            return
        self._graph, self._inputs, self._outputs = graph, own, outputs
