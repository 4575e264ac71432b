"""The same predictions in every file format are stored as the same bytes."""

import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import regrade
from regrade.classes import class_space
from regrade.core import FormatError, InputError, Predictions
from regrade.tables import Columns, Reading
from regrade.workspace import Workspace

SPACE = class_space("cifar-10")
IDS = [f"{i:04d}.png" for i in range(12)]
LABELS = np.arange(12) % 10
BEST = np.array([np.random.default_rng(i).permutation(10)[:3] for i in range(12)])
NAMED = [[SPACE.ids[c] for c in row] for row in BEST]
LABEL_IDS = [SPACE.ids[c] for c in LABELS]
SHUFFLED = np.random.default_rng(1).permutation(12)


def of_rows(values: list, rows: np.ndarray) -> list:
    return [values[i] for i in rows]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = regrade.init(tmp_path / "W")
    write_csv(tmp_path / "set.csv", [("image", "label"), *zip(IDS, LABEL_IDS, strict=True)])
    workspace.testsets.add("set", tmp_path / "set.csv", classes="cifar-10")
    return workspace


def stored(workspace: Workspace, model: str = "m") -> Predictions:
    return workspace.store.predictions.read(workspace.store.test_set("set"), model)


def digest(workspace: Workspace, model: str = "m") -> str:
    manifest = workspace.store.root / "predictions" / "set" / model / "manifest.json"
    return json.loads(manifest.read_text())["digest"]


def write_csv(path: Path, rows: list[tuple], separator: str = ",") -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(rows)


def write_parquet(path: Path, /, **columns: object) -> None:
    pq.write_table(pa.table(columns), path)


def lists_in_text(mark: str, values: list) -> list[str]:
    return [mark.join(str(v) for v in row) for row in values]


Write = Callable[[Path, np.ndarray], None]


def as_text(mark: str, values: list, separator: str = ",") -> Write:
    """Lists as text such as ``3 17 4`` in CSV or TSV."""

    def write(path: Path, rows: np.ndarray) -> None:
        cells = lists_in_text(mark, of_rows(values, rows))
        write_csv(path, [("image", "m"), *zip(of_rows(IDS, rows), cells, strict=True)], separator)

    return write


def as_arrow(values: list, kind: pa.DataType, ids: pa.DataType | None = None) -> Write:
    """Lists of some Arrow type in Parquet."""

    def write(path: Path, rows: np.ndarray) -> None:
        names = of_rows([i.encode() for i in IDS] if ids == pa.binary() else IDS, rows)
        write_parquet(path, image=pa.array(names, ids), m=pa.array(of_rows(values, rows), kind))

    return write


def as_json_lines(path: Path, rows: np.ndarray) -> None:
    path.write_text("\n".join(json.dumps({"image": IDS[i], "m": NAMED[i]}) for i in rows) + "\n")


INDICES = BEST.tolist()
TEXT = pa.dictionary(pa.int32(), pa.string())
WIDE: dict[str, tuple[str, Write]] = {
    "csv of ids": ("csv", as_text(" ", NAMED)),
    "csv of ids, semicolons": ("csv", as_text(";", NAMED)),
    "csv of indices": ("csv", as_text(" ", INDICES)),
    "csv of indices, bars": ("csv", as_text("|", INDICES)),
    "csv of floats": ("csv", as_text(" ", BEST.astype(float).tolist())),
    "csv, upper-case ending": ("CSV", as_text(" ", NAMED)),
    "tsv": ("tsv", as_text(" ", NAMED, "\t")),
    "json lines": ("jsonl", as_json_lines),
    "lists": ("parquet", as_arrow(INDICES, pa.list_(pa.int64()))),
    "lists of ids": ("parquet", as_arrow(NAMED, pa.list_(pa.string()))),
    "large lists": ("parquet", as_arrow(NAMED, pa.large_list(pa.large_string()))),
    "fixed-size lists": ("parquet", as_arrow(INDICES, pa.list_(pa.uint8(), 3))),
    "floats": ("parquet", as_arrow(INDICES, pa.list_(pa.float32()))),
    "dictionaries in lists": ("parquet", as_arrow(NAMED, pa.list_(TEXT))),
    "dictionary ids": ("parquet", as_arrow(INDICES, pa.list_(pa.int16()), TEXT)),
    "large string ids": ("parquet", as_arrow(INDICES, pa.list_(pa.int16()), pa.large_string())),
    "string view ids": ("parquet", as_arrow(INDICES, pa.list_(pa.int16()), pa.string_view())),
    "binary ids": ("parquet", as_arrow(INDICES, pa.list_(pa.int16()), pa.binary())),
}


class TestFormats:
    @pytest.mark.parametrize("form", WIDE)
    @pytest.mark.parametrize("rows", [np.arange(12), SHUFFLED], ids=["in order", "shuffled"])
    def test_one_model_per_column_is_read(self, workspace, tmp_path, form, rows):
        ending, write = WIDE[form]
        write(tmp_path / f"file.{ending}", rows)
        done = workspace.models.import_predictions(tmp_path / f"file.{ending}", test_set="set")
        assert done.models.new == ("m",)
        assert np.array_equal(stored(workspace).classes, BEST)
        reference = Predictions("m", "set", "cifar-10", BEST)
        assert digest(workspace) == reference.digest == stored(workspace).digest

    def test_stored_bytes_are_the_same_for_every_format(self, tmp_path):
        content = []
        for number, (ending, write) in enumerate(WIDE.values()):
            workspace = regrade.init(tmp_path / str(number))
            write_csv(tmp_path / "set.csv", [("image", "label"), *zip(IDS, LABEL_IDS, strict=True)])
            workspace.testsets.add("set", tmp_path / "set.csv", classes="cifar-10")
            write(tmp_path / f"f.{ending}", SHUFFLED)
            workspace.models.import_predictions(tmp_path / f"f.{ending}", test_set="set")
            content.append((tmp_path / str(number) / "predictions" / "set" / "m" / "topk.parquet").read_bytes())
        assert len(set(content)) == 1

    @pytest.mark.parametrize(
        ("name", "columns"),
        [
            ("one list", {"prediction": NAMED}),
            ("numbered", {"top1": BEST[:, 0], "top2": BEST[:, 1], "top3": BEST[:, 2]}),
            ("numbered, out of order", {"pred_3": BEST[:, 2], "pred_1": BEST[:, 0], "pred_2": BEST[:, 1]}),
            ("the only column", {"whatever": NAMED}),
        ],
    )
    def test_one_model_per_file_is_read(self, workspace, tmp_path, name, columns):
        write_parquet(tmp_path / "f.parquet", image=IDS, label=LABEL_IDS, **columns)
        workspace.models.import_predictions(tmp_path / "f.parquet", test_set="set", model="m")
        assert np.array_equal(stored(workspace).classes, BEST), name

    def test_top5_column_is_the_fifth_class_or_a_list_of_five(self, workspace, tmp_path):
        best = np.column_stack([BEST, [[c for c in range(10) if c not in row][:2] for row in BEST]])
        ranked = {f"top{rank + 1}": best[:, rank] for rank in range(5)}
        both = {"top1": best[:, 0], "top5": list(best)}
        for model, columns in (("ranked", ranked), ("list", {"top5": list(best)}), ("both", both)):
            write_parquet(tmp_path / "f.parquet", image=IDS, **columns)
            workspace.models.import_predictions(tmp_path / "f.parquet", test_set="set", model=model)
            assert np.array_equal(stored(workspace, model).classes, best), model

    @pytest.mark.parametrize(
        ("names", "missing"),
        [
            (("top2", "top3"), "the columns top2, top3 number the best classes, and top1 is missing"),
            (("pred_3", "pred_4", "pred_5"), "number the best classes, and pred_1 is missing"),
            (("top1", "top3"), "the columns top1, top3 number the best classes, and top2 is missing"),
            (("Top2",), "the column Top2 has one class per row, and the column Top1 with the best class is missing"),
        ],
    )
    def test_numbered_columns_without_the_best_class_raise(self, workspace, tmp_path, names, missing):
        columns = {name: BEST[:, place % 3] for place, name in enumerate(names)}
        write_parquet(tmp_path / "f.parquet", image=IDS, **columns)
        with pytest.raises(FormatError, match=missing):
            workspace.models.import_predictions(tmp_path / "f.parquet", test_set="set", model="m")

    @pytest.mark.parametrize("names", [("top0", "top1", "top2"), ("top1", "top2", "top3"), ("top3",)])
    def test_numbered_columns_start_at_0_or_1_or_are_one_list(self, workspace, tmp_path, names):
        columns = {name: BEST[:, place] for place, name in enumerate(names)} if len(names) > 1 else {"top3": NAMED}
        write_parquet(tmp_path / "f.parquet", image=IDS, **columns)
        workspace.models.import_predictions(tmp_path / "f.parquet", test_set="set", model="m")
        assert np.array_equal(stored(workspace).classes, BEST)

    @pytest.mark.parametrize("kind", ["int8", "<i8", ">i4", "uint16"])
    def test_arrays_of_indices_are_read(self, workspace, tmp_path, kind):
        np.save(tmp_path / "m.npy", BEST.astype(kind))
        np.savez(tmp_path / "z.npz", classes=BEST[SHUFFLED].astype(kind), ids=np.array(IDS)[SHUFFLED])
        for file in ("m.npy", "z.npz"):
            workspace.models.import_predictions(tmp_path / file, test_set="set")
        assert np.array_equal(stored(workspace).classes, BEST)
        assert digest(workspace) == digest(workspace, "z")

    def test_array_of_best_classes_is_read(self, workspace, tmp_path):
        np.save(tmp_path / "m.npy", BEST[:, 0])
        workspace.models.import_predictions(tmp_path / "m.npy", test_set="set")
        assert stored(workspace).classes.shape == (12, 1)
        (row,) = workspace.grade("set").rows
        assert row.top5 is None

    def test_ids_as_bytes_in_an_archive_are_read(self, workspace, tmp_path):
        np.savez_compressed(tmp_path / "m.npz", topk=BEST[SHUFFLED], image=np.array(IDS, dtype="S")[SHUFFLED])
        workspace.models.import_predictions(tmp_path / "m.npz", test_set="set")
        assert np.array_equal(stored(workspace).classes, BEST)

    def test_import_creates_the_test_set_from_the_file(self, workspace, tmp_path):
        np.savez(tmp_path / "m.npz", classes=BEST, ids=np.array(IDS), labels=LABELS)
        done = workspace.models.import_predictions(tmp_path / "m.npz", test_set="copy", classes="cifar-10")
        assert done.new_test_set
        assert done.test_set.digest == workspace.store.test_set("set").digest

    def test_columns_of_ids_labels_and_groups_are_not_models(self, workspace, tmp_path):
        """Row numbers, paths and second label columns come with many files."""
        write_parquet(
            tmp_path / "f.parquet", index=range(12), image=IDS, wnid=LABEL_IDS, target=LABELS, m=NAMED, path=IDS
        )
        write_csv(tmp_path / "f.csv", [("", "image", "n"), *zip(range(12), IDS, LABEL_IDS, strict=True)])
        assert workspace.models.import_predictions(tmp_path / "f.parquet", test_set="set").models.new == ("m",)
        assert workspace.models.import_predictions(tmp_path / "f.csv", test_set="set").models.new == ("n",)


class TestIds:
    @pytest.mark.parametrize(
        "ids", [["007", "7", "07"], ["1e5", "100000", "1E5"], ["NA", "null", "nan"], ["true", "True", "1"]]
    )
    def test_ids_that_look_like_numbers_stay_text(self, tmp_path, ids):
        workspace = regrade.init(tmp_path / "W")
        write_csv(tmp_path / "f.csv", [("image", "label", "m"), *((i, "cat", "dog") for i in ids)])
        done = workspace.models.import_predictions(tmp_path / "f.csv", test_set="set", classes="cifar-10")
        assert done.test_set.ids == tuple(ids)
        write_parquet(tmp_path / "f.parquet", image=ids[::-1], n=["cat"] * 3)
        assert workspace.models.import_predictions(tmp_path / "f.parquet", test_set="set").models.new == ("n",)

    def test_integers_can_be_ids(self, tmp_path):
        workspace = regrade.init(tmp_path / "W")
        write_csv(tmp_path / "f.csv", [("id", "label", "m"), *((i, 3, 4) for i in (10, 2, 30))])
        done = workspace.models.import_predictions(tmp_path / "f.csv", test_set="set", classes="cifar-10")
        assert done.test_set.ids == ("10", "2", "30")
        np.savez(tmp_path / "n.npz", ids=np.array([30, 10, 2]), classes=np.array([1, 2, 3]))
        workspace.models.import_predictions(tmp_path / "n.npz", test_set="set")
        assert stored(workspace, "n").top1.tolist() == [2, 3, 1]

    def test_line_separators_within_values_are_kept(self, tmp_path):
        workspace = regrade.init(tmp_path / "W")
        row = {"image": "a\u2028b\x85c", "label": "cat", "m": "dog"}
        (tmp_path / "f.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
        done = workspace.models.import_predictions(tmp_path / "f.jsonl", test_set="set", classes="cifar-10")
        assert done.test_set.ids == (row["image"],)

    def test_id_and_label_columns_can_be_named(self, tmp_path):
        workspace = regrade.init(tmp_path / "W")
        write_csv(tmp_path / "f.csv", [("image", "truth", "m"), ("a", "cat", "cat"), ("b", "dog", "cat")])
        columns = Columns(id="image", label="truth")
        workspace.models.import_predictions(tmp_path / "f.csv", test_set="set", classes="cifar-10", columns=columns)
        assert workspace.grade("set").rows[0].top1.value == 0.5


class TestScores:
    SCORES = np.random.default_rng(5).normal(size=(12, 10)).astype(np.float32)

    @pytest.mark.parametrize("form", ["npy", "npz", "parquet", "large parquet", "jsonl", "csv a class", "csv a list"])
    def test_scores_are_read_from_every_format(self, workspace, tmp_path, form):
        scores = self.SCORES
        path = tmp_path / f"m.{form.split()[-1] if form.endswith('parquet') else form.split()[0]}"
        match form:
            case "npy":
                np.save(path, scores)
            case "npz":
                np.savez(path, logits=scores[SHUFFLED], images=np.array(IDS)[SHUFFLED])
            case "parquet":
                write_parquet(path, image=IDS, scores=scores.tolist())
            case "large parquet":
                write_parquet(path, image=IDS, scores=pa.array(list(scores), pa.large_list(pa.float32())))
            case "jsonl":
                rows = zip(IDS, scores.tolist(), strict=True)
                path.write_text("\n".join(json.dumps({"image": i, "logits": row}) for i, row in rows))
            case "csv a class":
                rows = zip(IDS, scores[:, ::-1].tolist(), strict=True)
                write_csv(path, [("image", *SPACE.ids[::-1]), *((i, *row) for i, row in rows)])
            case "csv a list":
                write_csv(path, [("image", "scores"), *zip(IDS, lists_in_text(" ", scores.tolist()), strict=True)])
        workspace.models.import_predictions(path, test_set="set", model="m")
        predictions = stored(workspace)
        assert np.array_equal(predictions.classes, np.argsort(-scores, axis=1, kind="stable")[:, :5])
        assert predictions.full_scores.dtype == np.float16
        assert np.array_equal(predictions.full_scores, scores.astype(np.float16))
        assert predictions.score_kind.value == "logits"

    def test_best_classes_are_taken_before_rounding(self, workspace, tmp_path):
        """Half precision has no number between 10 and 10.0078, so the order of these two is lost in it."""
        scores = np.zeros((12, 10), dtype=np.float32)
        scores[:, 2], scores[:, 7] = 10.0, 10.001
        assert np.float16(10.001) == np.float16(10.0)
        np.save(tmp_path / "m.npy", scores)
        workspace.models.import_predictions(tmp_path / "m.npy", test_set="set")
        assert stored(workspace).classes[:, :2].tolist() == [[7, 2]] * 12
        assert (stored(workspace).full_scores[:, 2] == stored(workspace).full_scores[:, 7]).all()

    def test_ties_are_broken_by_the_lower_class_as_the_manifest_states(self, workspace, tmp_path):
        np.save(tmp_path / "m.npy", np.full((12, 10), 0.1))
        workspace.models.import_predictions(tmp_path / "m.npy", test_set="set")
        assert stored(workspace).classes.tolist() == [[0, 1, 2, 3, 4]] * 12
        manifest = json.loads((workspace.store.root / "predictions" / "set" / "m" / "manifest.json").read_text())
        assert manifest["ties"] == "ties go to the lower class index"
        assert manifest["score_kind"] == "probabilities"
        assert "half precision" in manifest["precision"]

    def test_ties_across_the_last_stored_place_are_noted(self, workspace, tmp_path):
        """Of 12 images, 7 have one-hot scores; ties within the best five, as in the last image, do not matter."""
        scores = self.SCORES.copy()
        scores[:7] = np.eye(10, dtype=np.float32)[:7]
        scores[11, :3] = 20
        np.save(tmp_path / "m.npy", scores)
        done = workspace.models.import_predictions(tmp_path / "m.npy", test_set="set")
        note = "7 images of 12 have ties across place 5: top-5 accuracy is the expected value under random tie-breaking"
        assert note in done.notes

    def test_scores_of_the_best_classes_are_read(self, workspace, tmp_path):
        scores = np.sort(np.random.default_rng(0).random((12, 3)), axis=1)[:, ::-1] / 3
        write_parquet(tmp_path / "m.parquet", image=IDS, topk=BEST.tolist(), scores=scores.tolist())
        workspace.models.import_predictions(tmp_path / "m.parquet", test_set="set", model="m")
        predictions = stored(workspace)
        assert np.array_equal(predictions.classes, BEST)
        assert np.array_equal(predictions.scores, scores.astype(np.float32))
        assert predictions.full_scores is None
        assert predictions.score_kind.value == "probabilities"

    @pytest.mark.parametrize("score", [1e300, -1e300])
    def test_import_refuses_scores_too_large_for_single_precision(self, workspace, tmp_path, score):
        scores = np.tile([3.0, 2.0, 1.0], (12, 1))
        scores[7] = sorted([score, 1.0, 0.5], reverse=True)
        write_parquet(tmp_path / "m.parquet", image=IDS, classes=NAMED, scores=scores.tolist())
        with pytest.raises(InputError, match="row 8: a score of 'scores' is larger than single precision can hold"):
            workspace.models.import_predictions(tmp_path / "m.parquet", test_set="set", model="m")
        assert workspace.models.names("set") == ()

    def test_add_predictions_accepts_lists(self, workspace):
        workspace.models.add_predictions("m", self.SCORES.tolist(), test_set="set")
        assert np.array_equal(stored(workspace).top1, self.SCORES.argmax(axis=1))
        with pytest.raises(regrade.RegradeError, match="11 rows"):
            workspace.models.add_predictions("n", self.SCORES[:11], test_set="set")


class TestClassNumbers:
    @pytest.fixture
    def numbered(self, tmp_path) -> Workspace:
        """Class ids that are numbers other than their indices."""
        workspace = regrade.init(tmp_path / "W")
        (tmp_path / "years.csv").write_text("id\n1\n2\n3\n")
        (tmp_path / "set.csv").write_text("image,label\na,1\nb,2\nc,3\n")
        columns = Columns(reading=Reading.IDS)
        workspace.testsets.add("set", tmp_path / "set.csv", classes=tmp_path / "years.csv", columns=columns)
        return workspace

    def test_ambiguous_class_numbers_raise(self, numbered, tmp_path):
        (tmp_path / "m.csv").write_text("image,m\na,1\nb,2\nc,2\n")
        with pytest.raises(regrade.RegradeError, match="--class-numbers ids or --class-numbers indices"):
            numbered.models.import_predictions(tmp_path / "m.csv", test_set="set")

    def test_class_numbers_are_read_as_stated(self, numbered, tmp_path):
        (tmp_path / "m.csv").write_text("image,m\na,1\nb,2\nc,2\n")
        for prefix, reading, expected in (("ids-", Reading.IDS, [0, 1, 1]), ("at-", Reading.INDICES, [1, 2, 2])):
            columns = Columns(reading=reading)
            numbered.models.import_predictions(tmp_path / "m.csv", test_set="set", prefix=prefix, columns=columns)
            assert stored(numbered, f"{prefix}m").top1.tolist() == expected

    def test_class_ids_keep_leading_zeros(self, tmp_path):
        workspace = regrade.init(tmp_path / "W")
        (tmp_path / "padded.csv").write_text("id\n001\n002\n010\n")
        (tmp_path / "m.csv").write_text("image,label,m\na,001,010\nb,010,010\n")
        workspace.models.import_predictions(tmp_path / "m.csv", test_set="set", classes=tmp_path / "padded.csv")
        assert stored(workspace).top1.tolist() == [2, 2]

    def test_class_ids_equal_to_their_indices_are_unambiguous(self, tmp_path):
        workspace = regrade.init(tmp_path / "W")
        (tmp_path / "m.csv").write_text("image,label,m\na,7,7\nb,0,1\n")
        workspace.models.import_predictions(tmp_path / "m.csv", test_set="set", classes="digits")
        assert stored(workspace).top1.tolist() == [7, 1]


def test_import_is_idempotent_and_rejects_other_content(workspace, tmp_path):
    write_parquet(tmp_path / "a.parquet", image=IDS, m=BEST.tolist())
    write_parquet(tmp_path / "b.parquet", image=IDS, m=BEST[:, ::-1].tolist())
    workspace.models.import_predictions(tmp_path / "a.parquet", test_set="set")
    again = workspace.models.import_predictions(tmp_path / "a.parquet", test_set="set")
    assert (again.models.new, again.models.unchanged) == ((), ("m",))
    with pytest.raises(regrade.RegradeError, match="--prefix"):
        workspace.models.import_predictions(tmp_path / "b.parquet", test_set="set")
    workspace.models.import_predictions(tmp_path / "b.parquet", test_set="set", prefix="other-")
    assert workspace.models.names("set") == ("m", "other-m")


def test_manifest_contains_name_and_hash_of_the_file(workspace, tmp_path):
    write_parquet(tmp_path / "a.parquet", image=IDS, m=BEST.tolist())
    workspace.models.import_predictions(tmp_path / "a.parquet", test_set="set")
    manifest = json.loads((workspace.store.root / "predictions" / "set" / "m" / "manifest.json").read_text())
    content = (tmp_path / "a.parquet").read_bytes()
    assert manifest["source"] == {"file": "a.parquet", "sha256": hashlib.sha256(content).hexdigest()}
