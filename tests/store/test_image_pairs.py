"""Stored pairs: searches and decisions are only added, read back as they were, and missed when they are lost."""

from dataclasses import replace

import pytest

import regrade
from regrade.core import DamagedFile, ImagePair, MismatchError, PairDecision, PairSearch, PairSide
from regrade.core.panel import PairRelation
from regrade.store import DecisionBatch

DUPLICATE, DIFFERENT = PairRelation.DUPLICATE, PairRelation.DIFFERENT


def pair(image, reference, **distances):
    return ImagePair(PairSide("pets", image), PairSide("train", reference), distances, mirrored=reference == "m")


@pytest.fixture
def store(tmp_path):
    (tmp_path / "pets.csv").write_text("id,label\na,1\nb,2\nc,2\n")
    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("pets", tmp_path / "pets.csv", classes="digits")
    return workspace.store


@pytest.fixture
def search(store):
    digest = store.test_set("pets").digest
    pairs = (pair("a", "x", pixels=3.0, dssim=0.1), pair("b", "m", exact=0.0))
    return PairSearch("pets", digest, "train", "d2", {"pixels": 5.0}, 30, 256, "", "v2", ("a", "b", "c"), pairs, 1, 2)


def test_searches_are_read_back_and_stored_once(store, search):
    assert store.pair_searches.append(search)
    assert not store.pair_searches.append(search)
    assert store.pair_searches.read("pets") == (search,)
    assert store.pair_searches.pairs("pets") == {stored.key: stored for stored in search.pairs}
    assert store.pair_searches.read("train") == ()


def test_a_search_that_was_superseded_is_stored_again_as_the_last(store, search):
    wider = replace(search, targets={"pixels": 9.0})
    for stored in (search, wider, search):
        assert store.pair_searches.append(stored)
    assert [stored.targets["pixels"] for stored in store.pair_searches.read("pets")] == [5.0, 9.0, 5.0]
    assert not store.pair_searches.append(search)


def test_a_stored_search_answers_the_same_question_only(store, search):
    store.pair_searches.append(search)
    question = replace(search, pairs=(), same_source=0, crowded=0)
    assert store.pair_searches.stored(question) == search
    for other_question in (replace(question, images=("a",)), replace(question, build=""), replace(question, size=64)):
        assert store.pair_searches.stored(other_question) is None


def decision(image, relation, at="2026-01-01T00:00:00+00:00"):
    return PairDecision(PairSide("pets", image), PairSide("train", "x"), relation, "q", at)


def test_decisions_are_added_and_the_last_holds(store):
    pets = store.test_set("pets")
    first, second = decision("a", DUPLICATE), decision("b", DIFFERENT)
    store.pair_decisions.append(DecisionBatch("pets", pets.digest, "q", (first, second)))
    store.pair_decisions.append(
        DecisionBatch("pets", pets.digest, "q", (decision("a", None), decision("b", DUPLICATE)))
    )
    assert len(store.pair_decisions.read(pets)) == 4
    assert [held.relation for held in store.pair_decisions.standing([pets, pets]).values()] == [DUPLICATE]


def test_files_of_pairs_are_verified(store, search):
    workspace = regrade.open(store.root)
    workspace.ledger.engine.dispose()  # decisions come from a ledger
    store.pair_searches.append(search)
    pets = store.test_set("pets")
    store.pair_decisions.append(DecisionBatch("pets", pets.digest, "q", (decision("a", DUPLICATE),)))
    assert workspace.verify().problems == ()
    path = store.pair_searches.path("pets", "search-0001")
    path.write_bytes(path.read_bytes().replace(b"v2", b"v3"))
    assert [problem.subject for problem in workspace.verify().problems] == ["pairs/pets/search-0001.parquet"]


def test_lost_decisions_are_missed(store, search):
    pets = store.test_set("pets")
    store.pair_searches.append(search)
    store.pair_decisions.append(DecisionBatch("pets", pets.digest, "q", (decision("a", DUPLICATE),)))
    store.pair_decisions.path("pets", "decisions-0001").unlink()
    with pytest.raises(DamagedFile, match=r"decisions-0001.parquet is missing although contents.json lists it"):
        store.pair_decisions.standing([pets])
    assert len(store.pair_searches.read("pets")) == 1
    store.pair_searches.path("pets", "search-0001").unlink()
    with pytest.raises(DamagedFile, match="search-0001"):
        store.pair_searches.pairs("pets")


def test_decisions_on_another_version_of_a_test_set_raise(store):
    pets = store.test_set("pets")
    store.pair_decisions.append(DecisionBatch("pets", "0" * 64, "q", (decision("a", DUPLICATE),)))
    with pytest.raises(MismatchError, match="was made for another version of test set 'pets'"):
        store.pair_decisions.read(pets)
