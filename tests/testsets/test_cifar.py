"""The reader of the binary format of CIFAR-10."""

import pickle

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import FormatError, ImageSource, InputError, UnreadableImage
from regrade.testsets import Layout, ReaderOptions, open_images, reader_for
from regrade.testsets.cifar import CifarReader

CIFAR = class_space("cifar-10")


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
