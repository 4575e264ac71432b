"""A small workspace with every kind of stored file, and a function that reads all of them."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

import regrade
from regrade.core import ClassMap, ClassSpace, MapRule, Predictions, ScoreKind, TestSet, no_fingerprints
from regrade.ledger import Ledger, Person, Question, Role, VoteContent
from regrade.store import PredictionSource, SignatureKey, Store, manifest_of
from regrade.workspace import Workspace

CLASSES = ("ball", "doll", "car", "kite", "drum")
IMAGES = 40
SPACE = ClassSpace("toys", CLASSES)


def make_every_file(folder: Path) -> Workspace:
    """A workspace below a folder with a test set of images and every kind of file that can be stored for it."""
    workspace = regrade.init(folder / "W")
    rng = np.random.default_rng(5)
    _add_images(workspace.store.root / "photos", rng)
    workspace.testsets.add("shelf", workspace.store.root / "photos", classes=SPACE)
    test_set = workspace.store.test_set("shelf")
    for number, model in enumerate(("first", "second", "third")):
        scores = rng.random((IMAGES, len(CLASSES))) + (2 - 0.5 * number) * np.eye(len(CLASSES))[test_set.labels]
        workspace.models.add_predictions(model, scores / scores.sum(axis=1, keepdims=True), test_set="shelf")
    _add_features(workspace.store, test_set, rng)
    _add_mapped_set(workspace.store)
    epochs = rng.normal(size=(2, 2, IMAGES, len(CLASSES)))
    workspace.models.add_checkpoints("net", epochs, test_set="shelf", kind="logits")
    _import_files(workspace, folder, test_set)
    workspace.study.leakage("shelf")
    return workspace


def add_published_queues(workspace: Workspace) -> None:
    """Add queues of each question with votes; publish a first round of votes and leave a second one unpublished."""
    ledger = workspace.ledger
    person = ledger.people.add("Olga", Role.OWNER)
    workspace.review.queue_labels("shelf", size=12, name="exam")
    complete = workspace.store.root.parent / "labels.csv"
    workspace.labels.import_file(complete, test_set="shelf", name="complete", complete=True)
    workspace.review.queue_mistakes("shelf", labels="complete", model="fourth", name="mistakes")
    workspace.review.queue_novel("shelf", labels="own", models=["fourth"], name="novel")
    _vote(ledger, person, rounds=5)
    for queue in ledger.queues.all():
        workspace.review.publish(queue.name)
    _vote(ledger, person, rounds=3)
    ledger.engine.dispose()


def _vote(ledger: Ledger, person: Person, *, rounds: int) -> None:
    answers = {
        Question.JUDGE: ("wrong", None),
        Question.LABEL: ("drum", None),
        Question.MISTAKE: ("fine-grained", "minor"),
    }
    for queue in ledger.queues.all():
        answer, severity = answers[queue.question]
        for _ in range(rounds):
            item = ledger.items.next(queue, person)
            if item is not None:
                ledger.votes.cast(item.id, person, VoteContent(uuid.uuid4().hex, answer, severity))


def _add_images(folder: Path, rng: np.random.Generator) -> None:
    for number in range(IMAGES):
        place = folder / CLASSES[number % len(CLASSES)]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (16, 16, 3)).astype(np.uint8)).save(place / f"{number:03}.png")


def _add_features(store: Store, test_set: TestSet, rng: np.random.Generator) -> None:
    classes = rng.permuted(np.tile(np.arange(len(CLASSES)), (IMAGES, 1)), axis=1)
    scores = np.sort(rng.normal(size=classes.shape), axis=1)[:, ::-1].astype(np.float32)
    features = rng.normal(size=(IMAGES, 8)).astype(np.float32)
    images = no_fingerprints(IMAGES)
    images["digest"] = rng.integers(1, 2**63, IMAGES)
    row = Predictions("fourth", "shelf", "toys", classes, scores, None, ScoreKind.LOGITS, features, fingerprints=images)
    store.add_predictions(test_set, [(row, manifest_of(row, test_set, SPACE, PredictionSource()))], SPACE)


def _add_mapped_set(store: Store) -> None:
    rooms = ClassSpace("rooms", ("nursery", "garage"))
    mapped = TestSet("house", rooms, ("x", "y"), np.array([0, 1]), {"floor": ("1", "2")})
    store.add_test_set(mapped, ClassMap(SPACE, rooms, ((0, 1), (2,)), MapRule.ANY_IN_TOP_K))


def _import_files(workspace: Workspace, folder: Path, test_set: TestSet) -> None:
    """Import labels that leave some predictions novel, a judged sample of these, people, slices and mistakes."""
    labels = [f"{image},{CLASSES[label]}" for image, label in zip(test_set.ids, test_set.labels, strict=True)]
    people = [f"{line},Ada,{second},{second + 5}" for second, line in enumerate(labels[:30])]
    slices = [f"{image},{'dark' if number % 3 else 'bright'}" for number, image in enumerate(test_set.ids)]
    mistakes = [f"{image},drum,fine-grained,minor" for image in test_set.ids[:4]]
    files = {
        "labels.csv": ["image,class", *labels],
        "people.csv": ["image,class,person,start,end", *people],
        "slices.csv": ["image,light", *slices],
        "mistakes.csv": ["image,prediction,category,severity", *mistakes],
    }
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    workspace.labels.import_file(folder / "labels.csv", test_set="shelf", name="own")
    workspace.models.import_people(folder / "people.csv", test_set="shelf")
    workspace.testsets.import_slices(folder / "slices.csv", test_set="shelf", name="scene")
    workspace.models.import_mistakes(folder / "mistakes.csv", test_set="shelf", model="first")
    drawn = workspace.labels.draw_sample("shelf", labels="own", size=6)
    pairs = [(test_set.ids[drawn.frame.examples[row]], CLASSES[drawn.frame.classes[row]]) for row in drawn.rows]
    lines = ["image,class,verdict", *(f"{image},{name},wrong" for image, name in pairs)]
    (folder / "judged.csv").write_text("\n".join(lines) + "\n")
    workspace.labels.import_decisions(folder / "judged.csv", test_set="shelf", labels="own")


def read_every_file(store: Store) -> dict[str, object]:
    """Read all stored content of a workspace completely, as a digest per item."""
    content: dict[str, object] = {
        f"classes {name}": store.class_spaces.read(name).digest for name in store.class_spaces.names()
    }
    for name in store.test_sets.names():
        test_set = store.test_set(name)
        content[f"test set {name}"] = (test_set.digest, [slices.digest for slices in test_set.slice_sets])
        class_map = store.class_maps.read(test_set)
        content[f"map {name}"] = None if class_map is None else class_map.digest
        for model in (*store.predictions.model_names(name), *store.predictions.people_names(name)):
            manifest = replace(store.predictions.manifest(test_set.name, model), created="")
            predictions = store.predictions.read(test_set, model)
            images = None if predictions.fingerprints is None else predictions.fingerprints.tobytes()
            content[f"predictions {name} {model}"] = (predictions.digest, images, manifest)
        for labels in store.labels.names(name):
            label_set = store.labels.read(test_set, labels)
            frame = store.reviews.read(test_set, label_set)
            states = None if frame is None else (frame.digest, frame.drawn, frame.states.tolist())
            content[f"labels {name} {labels}"] = (label_set.digest, label_set.origin, states)
        for model in store.mistakes.names(name):
            content[f"mistakes {name} {model}"] = store.mistakes.read(test_set, model).digest
        for ensemble in store.ensembles.names(name):
            content[f"checkpoints {name} {ensemble}"] = _read_checkpoints(store, test_set, ensemble)
        if store.images.has(name):
            content |= _read_images(store, test_set)
    return content


def _read_checkpoints(store: Store, test_set: TestSet, ensemble: str) -> list[bytes]:
    stored = store.ensembles.read(test_set, ensemble)
    pairs = [(member, epoch) for member in range(len(stored.members)) for epoch in range(len(stored.epochs))]
    return [np.asarray(stored.scores(member, epoch)).tobytes() for member, epoch in pairs]


def _read_images(store: Store, test_set: TestSet) -> dict[str, object]:
    source = store.images.read(test_set)
    signatures = [
        store.signatures.read(test_set.name, SignatureKey(source, size))
        for size in store.signatures.sizes(test_set.name)
    ]
    digests = [None if signature_set is None else signature_set.digest for signature_set in signatures]
    return {f"images {test_set.name}": source, f"signatures {test_set.name}": digests}
