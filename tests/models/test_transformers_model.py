"""Image classifiers of transformers from a local folder, with random weights and nothing fetched."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from regrade.classes import digits, imagenet_1k
from regrade.core import CropMode, InputError, MismatchError, Preprocessing
from regrade.models import Settings, load_model, preprocess
from regrade.models.transformers_model import first_mismatched_label, processor_preprocessing


@pytest.fixture(scope="module")
def transformers(library):
    return library("transformers")


@pytest.fixture
def write(transformers, tmp_path):
    def written(labels, processor=True):
        config = transformers.ViTConfig(
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            image_size=32,
            patch_size=8,
            id2label=dict(enumerate(labels)),
            label2id={label: index for index, label in enumerate(labels)},
        )
        transformers.set_seed(0)
        module = transformers.ViTForImageClassification(config)
        module.save_pretrained(tmp_path / "vit")
        if processor:
            transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path / "vit")
        return tmp_path / "vit", module.eval()

    return written


def test_transformers_scores_are_the_logits(write, library):
    torch = library("torch")
    folder, module = write("0123456789")
    model = load_model(f"transformers:{folder}", Settings(class_space=digits()))
    batch = np.random.default_rng(0).standard_normal((3, 3, 32, 32), dtype=np.float32)
    with torch.no_grad():
        expected = module(torch.from_numpy(batch)).logits.numpy()
    np.testing.assert_allclose(model.scores(batch), expected, atol=1e-6)
    assert (model.preprocessing.size, model.preprocessing.crop_mode) == (32, CropMode.STRETCH)


def test_transformers_features_are_the_input_of_the_classifier(write, library):
    torch = library("torch")
    folder, module = write("0123456789")
    model = load_model(f"transformers:{folder}", Settings(class_space=digits()))
    batch = np.random.default_rng(0).standard_normal((3, 3, 32, 32), dtype=np.float32)
    with torch.no_grad():
        expected = module.vit(torch.from_numpy(batch)).last_hidden_state[:, 0].numpy()
    scores, features = model.scores_and_features(batch)
    assert features.shape == (3, 16)
    np.testing.assert_allclose(features, expected, atol=1e-6)
    np.testing.assert_array_equal(scores, model.scores(batch))


def test_load_transformers_recognizes_imagenet_by_its_labels(write):
    labels = [", ".join(lemmas) for lemmas in imagenet_1k().lemmas]
    labels = [f"{label}{'' if labels.index(label) == i else ', again'}" for i, label in enumerate(labels)]
    assert load_model(f"transformers:{write(labels)[0]}", Settings()).class_space == imagenet_1k()


def test_load_transformers_rejects_labels_in_another_order(write):
    folder, _ = write("0132456789")
    with pytest.raises(MismatchError, match=r"calls its class 2 '3', in digits it is '2' \(2\)"):
        load_model(f"transformers:{folder}", Settings(class_space=digits()))


def test_load_transformers_rejects_generic_labels(write):
    folder, _ = write([f"LABEL_{i}" for i in range(10)])
    with pytest.raises(MismatchError, match="calls its class 0 'LABEL_0'"):
        load_model(f"transformers:{folder}", Settings(class_space=digits()))


def test_load_transformers_requires_matching_classes(write):
    folder, _ = write("0123456789")
    with pytest.raises(InputError, match="give --classes"):
        load_model(f"transformers:{folder}", Settings())
    with pytest.raises(MismatchError, match="gives 10 scores per image, but imagenet-1k has 1000"):
        load_model(f"transformers:{folder}", Settings(class_space=imagenet_1k()))


def test_load_transformers_requires_a_preprocessing(write):
    folder, _ = write("0123456789", processor=False)
    with pytest.raises(InputError, match="give --size"):
        load_model(f"transformers:{folder}", Settings(class_space=digits()))
    stated = Settings(class_space=digits(), preprocessing=Preprocessing(32, 32))
    assert load_model(f"transformers:{folder}", stated).preprocessing == Preprocessing(32, 32)


@pytest.mark.usefixtures("transformers")
def test_load_transformers_reports_a_folder_without_a_model(tmp_path, settings):
    with pytest.raises(InputError, match="cannot be loaded: ") as raised:
        load_model(f"transformers:{tmp_path}", settings)
    assert "\n" not in str(raised.value)


def test_first_mismatched_label_matches_by_id_name_or_word():
    space = replace(
        digits(), names=tuple(f"the_{i}" for i in range(10)), lemmas=tuple((f"w{i}", f"v{i}") for i in range(10))
    )
    assert first_mismatched_label(["0", "The 1", "w2, other", "V3", *"456789"], space) is None
    assert first_mismatched_label(["0", "the 1", "other", *"3456789"], space) == 2


@pytest.mark.parametrize(
    "processor, options",
    [
        ("ViTImageProcessor", {"size": {"height": 64, "width": 64}}),
        ("DeiTImageProcessor", {"size": {"height": 72, "width": 72}, "crop_size": {"height": 64, "width": 64}}),
        ("BitImageProcessor", {"size": {"shortest_edge": 72}, "crop_size": {"height": 64, "width": 64}}),
        ("CLIPImageProcessor", {"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}}),
        ("ConvNextImageProcessor", {"size": {"shortest_edge": 64}}),
        ("ConvNextImageProcessor", {"size": {"shortest_edge": 384}}),
        ("EfficientNetImageProcessor", {"size": {"height": 64, "width": 64}}),
        ("EfficientNetImageProcessor", {"size": {"height": 64, "width": 64}, "include_top": False}),
    ],
    ids=str,
)
def test_processor_preprocessing_equals_the_processors(transformers, processor, options):
    """Within two gray levels: these processors resize tensors, regrade resizes images."""
    theirs = getattr(transformers, processor)(**options)
    preprocessing = processor_preprocessing(theirs.to_dict(), processor)
    ramp = np.add.outer(np.arange(150), np.arange(200)) * (255 / 348)
    image = Image.fromarray(np.stack([ramp, ramp[::-1], ramp[:, ::-1]], axis=2).astype(np.uint8))
    expected = np.asarray(theirs(image, return_tensors="np")["pixel_values"][0])
    ours = preprocess(image, preprocessing)
    assert ours.shape == expected.shape
    assert np.abs(ours - expected).max() <= 2.01 / 255 / min(preprocessing.std)


@pytest.mark.parametrize(
    "change",
    [
        {"image_processor_type": "MobileViTImageProcessor"},
        {"resample": 1},
        {"do_resize": False},
        {"rescale_offset": True},
    ],
)
def test_processor_preprocessing_rejects_unsupported_processors(change):
    config = {
        "image_processor_type": "ViTImageProcessor",
        "size": {"height": 8, "width": 8},
        "resample": 2,
        "image_mean": [0.5] * 3,
        "image_std": [0.5] * 3,
    }
    assert processor_preprocessing(config, "m").size == 8
    with pytest.raises(InputError, match="give --size"):
        processor_preprocessing(config | change, "m")
