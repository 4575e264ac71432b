"""A callback of the Trainer of transformers that captures scores after every epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regrade.models.failures import needs
from regrade.train.score_capture import ScoreCapture


def trainer_callback(make_capture: Callable[[], ScoreCapture]) -> Any:
    """A callback for ``Trainer(callbacks=[...])``; ``make_capture`` is called in each process as the training begins.

    The untrained network is epoch 0. A training that resumes goes on with its own number of the epoch.

        trainer_callback(lambda: regrade.capture("study", ensemble="vit", seed=1, test_sets={"val": loader}))
    """
    with needs("transformers", "the callback of transformers"):
        from transformers.trainer_callback import TrainerCallback

    class CapturingTrainerCallback(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, *, model: Any, **rest: Any) -> None:  # noqa: ARG002
            self.scores = make_capture()
            if state.global_step == 0:
                self.scores.epoch(model, 0)

        def on_epoch_end(self, args: Any, state: Any, control: Any, *, model: Any, **rest: Any) -> None:  # noqa: ARG002
            self.scores.epoch(model, round(state.epoch))

    return CapturingTrainerCallback()
