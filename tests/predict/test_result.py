"""The table and the JSON of a run."""

import json

from regrade.predict import Failure, ModelRun, Run


def test_table_has_one_row_per_pair():
    pairs = (
        ModelRun("m", "a", 100, 20, 4.0, {}, "torch"),
        ModelRun("m", "b", 100, 100, 0.0, {}, "torch", already=True),
    )
    table = Run(pairs).table()
    assert table.texts() == [["m", "a", "100", "20", "0", "4.0", "20.0"], ["m", "b", "100", "100", "0", "–", "–"]]
    assert table.notes == ("computed by torch",)


def test_table_lists_the_first_unreadable_images():
    errors = {f"x{number}": "gone" for number in range(12)}
    run = Run(
        (ModelRun("m", "a", 100, 0, 1.0, errors, "torch"), ModelRun("m", "b", 100, 0, 1.0, {"y": "truncated"}, "onnx"))
    )
    assert run.unreadable == 13
    notes = run.table().notes
    assert notes[:3] == ("computed by torch", "computed by onnx", "unreadable for m on a: x0: gone")
    assert notes[12:] == ("... and 2 more, all listed in manifest.json", "unreadable for m on b: y: truncated")
    assert run.as_dict()["pairs"][0]["unreadable"] == errors


def test_table_and_json_list_models_that_failed():
    run = Run((ModelRun("m", "a", 100, 0, 1.0, {}, "torch"),), (Failure("n", "n cannot"), Failure("o", "o is gone")))
    table = run.table()
    assert len(table.rows) == 1
    assert table.notes == ("computed by torch", "failed: n cannot", "failed: o is gone")
    data = json.loads(json.dumps(run.as_dict()))
    assert data["failures"] == [{"model": "n", "reason": "n cannot"}, {"model": "o", "reason": "o is gone"}]
    assert (data["pairs"][0]["model"], data["pairs"][0]["rate"]) == ("m", 100.0)


def test_table_notes_lost_workers():
    assert Run((ModelRun("m", "a", 9, 0, 1.0, {}, "torch", workers_lost=2),)).table().notes[-1] == (
        "2 workers were lost; other workers repeated their tasks"
    )
    assert len(Run((ModelRun("m", "a", 9, 0, 1.0, {}, "torch"),)).table().notes) == 1
