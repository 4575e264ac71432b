"""Names of people and queues: invisible characters and similar names are rejected."""

import pytest
from running import assert_one_line, run, run_well

import regrade
from regrade.core import AlreadyStored, FormatError, InputError
from regrade.ledger import Ledger, Question, Role

BAD = {
    "a\nb": "U+000A", "a\tb": "U+0009", "a\u200bb": "U+200B", "a\u202eb": "U+202E", "\ufeffa": "U+FEFF",
    " Ada": "a space", "Ada ": "a space", "\u3000Ada": "a space", "x" * 81: "at most 80 characters",
    "": "must not be empty", "  ": "must not be empty",
}  # fmt: skip


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    ledger.people.add("Ada", Role.OWNER)
    yield ledger
    ledger.engine.dispose()


def test_names_with_invisible_characters_are_rejected(ledger):
    for name, reason in BAD.items():
        with pytest.raises(InputError) as person_error:
            ledger.people.add(name, Role.REVIEWER)
        with pytest.raises(InputError) as queue_error:
            ledger.queues.create(name, Question.JUDGE, test_set="val", labels="own@1")
        for message in (str(person_error.value), str(queue_error.value)):
            assert reason in message and len(message.splitlines()) == 1
    assert len(ledger.people.all()) == 1 and ledger.queues.all() == ()


def test_add_person_rejects_a_similar_name(ledger):
    ledger.people.add("Zoë", Role.REVIEWER)
    for name, same in {"ada": "Ada", "A da": "Ada", "\uff21da": "Ada", "A\u200dda": "Ada", "ZOE\u0308": "Zoë"}.items():
        with pytest.raises(AlreadyStored, match=f"there is a person '{same}' already"):
            ledger.people.add(name, Role.REVIEWER)
    ledger.people.add("Zoe", Role.REVIEWER)
    ledger.people.add("نیلوفر\u200cزاده", Role.REVIEWER)


@pytest.mark.parametrize("name", ["=cmd|1", "+1", "-1", "@sum", "person:x"])
def test_add_person_rejects_formulas_and_the_prefix_of_people(ledger, name):
    for add in (ledger.people.add, ledger.accounts.invite_new):
        with pytest.raises(InputError, match="the name of a person must not begin with"):
            add(name, Role.REVIEWER)
    assert ledger.people.add(f"x{name}", Role.REVIEWER)


def test_open_queue_rejects_a_similar_name(ledger):
    ledger.queues.create("first round", Question.JUDGE, test_set="val")
    for name in ("First round", "first  round", "firstround", "first\xa0round"):
        with pytest.raises(InputError) as error:
            ledger.queues.create(name, Question.JUDGE, test_set="val")
        assert repr("first round") in str(error.value) and repr(name) in str(error.value)
    with pytest.raises(AlreadyStored, match="there is a queue 'first round' already"):
        ledger.queues.create("first round", Question.JUDGE, test_set="val")
    ledger.queues.create("second round", Question.JUDGE, test_set="val")


def test_import_rejects_invalid_and_similar_names(ledger):
    row = {"kind": "person", "role": "reviewer", "at": "2026-01-31T12:00:00Z"}
    for name, kind in {"a\u202eb": FormatError, "ADA": AlreadyStored}.items():
        with pytest.raises(kind):
            ledger.import_rows([{**row, "person": name}])
    assert ledger.import_rows([{**row, "person": "Ada", "role": "owner"}]) == 0


def test_team_add_rejects_invalid_and_similar_names(tmp_path):
    regrade.init(tmp_path / "W")
    run_well("team", "add", "Ada", "-w", tmp_path / "W")
    for name, reason in {"a\u202eb": "U+202E", "a\nb": "U+000A", "ADA": "there is a person 'Ada' already"}.items():
        assert_one_line(run("team", "add", name, "-w", tmp_path / "W"), reason)
