"""Capturing scores in a user's own loop: what is stored, and that the training does not notice."""

import os
import random
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from training_world import PETS, PREPROCESSING, SIZE, add_set

import regrade
from regrade.core import AlreadyStored, InputError, MismatchError, ScoreKind
from regrade.metrics import confusion_score
from regrade.train.evaluation import evaluating, scores_of
from regrade.train.read_images import read_images


def network(seed=0) -> nn.Module:
    """Batch normalization, dropout, and a frozen part in evaluation mode."""
    torch.manual_seed(seed)
    frozen = nn.BatchNorm2d(3).eval()
    layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.Flatten())
    return nn.Sequential(frozen, layers, nn.Linear(4 * (SIZE - 2) ** 2, 3))


def capture(workspace, *, ensemble="own", seed=0, test_sets=("pets-val",), **options):
    options.setdefault("preprocessing", PREPROCESSING)
    return regrade.capture(workspace.store.root, ensemble=ensemble, seed=seed, test_sets=test_sets, **options)


def train(model, *, epochs, after=lambda _: None) -> list[torch.Tensor]:
    """A loop that depends on every kind of random state; returns the weights after it."""
    inputs, labels = torch.rand(12, 3, SIZE, SIZE), torch.arange(12) % 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(epochs):
        for _ in range(3):
            rows = torch.randperm(12)[: random.randint(3, 6)]
            noise = torch.from_numpy(np.random.normal(size=(len(rows), 3, SIZE, SIZE)).astype(np.float32))
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs[rows] + 0.1 * noise), labels[rows]).backward()
            optimizer.step()
        after(model)
    return [value.clone() for value in model.state_dict().values()]


def seeded(after, *, epochs=3):
    random.seed(3), np.random.seed(3)
    model = network()
    torch.manual_seed(3)
    return train(model, epochs=epochs, after=after), model


def stored(workspace, *, test_set="pets-val", ensemble="own"):
    return workspace.store.ensembles.read(workspace.store.test_set(test_set), ensemble)


def test_captured_training_is_bit_identical_to_one_without(workspace):
    shuffling = torch.utils.data.DataLoader(_images(workspace), batch_size=4, num_workers=0)
    with capture(workspace, test_sets={"pets-val": shuffling}) as own, capture(workspace, ensemble="read") as read:

        def after(model):
            assert own.epoch(model) and read.epoch(model)

        captured, model = seeded(after)
    plain, _ = seeded(lambda _: None)
    assert all(torch.equal(first, second) for first, second in zip(captured, plain, strict=True))
    assert [module.training for module in model] == [False, True, True]


def _images(workspace):
    decoded = read_images(workspace.store, workspace.store.test_set("pets-val"), PREPROCESSING)
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (PREPROCESSING.mean, PREPROCESSING.std))
    return (torch.from_numpy(decoded.pixels).permute(0, 3, 1, 2).float() / 255 - mean) / std


def test_stored_scores_are_the_logits_in_evaluation_mode(workspace):
    model = network()
    inputs = _images(workspace)
    with torch.no_grad():
        expected = model.eval()(inputs).numpy().astype(np.float16)
    model.train()
    with capture(workspace) as scores:
        scores.epoch(model, 0)
        scores.finish()
    kept = stored(workspace)
    assert kept.kind is ScoreKind.LOGITS and kept.members == ("0",) and kept.epochs == (0,)
    assert np.allclose(kept.scores(0, 0), expected, rtol=2e-3)


@pytest.mark.parametrize(
    ("every", "first", "epochs"), [(1, 1, (1, 2, 3, 4)), (2, 1, (1, 2, 4)), (2, 0, (0, 2, 4)), (3, 0, (0, 3))]
)
def test_every_stores_the_first_and_every_kth_epoch(workspace, every, first, epochs):
    with capture(workspace, every=every) as scores:
        if first == 0:
            scores.epoch(network(), 0)
        for _ in range(4):
            scores.epoch(network())
        scores.finish()
    assert stored(workspace).epochs == epochs


def test_stored_epochs_are_skipped_by_a_resumed_run(workspace):
    with capture(workspace) as scores:
        assert scores.epoch(network(1)) and scores.epoch(network(2))
    with capture(workspace) as scores:
        assert not scores.epoch(network(7)) and not scores.epoch(network(8)) and scores.epoch(network(3))
        scores.finish()
    assert stored(workspace).epochs == (1, 2, 3)
    assert np.allclose(stored(workspace).scores(0, 0), scores_of(network(1), [_images(workspace)]), rtol=2e-3)


def test_several_sets_and_seeds_are_finished_together(workspace):
    for seed in (0, 1):
        with capture(workspace, seed=seed, test_sets=["pets-val", "pets-train"]) as scores:
            scores.epoch(network(seed))
    finished = workspace.train.finish("own")
    assert [(row.test_set, row.members, row.new) for row in finished.sets] == [
        ("pets-train", ("0", "1"), True),
        ("pets-val", ("0", "1"), True),
    ]
    assert [row.new for row in workspace.train.finish("own").sets] == [False, False]
    assert "pets-train" in str(finished.table())


def test_finish_refuses_seeds_with_different_epochs(workspace):
    for seed, epochs in ((0, 2), (1, 1)):
        with capture(workspace, seed=seed) as scores:
            for _ in range(epochs):
                scores.epoch(network(seed))
    with pytest.raises(InputError, match="epoch 2 of seed 1 is missing"):
        workspace.train.finish("own")
    with capture(workspace, seed=1) as scores:
        scores.epoch(network(1), 2)
        assert scores.finish()


def test_finished_ensembles_keep_their_seeds(workspace):
    with capture(workspace) as scores:
        scores.epoch(network())
        scores.finish()
    with capture(workspace) as scores:
        assert not scores.epoch(network())
        assert not scores.finish()
    with pytest.raises(AlreadyStored, match="is finished with the seeds 0"):
        capture(workspace, seed=5)


def test_members_with_another_class_order_are_refused(workspace):
    reordered = PETS.subset("reordered", (2, 0, 1))
    with capture(workspace, seed=0) as scores:
        scores.epoch(network())
    with pytest.raises(MismatchError, match="in another class order"):
        capture(workspace, seed=1, classes=reordered)
    assert scores.seed == 0 and workspace.train.finish("own").sets[0].members == ("0",)


def test_mappings_and_outputs_of_transformers_are_scored(workspace):
    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network()

        def forward(self, pixel_values):
            return type("Output", (), {"logits": self.inner(pixel_values)})()

    batches = [{"pixel_values": part, "labels": torch.zeros(len(part))} for part in _images(workspace).split(4)]
    with capture(workspace, test_sets={"pets-val": batches}) as scores:
        scores.epoch(Wrapped())
        scores.finish()
    assert np.allclose(stored(workspace).scores(0, 0), scores_of(network(), [_images(workspace)]), rtol=2e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test_sets": []}, "at least one test set"),
        ({"test_sets": "pets-val"}, "test_sets"),
        ({"every": 0}, "at least 1"),
        ({"preprocessing": None}, "give the preprocessing"),
        ({"test_sets": ["pets-vla"]}, "did you mean pets-val"),
        ({"test_sets": {"pets-val": iter([1])}}, "read only once"),
    ],
)
def test_bad_requests_are_one_line(workspace, options, message):
    with pytest.raises(InputError, match=message):
        capture(workspace, **options)


@pytest.mark.parametrize(
    ("batches", "model", "message"),
    [
        ([torch.zeros(4, 3, SIZE, SIZE)], network(), "are 4 images, expected 9"),
        ([np.zeros((9, 3, SIZE, SIZE))], network(), "must be a tensor"),
        ([torch.zeros(9, 3, SIZE, SIZE)], nn.Conv2d(3, 1, 1), "expected scores"),
        ([torch.zeros(9, 3, SIZE, SIZE)], nn.Sequential(nn.Flatten(), nn.Linear(108, 5)), r"shape \(9, 5\)"),
        ([torch.full((9, 3, SIZE, SIZE), torch.nan)], network(), "has diverged"),
    ],
)
def test_bad_inputs_and_outputs_are_one_line_and_change_nothing(workspace, batches, model, message):
    model.train()
    with capture(workspace, test_sets={"pets-val": batches}) as scores, pytest.raises(InputError, match=message):
        scores.epoch(model)
    assert model.training
    assert workspace.store.ensembles.unfinished("own") == ()


def test_an_error_in_the_middle_restores_the_training():
    model = network()
    state = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError), evaluating(model):
        torch.rand(3), np.random.rand(), random.random()
        raise ZeroDivisionError
    assert [module.training for module in model] == [False, True, True] and torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("epochs", [5, 10])
def test_confusion_of_images_that_are_easy_from_the_second_checkpoint_on(workspace, epochs):
    """The score is log2(classes) / checkpoints: all classes are equally likely at first, and one is certain later."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIZE * SIZE, 3))
    for seed in range(2):
        with capture(workspace, seed=seed) as scores, torch.no_grad():
            for epoch in range(epochs):
                model[1].weight.zero_()
                model[1].bias.copy_(torch.tensor([100.0, 0, 0]) if epoch else torch.zeros(3))
                scores.epoch(model, epoch)
    workspace.train.finish("own")
    peaks = confusion_score(stored(workspace))
    assert np.allclose(peaks, np.log2(3) / epochs, atol=1e-3)
    assert workspace.study.confusion("pets-val").scores == pytest.approx(peaks)


RANKS = """
import sys
import torch, torch.distributed as processes
from torch.nn.parallel import DistributedDataParallel
import regrade
from training_world import PREPROCESSING, SIZE

rank, root = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
processes.init_process_group("gloo", init_method=f"file://{root}/meeting", rank=rank, world_size=2)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * SIZE * SIZE, 3))
model = DistributedDataParallel(model)
own = {"seven": torch.load(f"{root}/inputs.pt").split(3)}
read = {"test_sets": ["seven"], "preprocessing": PREPROCESSING}
for ensemble, chosen in (("read", read), ("own", {"test_sets": own})):
    with regrade.capture(f"{root}/W", ensemble=ensemble, seed=0, **chosen) as scores:
        assert scores.epoch(model) and not scores.epoch(model, 1)
        processes.barrier()
        assert scores.finish() == (rank == 0)
processes.destroy_process_group()
"""


def test_ranks_of_a_distributed_training_score_parts_of_unequal_length(workspace, tmp_path):
    add_set(workspace, "nine", tmp_path, per_class=3, seed=4)
    source = workspace.store.test_set("nine")
    seven = source.subset("seven", range(7))
    images = workspace.store.images.read(source)
    workspace.store.add_images(seven, replace(images, locations=tuple(images.locations[:7])))
    decoded = read_images(workspace.store, seven, PREPROCESSING)
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (PREPROCESSING.mean, PREPROCESSING.std))
    inputs = (torch.from_numpy(decoded.pixels).permute(0, 3, 1, 2).float() / 255 - mean) / std
    torch.save(inputs, tmp_path / "inputs.pt")
    command = [sys.executable, "-c", textwrap.dedent(RANKS)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ranks = [
        subprocess.Popen([*command, str(rank), str(tmp_path)], stderr=subprocess.PIPE, env=environment)
        for rank in range(2)
    ]
    errors = [process.communicate(timeout=600)[1].decode() for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], errors
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIZE * SIZE, 3))
    with torch.no_grad():
        expected = model(inputs).numpy()
    for ensemble in ("read", "own"):
        assert np.allclose(stored(workspace, test_set="seven", ensemble=ensemble).scores(0, 0), expected, atol=2e-3)
