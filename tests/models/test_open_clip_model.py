"""A zero-shot model scores classes by prompts; a tiny one with random weights, saved to a file."""

import json
from dataclasses import replace

import numpy as np
import pytest

from regrade.classes import digits, imagenet_1k
from regrade.core import CropMode, InputError, Interpolation, UnknownName
from regrade.models import Settings, load_model
from regrade.models.open_clip_model import TEMPLATES, class_words, open_clip_preprocessing

TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}
CONFIG = {"size": (224, 224), "mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}


@pytest.fixture(scope="module")
def open_clip(library, tmp_path_factory):
    module = library("open_clip")
    folder = tmp_path_factory.mktemp("configs")
    (folder / "Tiny-Regrade.json").write_text(json.dumps(TINY))
    module.add_model_config(folder)
    return module


@pytest.fixture(scope="module")
def weights(open_clip, library, tmp_path_factory):
    torch = library("torch")
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "tiny.pt"
    torch.save(open_clip.create_model("Tiny-Regrade").state_dict(), path)
    return path


@pytest.fixture
def model(weights):
    return load_model(f"open_clip:Tiny-Regrade/{weights}", Settings(class_space=digits()))


def test_open_clip_scores_are_scaled_cosines_to_the_mean_prompt(model, open_clip, weights, library):
    torch = library("torch")
    clip = open_clip.create_model("Tiny-Regrade", pretrained=str(weights)).eval()
    tokenizer = open_clip.get_tokenizer("Tiny-Regrade")
    batch = np.random.default_rng(0).standard_normal((3, 3, 32, 32), dtype=np.float32)
    with torch.no_grad():
        images = clip.encode_image(torch.from_numpy(batch))
        images = images / images.norm(dim=1, keepdim=True)
        columns = []
        for digit in "0123456789":
            sentences = clip.encode_text(tokenizer([template.format(digit) for template in TEMPLATES]))
            mean = (sentences / sentences.norm(dim=1, keepdim=True)).mean(dim=0)
            columns.append(mean / mean.norm())
        expected = (100 * images @ torch.stack(columns, dim=1) * clip.logit_scale.exp() / 100).numpy()
    np.testing.assert_allclose(model.scores(batch), expected, rtol=1e-4, atol=1e-4)


def test_open_clip_features_are_the_image_embedding(model, open_clip, weights, library):
    torch = library("torch")
    clip = open_clip.create_model("Tiny-Regrade", pretrained=str(weights)).eval()
    batch = np.random.default_rng(0).standard_normal((3, 3, 32, 32), dtype=np.float32)
    with torch.no_grad():
        images = clip.encode_image(torch.from_numpy(batch)).numpy()
        scale = clip.logit_scale.exp().item()
    scores, features = model.scores_and_features(batch)
    np.testing.assert_allclose(features, images / np.linalg.norm(images, axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(scores, scale * features @ model._module.class_embeddings.numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(scores, model.scores(batch))


def test_open_clip_metadata(model):
    assert model.class_space == digits()
    assert (model.preprocessing.size, model.preprocessing.interpolation) == (32, Interpolation.BICUBIC)


def test_open_clip_hash_depends_on_the_classes(model, weights):
    renamed = replace(digits(), names=tuple(f"the {digit}" for digit in "0123456789"))
    again = load_model(f"open_clip:Tiny-Regrade/{weights}", Settings(class_space=renamed))
    assert again.spec.weights_hash != model.spec.weights_hash


def test_load_open_clip_requires_classes(weights):
    with pytest.raises(InputError, match="can predict any classes: name them with --classes"):
        load_model(f"open_clip:Tiny-Regrade/{weights}", Settings())


@pytest.mark.usefixtures("open_clip")
def test_load_open_clip_reports_unknown_names_and_weights(settings):
    with pytest.raises(UnknownName, match="unknown open_clip model 'Tiny-Regrad'; did you mean Tiny-Regrade"):
        load_model("open_clip:Tiny-Regrad/openai", settings)
    with pytest.raises(InputError, match="names no weights: write open_clip:NAME/WEIGHTS"):
        load_model("open_clip:Tiny-Regrade", settings)
    with pytest.raises(InputError, match="open_clip:Tiny-Regrade/no-such-tag cannot be loaded: ") as raised:
        load_model("open_clip:Tiny-Regrade/no-such-tag", settings)
    assert "\n" not in str(raised.value)


def test_open_clip_preprocessing_by_hand():
    preprocessing = open_clip_preprocessing(CONFIG, "m")
    assert (preprocessing.size, preprocessing.short_side, preprocessing.crop_mode) == (
        224,
        224,
        CropMode.RESIZE_THEN_CROP,
    )
    assert open_clip_preprocessing(CONFIG | {"resize_mode": "squash"}, "m").crop_mode is CropMode.STRETCH
    assert open_clip_preprocessing(CONFIG | {"interpolation": "bilinear"}, "m").interpolation is Interpolation.BILINEAR
    with pytest.raises(InputError, match="give --size"):
        open_clip_preprocessing(CONFIG | {"resize_mode": "longest"}, "m")


def test_class_words_are_readable_names():
    words = class_words(imagenet_1k())
    assert words[134] == "crane (wading bird)" and len(set(words)) == 1000
    bare = replace(imagenet_1k(), names=imagenet_1k().ids)
    assert class_words(bare)[0] == "tench"
