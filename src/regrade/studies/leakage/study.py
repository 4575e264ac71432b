"""The record of the leakage study: its options, and the search that it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.core import Distance, InputError
from regrade.neighbors import NEIGHBORS, SIZE, NeighborEngine, no_progress
from regrade.studies.leakage.figure import leakage_figure
from regrade.studies.leakage.findings import leakage_findings
from regrade.studies.leakage.result import Leakage, LeakagePart
from regrade.studies.leakage.search import check_pairs_file, search_folders, search_for, study_leakage, write_pairs
from regrade.studies.leakage.signatures import ImageProgress
from regrade.studies.report_data import ReportData
from regrade.studies.study import Chapter, Parts, Study, StudyOptions, option, parts_of, test_set_option

if TYPE_CHECKING:
    from regrade.store import Store

_QUICK_DISTANCES = (Distance.EXACT, Distance.PIXELS)


def parse_distances(text: str | None) -> tuple[str, ...]:
    """The names in a list that is separated by commas."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def parse_thresholds(texts: Sequence[str]) -> dict[str, float]:
    """Thresholds by distance, from texts such as ``phash=6``."""
    by_distance = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            by_distance[name.strip()] = float(number)
        except ValueError:
            raise InputError(f"--near takes DISTANCE=THRESHOLD, e.g. phash=6, got {text!r}") from None
    return by_distance


def distances_option(help: str) -> Any:
    """The option ``by``."""
    return option(help, (), kind=str | None, parse=parse_distances)


def thresholds_option() -> Any:
    """The option ``near``."""
    return option(
        "Override a distance threshold, e.g. phash=6. May be repeated.",
        None,
        metavar="DISTANCE=THRESHOLD",
        kind=list[str],
        parse=parse_thresholds,
    )


@dataclass(frozen=True, kw_only=True)
class SearchFields(StudyOptions):
    """The options of any search for duplicates."""

    by: Sequence[Distance | str] = distances_option(
        "Distances, separated by commas: exact, pixels, dssim, phash; in a workspace also features and embeddings "
        "(default: the first four)."
    )
    near: Mapping[str, float] | None = thresholds_option()
    most: int = option("Maximum number of near duplicates per image.", NEIGHBORS)
    size: int = option("Images are scaled to this many pixels per side, a multiple of 32.", SIZE)
    engine: NeighborEngine | str = option(
        "Search library; cuda and torch require torch, faiss requires faiss.", NeighborEngine.NUMPY
    )
    pairs: str | Path | None = option(
        "Write the pairs to a file for manual review: .csv, or .html with both images.", None, says="pairs"
    )
    image_progress: ImageProgress = field(default=no_progress, compare=False, repr=False)


@dataclass(frozen=True)
class LeakageOptions(SearchFields):
    """What is searched, where, and by which distances."""

    test_set: str = test_set_option()
    against: str | Path | None = option(
        "Training set: a test set of the workspace, or a folder (default: search within the test set).",
        None,
        metavar="NAME|PATH",
    )
    model: str | None = option("Also compare the features of this model.", None)


def run(store: Store, options: LeakageOptions) -> Leakage:
    """Find near duplicates ``against`` another test set or a folder, or within the test set itself.

    ``by`` names distances (exact, pixels, dssim, phash, and features of a ``model``) and ``near`` overrides their
    default thresholds. ``most`` limits the near duplicates listed per image. ``pairs`` is a .csv or .html file to write
    the pairs to, for people to judge.
    """
    target = None if options.pairs is None else Path(options.pairs)
    check_pairs_file(target)
    search = search_for(
        options.by,
        options.near or {},
        most=options.most,
        size=options.size,
        engine=options.engine,
        model=options.model,
    )
    searched = study_leakage(
        store,
        options.test_set,
        options.against,
        search,
        progress=options.progress,
        image_progress=options.image_progress,
    )
    if target is not None:
        write_pairs(searched, target)
    return searched.result


@dataclass(frozen=True)
class NeighborsOptions(SearchFields):
    """One or two folders of images, and the distances."""

    first: str | Path = option("Folder of images.", is_argument=True)
    second: str | Path | None = option(
        "Second folder to search in (default: search within the first one).", None, is_argument=True
    )


def find_near_duplicates(options: NeighborsOptions) -> Leakage:
    """Find near duplicates between two folders of images or within one, without a workspace."""
    target = None if options.pairs is None else Path(options.pairs)
    check_pairs_file(target)
    if any(distance in options.by for distance in Distance if distance.is_by_model):
        raise InputError("folders have no features: predict them in a workspace, and use regrade study leakage")
    search = search_for(options.by, options.near or {}, most=options.most, size=options.size, engine=options.engine)
    second = None if options.second is None else Path(options.second)
    searched = search_folders(Path(options.first), second, search, image_progress=options.image_progress)
    if target is not None:
        write_pairs(searched, target)
    return searched.result


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Pairs of sets with stored signatures; computing signatures or DSSIM would take too long for a report."""
    parts = parts_of(LeakagePart.DISTANCES, LeakagePart.MODELS, LeakagePart.PAIRS)
    for name, against, size in searched_pairs(data):
        options = LeakageOptions(name, against, by=_QUICK_DISTANCES, size=size)
        yield Chapter(f"{name} against {against}", options, parts)


def searched_pairs(data: ReportData) -> Iterator[tuple[str, str, int]]:
    """Each pair of a set of the report and another set, with the largest size at which both have signatures."""
    sizes = {name: data.store.signatures.sizes(name) for name in data.store.test_sets.names()}
    for place, name in enumerate(data.names):
        for other_name, other_sizes in sizes.items():
            both = sizes[name] & other_sizes
            if both and other_name != name and other_name not in data.names[:place]:
                yield name, other_name, max(both)


_TABLES_HELP = "Table to print. models: accuracy with and without duplicates. pairs: all pairs. groups: within one set."

LEAKAGE = Study(
    name="leakage",
    question="Are images of one set in another?",
    summary="Find exact and near duplicates between a test set and another set, and grade every model without them."
    "\n\nSignatures of images are stored in the workspace, so that later searches do not decode the images again.",
    requires="Requires two test sets whose images have been compared: regrade study leakage.",
    options=LeakageOptions,
    result=Leakage,
    run=run,
    figure=leakage_figure,
    findings=leakage_findings,
    parts=Parts(LeakagePart, _TABLES_HELP),
    chapters=chapters,
)


def _shown_part(options: NeighborsOptions, result: Leakage) -> LeakagePart | None:
    """The pairs between two folders or the groups within one, if there are any."""
    part = LeakagePart.GROUPS if options.second is None else LeakagePart.PAIRS
    return part if part in result.parts else None


NEIGHBORS_COMMAND = Study(
    name="neighbors",
    question="Which images are duplicates?",
    summary="Find exact and near duplicates: pairs between two folders, or groups within one folder and which image to "
    "keep. Pairs that the pixels do not confirm are listed, and not counted."
    "\n\nNeeds no workspace and stores nothing; `regrade study leakage` stores the signatures of images.",
    options=NeighborsOptions,
    result=Leakage,
    run=lambda _, options: find_near_duplicates(options),
    figure=leakage_figure,
    parts=Parts(LeakagePart, _TABLES_HELP, _shown_part),
    in_workspace=False,
)
