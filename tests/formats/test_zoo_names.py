"""Names of models in zoos: family, training data, year and base model, and what a name does not state."""

import pytest

from regrade.core import ModelAttributes
from regrade.formats import Zoo, attributes_of_name, zoo_of
from regrade.formats.architectures import family_and_year

IN1K, IN21K, LAION2B = 1_281_167, 14_197_122, 2_320_000_000
NAMES = [
    ("timm:resnet50.a1_in1k", "resnet", 2015, "ImageNet-1k", IN1K),
    ("timm:resnet50", "resnet", 2015, "", None),
    ("timm:tf_efficientnet_b7.ns_jft_in1k", "efficientnet", 2019, "subset of JFT-300M, ImageNet-1k",
     81_000_000 + IN1K),  # the different images that the teacher labeled with enough confidence
    ("timm:tf_efficientnetv2_s.in21k_ft_in1k", "efficientnet", 2021, "ImageNet-21k, ImageNet-1k", IN21K),
    ("timm:vit_base_patch16_224.augreg_in21k_ft_in1k", "vit", 2020, "ImageNet-21k, ImageNet-1k", IN21K),
    ("timm:vit_base_patch16_clip_224.openai_ft_in1k", "vit", 2021, "WIT-400M, ImageNet-1k", 400_000_000 + IN1K),
    (
        "timm:vit_base_patch16_clip_224.laion2b_ft_in12k_in1k", "vit", 2022, "LAION-2B, ImageNet-12k, ImageNet-1k",
        LAION2B + 12_000_000,
    ),
    ("timm:vit_base_patch14_dinov2.lvd142m", "vit", 2023, "LVD-142M", 142_000_000),
    ("timm:vit_large_patch16_224.mae", "vit", 2021, "ImageNet-1k", IN1K),
    ("timm:vit_base_patch16_siglip_224.webli", "vit", 2023, "WebLI", None),
    ("timm:vit_base_patch16_224_miil.in21k_ft_in1k", "vit", 2021, "ImageNet-21k-P, ImageNet-1k",
     11_797_632),  # the version of fall 2011, with 11,221 classes
    ("timm:tresnet_m.miil_in21k", "tresnet", 2021, "ImageNet-21k-P", 11_797_632),
    ("timm:resnext101_32x8d.fb_swsl_ig1b_ft_in1k", "resnext", 2019, "subset of IG-1B-Targeted, ImageNet-1k",
     64_000_000 + IN1K),  # all 940 million are for the teacher
    ("timm:resnext101_32x8d.fb_wsl_ig1b_ft_in1k", "resnext", 2018, "IG-1B-Targeted, ImageNet-1k", 940_000_000 + IN1K),
    ("timm:gernet_l.idstcv_in1k", "gernet", 2020, "ImageNet-1k", IN1K),
    ("timm:iformer_m.in1k", "iformer", 2025, "ImageNet-1k", IN1K),
    ("timm:iformer_small", "iformer", None, "", None),  # a name of two architectures
    ("timm:resnext50_32x4d.fb_ssl_yfcc100m_ft_in1k", "resnext", 2019, "YFCC100M, ImageNet-1k", None),
    ("timm:eva02_large_patch14_clip_224.merged2b", "eva", 2023, "Merged-2B", 2_000_000_000),
    ("timm:eva_giant_patch14_336.m30m_ft_in22k_in1k", "eva", 2022, "Merged-30M, ImageNet-21k, ImageNet-1k",
     30_000_000),  # Merged-30M contains ImageNet-21k
    ("timm:mobilevitv2_150.cvnets_in22k_ft_in1k", "mobilevit", 2022, "ImageNet-21k-P, ImageNet-1k", None),
    ("timm:convnextv2_tiny.fcmae_ft_in22k_in1k_384", "convnext", 2023, "ImageNet-1k, ImageNet-21k", IN21K),
    ("timm:vit_base_patch32_clip_224.datacompxl", "vit", 2023, "DataComp-1B", 1_400_000_000),
    ("timm:vit_huge_patch14_clip_224.metaclip_2pt5b", "vit", 2023, "MetaCLIP-2.5B", 2_500_000_000),
    ("timm:seresnet50.a1_in1k", "resnet", 2017, "ImageNet-1k", IN1K),
    ("timm:swinv2_cr_small_ns_224.sw_in1k", "swin", 2021, "ImageNet-1k", IN1K),
    ("timm:hf-hub:timm/resnet18.a1_in1k", "resnet", 2015, "ImageNet-1k", IN1K),
    ("timm:nextvit_base.bd_ssld_6m_in1k", "nextvit", 2022, "", None),  # 6 million images of unknown origin
    ("timm:mixnet_l.ft_in1k", "mixnet", 2019, "", None),  # fine-tuned from something that the name does not state
    ("timm:beit3_base_patch16_224.indomain_in22k_ft_in1k", "beit", 2022, "", None),
    ("timm:efficientvit_l1.r224_in1k", "efficientvit-mit", None, "ImageNet-1k", IN1K),
    ("timm:test_vit.r160_in1k", "", None, "ImageNet-1k", IN1K),
    ("timm:local-dir:resnet50.in1k", "", None, "", None),
    ("torchvision:resnet50:IMAGENET1K_V2", "resnet", 2015, "ImageNet-1k", IN1K),
    ("torchvision:ResNet50_Weights.IMAGENET1K_V2", "resnet", 2015, "ImageNet-1k", IN1K),
    ("torchvision:vit_h_14:IMAGENET1K_SWAG_E2E_V1", "vit", 2022, "IG-3.6B, ImageNet-1k", 3_600_000_000 + IN1K),
    ("torchvision:efficientnet_v2_s:IMAGENET1K_V1", "efficientnet", 2021, "ImageNet-1k", IN1K),
    ("torchvision:swin_v2_t:IMAGENET1K_V1", "swin", 2021, "ImageNet-1k", IN1K),
    ("torchvision:inception_v3:IMAGENET1K_V1", "inception", 2015, "ImageNet-1k", IN1K),
    ("torchvision:vgg16_bn:IMAGENET1K_V1", "vgg", 2015, "ImageNet-1k", IN1K),
    ("torchvision:regnet_y_128gf", "regnet", 2020, "", None),  # the default weights depend on the version
    ("open_clip:ViT-B-32/laion2b_s34b_b79k", "vit", 2022, "LAION-2B", LAION2B),  # s34b: samples seen, no data set
    ("open_clip:RN50/openai", "resnet", 2021, "WIT-400M", 400_000_000),
    ("open_clip:convnext_base_w/laion_aesthetic_s13b_b82k", "convnext", 2022, "LAION-Aesthetic", 900_000_000),
    ("open_clip:ViT-L-14/datacomp_xl_s13b_b90k", "vit", 2023, "DataComp-1B", 1_400_000_000),
    ("open_clip:ViT-B-16/datacomp_l_s1b_b8k", "vit", 2023, "DataComp", None),
    ("open_clip:ViT-B-32/metaclip_fullcc", "vit", 2023, "MetaCLIP-2.5B", 2_500_000_000),
    ("open_clip:nllb-clip-base/v1", "", None, "", None),
    ("open_clip:hf-hub:laion/CLIP-ViT-B-32-laion2B-s34B-b79K", "vit", 2022, "LAION-2B", LAION2B),
    ("transformers:google/vit-base-patch16-224", "vit", 2020, "ImageNet-21k, ImageNet-1k", IN21K),
    ("transformers:google/vit-large-patch32-384", "vit", 2020, "ImageNet-21k, ImageNet-1k", IN21K),
    ("transformers:google/vit-base-patch16-224-in21k", "vit", 2020, "ImageNet-21k", IN21K),
    ("transformers:facebook/convnext-tiny-224", "convnext", 2022, "ImageNet-1k", IN1K),
    ("transformers:facebook/dinov2-base", "vit", 2023, "LVD-142M", 142_000_000),
    ("transformers:microsoft/resnet-50", "resnet", 2015, "ImageNet-1k", IN1K),
    ("transformers:timm/vit_tiny_patch16_224.augreg_in21k", "vit", 2020, "ImageNet-21k", IN21K),
    ("transformers:somebody/vit-base-birds", "vit", 2020, "", None),  # anybody may choose a name: no data
    ("transformers:models/mine", "", None, "", None),
]  # fmt: skip


@pytest.mark.parametrize("model, family, year, data, images", NAMES, ids=[row[0] for row in NAMES])
def test_attributes_of_name(model, family, year, data, images):
    stated = attributes_of_name(*zoo_of(model))
    assert (stated.family, stated.year, stated.training_data, stated.training_images) == (family, year, data, images)


def test_attributes_of_name_states_no_parameters():
    assert all(attributes_of_name(*zoo_of(row[0])).parameters is None for row in NAMES)


@pytest.mark.parametrize(
    "name, base",
    [
        ("vit_base_patch16_224.augreg_in21k_ft_in1k", "vit_base_patch16_224.augreg_in21k"),
        ("vit_base_patch16_clip_224.laion2b_ft_in12k_in1k", "vit_base_patch16_clip_224.laion2b_ft_in12k"),
        ("convnext_base.fb_in22k_ft_in1k_384", "convnext_base.fb_in22k"),
        ("hf-hub:timm/swin_base_patch4_window7_224.ms_in22k_ft_in1k",
         "hf-hub:timm/swin_base_patch4_window7_224.ms_in22k"),
        ("resnet50.a1_in1k", ""),
        ("efficientnet_b1.ft_in1k", ""),
        ("resnet50", ""),
    ],
)  # fmt: skip
def test_the_base_model_is_the_name_without_the_last_fine_tuning(name, base):
    assert attributes_of_name(Zoo.TIMM, name).base_model == base


def test_zoo_of_needs_a_prefix_or_a_stated_zoo():
    assert zoo_of("open_clip:RN50/openai") == (Zoo.OPEN_CLIP, "RN50/openai")
    assert zoo_of("resnet50") is zoo_of("trained:plain/seed-0") is zoo_of("timm:") is None
    assert zoo_of("resnet50", without_prefix=Zoo.TIMM) == (Zoo.TIMM, "resnet50")
    assert zoo_of("onnx:resnet50.onnx", without_prefix=Zoo.TIMM) is None


@pytest.mark.parametrize("name", ["", "pity", "vanilla", "nestor", "resnettle", "mitb", "evaluate", "vit2", "."])
def test_families_begin_a_name_as_whole_words(name):
    assert family_and_year(name)[0] == ("vit" if name == "vit2" else "")


def test_any_name_is_read_without_an_error():
    for zoo in Zoo:
        for name in ("", ".", "/", "a.", ".in1k", "a._ft_", "a.in1k_ft_", "x/", "hf-hub:", "timm/", "é.in1k", "a:b:c"):
            assert isinstance(attributes_of_name(zoo, name), ModelAttributes)
