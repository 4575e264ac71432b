"""The search for near duplicates between two sets of images or within one, and writing its pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import (
    UNLABELED,
    ClassSpace,
    Distance,
    ImageSource,
    InputError,
    NearPairs,
    Predictions,
    Signatures,
    TestSet,
    UnknownName,
)
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray
from regrade.core.names import member, refuse_text
from regrade.core.panel import PairRelation
from regrade.display.text import to_csv
from regrade.neighbors import (
    CONFIRMED_SMALL_DIFFERENCE,
    NEIGHBORS,
    SIZE,
    SMALL_SIDE,
    TINY_SIDE,
    Decoder,
    ImageCollection,
    NeighborEngine,
    default_threshold,
    exact_pairs,
    feature_pairs,
    image_pairs,
    no_progress,
    phash_pairs,
    with_confirmation,
)
from regrade.store import write_file
from regrade.studies.leakage.analysis import leakage
from regrade.studies.leakage.pairs import Decisions
from regrade.studies.leakage.pairs_page import pairs_page
from regrade.studies.leakage.result import Leakage
from regrade.studies.leakage.signatures import (
    ImageProgress,
    collection_of,
    decoder_of,
    fresh_signatures,
    kept_signatures,
)
from regrade.studies.loading import scored_predictions
from regrade.studies.scoring import Scoring
from regrade.studies.study import ProgressCallback
from regrade.studies.thumbnails import thumbnails
from regrade.testsets import Layout, ReaderOptions, reader_for

if TYPE_CHECKING:
    from regrade.store import Store

BY_IMAGES = (Distance.EXACT, Distance.PIXELS, Distance.DSSIM, Distance.PHASH)
"""The distances that need nothing but images."""

_BY_DECODING = (Distance.PIXELS, Distance.DSSIM)


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search: a threshold per distance, near duplicates listed per image, common size, and engine.

    ``model`` names the model whose features are compared.
    """

    thresholds: Mapping[Distance, float]
    most: int = NEIGHBORS
    size: int = SIZE
    engine: NeighborEngine = NeighborEngine.NUMPY
    model: str | None = None

    @property
    def by_model(self) -> tuple[Distance, ...]:
        """The distances that compare the embeddings of a model."""
        return tuple(distance for distance in self.thresholds if distance.is_by_model)


def search_for(
    by: Sequence[Distance | str],
    near: Mapping[str, float],
    *,
    most: int = NEIGHBORS,
    size: int = SIZE,
    engine: NeighborEngine | str = NeighborEngine.NUMPY,
    model: str | None = None,
) -> SearchOptions:
    """Options from names of distances (default: all) and thresholds that replace the defaults."""
    refuse_text(by, "by")
    usual = BY_IMAGES + ((Distance.FEATURES,) if model else ())
    distances = tuple(dict.fromkeys(member(Distance, distance) for distance in by)) or usual
    overrides = {member(Distance, name): float(threshold) for name, threshold in near.items()}
    if without_search := [distance.value for distance in overrides if distance not in distances]:
        raise InputError(f"there is a threshold for {without_search[0]}, which is not in --by: add it")
    if overrides.get(Distance.EXACT):
        raise InputError("exact duplicates have no threshold: use --by pixels to find near duplicates")
    if bad := [distance.value for distance, threshold in overrides.items() if not 0 <= threshold < np.inf]:
        raise InputError(f"the threshold of {bad[0]} must be a number >= 0, got {overrides[Distance(bad[0])]:g}")
    if (by_model := [distance.value for distance in distances if distance.is_by_model]) and model is None:
        raise InputError(f"searching by {by_model[0]} requires a model: name it with --model")
    if most < 1:
        raise InputError(f"the number of near duplicates listed per image must be at least 1, got {most}")
    thresholds = {
        distance: overrides[distance] if distance in overrides else default_threshold(distance, size=size)
        for distance in distances
    }
    return SearchOptions(thresholds, most, size, member(NeighborEngine, engine), model)


@dataclass(frozen=True, eq=False)
class ImageSet:
    """One side of a search: the examples, their images, signatures and features."""

    examples: TestSet
    source: ImageSource | None = None
    collection: ImageCollection | None = None
    features: FloatArray | None = field(default=None, repr=False)

    @property
    def decoder(self) -> Decoder | None:
        """What decodes an image by its position; None without images."""
        if self.collection is not None:
            return self.collection.image
        return None if self.source is None else decoder_of(self.source)

    @property
    def unreadable(self) -> dict[str, str]:
        """Images that could not be read, with the reason."""
        if self.collection is None:
            return {}
        unreadable = self.collection.signatures.unreadable
        return {self.examples.ids[position]: reason for position, reason in sorted(unreadable.items())}


@dataclass(frozen=True, eq=False)
class LeakageSearch:
    """A leakage study and the two sets of its pairs."""

    result: Leakage
    first: ImageSet
    second: ImageSet


def study_leakage(
    store: Store,
    name: str,
    against: str | Path | None,
    search: SearchOptions,
    *,
    progress: ProgressCallback,
    image_progress: ImageProgress,
) -> LeakageSearch:
    """Search a test set against another, a folder or itself, and grade every model with and without near duplicates."""
    test_set = store.test_set(name)
    if against is not None and str(against) == name:
        raise InputError(f"--against must differ from {name}: leave it out to search within the test set")
    if against is not None:
        _check_against(store, against, search)
    first = stored_side(store, test_set, search, image_progress)
    second = None if against is None else _other_side(store, against, search, image_progress)
    scored = scored_predictions(store, test_set, store.predictions.model_names(name), progress=progress)
    decisions = _decisions(store, test_set, None if second is None else second.examples)
    confidence = store.config.confidence
    return _search(first, second, search, scored, decisions=decisions, confidence=confidence, progress=image_progress)


def _decisions(store: Store, test_set: TestSet, against: TestSet | None) -> dict[tuple[int, int], PairRelation]:
    """What people decided about pairs of a test set and another, or within it, by the positions of their images."""
    reference = test_set if against is None else against
    sets = [side for side in (test_set, reference) if store.test_sets.has(side.name)]
    decided = {}
    for decision in store.pair_decisions.standing(sets).values():
        for first, second in ((decision.first, decision.second), (decision.second, decision.first)):
            i, j = test_set.position_of.get(first.image), reference.position_of.get(second.image)
            names = (first.test_set, second.test_set) == (test_set.name, reference.name)
            if names and decision.relation and i is not None and j is not None and (against is not None or i < j):
                decided[i, j] = decision.relation
    return decided


def search_folders(
    path: Path, against: Path | None, search: SearchOptions, *, image_progress: ImageProgress = no_progress
) -> LeakageSearch:
    """Search the images of a folder against those of another, or among themselves; nothing is stored."""
    if against is not None and against.resolve() == path.resolve():
        raise InputError(f"the two folders must differ, got {path} twice: name it once to search within it")
    sides = [_folder_side(folder, search, image_progress) for folder in (path, against) if folder is not None]
    second = sides[1] if against is not None else None
    return _search(sides[0], second, search, (), confidence=0.95, progress=image_progress)


def _search(
    first: ImageSet,
    second: ImageSet | None,
    search: SearchOptions,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    decisions: Decisions | None = None,
    confidence: float,
    progress: ImageProgress,
) -> LeakageSearch:
    if second is not None and not search.by_model:
        check_readable(second)
    pairs = find_duplicates(first, second, search, progress)
    sides = (first,) if second is None else (first, second)
    result = leakage(
        first.examples,
        pairs,
        predictions,
        against=None if second is None else second.examples,
        preference=None if first.collection is None else first.collection.signatures.areas,
        unreadable={side.examples.name: side.unreadable for side in sides},
        decisions=decisions,
        cautions=_cautions(sides),
        confidence=confidence,
    )
    return LeakageSearch(result, first, second or first)


def check_readable(against: ImageSet) -> None:
    """Raise if no image can be read: finding no near duplicate would then mean nothing."""
    if len(against.unreadable) == len(against.examples):
        image, reason = next(iter(against.unreadable.items()))
        raise InputError(f"no image of {against.examples.name} can be read, for instance {image}: {reason}")


def find_pairs(
    first: ImageSet, second: ImageSet | None, search: SearchOptions, progress: ImageProgress
) -> Iterator[NearPairs]:
    """The pairs of each distance, in the order of the options; people or `find_duplicates` confirm them."""
    image_distances = {
        distance: threshold for distance, threshold in search.thresholds.items() if distance in _BY_DECODING
    }
    pairs_by_distance: dict[Distance, NearPairs] = {}
    if image_distances:
        own, other_collection = _collection(first), None if second is None else _collection(second)
        image_results = image_pairs(
            own, other_collection, thresholds=image_distances, k=search.most, engine=search.engine, progress=progress
        )
        pairs_by_distance = {pairs.distance: pairs for pairs in image_results}
    for distance, threshold in search.thresholds.items():
        yield (
            pairs_by_distance[distance]
            if distance in pairs_by_distance
            else _stored_pairs(distance, threshold, first, second, search)
        )


def find_duplicates(
    first: ImageSet, second: ImageSet | None, search: SearchOptions, progress: ImageProgress
) -> tuple[NearPairs, ...]:
    """The pairs of each distance, and which of them are near duplicates by their pixels, too.

    Without images, none of the pairs by a model's embeddings is confirmed.
    """
    pairs = tuple(find_pairs(first, second, search, progress))
    own, references = first.decoder, (second or first).decoder
    if own is None or references is None:
        return tuple(replace(near, confirmed=np.zeros(len(near), dtype=bool)) for near in pairs)
    return with_confirmation(pairs, own, references, progress=progress)


def _cautions(sides: Sequence[ImageSet]) -> list[str]:
    """Which images are too small for what perceptual hashes and DSSIM compare."""
    meanings = {
        (
            TINY_SIDE,
            SMALL_SIDE,
        ): "perceptual hashes say little about them, DSSIM is not measured, and a pair is confirmed "
        f"only if its pixels are almost equal (relative difference up to {CONFIRMED_SMALL_DIFFERENCE:g})",
        (0, TINY_SIDE): "different ones may differ less than copies do: only equal pixels make a duplicate",
    }
    signatures = {side.examples.name: side.collection.signatures for side in sides if side.collection is not None}
    lines = []
    for (low, high), meaning in meanings.items():
        counts = {
            name: int((part.readable & (part.areas >= low**2) & (part.areas < high**2)).sum())
            for name, part in signatures.items()
        }
        small = [f"{amount(count, 'image')} of {name}" for name, count in counts.items() if count]
        lines += [f"smaller than {high} x {high} pixels: {' and '.join(small)}; {meaning}"] if small else []
    return lines


def _stored_pairs(
    distance: Distance, threshold: float, first: ImageSet, second: ImageSet | None, search: SearchOptions
) -> NearPairs:
    if distance.is_by_model:
        features = None if second is None else second.features
        if first.features is None or (second is not None and features is None):
            raise InputError(f"there are no stored features of {search.model}")
        return feature_pairs(
            first.features,
            features,
            threshold=threshold,
            k=search.most,
            engine=search.engine,
            note=f"of {search.model}",
            distance=distance,
        )
    own, other_signatures = _signatures(first), None if second is None else _signatures(second)
    if distance is Distance.EXACT:
        return exact_pairs(own, other_signatures, k=search.most)
    return phash_pairs(own, other_signatures, threshold=threshold, k=search.most, engine=search.engine)


def _collection(side: ImageSet) -> ImageCollection:
    if side.collection is None:
        raise InputError(f"{side.examples.name} has no images")
    return side.collection


def _signatures(side: ImageSet) -> Signatures:
    return _collection(side).signatures


def stored_side(store: Store, test_set: TestSet, search: SearchOptions, progress: ImageProgress) -> ImageSet:
    """A test set of the workspace; its images are required unless only features are compared."""
    features = _features(store, test_set, search.model) if search.by_model else None
    if len(search.by_model) == len(search.thresholds):
        source = store.images.read(test_set) if store.images.has(test_set.name) else None
        return ImageSet(test_set, source, None, features)
    source = store.images.read(test_set)
    signatures = kept_signatures(store, test_set.name, source, size=search.size, progress=progress)
    return ImageSet(test_set, source, collection_of(signatures, source), features)


def _other_side(store: Store, against: str | Path, search: SearchOptions, progress: ImageProgress) -> ImageSet:
    """A test set by name, otherwise the images below a path."""
    if store.test_sets.has(str(against)):
        return stored_side(store, store.test_set(str(against)), search, progress)
    examples, source = images_below(Path(against))
    signatures = kept_signatures(store, examples.name, source, size=search.size, progress=progress)
    return ImageSet(examples, source, collection_of(signatures, source))


def _check_against(store: Store, against: str | Path, search: SearchOptions) -> None:
    """Raise early if there is nothing to search in."""
    if store.test_sets.has(str(against)):
        return
    if not Path(against).exists():
        stored_names = store.test_sets.names()
        raise UnknownName("test set", str(against), stored_names, hint=", and there is no folder of this name either")
    if search.by_model:
        raise InputError(
            f"{against} is not a test set and has no features: run regrade testsets add and regrade predict first"
        )


def _folder_side(path: Path, search: SearchOptions, progress: ImageProgress) -> ImageSet:
    examples, source = images_below(path)
    signatures = fresh_signatures(source, size=search.size, progress=progress)
    return ImageSet(examples, source, collection_of(signatures, source))


def images_below(path: Path) -> tuple[TestSet, ImageSource]:
    """The images below a folder, or in any format with a reader, as examples without labels."""
    place = path.resolve()
    nothing = ClassSpace("unlabeled", ("image",))
    reader = reader_for(path)
    listing = reader.find(path, ReaderOptions(nothing, Layout.FLAT))
    labels = np.full(len(listing.ids), UNLABELED)
    name = str(path)
    return TestSet(name, nothing, listing.ids, labels), ImageSource(reader.name, str(place), listing.locations)


def _features(store: Store, test_set: TestSet, model: str | None) -> FloatArray:
    store.predictions.check_manifests(test_set.name, [model] if model else [])
    stored_models = store.predictions.model_names(test_set.name)
    if model not in stored_models:
        raise UnknownName(f"model on {test_set.name}", str(model), stored_models)
    features = store.predictions.read(test_set, str(model)).features
    if features is None:
        raise InputError(
            f"no features of {model} on {test_set.name} are stored: run regrade predict --keep features in a workspace "
            "that has no predictions of it yet"
        )
    return features


def write_pairs(searched: LeakageSearch, path: Path) -> None:
    """Write the pairs for people to judge: as a table (.csv), or as a page with both images (.html)."""
    check_pairs_file(path)
    if path.suffix.lower() == ".csv":
        write_file(path, to_csv(searched.result.pair_table()))
    else:
        write_file(
            path, pairs_page(searched.result, thumbnails(searched.first.source), thumbnails(searched.second.source))
        )


def check_pairs_file(path: Path | None) -> None:
    """Raise early if the file of pairs cannot be written."""
    if path is not None and path.suffix.lower() not in (".csv", ".html", ".htm"):
        raise InputError(f"pairs are written as .csv or .html, not as {path.name!r}")
    if path is not None and not path.absolute().parent.is_dir():
        raise InputError(f"there is no folder {path.absolute().parent} to write {path.name} to")
