"""Architectures by the beginning of their names: family, and the year in which the method was first published."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FAMILIES: Mapping[str, Mapping[int | None, str]] = {
    "aimv2": {2024: "aimv2"},
    "alexnet": {2012: "alexnet"},
    "beit": {2021: "beit", 2022: "beitv2 beit3"},
    "botnet": {2021: "botnet26t eca_botnext26ts sebotnet33ts"},
    "cait": {2021: "cait"},
    "coat": {2021: "coat"},
    "coatnet": {2021: "coatnet", None: "coatnext"},
    "convit": {2021: "convit"},
    "convmixer": {2022: "convmixer"},
    "convnext": {2022: "convnext", 2023: "convnextv2", None: "convnext_zepto"},
    "crossvit": {2021: "crossvit"},
    "cspnet": {2019: "cspresnet cspresnext cspdarknet", None: "cs3darknet cs3sedarknet cs3edgenet cs3se_edgenet"},
    "cvt": {2021: "cvt"},
    "darknet": {2018: "darknet", None: "darknetaa"},
    "davit": {2022: "davit"},
    "deit": {2020: "deit", 2022: "deit3"},
    "densenet": {2016: "densenet", None: "densenetblur"},
    "dinat": {2022: "dinat"},
    "dla": {2017: "dla", 2019: "dla60_res2net dla60_res2next"},
    "dpn": {2017: "dpn"},
    "edgenext": {2022: "edgenext"},
    "efficientformer": {2022: "efficientformer efficientformerv2"},
    "efficientnet": {
        2019: "efficientnet",
        2020: "efficientnet_lite",
        2021: "efficientnetv2 efficientnet_x",
        None: "efficientnet_h gc_efficientnetv2",
    },
    "efficientvim": {2024: "efficientvim"},
    "efficientvit-mit": {2022: "efficientvit_b", None: "efficientvit_l"},
    "efficientvit-msra": {2023: "efficientvit_m"},
    "eva": {2022: "eva eva01", 2023: "eva02"},
    "fasternet": {2023: "fasternet"},
    "fastvit": {2023: "fastvit", 2025: "fastvit_mci3 fastvit_mci4"},
    "fbnet": {2018: "fbnetc", 2020: "fbnetv3"},
    "focalnet": {2022: "focalnet"},
    "gcvit": {2022: "gcvit"},
    "gernet": {2020: "gernet"},
    "ghostnet": {2019: "ghostnet", 2022: "ghostnetv2", 2024: "ghostnetv3"},
    "gmlp": {2021: "gmlp"},
    "halonet": {2021: "halonet halo2botnet50ts haloregnetz lamhalobotnet50ts eca_halonext26ts sehalonet33ts"},
    "hardcorenas": {2021: "hardcorenas"},
    "hgnet": {None: "hgnet hgnetv2"},
    "hiera": {2023: "hiera", 2024: "sam2_hiera"},
    "hrnet": {2019: "hrnet"},
    "iformer": {2025: "iformer_t iformer_s iformer_m iformer_l iformer_l2 iformer_h", None: "iformer"},
    "inception": {
        2014: "googlenet inception_v1",
        2015: "inception_v3",
        2016: "inception_v4 inception_resnet_v2",
    },
    "inception-next": {2023: "inception_next"},
    "lambda-resnet": {2021: "lambda_resnet26t lambda_resnet26rpt lambda_resnet50ts"},
    "lcnet": {2021: "lcnet", None: "lcnetv2"},
    "levit": {2021: "levit"},
    "lowformer": {2024: "lowformer"},
    "mambaout": {2024: "mambaout"},
    "maxvit": {2022: "maxvit", None: "maxxvit maxxvitv2"},
    "metaformer": {2021: "poolformer", 2022: "poolformerv2 caformer convformer"},
    "mixer": {2021: "mixer", None: "gmixer"},
    "mixnet": {2019: "mixnet"},
    "mnasnet": {2018: "mnasnet semnasnet"},
    "mobileclip": {2023: "mobileclip", 2025: "mobileclip2"},
    "mobilenet": {
        2017: "mobilenetv1",
        2018: "mobilenetv2",
        2019: "mobilenetv3",
        2024: "mobilenetv4",
        2025: "mobilenetv5",
        None: "mobilenet_edgetpu mobilenetv3_rw",
    },
    "mobileone": {2022: "mobileone"},
    "mobilevit": {2021: "mobilevit", 2022: "mobilevitv2"},
    "mvit": {2021: "mvitv2"},
    "nasnet": {2017: "nasnet nasnetalarge pnasnet"},
    "nat": {2022: "nat"},
    "nest": {2021: "nest"},
    "nextvit": {2022: "nextvit"},
    "nfnet": {2021: "nfnet nf_regnet nf_resnet eca_nfnet"},
    "pit": {2021: "pit"},
    "pvt": {2021: "pvt pvtv2"},
    "rdnet": {2024: "rdnet"},
    "regnet": {
        2020: "regnetx regnety regnet_x regnet_y",
        2021: "regnetz",
        2022: "regnety_2560",
        None: "regnetv",
    },
    "repghost": {2022: "repghostnet"},
    "repvgg": {2021: "repvgg"},
    "repvit": {2023: "repvit"},
    "res2net": {2019: "res2net res2next"},
    "resmlp": {2021: "resmlp"},
    "resnest": {2020: "resnest"},
    "resnet": {
        2015: "resnet rn",
        2016: "resnetv2 wide_resnet",
        2017: "seresnet senet se_resnet",
        2018: "resnet18d resnet26d resnet34d resnet50d resnet101d resnet152d resnet200d resnet50c resnet101c "
        "resnet152c",
        2019: "ecaresnet50d ecaresnet101d ecaresnet269d ecaresnetlight skresnet",
        2021: "resnetrs",
        None: "resnet10t resnet14t resnet26t resnet50s resnet101s resnet152s resnet51q resnet61q resnet32ts resnet33ts "
        "resnetaa resnetblur eca_resnet33ts ecaresnet26t ecaresnet50t gcresnet seresnet33ts seresnet152d resnetv2_18d "
        "resnetv2_34d resnetv2_50d",
    },
    "resnext": {
        2016: "resnext",
        2017: "seresnext se_resnext",
        2018: "resnext50d",
        2019: "skresnext",
        None: "resnext26ts bat_resnext26ts eca_resnext26ts gcresnext seresnext26t seresnext26ts seresnextaa "
        "seresnext26d seresnext101d",
    },
    "rexnet": {2020: "rexnet", None: "rexnetr"},
    "selecsls": {2019: "selecsls"},
    "segformer": {2021: "mit_b"},
    "sequencer": {2022: "sequencer2d"},
    "shufflenet": {2017: "shufflenet", 2018: "shufflenetv2"},
    "shvit": {2024: "shvit"},
    "single-path-nas": {2019: "spnasnet"},
    "squeezenet": {2016: "squeezenet"},
    "starnet": {2024: "starnet"},
    "swiftformer": {2023: "swiftformer"},
    "swin": {2021: "swin swinv2 swin_s3"},
    "tinynet": {2020: "tinynet"},
    "tiny-vit": {2022: "tiny_vit"},
    "tnt": {2021: "tnt"},
    "tresnet": {2020: "tresnet", None: "tresnetv2"},
    "twins": {2021: "twins"},
    "van": {2022: "van"},
    "vgg": {2014: "vgg", 2015: "vgg11_bn vgg13_bn vgg16_bn vgg19_bn"},
    "visformer": {2021: "visformer"},
    "vit": {
        2020: "vit_tiny vit_small vit_base vit_large vit_huge vit_t vit_s vit_b vit_l vit_h",
        2021: "vit_giant vit_gigantic vit_g vit_bigg dino_vits dino_vitb vit_mae",
        2022: "flexivit",
        2023: "samvit siglip dinov2 vit_so400m",
        2025: "vit_7b vit_pe pe_core siglip2 dinov3_vits dinov3_vitb dinov3_vitl dinov3_vit7b vit_gopt vit_giantopt",
        None: "vit naflexvit gemma4_vit qwen3_vit deepseek_vit vit_srelpos",
    },
    "vitamin": {2024: "vitamin"},
    "volo": {2021: "volo"},
    "vovnet": {2019: "vovnet ese_vovnet"},
    "xception": {2016: "xception", 2018: "xception41 xception65 xception71", None: "xception41p xception65p"},
    "xcit": {2021: "xcit"},
}
"""Beginnings of names by family and year; without a year where a name has no publication of its own, or several."""

_ORIGINS = re.compile(r"^(?:tf|legacy|gluon|tv|dm|clip|coca|roberta|xlm_roberta_base|xlm_roberta_large)_")
_VERSION = re.compile(r"_v(?=\d)")


def family_and_year(architecture: str) -> tuple[str, int | None]:
    """The family that the name of an architecture begins with, and its year; empty and None if unknown.

    Versions and named variants of an architecture are one family.

    >>> family_and_year("tf_efficientnetv2_s"), family_and_year("ViT-B-32"), family_and_year("my_network")
    (('efficientnet', 2021), ('vit', 2020), ('', None))
    """
    name = re.sub(r"[^a-z0-9]+", "_", architecture.lower()).strip("_")
    name = _VERSION.sub("v", _ORIGINS.sub("", name))
    return next((_BEGINNINGS[text] for text in _LONGEST_FIRST if re.match(rf"{text}(?![a-z])", name)), ("", None))


_BEGINNINGS = {
    _VERSION.sub("v", beginning): (family, year)
    for family, by_year in _FAMILIES.items()
    for year, beginnings in by_year.items()
    for beginning in beginnings.split()
}
_LONGEST_FIRST = sorted(_BEGINNINGS, key=len, reverse=True)
