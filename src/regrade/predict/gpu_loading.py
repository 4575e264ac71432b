"""Images for models on a GPU: read and decoded ahead of the model, in a stream of their own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from regrade.core import Fingerprints, ModelError, RegradeError
from regrade.executors.processes import ProcessPerThread
from regrade.executors.shared_memory import SharedMemory, can_share
from regrade.models import GpuImageLoader, Resizer, warm_up
from regrade.models.failures import first_line, is_shortage
from regrade.models.preprocess import normalize_by_torch
from regrade.predict.chunks import CHUNK, Chunk, ChunkReader, ChunkRequest
from regrade.predict.engine import MIN_EXAMPLES_FOR_PROCESSES, PredictionInput
from regrade.predict.prepare import MAX_THREADS, PreparationOptions, prepare_on_cpu

if TYPE_CHECKING:
    from regrade.predict.gpu_engine import GpuEngine

_READY = 3  # batches that are decoded, and wait for the model or are in it
_BYTES_PER_IMAGE = 1 << 18  # of shared memory; larger images come through a pipe


@dataclass(frozen=True)
class ImageBatch:
    """The inputs (n, size, size, channels) of the readable images of a block, on the device, once ``ready``."""

    block: range
    positions: Sequence[int]
    inputs: Any
    ready: Any
    fingerprints: Fingerprints
    errors: dict[int, str]


@dataclass(frozen=True)
class StreamDevice:
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


class BatchLoader:
    """Iterates over batches in order; images are read and decoded ahead, as far as the memory allows.

    Only one thread decodes: a second one would wait for the first, and keep the thread of the model from Python.
    """

    def __init__(self, engine: GpuEngine, inputs: PredictionInput, blocks: Sequence[range], batch: int) -> None:
        self._engine = engine
        self._device = engine.device
        self._inputs = inputs
        self.blocks_of = blocks
        self._batch = batch
        self._room_on_device = threading.Condition()
        self._allowed = _READY  # batches, counted from the first, that may be on the device
        options, model = engine.options, engine.model
        self._preparation = PreparationOptions(model.preprocessing, engine.resizer, as_pixels=True)
        size, channels = model.preprocessing.size, model.preprocessing.channels
        self._room = CHUNK * max(_BYTES_PER_IMAGE, size * size * channels)  # of a chunk in the shared memory
        self._chunks = -(-batch // CHUNK)  # per batch
        self._ahead = 3 + 2 * options.workers // self._chunks

    def __enter__(self) -> BatchLoader:
        options, count = self._engine.options, sum(map(len, self.blocks_of))
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
        self._allow(len(self.blocks_of))
        for pool in (self._decoder, self._readers):
            pool.shutdown(wait=True, cancel_futures=True)
        self._stack.close()

    def __iter__(self) -> Iterator[ImageBatch]:
        waiting: deque[Future[ImageBatch]] = deque()
        for number, block in enumerate(self.blocks_of):
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
        for number, positions in enumerate(blocks_of(block, CHUNK), start=first):
            yield ChunkRequest(positions, number * self._room, (number + 1) * self._room)

    def _loaded(self, number: int, block: range, futures: Sequence[Future[Chunk]]) -> ImageBatch:
        """A batch on the device, decoded in another stream than that of the model."""
        if number == 0 and self._engine.resizer is Resizer.GPU:
            with self._one_line_errors(), self._device.on(self._stream):
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

    def _on_device(self, block: range, chunks: Sequence[Chunk]) -> ImageBatch:
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
            return ImageBatch(block, positions, inputs, self._device.recorded(), fingerprints, errors)

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


def blocks_of(positions: range, size: int) -> Iterator[range]:
    for start in range(positions.start, positions.stop, size):
        yield range(start, min(start + size, positions.stop))
