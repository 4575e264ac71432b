"""Files of torch.save are read as torch reads them, without torch and without running their code."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import FormatError
from regrade.tables import open_torch_arrays

LOGITS = torch.randn(7, 4, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(7) % 4
BATCHES = LOGITS.split(3)


def arrays_of(path, content, **options) -> dict[str, np.ndarray]:
    torch.save(content, path, **options)
    opened = open_torch_arrays(path)
    return {name: opened.load(name) for name in opened.declared}


@pytest.mark.parametrize(
    "kind", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
)
def test_torch_file_reads_every_type(tmp_path, kind):
    tensor = (LOGITS * 3).abs().to(kind)
    (array,) = arrays_of(tmp_path / "m.pt", tensor).values()
    assert np.array_equal(array, tensor.float().numpy())


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_torch_file_reads_views_as_torch_does(tmp_path_factory, shape, random):
    """Transposed, strided and shifted views share a storage that is larger than they are."""
    tensor = torch.arange(float(np.prod(shape) * 4)).reshape(*shape, 4)[..., random.randrange(3) :: 2]
    tensor = tensor.permute(random.sample(range(tensor.ndim), tensor.ndim))
    path = tmp_path_factory.mktemp("views") / "m.pt"
    (array,) = arrays_of(path, tensor).values()
    assert np.array_equal(array, torch.load(path, weights_only=True).numpy())


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (list(LOGITS.split(3)), {""}),
        (
            [{"logits": batch, "y": labels} for batch, labels in zip(BATCHES, LABELS.split(3), strict=True)],
            {"logits", "y"},
        ),
        (list(zip(LOGITS.split(3), LABELS.split(3), strict=True)), {"scores", "labels"}),
        ({"logits": LOGITS, "files": [f"{i}.png" for i in range(7)]}, {"logits", "files"}),
        ({"logits": list(LOGITS)}, {"logits"}),
    ],
    ids=["batches", "dictionaries", "tuples", "with text", "list of rows"],
)
def test_torch_file_joins_batches(tmp_path, content, names):
    arrays = arrays_of(tmp_path / "m.pt", content)
    assert arrays.keys() == names
    scores = next(array for array in arrays.values() if array.dtype.kind == "f")
    assert np.array_equal(scores.reshape(7, 4), LOGITS.numpy())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (torch.nn.Linear(2, 2), "an object of torch.nn.modules.linear.Linear, which is never loaded"),
        ({"net": torch.nn.Parameter(LOGITS)}, "contains the weights of a model"),
        ({"accuracy": 0.5}, "contains no tensors"),
        ([{"a": LOGITS}, {"b": LOGITS}], "the batches contain different tensors"),
        ([LOGITS, LOGITS[:, :2]], "the batches have different shapes"),
        ((LOGITS, LOGITS), "tuples of 2 items without names"),
    ],
)
def test_torch_file_rejects_other_content(tmp_path, content, words):
    torch.save(content, tmp_path / "m.pt")
    with pytest.raises(FormatError, match=r"m\.pt") as error:
        open_torch_arrays(tmp_path / "m.pt")
    assert words in str(error.value)


def test_torch_file_never_runs_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return (tmp_path / "hacked").touch, ()

    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("m/data.pkl", pickle.dumps(Evil(), protocol=2))
    (tmp_path / "m.pt").write_bytes(content.getvalue())
    with pytest.raises(FormatError, match="which is never loaded"):
        open_torch_arrays(tmp_path / "m.pt")
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("change", ["truncated", "old", "archive", "claims more"])
def test_torch_file_rejects_damage(tmp_path, change):
    path = tmp_path / "m.pt"
    torch.save(LOGITS, path, _use_new_zipfile_serialization=change != "old")
    if change == "truncated":
        path.write_bytes(path.read_bytes()[:-200])
    if change == "archive":
        np.savez(path.with_suffix(".npz"), a=LOGITS.numpy())
        path.write_bytes(path.with_suffix(".npz").read_bytes())
    if change == "claims more":
        with zipfile.ZipFile(path) as source:
            parts = {name: source.read(name) for name in source.namelist()}
        with zipfile.ZipFile(path, "w") as target:
            for name, part in parts.items():
                target.writestr(name, part[:-8] if name.endswith("data/0") else part)
    with pytest.raises(FormatError, match=r"m\.pt"):
        open_torch_arrays(path)
