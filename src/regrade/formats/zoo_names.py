"""What the name of a model of timm, torchvision, open_clip or transformers states: family, data, year, base model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from regrade.core import ModelAttributes
from regrade.formats.architectures import family_and_year


class Zoo(Enum):
    """The libraries of pretrained models; the value is the prefix of their models' names."""

    TIMM = "timm"
    TORCHVISION = "torchvision"
    OPEN_CLIP = "open_clip"
    TRANSFORMERS = "transformers"


@dataclass(frozen=True)
class DataSet:
    """A training set: its name, its number of images and the year of its publication, None if unknown or irrelevant.

    Sets that are ``nested``, those of ImageNet and collections that contain them, count once: as the largest of them.
    """

    name: str
    images: int | None
    year: int | None = None
    nested: bool = False


_MILLION, _BILLION = 10**6, 10**9
_IN1K = DataSet("ImageNet-1k", 1_281_167, nested=True)
_DATA = {
    "in1k": _IN1K,
    "in12k": DataSet("ImageNet-12k", 12 * _MILLION, nested=True),
    "in21k": DataSet("ImageNet-21k", 14_197_122, nested=True),
    "in22k": DataSet("ImageNet-21k", 14_197_122, nested=True),
    "in21kp": DataSet("ImageNet-21k-P", None, 2021, nested=True),
    "in21kpfall11": DataSet("ImageNet-21k-P", 11_797_632, 2021, nested=True),
    "inw21k": DataSet("ImageNet-21k (winter 2021)", None, 2021, nested=True),
    "cc12m": DataSet("CC12M", 12 * _MILLION, 2021),
    "commonpool": DataSet("CommonPool", None, 2023),
    "datacomp": DataSet("DataComp", None, 2023),
    "datacomp1b": DataSet("DataComp-1B", 1_400 * _MILLION, 2023),
    "datacompdr": DataSet("DataCompDR", None, 2023),
    "dfn2b": DataSet("DFN-2B", 2 * _BILLION, 2023),
    "dfn5b": DataSet("DFN-5B", 5 * _BILLION, 2023),
    "dfndr2b": DataSet("DFNDR-2B", None, 2025),
    "ig1b": DataSet("IG-1B-Targeted", 940 * _MILLION, 2018),
    "ig1bselected": DataSet("subset of IG-1B-Targeted", 64 * _MILLION, 2019),
    "jft": DataSet("JFT-300M", 300 * _MILLION, 2017),
    "jftselected": DataSet("subset of JFT-300M", 81 * _MILLION, 2019),
    "laion400m": DataSet("LAION-400M", 400 * _MILLION, 2021),
    "laion2b": DataSet("LAION-2B", 2_320 * _MILLION, 2022),
    "laion5b": DataSet("LAION-5B", 5_850 * _MILLION, 2022),
    "laiona": DataSet("LAION-Aesthetic", 900 * _MILLION, 2022),
    "lvd142m": DataSet("LVD-142M", 142 * _MILLION, 2023, nested=True),
    "lvd1689m": DataSet("LVD-1689M", 1_689 * _MILLION, 2025),
    "m30m": DataSet("Merged-30M", 30 * _MILLION, 2022, nested=True),
    "m38m": DataSet("Merged-38M", 38 * _MILLION, 2023, nested=True),
    "merged2b": DataSet("Merged-2B", 2 * _BILLION, 2023),
    "metaclip400m": DataSet("MetaCLIP-400M", 400 * _MILLION, 2023),
    "metaclip2pt5b": DataSet("MetaCLIP-2.5B", 2_500 * _MILLION, 2023),
    "metaclip2": DataSet("MetaCLIP 2", None, 2025),
    "mscoco": DataSet("MS COCO", None, 2014),
    "openai": DataSet("WIT-400M", 400 * _MILLION, 2021),
    "sa1b": DataSet("SA-1B", 11 * _MILLION, 2023),
    "sat493m": DataSet("SAT-493M", 493 * _MILLION, 2025),
    "seer": DataSet("public Instagram images", _BILLION, 2021),
    "swag": DataSet("IG-3.6B", 3_600 * _MILLION, 2022),
    "webli": DataSet("WebLI", None, 2022),
    "yfcc15m": DataSet("YFCC-15M", 15 * _MILLION, 2021),
    "yfcc100m": DataSet("YFCC100M", None, 2015),
}  # fmt: skip
"""Data sets by the word in a name. Sizes are those that the authors state, web collections as rounded by them."""

_PROCESSED = {"miil": "in21kpfall11", "cvnets": "in21kp"}
"""Origins of weights whose in21k or in22k is ImageNet-21k-P, a processed subset; its versions have different sizes."""

_ON_IMAGENET = {"mae", "dino", "fcmae"}  # methods that are pretrained on ImageNet-1k unless a name states other data
_UNKNOWN_DATA = re.compile(r"\d+(pt\d+)?[mb]|indomain|ssld")  # words of data that are not in the table
_METHODS = {
    "bit": 2019, "clip": 2021, "clipa": 2023, "coca": 2022, "dino": 2021, "dinov2": 2023, "dinov3": 2025,
    "evos": 2020, "fcmae": 2023, "gn": 2018, "ijepa": 2023, "mae": 2021, "mclip": 2023, "mclip2": 2025,
    "noisystudent": 2019, "rope": 2024, "siglip": 2023, "siglip2": 2025, "ssl": 2019, "swsl": 2019, "tinyclip": 2023,
    "florence2": 2023,
}  # fmt: skip
"""Years of methods of pretraining and of changes of an architecture, by the word in a name."""

_UNKNOWN_YEAR = {"altogether", "eupe", "lingbot", "pruned", "robbyant", "sapiens2", "tipsv2"}
_JOINED = (
    (r"laion_aesthetic", "laiona"), (r"datacomp_?xl", "datacomp1b"), (r"datacomp_s34b", "datacomp1b"),
    (r"metaclip_400m", "metaclip400m"), (r"metaclip_(2pt5b|fullcc)", "metaclip2pt5b"),
    (r"ns_jft", "noisystudent_jftselected"),
    (r"v2_webli", "siglip2_webli"),
    (r"swsl_ig1b", "swsl_ig1bselected"),
)  # fmt: skip
_SIZE = re.compile(r"_\d{3}$")

_HUB = (
    (r"google/vit-\w+-patch\d+-\d+-in21k", "in21k"),
    (r"google/vit-(base|large)-patch\d+-\d+", "in21k in1k"),
    (r"google/mobilenet_v[12]_.*", "in1k"),
    (r"google/efficientnet-b\d", "in1k"),
    (r"google/siglip2?-.*", "webli"),
    (r"facebook/deit-.*", "in1k"),
    (r"facebook/convnext-\w+-\d+-22k-1k", "in22k in1k"),
    (r"facebook/convnext-\w+-\d+-22k", "in22k"),
    (r"facebook/convnext-\w+-\d+", "in1k"),
    (r"facebook/convnextv2-\w+-1k-\d+", "fcmae in1k"),
    (r"facebook/convnextv2-\w+-22k-\d+", "fcmae in22k in1k"),
    (r"facebook/levit-.*", "in1k"),
    (r"facebook/vit-mae-\w+", "in1k"),
    (r"facebook/dino-vit\w+", "in1k"),
    (r"facebook/dinov2-\w+-imagenet1k-1-layer", "lvd142m in1k"),
    (r"facebook/dinov2-(small|base|large|giant)", "lvd142m"),
    (r"facebook/dinov3-.*-lvd1689m", "lvd1689m"),
    (r"facebook/regnet-[xy]-\d+", "in1k"),
    (r"facebook/regnet-y-\d+-seer", "seer"),
    (r"facebook/regnet-y-\d+-seer-in1k", "seer in1k"),
    (r"microsoft/resnet-\d+", "in1k"),
    (r"microsoft/swin-(tiny|small)-patch4-window7-224", "in1k"),
    (r"microsoft/beit-\w+-patch16-\d+-pt22k(-ft22k)?", "in22k"),
    (r"microsoft/beit-\w+-patch16-\d+", "in22k in1k"),
    (r"apple/mobilevit-(xx-small|x-small|small)", "in1k"),
    (r"apple/mobilevitv2-[\d.]+-imagenet1k-\d+", "in1k"),
    (r"nvidia/mit-b\d", "in1k"),
    (r"openai/clip-vit-.*", "openai"),
)
"""Models of the Hugging Face hub whose names do not state the data of their weights."""


def zoo_of(model: str, *, without_prefix: Zoo | None = None) -> tuple[Zoo, str] | None:
    """The zoo that a model's name is from, and the name there; None if it is of no zoo.

    Names without a prefix are those of the zoo ``without_prefix``.

    >>> zoo_of("timm:resnet50.a1_in1k"), zoo_of("trained:plain/seed-0")
    ((<Zoo.TIMM: 'timm'>, 'resnet50.a1_in1k'), None)
    """
    prefix, colon, rest = model.partition(":")
    if colon:
        return next(((zoo, rest) for zoo in Zoo if zoo.value == prefix and rest), None)
    return (without_prefix, model) if without_prefix else None


def source_of_name(zoo: Zoo) -> str:
    """The source of attributes that are derived from a name, as it is stored."""
    return f"name in {zoo.value}"


def attributes_of_name(zoo: Zoo, name: str) -> ModelAttributes:
    """What the name of a zoo's model states; what it does not state, or what is unknown, is empty or None.

    The year is that of the first publication of the architecture or, if later, of the pretraining or data that the name
    states. Training images are those of all data sets of the weights, without those of teachers. The base model is the
    name without the last fine-tuning, for models of timm; whether it exists is not known.

    >>> attributes_of_name(Zoo.TIMM, "vit_base_patch16_clip_224.laion2b_ft_in12k_in1k").stated["training_data"]
    'LAION-2B, ImageNet-12k, ImageNet-1k'
    """
    if name.startswith("local-dir:"):
        return ModelAttributes()
    hub_name = name.removeprefix("hf-hub:")
    if hub_name.startswith("timm/") or (zoo is Zoo.TIMM and "/" not in name):
        owner = name[: name.rfind("/") + 1]
        return _timm(name.removeprefix(owner), owner)
    if zoo is Zoo.TORCHVISION:
        return _torchvision(name)
    if zoo is Zoo.OPEN_CLIP and hub_name == name:
        architecture, _, tag = name.partition("/")
        return _attributes(architecture, [_words(tag)] if tag else [])
    return _hub(hub_name)


def _timm(name: str, owner: str) -> ModelAttributes:
    architecture, _, tag = name.partition(".")
    stages = _stages(_words(tag)) if tag else []
    words = _words(f"{architecture}_{tag}")
    if processed := next((data for origin, data in _PROCESSED.items() if origin in words), None):
        stages = [[processed if word in ("in21k", "in22k") else word for word in stage] for stage in stages]
    return _attributes(architecture, stages, base_model=_base(owner + architecture, tag))


def _base(architecture: str, tag: str) -> str:
    """The model before the last fine-tuning: that of A_ft_B_C is A_ft_B, that of A_ft_B is A."""
    before, fine_tuned, after = _SIZE.sub("", tag).rpartition("_ft_")
    if not fine_tuned or not after:
        return ""
    earlier = after.rpartition("_")[0]
    return f"{architecture}.{before}_ft_{earlier}" if earlier else f"{architecture}.{before}"


def _torchvision(name: str) -> ModelAttributes:
    """`resnet50:IMAGENET1K_V2`, or `ResNet50_Weights.IMAGENET1K_V2`; without weights their data are unknown."""
    architecture, _, tag = name.replace("_Weights.", ":").partition(":")
    words = tag.lower().split("_")
    stages = [["swag"]] if "swag" in words else []
    return _attributes(architecture, [*stages, ["in1k"]] if words[0] == "imagenet1k" else [])


def _hub(name: str) -> ModelAttributes:
    owner, _, rest = name.partition("/")
    words = next((words for pattern, words in _HUB if re.fullmatch(pattern, name.lower())), "").split()
    if owner == "laion":
        words = [word for word in _words(rest) if word in _DATA]
    return _attributes(rest or owner, [words] if words else [])


def _words(tag: str) -> list[str]:
    text = tag.lower().replace("-", "_")
    for pattern, word in _JOINED:
        text = re.sub(pattern, word, text)
    return text.split("_")


def _stages(words: Sequence[str]) -> list[list[str]]:
    """The words of each stage of training: the first one, and each fine-tuning."""
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "ft":
            stages.append([])
        else:
            stages[-1].append(word)
    return stages


def _attributes(architecture: str, stages: Sequence[Sequence[str]], *, base_model: str = "") -> ModelAttributes:
    family, year = family_and_year(architecture)
    data = _data(stages)
    words = [*_words(architecture), *(word for stage in stages for word in stage)]
    return ModelAttributes(
        family=family,
        training_data=", ".join(part.name for part in data),
        training_images=_images(data),
        year=_latest(year, words, data),
        base_model=base_model,
    )


def _data(stages: Sequence[Sequence[str]]) -> list[DataSet]:
    """The data sets of all stages in their order; none if those of a stage are not known."""
    data: list[DataSet] = []
    for words in stages:
        of_stage = list(_data_of_stage(words))
        if not of_stage or any(_UNKNOWN_DATA.fullmatch(word) for word in words):
            return []
        data += [part for part in of_stage if part not in data]
    return data


def _data_of_stage(words: Sequence[str]) -> Iterator[DataSet]:
    for word in words:
        if word in _DATA:
            yield _DATA[word]
    if _ON_IMAGENET.intersection(words) and not any(word in _DATA for word in words):
        yield _IN1K


def _images(data: Sequence[DataSet]) -> int | None:
    """The images of all data sets; None if a size is unknown or there is no data set."""
    if not data or any(part.images is None for part in data):
        return None
    nested = [part.images or 0 for part in data if part.nested]
    return max(nested, default=0) + sum(part.images or 0 for part in data if not part.nested)


def _latest(year: int | None, words: Sequence[str], data: Sequence[DataSet]) -> int | None:
    """The latest year of architecture, method and data; None if one is unknown."""
    if year is None or _UNKNOWN_YEAR.intersection(words):
        return None
    years = [_METHODS[word] for word in words if word in _METHODS]
    return max([year, *years, *(part.year for part in data if part.year)])
