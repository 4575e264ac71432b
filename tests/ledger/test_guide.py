"""The labeling guide: versions of entries, concurrent changes, and append-only storage."""

import threading

import pytest
from sqlalchemy.exc import DatabaseError

from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.ledger import Guide, GuideText, Ledger

CORGI = ("imagenet-1k", "n02113023")
FULL = GuideText(
    "Has **no** tail.\n\nAnd *ears*.", ("no tail", "ears upright"), (("val", "a/b.jpg"), ("v2", "c d")), ("n02113186",)
)


@pytest.fixture
def guide(ledger, clock):
    return Guide(ledger.engine, clock=clock)


def test_entry_returns_what_was_written(guide, panel):
    written = guide.write(*CORGI, FULL, panel[0], replaces=None)
    assert guide.entry(*CORGI) == written
    assert (written.content, written.by, written.replaces, written.class_id) == (FULL, "Ada", None, CORGI[1])
    assert guide.entry(CORGI[0], "n02113186") is None
    assert guide.entry("imagenet-a", CORGI[1]) is None


def test_write_keeps_earlier_versions(guide, panel):
    first = guide.write(*CORGI, GuideText("old"), panel[0], replaces=None)
    second = guide.write(*CORGI, GuideText("new"), panel[1], replaces=first.id, why=" tails vary ")
    assert guide.entry(*CORGI) == second
    assert (second.replaces, second.why, second.by) == (first.id, "tails vary", "Bob")
    assert guide.history(*CORGI) == (second, first)
    assert guide.revision(*CORGI, first.id).content == GuideText("old")
    with pytest.raises(UnknownName, match="revision"):
        guide.revision(CORGI[0], "n02113186", first.id)


def test_entries_are_current_and_last_changed_first(guide, panel):
    first = guide.write("one", "a", GuideText("a"), panel[0], replaces=None)
    second = guide.write("one", "b", GuideText("b"), panel[0], replaces=None)
    guide.write("two", "a", GuideText("else"), panel[0], replaces=None)
    changed = guide.write("one", "a", GuideText("a2"), panel[0], replaces=first.id, why="more")
    assert guide.entries("one") == (changed, second)
    assert [entry.class_space for entry in guide.entries()] == ["one", "two", "one"]


@pytest.mark.parametrize("stale", ["first", "none"])
def test_write_rejects_an_outdated_base_version(guide, panel, stale):
    first = guide.write(*CORGI, GuideText("one"), panel[0], replaces=None)
    second = guide.write(*CORGI, GuideText("two"), panel[1], replaces=first.id, why="better")
    with pytest.raises(AlreadyStored, match="someone else"):
        guide.write(*CORGI, GuideText("three"), panel[2], replaces=first.id if stale == "first" else None, why="mine")
    assert guide.history(*CORGI) == (second, first)


def test_write_rejects_a_base_version_of_another_class(guide, panel):
    entry = guide.write("imagenet-1k", "n02113186", GuideText("other"), panel[0], replaces=None)
    with pytest.raises(AlreadyStored):
        guide.write(*CORGI, GuideText("mine"), panel[0], replaces=entry.id, why="x")
    assert guide.entry(*CORGI) is None


@pytest.mark.parametrize("first", [True, False])
def test_write_accepts_one_of_many_concurrent_changes(guide, panel, first):
    before = None if first else guide.write(*CORGI, GuideText("start"), panel[0], replaces=None).id
    start, kept, refused = threading.Barrier(8), [], []

    def write(number):
        start.wait()
        try:
            kept.append(guide.write(*CORGI, GuideText(f"by {number}"), panel[0], replaces=before, why="mine"))
        except AlreadyStored:
            refused.append(number)

    threads = [threading.Thread(target=write, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(kept), len(refused)) == (1, 7)
    assert guide.entry(*CORGI) == kept[0]


def test_write_needs_a_reason_and_a_change(guide, panel):
    first = guide.write(*CORGI, FULL, panel[0], replaces=None)
    with pytest.raises(InputError, match="give a reason"):
        guide.write(*CORGI, GuideText("new"), panel[0], replaces=first.id, why="  ")
    with pytest.raises(InputError, match="nothing"):
        guide.write(*CORGI, FULL, panel[0], replaces=first.id, why="again")
    assert guide.history(*CORGI) == (first,)


@pytest.mark.parametrize(
    "content",
    [
        GuideText("a\0b"), GuideText("a\ud800"), GuideText(traits=("two\nlines",)), GuideText(traits=(" ",)),
        GuideText(examples=(("val", "a\tb"),)), GuideText(examples=(("val", ""),)), GuideText(alike=("a\nb",)),
    ],
)  # fmt: skip
def test_write_rejects_invalid_text(guide, panel, content):
    with pytest.raises(InputError):
        guide.write(*CORGI, content, panel[0], replaces=None)
    assert guide.entry(*CORGI) is None


@pytest.mark.parametrize("change", ["UPDATE guide_entry SET text = 'other'", "DELETE FROM guide_entry"])
def test_guide_entries_cannot_be_changed_with_sql(guide, panel, change):
    guide.write(*CORGI, FULL, panel[0], replaces=None)
    with pytest.raises(DatabaseError, match="append-only"), guide.engine.begin() as connection:
        connection.exec_driver_sql(change)
    assert guide.entry(*CORGI).content == FULL


def test_import_includes_the_guide(guide, ledger, panel, tmp_path):
    first = guide.write(*CORGI, GuideText("old"), panel[0], replaces=None)
    guide.write(*CORGI, FULL, panel[1], replaces=first.id, why="more")
    copy = Ledger.open(tmp_path / "copy.sqlite")
    copy.import_rows(ledger.rows())
    imported = copy.guide.history(*CORGI)
    copy.engine.dispose()
    expected = [(entry.content, entry.by, entry.why, entry.at) for entry in guide.history(*CORGI)]
    assert [(entry.content, entry.by, entry.why, entry.at) for entry in imported] == expected
