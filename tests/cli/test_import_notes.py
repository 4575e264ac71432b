"""Imports print notes about skipped and interpreted content, also in JSON."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pets import IDS, LABELS, wide
from running import assert_one_line, run, run_well, snapshot

CIFAR = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SCORES = np.random.default_rng(0).dirichlet(np.ones(10), 6)


@pytest.fixture
def imported(pets: Path, tmp_path: Path):
    """Import a file; return the printed lines and the JSON data, which contain the same notes."""

    def of(kind: str, name: str, content: str | bytes, *options: str) -> tuple[list[str], dict]:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        ran = run_well("import", kind, tmp_path / name, "-t", "pets", *options, "--json", "-w", pets)
        data = json.loads(ran.out)
        notes = [line.removeprefix("note: ") for line in ran.err.splitlines() if line.startswith("note: ")]
        assert notes == [note.replace("\n", "\\n") for note in data["notes"]]
        return ran.err.splitlines(), data

    return of


@pytest.fixture
def refused(pets: Path, tmp_path: Path):
    def check(kind: str, name: str, content: str | bytes, options: tuple[str, ...], *words: str) -> None:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        before = snapshot(pets)
        assert_one_line(run("import", kind, tmp_path / name, "-t", "pets", *options, "-w", pets), *words)
        assert snapshot(pets) == before

    return check


def table(header: tuple[str, ...], *columns) -> str:
    return "\n".join(",".join(map(str, row)) for row in (header, *zip(*columns, strict=True))) + "\n"


def parquet(path: Path, **columns) -> bytes:
    pq.write_table(pa.table(columns), path)
    return path.read_bytes()


class TestPredictions:
    @pytest.mark.parametrize("options", [(), ("--model", "m")])
    @pytest.mark.parametrize(
        ("columns", "intended"),
        [(["predicton"], "prediction"), (["Predicion"], "prediction"), (["prediction", "lable"], "label")],
    )
    def test_predictions_reject_a_misspelled_column(self, refused, options, columns, intended):
        content = table(("image", *columns), IDS, *[LABELS for _ in columns])
        refused("predictions", "a.csv", content, options, repr(columns[-1]), f"did you mean {intended}?")

    @pytest.mark.parametrize("name", ["prediction_vit", "label-smoothing", "resnet50", "vit"])
    def test_predictions_accept_other_column_names_as_models(self, imported, name):
        assert imported("predictions", "a.csv", table(("image", name), IDS, LABELS))[1]["imported"] == [name]

    def test_import_prints_what_it_kept(self, imported):
        lines, data = imported("predictions", "a.csv", wide())
        assert lines == ["on pets: models imported: 1 (second), unchanged: 0; per image: best 1 of 10 classes"]
        assert data == {
            "test_set": "pets",
            "new_test_set": False,
            "examples": 6,
            "imported": ["second"],
            "unchanged": [],
            "kept": {"second": "best 1 of 10 classes"},
            "notes": [],
        }

    def test_import_notes_ignored_columns(self, imported):
        content = table(("image", "prediction", "split", "width"), IDS, LABELS, "aabbcc", range(6))
        assert imported("predictions", "a.csv", content, "--model", "m")[1]["notes"] == [
            "ignored the columns split, width"
        ]

    def test_import_notes_columns_besides_the_scores(self, imported):
        content = table(("image", *CIFAR, "loss"), IDS, *SCORES.T, SCORES[:, 0] + 2)
        _, data = imported("predictions", "a.csv", content, "--model", "m")
        assert data["notes"] == ["ignored the column loss"]
        assert data["kept"] == {"m": "scores of all 10 classes (probabilities)"}

    def test_import_rejects_scores_of_unknown_classes(self, refused):
        scores = np.random.default_rng(1).dirichlet(np.ones(11), 6)
        content = table(("image", *CIFAR, "background"), IDS, *scores.T)
        refused(
            "predictions", "a.csv", content, ("--model", "m"), "sum to 1 only with the columns background", "--classes"
        )

    def test_import_rejects_scores_with_a_missing_class(self, refused):
        content = table(("image", *CIFAR[1:]), IDS, *SCORES[:, 1:].T)
        refused("predictions", "a.csv", content, ("--model", "m"), "every class of cifar-10", "'airplane' has none")

    def test_import_rejects_probabilities_above_1(self, refused, tmp_path):
        lists = (SCORES * 1.5).tolist()
        content = parquet(tmp_path / "b.parquet", image=IDS, probabilities=lists)
        refused("predictions", "a.parquet", content, ("--model", "m"), "said to be probabilities", "row 1 sum to 1.5")
        refused(
            "predictions", "a.csv", table(("image", *CIFAR), IDS, *(SCORES * 100).T), ("--model", "m"), "percentages"
        )

    def test_import_notes_scores_read_as_logits(self, imported):
        content = table(("image", *CIFAR), IDS, *(SCORES * 0.5).T)
        (note,) = imported("predictions", "a.csv", content, "--model", "m")[1]["notes"]
        assert "taken as logits: rows sum to 0.5 to 0.5, not to 1" in note

    @pytest.mark.parametrize(
        ("score", "words"),
        [("3.5", "of 'score' are taken as logits: those of row 1 sum to 3.5"), ("-1", "are below 0")],
    )
    def test_import_notes_top_scores_read_as_logits(self, imported, score, words):
        content = table(("image", "prediction", "score"), IDS, LABELS, [score] * 6)
        (note,) = imported("predictions", "a.csv", content, "--model", "m")[1]["notes"]
        assert words in note

    def test_import_notes_logits_read_as_probabilities(self, imported):
        content = table(("image", "prediction", "logits"), IDS, LABELS, ["0.5"] * 6)
        (note,) = imported("predictions", "a.csv", content, "--model", "m")[1]["notes"]
        assert "of 'logits' are said to be logits, and taken as probabilities" in note

    def test_import_has_no_note_for_top_scores_named_logits(self, imported):
        content = table(("image", "prediction", "logits"), IDS, LABELS, ["3.5"] * 6)
        assert imported("predictions", "a.csv", content, "--model", "m")[1]["notes"] == []

    def test_import_rejects_a_gap_among_numbered_classes(self, refused):
        content = table(("image", "top1", "top3"), IDS, LABELS, ["truck"] * 6)
        refused("predictions", "a.csv", content, ("--model", "m"), "top1, top3", "2 is missing")

    def test_import_finds_usual_columns_in_any_case(self, imported):
        content = table(("Image", "Prediction", "Score"), IDS, LABELS, ["0.5"] * 6)
        _, data = imported("predictions", "a.csv", content, "--model", "m")
        assert data["kept"] == {"m": "best 1 of 10 classes with scores (probabilities)"}

    def test_import_ignores_row_numbers(self, imported):
        content = table(("Unnamed: 0", "image", "second"), range(6), IDS, LABELS)
        _, data = imported("predictions", "a.csv", content)
        assert (data["imported"], data["notes"]) == (["second"], ["ignored the column Unnamed: 0"])

    def test_import_notes_unused_arrays(self, imported, tmp_path):
        np.savez(tmp_path / "b.npz", scores=SCORES, ids=np.array(IDS), time=np.arange(3))
        assert imported("predictions", "a.npz", (tmp_path / "b.npz").read_bytes())[1]["notes"] == [
            "ignored the array time"
        ]

    def test_import_compares_labels_without_ids_in_order(self, imported, refused, tmp_path):
        np.savez(tmp_path / "b.npz", scores=SCORES, labels=np.array(LABELS[::-1]))
        refused("predictions", "a.npz", (tmp_path / "b.npz").read_bytes(), (), "labels differ")
        np.savez(tmp_path / "b.npz", scores=SCORES, labels=np.array(LABELS))
        assert imported("predictions", "c.npz", (tmp_path / "b.npz").read_bytes())[1]["notes"] == [
            "there are no ids: rows are taken in the order of the test set"
        ]

    def test_import_rejects_two_id_columns(self, refused):
        content = table(("image", "id", "second"), IDS, range(6), LABELS)
        refused(
            "predictions",
            "a.csv",
            content,
            (),
            "could be in any of the columns image and id",
            "--id-column",
        )


class TestNamesFromFiles:
    def test_line_breaks_in_names_are_escaped(self, imported, refused, tmp_path):
        content = parquet(tmp_path / "b.parquet", image=IDS, prediction=LABELS, **{"a\nb": LABELS})
        lines, data = imported("predictions", "a.parquet", content, "--model", "m")
        assert lines[1] == "note: ignored the column a\\nb"
        assert data["notes"] == ["ignored the column a\nb"]
        np.savez(tmp_path / "b.npz", **{"a\nb": SCORES, "c": SCORES})
        refused(
            "predictions",
            "a.npz",
            (tmp_path / "b.npz").read_bytes(),
            (),
            "a score per class, a\\nb, c: import one model at a time",
        )


class TestOtherImports:
    def test_labels_print_counts_by_state(self, imported):
        content = "image,class,state\np0,cat,correct\np0,dog,wrong\np0,dog,wrong\np1,dog,unclear\n"
        lines, data = imported("labels", "a.csv", content, "--name", "own")
        assert lines[0] == (
            "imported own@1 for pets: 2 images, 3 judgments (1 correct, 1 unclear, 1 wrong), 0 problematic images"
        )
        assert data["judgments"] == {"correct": 1, "unclear": 1, "wrong": 1}
        assert data["notes"] == ["1 judgment repeated and counted once"]

    def test_slices_note_ignored_columns(self, imported):
        _, data = imported("slices", "a.csv", "image,why\np1,blur\n", "--name", "x", "--format", "list")
        assert (data["subsets"], data["notes"]) == ({"x": 1}, ["ignored the column why"])

    def test_people_note_incomplete_times_and_ignored_columns(self, imported):
        rows = "Ann,p0,cat,1,2,a\nAnn,p1,dog,,5,b\nAnn,p2,,3,4,c\n"
        lines, data = imported("people", "a.csv", "person,image,class,start,end,mood\n" + rows)
        assert lines[0].endswith("person:Ann (3 images); times of 2 answers")
        assert data["notes"] == [
            "ignored the column mood",
            "1 answer without a class: no answer, which counts as wrong",
            "1 answer with a start or an end only: how long they took is not known",
        ]

    @pytest.mark.parametrize("column", ["start_time", "strat", "persn"])
    def test_people_reject_a_misspelled_column(self, refused, column):
        refused("people", "a.csv", f"image,class,{column}\np0,cat,1\n", ("--name", "Ann"), column, "did you mean")

    @pytest.mark.parametrize("key", ["extra_inf", "Extra_info"])
    def test_people_reject_a_misspelled_key(self, refused, key):
        content = json.dumps({"p0": {"label": "cat", key: {"start_time": 1, "end_time": 2}}})
        refused("people", "a.json", content, ("--name", "Ann", "--format", "shankar2020"), key, "extra_info")

    @pytest.mark.parametrize("value", ["1e308", "-5", "99999-01-01T00:00:00", "1576749626000", "nan"])
    def test_people_reject_invalid_times(self, refused, value):
        content = f"person,image,class,start,end\nAnn,p0,cat,{value},{value}\n"
        refused("people", "a.csv", content, (), "Ann, image 'p0'", "is not a time")

    @pytest.mark.parametrize(
        "start",
        [
            pa.array([10**18], pa.int64()).cast(pa.timestamp("ns")),
            pa.array([3 * 10**12], pa.int64()).cast(pa.timestamp("s")),
        ],
    )
    def test_people_times_of_any_clock_in_parquet(self, pets, tmp_path, start):
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({"image": ["p0"], "class": ["cat"], "start": start, "end": start}), path)
        ran = run("import", "people", path, "-t", "pets", "--name", "Ann", "-w", pets)
        if pa.types.is_timestamp(start.type) and start.type.unit == "ns":
            assert ran.code == 0, ran.err
        else:
            assert_one_line(ran, "a.parquet", "'start' cannot be read")

    def test_mistakes_note_ignored_columns(self, imported):
        content = "image,prediction,category,severity,by\np2,cat,fine-grained,major,Ann\n"
        assert imported("mistakes", "a.csv", content, "--model", "first")[1]["notes"] == ["ignored the column by"]

    def test_checkpoints_count_files_that_are_not_arrays(self, pets, tmp_path):
        folder = tmp_path / "runs"
        folder.mkdir()
        np.save(folder / "epoch-1.npy", SCORES)
        (folder / "log.txt").write_text("x")
        (folder / "README").write_text("x")
        options = ("--ensemble", "E", "--kind", "probabilities", "--json")
        ran = run_well("import", "checkpoints", folder, "-t", "pets", *options, "-w", pets)
        assert json.loads(ran.out)["notes"] == [
            "passed over 2 files that are not arrays: 1 without a suffix, 1 .txt",
            "there are no ids: rows are taken in the order of the test set",
        ]

    def test_decisions_note_rows_without_a_decision(self, pets, tmp_path):
        (tmp_path / "l.csv").write_text("image,class,state\np0,cat,correct\np2,,\np5,,\n")
        run_well("import", "labels", tmp_path / "l.csv", "-t", "pets", "--name", "few", "-w", pets)
        sample = tmp_path / "sample.csv"
        run_well("labels", "sample", "-t", "pets", "-l", "few", "--size", "2", "--out", sample, "-w", pets)
        rows = sample.read_text().splitlines()
        sample.write_text(
            "\n".join([rows[0] + ",by", rows[1].removesuffix(",,") + ",Problematic,,Ann", rows[2] + ",Ann"])
        )
        command = ("import", "verdicts", sample, "-t", "pets", "-l", "few", "--json", "-w", pets)
        assert json.loads(run_well(*command).out) == {
            "test_set": "pets",
            "labels": "few",
            "new": 1,
            "reasons": 0,
            "notes": [
                "ignored the column by",
                "passed over 1 row without a decision",
                "1 problematic decision without a reason",
            ],
        }

    @pytest.mark.parametrize("column", ["reson", "reason_why"])
    def test_decisions_reject_a_misspelled_column(self, pets, tmp_path, column):
        (tmp_path / "l.csv").write_text("image,class,state\np0,cat,correct\np2,,\n")
        run_well("import", "labels", tmp_path / "l.csv", "-t", "pets", "--name", "few", "-w", pets)
        run_well("labels", "sample", "-t", "pets", "-l", "few", "--size", "1", "--out", tmp_path / "s.csv", "-w", pets)
        (tmp_path / "v.csv").write_text(f"image,class,verdict,{column}\np2,cat,problematic,blurred\n")
        command = ("import", "verdicts", tmp_path / "v.csv", "-t", "pets", "-l", "few", "-w", pets)
        assert_one_line(run(*command), column, "did you mean reason")

    @pytest.mark.parametrize(
        "content",
        [
            "image,class,verdict\np2,cat,maybe\n",
            "image,class,verdict\np2,zebra,correct\n",
            "image,class,verdict,reson\np2,cat,correct,x\n",
        ],
    )
    def test_decisions_error_names_the_file(self, pets, tmp_path, content):
        (tmp_path / "l.csv").write_text("image,class,state\np0,cat,correct\np2,,\n")
        run_well("import", "labels", tmp_path / "l.csv", "-t", "pets", "--name", "few", "-w", pets)
        run_well("labels", "sample", "-t", "pets", "-l", "few", "--size", "1", "--out", tmp_path / "s.csv", "-w", pets)
        (tmp_path / "v.csv").write_text(content)
        command = ("import", "verdicts", tmp_path / "v.csv", "-t", "pets", "-l", "few", "-w", pets)
        assert_one_line(run(*command), f"error: {tmp_path / 'v.csv'}: ")

    @pytest.mark.parametrize("shape", [(0, 2, 6, 10), (1, 0, 6, 10)])
    def test_checkpoints_reject_an_array_without_seed_or_epoch(self, pets, tmp_path, shape):
        np.save(tmp_path / "a.npy", np.zeros(shape, np.float32))
        command = ("import", "checkpoints", tmp_path / "a.npy", "-t", "pets", "--ensemble", "e", "--kind", "logits")
        assert_one_line(run(*command, "-w", pets), f"{tmp_path / 'a.npy'} has shape", "no seed or no epoch")
