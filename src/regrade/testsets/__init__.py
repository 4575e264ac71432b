"""Test sets with pictures: read in every common form, checked, and known by name."""

from regrade.testsets.attach import locations_for
from regrade.testsets.catalogue import CatalogueEntry, Download, Files, Kind, entry, names
from regrade.testsets.check import Checked, check, content_hash
from regrade.testsets.contact_sheet import contact_sheet
from regrade.testsets.decode import decode
from regrade.testsets.download import Patience, download
from regrade.testsets.reader import Found, Layout, Reader, Wanted
from regrade.testsets.registry import ENTRY_POINTS, open_pictures, reader_for, reader_named, readers

__all__ = [
    "ENTRY_POINTS",
    "CatalogueEntry",
    "Checked",
    "Download",
    "Files",
    "Found",
    "Kind",
    "Layout",
    "Patience",
    "Reader",
    "Wanted",
    "check",
    "contact_sheet",
    "content_hash",
    "decode",
    "download",
    "entry",
    "locations_for",
    "names",
    "open_pictures",
    "reader_for",
    "reader_named",
    "readers",
]
