"""What a run tells when it is done."""

import json

from regrade.predict import Failure, ModelRun, Run


def test_one_line_a_pair():
    pairs = (
        ModelRun("m", "a", 100, 20, 4.0, {}, "torch"),
        ModelRun("m", "b", 100, 100, 0.0, {}, "torch", already=True),
    )
    table = Run(pairs).table()
    assert table.texts() == [["m", "a", "100", "20", "0", "4.0", "20.0"], ["m", "b", "100", "100", "0", "–", "–"]]
    assert table.notes == ("computed by torch",)


def test_unreadable_images_are_counted_and_the_first_are_named():
    trouble = {f"x{number}": "gone" for number in range(12)}
    run = Run(
        (ModelRun("m", "a", 100, 0, 1.0, trouble, "torch"), ModelRun("m", "b", 100, 0, 1.0, {"y": "cut"}, "onnx"))
    )
    assert run.unreadable == 13
    notes = run.table().notes
    assert notes[:3] == ("computed by torch", "computed by onnx", "unreadable for m on a: x0: gone")
    assert notes[12:] == ("... and 2 more, all of them in manifest.json", "unreadable for m on b: y: cut")
    assert run.as_dict()["pairs"][0]["unreadable"] == trouble


def test_models_that_failed_are_told_with_the_rest():
    run = Run((ModelRun("m", "a", 100, 0, 1.0, {}, "torch"),), (Failure("n", "n cannot"), Failure("o", "o is gone")))
    table = run.table()
    assert len(table.rows) == 1
    assert table.notes == ("computed by torch", "failed: n cannot", "failed: o is gone")
    told = json.loads(json.dumps(run.as_dict()))
    assert told["failures"] == [{"model": "n", "reason": "n cannot"}, {"model": "o", "reason": "o is gone"}]
    assert (told["pairs"][0]["model"], told["pairs"][0]["rate"]) == ("m", 100.0)


def test_lost_workers_are_told():
    assert Run((ModelRun("m", "a", 9, 0, 1.0, {}, "torch", workers_lost=2),)).table().notes[-1] == (
        "2 workers were lost; what they were at was done again by others"
    )
    assert len(Run((ModelRun("m", "a", 9, 0, 1.0, {}, "torch"),)).table().notes) == 1
