"""A collection writes each record once: the same again is accepted, other content is refused or replaces it."""

from dataclasses import dataclass

import pyarrow as pa
import pytest

from regrade.core import AlreadyStored
from regrade.store.checked_files import PLACE, write_parquet
from regrade.store.collection import Collection, Stored
from regrade.store.layout import place_of
from regrade.store.transaction import transaction


@dataclass(frozen=True)
class Note:
    """A record for the tests."""

    name: str
    digest: str


class Notes(Collection[Note, str]):
    """Notes on a test set, which is given by its name."""

    kind = "slices"

    def names_of(self, note, test_set):
        return test_set, note.name

    def refusal(self, note, test_set):
        return f"another note {note.name} of {test_set} is stored"

    def write(self, note, test_set, file):
        meta = {PLACE: place_of(self.kind, test_set, note.name), "digest": note.digest}
        write_parquet(pa.table({"name": [note.name]}), meta, file)


class ReplaceableNotes(Notes):
    def may_replace(self, note, _test_set):
        return note.digest == "newest"

    def put(self, change, note, test_set):
        change.replace_at(self.path(test_set, note.name), lambda file: self.write(note, test_set, file))


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path)


def test_add_says_whether_a_record_is_new(notes):
    assert notes.add(Note("a", "1"), "pets") == Stored(("a",), ())
    assert notes.add(Note("a", "1"), "pets") == Stored((), ("a",))
    assert notes.has("pets", "a") and not notes.has("pets", "b")


def test_add_refuses_other_content_and_keeps_the_stored_record(notes):
    notes.add(Note("a", "1"), "pets")
    before = notes.path("pets", "a").read_bytes()
    with pytest.raises(AlreadyStored, match="another note a of pets is stored"):
        notes.add(Note("a", "2"), "pets")
    assert notes.path("pets", "a").read_bytes() == before


def test_other_names_are_other_records(notes):
    for test_set, name in (("pets", "b"), ("pets", "a/b"), ("toys", "b")):
        notes.add(Note(name, "1"), test_set)
    assert notes.names("pets") == ("a/b", "b") and notes.names("toys") == ("b",) and notes.names("none") == ()


def test_add_replaces_where_the_collection_allows_it(tmp_path):
    notes = ReplaceableNotes(tmp_path)
    notes.add(Note("a", "1"), "pets")
    with pytest.raises(AlreadyStored):
        notes.add(Note("a", "2"), "pets")
    assert notes.add(Note("a", "newest"), "pets").new == ("a",)
    assert notes.add(Note("a", "newest"), "pets").unchanged == ("a",)


def test_one_change_cannot_store_two_records_at_one_place(notes):
    with pytest.raises(AlreadyStored, match="exists already"), transaction(notes.root) as change:
        notes.place(change, Note("a", "1"), "pets")
        notes.place(change, Note("a", "2"), "pets")
    assert notes.names("pets") == ()


def test_record_that_is_part_of_others_is_stored_once_per_change(notes, monkeypatch):
    monkeypatch.setattr(Notes, "part_of_others", True)
    with transaction(notes.root) as change:
        assert notes.place(change, Note("a", "1"), "pets").new == ("a",)
        assert notes.place(change, Note("a", "1"), "pets").unchanged == ("a",)
    assert notes.names("pets") == ("a",)


def test_removed_record_is_not_listed_as_lost(notes):
    notes.add(Note("a", "1"), "pets")
    notes.remove("pets", "a")
    assert notes.names("pets") == () and notes.lost_names("pets") == []


def test_record_that_is_deleted_by_hand_is_reported_once(notes, caplog):
    notes.add(Note("a", "1"), "pets")
    notes.path("pets", "a").unlink()
    assert notes.lost_names("pets") == ["a"]
    for _ in range(2):
        notes.warn_of_lost(notes.path("pets", name) for name in notes.lost_names("pets"))
    assert [record.getMessage() for record in caplog.records] == [
        "note: missing, and left out: slices/pets/a.parquet; `regrade verify` checks all files"
    ]
