"""Test sets with images: readers for common formats, checks, and a catalog of published test sets."""

from regrade.testsets.catalog import CatalogEntry, Download, EntryKind, Files, entry, names
from regrade.testsets.check import Checked, check, contact_sheet, content_hash, images_are_missing
from regrade.testsets.corrupted_set import Corrupted, corrupted
from regrade.testsets.corruptions import corrupt
from regrade.testsets.decode import decode, decode_gray_or_rgb, decode_pixels, pixels_of
from regrade.testsets.download import RetryPolicy, download
from regrade.testsets.image_headers import ImageHeader, image_headers
from regrade.testsets.mapped_table import Disagreement, MappedColumns
from regrade.testsets.reader import Layout, Level, Reader, ReaderOptions, ReaderResult, locations_for
from regrade.testsets.registry import ENTRY_POINTS, open_images, reader_for, reader_named, readers
from regrade.testsets.released import Released, brings_classes, find_released

__all__ = [
    "ENTRY_POINTS",
    "CatalogEntry",
    "Checked",
    "Corrupted",
    "Disagreement",
    "Download",
    "EntryKind",
    "Files",
    "ImageHeader",
    "Layout",
    "Level",
    "MappedColumns",
    "Reader",
    "ReaderOptions",
    "ReaderResult",
    "Released",
    "RetryPolicy",
    "brings_classes",
    "check",
    "contact_sheet",
    "content_hash",
    "corrupt",
    "corrupted",
    "decode",
    "decode_gray_or_rgb",
    "decode_pixels",
    "download",
    "entry",
    "find_released",
    "image_headers",
    "images_are_missing",
    "locations_for",
    "names",
    "open_images",
    "pixels_of",
    "reader_for",
    "reader_named",
    "readers",
]
