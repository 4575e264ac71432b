"""regrade train ensemble: what is stored, resuming after a kill, trained members as models, and bad input."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from PIL import Image
from running import assert_one_line, run, run_well, wait_until
from training_world import PETS, SIZE, SMALL, same_weights, weights, write_images

import regrade
from regrade.core import AlreadyStored, InputError, MismatchError, UnknownName
from regrade.models import Settings, load_model
from regrade.models.trained_model import network_files, packed_network, read_network_file
from regrade.store import replace_file
from regrade.store.file_errors import write_errors
from regrade.store.locks import locked_without_waiting
from regrade.train.figure import learning_curves
from regrade.train.images import ImageTensors
from regrade.train.member import MemberTraining
from regrade.train.member_predictions import MemberPredictions
from regrade.train.parallel import MemberWorker
from regrade.train.read_images import read_images


def train(workspace, name="small", **options):
    chosen = {"seeds": (0, 1), "test_sets": ["pets-val"], **SMALL, **options}
    return workspace.train.ensemble(name, "pets-train", **chosen)


def stored(workspace, name="small", test_set="pets-val"):
    return workspace.store.ensembles.read(workspace.store.test_set(test_set), name)


def all_scores(workspace, name="small"):
    kept = stored(workspace, name)
    return np.stack([[kept.scores(m, e)[:] for e in range(len(kept.epochs))] for m in range(len(kept.members))])


def test_ensemble_stores_scores_of_the_untrained_network_and_every_epoch(workspace):
    result = train(workspace)
    kept = stored(workspace)
    assert kept.members == ("0", "1") and kept.epochs == (0, 1, 2)
    assert result.stored == ("pets-val",) and result.new_epochs == 4
    assert [len(curve) for curve in result.curves] == [3, 3]
    for place, member in enumerate(result.members):
        labels = workspace.store.test_set("pets-val").labels
        accuracy = (kept.scores(place, 2)[:].argmax(axis=1) == labels).mean()
        assert member.test_accuracies["pets-val"].value == pytest.approx(accuracy)
        assert member.training_accuracy.n == 24 and member.epochs == 2
    assert not np.array_equal(kept.scores(0, 0)[:], kept.scores(1, 0)[:])


def test_ensemble_reports_each_epoch_and_draws_learning_curves(workspace):
    lines = []
    result = train(workspace, epoch_progress=lambda _, report: lines.append((report.seed, report.epoch)))
    assert lines == [(seed, epoch) for seed in (0, 1) for epoch in (0, 1, 2)]
    spec = learning_curves(result).spec
    assert len(spec["vconcat"]) == 3
    json.dumps(result.as_dict(), allow_nan=False)


def test_a_second_run_changes_nothing(workspace):
    first = train(workspace)
    before = {path: path.stat().st_mtime_ns for path in (workspace.store.root / "training").rglob("*")}
    again = train(workspace)
    assert again.new_epochs == 0 and again.members == first.members and again.curves == first.curves
    assert before == {path: path.stat().st_mtime_ns for path in (workspace.store.root / "training").rglob("*")}


def test_training_continues_where_another_run_was_stopped(workspace, tmp_path):
    whole = regrade.open(shutil.copytree(workspace.store.root, tmp_path / "whole"))
    train(whole, epochs=4)

    class Stop(Exception):
        pass

    def stop(_, report):
        if (report.seed, report.epoch) == (1, 2):
            raise Stop

    with pytest.raises(Stop):
        train(workspace, epochs=4, epoch_progress=stop)
    resumed = train(workspace, epochs=4)
    assert resumed.new_epochs == 2
    assert np.array_equal(all_scores(workspace), all_scores(whole))
    for seed in (0, 1):
        assert same_weights(weights(workspace, "small", seed), weights(whole, "small", seed))


def test_scores_that_a_stopped_run_has_not_stored_are_added(workspace):
    """The state is written before the scores, so a kill between both leaves an epoch without scores."""
    train(workspace, "whole", seeds=(0,))
    calls = []

    def fail_once(self, scores):
        calls.append(self._training.epoch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, scores)

    original = MemberTraining._add
    with mock.patch.object(MemberTraining, "_add", fail_once), pytest.raises(KeyboardInterrupt):
        train(workspace, seeds=(0,))
    assert list(network_files(workspace.store.root / "training" / "small" / "seed-0")) == [1]
    train(workspace, seeds=(0,))
    assert np.array_equal(all_scores(workspace), all_scores(workspace, "whole"))


BLOCKING = """
import os, time
from pathlib import Path
from torch import nn

class Blocking(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, classes))
        self.steps = 0

    def forward(self, images):
        self.steps += self.training
        marker = os.environ.get("BLOCK_IN_STEP_8")
        if marker and self.training and self.steps == 8:
            Path(marker).touch()
            time.sleep(3600)
        return self.layers(images)
"""


def test_killed_in_mid_epoch_resumes_bit_for_bit(workspace, tmp_path):
    """Step 8 is the second of the third epoch: 24 images are three batches of 8."""
    (tmp_path / "net.py").write_text(BLOCKING)
    whole = regrade.open(shutil.copytree(workspace.store.root, tmp_path / "whole"))
    arguments = [
        "train", "ensemble", "killed", "--on", "pets-train", "--network", f"torch:{tmp_path}/net.py:Blocking",
        "--seed", "4", "-t", "pets-val", "--epochs", "4", "--batch", "8", "--crop", "1", "--optimizer", "adamw",
    ]  # fmt: skip
    marker = tmp_path / "blocked"
    limits = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "regrade", *arguments, "-w", str(workspace.store.root)]
    environment = {**os.environ, **limits, "BLOCK_IN_STEP_8": str(marker)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    wait_until(marker.exists, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert list(network_files(workspace.store.root / "training" / "killed" / "seed-4")) == [2]
    ran = run_well(*arguments, "-w", workspace.store.root)
    assert "epoch 2 of 4" in ran.err and "epoch 1 of 4" not in ran.err
    run_well(*arguments, "-w", whole.store.root)
    assert np.array_equal(all_scores(workspace, "killed"), all_scores(whole, "killed"))
    assert same_weights(weights(workspace, "killed", 4), weights(whole, "killed", 4))
    assert run("verify", "-w", workspace.store.root).code == 0


def test_processes_give_the_scores_of_a_single_one(workspace):
    train(workspace)
    train(workspace, "parallel", jobs=2)
    assert np.array_equal(all_scores(workspace), all_scores(workspace, "parallel"))


def test_members_on_a_gpu_warm_up_one_by_one_and_then_run_together(workspace, monkeypatch):
    """The order of the work, with a CPU in place of the GPU; members are warm after two epochs."""
    events = []
    monkeypatch.setattr(MemberWorker, "place", lambda *_: "cpu")
    monkeypatch.setattr(MemberPredictions, "add_all", lambda *_: None)
    monkeypatch.setattr(MemberTraining, "is_warm", property(lambda self: len(self.curve) > 2))
    monkeypatch.setattr("regrade.train.steps.ensemble.check_device", lambda _: None)
    for name in ("device", "stream"):
        monkeypatch.setattr(f"torch.cuda.{name}", lambda _, name=name: events.append(name) or nullcontext())
    monkeypatch.setattr("torch.cuda.Stream", lambda: None)
    monkeypatch.setattr("torch.cuda.synchronize", lambda _: events.append("warm"))
    train(workspace)
    train(workspace, "gpu", device="cuda", jobs=None, epochs=2)
    assert events == ["warm", "warm"]
    train(workspace, "longer", device="cuda", jobs=None, epochs=4)
    assert events[2:4] == ["warm", "warm"] and sorted(events[4:]) == ["device", "device", "stream", "stream"]
    assert np.array_equal(all_scores(workspace), all_scores(workspace, "gpu"))


def test_every_and_keep_weights_choose_epochs(workspace):
    train(workspace, epochs=5, every=2, keep=["weights"], seeds=(3,))
    assert stored(workspace).epochs == (0, 2, 4)
    folder = workspace.store.root / "training" / "small" / "seed-3"
    assert list(network_files(folder, "weights")) == [2, 4]
    assert list(network_files(folder, "state")) == [5]
    settings = Settings(workspace=workspace.store.root)
    batch = np.zeros((2, 3, SIZE, SIZE), dtype=np.float32)
    last, earlier = (load_model(f"trained:small/seed-3{epoch}", settings).scores(batch) for epoch in ("", "/epoch-2"))
    assert not np.array_equal(last, earlier)
    with pytest.raises(InputError, match="weights of this epoch were not kept; there are 2, 4, 5"):
        load_model("trained:small/seed-3/epoch-1", settings)


def test_trained_members_predict_the_captured_scores(workspace):
    train(workspace)
    run_well("predict", "trained:small/seed-1", "-t", "pets-val", "--keep", "scores", "-w", workspace.store.root)
    test_set = workspace.store.test_set("pets-val")
    predicted = workspace.store.predictions.read(test_set, "trained:small/seed-1")
    assert np.allclose(predicted.full_scores, stored(workspace).scores(1, 2)[:], rtol=2e-3, atol=1e-4)
    manifest = workspace.store.predictions.manifest("pets-val", "trained:small/seed-1")
    assert manifest.model.training_data == "pets-train" and manifest.class_space == "pets"


def test_trained_members_equal_the_captured_scores_exactly(workspace):
    """In torch, with the same batch, scores differ by the storage in half precision alone."""
    train(workspace, test_sets=["pets-val", "pets-train"])
    model = load_model(f"trained:{workspace.store.root}/training/small/seed-0", Settings())
    for name in ("pets-val", "pets-train"):
        test_set = workspace.store.test_set(name)
        decoded = read_images(workspace.store, test_set, model.preprocessing)
        (batch,) = ImageTensors.of(decoded.pixels, test_set.labels, model.preprocessing).batches(500)
        halves = model.scores(batch.numpy()).astype(np.float16)
        assert np.array_equal(halves, stored(workspace, test_set=name).scores(0, 2)[:])


def test_trained_files_of_another_kind_are_refused(workspace, tmp_path):
    train(workspace, seeds=(0,))
    folder = workspace.store.root / "training" / "small" / "seed-0"
    path = list(network_files(folder).values())[-1]
    network, content = read_network_file(path)
    with pytest.raises(MismatchError, match="predicts the classes pets, not"):
        load_model(f"trained:{folder}", Settings(class_space=PETS.subset("turned", (1, 0, 2))))

    def with_weights(name, changed, **stated):
        target = tmp_path / name
        target.mkdir()
        ending, data = packed_network(network, {**content, **stated, "network": changed})
        (target / f"state-{ending}").write_bytes(data)
        return target

    wider = {**content["network"], "0.weight": torch.zeros(32, 3, 3, 3)}
    with pytest.raises(MismatchError, match=r"does not contain the weights of cnn: 0.weight is \(32, 3, 3, 3\) and"):
        load_model(f"trained:{with_weights('wider', wider)}", Settings())
    fewer = {key: value for key, value in content["network"].items() if key != "0.weight"}
    with pytest.raises(MismatchError, match=r"0\.weight is missing and"):
        load_model(f"trained:{with_weights('fewer', fewer)}", Settings())
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    file = damaged / path.name
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="has changed since it was written"):
        load_model(f"trained:{damaged}", Settings())
    with pytest.raises(InputError, match="has no files in"):
        load_model("trained:small/seed-9", Settings(workspace=workspace.store.root))


def test_state_of_another_architecture_is_not_resumed(workspace):
    train(workspace, seeds=(0,), finish=False)
    train(workspace, "wide", network="mlp", seeds=(0,), finish=False)
    root = workspace.store.root / "training"
    for path in (root / "small" / "seed-0").glob("*.pt"):
        path.unlink()
    other_state = next((root / "wide" / "seed-0").glob("*.pt"))
    shutil.copy(other_state, root / "small" / "seed-0")
    with pytest.raises(MismatchError, match="is a mlp for pets, not a cnn for pets: remove it"):
        train(workspace, seeds=(0,))


def test_verify_names_a_damaged_state(workspace):
    train(workspace, seeds=(0,))
    path = next((workspace.store.root / "training" / "small" / "seed-0").glob("*.pt"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert "has changed since it was written" in workspace.verify().problems[0].trouble


def test_seeds_in_separate_runs_are_finished_later(workspace):
    assert train(workspace, seeds=(0,), finish=False).stored == ()
    assert train(workspace, seeds=(1,), finish=False).stored == ()
    assert workspace.train.finish("small").sets[0].members == ("0", "1")
    with pytest.raises(regrade.RegradeError, match="is finished with the seeds 0, 1"):
        train(workspace, seeds=(0, 1, 2))


def test_finish_refuses_a_training_with_epochs_left(workspace):
    def stop(_, report):
        if report.epoch == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(workspace, seeds=(0,), epoch_progress=stop)
    with pytest.raises(InputError, match="seed-0 of small is after epoch 1 of 2"):
        workspace.train.finish("small")
    assert train(workspace, seeds=(0,)).stored == ("pets-val",)


def arguments(workspace, *more, on="pets-train", name="small"):
    small = ("--network", "mlp", "--epochs", "1", "--batch", "8", "--crop", "0", "--jobs", "1", "--seed", "0")
    return ("train", "ensemble", name, "--on", on, *small, *more, "-w", workspace.store.root)


def test_command_prints_epochs_and_a_row_per_member(workspace, tmp_path):
    ran = run_well(*arguments(workspace, "-t", "pets-val", "--figure", tmp_path / "f.svg"))
    assert "small, seed 0: epoch 0 of 1, pets-val" in ran.err
    assert "epoch 1 of 1, loss" in ran.err and "training accuracy" in ran.out
    assert (tmp_path / "f.svg").is_file()
    rows = json.loads(run_well(*arguments(workspace, "-t", "pets-val", "--json")).out)
    assert rows["new_epochs"] == 0 and len(rows["curves"][0]) == 2
    assert "before" in run_well("train", "finish", "small", "-w", workspace.store.root).out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--network", "resnet21"), ("unknown network 'resnet21'", "resnet20")),
        (("--network", "torch:missing.py:make"), ("there is no file", "missing.py")),
        (("--device", "cuda"), ("finds no cuda device",)),
        (("--device", "mps"), ("cpu or cuda",)),
        (("--precision", "fp16"), ("choose bf16",)),
        (("--seed", "x"), ("a seed is a whole number",)),
        (("--channels", "2"), ("--channels is 1 (gray) or 3 (color)",)),
        (("-t", "pets-vla"), ("did you mean pets-val",)),
        (("--learning-rate", "0"), ("--learning-rate must be above 0",)),
        (("--label-smoothing", "1"), ("label smoothing",)),
        (("--learning-rate", "1e30", "--warm-up", "0", "--epochs", "3"), ("not", "finite number", "is kept")),
    ],
)
def test_bad_options_are_one_line(workspace, more, words):
    ran = run(*arguments(workspace, *more))
    assert ran.code == 1 and ran.out == ""
    error = ran.err.splitlines()[-1]
    assert error.startswith("error: ") and all(word in error for word in words), ran.err


def test_names_that_are_no_folder_are_refused(workspace):
    assert_one_line(run(*arguments(workspace, name="a/b")), "cannot name a training")


def labeled(workspace, tmp_path, name, classes, **options):
    folder = write_images(tmp_path / name, per_class=2, seed=9, classes=classes)
    workspace.testsets.add(name, folder, classes=PETS, **options)
    return name


def test_labels_that_cannot_be_learned_are_one_line(workspace, tmp_path):
    empty = labeled(workspace, tmp_path, "no-owls", ("cat", "dog"))
    assert_one_line(run(*arguments(workspace, on=empty)), "no-owls has no image of 1 class of pets, for example owl")
    single = labeled(workspace, tmp_path, "cats", ("cat",))
    assert_one_line(run(*arguments(workspace, on=single)), "all images of cats are cat")
    write_images(tmp_path / "flat", per_class=1, seed=3, classes=("x",))
    workspace.testsets.add("unlabeled", tmp_path / "flat" / "x", classes=PETS, layout="flat")
    assert_one_line(run(*arguments(workspace, on="unlabeled")), "1 of 1 images of unlabeled have no label")


def test_test_sets_of_other_classes_are_refused(workspace, tmp_path):
    turned = PETS.subset("turned", (2, 1, 0))
    workspace.testsets.add("turned", write_images(tmp_path / "t", per_class=1, seed=8), classes=turned)
    assert_one_line(run(*arguments(workspace, "-t", "turned")), "has the classes turned", "same order")


def test_shared_images_are_refused_unless_allowed(workspace, tmp_path):
    root = Path(workspace.store.images.read(workspace.store.test_set("pets-train")).path)
    folder = write_images(tmp_path / "val", per_class=2, seed=11)
    pixels = np.asarray(Image.open(root / "owl" / "3.png"))
    Image.fromarray(pixels).save(folder / "owl" / "copy.bmp")  # another file with the same pixels
    workspace.testsets.add("leaky", folder, classes=PETS)
    ran = run(*arguments(workspace, "-t", "leaky"))
    assert_one_line(ran, "1 image of leaky is also in the training set pets-train", "owl/copy", "owl/3")
    run_well(*arguments(workspace, "-t", "leaky", "--allow-shared"))


def test_unreadable_images_are_one_line(workspace, tmp_path):
    folder = write_images(tmp_path / "bad", per_class=2, seed=11)
    workspace.testsets.add("bad", folder, classes=PETS)
    (folder / "dog" / "1.png").write_bytes(b"none")
    assert_one_line(run(*arguments(workspace, on="bad")), "image 'dog/1", "of bad cannot be read")


def test_images_of_another_shape_need_a_size(workspace, tmp_path):
    folder = write_images(tmp_path / "wide", per_class=2, seed=11)
    for path in folder.rglob("*.png"):
        Image.open(path).resize((8, 6)).save(path)
    workspace.testsets.add("wide", folder, classes=PETS)
    assert_one_line(run(*arguments(workspace, on="wide")), "is 8 x 6 pixels: give --size")
    run_well(*arguments(workspace, "--size", "5", on="wide"))


def test_gray_images_have_one_channel(workspace, tmp_path):
    folder = write_images(tmp_path / "gray", per_class=2, seed=11)
    for path in folder.rglob("*.png"):
        Image.open(path).convert("L").save(path)
    workspace.testsets.add("gray", folder, classes=PETS)
    run_well(*arguments(workspace, on="gray", name="gray"))
    assert load_model(f"trained:{workspace.store.root}/training/gray/seed-0", Settings()).preprocessing.channels == 1
    Image.fromarray(np.zeros((6, 6, 3), np.uint8)).save(folder / "owl" / "color.png")
    workspace.testsets.add("mixed", folder, classes=PETS)
    assert_one_line(run(*arguments(workspace, on="mixed")), "mixed has 1 image in color: give --channels")


def test_another_plan_under_the_same_name_is_refused(workspace):
    run_well(*arguments(workspace, "--no-finish"))
    ran = run(*arguments(workspace, "--no-finish", "--learning-rate", "0.2"))
    assert_one_line(ran, "training small was started with other settings: learning rate (0.1, now 0.2)")
    assert_one_line(run(*arguments(workspace, "-t", "pets-val")), "other settings: test sets;")


def test_a_full_disk_keeps_the_last_epoch(workspace):
    train(workspace, "whole", seeds=(0,), epochs=3)

    def write(path, content):
        with write_errors(path):
            if "state-0002" in path.name:
                raise OSError(errno.ENOSPC, "No space left on device")
            replace_file(path, content)

    disk_full = pytest.raises(regrade.RegradeError, match="the disk is full")
    with mock.patch("regrade.train.member.replace_file", write), disk_full:
        train(workspace, seeds=(0,), epochs=3)
    folder = workspace.store.root / "training" / "small" / "seed-0"
    assert list(network_files(folder)) == [1]
    train(workspace, seeds=(0,), epochs=3)
    assert np.array_equal(all_scores(workspace), all_scores(workspace, "whole"))


EXPLODING = """
from torch import nn

class Exploding(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(108, classes))
        self.steps = 0

    def forward(self, images):
        self.steps += self.training
        return self.layers(images) * (float("nan") if self.steps == 8 else 1)
"""


SCALED = """
from torch import nn

class Scaled(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(108, classes))

    def forward(self, images):
        return self.layers(images) * (1 if self.training else {factor})
"""


def test_scores_beyond_half_precision_keep_their_softmax(workspace, tmp_path):
    (tmp_path / "net.py").write_text(SCALED.format(factor=1e7))
    result = train(workspace, network=f"torch:{tmp_path}/net.py:Scaled", seeds=(0,), epochs=1)
    scores = all_scores(workspace)
    assert np.isfinite(scores).all() and scores.max() == 0
    accuracy = (scores[0, -1].argmax(axis=1) == workspace.store.test_set("pets-val").labels).mean()
    assert result.members[0].test_accuracies["pets-val"].value == accuracy


def test_untrained_network_with_infinite_scores_is_refused(workspace, tmp_path):
    (tmp_path / "net.py").write_text(SCALED.format(factor="float('inf')"))
    with pytest.raises(regrade.RegradeError, match=r"after epoch 0 .* the untrained network returns NaN or infinity"):
        train(workspace, network=f"torch:{tmp_path}/net.py:Scaled", seeds=(0,))


def test_diverged_training_keeps_the_last_good_epoch(workspace, tmp_path):
    """Step 8 is the second of the third epoch."""
    (tmp_path / "net.py").write_text(EXPLODING)
    with pytest.raises(regrade.RegradeError, match=r"from step 8 on, in epoch 3: .* until epoch 2 is kept"):
        train(workspace, network=f"torch:{tmp_path}/net.py:Exploding", seeds=(0,), epochs=4)
    assert list(network_files(workspace.store.root / "training" / "small" / "seed-0")) == [2]
    assert all(value.isfinite().all() for value in weights(workspace, "small", 0).values())


def test_a_member_is_trained_by_one_process_at_a_time(workspace):
    train(workspace, seeds=(0,), finish=False)
    refused = pytest.raises(regrade.RegradeError, match="is locked by another process")
    with locked_without_waiting(workspace.store.root / "training" / "small" / "seed-0"), refused:
        train(workspace, seeds=(0,), finish=False)


def test_the_failure_of_one_member_stops_the_others(workspace):
    calls = []

    class Failing(MemberWorker):
        def __call__(self, seed):
            calls.append(seed)
            return InputError("no") if seed == 1 and calls.count(1) == 2 else super().__call__(seed)

    with mock.patch("regrade.train.steps.ensemble.MemberWorker", Failing), pytest.raises(InputError, match="no"):
        train(workspace, seeds=(0, 1, 2))
    assert calls.count(2) == 0
    assert train(workspace, seeds=(0, 1, 2)).stored == ("pets-val",)


def test_user_networks_are_trained_and_their_failures_are_one_line(workspace, tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(
        "from torch import nn\ndef make(classes):\n    return nn.Sequential(nn.Flatten(), nn.Linear(108, classes))\n"
    )
    monkeypatch.chdir(tmp_path)
    train(workspace, network="torch:own.py:make", seeds=(0,))
    monkeypatch.chdir("/")
    model = load_model("trained:small/seed-0", Settings(workspace=workspace.store.root))
    assert model.spec.code_hash and model.scores(np.zeros((1, 3, SIZE, SIZE), np.float32)).shape == (1, 3)
    (tmp_path / "own.py").write_text("def make(classes):\n    return 3\n")
    with pytest.raises(InputError, match="returned a int, expected"):
        train(workspace, "second", network=f"torch:{tmp_path}/own.py:make")
    (tmp_path / "own.py").write_text("from torch import nn\ndef make(classes):\n    return nn.Linear(5, classes)\n")
    with pytest.raises(InputError, match="seed 0 of third cannot be trained: RuntimeError"):
        train(workspace, "third", network=f"torch:{tmp_path}/own.py:make")


def test_kept_features_are_those_of_predict(workspace):
    train(workspace, seeds=(0,), keep=["features"])
    name, test_set = "trained:small/seed-0", workspace.store.test_set("pets-val")
    kept = np.array(workspace.store.predictions.read(test_set, name).features)
    shutil.rmtree(workspace.store.predictions.path("pets-val", name))
    workspace.predict([name], test_sets=["pets-val"], keep=["scores", "features"])
    again = workspace.store.predictions.read(test_set, name).features
    assert kept.shape == (9, 64)
    assert kept == pytest.approx(np.array(again), abs=2e-3)


def test_features_cannot_be_added_to_stored_predictions(workspace):
    train(workspace, seeds=(0,))
    with pytest.raises(AlreadyStored, match="are stored without features: run regrade models remove"):
        train(workspace, seeds=(0,), keep=["features"])
    with pytest.raises(UnknownName, match="kept part 'feature'"):
        train(workspace, seeds=(0,), keep=["feature"])
