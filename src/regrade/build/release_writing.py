"""Write the folder of a release: image files with unchanged bytes, tables, texts and checksums, all at once."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from PIL import Image

from regrade.build.croissant import croissant
from regrade.build.datasheet import datasheet
from regrade.build.release import CHECKSUMS, CROISSANT, DATASHEET, IMAGES, MANIFEST, Release, release_texts
from regrade.build.release_check import CheckOutcome, check_release, checksums
from regrade.core import AlreadyStored, ImageSource, ImageSourceError, StoreError, TestSet, UnreadableImage
from regrade.store import file_name, replace_folder
from regrade.testsets import decode_gray_or_rgb, open_images

_SUFFIXES = {"JPEG": "jpg", "MPO": "jpg", "TIFF": "tif"}
_NAME_DIGITS = 20  # of the hash in the name of an image file


class PoolImages:
    """The images of a pool as the content of files; images that are stored as pixels become PNG files."""

    def __init__(self, pool: TestSet, source: ImageSource) -> None:
        self._pool = pool
        self._source = source
        self._images = open_images(source)
        self.has_pixels = False

    def content(self, image: str) -> bytes:
        """The bytes of an image, by its id; raise if it is missing or cannot be decoded."""
        try:
            stored = self._images.read(self._pool.position(image))
            decoded = decode_gray_or_rgb(stored, orientation=self._source.orientation, border=self._source.border)
        except UnreadableImage as error:
            raise ImageSourceError(f"image {image!r} of {self._pool.name} cannot be released: {error}") from None
        if isinstance(stored, bytes) and not self._source.border:
            return stored
        self.has_pixels = True
        file = io.BytesIO()
        decoded.save(file, "PNG")
        return file.getvalue()


def released_name(class_id: str, content: bytes) -> str:
    """The path of an image file in a release: a folder per class, and a name that depends on the content alone."""
    with Image.open(io.BytesIO(content)) as image:
        form = image.format or "img"
    digest = hashlib.sha256(content).hexdigest()[:_NAME_DIGITS]
    return f"{IMAGES}/{file_name(class_id)}/{digest}.{_SUFFIXES.get(form, form.lower())}"


class ReleaseFiles(Mapping[str, bytes]):
    """The files of a release by name; images are read when they are needed, so that few are in memory at a time."""

    def __init__(self, release: Release, images: PoolImages) -> None:
        texts = release_texts(release)
        manifest_digest = hashlib.sha256(texts[MANIFEST].encode()).hexdigest()
        texts |= {DATASHEET: datasheet(release), CROISSANT: croissant(release, manifest_digest)}
        self._images = images
        self._released = {image.file_name: image for image in release.images}
        self._contents = {name: text.encode() for name, text in texts.items()}
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in self._contents.items()}
        digests |= {name: image.sha256 for name, image in self._released.items()}
        self.checksums = checksums(digests)
        self._contents[CHECKSUMS] = self.checksums.encode()

    def __getitem__(self, name: str) -> bytes:
        if name in self._contents:
            return self._contents[name]
        image = self._released[name]
        content = self._images.content(image.candidate.image)
        if hashlib.sha256(content).hexdigest() != image.sha256:
            raise ImageSourceError(f"image {image.candidate.image!r} changed while it was being released: start again")
        return content

    def __iter__(self) -> Iterator[str]:
        return iter((*self._released, *self._contents))

    def __len__(self) -> int:
        return len(self._released) + len(self._contents)


def write_release(folder: Path, files: ReleaseFiles) -> bool:
    """Write a release and verify it, and say whether it is new; raise if the folder exists with other content."""
    is_new = not folder.exists()
    if is_new:
        replace_folder(folder, files, force=False, holding=())
    elif not (folder / CHECKSUMS).is_file() or (folder / CHECKSUMS).read_bytes() != files.checksums.encode():
        raise AlreadyStored(f"{folder} exists already with other content: name a new folder with --out")
    failures = [check for check in check_release(folder) if check.outcome is CheckOutcome.FAILED]
    if failures:
        raise StoreError(
            f"the release in {folder} is not sound: {failures[0].subject}: {failures[0].detail}; see regrade build "
            "verify"
        )
    return is_new
