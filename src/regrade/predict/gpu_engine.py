"""Compute models on a GPU, on images that are decoded and resized there.

Reading, decoding, the models and the way back of their predictions run side by side, each one batch ahead of the next.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from regrade.core import ModelError, Ties
from regrade.core.predictions import STORED_K
from regrade.models import (
    OutOfMemory,
    Resizer,
    fastest_resizer,
    gpu_decoder,
)
from regrade.models.failures import is_shortage
from regrade.models.torch_runtime import TorchModel, half_types
from regrade.predict.captured import CapturedFunction
from regrade.predict.engine import (
    Engine,
    EngineOptions,
    PredictionInput,
    Share,
)
from regrade.predict.gpu_loading import BatchLoader, ImageBatch, InputKind, StreamDevice
from regrade.predict.outputs import OutputCheck, Outputs, error_message, shortage_message
from regrade.predict.prepare import PreparationOptions
from regrade.predict.shared_pass import Collector, Outcome, Progress, SharedPass, out_of_order
from regrade.store import Part


@dataclass(frozen=True)
class RunningBatch:
    """A batch in the model, and its outputs on the way back."""

    batch: ImageBatch
    outputs: dict[str, Any]
    done: Any


class GpuEngine(Engine):
    """Runs torch models on a GPU; interface and guarantees are those of `PredictionEngine`."""

    def __init__(self, model: TorchModel, options: EngineOptions) -> None:
        self.model: TorchModel = model
        self.options = options
        self.resizer = options.resizer or (Resizer.GPU if gpu_decoder() else fastest_resizer())
        self._output = OutputCheck(model)
        self._rows_at_once: int | None = None  # set when a batch does not fit into the memory
        self._captured = CapturedFunction(self._of_images)
        self._compile_note = ""
        self._launching = Lock()
        self.shares_inputs = False  # with other models, so a module that changes them in place needs its own
        self.device = StreamDevice(model.settings.device.value)

    @property
    def note(self) -> str:
        """How long compiling took, and why the model is not launched as one CUDA graph, if so."""
        reason = self._captured.reason
        return ", ".join(filter(None, (self._compile_note, reason and f"launched kernel by kernel: {reason}")))

    @property
    def input_kind(self) -> InputKind:
        """What the model takes: how images are prepared for it, and the type of numbers in which it computes."""
        import torch

        preparation = PreparationOptions(self.model.preprocessing, self.resizer, as_pixels=True)
        return InputKind(preparation, half_types().get(self.model.precision, torch.float32))

    @staticmethod
    def together(
        shares: Sequence[Share], inputs: PredictionInput, *, progress: Progress
    ) -> Generator[Outcome, None, None]:
        """Predict the missing parts of several models in one pass, in batches of the smallest size."""
        first: GpuEngine = shares[0].engine
        batch = min(share.batch for share in shares)
        images = SharedPass([share.ranges for share in shares], [share.engine.input_kind for share in shares])
        loader = BatchLoader(
            inputs,
            images.ways,
            images.requests(batch),
            first.device,
            batch=batch,
            workers=first.options.workers,
            count=len(images),
            models=len(shares),
        )
        for share in shares:
            share.engine.shares_inputs = len(shares) > len(images.ways)
        collectors = [_LaunchCollector(share, inputs.examples) for share in shares]
        with loader as loading, closing(_releasing(loading)) as loaded:
            yield from images.outcomes(loaded, collectors, inputs.source, batch=batch, progress=progress)

    def launch(self, batch: ImageBatch, examples: Sequence[str]) -> RunningBatch:
        """Start the model on a batch, and the way back of its outputs; nothing here waits for the GPU."""
        if not batch.positions:
            return RunningBatch(batch, {}, None)
        names = [examples[position] for position in batch.positions]
        with self._launching, self.device.on(None):  # the next launch overwrites the outputs of a CUDA graph
            _hand_over(batch)
            outputs = self._outputs(batch.inputs.permute(0, 3, 1, 2), len(batch.positions), names)
            back = {name: tensor.to("cpu", non_blocking=True) for name, tensor in outputs.items()}
            return RunningBatch(batch, back, self.device.recorded())

    def _outputs(self, inputs: Any, count: int, examples: Sequence[str]) -> dict[str, Any]:
        """What is stored of the first ``count`` inputs, on the device; in pieces if a batch does not fit."""
        rows = min(self._rows_at_once or len(inputs), len(inputs))
        try:
            if rows == len(inputs):
                with self._compiling():
                    return {name: tensor[:count] for name, tensor in self._captured(inputs).items()}
            pieces = [self._of_images(inputs[start : start + rows]) for start in range(0, count, rows)]
        except Exception as error:  # a model is the user's code: any error is reported in one line
            if not isinstance(error, OutOfMemory) and not is_shortage(error):
                raise ModelError(error_message(error, self.model.spec.name, examples)) from error
            self._captured = CapturedFunction(self._of_images)
            self.device.free()
            if rows == 1:
                raise ModelError(shortage_message(self.model.spec.name, self.options.models)) from None
            self._rows_at_once = rows // 2
            return self._outputs(inputs, count, examples)
        return {name: _joined([piece[name] for piece in pieces])[:count] for name in pieces[0]}

    @contextmanager
    def _compiling(self) -> Iterator[None]:
        """Around the first batch of a model that is to be compiled: note how long it takes."""
        started = time.perf_counter()
        yield
        if self.model.settings.compile and not self._compile_note:
            self._compile_note = f"compiled in {time.perf_counter() - started:.0f} s"

    def _of_images(self, inputs: Any) -> dict[str, Any]:
        own = inputs.clone() if self.shares_inputs else inputs
        scores, features = self.model.outputs_on_device(own, features=self.options.keep_features)
        self._output.shape(scores, scores.is_floating_point(), len(inputs))
        outputs = top_outputs(scores, min(STORED_K, scores.shape[1]))
        if self.options.keep_scores:
            outputs["scores"] = scores
        return outputs if features is None else outputs | {"features": features}

    def finished(self, running: RunningBatch, examples: Sequence[str], part: Part) -> Part:
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


class _LaunchCollector(Collector):
    """Launches the model on batches, and fetches its outputs one batch later."""

    def __init__(self, share: Share, examples: Sequence[str]) -> None:
        self._engine: GpuEngine = share.engine
        self._examples = examples
        self._ranges = iter(share.ranges)
        self._part: Part | None = None
        self._running: RunningBatch | None = None

    def add(self, images: ImageBatch) -> Part | None:
        """Launch the model; returns the part that the batch before has completed, if so."""
        before, self._running = self._running, self._engine.launch(images, self._examples)
        return None if before is None else self._filled(before)

    def finish(self) -> Part | None:
        """The part that the last batch completes; raises if images are missing."""
        last, self._running = self._running, None
        part = None if last is None else self._filled(last)
        if self._part is not None or next(self._ranges, None) is not None:
            raise out_of_order(0 if last is None else last.batch.block.stop)
        return part

    def _filled(self, running: RunningBatch) -> Part | None:
        start = running.batch.block.start
        part = self._engine.empty_part(next(self._ranges, range(0))) if self._part is None else self._part
        if not part.start <= start < part.start + len(part):
            raise out_of_order(start)
        part = self._engine.finished(running, self._examples, part)
        complete = running.batch.block.stop == part.start + len(part)
        self._part = None if complete else part
        return part if complete else None


def _releasing(loading: BatchLoader) -> Generator[dict[int, ImageBatch], None, None]:
    """The batches, each of which makes room for another one when the models are launched."""
    for batches in loading:
        yield batches
        loading.release()


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
