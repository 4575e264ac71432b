"""Invalid input: one line on standard error, a non-zero exit code, and no changes."""

import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from pets import IDS, LABELS, wide
from running import assert_one_line, run, run_well, snapshot

from regrade.cli.app import app

SCORES = np.random.default_rng(0).normal(size=(6, 10))


def table(**columns) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def lines(*rows: object) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def answered(answer: object) -> bytes:
    return lines(*({"image": i, "second": answer} for i in IDS))


def array(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=True)
    return file.getvalue()


def archive(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def flipped(content: bytes, seed: int) -> bytes:
    rng = random.Random(seed)
    damaged = bytearray(content)
    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


@pytest.fixture
def refused(pets: Path) -> Callable[..., None]:
    """Assert that a command fails with one line that contains these words, and changes nothing."""

    def check(arguments: tuple[object, ...], *words: str, code: int = 1) -> None:
        before = snapshot(pets)
        assert_one_line(run(*arguments, "-w", pets), *words, code=code)
        assert snapshot(pets) == before

    return check


class TestPredictions:
    @pytest.fixture
    def refused_file(self, refused, tmp_path: Path) -> Callable[..., None]:
        def check(name: str, content: str | bytes, *words: str, options: tuple[str, ...] = ()) -> None:
            path = tmp_path / name
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            refused(("import", "predictions", path, "--test-set", "pets", *options), *words)

        return check

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(
                wide("cta", *LABELS[1:]), ("'second'", "row 1", "'cta'", "did you mean cat?"), id="unknown id"
            ),
            pytest.param(wide() + "p0,cat\n", ("'p0'", "more than once"), id="duplicate"),
            pytest.param(wide().replace("p5,deer\n", ""), ("1 of the 6", "missing", "'p5'"), id="missing example"),
            pytest.param(wide() + "p9,cat\n", ("not in test set pets", "'p9'"), id="extra example"),
            pytest.param(wide(*"345399"[:5], "10"), ("row 6", "class index 10", "0 to 9"), id="index outside"),
            pytest.param(wide(*["-1"] * 6), ("class index -1 is outside",), id="negative index"),
            pytest.param(wide("3", *LABELS[1:]), ("'second'", "not a class index"), id="index among ids"),
            pytest.param(wide(*LABELS[:5], "3"), ("row 6", "'3'"), id="id among indices"),
            pytest.param(wide(*["1.5"] * 6), ("fractions",), id="fractions"),
            pytest.param(wide("", *LABELS[1:]), ("'second'", "row 1", "empty"), id="empty cell"),
            pytest.param(wide().replace("p0", ""), ("'image'", "1 empty"), id="empty id"),
            pytest.param(wide("3 4", *["4 5"] * 4, "4 5 6"), ("same number of classes",), id="ragged lists"),
            pytest.param(wide(*["3 4 3"] * 6), ("'second'", "row 1", "cat", "twice"), id="class listed twice"),
            pytest.param(
                wide() + "p6,cat,dog\n", ("line 8 has 3 cells, but the first line names 2",), id="ragged rows"
            ),
            pytest.param("image,label\n" + "p0,cat\n" * 1, ("no column with predictions",), id="no model"),
            pytest.param("photo,m\np0,cat\n", ("example ids", "--id-column"), id="no ids"),
            pytest.param("image,m,m\np0,cat,dog\n", ("'m' occurs twice",), id="column twice"),
            pytest.param("image,image,m\np0,p0,cat\n", ("'image' occurs twice",), id="id column twice"),
            pytest.param(wide().replace("image,", "image,label,").replace(",cat", ",cat,cat"), (), id="shifted rows"),
            pytest.param(wide(*["9" * 20] * 6), ("row 1: class 1", "outside cifar-10 (0 to 9)"), id="endless class"),
            pytest.param(wide("3", "0.5", *"1234"), ("row 2: 0.5 is not a class id or class index",), id="a fraction"),
            pytest.param("", ("is empty",), id="empty file"),
            pytest.param("image,second\n", ("no rows",), id="heading only"),
            pytest.param("image,second", ("no rows below the first line",), id="heading without end"),
            pytest.param("\n\n\n", ("only blank lines",), id="blank lines"),
            pytest.param(wide(model="m" * 300), ("too long",), id="endless name"),
            pytest.param(wide().encode("utf-16"), ("is not UTF-8 text (line 1, byte 0): save it",), id="utf-16"),
            pytest.param(
                wide("kät", *LABELS[1:]).encode("latin-1"), ("is not UTF-8 text (line 2, byte 17)",), id="latin-1 cell"
            ),
            pytest.param(wide(model="modèle").encode("latin-1"), ("is not UTF-8 text (line 1,",), id="latin-1 heading"),
            pytest.param(
                ("image,m\n" + "p0,cat\n" * 2000 + "p\xe9,cat\n").encode("latin-1"),
                ("UTF-8 text (line 2,002,",),
                id="late",
            ),
        ],
    )
    def test_csv(self, refused_file, content, words):
        refused_file("second.csv", content, *words)

    def test_labels_that_differ_from_the_test_set(self, refused_file):
        content = "image,label,second\n" + "".join(f"{i},cat,dog\n" for i in IDS)
        refused_file(
            "second.csv", content, "labels differ", "4 examples", "'p1'", "cat in the file, dog in the test set"
        )

    def test_unknown_columns_suggest_similar_ones(self, refused_file):
        refused_file("a.csv", wide(), "unknown group column 'secnd'", "second", options=("--group", "secnd"))
        refused_file("b.csv", wide(), "example ids", "'imge'", "image", options=("--id-column", "imge"))

    def test_a_wide_file_that_looks_like_one_model(self, refused_file):
        refused_file("one.csv", wide(model="prediction"), "look like one model", "--model")

    def test_one_model_in_too_many_columns(self, refused_file):
        content = "image,a,b\n" + "".join(f"{i},cat,dog\n" for i in IDS)
        refused_file("one.csv", content, "could be in a, b", options=("--model", "m"))

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(answered(["cat", "dog"])[:-3], ("line 6", "not valid JSON"), id="truncated"),
            pytest.param(b"[1, 2]", ("line 1", "expected an object"), id="no object"),
            pytest.param(b"{}\n{}", ("no rows",), id="empty objects"),
            pytest.param(answered("cat") + b'\n{"image": "p6"}', ("row 7", "empty"), id="missing key"),
            pytest.param(b'{"image": "p6"}\n' + answered("cat"), ("row 1", "empty"), id="missing in the first row"),
            pytest.param(
                answered("cat") + b'\n{"image": "p6", "second": 3}',
                ("'second': row 7 contains numbers, and rows before it text",),
                id="mixed",
            ),
            pytest.param(answered({"a": 1}), ("struct", "not class ids"), id="objects"),
            pytest.param(answered(True), ("bool", "not class ids"), id="truth values"),
            pytest.param(answered([]), ("empty",), id="empty lists"),
            pytest.param(answered([3, None]), ("row 1", "empty"), id="holes in lists"),
            pytest.param(answered([[3], [4]]), ("not class ids",), id="lists of lists"),
            pytest.param(
                answered(2**70), ("'second': row 1 contains an integer that is too large",), id="endless number"
            ),
            pytest.param(
                answered("cat") + b'\n{"image": "p6", "second": ["cat"]}', ("row 7 contains lists",), id="a list"
            ),
            pytest.param(answered(["cat", 3]), ("lists or objects of the rows",), id="mixed lists"),
            pytest.param(answered("\ud800"), ("line 1", "invalid character"), id="half a character"),
            pytest.param(b"[" * 100_000, ("line 1", "nested too deeply"), id="endless nesting"),
            pytest.param(lines({"image": ["p0"], "m": 3}), ("'image'", "not text"), id="lists as ids"),
            pytest.param(lines({"image": None, "m": 3}), ("'image'", "1 empty"), id="no id"),
            pytest.param(b'{"image": "\xe9"}', ("UTF-8",), id="latin-1"),
        ],
    )
    def test_json_lines(self, refused_file, content, words):
        refused_file("second.jsonl", content, *words)

    @pytest.mark.parametrize(
        ("scores", "words"),
        [
            pytest.param([0.1] * 9, ("(6, 9)", "(examples, 10)", "cifar-10"), id="shape"),
            pytest.param([], ("(6, 0)",), id="none"),
            pytest.param(["a"] * 10, ("not scores",), id="text"),
            pytest.param([0.1] * 9 + [float("nan")], ("line 1", "NaN"), id="nan"),
            pytest.param([0.1] * 9 + [float("inf")], ("line 1", "Infinity"), id="inf"),
            pytest.param([1e6] * 10, ("half precision",), id="huge"),
        ],
    )
    def test_full_scores(self, refused_file, scores, words):
        content = lines(*({"image": i, "scores": scores} for i in IDS))
        refused_file("m.jsonl", content, *words, options=("--model", "m"))

    @pytest.mark.parametrize(
        ("scores", "words"),
        [
            pytest.param([0.1, 0.2], ("row 1", "scores increase"), id="rising"),
            pytest.param([0.2], ("2 classes but 1 scores",), id="too few"),
            pytest.param([float("nan"), 0.1], ("line 1", "NaN"), id="nan"),
            pytest.param([1e308, 0.1], ("larger than single precision",), id="huge"),
        ],
    )
    def test_scores_of_the_best_classes(self, refused_file, scores, words):
        content = lines(*({"image": i, "pred": [3, 4], "scores": scores} for i in IDS))
        refused_file("m.jsonl", content, *words, options=("--model", "m"))

    GOOD_TABLE = table(image=IDS, second=["cat"] * 6)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(GOOD_TABLE[: len(GOOD_TABLE) // 2], ("cannot be read as parquet",), id="half"),
            pytest.param(GOOD_TABLE[:-3], ("cannot be read as parquet",), id="end missing"),
            pytest.param(GOOD_TABLE[20:], ("cannot be read as parquet",), id="beginning missing"),
            pytest.param(b"hello there", ("cannot be read as parquet",), id="garbage"),
            pytest.param(b"", ("is empty",), id="empty"),
            pytest.param(GOOD_TABLE[:0] + table(image=pa.array([], pa.string())), ("no rows",), id="no rows"),
            pytest.param(
                table(image=[b"\xff"] * 6, m=[1] * 6),
                ("column 'image' contains binary", "not UTF-8"),
                id="ids that are no text",
            ),
            pytest.param(table(image=IDS, m=pa.array([1] * 6, pa.date32())), ("date32",), id="dates"),
            pytest.param(table(image=IDS, m=pa.array([2**63] * 6, pa.uint64())), ("outside cifar-10",), id="uint64"),
        ],
    )
    def test_parquet(self, refused_file, content, words):
        refused_file("second.parquet", content, *words)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(array(SCORES)[:200], ("(6, 10)", "480 bytes", "contains 72"), id="truncated"),
            pytest.param(array(SCORES) * 2, ("several arrays in one",), id="two arrays"),
            pytest.param(array(SCORES)[:7], ("cannot be read as npy",), id="truncated heading"),
            pytest.param(b"garbage " * 20, ("cannot be read as npy",), id="garbage"),
            pytest.param(array(np.array([{}] * 6, dtype=object)), ("pickled", "never loaded"), id="pickled objects"),
            pytest.param(array(SCORES.astype(np.longdouble)), ("float64",), id="long doubles"),
            pytest.param(array(SCORES.astype(complex)), ("complex",), id="complex"),
            pytest.param(array(np.zeros(6, [("a", "f4"), ("b", "f4")])), ("fields",), id="records"),
            pytest.param(array(np.zeros(6, "M8[s]")), ("dates",), id="dates"),
            pytest.param(array(SCORES[:, :9]), ("(6, 9)", "(examples, 10)"), id="classes"),
            pytest.param(array(SCORES[:5]), ("5 rows", "6 examples"), id="rows"),
            pytest.param(array(SCORES[:, 0]), ("(6,)", "float64"), id="one-dimensional scores"),
            pytest.param(array(SCORES[:, :, None]), ("(6, 10, 1)",), id="three-dimensional"),
            pytest.param(array(np.array(3.0)), ("shape ()",), id="no dimension"),
            pytest.param(array(SCORES[:0]), ("it is empty",), id="no rows"),
            pytest.param(array(np.zeros((6, 0), int)), ("it is empty",), id="no columns"),
            pytest.param(array(np.zeros(0, int)), ("it is empty",), id="no numbers"),
            pytest.param(array(np.where(SCORES > 1, np.nan, SCORES)), ("finite",), id="nan"),
            pytest.param(array(np.where(SCORES > 1, -np.inf, SCORES)), ("finite",), id="inf"),
            pytest.param(array(SCORES > 0), ("bool",), id="truth values"),
            pytest.param(array(np.array(LABELS)), ("<U4",), id="text"),
            pytest.param(array(np.full(6, 10)), ("row 1", "class index 10"), id="index outside"),
            pytest.param(array(np.zeros((6, 2), int)), ("row 1", "airplane", "twice"), id="class listed twice"),
        ],
    )
    def test_npy(self, refused_file, content, words):
        refused_file("second.npy", content, *words)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(archive(scores=SCORES)[:300], ("cannot be read as npz",), id="truncated"),
            pytest.param(b"PK\x03\x04garbage", ("cannot be read as npz",), id="garbage"),
            pytest.param(archive(values=SCORES, more=SCORES), ("values, more", "--prediction-column"), id="no answers"),
            pytest.param(archive(), ("contains no arrays",), id="nothing"),
            pytest.param(archive(scores=SCORES, ids=np.array(IDS[:5])), ("ids", "(5,)"), id="too few ids"),
            pytest.param(archive(scores=SCORES, ids=np.array("p0")), ("ids", "()"), id="one id"),
            pytest.param(archive(scores=SCORES, ids=np.array(["p0"] * 6)), ("'p0'", "once"), id="duplicate"),
            pytest.param(
                archive(scores=SCORES, ids=np.array(IDS), labels=np.zeros((6, 2), int)), ("labels", "(6, 2)"), id="2-d"
            ),
            pytest.param(
                archive(scores=SCORES, ids=np.array(IDS), labels=np.zeros(6, int)), ("labels differ",), id="other"
            ),
        ],
    )
    def test_npz(self, refused_file, content, words):
        refused_file("second.npz", content, *words)

    @pytest.mark.parametrize("seed", range(25))
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("f.parquet", table(image=IDS, second=[[3, 4]] * 6)),
            ("f.npy", array(SCORES)[:140]),
            ("f.npz", archive(scores=SCORES, ids=np.array(IDS))),
        ],
    )
    def test_a_flipped_bit_is_reported_or_harmless(self, pets, tmp_path, name, content, seed):
        path = tmp_path / name
        path.write_bytes(flipped(content, seed))
        before = snapshot(pets)
        ran = run("import", "predictions", path, "--test-set", "pets", "-w", pets)
        if ran.code:
            assert_one_line(ran)
            assert snapshot(pets) == before

    def test_paths_that_cannot_be_read(self, refused, tmp_path):
        folder = tmp_path / "folder.csv"
        folder.mkdir()
        command = ("import", "predictions")
        refused((*command, folder, "-t", "pets"), "is a folder without Parquet or Arrow files")
        refused((*command, tmp_path / "none.csv", "-t", "pets"), "there is no file")
        refused((*command, tmp_path / ("x" * 300), "-t", "pets"), "File name too long")
        (tmp_path / "sheet.xlsx").write_bytes(b"PK")
        refused((*command, tmp_path / "sheet.xlsx", "-t", "pets"), "a table must have the extension .csv", "not .xlsx")

    def test_new_test_set_requires_classes_and_labels(self, refused, tmp_path):
        (tmp_path / "m.csv").write_text(wide())
        command = ("import", "predictions", tmp_path / "m.csv", "--test-set", "new")
        refused(command, "'new' is new", "--classes")
        refused((*command, "--classes", "cifar-10"), "no labels to create it from", "regrade testsets add new")
        refused((*command, "--classes", "cifar"), "unknown class space 'cifar'", "cifar-10")

    def test_other_content_under_the_same_name_is_rejected_with_advice(self, refused, tmp_path):
        (tmp_path / "m.csv").write_text(wide(*["ship"] * 6, model="first"))
        command = ("import", "predictions", tmp_path / "m.csv", "--test-set", "pets")
        refused(command, "other predictions of 'first'", "--model", "--prefix", "remove")

    def test_one_invalid_model_rejects_the_whole_file(self, refused, tmp_path):
        (tmp_path / "m.csv").write_text("image,a,b,first\n" + "".join(f"{i},cat,dog,ship\n" for i in IDS))
        refused(("import", "predictions", tmp_path / "m.csv", "--test-set", "pets"), "'first'")

    def test_rejected_import_does_not_store_its_class_space(self, refused, tmp_path):
        (tmp_path / "own.csv").write_text("id\na\nb\n")
        (tmp_path / "m.csv").write_text("image,label,m\nx,a,c\n")
        classes = ("--classes", tmp_path / "own.csv")
        refused(("import", "predictions", tmp_path / "m.csv", "--test-set", "own", *classes), "class id of own 'c'")
        (tmp_path / "t.csv").write_text("image,label\nx,c\n")
        refused(("testsets", "add", "own", tmp_path / "t.csv", *classes), "class id of own 'c'")


class TestLabels:
    @pytest.fixture
    def refused_labels(self, refused, tmp_path: Path) -> Callable[..., None]:
        def check(content: object, *words: str, form: str = "multilabel-v3", name: str = "multi") -> None:
            path = tmp_path / ("labels.csv" if isinstance(content, str) else "labels.json")
            path.write_text(content if isinstance(content, str) else json.dumps(content))
            refused(("import", "labels", path, "--format", form, "--test-set", "pets", "--name", name), *words)

        return check

    @pytest.mark.parametrize(
        ("lists", "words"),
        [
            pytest.param({"correct": ["cta"]}, ("'p0'", "'cta'", "did you mean cat?"), id="unknown id"),
            pytest.param({"correct": [10]}, ("'p0'", "class index 10", "0 to 9"), id="index outside"),
            pytest.param({"correct": [-1]}, ("'p0'", "class index -1"), id="negative index"),
            pytest.param({"correct": [True]}, ("'p0'", "True"), id="truth value"),
            pytest.param({"correct": [None]}, ("'p0'", "None"), id="nothing"),
            pytest.param({"correct": "cat"}, ("'p0'", "lists"), id="no list"),
            pytest.param(["cat"], ("'p0'", "lists named correct, unclear, wrong"), id="no object"),
        ],
    )
    def test_multilabel_annotations(self, refused_labels, lists, words):
        refused_labels({"initial_annots": {"p0": lists}}, *words)

    def test_multilabel_files_that_are_something_else(self, refused_labels):
        refused_labels([["cat"]], "a JSON object with initial_annots")
        refused_labels({"p0": ["cat"]}, "a JSON object with initial_annots")
        refused_labels({"initial_annots": {"other.jpg": {"correct": ["cat"]}}}, "no image of test set pets", "'p0'")
        shifted = {i: {"correct": [c]} for i, c in zip(IDS, (*LABELS[1:], "cat"), strict=True)}
        refused_labels({"initial_annots": shifted}, "only 0 of 6", "another test set or another order")

    def test_real_labels_of_another_set(self, refused_labels):
        refused_labels([[3]] * 50_000, "ILSVRC2012_val_", "'p0'", form="real")
        refused_labels([[3]] * 6, "50,000 lists", "6", form="real")
        refused_labels({"p0": [3]}, "a list of lists", form="real")
        refused_labels([3, 4], "a list of lists", form="real")

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param("image,class\np9,cat\n", ("'p9'", "not in test set pets"), id="stranger"),
            pytest.param("image,class\np0,cta\n", ("'cta'", "did you mean cat?"), id="unknown class"),
            pytest.param("image,foo\np0,cat\n", ("has no column with classes",), id="no classes"),
            pytest.param("image,class,state\np0,cat,right\n", ("'right'", "correct, unclear, wrong"), id="state"),
            pytest.param("image,class,state\np0,cat,\n", ("'state'", "empty"), id="empty state"),
            pytest.param(
                "image,class,state\np0,cat,correct\np0,cat,wrong\n",
                ("'p0'", "cat is both correct and wrong"),
                id="both",
            ),
            pytest.param({}, ("no image of test set pets",), id="nothing"),
            pytest.param({"p0": [{}]}, ("'p0'",), id="objects"),
            pytest.param([1], ("JSON object",), id="a list"),
        ],
    )
    def test_plain_labels(self, refused_labels, content, words):
        refused_labels(content, *words, form="plain")

    def test_names(self, refused_labels):
        good = "image,class\np0,cat\n"
        refused_labels(good, "'a@2'", "@", form="plain", name="a@2")
        refused_labels(good, "needs a name", form="plain", name=" ")

    @pytest.mark.parametrize("content", [b"{", b"\xff{}", b"[" * 200_000, b""])
    def test_files_that_are_not_json(self, refused, tmp_path, content):
        (tmp_path / "x.json").write_bytes(content)
        command = ("import", "labels", tmp_path / "x.json", "--format", "multilabel-v3", "-t", "pets", "--name", "x")
        refused(command, "x.json")

    def test_other_labels_under_the_same_name_are_rejected_with_advice(self, pets, refused, tmp_path):
        (tmp_path / "a.csv").write_text("image,class\np0,cat\n")
        (tmp_path / "b.csv").write_text("image,class\np0,dog\n")
        run_well("import", "labels", tmp_path / "a.csv", "-t", "pets", "--name", "l", "-w", pets)
        refused(("import", "labels", tmp_path / "b.csv", "-t", "pets", "--name", "l"), "l@1", "--new-version")


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("grade", "-t", "pest"), ("unknown test set 'pest'", "did you mean pets?")),
            (("grade", "-t", " "), ("a name must not be empty",)),
            (("grade", "-t", "pets\udcff"), ("not valid text",)),
            (("grade", "-t", "pets", "--model", "frist"), ("unknown model on pets 'frist'", "did you mean first?")),
            (("grade", "-t", "pets", "--model", "first", "--model", "first"), ("named twice",)),
            (("grade", "-t", "pets", "--labels", "real"), ("unknown label set of pets 'real'", "none yet")),
            (("grade", "-t", "pets", "--slice", "dogs"), ("unknown slice of pets 'dogs'", "dog")),
            (("grade", "-t", "pets", "--slice", "horse"), ("'horse'", "contains no images")),
            (("grade", "-t", "pets", "--slice", "region=Africa"), ("unknown group column of pets 'region'",)),
            (("grade", "-t", "pets", "--within", "imagenet-a"), ("unknown class id of cifar-10",)),
            (("grade", "-t", "pets", "--within", "cifar-1"), ("unknown class space", "cifar-10")),
            (("grade", "-t", "pets", "--map", "none.csv"), ("no model needs the class map none.csv",)),
            (("compare", "first", "-t", "pets"), ("at least two models",)),
            (("compare", "-t", "pets"), ("at least two models",)),
            (("compare", "first", "second", "-t", "pets"), ("unknown model on pets 'second'", "first")),
            (("labels", "novel", "-t", "pets", "-l", "real"), ("unknown label set",)),
            (("labels", "sample", "-t", "pets", "-l", "real", "--size", "3", "--out", "o.csv"), ("unknown label set",)),
            (("import", "verdicts", "none.csv", "-t", "pets", "-l", "real"), ("unknown label set",)),
        ],
    )
    def test_unknown_names_suggest_similar_ones(self, refused, arguments, words):
        refused(arguments, *words)

    @pytest.mark.parametrize(
        "arguments",
        [
            ("grade",),
            ("grade", "-t", "pets", "--json", "--csv"),
            ("grade", "-t", "pets", "--rule", "people"),
            ("grade", "-t", "pets", "--half-width", "small"),
            ("labels", "sample", "-t", "pets", "-l", "x", "--size", "1", "--out", "o.csv", "--seed", "-1"),
            ("import", "people"),
            ("grad",),
        ],
    )
    def test_wrong_usage_exits_with_2(self, pets, arguments):
        before = snapshot(pets)
        ran = run(*arguments, "-w", pets)
        assert ran.code == 2
        assert ran.out == ""
        assert "Traceback" not in ran.err and "Usage: regrade" in ran.err
        assert snapshot(pets) == before


def commands_below(command, path=()):
    """All commands with their names."""
    if not hasattr(command, "commands"):
        return [(path, command)]
    below = [(name, command.get_command(None, name)) for name in command.list_commands(None)]
    return [each for name, subcommand in below for each in commands_below(subcommand, (*path, name))]


def values_of_commands():
    """The arguments before every value of a command: options in each spelling, and positional arguments."""
    for path, command in commands_below(typer.main.get_command(app)):
        for parameter in command.params:
            if parameter.param_type_name == "argument":
                yield path
            elif not parameter.is_flag:
                yield from ((*path, spelling) for spelling in parameter.opts)


class TestEmptyValues:
    def test_every_command_rejects_an_empty_value(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        calls = [words for words in values_of_commands() if words[-1] not in ("--prefix", "--keep")]
        assert len(calls) > 200
        for words in calls:
            code = 3 if words[0] == "gate" else 1  # 1 is a verdict of gate
            message = f"the value after {words[-1]} is empty"
            assert_one_line(run(*words, ""), f"{message}: give a value, or omit the option", code=code)
            if words[-1].startswith("--"):
                assert_one_line(run(*words[:-1], f"{words[-1]}="), message, code=code)
        assert not any(tmp_path.iterdir())

    def test_empty_prefix_keeps_names(self, pets):
        assert (
            "there is no file none.csv"
            in run("import", "predictions", "none.csv", "-t", "pets", "--prefix", "", "-w", pets).err
        )


class TestWorkspaces:
    @pytest.mark.parametrize(
        ("config", "words"),
        [
            ("version = 99\nnew_key = 3", ("newer regrade", "layout 99", "upgrade")),
            ("version = ", ("regrade.toml", "not valid TOML")),
            (b"version = 3 # caf\xe9\n", ("regrade.toml is not UTF-8 text (line 1, byte 17)",)),
            ("version = 3\nconfidence = 0,95", ("regrade.toml is not valid TOML at line 2", "name = value")),
            (f"version = {'9' * 5000}", ("not valid TOML", "name = value")),
            ("", ("regrade.toml states no version", "version = 3")),
            ("version = 3\nconfidance = 0.9", ("regrade.toml", "'confidance'", "did you mean confidence?")),
            ("version = 3\nconfidence = 95", ("confidence must be a number between 0 and 1", "is '95'")),
            ("version = 3\nconfidence = nan", ("confidence must be a number between 0 and 1",)),
            ("version = 3\nconfidence = true", ("confidence must be a number between 0 and 1",)),
            ("version = 3\nledger = 3", ("ledger must be text in quotes",)),
            ('version = "3"', ("version must be a whole number from 1",)),
            ("version = true", ("version must be a whole number from 1",)),
            ("version = 0", ("version must be a whole number from 1",)),
            ("version = 1", ("older regrade", "layout 1", "regrade upgrade -w")),
            ("version = 2", ("older regrade", "layout 2", "regrade upgrade -w")),
        ],
    )
    def test_invalid_settings(self, refused, pets, config, words):
        (pets / "regrade.toml").write_bytes(config if isinstance(config, bytes) else config.encode())
        (pets.parent / "second.csv").write_text(wide())
        refused(("grade", "-t", "pets"), *words)
        refused(("import", "predictions", pets.parent / "second.csv", "-t", "pets"), *words)

    def test_folders_that_are_not_a_workspace(self, tmp_path):
        (tmp_path / "file").write_text("")
        for place in (tmp_path, tmp_path / "none", tmp_path / "file", tmp_path / "file" / "below"):
            assert_one_line(run("grade", "-t", "pets", "-w", place), "not a workspace", "regrade init")
        assert_one_line(run("grade", "-t", "pets", "-w", tmp_path / ("x" * 300)), "File name too long")

    def test_a_forgotten_workspace_is_named(self, pets, monkeypatch):
        monkeypatch.chdir(pets.parent)
        for given in ((), ("-w", "ptes")):
            assert_one_line(run("grade", "-t", "pets", *given), f"name one with -w: {pets.name}; or create")

    def test_init_rejects_invalid_folders(self, pets, tmp_path):
        (tmp_path / "file").write_text("")
        before = snapshot(tmp_path)
        assert_one_line(run("init", pets), "is a workspace already")
        assert_one_line(run("init", tmp_path / "file"), "a workspace is a folder")
        assert_one_line(run("init", tmp_path / "file" / "below"), "Not a directory")
        assert snapshot(tmp_path) == before

    def test_init_keeps_other_files(self, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        run_well("init", tmp_path)
        assert (tmp_path / "notes.txt").read_text() == "mine"
        assert "version = 3" in (tmp_path / "regrade.toml").read_text()

    @pytest.mark.parametrize(
        "damaged",
        [
            "testsets/pets.parquet",
            "predictions/pets/first/manifest.json",
            "predictions/pets/first/topk.parquet",
        ],
    )
    @pytest.mark.parametrize("content", [b"", b"{}", b"garbage"])
    def test_damaged_workspace_error_names_the_file(self, pets, refused, damaged, content):
        (pets / damaged).write_bytes(content)
        refused(("grade", "-t", "pets"), Path(damaged).name, "is damaged")

    def test_missing_or_truncated_full_scores(self, pets, refused, tmp_path):
        (tmp_path / "scored.npy").write_bytes(array(SCORES))
        run_well("import", "predictions", tmp_path / "scored.npy", "-t", "pets", "-w", pets)
        scores = pets / "predictions" / "pets" / "scored" / "scores.npy"
        scores.write_bytes(scores.read_bytes()[:-8])
        refused(("grade", "-t", "pets"), "scored", "damaged")
        scores.unlink()
        refused(("grade", "-t", "pets"), "scored", "damaged")

    def test_foreign_file_among_the_labels_is_ignored(self, pets):
        (pets / "labels" / "pets").mkdir(parents=True)
        (pets / "labels" / "pets" / "notes.parquet").write_text("mine")
        assert run_well("labels", "list", "-w", pets, "--csv").out.count("\n") == 1
