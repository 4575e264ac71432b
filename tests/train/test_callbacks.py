"""The callbacks of Lightning and of transformers, driven as their trainers drive them."""

import sys
import types
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn
from training_world import PREPROCESSING, SIZE

import regrade
from regrade.core import InputError
from regrade.train.evaluation import scores_of
from regrade.train.lightning_callback import lightning_callback
from regrade.train.transformers_callback import trainer_callback


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * SIZE * SIZE, 3), nn.Dropout())


@pytest.fixture
def make_capture(workspace):
    return lambda: regrade.capture(
        workspace, ensemble="own", seed=1, test_sets=["pets-val"], preprocessing=PREPROCESSING
    )


def stored(workspace):
    workspace.train.finish("own")
    return workspace.store.ensembles.read(workspace.store.test_set("pets-val"), "own")


@dataclass
class FakeTrainer:
    """Calls the hooks in the documented order; ``current_epoch`` counts from 0 and rises after the hooks of its end."""

    callback: object
    current_epoch: int = 0

    def fit(self, model, epochs):
        self.callback.on_train_start(self, model)
        while self.current_epoch < epochs:
            model.train()
            with torch.no_grad():
                model[1].bias += 1
            self.callback.on_train_epoch_end(self, model)
            assert model.training
            self.current_epoch += 1


@pytest.fixture
def lightning(monkeypatch):
    """A module in place of Lightning, which is not installed."""
    module = types.ModuleType("pytorch_lightning")
    module.Callback = type("Callback", (), {})
    module.__spec__ = types.SimpleNamespace(name="pytorch_lightning")
    monkeypatch.setitem(sys.modules, "pytorch_lightning", module)
    return module


def test_lightning_callback_captures_every_epoch(workspace, make_capture, lightning):
    callback = lightning_callback(make_capture)
    assert isinstance(callback, lightning.Callback)
    model = network()
    FakeTrainer(callback).fit(model, 2)
    FakeTrainer(lightning_callback(make_capture), current_epoch=2).fit(model, 3)  # resumed
    kept = stored(workspace)
    assert kept.epochs == (0, 1, 2, 3)
    steps = [kept.scores(0, place)[:] - kept.scores(0, 0)[:] for place in range(4)]
    assert np.allclose([step.mean() for step in steps], [0, 1, 2, 3], atol=1e-2)


def test_lightning_callback_needs_lightning(make_capture, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightning", None)
    monkeypatch.setitem(sys.modules, "pytorch_lightning", None)
    monkeypatch.setattr("regrade.train.lightning_callback.find_spec", lambda _: None)
    with pytest.raises(InputError, match="pip install lightning"):
        lightning_callback(make_capture)


def test_trainer_callback_captures_every_epoch(workspace, make_capture):
    """The handler that the real Trainer uses calls the events; the Trainer itself needs accelerate."""
    trainer = pytest.importorskip("transformers.trainer_callback")
    model = network()
    handler = trainer.CallbackHandler([trainer_callback(make_capture)], model, None, None, None)
    state, control = trainer.TrainerState(), trainer.TrainerControl()
    handler.on_train_begin(None, state, control)
    for epoch in range(2):
        handler.on_epoch_begin(None, state, control)
        state.global_step += 3
        state.epoch = epoch + 3 / 3 - 1e-9
        handler.on_epoch_end(None, state, control)
    handler.on_train_end(None, state, control)
    kept = stored(workspace)
    assert kept.epochs == (0, 1, 2) and kept.members == ("1",)
    assert kept.examples == 9 and scores_of(model, [torch.zeros(1, 3, SIZE, SIZE)]).shape == (1, 3)


def test_trainer_callback_of_a_resumed_training_has_no_epoch_zero(workspace, make_capture):
    trainer = pytest.importorskip("transformers.trainer_callback")
    handler = trainer.CallbackHandler([trainer_callback(make_capture)], network(), None, None, None)
    state, control = trainer.TrainerState(epoch=4.0, global_step=12), trainer.TrainerControl()
    handler.on_train_begin(None, state, control)
    state.epoch = 5.0
    handler.on_epoch_end(None, state, control)
    assert stored(workspace).epochs == (5,)
