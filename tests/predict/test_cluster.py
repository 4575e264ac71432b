"""A cluster of two machines stores the same bytes as one process, even if a machine dies."""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from predicting import CIFAR, PREPROCESSING, noisy
from running import EXECUTABLE, HANG_LIMIT, Ran, wait_until
from skipping import skip
from two_nodes import two_nodes

import regrade
from regrade.core import ExecutorError, ImageSource, ModelSpec, ScoreKind
from regrade.models import ModelMetadata, Resizer, Settings
from regrade.predict import EngineOptions, NamedModel
from regrade.predict.cluster import Worker, WorkerInfo, _can_read, _ConsistencyCheck
from regrade.predict.predictor import first_images

SIZE = 400

MODEL = """
import os, signal, time
from pathlib import Path
import numpy as np
from regrade.classes import class_space
from regrade.core import Preprocessing

SEEN = Path({folder!r}) / "seen"
BLIND = {folder!r} + "/blind"
if os.path.exists(BLIND) and "RAY_JOB_ID" in os.environ:
    import regrade.predict.cluster
    regrade.predict.cluster._can_read = lambda *_: False  # as on a machine without the images

def scores(batch):
    if len(batch) == 8:  # no trial of the loaded model
        SEEN.mkdir(exist_ok=True)
        (SEEN / str(os.getpid())).write_text(os.environ.get("CUDA_VISIBLE_DEVICES", ""))
        while os.path.exists({folder!r} + "/hold"):
            time.sleep(0.05)
    if os.path.exists({folder!r} + "/deadly"):
        os.kill(os.getpid(), signal.SIGKILL)
    if os.path.exists({folder!r} + "/wrong"):
        raise ValueError("the plug was pulled")
    if os.path.exists({folder!r} + "/exit") and len(batch) == 8:
        raise SystemExit(0)
    weights = np.random.default_rng(0).normal(size=(batch[0].size, 10)).astype(np.float32)
    return batch.reshape(len(batch), -1) @ weights

scores.class_space = class_space("cifar-10")
scores.preprocessing = Preprocessing(8, 8, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
scores.scores_and_features = lambda batch: (scores(batch), batch.reshape(len(batch), -1)[:, :7])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A workspace with images, one of them damaged, and a model in the same folder."""
    if importlib.util.find_spec("ray") is None:
        skip("ray is not installed: pip install 'regrade[ray]'")
    folder = tmp_path_factory.mktemp("cluster")
    noisy(folder, SIZE)
    (folder / "images" / "3" / "x013.png").write_bytes(b"no image")
    (folder / "mine.py").write_text(MODEL.format(folder=str(folder)))
    return folder


def environment(folder):
    """The environment in which the model can be imported as a module."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(folder)]))}


@pytest.fixture(scope="module")
def cluster(folder):
    with two_nodes(folder, environment(folder)) as running:
        yield running


@pytest.fixture
def misbehave(folder):
    """Create files that make the model misbehave, and remove them afterwards."""
    created = []

    def create(*names):
        for name in names:
            (folder / name).touch()
            created.append(folder / name)

    yield create
    for path in created:
        path.unlink(missing_ok=True)


def fresh(folder, name):
    workspace = regrade.init(folder / name)
    workspace.testsets.add("noise", folder / "images", classes="cifar-10", layout="index")
    return workspace


def command(where, *more):
    arguments = ["predict", "python:mine:scores", "-t", "noise", "-w", str(where), "--batch", "8", "--json", *more]
    return [str(EXECUTABLE), *arguments]


def ran(process) -> Ran:
    out, err = process.communicate(timeout=HANG_LIMIT)
    return Ran(process.returncode, out, err)


def start(arguments, environment):
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def on_cluster(cluster, where, *more) -> Ran:
    return ran(start(command(where, "--on", "ray", "--address", cluster.address, *more), cluster.environment))


def stored(workspace):
    test_set = workspace.store.test_set("noise")
    return workspace.store.predictions.read(test_set, "python:mine:scores"), workspace.store.predictions.manifest(
        test_set.name, "python:mine:scores"
    )


@pytest.fixture(scope="module")
def undisturbed(folder):
    """The predictions and manifest of a run in one process."""
    workspace = fresh(folder, "here")
    done = ran(start(command(folder / "here", "--keep", "scores,features"), environment(folder)))
    assert done.code == 3, done.err
    return stored(workspace)


def test_images_that_workers_cannot_read_are_shipped(folder, cluster, undisturbed, misbehave):
    workspace = fresh(folder, "shipped")
    misbehave("blind")
    done = on_cluster(cluster, folder / "shipped", "--keep", "scores,features")
    assert done.code == 3, done.err
    predictions, manifest = stored(workspace)
    assert predictions.digest == undisturbed[0].digest
    np.testing.assert_array_equal(predictions.fingerprints, undisturbed[0].fingerprints)
    assert manifest.unreadable == undisturbed[1].unreadable
    assert list(manifest.unreadable) == ["x013.png"]


def test_predict_on_a_cluster_fingerprints_the_clean_images_of_corrupted_ones(folder, cluster, misbehave):
    """Corrupted images are computed from clean ones, and only these may change."""
    for name, more in (("corrupted-here", ()), ("corrupted-there", ("--on", "ray", "--address", cluster.address))):
        workspace = fresh(folder, name)
        workspace.testsets.corrupt("noise", name="fog", corruptions=["fog"], severities=[1], images=20)
        if more:
            misbehave("blind")
        arguments = [*command(folder / name, *more), "--retry-unreadable"]
        arguments[arguments.index("noise")] = "fog"
        done = ran(start(arguments, cluster.environment))
        assert done.code in (0, 3), done.err
    stores = [regrade.open(folder / name).store for name in ("corrupted-here", "corrupted-there")]
    local, remote = (store.predictions.read(store.test_set("fog"), "python:mine:scores") for store in stores)
    np.testing.assert_array_equal(local.fingerprints, remote.fingerprints)


def test_predict_on_a_cluster_reports_errors_of_the_model(folder, cluster, misbehave):
    fresh(folder, "wrong-there")
    misbehave("wrong")
    done = on_cluster(cluster, folder / "wrong-there")
    assert done.code == 1 and done.out == ""
    assert done.err.strip().splitlines()[-1].startswith("error: python:mine:scores failed on ")
    assert "ValueError: the plug was pulled" in done.err and "Traceback" not in done.err


def test_predict_on_a_cluster_reports_a_model_that_exits(folder, cluster, misbehave):
    fresh(folder, "exits-there")
    misbehave("exit")
    done = on_cluster(cluster, folder / "exits-there")
    assert done.code == 1 and done.out == ""
    assert "SystemExit: 0" in done.err and "Traceback" not in done.err


def test_predict_on_a_cluster_gives_up_a_model_that_kills_every_worker(folder, cluster, misbehave):
    workspace = fresh(folder, "deadly-there")
    misbehave("deadly")
    done = on_cluster(cluster, folder / "deadly-there")
    assert done.code == 1 and done.out == ""
    assert "error: all workers are lost, the last one: " in done.err and "Traceback" not in done.err
    assert workspace.models.names("noise") == ()


def test_predict_on_a_cluster_survives_the_death_of_a_machine(folder, cluster, undisturbed, misbehave):
    """The last test of this cluster: one machine of it is gone afterwards."""
    workspace = fresh(folder, "killed")
    before = set((folder / "seen").iterdir())
    misbehave("hold")
    process = start(
        command(folder / "killed", "--on", "ray", "--address", cluster.address, "--keep", "scores,features"),
        cluster.environment,
    )
    wait_until(lambda: len(set((folder / "seen").iterdir()) - before) >= 2, process)  # both machines are at work
    at_work = set((folder / "seen").iterdir()) - before
    cluster.kill_one()  # the workers of a dead machine die too
    wait_until(lambda: not all(Path("/proc", worker.name).exists() for worker in at_work))
    (folder / "hold").unlink()
    done = ran(process)
    assert done.code == 3, done.err
    (pair,) = json.loads(done.out)["pairs"]
    assert pair["workers_lost"] >= 1 and pair["examples"] == SIZE
    predictions, manifest = stored(workspace)
    assert predictions.digest == undisturbed[0].digest and manifest.unreadable == undisturbed[1].unreadable
    np.testing.assert_array_equal(predictions.fingerprints, undisturbed[0].fingerprints)
    assert np.array_equal(
        predictions.features, undisturbed[0].features, equal_nan=True
    ) and predictions.features.shape == (SIZE, 7)


def test_workers_that_share_a_gpu_predict_every_image_once(folder, undisturbed):
    """Ray counts a GPU that is not there; the model computes on the CPU."""
    workspace = fresh(folder, "shared")
    before = set((folder / "seen").iterdir())
    with two_nodes(folder, environment(folder), cpus=3, gpus=1) as cluster:
        (folder / "hold").touch()
        options = ["--on", "ray", "--address", cluster.address, "--device", "cuda", "--per-gpu", "2"]
        process = start([*command(folder / "shared", *options), "--keep", "scores,features"], cluster.environment)
        wait_until(lambda: len(set((folder / "seen").iterdir()) - before) >= 2, process)
        (folder / "hold").unlink()
        done = ran(process)
    assert done.code == 3, done.err
    workers = set((folder / "seen").iterdir()) - before
    assert [worker.read_text() for worker in workers] == ["0", "0"]
    predictions, manifest = stored(workspace)
    assert predictions.digest == undisturbed[0].digest and manifest.unreadable == undisturbed[1].unreadable
    np.testing.assert_array_equal(predictions.fingerprints, undisturbed[0].fingerprints)


class TestConsistencyCheck:
    def info(self, **fields):
        weights, code = fields.get("weights", "1"), fields.get("code", "a")
        spec = ModelSpec("m", CIFAR.name, PREPROCESSING.summary, weights, code_hash=code)
        metadata = ModelMetadata(spec, CIFAR, PREPROCESSING, ScoreKind.LOGITS, fields.get("runtime", "torch"))
        return WorkerInfo(fields.get("version", regrade.__version__), metadata, "", True)

    @pytest.mark.parametrize(
        ("difference", "message"),
        [
            ({"runtime": "onnxruntime"}, "one worker runs the model by torch, another runs the model by onnxruntime"),
            ({"weights": "2"}, "one worker has weights 1, another has weights 2"),
            ({"code": "b"}, "one worker has code a, another has code b"),
            ({"version": "0.0.1"}, "a worker has regrade 0.0.1"),
        ],
    )
    def test_workers_that_differ_are_rejected(self, difference, message):
        consistency = _ConsistencyCheck()
        consistency.check(self.info())
        consistency.check(self.info())
        with pytest.raises(ExecutorError, match=message):
            consistency.check(self.info(**difference))


def test_worker_reads_images_only_if_they_are_the_same(tmp_path):
    store = noisy(tmp_path, 20)
    source = store.images.read(store.test_set("noise"))
    first = first_images(source)
    assert len(first) == 16 and _can_read(source, first)
    changed = {**first, 3: b"other"}
    assert not _can_read(source, changed)
    assert not _can_read(source, {})
    assert not _can_read(ImageSource(source.reader, str(tmp_path / "gone"), source.locations), first)
    (tmp_path / "images" / source.locations[5]).unlink()
    assert not _can_read(source, first)


def test_worker_predicts_shipped_images_like_its_own(tmp_path, monkeypatch):
    (tmp_path / "alone.py").write_text(MODEL.format(folder=str(tmp_path)))
    monkeypatch.syspath_prepend(tmp_path)
    store = noisy(tmp_path, 20)
    test_set = store.test_set("noise")
    source = store.images.read(test_set)
    options = EngineOptions(batch=4, keep_scores=True, resizer=Resizer.PILLOW)
    worker = Worker(NamedModel("python:alone:scores", Settings()), options, source, first_images(source))
    assert worker.hello().can_read_images and worker.find_batch_size() == 4
    images = [(tmp_path / "images" / place).read_bytes() for place in source.locations]
    seen = worker.part(test_set.ids, source, None, 4)
    shipped = worker.part(test_set.ids, source, ["it is gone", *images[1:]], 4)
    np.testing.assert_array_equal(seen.full_scores[1:], shipped.full_scores[1:])
    assert shipped.unreadable == {0: "it is gone"} and not seen.unreadable
