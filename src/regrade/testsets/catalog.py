"""The catalog of published test sets, label sets and slices: content, scoring rule, source and terms of use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from regrade.core import UnknownName
from regrade.testsets.corruptions import CORRUPTIONS, SEVERITIES
from regrade.testsets.mapped_table import Disagreement, MappedColumns
from regrade.testsets.reader import Level


class EntryKind(Enum):
    """What an entry of the catalog contains."""

    TEST_SET = "test set"
    LABEL_SET = "label set"
    SLICES = "slices"


class Files(Enum):
    """The layout of the official files."""

    WNID_FOLDERS = "folder by wnid"
    INDEX_FOLDERS = "folder by class index"
    MAPPED_FOLDERS = "folder by class, beside a map onto ImageNet's"
    CORRUPTION_FOLDERS = "folder by corruption, severity and wnid"
    ARRAYS = "arrays"
    MANIFEST = "manifest"
    LABELS = "one file of labels"
    SLICES = "one file of slices"


@dataclass(frozen=True)
class Download:
    """A file that may be downloaded directly from its official address."""

    url: str
    size: int | None = None
    """Bytes."""
    checksum: str = ""
    """``sha256:`` or ``md5:``, followed by the hexadecimal digits."""
    unchecked: str = ""
    """Why there is no checksum."""


@dataclass(frozen=True)
class CatalogEntry:
    """A published test set, label set or set of slices. Unknown fields are None or empty."""

    name: str
    title: str
    kind: EntryKind
    class_space: str
    """Name of the class space in `regrade.classes`; empty if the test set has its own classes."""
    examples: int | None
    """The expected number of examples; None if it depends on the release."""
    rule: str
    """The scoring rule, in words."""
    files: Files
    address: str
    """The official page."""
    terms: str
    command: str
    """The command that adds it to a workspace."""
    groups: tuple[str, ...] = ()
    """The group columns of a test set; for slices, their names."""
    levels: tuple[Level, ...] = ()
    """The levels of folders above the class folders, outermost first; their names are group values."""
    columns: MappedColumns | None = None
    """The columns of a released table whose rows list the accepted ImageNet classes."""
    license: str = ""
    downloads: tuple[Download, ...] = ()
    """Only official addresses, and only if the terms allow a direct download."""
    applies_exif: bool = False
    """Whether images are rotated by their EXIF orientation; the usual ImageNet pipelines ignore it."""
    border: int = 0
    """Pixels to crop on each side."""
    note: str = ""
    """What users should know before using it."""


def entry(name: str) -> CatalogEntry:
    """Return the entry with that name; an unknown name raises an error that suggests similar names.

    >>> entry("imagenet-a").rule
    '200-way among the classes of ImageNet-A'
    """
    if name not in _BY_NAME:
        raise UnknownName("test set or label set of the catalog", name, names())
    return _BY_NAME[name]


def names() -> tuple[str, ...]:
    """Return the names of all entries, test sets first, then label sets, then slices."""
    return tuple(_BY_NAME)


_1000_WAY = "1000-way"
_10_WAY = "10-way"
_MAPPED = "any mapped class in the top k"
_IMAGENET_TERMS = "non-commercial research and education only; registration"
_OPEN = "offered by its authors to anyone"

_V2_ADDRESS = "https://github.com/modestyachts/ImageNetV2"
_V2_FILES = "https://huggingface.co/datasets/vaishaal/ImageNetV2/resolve/main"
_V2_NOTE = "Folder 100 is class 100: sorting the folders by name gives wrong labels. The .tar.gz is a plain tar."
_TINY_TERMS = f"{_OPEN}; the images are from Tiny Images and may be used as those may"
_CIFAR_101 = "https://github.com/modestyachts/CIFAR-10.1"
_ZENODO_C = "https://zenodo.org/records/2235448/files"
_MULTILABEL_FILE = Download(
    "https://storage.googleapis.com/brain-car-datasets/imagenet-mistakes/human_accuracy_v3.0.0.json",
    200_417_830,
    "sha256:d5b2b6111fc9efea16aaebd21bc5a401d16ad18285d3fd99635d8b32ebdb6287",
)
_MULTILABEL_COMMAND = (
    "regrade import labels human_accuracy_v3.0.0.json --format multilabel-v3 --test-set imagenet-val "
    "--name multilabel-v3"
)
_FACTORS = (
    "multiple_objects", "background", "color", "brighter", "darker", "style", "larger", "smaller", "object_blocking",
    "person_blocking", "partial_view", "pattern", "pose", "shape", "subcategory", "texture",
)  # fmt: skip


def _imagenet_v2(variant: str, file: str, size: int, sha256: str, title: str) -> CatalogEntry:
    return CatalogEntry(
        name=f"imagenetv2-{variant}",
        title=f"ImageNetV2 {title} (Recht et al. 2019)",
        kind=EntryKind.TEST_SET,
        class_space="imagenet-1k",
        examples=10_000,
        rule=_1000_WAY,
        files=Files.INDEX_FOLDERS,
        address=_V2_ADDRESS,
        terms=_OPEN,
        license="MIT",
        downloads=(Download(f"{_V2_FILES}/{file}.tar.gz", size, f"sha256:{sha256}"),),
        command=f"regrade testsets add imagenetv2-{variant} {file}-format-val/",
        note=_V2_NOTE,
    )


def _cifar_101(version: str, examples: int, data: Download, labels: Download, note: str) -> CatalogEntry:
    return CatalogEntry(
        name=f"cifar-10.1-{version}",
        title=f"CIFAR-10.1 {version} (Recht et al. 2018)",
        kind=EntryKind.TEST_SET,
        class_space="cifar-10",
        examples=examples,
        rule=_10_WAY,
        files=Files.ARRAYS,
        address=_CIFAR_101,
        terms=_TINY_TERMS,
        downloads=(data, labels),
        command=f"regrade testsets add cifar-10.1-{version} cifar10.1_{version}_data.npy",
        note=note,
    )


def _cifar_101_file(name: str, size: int, sha256: str) -> Download:
    return Download(
        f"https://raw.githubusercontent.com/modestyachts/CIFAR-10.1/master/datasets/{name}.npy",
        size,
        f"sha256:{sha256}",
    )


_TEST_SETS = (
    CatalogEntry(
        name="imagenet-val",
        title="ImageNet validation set, ILSVRC 2012 (Russakovsky et al. 2015)",
        kind=EntryKind.TEST_SET,
        class_space="imagenet-1k",
        examples=50_000,
        rule=_1000_WAY,
        files=Files.WNID_FOLDERS,
        address="https://image-net.org/download-images",
        terms=_IMAGENET_TERMS,
        command="regrade testsets add imagenet-val ILSVRC2012_val/",
        note="The official tar (md5 29b22e2961454d5413ddabcf34fc5622) is flat: sort it into folders by wnid first.",
    ),
    _imagenet_v2(
        "matched-frequency",
        "imagenetv2-matched-frequency",
        1_264_079_360,
        "f0c37fdf925916b19ea1323cd9a2208cdb6959ba2c32eef2a7fc393835c9ca7c",
        "MatchedFrequency",
    ),
    _imagenet_v2(
        "threshold-0.7",
        "imagenetv2-threshold0.7",
        1_249_906_176,
        "32142bfe998f9cfa4141be691f6a80eeb1e27b24bd532a668eb08c26d98897a2",
        "Threshold0.7",
    ),
    _imagenet_v2(
        "top-images",
        "imagenetv2-top-images",
        1_245_927_936,
        "85e4ace30f3f0d660152062254b8759dda66267b27f7ec0fd8d5768f1073a04b",
        "TopImages",
    ),
    CatalogEntry(
        name="imagenet-a",
        title="ImageNet-A, natural adversarial examples (Hendrycks et al. 2021)",
        kind=EntryKind.TEST_SET,
        class_space="imagenet-a",
        examples=7_500,
        rule="200-way among the classes of ImageNet-A",
        files=Files.WNID_FOLDERS,
        address="https://github.com/hendrycks/natural-adv-examples",
        terms=_OPEN,
        license="MIT (the repository)",
        downloads=(
            Download(
                "https://people.eecs.berkeley.edu/~hendrycks/imagenet-a.tar",
                687_552_512,
                "sha256:3bb3632277e6ba6392ea64c02ddbf4dd2266c9caffd6bc09c9656d28f012589e",
            ),
        ),
        command="regrade testsets add imagenet-a imagenet-a/",
        note="Compare with accuracy on the same 200 classes of imagenet-val.",
    ),
    CatalogEntry(
        name="imagenet-r",
        title="ImageNet-R, renditions (Hendrycks et al. 2021)",
        kind=EntryKind.TEST_SET,
        class_space="imagenet-r",
        examples=30_000,
        rule="200-way among the classes of ImageNet-R",
        files=Files.WNID_FOLDERS,
        address="https://github.com/hendrycks/imagenet-r",
        terms=_OPEN,
        license="MIT (the repository)",
        downloads=(
            Download(
                "https://people.eecs.berkeley.edu/~hendrycks/imagenet-r.tar",
                2_191_079_936,
                "sha256:18c6bf493b39a0d975d48e587437f562caab9c52ae6327dcfa9dd8eb54aa1b52",
            ),
        ),
        command="regrade testsets add imagenet-r imagenet-r/",
        note="Compare with accuracy on the same 200 classes of imagenet-val.",
    ),
    CatalogEntry(
        name="imagenet-sketch",
        title="ImageNet-Sketch (Wang et al. 2019)",
        kind=EntryKind.TEST_SET,
        class_space="imagenet-1k",
        examples=50_889,
        rule=_1000_WAY,
        files=Files.WNID_FOLDERS,
        address="https://github.com/HaohanWang/ImageNet-Sketch",
        terms=f"{_OPEN}, by way of Google Drive, Kaggle or Hugging Face",
        license="MIT (the repository)",
        command="regrade testsets add imagenet-sketch sketch/",
        note="Its page says 50,000 images, 50 a class; the released archive holds 50,889.",
    ),
    CatalogEntry(
        name="imagenet-c",
        title="ImageNet-C, 15 corruptions at 5 severities (Hendrycks and Dietterich 2019)",
        kind=EntryKind.TEST_SET,
        class_space="imagenet-1k",
        examples=15 * 5 * 50_000,
        rule=_1000_WAY,
        files=Files.CORRUPTION_FOLDERS,
        groups=("corruption", "severity"),
        levels=(Level("corruption", CORRUPTIONS), Level("severity", tuple(map(str, SEVERITIES)))),
        address="https://github.com/hendrycks/robustness",
        terms=f"{_OPEN}; made from ImageNet, whose own terms hold for the images",
        license="CC BY 4.0",
        downloads=(
            Download(f"{_ZENODO_C}/noise.tar", 22_565_673_785, "md5:e80562d7f6c3f8834afb1ecf27252745"),
            Download(f"{_ZENODO_C}/blur.tar", 7_112_704_951, "md5:2d8e81fdd8e07fef67b9334fa635e45c"),
            Download(f"{_ZENODO_C}/weather.tar", 12_797_438_995, "md5:33ffea4db4d93fe4a428c40a6ce0c25d"),
            Download(f"{_ZENODO_C}/digital.tar", 7_757_510_705, "md5:89157860d7b10d5797849337ca2e5c03"),
        ),
        command="regrade testsets add imagenet-c imagenet-c/",
        note="Any part of it will do, unpacked with or without the folders noise, blur, weather and digital. Published "
        "figures use these JPEGs, cut to 224 pixels and given to the model without a resize. regrade testsets corrupt "
        "makes the same corruptions from imagenet-val as images are read: close, not equal, and its frost is drawn, "
        "not photographed.",
    ),
    CatalogEntry(
        name="objectnet",
        title="ObjectNet, controlled backgrounds, rotations and viewpoints (Barbu et al. 2019)",
        kind=EntryKind.TEST_SET,
        class_space="",
        examples=50_273,
        rule=f"{_MAPPED}, on the 18,574 images of the 113 (of 313) classes that overlap ImageNet's",
        files=Files.MAPPED_FOLDERS,
        address="https://objectnet.dev",
        terms="free to use with attribution; never for tuning a model; online only with its red border",
        license="CC BY 4.0 with two further clauses",
        border=2,
        command="regrade testsets add objectnet objectnet-1.0/",
        note="The archive asks for a password that its page gives; unpacked it has images/ and mappings/, and both are "
        "needed. Its page says 50,000 images, the archive contains 50,273. The terms require 1 pixel of red "
        "border; the authors' own loader crops 2, and so does regrade.",
    ),
    CatalogEntry(
        name="cifar-10",
        title="CIFAR-10 test set (Krizhevsky 2009)",
        kind=EntryKind.TEST_SET,
        class_space="cifar-10",
        examples=10_000,
        rule=_10_WAY,
        files=Files.ARRAYS,
        address="https://www.cs.toronto.edu/~kriz/cifar.html",
        terms=f"{_OPEN}; cite the report",
        downloads=(
            Download(
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                170_052_171,
                "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            ),
        ),
        command="regrade testsets add cifar-10 cifar-10-batches-bin/test_batch.bin",
    ),
    _cifar_101(
        "v4",
        2_021,
        _cifar_101_file(
            "cifar10.1_v4_data", 6_208_640, "5aaedc268df8f4cffca2ac0cf9e608ae1897a8cddb630c7a850a2ea8f6558e75"
        ),
        _cifar_101_file(
            "cifar10.1_v4_labels", 8_212, "1f9544300ded199539b6662364ce7fe6c2e1ea9f87408f06db4b1a6184cffb18"
        ),
        "The version of the paper's main tables; its classes are not quite balanced.",
    ),
    _cifar_101(
        "v6",
        2_000,
        _cifar_101_file(
            "cifar10.1_v6_data", 6_144_128, "2997188e5816f5bd545dc77771b6227828c28146049fcecf3fa10775474cacc6"
        ),
        _cifar_101_file(
            "cifar10.1_v6_labels", 8_128, "ae40beda001693674edc94d925ee8268cfe68905f8f9aff800c8dcdfcd6c9448"
        ),
        "200 images a class; the version its authors recommend.",
    ),
    CatalogEntry(
        name="cifar-10.2",
        title="CIFAR-10.2 test set (Lu et al. 2020)",
        kind=EntryKind.TEST_SET,
        class_space="cifar-10",
        examples=2_000,
        rule=_10_WAY,
        files=Files.ARRAYS,
        address="https://github.com/modestyachts/cifar-10.2",
        terms=f"{_OPEN}; no license is stated",
        downloads=(
            Download(
                "https://raw.githubusercontent.com/modestyachts/cifar-10.2/master/cifar102_test.npz",
                6_393_664,
                "sha256:e4fd6462bd5141ed293acd52ea570952f65d1bfd4ec9b068f87742f75a7a632e",
            ),
        ),
        command="regrade testsets add cifar-10.2 cifar102_test.npz",
    ),
    CatalogEntry(
        name="dollarstreet",
        title="Dollar Street, household objects by country and income (Gaviria Rojas et al. 2022)",
        kind=EntryKind.TEST_SET,
        class_space="",
        examples=None,
        rule=_MAPPED,
        files=Files.MANIFEST,
        groups=("region.id", "country.name", "income"),
        columns=MappedColumns("id", "topics", "imagenet_sysnet_id", "imageRelPath", disagreement=Disagreement.SPLIT),
        address="https://www.kaggle.com/datasets/mlcommons/the-dollar-street-dataset",
        terms="see its page; a Kaggle account",
        command="regrade testsets add dollarstreet dataset_dollarstreet/images_v2_imagenet_test.csv",
        note="38,479 images in all, 4,308 in this list. Column imagenet_sysnet_id lists the ImageNet classes that "
        "count as right; a class is an image's topics, and rows of the same topics that list other classes are "
        "classes of their own. A household must not cross splits.",
    ),
    CatalogEntry(
        name="geode",
        title="GeoDE, 40 objects from six world regions (Ramaswamy et al. 2023)",
        kind=EntryKind.TEST_SET,
        class_space="",
        examples=10_333,
        rule=_MAPPED,
        files=Files.MANIFEST,
        groups=("region", "ip_country"),
        columns=MappedColumns("id", "object", "1k_index", "file_path", images=("images", "")),
        address="https://geodiverse-data-collection.cs.princeton.edu/",
        terms=f"{_OPEN}, with attribution; the list for non-commercial use",
        license="CC BY; the list CC BY-NC 4.0",
        downloads=(
            Download(
                "https://geodiverse-data-collection.cs.princeton.edu/geode.zip",
                unchecked="no published checksum was found",
            ),
            Download(
                "https://raw.githubusercontent.com/facebookresearch/Geographic_Generalization/main/data/"
                "metadata_test_1k_final.csv",
                2_718_152,
                "sha256:d5a9caa9526c75f37c6bab5f8b7ff68656f51efd037a0493c425cee0205e46f7",
            ),
        ),
        command="regrade testsets add geode geode/metadata_test_1k_final.csv",
        note="61,940 images in all; the list that maps 34 objects to ImageNet (Richards et al. 2023, "
        "github.com/facebookresearch/Geographic_Generalization, data/) has 10,333, the classes in column 1k_index. "
        "Put it beside the folder images of the unpacked archive.",
    ),
)

_LABEL_SETS = (
    CatalogEntry(
        name="real",
        title="ReaL, reassessed labels of imagenet-val (Beyer et al. 2020)",
        kind=EntryKind.LABEL_SET,
        class_space="imagenet-1k",
        examples=50_000,
        rule="1000-way: top-1 among the labels; images without any are left out",
        files=Files.LABELS,
        address="https://github.com/google-research/reassessed-imagenet",
        terms=_OPEN,
        license="Apache-2.0 (the repository)",
        downloads=(
            Download(
                "https://raw.githubusercontent.com/google-research/reassessed-imagenet/master/real.json",
                388_478,
                "sha256:d83e9bff374c631aae8439eb064c7019acc56e1b3bc3f56b8380c2a710b0220b",
            ),
        ),
        command="regrade import labels real.json --format real --test-set imagenet-val --name real",
        note="Entry 0 belongs to ILSVRC2012_val_00000001.",
    ),
    CatalogEntry(
        name="multilabel-v3",
        title="Multi-label annotations 3.0.0 of imagenet-val (Shankar et al. 2020, Vasudevan et al. 2022)",
        kind=EntryKind.LABEL_SET,
        class_space="imagenet-1k",
        examples=20_000,
        rule="1000-way: top-1 among the correct and unclear labels, mean over classes; problematic images left out",
        files=Files.LABELS,
        address="https://github.com/google-research/imagenet-mistakes",
        terms=_OPEN,
        license="Apache-2.0 (the repository)",
        downloads=(_MULTILABEL_FILE,),
        command=_MULTILABEL_COMMAND,
        note="The file also holds ImageNetV2 images; 20,000 are of imagenet-val, 20 a class.",
    ),
)

_SLICES = (
    CatalogEntry(
        name="imagenet-m",
        title="ImageNet-M, major mistakes that strong models share (Vasudevan et al. 2022)",
        kind=EntryKind.SLICES,
        class_space="imagenet-1k",
        examples=68,
        rule="1000-way: how many of the 68 have their top-1 among the correct and unclear labels",
        files=Files.LABELS,
        address="https://github.com/google-research/imagenet-mistakes",
        terms=_OPEN,
        license="Apache-2.0 (the repository)",
        downloads=(_MULTILABEL_FILE,),
        command=_MULTILABEL_COMMAND,
        note="The list imagenet_m of the multi-label file: it comes with multilabel-v3, as the slice imagenet-m. "
        "regrade grade --test-set imagenet-val --labels multilabel-v3 --rule classes --slice imagenet-m",
    ),
    CatalogEntry(
        name="imagenet-x",
        title="ImageNet-X, 16 factors of variation on imagenet-val (Idrissi et al. 2022)",
        kind=EntryKind.SLICES,
        class_space="imagenet-1k",
        examples=50_000,
        rule=_1000_WAY,
        files=Files.SLICES,
        groups=_FACTORS,
        address="https://github.com/facebookresearch/imagenetx",
        terms=f"{_OPEN}, for non-commercial use",
        license="CC BY-NC 4.0",
        downloads=(
            Download(
                "https://raw.githubusercontent.com/facebookresearch/imagenetx/main/imagenet_x/annotations/"
                "imagenet_x_val_multi_factor.jsonl",
                unchecked="no published checksum was found",
            ),
        ),
        command="regrade import slices imagenet_x_val_multi_factor.jsonl --format imagenet-x --test-set imagenet-val "
        "--name imagenet-x",
        note="A factor is the slice imagenet-x:pose, and imagenet-x stands for all 16. Its authors leave out 3,000 "
        "prototypical images (prototypical_paths.csv), which stay in here.",
    ),
)

_BY_NAME = {item.name: item for item in (*_TEST_SETS, *_LABEL_SETS, *_SLICES)}
