"""The images that most models miss, as small images with what the models took them for."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from regrade.core import UNLABELED, InputError, Predictions, TestSet, UnreadableImage
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.report import Gallery, GalleryTile
from regrade.store import Store
from regrade.studies.same_images import judge_predictions
from regrade.testsets import decode_gray_or_rgb, open_images
from regrade.workspace.loading import ProgressCallback, chosen_models, reviewed_labels, scored_predictions

_TILES = 24
_SIDE, _QUALITY = 192, 80
_NAMED = 2  # answers that a image names


def hardest_images(store: Store, test_set: TestSet, *, labels: str | None, watch: ProgressCallback = iter) -> Gallery:
    """The images that most models have wrong, hardest first; of equal ones those where models agree most.

    With ``labels`` wrong means wrong under that label set, verdicts of a review included, without them not the image's
    own label.
    """
    names = chosen_models(store, test_set, ())
    wrong, novel, answers = _answers(store, test_set, names, labels, watch)
    missed = wrong.sum(axis=0)
    if not missed.any():
        raise InputError(f"no model is wrong on any image of {test_set.name}")
    candidates = np.lexsort((np.arange(len(missed)), -missed))[: 50 * _TILES]
    said = {int(one): _most_said(answers[wrong[:, one], one]) for one in candidates if missed[one]}
    order = sorted(said, key=lambda one: (-missed[one], -said[one][0][1], one))
    source = store.images(test_set)
    images, tiles, unread = open_images(source), list[GalleryTile](), 0
    for one in order:
        if len(tiles) == _TILES:
            break
        try:
            image = decode_gray_or_rgb(images.read(one), orientation=source.orientation, border=source.border)
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
                test_set.ids[one],
                _label(test_set, one),
                _in_words(said[one], test_set),
                f"{missed[one]} of {amount(len(names), 'model')} wrong",
            )
        )
    if not tiles:
        raise UnreadableImage(f"none of the {amount(unread, 'image')} that models miss most can be read")
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


def _answers(
    store: Store, test_set: TestSet, names: Sequence[str], labels: str | None, watch: ProgressCallback
) -> tuple[BoolArray, BoolArray, IntArray]:
    """Whether each model is wrong, whether no one has judged that, and what it said: (models, images)."""
    judged = None if labels is None else reviewed_labels(store, test_set, labels)
    wrong, novel, answers = [], [], []
    for predictions, scoring in scored_predictions(store, test_set, tuple(names), watch=watch):
        found = judge_predictions(predictions, scoring, judged)
        wrong.append(found.counted & ~found.right)
        novel.append(found.counted & found.novel)
        answers.append(_own_space(predictions, test_set))
    return np.array(wrong), np.array(novel), np.array(answers)


def _own_space(predictions: Predictions, test_set: TestSet) -> IntArray:
    """What a model said; nothing where it speaks of other classes than the test set's."""
    if predictions.class_space != test_set.class_space.name:
        return np.full(len(predictions), -1, dtype=np.int64)
    return predictions.top1.astype(np.int64)


def _most_said(answers: IntArray) -> list[tuple[int, int]]:
    """Answers with how many gave them, the most frequent first."""
    classes, counts = np.unique(answers, return_counts=True)
    order = np.lexsort((classes, -counts))
    return [(int(classes[one]), int(counts[one])) for one in order]


def _label(test_set: TestSet, position: int) -> str:
    label = int(test_set.labels[position])
    return "no label" if label == UNLABELED else test_set.class_space.names[label]


def _in_words(said: list[tuple[int, int]], test_set: TestSet) -> str:
    known = [(test_set.class_space.names[label], count) for label, count in said if label >= 0]
    words = [f"{name} ({count})" for name, count in known[:_NAMED]]
    more = len(known) - len(words)
    return ("taken for " + ", ".join(words) + (f" and {more} more" if more else "")) if words else ""
