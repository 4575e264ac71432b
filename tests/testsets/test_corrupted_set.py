"""Test sets of corrupted images, which are computed deterministically when they are read."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from small_set import FORMS, SPACE, encoded, found_in, noise

from regrade.core import (
    UNLABELED,
    FormatError,
    ImageSource,
    InputError,
    Orientation,
    TestSet,
    UnknownName,
    UnreadableImage,
)
from regrade.testsets import check, contact_sheet, corrupt, corrupted, decode, open_images, reader_named, readers
from regrade.testsets.corrupted_set import CleanPlace, CorruptedPlace
from regrade.testsets.corruptions import CORRUPTIONS
from regrade.testsets.corruptions.pixels import center, through_jpeg


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def clean_set(path: Path, **how) -> tuple[TestSet, ImageSource]:
    result, source = found_in(path)
    labels = np.full(len(result.ids), UNLABELED) if result.labels is None else result.labels
    return TestSet("clean", SPACE, result.ids, labels, result.groups), replace(source, **how)


@pytest.fixture
def clean(tmp_path) -> tuple[TestSet, ImageSource]:
    """Three images in three classes."""
    for number, place in enumerate(("n01/a.png", "n02/b.png", "n03/c.png")):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).write_bytes(encoded(noise(number, (300, 260))))
    return clean_set(tmp_path)


class TestCorrupted:
    def test_contains_every_image_corruption_and_severity(self, clean):
        created = corrupted(*clean, name="c", rng=rng())
        assert len(created.test_set) == 3 * 15 * 5
        assert created.test_set.ids[:4] == (
            "gaussian_noise/1/a.png", "gaussian_noise/1/b.png", "gaussian_noise/1/c.png", "gaussian_noise/2/a.png"
        )  # fmt: skip
        assert set(created.test_set.groups) == {"corruption", "severity", "image"}
        for position in (0, 4, 100, 224):
            example = created.test_set.example(position)
            assert example.id == "/".join(example.groups.values())
            image = clean[0].position_of[example.groups["image"]]
            assert example.label == clean[0].example(image).label
        assert tuple(dict.fromkeys(created.test_set.groups["corruption"])) == CORRUPTIONS

    def test_selects_corruptions_and_severities_in_the_order_of_the_paper(self, clean):
        selection = {"corruptions": ("fog", "snow", "fog"), "severities": (5, 2)}
        created = corrupted(*clean, name="c", rng=rng(), **selection)
        again = corrupted(*clean, name="c", rng=rng(), corruptions=["snow", "fog"], severities=[2, 5])
        assert len(created.test_set) == 12
        assert created.test_set.digest == again.test_set.digest and created.source == again.source

    def test_keeps_the_groups_of_the_clean_set(self, clean):
        test_set = replace(clean[0], groups={"region": ("north", "south", "north")})
        created = corrupted(test_set, clean[1], name="c", corruptions=["fog"], severities=[1, 2], rng=rng())
        assert created.test_set.groups["region"] == ("north", "south", "north") * 2

    def test_sample_is_the_same_under_every_corruption(self, clean):
        created = corrupted(*clean, name="c", images=2, rng=rng(1)).test_set
        chosen = {c: {i for i, k in zip(created.groups["image"], created.groups["corruption"], strict=True) if k == c}
                  for c in CORRUPTIONS}  # fmt: skip
        assert len(created) == 2 * 75 and len({frozenset(images) for images in chosen.values()}) == 1
        parts = {
            corrupted(*clean, name="c", images=2, rng=rng(seed)).test_set.groups["image"][:2] for seed in range(20)
        }
        assert len(parts) == 3, "every pair turns up"

    def test_rejects_invalid_selections(self, clean):
        with pytest.raises(UnknownName, match="'glas_blur'; did you mean glass_blur"):
            corrupted(*clean, name="c", corruptions=["glas_blur"], rng=rng())
        with pytest.raises(InputError, match="the severity must be one of 1, 2, 3, 4, 5, got 6"):
            corrupted(*clean, name="c", severities=[6], rng=rng())
        with pytest.raises(InputError, match="must be a list of names"):
            corrupted(*clean, name="c", corruptions="fog", rng=rng())
        for images in (0, 4):
            with pytest.raises(InputError, match=f"a sample of test set clean has 1 to 3 images, got {images}"):
                corrupted(*clean, name="c", images=images, rng=rng())

    def test_rejects_a_corrupted_set(self, clean):
        created = corrupted(*clean, name="c", rng=rng())
        with pytest.raises(InputError, match="test set c already has a group column 'corruption'"):
            corrupted(created.test_set, created.source, name="cc", rng=rng())


class TestImages:
    def test_read_crops_corrupts_and_compresses(self, clean):
        created = corrupted(*clean, name="c", rng=rng())
        images, originals = open_images(created.source), open_images(clean[1])
        for position in range(0, len(created.test_set), 7):
            place = CorruptedPlace.from_text(created.source.locations[position])
            image = CleanPlace.from_text(place.clean).image
            original = decode(originals.read(clean[0].position_of[image]))
            expected = through_jpeg(corrupt(center(original), place.corruption, place.severity, place.rng(image)), 85)
            got = images.read(position)
            assert got.shape == (224, 224, 3) and got.dtype == np.uint8
            np.testing.assert_array_equal(got, expected)

    def test_order_and_threads_do_not_matter(self, clean):
        created = corrupted(*clean, name="c", severities=[3], rng=rng())
        forth = [open_images(created.source).read(position) for position in range(45)]
        images = open_images(created.source)
        back = [images.read(position) for position in reversed(range(45))][::-1]
        with ThreadPoolExecutor(4) as pool:
            beside = list(pool.map(images.read, range(45)))
        part = corrupted(*clean, name="p", corruptions=["frost"], severities=[3], images=1, rng=rng(2))
        np.testing.assert_array_equal(forth, back)
        np.testing.assert_array_equal(forth, beside)
        position = created.test_set.position_of[part.test_set.ids[0]]
        np.testing.assert_array_equal(open_images(part.source).read(0), forth[position])

    def test_randomness_differs_by_image_corruption_and_severity(self):
        place = CorruptedPlace("fog", 1, "x")
        changed = [place._replace(corruption="snow").rng("a"), place._replace(severity=2).rng("a"), place.rng("b")]
        assert len({generator.random() for generator in (place.rng("a"), *changed)}) == 4
        assert place._replace(clean="another place").rng("a").random() == place.rng("a").random()

    @pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
    def test_read_works_for_every_format(self, form, tmp_path):
        test_set, source = clean_set(form(tmp_path / "set"))
        created = corrupted(test_set, source, name="c", corruptions=["contrast"], severities=[1], rng=rng())
        travelled = pickle.loads(pickle.dumps(open_images(created.source)))
        for position, example in enumerate(test_set.ids):
            expected = center(decode(open_images(source).read(position)))
            means = travelled.read(position).mean(axis=(0, 1))
            np.testing.assert_allclose(means, expected.mean(axis=(0, 1)), atol=2, err_msg=example)

    @pytest.mark.parametrize(("orientation", "corner"), [(Orientation.UPRIGHT, 250), (Orientation.AS_STORED, 0)])
    def test_exif_orientation_is_handled_as_in_the_clean_set(self, tmp_path, orientation, corner):
        exif = Image.Exif()
        exif[0x0112] = 3  # upside down
        pixels = np.zeros((256, 256, 3), dtype=np.uint8)
        pixels[128:] = 250
        (tmp_path / "n01").mkdir()
        (tmp_path / "n01" / "a.png").write_bytes(encoded(Image.fromarray(pixels), exif=exif))
        test_set, source = clean_set(tmp_path, orientation=orientation)
        created = corrupted(test_set, source, name="c", corruptions=["pixelate"], severities=[1], rng=rng())
        got = decode(
            open_images(created.source).read(0), orientation=created.source.orientation, border=created.source.border
        )
        assert abs(got.getpixel((5, 5))[0] - corner) < 4

    def test_border_is_cropped_once_before_the_corruption(self, tmp_path):
        pixels = np.full((260, 260, 3), (255, 0, 0), dtype=np.uint8)
        pixels[40:-40, 40:-40] = (0, 200, 0)
        (tmp_path / "n01").mkdir()
        (tmp_path / "n01" / "a.png").write_bytes(encoded(Image.fromarray(pixels)))
        test_set, source = clean_set(tmp_path, border=40)
        created = corrupted(test_set, source, name="c", corruptions=["pixelate"], severities=[1], rng=rng())
        got = np.asarray(decode(open_images(created.source).read(0), border=created.source.border))
        assert got.shape == (224, 224, 3) and got[..., 0].max() < 8 and got[..., 1].min() > 190

    def test_center_crop_is_that_of_imagenet_preprocessing(self):
        wide = Image.fromarray(np.random.default_rng(0).integers(0, 256, (300, 451, 3), dtype=np.uint8))
        resized = wide.resize((384, 256), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(center(wide), np.asarray(resized)[16:240, 80:304])
        assert center(wide.resize((40, 90))).shape == (224, 224, 3)


class TestErrors:
    def test_unreadable_clean_image(self, clean, tmp_path):
        (tmp_path / "n01" / "a.png").write_bytes(b"no image")
        (tmp_path / "n02" / "b.png").unlink()
        created = corrupted(*clean, name="c", corruptions=["fog"], severities=[1], rng=rng())
        images = open_images(created.source)
        for position, reason in enumerate(("not an image", "n02/b.png: No such file")):
            with pytest.raises(UnreadableImage, match=reason):
                images.read(position)
        assert [example for example, _ in check(created.test_set, created.source).unreadable] == [
            "fog/1/a.png",
            "fog/1/b.png",
        ]

    def test_missing_clean_images(self, clean, tmp_path):
        created = corrupted(*clean, name="c", rng=rng())
        tmp_path.rename(tmp_path.with_name("moved"))
        with pytest.raises(InputError, match="which does not exist any more"):
            open_images(created.source)

    @pytest.mark.parametrize("text", ["x", "fog/1 {}", "fog/1 [1]", 'fog/1 {"image": "a"}', "fog {}", "fog/x {}", ""])
    def test_invalid_location(self, tmp_path, text):
        with pytest.raises(FormatError, match="is not the location of a corrupted image"):
            open_images(ImageSource("corrupted", str(tmp_path), (text,)))

    def test_find_is_rejected(self, tmp_path):
        reader = reader_named("corrupted")
        assert not reader.recognizes(tmp_path) and "corrupted" not in readers()
        with pytest.raises(InputError, match="regrade testsets corrupt"):
            reader.find(tmp_path, None)


def test_contact_sheet_and_check_of_a_corrupted_set(clean):
    created = corrupted(*clean, name="c", corruptions=["fog", "snow"], rng=rng())
    assert contact_sheet(created.test_set, created.source, rng=rng(), rows=2, columns=3).size == (
        3 * 168 + 8,
        2 * 202 + 8,
    )
    result = check(created.test_set, created.source)
    assert result.sound and result.examples == 30 and result.largest == (224, 224) and not result.repeated
