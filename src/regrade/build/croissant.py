"""The description of a released test set for machines: Croissant 1.0 (MLCommons), as JSON-LD."""

from __future__ import annotations

import json
from typing import Any

from regrade.build.datasheet import stated_licenses
from regrade.build.release import IMAGES, MANIFEST, Release
from regrade.core.amounts import amount

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context of the specification, with the names it abbreviates."""

_MEDIA_TYPES = {"jpg": "jpeg", "tif": "tiff"}
_TEXT, _FLOAT, _INTEGER = "sc:Text", "sc:Float", "sc:Integer"
_FIELDS = {
    "file_name": (_TEXT, "Name of the image file, without its folder."),
    "image": (_TEXT, "Id of the image in the pool."),
    "sha256": (_TEXT, "SHA-256 of the image file."),
    "label": (_TEXT, "Id of the class."),
    "class_name": (_TEXT, "Name of the class."),
    "selection_frequency": (_FLOAT, "Share of the answers of workers that select the image for its class."),
    "frequency_bin": (_TEXT, "Bin of the selection frequency."),
    "selected": (_INTEGER, "Answers that select the image."),
    "answers": (_INTEGER, "Answers about the image."),
}


def croissant(release: Release, manifest_sha256: str) -> str:
    """The JSON-LD of a release: the manifest, the image files, and one record per image that joins the two."""
    images, classes = len(release.images), len({image.candidate.class_id for image in release.images})
    described: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": release.draw.test_set,
        "description": (
            f"{amount(images, 'image')} of {amount(classes, 'class', 'classes')}, drawn from {release.draw.pool} by "
            f"the strategy {release.options.strategy.value} on selection frequencies, to be compared with "
            f"{release.draw.reference}. See datasheet.md."
        ),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "version": f"{release.draw.revision}.0.0",
        "isLiveDataset": False,
    }
    if licenses := stated_licenses(release):
        described["license"] = licenses
    described["distribution"] = [
        {
            "@type": "cr:FileObject",
            "@id": MANIFEST,
            "name": MANIFEST,
            "description": "One row per image, in the order of the test set.",
            "contentUrl": MANIFEST,
            "encodingFormat": "text/csv",
            "sha256": manifest_sha256,
        },
        {
            "@type": "cr:FileSet",
            "@id": "image-files",
            "name": "image-files",
            "description": "The image files, in one folder per class.",
            "encodingFormat": _encodings(release),
            "includes": f"{IMAGES}/*/*",
        },
    ]
    described["recordSet"] = [_record_set(release)]
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


def _encodings(release: Release) -> str | list[str]:
    """The media types of the image files."""
    suffixes = {image.file_name.rpartition(".")[2] for image in release.images}
    types = sorted(f"image/{_MEDIA_TYPES.get(suffix, suffix)}" for suffix in suffixes)
    return types[0] if len(types) == 1 else types


def _record_set(release: Release) -> dict[str, Any]:
    further = list(release.images[0].columns) if release.images else []
    fields = {**_FIELDS, **{name: (_TEXT, "Column of the pool.") for name in further}}
    records = [_field(name, kind, description) for name, (kind, description) in fields.items()]
    return {
        "@type": "cr:RecordSet",
        "@id": "examples",
        "name": "examples",
        "description": "One record per image.",
        "key": {"@id": "examples/file_name"},
        "field": [_joined(records[0]), *records[1:], _pixels()],
    }


def _field(name: str, kind: str, description: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"examples/{name}",
        "name": name,
        "description": description,
        "dataType": kind,
        "source": {"fileObject": {"@id": MANIFEST}, "extract": {"column": name}},
    }


def _joined(file_name: dict[str, Any]) -> dict[str, Any]:
    """The field of file names, which joins the manifest and the image files."""
    source = {**file_name["source"], "transform": {"regex": "^(?:.*/)?([^/]+)$"}}
    return {**file_name, "source": source, "references": _file_property("filename")}


def _pixels() -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": "examples/pixels",
        "name": "pixels",
        "description": "The content of the image file.",
        "dataType": "sc:ImageObject",
        "source": _file_property("content"),
    }


def _file_property(name: str) -> dict[str, Any]:
    return {"fileSet": {"@id": "image-files"}, "extract": {"fileProperty": name}}
