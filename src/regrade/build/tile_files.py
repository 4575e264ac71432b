"""The folder of an export: which folders may be used, and tiles written so that a run can be repeated or resumed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from PIL import Image

from regrade.build.tiles import TileCrop, TileFormat, decode_for_tile, encode_tile
from regrade.core import AlreadyStored, FormatError, Images, ImageSource, InputError, UnreadableImage
from regrade.core.cores import usable_cores
from regrade.core.strict_json import parse_json
from regrade.store.atomic import sync_files
from regrade.store.file_errors import write_errors

TASKS_JSON, TASKS_CSV, TILES = "tasks.json", "tasks.csv", "tiles"
SUFFIX = ".jpg"
_TEMPORARY = ".tmp"
_MODIFIED = 946_684_800  # the modification time of every tile: 2000-01-01 UTC
_AHEAD = 32  # tiles per thread that are prepared at a time


@dataclass(frozen=True)
class TileImage:
    """Where the image of a tile is: in the images of a test set, at a position."""

    images: Images
    source: ImageSource
    position: int


@dataclass(frozen=True)
class TileResult:
    """What was done for a tile: ``pixels`` is a hash of its image, ``error`` says why that cannot be read."""

    name: str
    pixels: bytes = b""
    is_new: bool = False
    is_enlarged: bool = False
    error: str = ""


def check_export_folder(folder: Path, tile_names: AbstractSet[str]) -> None:
    """Raise unless a folder is missing, empty, or an export whose tiles all have these names."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file: name a folder for the export")
    strange = [path.name for path in folder.iterdir() if path.name != TILES and not _is_list_file(path)]
    tiles = folder / TILES
    if tiles.is_dir():
        strange += [f"{TILES}/{path.name}" for path in tiles.iterdir() if not _is_tile(path, tile_names)]
    elif tiles.exists():
        strange.append(TILES)
    if not strange and not _is_task_list(folder / TASKS_JSON, tile_names):
        strange = [name for name in (TASKS_JSON, TASKS_CSV) if (folder / name).exists()]
    if strange:
        raise AlreadyStored(
            f"{folder} contains {min(strange)}, which is not of an export of this build: choose another folder"
        )


def _is_list_file(path: Path) -> bool:
    """Whether a file has the name of a list of tasks, or of one that a killed process was writing."""
    names = (TASKS_JSON, TASKS_CSV)
    return path.name in names or (path.suffix == _TEMPORARY and path.name.startswith(tuple(f".{n}." for n in names)))


def _is_tile(path: Path, tile_names: AbstractSet[str]) -> bool:
    """Whether a file has the name of a tile, or of one that a killed process was writing."""
    return (path.stem in tile_names and path.suffix == SUFFIX) or _is_temporary(path, tile_names)


def _is_temporary(path: Path, tile_names: AbstractSet[str]) -> bool:
    return path.suffix == _TEMPORARY and path.name.startswith(".") and path.stem[1:] in tile_names


def _is_task_list(path: Path, tile_names: AbstractSet[str]) -> bool:
    """Whether a file lists tasks with tiles of these names only."""
    try:
        rows = parse_json(path.read_text(encoding="utf-8"))
        return isinstance(rows, list) and bool(rows) and all(tile_names >= set(row["tiles"]) for row in rows)
    except (OSError, UnicodeError, FormatError, TypeError, KeyError):
        return False


def write_tiles(folder: Path, tiles: Mapping[str, TileImage], tile_format: TileFormat) -> Iterator[TileResult]:
    """Write the tiles of an export, given by their names, in the order of the names, and yield what was done.

    A file is complete or does not exist, and a complete tile of this format is not written again. All files have the
    same modification time, and names are random, so that neither time nor order tells anything about an image. The
    crop of a tile follows from its name, so that the files of an image in several tasks differ.
    """
    with write_errors(folder):
        (folder / TILES).mkdir(parents=True, exist_ok=True)
        for path in (folder / TILES).iterdir():
            if _is_temporary(path, tiles.keys()):
                path.unlink()
    names, workers = sorted(tiles), usable_cores()
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(names), _AHEAD * workers):
            block = names[start : start + _AHEAD * workers]
            yield from pool.map(lambda name: _write_tile(folder, name, tiles[name], tile_format), block)
    _flush(folder, names)


def _write_tile(folder: Path, name: str, tile: TileImage, tile_format: TileFormat) -> TileResult:
    path = folder / TILES / (name + SUFFIX)
    try:
        image = decode_for_tile(tile.images.read(tile.position), tile.source)
    except UnreadableImage as error:
        return TileResult(name, error=str(error))
    with write_errors(path):
        is_new = not _is_complete_tile(path, tile_format)
        if is_new:
            temporary = path.with_name(f".{name}{_TEMPORARY}")
            temporary.write_bytes(encode_tile(image, tile_format, TileCrop.of(name)))
            temporary.replace(path)
        os.utime(path, (_MODIFIED, _MODIFIED))
    return TileResult(name, _digest(image), is_new, tile_format.enlarges(image))


def _is_complete_tile(path: Path, tile_format: TileFormat) -> bool:
    try:
        return tile_format.is_complete(path.read_bytes())
    except FileNotFoundError:
        return False


def _digest(image: Image.Image) -> bytes:
    """A hash of the pixels of an image in RGB, which does not depend on the format of its file."""
    return blake2b(image.convert("RGB").tobytes(), digest_size=16, person=b"%dx%d" % image.size).digest()


def _flush(folder: Path, names: Sequence[str]) -> None:
    """Flush the tiles to the disk, which need not happen for each of them: incomplete ones are written again."""
    paths = [path for name in names if (path := folder / TILES / (name + SUFFIX)).exists()]
    if paths:
        with write_errors(folder):
            sync_files(paths)
