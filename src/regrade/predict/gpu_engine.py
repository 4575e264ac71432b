"""Compute one model on a GPU, on images that are decoded and resized there.

Reading, decoding, the model and the way back of its predictions run side by side, each one batch ahead of the next.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from regrade.core import ModelError, Ties
from regrade.core.predictions import STORED_K
from regrade.models import (
    ModelMetadata,
    OutOfMemory,
    Resizer,
    fastest_resizer,
    gpu_decoder,
)
from regrade.models.torch_runtime import TorchModel, half_types
from regrade.predict.captured import CapturedFunction
from regrade.predict.engine import (
    EngineOptions,
    PredictionInput,
    Progress,
    find_batch_size,
)
from regrade.predict.gpu_loading import BatchLoader, ImageBatch, StreamDevice, blocks_of
from regrade.predict.outputs import OutputCheck, Outputs, error_message
from regrade.predict.prepare import check_source_exists
from regrade.store import Part, empty_part


@dataclass(frozen=True)
class _Running:
    """A batch in the model, and its outputs on the way back."""

    batch: ImageBatch
    outputs: dict[str, Any]
    done: Any


class GpuEngine:
    """Runs one torch model on a GPU; interface and guarantees are those of `PredictionEngine`."""

    def __init__(self, model: TorchModel, options: EngineOptions) -> None:
        self.model = model
        self.options = options
        self.resizer = options.resizer or (Resizer.GPU if gpu_decoder() else fastest_resizer())
        self._output = OutputCheck(model)
        self._rows_at_once: int | None = None  # set when a batch does not fit into the memory
        self._captured = CapturedFunction(self._of_images)
        self._compile_note = ""
        self.device = StreamDevice(model.settings.device.value)

    @property
    def note(self) -> str:
        """How long compiling took, and why the model is not launched as one CUDA graph, if so."""
        reason = self._captured.reason
        return ", ".join(filter(None, (self._compile_note, reason and f"launched kernel by kernel: {reason}")))

    @property
    def metadata(self) -> ModelMetadata:
        """The model's metadata; the runtime includes the resizer."""
        metadata = self.model.metadata
        return replace(metadata, runtime=f"{metadata.runtime}, images by {self.resizer.runtime}")

    def find_batch_size(self) -> int:
        """Number of images per batch, from the options or the memory."""
        return self.options.batch or find_batch_size(self.model, self.options.memory)

    def parts(
        self, inputs: PredictionInput, ranges: Sequence[range], *, batch: int, progress: Progress
    ) -> Generator[Part, None, None]:
        """Predict ranges of examples, one part each."""
        blocks = [block for positions in ranges for block in blocks_of(positions, batch)]
        with closing(self._running(inputs, blocks, batch)) as running:
            for positions in ranges:
                part = empty_part(
                    positions,
                    k=min(STORED_K, len(self.model.class_space)),
                    width=len(self.model.class_space) if self.options.keep_scores else None,
                )
                for block in blocks_of(positions, batch):
                    part = self._finished(next(running), inputs.examples, part)
                    progress(len(block))
                if part.unreadable:
                    check_source_exists(inputs.source)
                yield part

    def _running(self, inputs: PredictionInput, blocks: Sequence[range], batch: int) -> Generator[_Running, None, None]:
        """The blocks in order, while the next one is already in the model."""
        waiting: deque[_Running] = deque()
        with BatchLoader(self, inputs, blocks, batch) as loading:
            for loaded in loading:
                waiting.append(self._launch(loaded, inputs.examples))
                loading.release()
                if len(waiting) == 2:
                    yield waiting.popleft()
            yield from waiting

    def _launch(self, batch: ImageBatch, examples: Sequence[str]) -> _Running:
        """Start the model on a batch, and the way back of its outputs; nothing here waits for the GPU."""
        if not batch.positions:
            return _Running(batch, {}, None)
        names = [examples[position] for position in batch.positions]
        with self.device.on(None):
            _hand_over(batch)
            outputs = self._outputs(batch.inputs.permute(0, 3, 1, 2), len(batch.positions), names)
            back = {name: tensor.to("cpu", non_blocking=True) for name, tensor in outputs.items()}
            return _Running(batch, back, self.device.recorded())

    def _outputs(self, inputs: Any, count: int, examples: Sequence[str]) -> dict[str, Any]:
        """What is stored of the first ``count`` inputs, on the device; in pieces if a batch does not fit."""
        rows = min(self._rows_at_once or len(inputs), len(inputs))
        try:
            if rows == len(inputs):
                with self._compiling():
                    return {name: tensor[:count] for name, tensor in self._captured(inputs).items()}
            pieces = [self._of_images(inputs[start : start + rows]) for start in range(0, count, rows)]
        except OutOfMemory:
            self._captured = CapturedFunction(self._of_images)
            self.device.free()
            if rows == 1:
                raise ModelError(f"{self.model.spec.name} does not fit into memory even with a batch of one") from None
            self._rows_at_once = rows // 2
            return self._outputs(inputs, count, examples)
        except Exception as error:  # a model is the user's code: any error is reported in one line
            raise ModelError(error_message(error, self.model.spec.name, examples)) from error
        return {name: _joined([piece[name] for piece in pieces])[:count] for name in pieces[0]}

    @contextmanager
    def _compiling(self) -> Iterator[None]:
        """Around the first batch of a model that is to be compiled: note how long it takes."""
        started = time.perf_counter()
        yield
        if self.model.settings.compile and not self._compile_note:
            self._compile_note = f"compiled in {time.perf_counter() - started:.0f} s"

    def _of_images(self, inputs: Any) -> dict[str, Any]:
        scores, features = self.model.outputs_on_device(inputs, features=self.options.keep_features)
        self._output.shape(scores, scores.is_floating_point(), len(inputs))
        outputs = top_outputs(scores, min(STORED_K, scores.shape[1]))
        if self.options.keep_scores:
            outputs["scores"] = scores
        return outputs if features is None else outputs | {"features": features}

    def _finished(self, running: _Running, examples: Sequence[str], part: Part) -> Part:
        """A part with the outputs of a batch filled in, once they are back."""
        batch = running.batch
        part.fingerprints[batch.block.start - part.start : batch.block.stop - part.start] = batch.fingerprints
        part.unreadable.update(batch.errors)
        if not batch.positions:
            return part
        if running.done is not None:
            running.done.synchronize()
        arrays = {name: tensor.numpy() for name, tensor in running.outputs.items()}
        names = [examples[position] for position in batch.positions]
        self._output.finite(arrays["top_scores"][:, 0], names)
        features = arrays.get("features")
        if features is not None:
            self._output.features(features, names)
        tied = np.flatnonzero(arrays["tied"])
        outputs = Outputs(
            names,
            np.array(batch.positions) - part.start,
            arrays["classes"],
            arrays["top_scores"],
            Ties(tied, arrays["bits"][tied]) if len(tied) else None,
            arrays.get("scores"),
            features,
        )
        return self._output.stored(outputs, part)

    @cached_property
    def input_type(self) -> Any:
        """The type of inputs: that in which the model computes."""
        import torch

        return half_types().get(self.model.precision, torch.float32)


def top_outputs(scores: Any, k: int) -> dict[str, Any]:
    """The best ``k`` classes of scores (n, c) on a device and their scores, and which classes tie for the last place.

    Ties go to the lower class index. ``tied`` (n,) is whether a class that is not among the best scores as much as the
    last of these, and ``bits`` (n, ceil(c / 8)) all classes with that score, as in `Ties`.
    """
    import torch

    scores = scores + 0.0  # -0 and 0 are equal
    values, order = torch.sort(scores, dim=1, descending=True, stable=True)
    last = values[:, k - 1 : k]
    tied = values[:, k] == last[:, 0] if scores.shape[1] > k else torch.zeros_like(last[:, 0], dtype=torch.bool)
    equal = torch.nn.functional.pad((scores == last).to(torch.uint8), (0, -scores.shape[1] % 8))
    powers = (1 << torch.arange(7, -1, -1, device=scores.device)).to(torch.uint8)
    bits = (equal.view(len(scores), -1, 8) * powers).sum(dim=2, dtype=torch.uint8)
    return {"classes": order[:, :k].int(), "top_scores": values[:, :k], "tied": tied, "bits": bits}


def _joined(pieces: Sequence[Any]) -> Any:
    import torch

    return pieces[0] if len(pieces) == 1 else torch.cat(list(pieces))


def _hand_over(batch: ImageBatch) -> None:
    """Let the current stream use the inputs once they are ready, and keep their memory until it has."""
    import torch

    if batch.ready is not None:
        torch.cuda.current_stream().wait_event(batch.ready)
        batch.inputs.record_stream(torch.cuda.current_stream())
