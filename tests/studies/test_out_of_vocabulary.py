"""Errors on objects without a class: by hand with planted embeddings, in the triage, and from files of a workspace."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistake_world import CLASSES, SPACE, TEST_SET, A, pair_labels, predictions, reviewed_labels, studied
from neighbor_world import add_embeddings
from running import assert_one_line, run, run_well

import regrade
from regrade.classes import Vocabulary, superclasses
from regrade.core import FormatError, Hierarchy
from regrade.formats import read_vocabulary
from regrade.studies import TriageKind, TriageSources
from regrade.studies.mistakes.mistake_labels import MistakeLabels
from regrade.studies.mistakes.out_of_vocabulary import OutOfVocabulary
from regrade.studies.mistakes.triage import by_kind, make_triage

# coyote is a sibling of dog and wolf, thing an ancestor of car, and neither has a class
CONCEPTS = (*CLASSES, "coyote", "thing")
PARENTS = {
    "cat": ("feline",), "lynx": ("feline",), "dog": ("canine",), "wolf": ("canine",), "coyote": ("canine",),
    "thing": ("canine",), "car": ("thing",), "road": ("thing",), "boat": ("thing",), "cup": ("thing",),
}  # fmt: skip
VOCABULARY = Vocabulary(CONCEPTS, np.eye(len(CONCEPTS), dtype=np.float32), Hierarchy(PARENTS, {}))
CAT, DOG, WOLF, CAR = (CLASSES.index(name) for name in ("cat", "dog", "wolf", "car"))


def source(seen, near=DOG, vocabulary=VOCABULARY):
    """Every image looks like the concept ``seen``, and its nearest training images are of one class."""
    images = np.tile(vocabulary.embeddings[vocabulary.position_of[seen]], (12, 1)) + 0.01
    return OutOfVocabulary("seer", SPACE, superclasses(SPACE), vocabulary, images, np.full((12, 10), near))


def is_outside(embeddings, predicted=WOLF, label=CAR):
    (answer,) = embeddings.errors(np.array([0]), np.array([predicted]), np.array([label]))
    return bool(answer)


class TestByHand:
    def test_sibling_without_a_class(self):
        assert is_outside(source("coyote"))
        assert source("coyote").nearest_concept(0, WOLF, CAR) == "coyote"

    def test_predicted_class_and_classes_of_its_superclass(self):
        assert not is_outside(source("wolf"))
        assert not is_outside(source("dog"))

    def test_class_that_is_not_proposed_cannot_win(self):
        """The image looks like a boat, but only canines are proposed for a wolf: the first of these wins."""
        assert source("boat").nearest_concept(0, WOLF, CAR) == "wolf"

    def test_ancestor_of_the_label_is_excluded(self):
        assert source("thing").nearest_concept(0, WOLF, CAR) == "wolf"
        assert source("thing").nearest_concept(0, WOLF, CAT) == "thing"
        assert is_outside(source("thing"), label=CAT)

    def test_image_without_a_label_excludes_nothing(self):
        assert is_outside(source("thing"), label=-1)

    def test_no_near_training_image_of_the_superclass(self):
        assert not is_outside(source("coyote", near=CAR))
        assert not is_outside(source("coyote", near=-1))

    def test_only_ten_neighbors_count(self):
        far = source("coyote", near=CAR)
        eleventh = np.concatenate([far.neighbors, np.full((12, 1), DOG)], axis=1)
        assert not is_outside(replace(far, neighbors=eleventh))
        tenth = far.neighbors.copy()
        tenth[:, 9] = DOG
        assert is_outside(replace(far, neighbors=tenth))

    def test_missing_prediction(self):
        assert not is_outside(source("coyote"), predicted=-1)

    def test_class_without_superclass_is_its_own(self):
        """Cars share no superclass: only training images of cars are near to one."""
        assert not is_outside(source("thing", near=DOG), predicted=CAR, label=CAT)

    @given(st.integers(0, 7), st.integers(-1, 7), st.integers(0, 1_000))
    @settings(max_examples=60, deadline=None)
    def test_softmax_has_the_same_maximum(self, predicted, label, seed):
        rng = np.random.default_rng(seed)
        image = rng.normal(size=(12, len(CONCEPTS)))
        random = replace(source("dog"), images=image)
        unit = image[0] / np.linalg.norm(image[0])
        weights = np.exp(100 * (VOCABULARY.embeddings @ unit))
        nearest = random.nearest_concept(0, predicted, label)
        proposals = [CONCEPTS[row] for row in random._proposals[predicted]]
        above = set() if label < 0 else set(Hierarchy(PARENTS, {}).ancestors(CLASSES[label])) - {CLASSES[label]}
        allowed = [concept for concept in proposals if concept not in above]
        assert nearest == max(allowed, key=lambda concept: weights[CONCEPTS.index(concept)])


class TestTriage:
    def test_kinds_by_hand(self):
        """A lynx for a cat is of its superclass, a wolf for a dog collapsed; other wolves look like a coyote."""
        sources = TriageSources(superclasses(SPACE), pair_labels(), source("coyote"))
        (row,) = studied(predictions("m", ("lynx", *("wolf",) * 11)), triage=sources).triage
        assert {kind.name: count for kind, count in by_kind(row.counts).items() if count} == {
            "COLLAPSED": 2, "FINE_GRAINED": 1, "OUT_OF_VOCABULARY": 5,
        }  # fmt: skip

    def test_counts_move_from_other_kinds_only(self):
        plain = studied(predictions("a", A)).triage[0]
        row = studied(
            predictions("a", A), triage=TriageSources(superclasses(SPACE), pair_labels(), source("coyote"))
        ).triage[0]
        before, after = by_kind(plain.counts), by_kind(row.counts)
        assert plain.errors == row.errors
        for kind in (TriageKind.COLLAPSED, TriageKind.MULTILABEL, TriageKind.FINE_GRAINED):
            assert before[kind] == after[kind]
        moved = sum(before[kind] - after[kind] for kind in before)
        assert moved == after[TriageKind.OUT_OF_VOCABULARY]

    def test_json_and_tables_have_the_kind_only_with_embeddings(self):
        plain = studied(predictions("a", A))
        sources = TriageSources(superclasses(SPACE), pair_labels(), source("coyote"))
        result = studied(predictions("a", A), triage=sources)
        name = TriageKind.OUT_OF_VOCABULARY.value
        assert name not in plain.as_dict()["triage"][0]["counts"]
        assert name in result.as_dict()["triage"][0]["counts"]
        assert any(note.startswith("object without a class: ") for note in result.as_dict()["notes"])
        assert result.figure().spec


def write_npz(path, ids=CONCEPTS, embeddings=None, **changes):
    rows = np.eye(len(ids), dtype=np.float32) if embeddings is None else embeddings
    arrays = {"id": np.array(ids), "parents": np.array([" ".join(PARENTS.get(i, ())) for i in ids]), "embedding": rows}
    np.savez(path, **{name: rows for name, rows in (arrays | changes).items() if rows is not None})
    return path


def write_parquet(path, **changes):
    columns = {"id": ["a", "b"], "parents": ["", "a"], "embedding": [[1.0, 0.0], [0.0, 1.0]]} | changes
    pq.write_table(pa.table(columns), path)
    return path


class TestFiles:
    @pytest.mark.parametrize("suffix", [".npz", ".parquet"])
    def test_both_formats_are_the_same(self, tmp_path, suffix):
        path = tmp_path / f"v{suffix}"
        rows = 3 * np.eye(len(CONCEPTS), dtype=np.float32)
        if suffix == ".npz":
            write_npz(path, embeddings=rows)
        else:
            parents = [" ".join(PARENTS.get(concept, ())) for concept in CONCEPTS]
            pq.write_table(pa.table({"id": CONCEPTS, "parents": parents, "embedding": rows.tolist()}), path)
        vocabulary = read_vocabulary(path)
        assert vocabulary.ids == CONCEPTS and vocabulary.hierarchy.parents["car"] == ("thing",)
        assert np.allclose(vocabulary.embeddings, np.eye(len(CONCEPTS)))

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"parents": None}, "parents missing"),
            ({"embedding": np.ones((2, 3))}, "ids, but embeddings of shape"),
            ({"embedding": np.zeros((len(CONCEPTS), 3))}, "is 0 or not finite"),
            ({"embedding": np.full((len(CONCEPTS), 3), np.nan)}, "is 0 or not finite"),
            ({"id": np.array(["cat"] * len(CONCEPTS))}, "'cat' occurs twice"),
            ({"id": np.arange(len(CONCEPTS))}, "ids and parents must be texts"),
            ({"parents": np.array([["a"]] * len(CONCEPTS))}, "ids and parents must be texts"),
            ({"parents": np.array([""])}, "ids, but 1 texts with parents"),
            ({"embedding": np.array([["a"]] * len(CONCEPTS))}, "cannot be read as a vocabulary"),
        ],
    )
    def test_bad_content(self, tmp_path, changes, words):
        with pytest.raises(FormatError, match=words):
            read_vocabulary(write_npz(tmp_path / "v.npz", **changes))

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"id": [None, "b"]}, "ids and parents must be texts"),
            ({"parents": [[], ["a"]]}, "ids and parents must be texts"),
            ({"embedding": [None, [0.0, 1.0]]}, "cannot be read as a vocabulary"),
            ({"embedding": [1.0, 2.0]}, "cannot be read as a vocabulary"),
            ({"embedding": [[1.0], [0.0, 1.0]]}, "differ in length"),
        ],
    )
    def test_bad_columns(self, tmp_path, changes, words):
        with pytest.raises(FormatError, match=words):
            read_vocabulary(write_parquet(tmp_path / "v.parquet", **changes))

    def test_column_of_parents_may_have_nulls(self, tmp_path):
        vocabulary = read_vocabulary(write_parquet(tmp_path / "v.parquet", parents=[None, "a"]))
        assert vocabulary.hierarchy.parents == {"a": (), "b": ("a",)}

    def test_bad_files(self, tmp_path):
        (tmp_path / "v.npz").write_text("no archive")
        for name, words in (
            ("v.npz", "cannot be read"),
            ("v.txt", "ends in .npz or .parquet"),
            ("w.npz", "no such file"),
        ):
            with pytest.raises(FormatError, match=words):
                read_vocabulary(tmp_path / name)


class TestWorkspace:
    @pytest.fixture
    def workspace(self, tmp_path):
        """Four cars called wolves, near to training dogs; the first looks like a coyote, the rest like dogs."""
        workspace = regrade.init(tmp_path / "W")
        rows = "image,label,m\n" + "".join(f"i{n},car,wolf\n" for n in range(4))
        (tmp_path / "space.json").write_text(json.dumps({"ids": list(CLASSES), "groups": {"canines": ["dog", "wolf"]}}))
        for name in ("val", "train"):
            (tmp_path / f"{name}.csv").write_text(rows if name == "val" else rows.replace(",car,", ",dog,"))
            run_well("import", "predictions", tmp_path / f"{name}.csv", "-t", name, "--classes",
                     tmp_path / "space.json", "-w", tmp_path / "W")  # fmt: skip
            seen = [CONCEPTS.index("coyote"), DOG, DOG, DOG]
            add_embeddings(workspace, name, "seer", np.eye(len(CONCEPTS))[seen])
        (tmp_path / "labels.csv").write_text("image,class\n" + "".join(f"i{n},car\n" for n in range(4)))
        run_well("import", "labels", tmp_path / "labels.csv", "-t", "val", "--name", "own", "--complete", "-w",
                 tmp_path / "W")  # fmt: skip
        return workspace

    def study(self, *options, run=run_well, workspace):
        root = workspace.store.root
        return run("study", "mistakes", "-t", "val", "-l", "own", "--model", "m", *options, "-w", root)

    def test_triage_finds_the_coyote(self, workspace, tmp_path):
        workspace.neighbors("val", against="train")
        file = write_npz(tmp_path / "v.npz")
        done = self.study("--vocabulary", file, "--show", "triage", "--json", workspace=workspace)
        (row,) = json.loads(done.out)["triage"]
        assert row["counts"] == {
            "collapsed class": 0, "another right label": 0, "same superclass": 0, "object without a class": 1,
            "co-occurring class": 0, "non-prototypical": 0, "failure": 3,
        }  # fmt: skip

    def test_errors_are_one_line(self, workspace, tmp_path):
        file = write_npz(tmp_path / "v.npz")
        assert_one_line(self.study("--vocabulary", file, run=run, workspace=workspace), "run regrade neighbors")
        workspace.neighbors("val", against="train")
        part = write_npz(tmp_path / "part.npz", ids=CONCEPTS[1:])
        assert_one_line(self.study("--vocabulary", part, run=run, workspace=workspace), "no text embedding", "'cat'")
        wide = write_npz(tmp_path / "wide.npz", embeddings=np.ones((len(CONCEPTS), 3)))
        assert_one_line(self.study("--vocabulary", wide, run=run, workspace=workspace), "10 numbers per image", "3")
        options = ("--vocabulary", file, "--embedded-by", "m")
        assert_one_line(self.study(*options, run=run, workspace=workspace), "no nearest training images by m")
        assert_one_line(self.study("--embedded-by", "m", run=run, workspace=workspace), "requires --vocabulary")


def test_kinds_of_single_predictions():
    """A lynx on image 0, labeled cat, is of its superclass; a wolf on image 3, a car, is an object without a class."""
    ground = MistakeLabels(TEST_SET, reviewed_labels(), reviewed_labels())
    triage = make_triage(
        ground, superclasses=superclasses(SPACE), pairs_from=None, reviews=(), without_class=source("coyote")
    )
    kinds = triage.kinds(np.array([0, 3]), np.array([CLASSES.index("lynx"), WOLF]))
    assert [list(TriageKind)[kind] for kind in kinds] == [TriageKind.FINE_GRAINED, TriageKind.OUT_OF_VOCABULARY]
