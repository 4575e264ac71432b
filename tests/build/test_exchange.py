"""Tasks for a crowd platform, and answers back: the same selections from every format, one line for every defect."""

import csv
import io
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.build.exchange import read_answers, tasks_as_csv, tasks_as_json, tile_name, tile_names
from regrade.build.frequencies import Assignment
from regrade.build.tasks import GridTask, Tile, TileRole
from regrade.core import ClassSpace, FormatError, InputError

KEY = "0f" * 32
SPACE = ClassSpace("animals", ("n1", "n2"), ("dog", "cat, domestic"))
DEFINITIONS = {"n1": "barks", "n2": 'says "meow", often'}


def grid(task_id, class_id, *images):
    roles = (TileRole.POSITIVE, TileRole.NEGATIVE, *[TileRole.CANDIDATE] * len(images))
    return GridTask(task_id, class_id, tuple(Tile(image, role) for image, role in zip(images, roles, strict=False)))


TASKS = (grid("t1", "n1", "a.jpg", "b.jpg", "c.jpg", "d.jpg"), grid("t2", "n2", "c.jpg", "e.jpg", "f.jpg"))


def name(task, image):
    return tile_name(TASKS[task], image, key=KEY)


ROWS = (
    {"task": "t1", "worker": "w1", "selected": [name(0, "a.jpg"), name(0, "d.jpg")], "seconds": 12.5},
    {"task": "t1", "worker": "w2", "selected": [], "seconds": None},
    {"task": "t2", "worker": "w1", "selected": [name(1, "c.jpg")], "seconds": 0.0},
)
ANSWERS = [
    Assignment("t1", "w1", frozenset({"a.jpg", "d.jpg"}), 12.5),
    Assignment("t1", "w2", frozenset(), None),
    Assignment("t2", "w1", frozenset({"c.jpg"}), 0.0),
]


def write_csv(path, rows, as_text=" ".join):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "selected": as_text(row["selected"])} for row in rows)
    return path


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_json(path, rows):
    path.write_text(json.dumps(list(rows)))
    return path


def write_parquet(path, rows):
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def read(path):
    return read_answers(path, TASKS, key=KEY)


def test_tasks_tell_the_class_and_opaque_tile_names_only():
    rows = json.loads(tasks_as_json(TASKS, SPACE, DEFINITIONS.__getitem__, key=KEY))
    assert [list(row) for row in rows] == [["task", "class", "definition", "tiles"]] * 2
    assert [row["class"] for row in rows] == ["dog", "cat, domestic"]
    assert rows[0]["tiles"] == [name(0, tile.image) for tile in TASKS[0].tiles]
    text = json.dumps(rows)
    assert not any(word in text for word in ("jpg", "positive", "negative", "candidate", "n1"))


def test_csv_has_the_rows_of_json():
    rows = json.loads(tasks_as_json(TASKS, SPACE, DEFINITIONS.__getitem__, key=KEY))
    lines = list(csv.DictReader(io.StringIO(tasks_as_csv(TASKS, SPACE, DEFINITIONS.__getitem__, key=KEY))))
    assert [{**line, "tiles": line["tiles"].split()} for line in lines] == rows


def test_tile_names_depend_on_task_image_and_key():
    names = {tile_name(task, image, key=key) for task in TASKS for image in ("a", "b") for key in (KEY, "10" * 32)}
    assert len(names) == 8
    assert all(len(own) == 16 and set(own) <= set("0123456789abcdef") for own in names)
    assert tile_names(TASKS[1], key=KEY) == {name(1, image): image for image in ("c.jpg", "e.jpg", "f.jpg")}


@pytest.mark.parametrize(
    ("file", "write"),
    [
        ("answers.csv", write_csv),
        ("answers.jsonl", write_lines),
        ("answers.json", write_json),
        ("answers.parquet", write_parquet),
    ],
)
def test_answers_are_the_same_from_every_format(tmp_path, file, write):
    assert read(write(tmp_path / file, ROWS)) == ANSWERS


def test_a_list_as_json_text_is_read(tmp_path):
    assert read(write_csv(tmp_path / "answers.csv", ROWS, as_text=json.dumps)) == ANSWERS


@pytest.mark.parametrize("cell", ["", " ", "[]"])
def test_an_empty_selection_selects_nothing(tmp_path, cell):
    path = write_csv(tmp_path / "answers.csv", ROWS[:1], as_text=lambda _: cell)
    assert read(path) == [Assignment("t1", "w1", frozenset(), 12.5)]


def test_seconds_may_be_missing(tmp_path):
    path = write_lines(tmp_path / "answers.jsonl", [{**row, "seconds": None} for row in ROWS])
    assert [answer.seconds for answer in read(path)] == [None] * 3
    path = write_csv(tmp_path / "a.csv", [{key: row[key] for key in ("task", "worker", "selected")} for row in ROWS])
    assert [answer.seconds for answer in read(path)] == [None] * 3


def test_workers_named_by_numbers_and_spaces_around_names_are_read(tmp_path):
    path = write_csv(tmp_path / "answers.csv", [{**ROWS[0], "worker": 7}])
    assert read(path)[0].worker == "7"
    path = write_csv(tmp_path / "answers.csv", [{**ROWS[0], "worker": " w1 "}])
    assert read(path)[0].worker == "w1"


def test_a_tile_name_of_digits_only_is_read(tmp_path):
    """CSV columns of whole numbers become integers."""
    images = (f"{number}.jpg" for number in range(100_000))
    image = next(image for image in images if tile_name(TASKS[0], image, key=KEY).isdigit())
    task = grid("t1", "n1", image, "b.jpg")
    path = write_csv(tmp_path / "answers.csv", [{**ROWS[0], "selected": [tile_name(task, image, key=KEY)]}])
    assert read_answers(path, [task], key=KEY) == [Assignment("t1", "w1", frozenset({image}), 12.5)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "t9"}, "unknown task 't9'"),
        ({"selected": ["0123456789abcdef"]}, "task t1 has no tile '0123456789abcdef'"),
        ({"selected": [name(1, "c.jpg")]}, f"task t1 has no tile '{name(1, 'c.jpg')}': it belongs to task t2"),
        ({"selected": ["a.jpg"]}, "task t1 has no tile 'a.jpg'"),
        ({"worker": "  "}, "an answer has no worker"),
        ({"seconds": -1}, "seconds must be finite and not negative, got "),
        ({"seconds": "nan"}, "seconds must be finite and not negative, got 'nan'"),
        ({"seconds": "inf"}, "seconds must be finite and not negative, got 'inf'"),
        ({"seconds": "soon"}, "seconds must be a number, got 'soon'"),
    ],
)
@pytest.mark.parametrize(("file", "write"), [("answers.csv", write_csv), ("answers.jsonl", write_lines)])
def test_a_defect_is_one_clear_line(tmp_path, change, message, file, write):
    path = write(tmp_path / file, [{**ROWS[0], **change}])
    with pytest.raises(InputError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}: {message}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task,worker,selected\nt1,,\n", "column 'worker' has 1 empty cells"),
        ("task,worker,selected\n,w1,\n", "column 'task' has 1 empty cells"),
        ("task,worker\nt1,w1\n", "no column selected: expected task, worker, selected and perhaps seconds"),
        ("task,worker,selected,selected\nt1,w1,,\n", "the column 'selected' occurs twice"),
        ('task,worker,selected\nt1,w1,"[1, 2]"\n', "selected must be a list of tile names, got [1, 2]"),
        (
            "task,worker,selected\nt1,w1,[broken\n",
            "selected is not valid JSON: a value is missing (column 2), in '[broken'",
        ),
    ],
)
def test_a_defective_table_is_one_clear_line(tmp_path, text, message):
    path = tmp_path / "answers.csv"
    path.write_text(text)
    with pytest.raises(FormatError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}: {message}")
    assert "\n" not in str(raised.value)


def test_seconds_that_are_not_a_number_in_parquet_are_refused(tmp_path):
    path = write_parquet(tmp_path / "answers.parquet", [{**ROWS[0], "seconds": float("nan")}])
    with pytest.raises(FormatError, match=r"seconds must be finite and not negative, got nan$"):
        read(path)


@pytest.mark.parametrize("selected", [{"a": 1}, 1.5, [["x"]], [None]])
def test_a_selection_of_another_type_is_refused(tmp_path, selected):
    path = write_lines(tmp_path / "answers.jsonl", [{**ROWS[0], "selected": selected}])
    with pytest.raises(InputError, match="selected must be a list of tile names"):
        read(path)


@given(
    st.lists(st.tuples(st.sampled_from(["t1", "t2"]), st.text("xyz", min_size=1)), min_size=1, unique=True), st.data()
)
def test_selections_survive_the_way_out_and_back(tmp_path_factory, pairs, data):
    tasks = {task.id: task for task in TASKS}
    answers = []
    for task, worker in pairs:
        images = st.sets(st.sampled_from([tile.image for tile in tasks[task].tiles]))
        answers.append(Assignment(task, worker, frozenset(data.draw(images)), data.draw(st.floats(0, 1e6))))
    rows = []
    for answer in answers:
        shown = {image: own for own, image in tile_names(tasks[answer.task], key=KEY).items()}
        selected = [shown[image] for image in answer.selected]
        random.Random(0).shuffle(selected)
        rows.append({"task": answer.task, "worker": answer.worker, "selected": selected, "seconds": answer.seconds})
    folder = tmp_path_factory.mktemp("answers")
    assert read(write_csv(folder / "a.csv", rows)) == answers
    assert read(write_lines(folder / "a.jsonl", rows)) == answers
