"""Twelve images of four classes, written in every supported format."""

import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from regrade.core import ClassSpace, ImageSource
from regrade.testsets import ReaderOptions, ReaderResult, decode, open_images, reader_for

SPACE = ClassSpace("animals", ("n01", "n02", "n03", "n04"), ("cat", "guide dog", "hérisson", "great white shark"))


@dataclass(frozen=True)
class Item:
    """One image: its key, file name, content and class."""

    key: str
    file: str
    data: bytes
    label: int
    region: str

    @property
    def pixels(self) -> np.ndarray:
        return np.asarray(decode(self.data))


def encoded(image: Image.Image, form: str = "PNG", **options) -> bytes:
    """The bytes of an image file."""
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def noise(seed: int, size: tuple[int, int] = (20, 24)) -> Image.Image:
    """An image of random pixels; ``size`` is width and height."""
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (*reversed(size), 3), dtype=np.uint8))


def _item(place: int) -> Item:
    form, ending = (("PNG", "png"), ("JPEG", "JPEG"))[place % 2]
    key = f"pic{place:02}"
    return Item(key, f"{key}.{ending}", encoded(noise(place), form), (place * 3) % 4, ("north", "south")[place % 2])


ITEMS = tuple(_item(place) for place in range(12))
LABELS = {item.key: item.label for item in ITEMS}


def folders(root: Path, names: tuple[str, ...]) -> Path:
    """One folder per class, written from last to first."""
    for item in reversed(ITEMS):
        folder = root / names[item.label]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / item.file).write_bytes(item.data)
    return root


def by_id(root: Path) -> Path:
    return folders(root, SPACE.ids)


def by_index(root: Path) -> Path:
    return folders(root, ("0", "1", "2", "3"))


def by_name(root: Path) -> Path:
    return folders(root, SPACE.names)


def _files(root: Path) -> None:
    (root / "files").mkdir(parents=True)
    for item in ITEMS:
        (root / "files" / item.file).write_bytes(item.data)


def csv_manifest(root: Path) -> Path:
    _files(root)
    rows = "".join(f"files/{item.file},{SPACE.ids[item.label]},{item.region}\n" for item in ITEMS)
    (root / "list.csv").write_text("path,wnid,region\n" + rows)
    return root / "list.csv"


def parquet_manifest(root: Path) -> Path:
    _files(root)
    columns = {
        "file_name": [f"files/{item.file}" for item in ITEMS],
        "label": [item.label for item in ITEMS],
        "region": [item.region for item in ITEMS],
    }
    pq.write_table(pa.table(columns), root / "list.parquet")
    return root / "list.parquet"


def write_tar(path: Path, *members: tuple[str, bytes | str]) -> Path:
    """A tar file of these members."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, content in members:
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def _two_shards(root: Path, label_file) -> Path:
    for shard, items in (("b", ITEMS[7:]), ("a", ITEMS[:7])):
        write_tar(root / f"{shard}.tar", *(m for item in items for m in ((item.file, item.data), label_file(item))))
    return root


def tar_index(root: Path) -> Path:
    return _two_shards(root, lambda item: (f"{item.key}.cls", f"{item.label}\n"))


def tar_id(root: Path) -> Path:
    return _two_shards(root, lambda item: (f"{item.key}.cls", SPACE.ids[item.label]))


def tar_json(root: Path) -> Path:
    return _two_shards(
        root, lambda item: (f"{item.key}.json", json.dumps({"label": item.label, "region": item.region}))
    )


def hugging_face(root: Path) -> Path:
    """Two Parquet files with embedded images, five rows per row group."""
    root.mkdir(parents=True)
    for number, items in enumerate((ITEMS[:8], ITEMS[8:])):
        images = [{"bytes": item.data, "path": item.file} for item in items]
        table = pa.table(
            {
                "image": images,
                "label": [item.label for item in items],
                "region": [item.region for item in items],
            }
        )
        pq.write_table(table, root / f"test-{number:05}-of-00002.parquet", row_group_size=5)
    return root


def npz(root: Path) -> Path:
    root.mkdir(parents=True)
    pixels = np.stack([item.pixels for item in ITEMS])
    np.savez(root / "set.npz", images=pixels, labels=np.array([item.label for item in ITEMS]))
    return root / "set.npz"


def npy(root: Path) -> Path:
    root.mkdir(parents=True)
    np.save(root / "set_data.npy", np.stack([item.pixels for item in ITEMS]))
    np.save(root / "set_labels.npy", np.array([[item.label] for item in ITEMS], dtype=np.uint8))
    return root / "set_data.npy"


FORMS = (
    by_id, by_index, by_name, csv_manifest, parquet_manifest, tar_index, tar_id, tar_json, hugging_face, npz, npy
)  # fmt: skip
WITH_GROUPS = (csv_manifest, parquet_manifest, tar_json, hugging_face)


def found_in(path: Path, options: ReaderOptions | None = None) -> tuple[ReaderResult, ImageSource]:
    """The result of the reader of a path, and the source of its images."""
    reader = reader_for(path)
    result = reader.find(path, options or ReaderOptions(SPACE))
    return result, ImageSource(reader.name, str(path), result.locations)


def key_of(example: str) -> str:
    """The key of the item with this id, which may be a file name, a path or a row number."""
    return f"pic{int(example):02}" if example.isdigit() else Path(example).stem


def pixels_of(source: ImageSource, position: int) -> np.ndarray:
    """One image, decoded."""
    return np.asarray(decode(open_images(source).read(position)))
