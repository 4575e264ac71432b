"""The training loop: it learns, depends on its seed alone, and resumes as if it had not been interrupted."""

import io

import numpy as np
import pytest
import torch
from training_world import PREPROCESSING, SIZE

from regrade.core import InputError
from regrade.models import Precision
from regrade.models.networks import new_network
from regrade.train.batch_loss import GroupDRO
from regrade.train.hyperparameters import Hyperparameters, Optimizer
from regrade.train.images import ImageTensors
from regrade.train.loop import DivergedTraining, Training

COUNT = 26


def images(*, count=COUNT) -> ImageTensors:
    """Images whose class is the place of a bright row."""
    rng = np.random.default_rng(5)
    pixels = rng.integers(0, 120, (count, SIZE, SIZE, 3), dtype=np.uint8)
    labels = np.arange(count) % 3
    pixels[np.arange(count), 2 * labels] += 100
    return ImageTensors.of(pixels, labels, PREPROCESSING)


def training(network="cnn", *, seed=0, batch_loss=None, weights=None, **settings) -> Training:
    chosen = {"epochs": 4, "batch": 8, "learning_rate": 0.05, "crop": 1, "flip": False, **settings}
    return Training(
        lambda: new_network(network, channels=3, size=SIZE, classes=3),
        images(),
        Hyperparameters(**chosen),
        seed=seed,
        batch_loss=batch_loss,
        weights=weights,
    )


def weights_of(trained: Training) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in trained.network.state_dict().items()}


def same(first, second) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("network", ["cnn", "mlp", "random-features"])
def test_training_learns(network):
    results = list(training(network, epochs=30, batch=13, learning_rate=0.02).run())
    assert [result.epoch for result in results] == list(range(1, 31))
    assert results[-1].loss < 0.5 * results[0].loss
    assert results[-1].accuracy > 0.85


def test_training_reports_the_loss_of_its_batches():
    """Without a step that changes anything, the loss is that of the untrained network on the drawn images."""
    still = training(epochs=1, learning_rate=1e-30, weight_decay=0.0, crop=0, momentum=0.0, batch=COUNT)
    with torch.no_grad():
        (inputs,) = still.images.batches(COUNT)
        scores = still.network.train()(inputs)
    expected = torch.nn.functional.cross_entropy(scores, still.images.labels)
    result = still.train_epoch()
    assert result.loss == pytest.approx(float(expected), rel=1e-5)
    assert result.accuracy == pytest.approx(float((scores.argmax(dim=1) == still.images.labels).float().mean()))


@pytest.mark.parametrize("optimizer", list(Optimizer))
@pytest.mark.parametrize("stop", [1, 3])
def test_resumed_training_is_bit_identical(optimizer, stop):
    whole, first = training(optimizer=optimizer), training(optimizer=optimizer)
    results = list(whole.run())
    for _ in range(stop):
        first.train_epoch()
    buffer = io.BytesIO()
    torch.save(first.state(), buffer)
    buffer.seek(0)
    second = training(optimizer=optimizer)
    second.resume(torch.load(buffer, weights_only=True))
    assert list(second.run()) == results[stop:]
    assert same(weights_of(whole), weights_of(second))


def test_dropout_depends_on_the_seed_alone():
    def make():
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(), torch.nn.Linear(3 * SIZE * SIZE, 3))

    whole, first, second = (Training(make, images(), Hyperparameters(epochs=3, batch=8), seed=1) for _ in range(3))
    results = list(whole.run())
    first.train_epoch()
    torch.manual_seed(5)
    second.resume(first.state())
    assert list(second.run()) == results[1:]


def test_resumed_group_dro_is_bit_identical():
    groups = np.arange(COUNT) % 2
    whole, first, second = (training(batch_loss=GroupDRO(groups, step_size=0.5)) for _ in range(3))
    results = list(whole.run())
    first.train_epoch()
    second.resume(first.state())
    assert list(second.run()) == results[1:]


def test_seeds_are_independent_and_repeatable():
    first, again, second = training(seed=1), training(seed=1), training(seed=2)
    assert same(weights_of(first), weights_of(again))
    assert not same(weights_of(first), weights_of(second))
    assert list(first.run()) == list(again.run())
    assert same(weights_of(first), weights_of(again))


def test_training_does_not_depend_on_the_global_random_state():
    torch.manual_seed(1)
    first = list(training().run())
    torch.manual_seed(2)
    before = torch.get_rng_state()
    assert list(training().run()) == first
    assert torch.equal(torch.get_rng_state(), before)


def test_diverged_loss_names_its_step_and_keeps_the_epoch():
    diverging = training("mlp", learning_rate=1e30, warm_up=0.0)
    with pytest.raises(DivergedTraining, match=r"seed 0 is not a finite number from step \d+ on, in epoch 1"):
        list(diverging.run())
    assert diverging.epoch == 0


def test_upsampling_draws_by_weight():
    chances = (torch.arange(COUNT) % 3 == 0).float()
    result = training(weights=chances, epochs=12, learning_rate=0.1)
    list(result.run())
    with torch.no_grad():
        (inputs,) = result.images.batches(COUNT)
        predicted = result.network.eval()(inputs).argmax(dim=1)
    assert set(predicted.tolist()) == {0}  # it has seen no other class


def test_small_sets_are_one_batch_and_tiny_ones_are_refused():
    assert training(batch=500).batches_per_epoch == 1
    with pytest.raises(InputError, match="at least two images, got 1"):
        Training(torch.nn.Flatten, images(count=1), Hyperparameters(), seed=0)


def test_a_network_without_parameters_is_refused():
    with pytest.raises(InputError, match="no parameters to train"):
        Training(torch.nn.Flatten, images(), Hyperparameters(), seed=0)


def test_bf16_is_close_to_fp32():
    full, half = (next(training(precision=precision, epochs=1).run()) for precision in (Precision.FP32, Precision.BF16))
    assert half.loss == pytest.approx(full.loss, rel=0.1) and half.loss != full.loss
