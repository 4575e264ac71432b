"""Which candidates duplicates exclude: each component keeps one, whatever the order of candidates and pairs."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.build.duplicates import DuplicateCheck, DuplicateReview, surplus_candidates
from regrade.build.eligibility import Candidate, Eligibility
from regrade.core import ImagePair, InputError, PairDecision, PairSearch, PairSide
from regrade.core.image_pairs import standing_decisions
from regrade.core.panel import PairRelation

DUPLICATE, DIFFERENT = PairRelation.DUPLICATE, PairRelation.DIFFERENT
TARGETS = {"pixels": 100.0, "dssim": 0.2}

images = st.sampled_from("abcdefgh")
candidate_lists = st.dictionaries(images, st.tuples(st.sampled_from([0.5, 0.7, 1.0]), st.sampled_from([10, 20]))).map(
    lambda rows: [Candidate(image, "n1", frequency, answers) for image, (frequency, answers) in rows.items()]
)
edge_lists = st.lists(st.tuples(images, images), max_size=10)


@given(candidate_lists, edge_lists)
def test_each_surplus_candidate_is_a_duplicate_of_a_better_kept_one(candidates, edges):
    surplus = surplus_candidates(candidates, edges)
    rank = {c.image: (-c.frequency, -c.assignments, c.image) for c in candidates}
    for image, own in rank.items():
        better = {name for edge in edges if image in edge for name in edge if name in rank and rank[name] < own}
        assert (image in surplus) == bool(better - surplus)


def test_surplus_candidates_of_a_chain_and_of_equal_images():
    chain = [Candidate(image, "n1", frequency, 10) for image, frequency in (("a", 1.0), ("b", 0.7), ("c", 0.5))]
    edges = [("a", "b"), ("b", "c")]
    assert surplus_candidates(chain, edges) == {"b"}  # c is not a duplicate of a, the kept one
    assert surplus_candidates(chain, edges, edges) == {"b", "c"}


@given(candidate_lists, edge_lists, st.randoms(use_true_random=False))
def test_the_kept_candidates_do_not_depend_on_any_order(candidates, edges, shuffler: random.Random):
    mixed, turned = list(candidates), [edge[::-1] for edge in edges]
    shuffler.shuffle(mixed)
    shuffler.shuffle(turned)
    assert surplus_candidates(mixed, turned) == surplus_candidates(candidates, edges)


def pair(first, second, against="pool", **distances):
    return ImagePair(PairSide("pool", first), PairSide(against, second), distances or {"pixels": 50.0})


def search(*pairs, against="pool", targets=TARGETS, compared="abcdef", model=""):
    return PairSearch("pool", "d1", against, "d2", targets, 30, 256, model, "v2", tuple(compared), pairs)


def review(*searches, **decided):
    """A review; ``decided`` are relations by the two images of a pair, such as ``ab=DUPLICATE``."""
    pairs = {near.first.image + near.second.image: near for stored in searches for near in stored.pairs}
    decisions = [
        PairDecision(pairs[name].first, pairs[name].second, relation, "q", "now") for name, relation in decided.items()
    ]
    return DuplicateReview("v2", "pool", searches, standing_decisions(decisions))


def candidates(**frequencies):
    return [Candidate(image, "n1", frequency, 10) for image, frequency in frequencies.items()]


def test_duplicates_outside_the_pool_are_excluded_and_those_inside_keep_one():
    state = review(
        search(pair("a", "b"), pair("c", "d"), pair("e", "f")),
        search(pair("a", "r", "reference"), against="reference"),
        ab=DUPLICATE, cd=DUPLICATE, ef=DIFFERENT, ar=DUPLICATE,
    )  # fmt: skip
    pool = candidates(a=1.0, b=0.5, c=0.7, d=0.9, e=0.4, f=0.4)
    assert state.near_duplicates(pool, Eligibility()) == {"a", "c"}  # b stays, since a cannot be drawn
    assert state.unreviewed == frozenset()


def test_a_candidate_that_cannot_be_drawn_does_not_exclude_its_duplicate():
    state = review(search(pair("a", "b")), ab=DUPLICATE)
    pool = candidates(a=1.0, b=0.5)
    assert state.near_duplicates(pool, Eligibility()) == {"b"}
    assert state.near_duplicates(pool, Eligibility(blacklist=frozenset("a"))) == frozenset()
    few = [Candidate("a", "n1", 1.0, 9), Candidate("b", "n1", 0.5, 10)]
    assert state.near_duplicates(few, Eligibility()) == frozenset()


def test_exact_duplicates_need_no_decision():
    state = review(search(pair("a", "b", exact=0.0, pixels=0.0), pair("c", "d")))
    assert state.near_duplicates(candidates(a=0.5, b=0.6, c=1.0, d=1.0), Eligibility()) == {"a"}
    assert state.unreviewed == {"c", "d"}


def test_the_targets_of_the_last_search_hold():
    wide, narrow = search(pair("a", "b", pixels=90.0)), search(targets={"pixels": 80.0})
    assert review(wide).unreviewed == {"a", "b"}
    assert review(wide, narrow).unreviewed == frozenset()
    assert review(narrow, wide).unreviewed == {"a", "b"}


def test_distances_of_another_model_do_not_count():
    targets = {"embeddings": 9.0}
    first = search(pair("a", "b", embeddings=5.0), targets=targets, model="vgg")
    assert review(first).unreviewed == {"a", "b"}
    assert review(first, search(targets=targets, model="resnet")).unreviewed == frozenset()


class TestCheck:
    def check(self, state, drawn="ab"):
        state.check(list(drawn), reference="reference", revision=3)

    def test_a_set_must_be_compared_with_itself_and_with_the_reference(self):
        with pytest.raises(InputError, match=r"revision 3 of v2 were not compared with each other and reference: run"):
            self.check(review())
        with pytest.raises(InputError, match="not compared with reference"):
            self.check(review(search(), search(against="reference", compared="a")))
        halves = search(against="reference", compared="a"), search(against="reference", compared="b")
        with pytest.raises(InputError, match="not compared with each other"):
            self.check(review(search(compared="a"), search(compared="b"), *halves))
        self.check(review(search(), *halves))

    def test_a_search_at_lower_targets_does_not_count(self):
        low = [search(targets={"pixels": 10.0}), search(against="reference", targets={"pixels": 10.0})]
        self.check(review(*low))
        with pytest.raises(InputError, match="not compared with each other"):
            self.check(review(*low, search(against="reference")))

    def test_a_pair_without_a_decision_is_named(self):
        between = search(pair("a", "r", "reference", dssim=0.1), against="reference")
        with pytest.raises(InputError, match=r"1 pair of .* is not reviewed, for instance 'a' and 'r' of reference"):
            self.check(review(search(pair("e", "f")), between))
        self.check(review(search(pair("e", "f")), between), drawn="bc")
        self.check(review(search(), between, ar=DIFFERENT))

    def test_decided_duplicates_are_refused_in_a_drawn_set(self):
        state = review(search(pair("a", "b")), ab=DUPLICATE)
        state.refuse_duplicates(["a", "c"], revision=3)
        with pytest.raises(
            InputError, match=r"contains 1 near duplicate, for instance 'a' and 'b' .* sample v2 --from 3"
        ):
            state.refuse_duplicates(["a", "b"], revision=3)
        state = review(search(), search(pair("a", "r", "reference"), against="reference"), ar=DUPLICATE)
        with pytest.raises(InputError, match="'a' and 'r' of reference"):
            state.refuse_duplicates(["a"], revision=3)


def test_summary_counts_pairs_by_who_decided_them():
    state = review(
        search(pair("a", "b", exact=0.0), pair("c", "d"), pair("e", "f"), pair("a", "f")),
        search(against="reference"),
        cd=DUPLICATE, ef=DIFFERENT,
    )  # fmt: skip
    expected = DuplicateCheck(False, ("pool", "reference"), TARGETS, 30, "", 4, 1, 1, 1, 1)
    assert state.summary(["a"], "reference") == expected
    assert state.summary(["c"], "reference").checked
    assert not DuplicateReview("v2", "pool").summary(["c"], "reference").checked
