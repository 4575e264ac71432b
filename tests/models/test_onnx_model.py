"""An ONNX file is a model, whatever its batch axis."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from regrade.core import InputError, MismatchError, Preprocessing, ScoreKind
from regrade.models import Device, Precision, Settings, load_model, onnx_model
from regrade.models.onnx_model import parallel_cores

WEIGHTS = np.random.default_rng(0).standard_normal((192, 10), dtype=np.float32) / 14


@pytest.fixture
def write(tmp_path, library):
    """Write a graph: flatten, multiply with WEIGHTS, and the requested extras."""
    onnx = library("onnx")
    library("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    def written(
        shape=("n", 3, 8, 8), *, kind=TensorProto.FLOAT, softmax=False, outputs=1, inputs=1, width=10, more=None
    ):
        weights = WEIGHTS.astype(np.float16) if kind == TensorProto.FLOAT16 else WEIGHTS
        nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("MatMul", ["flat", "w"], ["product"])]
        nodes += [helper.make_node("Softmax" if softmax else "Identity", ["product"], ["y"])]
        nodes += [helper.make_node("Identity", ["y"], [f"y{i}"]) for i in range(1, outputs)]
        nodes += [helper.make_node("Identity", ["flat"], [more])] if more else []
        names = ["x", *(f"x{i}" for i in range(1, inputs))]
        graph = helper.make_graph(
            nodes,
            "linear",
            [helper.make_tensor_value_info(name, kind, shape) for name in names],
            [
                helper.make_tensor_value_info(name, kind, [shape[0], width])
                for name in ("y", *(f"y{i}" for i in range(1, outputs)))
            ]
            + ([helper.make_tensor_value_info(more, kind, [shape[0], 192])] if more else []),
            [numpy_helper.from_array(weights, "w")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path = tmp_path / "linear.onnx"
        onnx.save(model, path)
        return path

    return written


def expected(batch):
    return batch.reshape(len(batch), -1) @ WEIGHTS


def test_onnx_scores_are_those_of_the_graph(write, settings, batch):
    path = write()
    model = load_model(f"onnx:{path}", settings)
    np.testing.assert_allclose(model.scores(batch), expected(batch), atol=1e-5)
    assert model.score_kind is ScoreKind.LOGITS
    assert model.runtime.startswith("onnxruntime ") and model.runtime.endswith(" cpu fp32")
    assert model.spec.weights_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert model.spec.name == f"onnx:{path}"


@pytest.mark.parametrize("fixed", [1, 2, 3, 7, 16])
def test_onnx_fixed_batch_size_gives_the_same_scores(write, settings, batch, fixed):
    model = load_model(f"onnx:{write((fixed, 3, 8, 8))}", settings)
    np.testing.assert_allclose(model.scores(batch), expected(batch), atol=1e-5)
    assert model.scores(batch[:0]).shape == (0, 10)


def test_onnx_score_kind_detects_probabilities(write, settings):
    assert load_model(f"onnx:{write(softmax=True)}", settings).score_kind is ScoreKind.PROBABILITIES


def test_onnx_casts_half_precision_inputs(write, settings, batch):
    from onnx import TensorProto

    model = load_model(f"onnx:{write(kind=TensorProto.FLOAT16)}", settings)
    np.testing.assert_allclose(model.scores(batch), expected(batch), atol=0.02)


class TestFeatures:
    def test_features_are_the_output_of_that_name(self, write, settings, batch):
        model = load_model(f"onnx:{write(more='features')}", settings)
        scores, features = model.scores_and_features(batch)
        np.testing.assert_array_equal(features, batch.reshape(7, -1))
        np.testing.assert_array_equal(scores, model.scores(batch))
        np.testing.assert_allclose(features @ WEIGHTS, scores, atol=1e-5)

    @pytest.mark.parametrize("fixed", [1, 2, 3, 7, 16])
    def test_features_drop_the_padding_of_a_fixed_batch(self, write, settings, batch, fixed):
        model = load_model(f"onnx:{write((fixed, 3, 8, 8), more='features')}", settings)
        scores, features = model.scores_and_features(batch)
        np.testing.assert_array_equal(features, batch.reshape(7, -1))
        np.testing.assert_allclose(scores, expected(batch), atol=1e-5)

    def test_features_keep_half_precision(self, write, settings, batch):
        features = load_model(f"onnx:{write(kind=10, more='features')}", settings).scores_and_features(batch)[1]
        np.testing.assert_array_equal(features, batch.reshape(7, -1).astype(np.float16))
        assert features.dtype == np.float16

    def test_features_raise_if_the_graph_has_none(self, write, settings, batch):
        model = load_model(f"onnx:{write()}", settings)
        with pytest.raises(InputError, match=r"^onnx:.* has no output called 'features': leave out --keep features$"):
            model.scores_and_features(batch)

    def test_load_rejects_a_second_output_of_another_name(self, write, settings):
        with pytest.raises(InputError, match=r"has 2 outputs \(y, embedding\), expected one"):
            load_model(f"onnx:{write(more='embedding')}", settings)


def test_onnx_scores_do_not_depend_on_threads(write, settings, batch):
    path = write()
    single, double = (load_model(f"onnx:{path}", replace(settings, threads=n)) for n in (1, 2))
    np.testing.assert_array_equal(single.scores(batch), double.scores(batch))


class RecordingSession:
    """A session that records the number of rows of each run."""

    def __init__(self, session):
        self._session, self.rows = session, []

    def run(self, names, inputs):
        self.rows.append(len(inputs["x"]))
        return self._session.run(names, inputs)


class TestPieces:
    @pytest.fixture
    def recorded(self, write, settings):
        def loaded(threads, **graph):
            model = load_model(f"onnx:{write(**graph)}", replace(settings, threads=threads))
            model._session = RecordingSession(model._session)
            return model, model._session.rows

        return loaded

    @pytest.mark.parametrize("threads, rows", [(1, [7]), (2, [3, 4]), (3, [1, 3, 3]), (4, [1, 2, 2, 2]), (5, [7])])
    def test_batch_is_split_only_among_few_cores(self, recorded, batch, threads, rows):
        model, seen = recorded(threads, more="features")
        np.testing.assert_allclose(model.scores(batch), expected(batch), atol=1e-5)
        assert sorted(seen) == rows
        np.testing.assert_array_equal(model.scores_and_features(batch)[1], batch.reshape(7, -1))

    def test_pieces_are_small(self, recorded, batch):
        model, seen = recorded(2)
        many = np.concatenate([batch] * 3)
        np.testing.assert_allclose(model.scores(many), expected(many), atol=1e-5)
        assert sorted(seen) == [1, 4, 4, 4, 4, 4]

    def test_no_piece_is_empty(self, recorded, batch):
        model, seen = recorded(4)
        np.testing.assert_allclose(model.scores(batch[:2]), expected(batch[:2]), atol=1e-5)
        assert seen == [1, 1]

    def test_fixed_batch_size_is_the_size_of_pieces(self, recorded, batch):
        model, seen = recorded(2, shape=(3, 3, 8, 8))
        np.testing.assert_allclose(model.scores(batch), expected(batch), atol=1e-5)
        assert seen == [3, 3, 3]

    def test_onnxruntime_has_one_thread_per_piece(self, write, settings):
        path = write()
        for threads, own in ((1, 1), (2, 1), (5, 5)):
            model = load_model(f"onnx:{path}", replace(settings, threads=threads))
            assert model._session.get_session_options().intra_op_num_threads == own

    def test_failing_piece_is_reported_in_one_line(self, recorded, batch):
        model, _ = recorded(2, shape=("n", 3, "h", "w"))
        with pytest.raises(InputError, match=r"^onnx:.* failed on a batch of shape \(7, 3, 8, 4\)") as raised:
            model.scores(batch[..., :4])
        assert "\n" not in str(raised.value)

    def test_parallel_cores_are_those_this_process_may_use(self, settings, monkeypatch):
        monkeypatch.setattr(onnx_model, "usable_cores", lambda: 3)
        assert parallel_cores(settings) == 3
        assert parallel_cores(replace(settings, device=Device.CUDA)) == 1
        monkeypatch.setattr(onnx_model, "usable_cores", lambda: 16)
        assert parallel_cores(settings) == 1


def test_onnx_hash_covers_weights_in_a_second_file(write, settings):
    path = write()
    alone = load_model(f"onnx:{path}", settings).spec.weights_hash
    path.with_name("linear.onnx.data").write_bytes(b"weights")
    assert load_model(f"onnx:{path}", settings).spec.weights_hash != alone


def test_onnx_export_of_torch_gives_the_same_scores(tmp_path, settings, batch, user_module, library):
    library("torch")
    library("onnxruntime")
    text = "from torch import nn\ndef f():\n    return nn.Sequential(nn.Flatten(), nn.Linear(192, 10))\n"
    model = load_model(f"torch:{user_module(text)}:f", settings)
    model.export(tmp_path / "m.onnx")
    exported = load_model(f"onnx:{tmp_path / 'm.onnx'}", settings)
    np.testing.assert_allclose(exported.scores(batch), model.scores(batch), atol=1e-5)


@pytest.mark.parametrize(
    "graph, kind, what",
    [
        ({"outputs": 2}, InputError, r"has 2 outputs \(y, y1\), expected one: images in, scores out"),
        ({"inputs": 2}, InputError, r"has 2 inputs \(x, x1\), expected one"),
        ({"shape": ("n", 8, 8, 3)}, InputError, "takes the channels last"),
        ({"shape": ("n", 192)}, InputError, "takes an input of 2 axes"),
        (
            {"shape": ("n", 3, 4, 16)},
            MismatchError,
            r"takes inputs of 3 x 4 x 16, but its preprocessing makes 3 x 8 x 8",
        ),
        ({"kind": 11}, InputError, r"takes tensor\(double\), expected 32-bit floats|cannot be loaded by onnxruntime"),
    ],
)
def test_load_onnx_rejects_unsupported_graphs(write, settings, graph, kind, what):
    with pytest.raises(kind, match=what):
        load_model(f"onnx:{write(**graph)}", settings)


def test_load_onnx_rejects_another_number_of_classes(write, settings):
    from regrade.classes import imagenet_1k

    with pytest.raises(MismatchError, match="gives 10 scores per image, but imagenet-1k has 1000 classes"):
        load_model(f"onnx:{write()}", replace(settings, class_space=imagenet_1k()))


def test_load_onnx_requires_classes_and_preprocessing(write, settings):
    path = write()
    with pytest.raises(InputError, match="give --classes"):
        load_model(f"onnx:{path}", Settings(preprocessing=settings.preprocessing))
    with pytest.raises(InputError, match="give --size"):
        load_model(f"onnx:{path}", Settings(class_space=settings.class_space))


def test_load_onnx_reports_an_input_size_the_graph_rejects(write, settings):
    path = write(("n", 3, "h", "w"))
    assert load_model(f"onnx:{path}", settings).scores(np.zeros((1, 3, 8, 8), np.float32)).shape == (1, 10)
    with pytest.raises(InputError, match=r"failed on a batch of shape \(2, 3, 9, 9\)"):
        load_model(f"onnx:{path}", replace(settings, preprocessing=Preprocessing(9, 9)))


def test_load_onnx_rejects_other_files(tmp_path, settings, library):
    library("onnxruntime")
    path = tmp_path / "m.onnx"
    with pytest.raises(InputError, match=r"there is no file .*m\.onnx"):
        load_model(f"onnx:{path}", settings)
    path.write_bytes(b"not a graph")
    with pytest.raises(InputError, match="cannot be loaded by onnxruntime: ") as raised:
        load_model(f"onnx:{path}", settings)
    assert "\n" not in str(raised.value)


def test_load_onnx_rejects_unsupported_settings(write, settings):
    path = write()
    with pytest.raises(InputError, match="computes in the precision it was exported in: leave out --precision"):
        load_model(f"onnx:{path}", replace(settings, precision=Precision.BF16))
    with pytest.raises(InputError, match="is not a torch module and cannot be compiled: leave out --compile"):
        load_model(f"onnx:{path}", replace(settings, compile=True))
    with pytest.raises(InputError, match="not on mps"):
        load_model(f"onnx:{path}", replace(settings, device=Device.MPS))
    import onnxruntime

    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        with pytest.raises(InputError, match="install onnxruntime-gpu, or give --device cpu"):
            load_model(f"onnx:{path}", replace(settings, device=Device.CUDA))


@pytest.mark.parametrize("location", ["tensors.bin", "other/w.bin", "x" * 200])
def test_onnx_hash_covers_weights_in_files_of_any_name(write, settings, library, location):
    onnx = library("onnx")
    from onnx.external_data_helper import set_external_data

    path = write()
    model = onnx.load(path)
    (weights,) = model.graph.initializer
    set_external_data(weights, location)
    content = weights.raw_data
    weights.ClearField("raw_data")
    path.write_bytes(model.SerializeToString())
    (path.parent / location).parent.mkdir(exist_ok=True)
    (path.parent / location).write_bytes(content)
    before = load_model(f"onnx:{path}", settings)
    assert load_model(f"onnx:{path}", settings).spec == before.spec
    (path.parent / location).write_bytes((2 * WEIGHTS).tobytes())
    assert load_model(f"onnx:{path}", settings).spec.weights_hash != before.spec.weights_hash
