"""Small versions of released test sets in their official layouts."""

import csv
import json
from pathlib import Path

from small_set import encoded, noise

OBJECTNET_LABELS = {
    "banana": "Banana",
    "alarm_clock": "Alarm clock",
    "blender": "Blender",
    "chair": "Chair",
    "mixing_salad_bowl": "Mixing / Salad Bowl",
}
OBJECTNET_TO_IMAGENET = {
    "Alarm clock": "analog clock; digital clock",
    "Banana": "banana",
    "Chair": "barber chair; folding chair; rocking chair, rocker",
    "Mixing / Salad Bowl": "mixing bowl",
}
OBJECTNET_IMAGES = (
    "alarm_clock/a1.png", "alarm_clock/a2.png", "banana/b1.png", "banana/b2.png", "blender/x1.png", "blender/x2.png",
    "chair/c1.png", "chair/c2.png",
)  # fmt: skip


def write_image(path: Path, seed: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(noise(seed)))


def write_csv(path: Path, *rows: tuple) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def write_objectnet(folder: Path) -> Path:
    """ObjectNet: images by folder, the labels of the folders, and their ImageNet descriptions."""
    root = folder / "objectnet-1.0"
    for number, place in enumerate(OBJECTNET_IMAGES):
        write_image(root / "images" / place, number)
    (root / "mappings").mkdir()
    (root / "mappings" / "folder_to_objectnet_label.json").write_text(json.dumps(OBJECTNET_LABELS))
    (root / "mappings" / "objectnet_to_imagenet_1k.json").write_text(json.dumps(OBJECTNET_TO_IMAGENET))
    (root / "README").write_text("ObjectNet")
    return root


GEODE_HEADING = (
    "", "file_path", "object", "region", "ip_country", "date", "make", "model", "gps_position", "gps_altitude",
    "resolution", "license_plate", "people_in_background", "tree_tag", "1k_index", "object_index", "id",
)  # fmt: skip
GEODE = (
    ("g1", "bag", "Africa", "Nigeria", "[414, 748]"),
    ("g2", "bag", "Europe", "Spain", "[414, 748]"),
    ("g3", "light_switch", "Africa", "Nigeria", "[844]"),
    ("g4", "spices", "Africa", "Egypt", "[]"),
    ("g5", "light_switch", "Europe", "Italy", "[844]"),
)


def write_geode(folder: Path, rows: tuple = GEODE, *, images: bool = True) -> Path:
    """The GeoDE list with ImageNet classes, next to the folder images."""
    table = []
    for number, (example, label, region, country, accepted) in enumerate(rows):
        place = f"{region}/{country}/{country}_{label}_{number}.jpg"
        table.append((number, place, label, region, country, "2022-03-24", "", "phone", "", "", "480x930", "no", "no",
                      "no", accepted, number, example))  # fmt: skip
        if images:
            write_image(folder / "geode" / "images" / place, number)
    return write_csv(folder / "geode" / "metadata_test_1k_final.csv", GEODE_HEADING, *table)


STREET_HEADING = (
    "id", "country.name", "country.id", "region.id", "type", "imageRelPath", "topics", "place", "income",
    "imagenet_synonyms", "imagenet_sysnet_id",
)  # fmt: skip
STREET = (
    ("s1", "Nepal", "as", "['tv']", "1020.5", "[851]"),
    ("s2", "Mali", "af", "['toilet', 'bathroom/toilet']", "45", "[861]"),
    ("s3", "Nepal", "as", "['tv']", "98.0", "[851]"),
    ("s4", "Mali", "af", "['cups/mugs/glasses']", "45", "[968, 504]"),
    ("s5", "Peru", "am", "['cups/mugs/glasses']", "3010", "[504, 968]"),
    ("s6", "Peru", "am", "['cups/mugs/glasses']", "3010", "[968]"),
)


def write_dollarstreet(folder: Path, rows: tuple = STREET) -> Path:
    """The test list of Dollar Street, next to the folder assets; topics and classes are Python lists."""
    table = []
    for number, (example, country, region, topics, income, accepted) in enumerate(rows):
        place = f"assets/{example}/{example}.jpg"
        table.append((example, country, country[:2].lower(), region, "image", place, topics, "home", income,
                      "['a word']", accepted))  # fmt: skip
        write_image(folder / "dataset_dollarstreet" / place, number)
    return write_csv(folder / "dataset_dollarstreet" / "images_v2_imagenet_test.csv", STREET_HEADING, *table)


FACTORS = (
    "multiple_objects", "background", "color", "brighter", "darker", "style", "larger", "smaller", "object_blocking",
    "person_blocking", "partial_view", "pattern", "pose", "shape", "subcategory", "texture",
)  # fmt: skip


def val_name(number: int) -> str:
    return f"ILSVRC2012_val_{number:08}.JPEG"


def write_imagenet_x(path: Path, factors: dict[int, tuple[str, ...]], classes: dict[int, int] | None = None) -> Path:
    """ImageNet-X: one JSON object per line, with the factors of one validation image."""
    rows = [
        {
            "file_name": val_name(number),
            "class": (classes or {}).get(number, 0),
            **{factor: int(factor in chosen) for factor in FACTORS},
            "justification": "seen from above",
            "one_word": "view",
        }
        for number, chosen in factors.items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
