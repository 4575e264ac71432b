"""Files of people's answers in every format, and their errors."""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regrade.core import NO_ANSWER, Answerer, ClassSpace, FormatError, InputError, MismatchError, TestSet, UnknownName
from regrade.formats import PeopleFormat, read_people_file
from regrade.formats.people_files import is_seconds, parse_time
from regrade.store import Store
from regrade.tables import Columns, Reading
from regrade.workspace.imports import import_people

SPACE = ClassSpace("animals", ("n01", "n02", "n03"), ("cat", "guide dog", "hérisson"))
SET = TestSet("zoo", SPACE, ("a.png", "b.png", "c.png", "d.png"), np.array([0, 1, 2, 0], dtype=np.int32))
ROWS = [
    {"person": "Ann", "image": "a.png", "class": "n01", "start": "2019-12-19T10:00:00", "end": "2019-12-19T10:00:26"},
    {"person": "Ann", "image": "c.png", "class": "n02", "start": "2019-12-19T23:59:59", "end": "2019-12-21T00:00:00"},
    {
        "person": "Bo",
        "image": "b.png",
        "class": "n02",
        "start": "2019-12-19T10:00:00Z",
        "end": "2019-12-19T12:01:00+02",
    },
]


def csv(path: Path, rows=ROWS, *, leave_out=()) -> Path:
    keys = [key for key in rows[0] if key not in leave_out]
    path.write_text("\n".join([",".join(keys), *(",".join(str(row.get(k, "")) for k in keys) for row in rows)]) + "\n")
    return path


def read(path: Path, form: PeopleFormat = PeopleFormat.TABLE, **options):
    return read_people_file(path, SET, form=form, **options)


def assert_ann_and_bo(content):
    ann, bo = content.people
    assert (ann.model, bo.model) == ("person:Ann", "person:Bo")
    assert ann.by is bo.by is Answerer.PERSON
    assert ann.top1.tolist() == [0, NO_ANSWER, 1, NO_ANSWER]
    assert ann.covered.tolist() == [True, False, True, False]
    assert bo.top1.tolist() == [NO_ANSWER, 1, NO_ANSWER, NO_ANSWER]
    np.testing.assert_allclose(ann.times.seconds, [26, np.nan, 86_401, np.nan])
    np.testing.assert_allclose(bo.times.seconds, [np.nan, 60, np.nan, np.nan])


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
def test_table_is_read_in_every_format(tmp_path, ending):
    path = tmp_path / f"people.{ending}"
    if ending == "csv":
        csv(path)
    elif ending == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        path.write_text(json.dumps(ROWS) if ending == "json" else "\n".join(map(json.dumps, ROWS)))
    assert_ann_and_bo(read(path))


def published(rows=ROWS):
    people: dict = {}
    for row in rows:
        info = {"start_time": row["start"], "end_time": row["end"]}
        people.setdefault(row["person"], {})[row["image"]] = {"label": row["class"], "extra_info": info}
    return people


@pytest.mark.parametrize("wrapped", [False, True])
def test_published_format_is_read(tmp_path, wrapped):
    content = published()
    content["Ann"]["elsewhere.JPEG"] = {"label": "n01"}
    (tmp_path / "p.json").write_text(json.dumps({"annot_data": content} if wrapped else content))
    people_file = read(tmp_path / "p.json", PeopleFormat.SHANKAR2020)
    assert_ann_and_bo(people_file)
    assert people_file.passed_over == 1


def test_published_format_of_one_labeler_needs_a_name(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps(published()["Bo"]))
    (bo,) = read(tmp_path / "p.json", PeopleFormat.SHANKAR2020, name="Bo").people
    assert bo.model == "person:Bo"
    with pytest.raises(FormatError, match="does not say who answered: give --name"):
        read(tmp_path / "p.json", PeopleFormat.SHANKAR2020)


def test_name_is_given_or_selects_one_person(tmp_path):
    path = csv(tmp_path / "p.csv", ROWS[:2], leave_out=("person",))
    assert read(path, name="Cy").people[0].model == "person:Cy"
    with pytest.raises(FormatError, match="add a column person, or give --name"):
        read(path)
    several = csv(tmp_path / "q.csv")
    assert [person.model for person in read(several, name="Bo").people] == ["person:Bo"]
    with pytest.raises(UnknownName, match="unknown person 'Di'; there are Ann, Bo"):
        read(several, name="Di")


@pytest.mark.parametrize(
    ("given", "expected"), [("n03", 2), ("2", 2), ("hérisson", 2), ("Guide Dog", 1), ("2.0", 2), ("", NO_ANSWER)]
)
def test_classes_are_read_by_id_index_or_name(tmp_path, given, expected):
    path = csv(tmp_path / "p.csv", [{"image": "a.png", "class": given}])
    (person,) = read(path, name="A").people
    assert person.top1[0] == expected
    assert person.counted.tolist() == [True, False, False, False]  # an empty class was asked, and is no answer
    assert person.times is None


def test_ambiguous_class_numbers_need_a_reading(tmp_path):
    space = ClassSpace("numbers", ("10", "0"))
    target = TestSet("s", space, ("a", "b"), np.array([0, 1], dtype=np.int32))
    path = csv(tmp_path / "p.csv", [{"image": "a", "class": 0}])
    with pytest.raises(InputError, match="--class-numbers"):
        read_people_file(path, target, form=PeopleFormat.TABLE, name="A")
    for reading, expected in ((Reading.IDS, 1), (Reading.INDICES, 0)):
        columns = Columns(reading=reading)
        people_file = read_people_file(path, target, form=PeopleFormat.TABLE, name="A", columns=columns)
        assert people_file.people[0].top1[0] == expected


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"class": "n77"}, "Ann, image 'a.png': unknown class id of animals 'n77'"),
        ({"class": "7"}, "class index 7 is outside animals"),
        ({"image": "z.png"}, "1 image not in test set zoo, for instance 'z.png'"),
        ({"end": "2019-12-19T09:59:59"}, "Ann, image 'a.png': it ends"),
        ({"image": "c.png"}, "Ann answers 'c.png' more than once"),
        ({"start": "yesterday"}, "'yesterday' is not a time: give ISO 8601"),
        ({"start": "nan", "end": "5"}, "is not a time"),
    ],
)
def test_invalid_rows_raise_one_line(tmp_path, change, words):
    rows = [{**ROWS[0], **change}, *ROWS[1:]]
    if change.get("class") == "7":
        rows = [{**row, "class": number} for row, number in zip(rows, (7, 0, 1), strict=True)]
    with pytest.raises(InputError) as caught:
        read(csv(tmp_path / "p.csv", rows))
    assert words in str(caught.value) and str(tmp_path / "p.csv") in str(caught.value)


def test_integer_and_fractional_seconds_can_be_mixed(tmp_path):
    (tmp_path / "p.csv").write_text("image,class,start,end\na.png,n01,0,4.5\nb.png,n01,2,3.25\n")
    np.testing.assert_array_equal(read(tmp_path / "p.csv", name="A").people[0].times.seconds[:2], [4.5, 1.25])


def test_start_and_end_must_have_one_format(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps([{"image": "a.png", "class": "n01", "start": 5, "end": 9}]))
    assert read(tmp_path / "p.json", name="A").people[0].times.seconds[0] == 4
    mixed = {"a.png": {"label": "n01", "extra_info": {"start_time": 5, "end_time": "2019-12-19"}}}
    (tmp_path / "q.json").write_text(json.dumps(mixed))
    with pytest.raises(FormatError, match="both be ISO times, or both seconds"):
        read(tmp_path / "q.json", PeopleFormat.SHANKAR2020, name="A")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "a JSON list of objects"),
        ("{}", "a JSON list of objects"),
        ('[{"image": "a.png"}]', "no column with the answered classes"),
        ('[{"image": "a.png", "class": 1}, {"image": "b.png", "class": "n01"}]', "p.json"),
    ],
)
def test_json_table_rejects_invalid_content(tmp_path, content, words):
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(FormatError, match=words):
        read(tmp_path / "p.json", name="A")


@pytest.mark.parametrize("content", [[], {}, {"Ann": 3}, {"Ann": {"a.png": "n01"}}, {"Ann": {"a.png": {"x": 1}}}])
def test_published_format_rejects_invalid_json(tmp_path, content):
    (tmp_path / "p.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match="label and extra_info"):
        read(tmp_path / "p.json", PeopleFormat.SHANKAR2020)


def test_read_people_file_rejects_answers_to_another_test_set(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({"Ann": {"x.JPEG": {"label": "n01"}}}))
    with pytest.raises(MismatchError, match="contains no image of test set zoo"):
        read(tmp_path / "p.json", PeopleFormat.SHANKAR2020)


class TestStored:
    @pytest.fixture
    def store(self, tmp_path) -> Store:
        store = Store.create(tmp_path / "W")
        store.add_test_set(SET)
        return store

    def test_import_people_round_trips(self, store, tmp_path):
        path = csv(tmp_path / "p.csv")
        done = import_people(store, path, test_set="zoo", form=PeopleFormat.TABLE)
        assert done.people.new == ("person:Ann", "person:Bo")
        assert done.images == {"person:Ann": 2, "person:Bo": 1}
        assert store.predictions.people_names("zoo") == done.people.new and store.predictions.model_names("zoo") == ()
        for expected in read(path).people:
            stored = store.predictions.read(SET, expected.model)
            assert stored.digest == expected.digest
            assert stored.by is Answerer.PERSON
            assert stored.covered.tolist() == expected.covered.tolist()
            np.testing.assert_array_equal(stored.times.seconds, expected.times.seconds)
        manifest = store.predictions.manifest(SET.name, "person:Ann")
        assert (manifest.by, manifest.asked, manifest.times, manifest.source.file) == ("person", 2, True, "p.csv")
        plain = pq.read_table(store.predictions.path("zoo", "person:Ann") / "times.parquet")
        assert plain.column_names == ["example", "start", "end"]
        assert plain["start"].null_count == 2

    def test_import_people_is_idempotent_and_rejects_other_answers(self, store, tmp_path):
        import_people(store, csv(tmp_path / "p.csv"), test_set="zoo", form=PeopleFormat.TABLE)
        again = import_people(store, tmp_path / "p.csv", test_set="zoo", form=PeopleFormat.TABLE)
        assert (again.people.new, again.people.unchanged) == ((), ("person:Ann", "person:Bo"))
        slower = [{**ROWS[2], "end": "2019-12-19T10:02:00Z"}]
        with pytest.raises(Exception, match=r"other predictions of 'person:Bo' on zoo are stored.*--name"):
            import_people(store, csv(tmp_path / "q.csv", slower), test_set="zoo", form=PeopleFormat.TABLE)

    def test_person_asked_about_all_images_has_no_asked_column(self, store, tmp_path):
        rows = [{"image": image, "class": "n01"} for image in SET.ids]
        path = csv(tmp_path / "p.csv", rows)
        import_people(store, path, test_set="zoo", form=PeopleFormat.TABLE, name="A")
        answers = store.predictions.read(SET, "person:A")
        assert answers.covered is None and answers.times is None and answers.counted.all()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(5, 5), ("5.5", 5.5), ("1970-01-01T00:01:00", 60), ("1970-01-01 01:00+01:00", 0), ("1970-01-02", 86_400)],
)
def test_parse_time_accepts_numbers_and_iso_times(value, seconds):
    assert parse_time(value, "") == seconds


@pytest.mark.parametrize("value", ["soon", [], True, "inf", "2019-13-01"])
def test_parse_time_rejects_other_values(value):
    with pytest.raises(FormatError, match="is not a time"):
        parse_time(value, "where")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(0, 0.0), ("12.5", 12.5), (1.6e9, 1.6e9), ("1970-01-01T00:01:00", 60.0), (datetime(1970, 1, 2), 86400.0),
     (datetime(1969, 12, 31, tzinfo=UTC), -86400.0)],
)  # fmt: skip
def test_parse_time_returns_seconds(value, seconds):
    assert parse_time(value, "here") == seconds


@pytest.mark.parametrize(
    "value",
    [
        1e308, -1e308, -1, "-1", 10**400, "9" * 400, float("nan"), "nan", float("inf"), 1.7e12, True, None, [], {},
        "99999-01-01T00:00:00", "2020-13-45", "", "yesterday",
    ],
)  # fmt: skip
def test_parse_time_rejects_invalid_times_in_one_line(value):
    with pytest.raises(FormatError, match=r"here: .* is not a time") as refused:
        parse_time(value, "here")
    assert len(str(refused.value)) < 160


def test_is_seconds_distinguishes_numbers_from_iso_times():
    assert is_seconds(3) and is_seconds("3.5") and is_seconds(10**400)
    assert not is_seconds("2019-12-19") and not is_seconds(None) and not is_seconds([])
