"""What a run tells when it is done."""

from regrade.predict import Pair, Run


def test_one_line_a_pair():
    pairs = (Pair("m", "a", 100, 20, 4.0, {}, "torch"), Pair("m", "b", 100, 100, 0.0, {}, "torch", already=True))
    table = Run(pairs).table()
    assert table.texts() == [["m", "a", "100", "20", "0", "4.0", "20.0"], ["m", "b", "100", "100", "0", "–", "–"]]
    assert table.notes == ("computed by torch",)


def test_unreadable_pictures_are_counted_and_the_first_are_named():
    trouble = {f"x{number}": "gone" for number in range(12)}
    run = Run((Pair("m", "a", 100, 0, 1.0, trouble, "torch"), Pair("m", "b", 100, 0, 1.0, {"y": "cut"}, "onnx")))
    assert run.unreadable == 13
    notes = run.table().notes
    assert notes[:3] == ("computed by torch", "computed by onnx", "unreadable for m on a: x0: gone")
    assert notes[12:] == ("... and 2 more, all of them in manifest.json", "unreadable for m on b: y: cut")
    assert run.as_dict()["pairs"][0]["unreadable"] == trouble
