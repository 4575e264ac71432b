"""Images for models on a GPU: read and decoded ahead of the model, in a stream of their own."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from regrade.core import Fingerprints, ModelError, Preprocessing, RegradeError
from regrade.executors.processes import ProcessPerThread
from regrade.executors.shared_memory import SharedMemory, can_share
from regrade.models import GpuImageLoader, Resizer, decode_jpegs, warm_up
from regrade.models.failures import first_line, is_shortage
from regrade.models.preprocess import normalize_by_torch
from regrade.predict.chunks import CHUNK, Chunk, ChunkReader, ChunkRequest, Place
from regrade.predict.engine import MIN_EXAMPLES_FOR_PROCESSES, PredictionInput
from regrade.predict.outputs import ALONE
from regrade.predict.prepare import MAX_THREADS, PreparationOptions, Ways, prepare_on_cpu
from regrade.predict.shared_pass import blocks_of

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
class InputKind:
    """What a model on a GPU takes: how images are prepared, and the type of the numbers."""

    preparation: PreparationOptions
    dtype: Any

    @property
    def preprocessing(self) -> Preprocessing:
        return self.preparation.preprocessing


@dataclass(frozen=True)
class _DecodedBlock:
    """A block of images as they were read, and those that the device has decoded; None where it could not."""

    block: range
    chunks: Sequence[Chunk]
    jpegs: dict[int, Place]
    images: dict[int, Any]
    fingerprints: Fingerprints


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

    def __init__(
        self,
        inputs: PredictionInput,
        kinds: Sequence[InputKind],
        requests: Iterable[tuple[range, Ways]],
        device: StreamDevice,
        *,
        batch: int,
        workers: int,
        count: int,
        models: int,
    ) -> None:
        self._inputs = inputs
        self._kinds = kinds
        self._requests = requests
        self._device = device
        self._batch = batch
        self._advice = f"{ALONE}, or free some of it" if models > 1 else "free some of it"
        self._workers = workers
        self._processes = can_share() and workers > MAX_THREADS and count >= MIN_EXAMPLES_FOR_PROCESSES
        self._room_on_device = threading.Condition()
        self._allowed = _READY  # batches, counted from the first, that may be on the device
        pixels = sum(kind.preprocessing.size**2 * kind.preprocessing.channels for kind in kinds)
        self._room = CHUNK * max(_BYTES_PER_IMAGE, pixels)  # of a chunk in the shared memory
        self._chunks = -(-batch // CHUNK)  # per batch
        self._ahead = 3 + 2 * workers // self._chunks

    def __enter__(self) -> BatchLoader:
        workers = self._workers if self._processes else min(self._workers, MAX_THREADS)
        with ExitStack() as stack:
            memory = SharedMemory(self._room * self._chunks * self._ahead)
            stack.callback(memory.close)
            preparations = [kind.preparation for kind in self._kinds]
            self._reader = ChunkReader(self._inputs.images, self._inputs.source, preparations, memory)
            self._read = stack.enter_context(ProcessPerThread(self._reader)) if self._processes else self._reader
            self._readers = stack.enter_context(ThreadPoolExecutor(workers, thread_name_prefix="read"))
            self._decoder = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="decode"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._allow(sys.maxsize)
        for pool in (self._decoder, self._readers):
            pool.shutdown(wait=True, cancel_futures=True)
        self._stack.close()

    def __iter__(self) -> Iterator[dict[int, ImageBatch]]:
        waiting: deque[Future[dict[int, ImageBatch]]] = deque()
        for number, (block, ways) in enumerate(self._requests):
            if len(waiting) == self._ahead:
                batches = waiting.popleft().result()
                yield batches
                for batch in batches.values():
                    if batch.ready is not None:
                        batch.ready.synchronize()  # the GPU no longer reads the memory that is filled next
            requests = self._chunk_requests(block, ways, first=number % self._ahead * self._chunks)
            chunks = [self._readers.submit(self._read, request) for request in requests]
            waiting.append(self._decoder.submit(self._loaded, number, block, ways, chunks))
        while waiting:
            yield waiting.popleft().result()

    def release(self) -> None:
        """Allow the next batch onto the device."""
        self._allow(1)

    def _allow(self, batches: int) -> None:
        with self._room_on_device:
            self._allowed += batches
            self._room_on_device.notify_all()

    def _chunk_requests(self, block: range, ways: Ways, *, first: int) -> Iterator[ChunkRequest]:
        for number, positions in enumerate(blocks_of(block, CHUNK), start=first):
            yield ChunkRequest(positions, ways, number * self._room, (number + 1) * self._room)

    def _loaded(self, number: int, block: range, ways: Ways, futures: Sequence[Future[Chunk]]) -> dict[int, ImageBatch]:
        """A batch on the device in each way, decoded once in another stream than that of the models."""
        if self._kinds[0].preparation.resizer is Resizer.GPU:
            with self._one_line_errors():
                warm_up()  # takes a second, while the first images are read
        chunks = [future.result() for future in futures]
        with self._room_on_device:
            self._room_on_device.wait_for(lambda: number < self._allowed)
        with self._one_line_errors():
            try:
                return self._on_device(block, ways, chunks)
            except Exception as error:
                if not is_shortage(error):
                    raise
            self._device.free()
            return self._on_device(block, ways, chunks)

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
                    f"a batch of {self._batch} images does not fit into the memory of the GPU: {self._advice}, and run "
                    "the same command again, which resumes"
                ) from None
            raise ModelError(
                f"images cannot be prepared on the GPU ({first_line(error)}): give --resizer torch"
            ) from error

    def _on_device(self, block: range, ways: Ways, chunks: Sequence[Chunk]) -> dict[int, ImageBatch]:
        fingerprints = np.concatenate([chunk.fingerprints for chunk in chunks])
        jpegs = dict(chain.from_iterable(chunk.jpegs.items() for chunk in chunks))
        with self._device.on(self._stream):
            files = [self._reader.content(place) for place in jpegs.values()]
            images = dict(zip(jpegs, decode_jpegs(files), strict=True))
            decoded = _DecodedBlock(block, chunks, jpegs, images, fingerprints)
            return {way: self._in_way(way, decoded) for way in ways}

    def _in_way(self, way: int, decoded: _DecodedBlock) -> ImageBatch:
        """The inputs of one kind."""
        kind, chunks = self._kinds[way], decoded.chunks
        errors = {p: reason for chunk in chunks for (own, p), reason in chunk.errors.items() if own == way}
        places = {p: place for chunk in chunks for (own, p), place in chunk.pixels.items() if own == way}
        pixels = {position: self._reader.content(place) for position, place in places.items()}
        inputs = self._empty_inputs(kind)
        positions = [position for position in decoded.block if position not in errors]
        row_of = {position: row for row, position in enumerate(positions)}
        jpegs = [position for position in decoded.images if position in row_of and position not in pixels]
        for position in self._resized(way, jpegs, decoded, row_of, inputs):
            stored = self._reader.content(decoded.jpegs[position]).tobytes()
            prepared = prepare_on_cpu(position, stored, self._inputs.source, kind.preparation)
            if prepared.input is None:
                errors[position] = prepared.error
            else:
                pixels[position] = np.ascontiguousarray(prepared.input).ravel()
        self._copy(pixels, row_of, inputs, kind)
        if len(errors) > len(decoded.block) - len(positions):  # found only while decoding
            positions = [position for position in positions if position not in errors]
            inputs = self._compacted(inputs, [row_of[position] for position in positions], kind)
        return ImageBatch(decoded.block, positions, inputs, self._device.recorded(), decoded.fingerprints, errors)

    def _resized(
        self, way: int, jpegs: Sequence[int], decoded: _DecodedBlock, row_of: dict[int, int], inputs: Any
    ) -> list[int]:
        """Fill the rows of JPEGs; return the positions of those that the GPU cannot handle."""
        if not jpegs:
            return []
        images = [decoded.images[position] for position in jpegs]
        failed = self._loaders[way].load(images, [row_of[position] for position in jpegs], inputs)
        return [jpegs[number] for number in failed]

    def _empty_inputs(self, kind: InputKind) -> Any:
        """Inputs of a whole batch, so that all batches have one shape; rows without an image are zero."""
        import torch

        preprocessing = kind.preprocessing
        shape = self._batch, preprocessing.size, preprocessing.size, preprocessing.channels
        return torch.zeros(shape, dtype=kind.dtype, device=self._device.name)

    def _compacted(self, inputs: Any, rows: Sequence[int], kind: InputKind) -> Any:
        kept = self._empty_inputs(kind)
        kept[: len(rows)] = inputs[rows]
        return kept

    def _copy(self, pixels: dict[int, Any], row_of: dict[int, int], inputs: Any, kind: InputKind) -> None:
        """Fill the rows of images that were prepared on the CPU."""
        import torch

        if not pixels:
            return
        preprocessing = kind.preprocessing
        shape = len(pixels), preprocessing.size, preprocessing.size, preprocessing.channels
        levels = torch.from_numpy(np.stack(list(pixels.values())).reshape(shape)).to(inputs.device)
        normalized = normalize_by_torch(levels.permute(0, 3, 1, 2), preprocessing).permute(0, 2, 3, 1)
        rows = torch.tensor([row_of[position] for position in pixels], device=inputs.device)
        inputs[rows] = normalized.to(inputs.dtype)

    @cached_property
    def _stream(self) -> Any:
        return self._device.new_stream()

    @cached_property
    def _loaders(self) -> list[GpuImageLoader]:
        """One per kind of inputs."""
        border, device = self._inputs.source.border, self._device.name
        return [GpuImageLoader(kind.preprocessing, border=border, device=device) for kind in self._kinds]
