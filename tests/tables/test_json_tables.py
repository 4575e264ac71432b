"""Every form of a table that pandas writes as JSON is read as the same table."""

import json

import pandas as pd
import pytest

from regrade.core import FormatError
from regrade.tables.json_tables import read_json_table

FRAME = pd.DataFrame({"image": ["a.png", "b.png"], "prediction": [["cat", "dog"], ["dog", "cat"]], "prob": [0.5, 0.25]})


@pytest.mark.parametrize("orient", ["records", "columns", "split", "index"])
@pytest.mark.parametrize("indent", [None, 4])
def test_json_table_reads_every_form_of_pandas(tmp_path, orient, indent):
    frame = FRAME.set_index("image") if orient == "index" else FRAME
    frame.to_json(tmp_path / "m.json", orient=orient, indent=indent)
    assert read_json_table(tmp_path / "m.json").to_pylist() == FRAME.to_dict("records")


def test_json_table_reads_lines_and_columns(tmp_path):
    FRAME.to_json(tmp_path / "lines.json", orient="records", lines=True)
    (tmp_path / "columns.json").write_text(json.dumps(FRAME.to_dict("list")))
    for name in ("lines.json", "columns.json"):
        assert read_json_table(tmp_path / name).to_pylist() == FRAME.to_dict("records")


@pytest.mark.parametrize("prediction", ["cat", 3, ["cat", "dog"]])
def test_json_table_reads_one_prediction_per_image(tmp_path, prediction):
    (tmp_path / "m.json").write_text(json.dumps({"a.png": prediction, "b.png": prediction}))
    rows = read_json_table(tmp_path / "m.json").to_pylist()
    assert rows == [{"image": image, "prediction": prediction} for image in ("a.png", "b.png")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("filename,label\na.png,cat\n", "it looks like CSV: rename it to m.csv"),
        ("[1, 2]", "expected a list of objects"),
        ("3", "expected a list or an object"),
        ('{"columns": ["a", "b"], "data": [[1, 2], [3]]}', "data, row 2: expected a list of 2 cells"),
        ('{"image": ["a", "b"], "m": [1]}', "different lengths: image 2, m 1"),
        ('{"columns": ["a"], "data": []}', "contains no rows"),
    ],
)
def test_json_table_rejects_other_content(tmp_path, text, words):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(FormatError, match=r"m\.json") as error:
        read_json_table(tmp_path / "m.json")
    assert words in str(error.value)
