"""On a cluster of two machines: the same bytes as here, also when one of them dies in the middle."""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from predicting import CIFAR, RECIPE, noisy
from running import EXECUTABLE, HANG_LIMIT, Ran, wait_until
from skipping import skip
from two_nodes import two_nodes

import regrade
from regrade.core import ExecutorError, ImageSource, ModelSpec, ScoreKind
from regrade.models import ModelMetadata, Resizer, Settings
from regrade.predict import EngineOptions, NamedModel
from regrade.predict.cluster import Worker, WorkerInfo, _Alike, _sees
from regrade.predict.runtime_choice import first_images

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
    regrade.predict.cluster._sees = lambda *_: False  # as on a machine that has not got the images

def scores(batch):
    if len(batch) == 8:  # no trial of the loaded model
        SEEN.mkdir(exist_ok=True)
        (SEEN / str(os.getpid())).touch()
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
    """A workspace with images, one of them damaged, and a model beside it."""
    if importlib.util.find_spec("ray") is None:
        skip("ray is not installed: pip install 'regrade[ray]'")
    here = tmp_path_factory.mktemp("cluster")
    noisy(here, SIZE)
    (here / "images" / "3" / "x013.png").write_bytes(b"no image")
    (here / "mine.py").write_text(MODEL.format(folder=str(here)))
    return here


def environment(folder):
    """The model is found as a module, after what is found already."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(folder)]))}


@pytest.fixture(scope="module")
def cluster(folder):
    with two_nodes(folder, environment(folder)) as running:
        yield running


@pytest.fixture
def asked(folder):
    """Files by which the model is told to misbehave, gone again afterwards."""
    made = []

    def ask(*names):
        for name in names:
            (folder / name).touch()
            made.append(folder / name)

    yield ask
    for path in made:
        path.unlink(missing_ok=True)


def fresh(folder, name):
    workspace = regrade.init(folder / name)
    workspace.add_test_set("noise", folder / "images", classes="cifar-10", layout="index")
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
    return workspace.store.predictions(test_set, "python:mine:scores"), workspace.store.manifest(
        test_set, "python:mine:scores"
    )


@pytest.fixture(scope="module")
def undisturbed(folder):
    """What one process makes of it."""
    workspace = fresh(folder, "here")
    done = ran(start(command(folder / "here", "--keep", "scores,features"), environment(folder)))
    assert done.code == 3, done.err
    return stored(workspace)


def test_images_that_workers_cannot_see_are_shipped(folder, cluster, undisturbed, asked):
    workspace = fresh(folder, "shipped")
    asked("blind")
    done = on_cluster(cluster, folder / "shipped", "--keep", "scores,features")
    assert done.code == 3, done.err
    found, manifest = stored(workspace)
    assert found.digest == undisturbed[0].digest
    np.testing.assert_array_equal(found.fingerprints, undisturbed[0].fingerprints)
    assert manifest.unreadable == undisturbed[1].unreadable == {"x013.png": "not an image of a known format"}


def test_predict_on_a_cluster_fingerprints_the_images_behind_those_it_ships(folder, cluster, asked):
    """Corrupted images are computed from clean ones: it is these that may change."""
    for name, more in (("corrupted-here", ()), ("corrupted-there", ("--on", "ray", "--address", cluster.address))):
        workspace = fresh(folder, name)
        workspace.corrupt("noise", name="fog", corruptions=["fog"], severities=[1], images=20)
        if more:
            asked("blind")
        arguments = [*command(folder / name, *more), "--retry-unreadable"]
        arguments[arguments.index("noise")] = "fog"
        done = ran(start(arguments, cluster.environment))
        assert done.code in (0, 3), done.err
    stored_sets = [regrade.open(folder / name).store for name in ("corrupted-here", "corrupted-there")]
    here, there = (each.predictions(each.test_set("fog"), "python:mine:scores") for each in stored_sets)
    np.testing.assert_array_equal(here.fingerprints, there.fingerprints)


def test_what_a_model_raises_is_told_as_it_is_here(folder, cluster, asked):
    fresh(folder, "wrong-there")
    asked("wrong")
    done = on_cluster(cluster, folder / "wrong-there")
    assert done.code == 1 and done.out == ""
    assert done.err.strip().splitlines()[-1].startswith("error: python:mine:scores failed on ")
    assert "ValueError: the plug was pulled" in done.err and "Traceback" not in done.err


def test_predict_on_a_cluster_reports_a_model_that_exits(folder, cluster, asked):
    fresh(folder, "exits-there")
    asked("exit")
    done = on_cluster(cluster, folder / "exits-there")
    assert done.code == 1 and done.out == ""
    assert "SystemExit: 0" in done.err and "Traceback" not in done.err


def test_a_model_that_kills_every_worker_is_given_up(folder, cluster, asked):
    workspace = fresh(folder, "deadly-there")
    asked("deadly")
    done = on_cluster(cluster, folder / "deadly-there")
    assert done.code == 1 and done.out == ""
    assert "error: all workers are lost, the last one: " in done.err and "Traceback" not in done.err
    assert workspace.models("noise") == ()


def test_a_machine_that_dies_in_the_middle_loses_and_doubles_nothing(folder, cluster, undisturbed, asked):
    """The last test of this cluster: one machine of it is gone afterwards."""
    workspace = fresh(folder, "killed")
    before = set((folder / "seen").iterdir())
    asked("hold")
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
    found, manifest = stored(workspace)
    assert found.digest == undisturbed[0].digest and manifest.unreadable == undisturbed[1].unreadable
    np.testing.assert_array_equal(found.fingerprints, undisturbed[0].fingerprints)
    assert np.array_equal(found.features, undisturbed[0].features, equal_nan=True) and found.features.shape == (SIZE, 7)


class TestAlike:
    def hello(self, **card):
        spec = ModelSpec("m", CIFAR.name, RECIPE.summary, card.pop("weights", "1"), code_hash=card.pop("code", "a"))
        known = ModelMetadata(spec, CIFAR, RECIPE, ScoreKind.LOGITS, card.pop("runtime", "torch"))
        return WorkerInfo(card.pop("version", regrade.__version__), known, "", True)

    @pytest.mark.parametrize(
        ("other", "message"),
        [
            ({"runtime": "onnxruntime"}, "one worker runs it by torch, another runs it by onnxruntime"),
            ({"weights": "2"}, "one worker has weights 1, another has weights 2"),
            ({"code": "b"}, "one worker has code a, another has code b"),
            ({"version": "0.0.1"}, "a worker has regrade 0.0.1"),
        ],
    )
    def test_machines_that_differ_are_refused(self, other, message):
        alike = _Alike()
        alike.check(self.hello())
        alike.check(self.hello())
        with pytest.raises(ExecutorError, match=message):
            alike.check(self.hello(**other))


def test_a_worker_sees_images_only_where_they_are_the_same(tmp_path):
    store = noisy(tmp_path, 20)
    source = store.images(store.test_set("noise"))
    first = first_images(source)
    assert len(first) == 16 and _sees(source, first)
    changed = {**first, 3: b"other"}
    assert not _sees(source, changed)
    assert not _sees(source, {})
    assert not _sees(ImageSource(source.reader, str(tmp_path / "gone"), source.locations), first)
    (tmp_path / "images" / source.locations[5]).unlink()
    assert not _sees(source, first)


def test_a_worker_answers_alike_for_shipped_images_and_its_own(tmp_path, monkeypatch):
    (tmp_path / "alone.py").write_text(MODEL.format(folder=str(tmp_path)))
    monkeypatch.syspath_prepend(tmp_path)
    store = noisy(tmp_path, 20)
    test_set = store.test_set("noise")
    source = store.images(test_set)
    how = EngineOptions(batch=4, keep_scores=True, resizer=Resizer.PILLOW)
    worker = Worker(NamedModel("python:alone:scores", Settings()), how, source, first_images(source))
    assert worker.hello().sees_images and worker.find_batch() == 4
    images = [(tmp_path / "images" / place).read_bytes() for place in source.locations]
    seen = worker.part(test_set.ids, source, None, 4)
    shipped = worker.part(test_set.ids, source, ["it is gone", *images[1:]], 4)
    np.testing.assert_array_equal(seen.full_scores[1:], shipped.full_scores[1:])
    assert shipped.unreadable == {0: "it is gone"} and not seen.unreadable
