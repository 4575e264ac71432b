"""Users' array files: headers are checked against the file, and objects are never unpickled."""

import io
import pickle
import zipfile

import numpy as np
import pytest

from regrade.core import FormatError
from regrade.tables import open_arrays

VALUES = np.arange(12.0).reshape(4, 3)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def declared(shape: tuple[int, ...], descr: str = "<f8", content: bytes = bytes(16)) -> bytes:
    """An NPY file whose header does not match its content."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + content


def archive(*members: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members:
            packed.writestr(name, content)
    return file.getvalue()


@pytest.fixture
def opened(tmp_path):
    def of(content: bytes, name: str = "x.npz"):
        (tmp_path / name).write_bytes(content)
        return open_arrays(tmp_path / name)

    return of


@pytest.mark.parametrize("kind", [">f8", "<f4", ">i2", "uint8", "bool", "U3", "S3"])
def test_open_arrays_loads_plain_arrays_in_native_byte_order(opened, kind):
    array = VALUES.astype(kind)
    for content, name in ((npy(array), ""), (archive(("a.npy", npy(array))), "a")):
        loaded = opened(content).load(name)
        np.testing.assert_array_equal(loaded, array)
        assert loaded.dtype.isnative


@pytest.mark.parametrize(
    "array", [np.asfortranarray(VALUES), np.array(3.0), np.zeros((0, 3)), np.zeros((2, 0, 3), "U4")]
)
def test_open_arrays_loads_what_numpy_saves(opened, array):
    for content, name in ((npy(array), ""), (archive(("a.npy", npy(array))), "a")):
        loaded = opened(content).load(name)
        np.testing.assert_array_equal(loaded, array)
        assert (loaded.shape, loaded.dtype) == (array.shape, array.dtype)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_open_arrays_reads_every_version_of_the_format(opened, version):
    file = io.BytesIO()
    np.lib.format.write_array(file, VALUES, version)
    np.testing.assert_array_equal(opened(file.getvalue()).load(""), VALUES)


def test_open_arrays_detects_an_archive_by_its_content(opened):
    assert list(opened(archive(("a.npy", npy(VALUES))), "x.npy").declared) == ["a"]
    assert list(opened(npy(VALUES), "x.npz").declared) == [""]


def test_open_arrays_lists_members_that_are_not_arrays(opened):
    assert opened(archive(("a.npy", npy(VALUES)), ("README.txt", b"x"))).not_arrays == ("README.txt",)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([{}, 1], dtype=object), "pickled Python objects, which are never loaded"),
        (np.zeros(3, complex), "complex numbers"),
        (np.zeros(3, np.longdouble), "save it as float64"),
        (np.zeros(3, "M8[s]"), "dates"),
        (np.zeros(3, "m8[s]"), "time spans"),
    ],
)
def test_load_rejects_other_types(opened, array, words):
    with pytest.raises(FormatError, match=words):
        opened(npy(array)).load("")
    with pytest.raises(FormatError, match=words):
        opened(archive(("a.npy", npy(array)))).load("a")


class Trap:
    """Fails the test when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("unpickled",)


def test_load_never_unpickles(opened):
    content = declared((1,), "|O", pickle.dumps(np.array([Trap()], dtype=object)))
    for name, own in (("", content), ("a", archive(("a.npy", content)))):
        with pytest.raises(FormatError, match="never loaded"):
            opened(own).load(name)


@pytest.mark.parametrize("shape", [(10**12,), (10**30, 10**30), (1,), (3, 10**10)])
def test_open_arrays_rejects_a_shape_that_does_not_match_the_size(opened, shape):
    """Nothing of that size is allocated: the header is checked against the size of the file."""
    for content in (declared(shape), archive(("a.npy", declared(shape)))):
        with pytest.raises(FormatError, match="declares"):
            opened(content)


def test_open_arrays_rejects_a_member_with_an_impossible_compression_ratio(opened):
    """The directory of the archive can be wrong as well as the header."""
    header = declared((10**8,), "|u1", b"")
    content, size = archive(("a.npy", header)), len(header).to_bytes(4, "little")
    assert content.count(size) == 2
    with pytest.raises(FormatError, match=r"declares more content for 'a\.npy' than it can contain"):
        opened(content.replace(size, (len(header) + 10**8).to_bytes(4, "little")))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (npy(VALUES)[:-1], "truncated"),
        (npy(VALUES) * 2, "several arrays in one"),
        (npy(VALUES)[:20], "cannot be read"),
        (b"PK\x03\x04", "cannot be read"),
        (archive(("a.npy", npy(VALUES)))[:-9], "cannot be read"),
        (archive(), "contains no arrays"),
        (archive(("README.txt", b"x")), "contains no arrays"),
        (archive((".npy", npy(VALUES))), "without a name"),
        (b"\x93NUMPY\x09\x00" + npy(VALUES)[8:], "does not start like an NPY file"),
        (npy(np.zeros(3, [("a", "f4"), ("b", "i4")])), "records of several fields"),
        (npy(VALUES).replace(b"(4, 3)", b"(4+3)"), "its header is not valid"),
        (declared((-2,)), "its header is not valid"),
        (npy(VALUES).replace(b"'<f8'", b"'<q9'"), "cannot be read"),
        (b"", "is empty"),
    ],
)
def test_open_arrays_refuses_damage_in_one_line(opened, content, words):
    with pytest.raises(FormatError, match=words) as refused:
        opened(content)
    assert "\n" not in str(refused.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_open_arrays_refuses_an_array_that_is_there_twice(opened):
    with pytest.raises(FormatError, match="has the array 'a' twice"):
        opened(archive(("a.npy", npy(VALUES)), ("a.npy", npy(VALUES + 1))))


def test_load_rejects_a_damaged_member(opened):
    content = bytearray(archive(("a.npy", npy(np.random.default_rng(0).normal(size=(40, 3))))))
    content[len(content) // 2] ^= 255
    with pytest.raises(FormatError, match="cannot be read"):
        opened(bytes(content)).load("a")


def test_open_arrays_reads_python_2_headers_without_warning(opened):
    content = npy(VALUES).replace(b"(4, 3)", b"(4L,3)")
    np.testing.assert_array_equal(opened(content).load(""), VALUES)
