"""The images of a pool: download them, check their checksums, and find duplicates by their decoded pixels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from regrade.build.pool import PoolExclusion, Refusals, Refused, exact_refusals, near_refusal
from regrade.build.pool_source import PoolCandidate
from regrade.core import (
    UNLABELED,
    ClassSpace,
    Distance,
    DownloadError,
    DownloadInterrupted,
    ImageSource,
    InputError,
    NearPairs,
    Signatures,
    TestSet,
    UnreadableImage,
)
from regrade.core.arrays import IntArray
from regrade.core.cores import usable_cores
from regrade.stats import representatives
from regrade.studies.leakage.search import ImageSet, SearchOptions, find_duplicates
from regrade.studies.leakage.signatures import ImageProgress, collection_of
from regrade.testsets import Download, RetryPolicy, download, open_images

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 16  # downloads that wait per thread


def download_images(
    candidates: Sequence[PoolCandidate],
    positions: Sequence[int],
    folder: Path,
    *,
    threads: int,
    retries: RetryPolicy | None,
    skip_failed: bool,
    progress: ImageProgress,
) -> Refusals:
    """Download the images of candidates into a folder, several at a time, and return those that cannot be had.

    Files that exist are not downloaded again. A server that does not respond raises after all others were downloaded,
    so that a later run resumes, unless ``skip_failed``.
    """
    by_url: dict[str, PoolCandidate] = {}
    for position in positions:
        by_url.setdefault(candidates[position].url, candidates[position])

    def fetched(candidate: PoolCandidate) -> tuple[str, DownloadError | InputError | None]:
        target = folder / candidate.location
        try:
            if not candidate.url:
                raise InputError("it has no URL")
            checksum = f"sha256:{candidate.sha256}" if candidate.sha256 else ""
            download(Download(candidate.url, checksum=checksum), target.parent, name=target.name, retries=retries)
        except (DownloadError, InputError) as error:
            return candidate.url, error
        return candidate.url, None

    results = progress(_in_threads(fetched, list(by_url.values()), threads), len(by_url))
    failed = {url: error for url, error in results if error is not None}
    interrupted = [error for error in failed.values() if isinstance(error, DownloadInterrupted)]
    if interrupted and not skip_failed:
        raise DownloadInterrupted(
            f"{len(interrupted):,} of {len(by_url):,} images are not downloaded yet, for example: {interrupted[0]}; "
            "--skip-failed leaves them out"
        )
    return {
        position: Refused(PoolExclusion.UNREADABLE, str(failed[candidates[position].url]))
        for position in positions
        if candidates[position].url in failed
    }


def _in_threads(function: Callable[[Item], Result], items: Sequence[Item], threads: int) -> Iterator[Result]:
    """The results in order; if the iteration ends early, no further item is begun."""
    pool = ThreadPoolExecutor(threads)
    try:
        step = threads * _AHEAD
        for start in range(0, len(items), step):
            yield from pool.map(function, items[start : start + step])
    finally:
        pool.shutdown(cancel_futures=True)


def checksum_refusals(candidates: Sequence[PoolCandidate], positions: Sequence[int], source: ImageSource) -> Refusals:
    """Candidates whose stored content has another SHA-256 than the source states; ``source`` is of these positions."""
    images = open_images(source)
    stated = [row for row, position in enumerate(positions) if candidates[position].sha256]

    def refused(row: int) -> Refused | None:
        try:
            content = images.read(row)
        except UnreadableImage as error:
            return Refused(PoolExclusion.UNREADABLE, str(error))
        actual = hashlib.sha256(content if isinstance(content, bytes) else content.tobytes()).hexdigest()
        expected = candidates[positions[row]].sha256
        if actual == expected:
            return None
        return Refused(PoolExclusion.UNREADABLE, f"its sha256 is {actual}, expected {expected}")

    results = zip(stated, _in_threads(refused, stated, usable_cores()), strict=True)
    return {positions[row]: refusal for row, refusal in results if refusal is not None}


@dataclass(frozen=True, eq=False)
class SignedCandidates:
    """Candidates at ``positions`` of the source with their images and signatures, row by row."""

    candidates: Sequence[PoolCandidate]
    positions: Sequence[int]
    source: ImageSource
    signatures: Signatures

    def without(self, refusals: Mapping[int, Refused]) -> SignedCandidates:
        """The rest."""
        rows = [row for row, position in enumerate(self.positions) if position not in refusals]
        return SignedCandidates(
            self.candidates,
            [self.positions[row] for row in rows],
            source_of(self.source, [self.source.locations[row] for row in rows]),
            self.signatures[np.array(rows, dtype=np.int64)],
        )

    def unreadable(self) -> Refusals:
        """The candidates that cannot be decoded."""
        return {
            self.positions[row]: Refused(PoolExclusion.UNREADABLE, reason)
            for row, reason in self.signatures.unreadable.items()
        }

    def exact_duplicates(self, references: Sequence[ImageSet]) -> Refusals:
        """Copies of reference images and of earlier candidates, pixel by pixel."""
        hashes = {position: _pixels(self.signatures, row) for row, position in enumerate(self.positions)}
        return exact_refusals(self.candidates, hashes, _reference_hashes(references))

    def near_references(
        self, references: Sequence[ImageSet], search: SearchOptions, progress: ImageProgress
    ) -> Refusals:
        """Near duplicates of reference images, each with the nearest one by the first distance that finds it."""
        refusals: Refusals = {}
        for reference in references if self.positions else ():
            for candidates in find_duplicates(self._image_set(), reference, search, progress):
                pairs = candidates.duplicates
                for row, image, value in zip(
                    pairs.first.tolist(), pairs.second.tolist(), pairs.values.tolist(), strict=True
                ):
                    near = f"near duplicate of {_described(reference, image)}: {pairs.distance.value} {value:.4g}"
                    refusals.setdefault(self.positions[row], Refused(PoolExclusion.NEAR_REFERENCE, near))
        return refusals

    def near_duplicates(self, search: SearchOptions, progress: ImageProgress) -> Refusals:
        """The images that are near duplicates of a larger image that is kept; among equals, the first is kept."""
        if len(self.positions) < 2:
            return {}
        pairs = [near.duplicates for near in find_duplicates(self._image_set(), None, search, progress)]
        first, second = (_joined(pairs, name) for name in ("first", "second"))
        rows = np.arange(len(self.positions))
        kept = representatives(rows, first, second, self.signatures.areas)
        return {
            self.positions[row]: near_refusal(self.candidates, self.positions[kept[row]])
            for row in np.flatnonzero(kept != rows).tolist()
        }

    def _image_set(self) -> ImageSet:
        ids = tuple(map(str, self.positions))
        examples = TestSet("candidates", ClassSpace("unlabeled", ("image",)), ids, np.full(len(ids), UNLABELED))
        return ImageSet(examples, self.source, collection_of(self.signatures, self.source))


def source_of(source: ImageSource, locations: Sequence[str]) -> ImageSource:
    """A source with the same reader and path, and other locations."""
    return replace(source, locations=tuple(locations))


def without_exact(search: SearchOptions) -> SearchOptions | None:
    """The same search without exact duplicates; None if there is no other distance."""
    thresholds = dict(search.thresholds)
    thresholds.pop(Distance.EXACT, None)
    return replace(search, thresholds=thresholds) if thresholds else None


def _pixels(signatures: Signatures, row: int) -> bytes:
    content: bytes = signatures.pixel_hashes[row].tobytes()
    return content


def _reference_hashes(references: Sequence[ImageSet]) -> dict[bytes, str]:
    hashes: dict[bytes, str] = {}
    for reference in references:
        if reference.collection is not None:
            signatures = reference.collection.signatures
            for row in np.flatnonzero(signatures.readable).tolist():
                hashes.setdefault(_pixels(signatures, row), _described(reference, row))
    return hashes


def _described(reference: ImageSet, row: int) -> str:
    return f"image {reference.examples.ids[row]!r} of {reference.examples.name}"


def _joined(pairs: Sequence[NearPairs], name: str) -> IntArray:
    return np.concatenate([getattr(near, name) for near in pairs]).astype(np.int64)
