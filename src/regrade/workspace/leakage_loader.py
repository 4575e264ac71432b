"""Loading what a study of leakage asks for: images and features of both sets, and the pairs that are alike."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

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
    UnreadableImage,
)
from regrade.core.arguments import member, refuse_text
from regrade.core.arrays import FloatArray
from regrade.neighbors import (
    NEIGHBORS,
    SIZE,
    ImageCollection,
    NeighborEngine,
    default_threshold,
    exact_pairs,
    feature_pairs,
    image_pairs,
    phash_pairs,
)
from regrade.neighbors import (
    no_progress as unwatched,
)
from regrade.report import Look, pairs_page, to_csv
from regrade.store import Store, write_file
from regrade.studies import Leakage, Scoring, leakage
from regrade.testsets import Layout, ReaderOptions, decode_gray_or_rgb, open_images, reader_for
from regrade.workspace.loading import ProgressCallback, scored_predictions
from regrade.workspace.signature_loader import ImageProgress, collection_of, fresh_signatures, kept_signatures

BY_IMAGES = (Distance.EXACT, Distance.PIXELS, Distance.DSSIM, Distance.PHASH)
"""The distances that need nothing but images."""

_LOOKED_AT = (Distance.PIXELS, Distance.DSSIM)
_SIDE, _QUALITY = 192, 80  # of the images on a page


@dataclass(frozen=True)
class SearchOptions:
    """What to search by: distances with their cuts, twins a image lists at most, the common size, and the engine.

    ``model`` is whose features are compared.
    """

    cuts: Mapping[Distance, float]
    most: int = NEIGHBORS
    size: int = SIZE
    engine: NeighborEngine = NeighborEngine.NUMPY
    model: str | None = None


def search_for(
    by: Sequence[Distance | str],
    near: Mapping[str, float],
    *,
    most: int = NEIGHBORS,
    size: int = SIZE,
    engine: NeighborEngine | str = NeighborEngine.NUMPY,
    model: str | None = None,
) -> SearchOptions:
    """A search as people ask for it: distances and cuts by name, the usual ones where none are given."""
    refuse_text(by, "by")
    usual = BY_IMAGES + ((Distance.FEATURES,) if model else ())
    wanted = tuple(dict.fromkeys(member(Distance, one) for one in by)) or usual
    cuts = {member(Distance, name): float(cut) for name, cut in near.items()}
    if strange := [one.value for one in cuts if one not in wanted]:
        raise InputError(f"there is a cut for {strange[0]}, which is not searched by: add it to --by")
    if cuts.get(Distance.EXACT):
        raise InputError("exact duplicates have no cut: search by pixels for nearly the same")
    if bad := [one.value for one, cut in cuts.items() if not 0 <= cut < np.inf]:
        raise InputError(f"the cut of {bad[0]} must be a number from 0 on, got {cuts[Distance(bad[0])]:g}")
    if Distance.FEATURES in wanted and model is None:
        raise InputError("features are those of a model: name it with --model")
    if most < 1:
        raise InputError(f"a image lists at least one twin, got {most}")
    every = {one: cuts.get(one, default_threshold(one, size=size)) for one in wanted}
    return SearchOptions(every, most, size, member(NeighborEngine, engine), model)


@dataclass(frozen=True, eq=False)
class ImageSet:
    """One side of a search: the examples, where their images are, and what is known of them."""

    examples: TestSet
    source: ImageSource | None = None
    collection: ImageCollection | None = None
    features: FloatArray | None = field(default=None, repr=False)

    @property
    def unreadable(self) -> dict[str, str]:
        """Images that could not be read, with the reason."""
        if self.collection is None:
            return {}
        found = self.collection.signatures.unreadable
        return {self.examples.ids[position]: reason for position, reason in sorted(found.items())}


@dataclass(frozen=True, eq=False)
class LeakageSearch:
    """A study of leakage, and the two sides that its pairs are of."""

    result: Leakage
    first: ImageSet
    second: ImageSet


def study_leakage(
    store: Store,
    name: str,
    against: str | Path | None,
    search: SearchOptions,
    *,
    watch: ProgressCallback,
    watch_images: ImageProgress,
) -> LeakageSearch:
    """Search a test set against another, a folder, or itself, and hold every model with and without what is found."""
    test_set = store.test_set(name)
    if against is not None and str(against) == name:
        raise InputError(f"{name} against itself is a search within it: leave out --against")
    if against is not None:
        _check_there(store, against, search)
    first = _stored_side(store, test_set, search, watch_images)
    second = None if against is None else _other_side(store, against, search, watch_images)
    scored = scored_predictions(store, test_set, store.model_names(name), watch=watch)
    return _searched(first, second, search, scored, confidence=store.config.confidence, watch=watch_images)


def search_folders(
    path: Path, against: Path | None, search: SearchOptions, *, watch_images: ImageProgress = unwatched
) -> LeakageSearch:
    """Search the images below a folder against those below another, or among themselves; nothing is kept."""
    if against is not None and against.resolve() == path.resolve():
        raise InputError(f"{path} against itself is a search within it: name it once")
    sides = [_folder_side(one, search, watch_images) for one in (path, against) if one is not None]
    second = sides[1] if against is not None else None
    return _searched(sides[0], second, search, (), confidence=0.95, watch=watch_images)


def _searched(
    first: ImageSet,
    second: ImageSet | None,
    search: SearchOptions,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    confidence: float,
    watch: ImageProgress,
) -> LeakageSearch:
    if second is not None and Distance.FEATURES not in search.cuts:
        _check_readable(second)
    pairs = tuple(_pairs(first, second, search, watch))
    sides = (first,) if second is None else (first, second)
    result = leakage(
        first.examples,
        pairs,
        predictions,
        against=None if second is None else second.examples,
        preference=None if first.collection is None else first.collection.signatures.areas,
        unreadable={side.examples.name: side.unreadable for side in sides},
        confidence=confidence,
    )
    return LeakageSearch(result, first, second or first)


def _check_readable(against: ImageSet) -> None:
    """Raise where not one image can be read: no twin among nothing is no sign that there is none."""
    if len(against.unreadable) == len(against.examples):
        image, reason = next(iter(against.unreadable.items()))
        raise InputError(f"no image of {against.examples.name} can be read, for instance {image}: {reason}")


def _pairs(
    first: ImageSet, second: ImageSet | None, search: SearchOptions, watch: ImageProgress
) -> Iterator[NearPairs]:
    """The pairs of each distance, in the order in which they were asked for."""
    looked_at = {one: cut for one, cut in search.cuts.items() if one in _LOOKED_AT}
    seen: dict[Distance, NearPairs] = {}
    if looked_at:
        own, other = _collection(first), None if second is None else _collection(second)
        found = image_pairs(own, other, thresholds=looked_at, k=search.most, engine=search.engine, progress=watch)
        seen = {one.distance: one for one in found}
    for distance, cut in search.cuts.items():
        yield seen[distance] if distance in seen else _by_records(distance, cut, first, second, search)


def _by_records(
    distance: Distance, cut: float, first: ImageSet, second: ImageSet | None, search: SearchOptions
) -> NearPairs:
    if distance is Distance.FEATURES:
        features = None if second is None else second.features
        if first.features is None or (second is not None and features is None):
            raise InputError(f"there are no features of {search.model}")
        return feature_pairs(
            first.features, features, threshold=cut, k=search.most, engine=search.engine, note=f"of {search.model}"
        )
    own, other = _signatures(first), None if second is None else _signatures(second)
    if distance is Distance.EXACT:
        return exact_pairs(own, other, k=search.most)
    return phash_pairs(own, other, threshold=cut, k=search.most, engine=search.engine)


def _collection(side: ImageSet) -> ImageCollection:
    if side.collection is None:
        raise InputError(f"{side.examples.name} has no images")
    return side.collection


def _signatures(side: ImageSet) -> Signatures:
    return _collection(side).signatures


def _stored_side(store: Store, test_set: TestSet, search: SearchOptions, watch: ImageProgress) -> ImageSet:
    """A test set of the workspace; its images are needed unless only features are compared."""
    features = _features(store, test_set, search.model) if Distance.FEATURES in search.cuts else None
    if set(search.cuts) == {Distance.FEATURES}:
        source = store.images(test_set) if store.has_images(test_set.name) else None
        return ImageSet(test_set, source, None, features)
    source = store.images(test_set)
    found = kept_signatures(store, test_set.name, source, size=search.size, watch=watch)
    return ImageSet(test_set, source, collection_of(found, source), features)


def _other_side(store: Store, against: str | Path, search: SearchOptions, watch: ImageProgress) -> ImageSet:
    """A test set by its name, or else the images below a path."""
    if store.has_test_set(str(against)):
        return _stored_side(store, store.test_set(str(against)), search, watch)
    examples, source = images_below(Path(against))
    found = kept_signatures(store, examples.name, source, size=search.size, watch=watch)
    return ImageSet(examples, source, collection_of(found, source))


def _check_there(store: Store, against: str | Path, search: SearchOptions) -> None:
    """Raise before any work where there is nothing to search in."""
    if store.has_test_set(str(against)):
        return
    if not Path(against).exists():
        known = store.test_set_names()
        raise UnknownName("test set", str(against), known, hint=", and there is no folder of this name either")
    if Distance.FEATURES in search.cuts:
        raise InputError(f"{against} is no test set and has no features: add it with regrade testsets add, and predict")


def _folder_side(path: Path, search: SearchOptions, watch: ImageProgress) -> ImageSet:
    examples, source = images_below(path)
    found = fresh_signatures(source, size=search.size, watch=watch)
    return ImageSet(examples, source, collection_of(found, source))


def images_below(path: Path) -> tuple[TestSet, ImageSource]:
    """The images below a folder, or in another form that a reader knows, as examples without labels."""
    place = path.resolve()
    nothing = ClassSpace("unlabeled", ("image",))
    reader = reader_for(path)
    found = reader.find(path, ReaderOptions(nothing, Layout.FLAT))
    labels = np.full(len(found.ids), UNLABELED)
    name = str(path)
    return TestSet(name, nothing, found.ids, labels), ImageSource(reader.name, str(place), found.locations)


def _features(store: Store, test_set: TestSet, model: str | None) -> FloatArray:
    store.check_manifests(test_set.name, [model] if model else [])
    known = store.model_names(test_set.name)
    if model not in known:
        raise UnknownName(f"model on {test_set.name}", str(model), known)
    found = store.predictions(test_set, str(model)).features
    if found is None:
        raise InputError(
            f"no features of {model} on {test_set.name} are stored: regrade predict --keep features, in a workspace "
            "that has no predictions of it yet"
        )
    return found


def write_pairs(searched: LeakageSearch, path: Path) -> None:
    """Write the pairs for people to judge: as a table (.csv), or as a page with both images (.html)."""
    check_pairs_file(path)
    if path.suffix.lower() == ".csv":
        write_file(path, to_csv(searched.result.pair_table()))
    else:
        write_file(path, pairs_page(searched.result, _look(searched.first), _look(searched.second)))


def check_pairs_file(path: Path | None) -> None:
    """Raise before any work where pairs could not be written after it."""
    if path is not None and path.suffix.lower() not in (".csv", ".html", ".htm"):
        raise InputError(f"pairs are written as .csv or .html, not as {path.name!r}")
    if path is not None and not path.absolute().parent.is_dir():
        raise InputError(f"there is no folder {path.absolute().parent} to write {path.name} to")


def _look(side: ImageSet) -> Look:
    """Small images of one side, none where one cannot be read or there are none."""
    if side.source is None:
        return lambda _: None
    source = side.source
    images = open_images(source)

    def look(position: int) -> bytes | None:
        try:
            image = decode_gray_or_rgb(images.read(position), orientation=source.orientation, border=source.border)
        except UnreadableImage:
            return None
        scale = _SIDE / max(image.size)
        wide, high = (max(1, round(side * scale)) for side in image.size)
        by = Image.Resampling.NEAREST if scale >= 2 else Image.Resampling.LANCZOS  # a tiny image keeps its pixels
        buffer = io.BytesIO()
        image.resize((wide, high), by).convert("RGB").save(buffer, format="JPEG", quality=_QUALITY)
        return buffer.getvalue()

    return look


def find_twins(
    first: str | Path,
    second: str | Path | None = None,
    *,
    by: Sequence[Distance | str] = (),
    near: Mapping[str, float] | None = None,
    most: int = NEIGHBORS,
    size: int = SIZE,
    engine: NeighborEngine | str = NeighborEngine.NUMPY,
    pairs: str | Path | None = None,
    watch_images: ImageProgress = unwatched,
) -> Leakage:
    """Twins between two folders of images, or within one, without a workspace; options are those of a study."""
    target = None if pairs is None else Path(pairs)
    check_pairs_file(target)
    refuse_text(by, "by")
    if Distance.FEATURES in [member(Distance, one) for one in by]:
        raise InputError("folders have no features: predict them in a workspace, and use regrade study leakage")
    search = search_for(by, near or {}, most=most, size=size, engine=engine)
    against = None if second is None else Path(second)
    found = search_folders(Path(first), against, search, watch_images=watch_images)
    if target is not None:
        write_pairs(found, target)
    return found.result
