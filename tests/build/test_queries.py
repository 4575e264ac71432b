"""Queries for candidates: lemmas, parents' words, duplicates and ambiguous queries."""

import csv
import json

import pytest
from running import run, run_well

import regrade
from regrade.build.date_window import DateWindow, read_date
from regrade.build.queries import Query, QueryKind, query_plan
from regrade.classes import imagenet_1k
from regrade.core import ClassSpace, Hierarchy, InputError

LEMMA, BOTH = QueryKind.LEMMA, QueryKind.LEMMA_AND_PARENT

CRANES = ClassSpace(
    "cranes",
    ("bird", "machine", "hound"),
    ("crane (bird)", "crane (machine)", "hound"),
    (("crane",), ("Crane", "derrick"), ("hound", "hound_dog", "Dog Hound")),
    Hierarchy(
        {"bird": ("wader", "flyer"), "machine": ("device",), "hound": ("dog",)},
        {"wader": ("wading_bird", "wader"), "flyer": ("flyer",), "device": ("lifting device",), "dog": ("dog",)},
    ),
)


@pytest.fixture
def workspace(tmp_path):
    return regrade.init(tmp_path / "workspace")


def test_query_plan_has_lemmas_then_lemmas_with_each_parents_first_word():
    assert query_plan(CRANES) == (
        Query("bird", "crane", LEMMA, ("machine",)),
        Query("bird", "crane wading bird", BOTH),
        Query("bird", "crane flyer", BOTH),
        Query("machine", "Crane", LEMMA, ("bird",)),
        Query("machine", "derrick", LEMMA),
        Query("machine", "Crane lifting device", BOTH),
        Query("machine", "derrick lifting device", BOTH),
        Query("hound", "hound", LEMMA),
        Query("hound", "hound dog", LEMMA),  # neither "Dog Hound" nor "hound dog dog" has other words
    )


def test_query_plan_without_a_hierarchy_has_names_only():
    plan = query_plan(ClassSpace("pets", ("0", "1"), ("cat", "guinea pig")))
    assert plan == (Query("0", "cat", LEMMA), Query("1", "guinea pig", LEMMA))


def test_query_plan_of_imagenet_marks_the_published_ambiguous_classes():
    plan = query_plan(imagenet_1k())
    ambiguous = {query.text: query.also_for for query in plan if query.also_for}
    assert {"crane", "maillot"} <= set(ambiguous)
    assert [query.text for query in plan if query.class_id == "n02123045"] == [
        "tabby",
        "tabby cat",
        "tabby domestic cat",
    ]
    for query in plan:
        assert query.class_id not in query.also_for
    own = {(query.class_id, frozenset(query.text.casefold().split())) for query in plan}
    assert len(own) == len(plan)


def test_queries_step_states_window_and_limit_in_every_row(workspace):
    plan = workspace.build.queries("imagenet-1k", "2012-07-11", "2013-07-11", 5)
    first, *_ = plan.as_dict()["queries"]
    assert first == {
        "class": "n01440764",
        "name": "tench",
        "query": "tench",
        "kind": "lemma",
        "from": "2012-07-11",
        "to": "2013-07-11",
        "per_author": 5,
        "also_for": [],
    }
    assert plan.ambiguous == sum(bool(row["also_for"]) for row in plan.as_dict()["queries"])
    assert f"{plan.ambiguous} are ambiguous" in plan.table().notes[0]


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        ("2013", None, "--from must be a date such as 2013-07-11, got '2013'"),
        (None, "11.7.2013", "--to must be a date"),
        ("2014-01-01", "2013-01-01", "--from 2014-01-01 is later than --to 2013-01-01"),
    ],
)
def test_queries_step_rejects_bad_dates(workspace, first, last, message):
    with pytest.raises(InputError, match=message):
        workspace.build.queries("cifar-10", first, last)


def test_queries_command_writes_csv_and_json(workspace):
    command = ["build", "queries", "--classes", "cifar-10", "--per-author", "2", "-w", str(workspace.store.root)]
    for name in ("queries.csv", "queries.json"):
        run_well(*command, "--out", workspace.store.root / name)
    with (workspace.store.root / "queries.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["query"] for row in rows][:3] == ["airplane", "automobile", "bird"]
    assert rows[0] | {"also_for": []} == {
        key: "" if value is None else value if isinstance(value, list) else str(value)
        for key, value in json.loads((workspace.store.root / "queries.json").read_text())[0].items()
    }
    refused = run(*command, "--out", "queries.txt")
    assert refused.code == 1
    assert "queries are written as .csv or .json, not as 'queries.txt'" in refused.err


def test_date_window_includes_both_days():
    days = [read_date(f"2013-07-{day:02}") for day in range(10, 14)]
    assert [day in DateWindow(days[1], days[2]) for day in days] == [False, True, True, False]
    assert all(day in DateWindow() for day in days)
    assert not DateWindow()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2013-07-11", "2013-07-11"),
        (" 2013-07-11T23:59:59+02:00 ", "2013-07-11"),
        ("2013-07-11 09:05:00", "2013-07-11"),
        ("2013:07:11 09:05:00", "2013-07-11"),
        ("1373533500", "2013-07-11"),
    ],
)
def test_read_date_reads_the_forms_of_photo_services(text, day):
    assert str(read_date(text)) == day


@pytest.mark.parametrize("text", ["", "2013", "2013-07-00 00:00:00", "11 July", "2013-07-111", "20130711"])
def test_read_date_returns_none_for_other_texts(text):
    assert read_date(text) is None
