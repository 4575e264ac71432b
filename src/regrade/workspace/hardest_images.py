"""The images that most models get wrong, as thumbnails with the models' predictions."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from regrade.core import UNLABELED, InputError, Predictions, TestSet, UnreadableImage
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.report import Gallery, GalleryTile
from regrade.store import Store
from regrade.studies.loading import chosen_models, reviewed_labels, scored_predictions
from regrade.studies.same_images import judge_predictions
from regrade.studies.study import ProgressCallback
from regrade.testsets import decode_gray_or_rgb, open_images

_TILES = 24
_SIDE, _QUALITY = 192, 80
_MAX_NAMED = 2  # predictions named per image


def hardest_images(
    store: Store, test_set: TestSet, *, labels: str | None, progress: ProgressCallback = iter
) -> Gallery:
    """The images that most models get wrong, hardest first; ties by how many models make the same prediction.

    With ``labels`` predictions are scored against that label set and the decisions of its review, otherwise against the
    original labels.
    """
    names = chosen_models(store, test_set, ())
    wrong, novel, predicted_classes = _all_predictions(store, test_set, names, labels, progress)
    missed = wrong.sum(axis=0)
    if not missed.any():
        raise InputError(f"no model is wrong on any image of {test_set.name}")
    candidates = np.lexsort((np.arange(len(missed)), -missed))[: 50 * _TILES]
    hard = [int(position) for position in candidates if missed[position]]
    predicted = {position: _prediction_counts(predicted_classes[wrong[:, position], position]) for position in hard}
    order = sorted(predicted, key=lambda position: (-missed[position], -predicted[position][0][1], position))
    source = store.images(test_set)
    images, tiles, unread = open_images(source), list[GalleryTile](), 0
    for position in order:
        if len(tiles) == _TILES:
            break
        try:
            image = decode_gray_or_rgb(images.read(position), orientation=source.orientation, border=source.border)
        except UnreadableImage:
            unread += 1
            continue
        image.thumbnail((_SIDE, _SIDE))
        buffer = io.BytesIO()
        image.convert("RGB").save(buffer, format="JPEG", quality=_QUALITY)
        tiles.append(
            GalleryTile(
                buffer.getvalue(),
                image.size,
                test_set.ids[position],
                _label(test_set, position),
                _predicted_in_words(predicted[position], test_set),
                f"{missed[position]} of {amount(len(names), 'model')} wrong",
            )
        )
    if not tiles:
        raise UnreadableImage(f"none of the {amount(unread, 'image')} that models get wrong most often can be read")
    against = f"under {labels}" if labels else "by the images' own labels"
    notes = [
        f"wrong {against}; of images missed by equally many models those come first where models agree most on "
        "another answer",
    ]
    notes += [f"left out, as they cannot be read: {amount(unread, 'image')}"] if unread else []
    notes += ["novel: predictions that no one has judged; they count as wrong here"] if novel.any() else []
    every = int((missed == len(names)).sum())
    title = (
        f"{amount(every, 'image')} of {test_set.name} {'is' if every == 1 else 'are'} missed by every model"
        if every
        else f"No image of {test_set.name} is missed by every model"
    )
    return Gallery(f"{title}; the hardest {len(tiles)} are shown", tuple(tiles), tuple(notes))


def _all_predictions(
    store: Store, test_set: TestSet, names: Sequence[str], labels: str | None, progress: ProgressCallback
) -> tuple[BoolArray, BoolArray, IntArray]:
    """Arrays (models, images): whether the model is wrong, whether its prediction is novel, and the prediction."""
    judged = None if labels is None else reviewed_labels(store, test_set, labels)
    wrong, novel, classes = [], [], []
    for predictions, scoring in scored_predictions(store, test_set, tuple(names), progress=progress):
        judged_predictions = judge_predictions(predictions, scoring, judged)
        wrong.append(judged_predictions.counted & ~judged_predictions.right)
        novel.append(judged_predictions.counted & judged_predictions.novel)
        classes.append(_in_set_classes(predictions, test_set))
    return np.array(wrong), np.array(novel), np.array(classes)


def _in_set_classes(predictions: Predictions, test_set: TestSet) -> IntArray:
    """The top-1 classes (n,); -1 if the model predicts other classes than those of the test set."""
    if predictions.class_space != test_set.class_space.name:
        return np.full(len(predictions), -1, dtype=np.int64)
    return predictions.top1.astype(np.int64)


def _prediction_counts(predicted: IntArray) -> list[tuple[int, int]]:
    """Predicted classes with their counts, the most frequent first."""
    classes, counts = np.unique(predicted, return_counts=True)
    order = np.lexsort((classes, -counts))
    return [(int(classes[rank]), int(counts[rank])) for rank in order]


def _label(test_set: TestSet, position: int) -> str:
    label = int(test_set.labels[position])
    return "no label" if label == UNLABELED else test_set.class_space.names[label]


def _predicted_in_words(predicted: list[tuple[int, int]], test_set: TestSet) -> str:
    named = [(test_set.class_space.names[label], count) for label, count in predicted if label >= 0]
    words = [f"{name} ({count})" for name, count in named[:_MAX_NAMED]]
    more = len(named) - len(words)
    return ("taken for " + ", ".join(words) + (f" and {more} more" if more else "")) if words else ""
