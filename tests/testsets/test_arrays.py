"""The reader of NPY and NPZ files."""

import pickle

import numpy as np
import pytest
from small_set import SPACE, found_in, noise

from regrade.classes import class_space
from regrade.core import FormatError, ImageSource, InputError, MismatchError, UnreadableImage
from regrade.testsets import Layout, ReaderOptions, open_images, reader_for
from regrade.testsets.arrays import CifarReader

PIXELS = np.stack([np.asarray(noise(k, (6, 5))) for k in range(4)])
GRAY = PIXELS[..., 0]
LABELS = np.array([3, 0, 2, 1])

CIFAR = class_space("cifar-10")


def saved(folder, **arrays):
    np.savez(folder / "x.npz", **arrays)
    return folder / "x.npz"


class TestShapes:
    @pytest.mark.parametrize("channels_first", [PIXELS.transpose(0, 3, 1, 2), PIXELS], ids=["first", "last"])
    def test_color(self, tmp_path, channels_first):
        _, source = found_in(saved(tmp_path, images=channels_first, labels=LABELS))
        np.testing.assert_array_equal(open_images(source).read(2), PIXELS[2])

    @pytest.mark.parametrize("gray", [GRAY, GRAY[..., None], GRAY[:, None]], ids=["bare", "last", "first"])
    def test_gray(self, tmp_path, gray):
        _, source = found_in(saved(tmp_path, data=gray, y=LABELS))
        assert open_images(source).read(2).squeeze().tolist() == GRAY[2].tolist()

    def test_in_fortran_order(self, tmp_path):
        np.save(tmp_path / "x.npy", np.asfortranarray(PIXELS))
        _, source = found_in(tmp_path / "x.npy", ReaderOptions(SPACE, Layout.FLAT))
        np.testing.assert_array_equal(open_images(source).read(1), PIXELS[1])

    @pytest.mark.parametrize(
        "pixels",
        [PIXELS / 255, PIXELS.astype(int), PIXELS.reshape(4, -1), PIXELS[0, 0, 0], PIXELS[:0], PIXELS[:, :0],
         np.zeros((4, 5, 6, 4), np.uint8), PIXELS[None]],
        ids=lambda pixels: f"{pixels.dtype}{pixels.shape}",
    )  # fmt: skip
    def test_find_rejects_other_shapes(self, tmp_path, pixels):
        with pytest.raises(FormatError, match=r"images must be uint8 of shape \(n, height, width, 3\), got"):
            found_in(saved(tmp_path, images=pixels, labels=LABELS))


class TestLabels:
    @pytest.mark.parametrize("name", ["labels", "label", "targets", "y", "y_test"])
    @pytest.mark.parametrize("labels", [LABELS, LABELS[:, None], LABELS.astype(np.uint8)], ids=["n", "n x 1", "bytes"])
    def test_labels_in_the_npz_file(self, tmp_path, name, labels):
        result = found_in(saved(tmp_path, images=PIXELS, **{name: labels}))[0]
        assert (result.ids, result.labels.tolist()) == (("0", "1", "2", "3"), [3, 0, 2, 1])

    @pytest.mark.parametrize(
        ("data", "labels"), [("v6_data", "v6_labels"), ("data", "labels"), ("images", "images_labels")]
    )
    def test_labels_in_a_sibling_file(self, tmp_path, data, labels):
        np.save(tmp_path / f"{data}.npy", PIXELS)
        np.save(tmp_path / f"{labels}.npy", LABELS)
        assert found_in(tmp_path / f"{data}.npy")[0].labels.tolist() == [3, 0, 2, 1]

    def test_find_rejects_missing_labels(self, tmp_path):
        np.save(tmp_path / "x.npy", PIXELS)
        for path in (tmp_path / "x.npy", saved(tmp_path, images=PIXELS)):
            with pytest.raises(FormatError, match="has no labels; for images without labels use --layout flat"):
                found_in(path)
            assert found_in(path, ReaderOptions(SPACE, Layout.FLAT))[0].labels is None

    @pytest.mark.parametrize("label", [4, -1, 2**40])
    def test_find_rejects_unknown_classes(self, tmp_path, label):
        with pytest.raises(MismatchError, match=rf"label '{label}' of .*x\.npz is not a class"):
            found_in(saved(tmp_path, images=PIXELS, labels=np.array([0, 1, label, 2])))

    @pytest.mark.parametrize("labels", [LABELS[:3], LABELS / 1, np.eye(4, dtype=int), np.array(["n01"] * 4)])
    def test_find_rejects_labels_of_the_wrong_type(self, tmp_path, labels):
        with pytest.raises(FormatError, match="4 images, but labels"):
            found_in(saved(tmp_path, images=PIXELS, labels=labels))


def test_find_notes_unused_arrays(tmp_path):
    path = saved(tmp_path, images=PIXELS, labels=np.zeros(len(PIXELS), int), names=np.arange(3))
    assert found_in(path)[0].notes == ("ignored the array names",)


class TestDamage:
    def test_find_rejects_files_without_images(self, tmp_path):
        with pytest.raises(FormatError, match="the array of images must be called images"):
            found_in(saved(tmp_path, foo=PIXELS))

    @pytest.mark.parametrize("name", ["x.npz", "x.npy"])
    @pytest.mark.parametrize("content", [b"", b"not an array", b"PK\x03\x04 half", b"\x93NUMPY\x01\x00"])
    def test_find_rejects_files_that_are_not_arrays(self, tmp_path, name, content):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FormatError, match=rf"{name} (cannot be read|is empty)"):
            found_in(tmp_path / name)

    def test_objects_are_not_unpickled(self, tmp_path):
        np.savez(tmp_path / "x.npz", images=np.array([{}], dtype=object))
        with pytest.raises(FormatError, match="got object"):
            found_in(tmp_path / "x.npz")
        np.savez(tmp_path / "y.npz", images=PIXELS, labels=np.array([{}] * len(PIXELS), dtype=object))
        with pytest.raises(FormatError, match="pickled Python objects, which are never loaded"):
            found_in(tmp_path / "y.npz")

    def test_read_notices_a_shorter_array(self, tmp_path):
        np.save(tmp_path / "x.npy", PIXELS)
        result, source = found_in(tmp_path / "x.npy", ReaderOptions(SPACE, Layout.FLAT))
        np.save(tmp_path / "x.npy", PIXELS[:2])
        images = open_images(source)
        np.testing.assert_array_equal(images.read(1), PIXELS[1])
        with pytest.raises(UnreadableImage, match=r"x\.npy has no row 4"):
            images.read(3)
        (tmp_path / "x.npy").unlink()
        with pytest.raises(InputError, match="which does not exist any more"):
            open_images(ImageSource("arrays", str(tmp_path / "x.npy"), result.locations))


@pytest.fixture
def batch(tmp_path):
    """Three images, red, green and blue, of classes 3, 0 and 9."""
    path = tmp_path / "test_batch.bin"
    records = np.zeros((3, 3073), dtype=np.uint8)
    records[:, 0] = 3, 0, 9
    for row in range(3):
        records[row, 1 + 1024 * row : 1 + 1024 * (row + 1)] = 200
    path.write_bytes(records.tobytes())
    return path


def test_cifar_reader_reads_labels_and_pixels(batch):
    reader = reader_for(batch)
    assert reader.name == "cifar"
    result = reader.find(batch, ReaderOptions(CIFAR))
    assert (result.ids, result.labels.tolist()) == (("0", "1", "2"), [3, 0, 9])
    images = open_images(ImageSource("cifar", str(batch), result.locations))
    for row in range(3):
        image = images.read(row)
        assert image.shape == (32, 32, 3)
        assert [int(image[..., channel].min()) for channel in range(3)] == [200 * (row == c) for c in range(3)]
    again = pickle.loads(pickle.dumps(images))
    np.testing.assert_array_equal(again.read(2), images.read(2))


def test_cifar_reader_rejects_other_files(batch, tmp_path):
    (tmp_path / "odd.bin").write_bytes(b"x" * 100)
    with pytest.raises(FormatError, match=r"odd\.bin has 100 bytes, but records of CIFAR-10 have 3,073 bytes each"):
        CifarReader().find(tmp_path / "odd.bin", ReaderOptions(CIFAR))
    (tmp_path / "empty.bin").touch()
    with pytest.raises(FormatError, match=r"empty\.bin is empty"):
        CifarReader().find(tmp_path / "empty.bin", ReaderOptions(CIFAR))
    with pytest.raises(FormatError, match=r"record \d+ has the label \d+, which is not a class of digits-3 \(0 to 2\)"):
        CifarReader().find(batch, ReaderOptions(CIFAR.subset("digits-3", range(3))))
    assert CifarReader().find(batch, ReaderOptions(CIFAR, Layout.FLAT)).labels is None


def test_cifar_images_notice_a_missing_or_truncated_file(batch):
    result = CifarReader().find(batch, ReaderOptions(CIFAR))
    source = ImageSource("cifar", str(batch), result.locations)
    batch.write_bytes(batch.read_bytes()[:3073])
    with pytest.raises(UnreadableImage, match="test_batch"):
        CifarReader().open(source).read(2)
    batch.unlink()
    with pytest.raises(InputError, match="does not exist any more"):
        CifarReader().open(source)
