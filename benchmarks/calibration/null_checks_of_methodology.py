"""Null checks of RG001: predictions of all models are judged equally often, and differ only by chance."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import labeled_set, model_names
from regrade.studies import Methodology
from regrade.studies.checks.analysis import check_methodology
from regrade.studies.checks.facts import Evaluation, LabelFacts, SetFacts

_KIND = "checks: models were judged differently often"


@null_check(_KIND, case="2 models, about 100 errors each, 60% judged")
def two_models(rng: np.random.Generator) -> Methodology:
    return judged_at_random(rng, models=2)


@null_check(_KIND, case="12 models, about 100 errors each, 60% judged")
def many_models(rng: np.random.Generator) -> Methodology:
    return judged_at_random(rng, models=12)


def judged_at_random(rng: np.random.Generator, *, models: int, images: int = 500) -> Methodology:
    """Errors of models with different accuracies, half of them in a common class; a wrong class of an image is judged
    for all models or for none.
    """
    judged_classes = rng.random((images, 9)) < 0.6
    to_judge, judged = {}, {}
    for number, name in enumerate(model_names(models)):
        wrong = np.flatnonzero(rng.random(images) < 0.15 + 0.1 * number / models)
        classes = np.where(rng.random(len(wrong)) < 0.5, 0, rng.integers(0, 9, len(wrong)))
        to_judge[name], judged[name] = len(wrong), int(judged_classes[wrong, classes].sum())
    labels = LabelFacts("own@1", False, to_judge, judged)
    return check_methodology(Evaluation((SetFacts(labeled_set(images), labels=(labels,)),), "simulated"))
