"""Compute one model on a GPU, on images that are decoded and resized there.

Reading, decoding, the model and the way back of its predictions run side by side, each one batch ahead of the next.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from regrade.core import Fingerprints, ModelError, RegradeError, Ties
from regrade.core.predictions import STORED_K
from regrade.executors.processes import ProcessPerThread
from regrade.executors.shared_memory import SharedMemory, can_share
from regrade.models import (
    GpuImageLoader,
    ModelMetadata,
    OutOfMemory,
    Resizer,
    fastest_resizer,
    gpu_decoder,
    warm_up,
)
from regrade.models.failures import first_line, is_shortage
from regrade.models.preprocess import normalize_by_torch
from regrade.models.torch_runtime import TorchModel, half_types
from regrade.predict.captured import CapturedFunction
from regrade.predict.chunks import CHUNK, Chunk, ChunkReader, ChunkRequest
from regrade.predict.engine import (
    MIN_EXAMPLES_FOR_PROCESSES,
    EngineOptions,
    PredictionInput,
    Progress,
    find_batch_size,
)
from regrade.predict.outputs import OutputCheck, Outputs, error_message
from regrade.predict.prepare import MAX_THREADS, PreparationOptions, check_source_exists, prepare_on_cpu
from regrade.store import Part, empty_part

_READY = 3  # batches that are decoded, and wait for the model or are in it
_BYTES_PER_IMAGE = 1 << 18  # of shared memory; larger images come through a pipe


@dataclass(frozen=True)
class _Batch:
    """The inputs (n, size, size, channels) of the readable images of a block, on the device, once ``ready``."""

    block: range
    positions: Sequence[int]
    inputs: Any
    ready: Any
    fingerprints: Fingerprints
    errors: dict[int, str]


@dataclass(frozen=True)
class _Running:
    """A batch in the model, and its outputs on the way back."""

    batch: _Batch
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
        self.device = _Device(model.settings.device.value)

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
        blocks = [block for positions in ranges for block in _blocks(positions, batch)]
        with closing(self._running(inputs, blocks, batch)) as running:
            for positions in ranges:
                part = empty_part(
                    positions,
                    k=min(STORED_K, len(self.model.class_space)),
                    width=len(self.model.class_space) if self.options.keep_scores else None,
                )
                for block in _blocks(positions, batch):
                    part = self._finished(next(running), inputs.examples, part)
                    progress(len(block))
                if part.unreadable:
                    check_source_exists(inputs.source)
                yield part

    def _running(self, inputs: PredictionInput, blocks: Sequence[range], batch: int) -> Generator[_Running, None, None]:
        """The blocks in order, while the next one is already in the model."""
        waiting: deque[_Running] = deque()
        with _Loading(self, inputs, blocks, batch) as loading:
            for loaded in loading:
                waiting.append(self._launch(loaded, inputs.examples))
                loading.release()
                if len(waiting) == 2:
                    yield waiting.popleft()
            yield from waiting

    def _launch(self, batch: _Batch, examples: Sequence[str]) -> _Running:
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


@dataclass(frozen=True)
class _Device:
    """The device of a run; in tests it may be the CPU, where streams and events do nothing."""

    name: str

    @property
    def is_gpu(self) -> bool:
        return self.name == "cuda"

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        """Work in a stream; None is the default one."""
        import torch

        return torch.cuda.stream(stream) if self.is_gpu else nullcontext()

    def new_stream(self) -> Any:
        import torch

        return torch.cuda.Stream() if self.is_gpu else None

    def recorded(self) -> Any:
        """An event after the work so far in the current stream.

        Who waits for it sleeps: threads that ask the driver over and over again would slow down the one that decodes.
        """
        import torch

        return torch.cuda.current_stream().record_event(torch.cuda.Event(blocking=True)) if self.is_gpu else None

    def free(self) -> None:
        """Give memory that is not in use back to the GPU."""
        import torch

        if self.is_gpu:
            torch.cuda.empty_cache()


class _Loading:
    """Iterates over batches in order; images are read and decoded ahead, as far as the memory allows.

    Only one thread decodes: a second one would wait for the first, and keep the thread of the model from Python.
    """

    def __init__(self, engine: GpuEngine, inputs: PredictionInput, blocks: Sequence[range], batch: int) -> None:
        self._engine = engine
        self._device = engine.device
        self._inputs = inputs
        self._blocks = blocks
        self._batch = batch
        self._room_on_device = threading.Condition()
        self._allowed = _READY  # batches, counted from the first, that may be on the device
        options, model = engine.options, engine.model
        self._preparation = PreparationOptions(model.preprocessing, engine.resizer, as_pixels=True)
        size, channels = model.preprocessing.size, model.preprocessing.channels
        self._room = CHUNK * max(_BYTES_PER_IMAGE, size * size * channels)  # of a chunk in the shared memory
        self._chunks = -(-batch // CHUNK)  # per batch
        self._ahead = 3 + 2 * options.workers // self._chunks

    def __enter__(self) -> _Loading:
        options, count = self._engine.options, sum(map(len, self._blocks))
        processes = can_share() and options.workers > MAX_THREADS and count >= MIN_EXAMPLES_FOR_PROCESSES
        with ExitStack() as stack:
            memory = SharedMemory(self._room * self._chunks * self._ahead)
            stack.callback(memory.close)
            inputs = self._inputs
            self._reader = ChunkReader(inputs.images, inputs.source, self._preparation, memory)
            self._read = stack.enter_context(ProcessPerThread(self._reader)) if processes else self._reader
            workers = options.workers if processes else min(options.workers, MAX_THREADS)
            self._readers = stack.enter_context(ThreadPoolExecutor(workers, thread_name_prefix="read"))
            self._decoder = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="decode"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._allow(len(self._blocks))
        for pool in (self._decoder, self._readers):
            pool.shutdown(wait=True, cancel_futures=True)
        self._stack.close()

    def __iter__(self) -> Iterator[_Batch]:
        waiting: deque[Future[_Batch]] = deque()
        for number, block in enumerate(self._blocks):
            if len(waiting) == self._ahead:
                batch = waiting.popleft().result()
                yield batch
                if batch.ready is not None:
                    batch.ready.synchronize()  # the GPU no longer reads the memory that is filled next
            requests = self._requests(block, first=number % self._ahead * self._chunks)
            chunks = [self._readers.submit(self._read, request) for request in requests]
            waiting.append(self._decoder.submit(self._loaded, number, block, chunks))
        while waiting:
            yield waiting.popleft().result()

    def release(self) -> None:
        """Allow the next batch onto the device."""
        self._allow(1)

    def _allow(self, batches: int) -> None:
        with self._room_on_device:
            self._allowed += batches
            self._room_on_device.notify_all()

    def _requests(self, block: range, *, first: int) -> Iterator[ChunkRequest]:
        for number, positions in enumerate(_blocks(block, CHUNK), start=first):
            yield ChunkRequest(positions, number * self._room, (number + 1) * self._room)

    def _loaded(self, number: int, block: range, futures: Sequence[Future[Chunk]]) -> _Batch:
        """A batch on the device, decoded in another stream than that of the model."""
        if self._engine.resizer is Resizer.GPU:
            with self._one_line_errors():
                warm_up()  # takes a second, while the first images are read
        chunks = [future.result() for future in futures]
        with self._room_on_device:
            self._room_on_device.wait_for(lambda: number < self._allowed)
        with self._one_line_errors():
            try:
                return self._on_device(block, chunks)
            except Exception as error:
                if not is_shortage(error):
                    raise
            self._device.free()
            return self._on_device(block, chunks)

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        """Around work on the device: whatever the decoder or torch raises becomes one line that says what to do."""
        try:
            yield
        except RegradeError:
            raise
        except Exception as error:
            if is_shortage(error):
                raise ModelError(
                    f"a batch of {self._batch} images does not fit into the memory of the GPU: free some of it and run "
                    "the same command again, which resumes"
                ) from None
            raise ModelError(
                f"images cannot be prepared on the GPU ({first_line(error)}): give --resizer torch"
            ) from error

    def _on_device(self, block: range, chunks: Sequence[Chunk]) -> _Batch:
        errors = {position: reason for chunk in chunks for position, reason in chunk.errors.items()}
        fingerprints = np.concatenate([chunk.fingerprints for chunk in chunks])
        with self._device.on(self._stream):
            inputs = self._empty_inputs()
            positions = [position for position in block if position not in errors]
            row_of = {position: row for row, position in enumerate(positions)}
            jpegs = dict(chain.from_iterable(chunk.jpegs.items() for chunk in chunks))
            pixels = {p: self._reader.content(place) for chunk in chunks for p, place in chunk.pixels.items()}
            for position in self._decode(jpegs, row_of, inputs):
                prepared = prepare_on_cpu(
                    position, self._reader.content(jpegs[position]).tobytes(), self._inputs.source, self._preparation
                )
                if prepared.input is None:
                    errors[position] = prepared.error
                else:
                    pixels[position] = np.ascontiguousarray(prepared.input).ravel()
            self._copy(pixels, row_of, inputs)
            if len(errors) > len(block) - len(positions):  # found only while decoding
                positions = [position for position in positions if position not in errors]
                inputs = self._compacted(inputs, [row_of[position] for position in positions])
            return _Batch(block, positions, inputs, self._device.recorded(), fingerprints, errors)

    def _empty_inputs(self) -> Any:
        """Inputs of a whole batch, so that all batches have one shape; rows without an image are zero."""
        import torch

        preprocessing = self._engine.model.preprocessing
        shape = self._batch, preprocessing.size, preprocessing.size, preprocessing.channels
        return torch.zeros(shape, dtype=self._engine.input_type, device=self._device.name)

    def _compacted(self, inputs: Any, rows: Sequence[int]) -> Any:
        kept = self._empty_inputs()
        kept[: len(rows)] = inputs[rows]
        return kept

    def _decode(self, jpegs: dict[int, slice | bytes], row_of: dict[int, int], inputs: Any) -> list[int]:
        """Fill the rows of JPEGs; return the positions of those that the GPU cannot handle."""
        if not jpegs:
            return []
        files = [self._reader.content(place) for place in jpegs.values()]
        positions = list(jpegs)
        failed = self._images.load(files, [row_of[position] for position in positions], inputs)
        return [positions[number] for number in failed]

    def _copy(self, pixels: dict[int, Any], row_of: dict[int, int], inputs: Any) -> None:
        """Fill the rows of images that were prepared on the CPU."""
        import torch

        if not pixels:
            return
        preprocessing = self._engine.model.preprocessing
        shape = len(pixels), preprocessing.size, preprocessing.size, preprocessing.channels
        levels = torch.from_numpy(np.stack(list(pixels.values())).reshape(shape)).to(inputs.device)
        normalized = normalize_by_torch(levels.permute(0, 3, 1, 2), preprocessing).permute(0, 2, 3, 1)
        rows = torch.tensor([row_of[position] for position in pixels], device=inputs.device)
        inputs[rows] = normalized.to(inputs.dtype)

    @cached_property
    def _stream(self) -> Any:
        return self._device.new_stream()

    @cached_property
    def _images(self) -> GpuImageLoader:
        model = self._engine.model
        return GpuImageLoader(model.preprocessing, border=self._inputs.source.border, device=self._device.name)


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


def _hand_over(batch: _Batch) -> None:
    """Let the current stream use the inputs once they are ready, and keep their memory until it has."""
    import torch

    if batch.ready is not None:
        torch.cuda.current_stream().wait_event(batch.ready)
        batch.inputs.record_stream(torch.cuda.current_stream())


def _blocks(positions: range, size: int) -> Iterator[range]:
    for start in range(positions.start, positions.stop, size):
        yield range(start, min(start + size, positions.stop))
