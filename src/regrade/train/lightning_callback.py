"""A callback of Lightning's Trainer that captures scores after every epoch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from regrade.core import InputError
from regrade.train.score_capture import ScoreCapture

_PACKAGES = {"lightning": "lightning.pytorch", "pytorch_lightning": "pytorch_lightning"}


def lightning_callback(make_capture: Callable[[], ScoreCapture]) -> Any:
    """A callback for ``Trainer(callbacks=[...])``; ``make_capture`` is called in each process as the training begins.

    The untrained network is epoch 0. A training that resumes goes on with its own number of the epoch.

        lightning_callback(lambda: regrade.capture("study", ensemble="resnet20", seed=1, test_sets={"val": loader}))
    """
    base = _callback_class()

    class CapturingCallback(base):  # type: ignore[misc,valid-type]
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.scores = make_capture()
            if trainer.current_epoch == 0:
                self.scores.epoch(pl_module, 0)

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            self.scores.epoch(pl_module, trainer.current_epoch + 1)  # it counts from 0

    return CapturingCallback()


def _callback_class() -> Any:
    for package, module in _PACKAGES.items():
        if find_spec(package) is not None:
            return import_module(module).Callback
    raise InputError("the callback needs Lightning: pip install lightning")
