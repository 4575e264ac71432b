"""Agreement of a panel: by hand, against statsmodels, and undefined measures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa

from regrade.stats import proportion
from regrade.studies import PanelVote, panel_agreement

PEOPLE = ("Ada", "Bob", "Cleo")


def votes_of(*items: str, people=PEOPLE, seconds=None) -> list[PanelVote]:
    """Votes by item, one letter per person; a dot is no vote."""
    return [
        PanelVote(number, person, letter, seconds=seconds)
        for number, letters in enumerate(items)
        for person, letter in zip(people, letters, strict=False)
        if letter != "."
    ]


def agree(votes, *, overlap=3):
    return panel_agreement(votes, queue="q", of="verdict", overlap=overlap)


def reviewers(agreement):
    return {reviewer.person: reviewer for reviewer in agreement.reviewers}


class TestByHand:
    AGREEMENT = agree(votes_of("ccc", "ccw", "www", "cwu"))

    def test_measures(self):
        """Pairs that are equal: 3 + 1 + 3 + 0 of 12. Answers: 6 c, 5 w, 1 u of 12."""
        (measures,) = self.AGREEMENT.measures
        assert measures.equal.value == pytest.approx(7 / 12)
        chance = (6**2 + 5**2 + 1**2) / 12**2
        assert measures.fleiss.value == pytest.approx((7 / 12 - chance) / (1 - chance))
        without_putting_back = (6 * 5 + 5 * 4) / (12 * 11)
        alpha = 1 - (1 - 7 / 12) / (1 - without_putting_back)
        assert measures.krippendorff.value == pytest.approx(alpha)
        assert measures.undefined == ()
        assert (self.AGREEMENT.votes, self.AGREEMENT.items) == (12, 4)
        for estimate in (measures.equal, measures.fleiss, measures.krippendorff):
            assert estimate.low < estimate.value < estimate.high and estimate.n == 4

    def test_reviewers_compared_with_the_majority_of_others(self):
        """On the second item the others of Ada and Bob are tied; on the last everyone's are."""
        people = reviewers(self.AGREEMENT)
        assert people["Ada"].with_others == people["Bob"].with_others == proportion(2, 2)
        assert people["Cleo"].with_others == proportion(2, 3)
        assert {reviewer.votes for reviewer in people.values()} == {4}

    def test_own_vote_does_not_count_towards_the_majority(self):
        """With it, the first item would be a tie for Ada and Bob."""
        people = reviewers(agree(votes_of("ccww", "cwww", people=(*PEOPLE, "Dan")), overlap=4))
        assert people["Ada"].with_others == proportion(0, 2)  # c, against (c, w, w) and (w, w, w)
        assert people["Bob"].with_others == proportion(1, 2)  # c against (c, w, w); w against (c, w, w)

    def test_with_two_people_the_majority_is_the_other_person(self):
        people = reviewers(agree(votes_of("cc", "cw", "ww"), overlap=2))
        assert people["Ada"].with_others == people["Bob"].with_others == proportion(2, 3)

    def test_severity_of_mistakes_is_measured_too(self):
        votes = [
            PanelVote(item, person, "spurious", severity)
            for item, severities in enumerate((("major", "major"), ("minor", "major"), ("minor", "minor")))
            for person, severity in zip(PEOPLE, severities, strict=False)
        ]
        category, severity = agree(votes, overlap=2).measures
        assert category.equal.value == 1 and category.fleiss is None
        assert severity.of == "severity" and severity.equal.value == pytest.approx(2 / 3)
        assert severity.fleiss.value == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))

    def test_median_seconds(self):
        votes = [PanelVote(item, "Ada", "c", seconds=float(item)) for item in range(1, 10)]
        agreement = agree([*votes, PanelVote(1, "Bob", "c")])
        assert agreement.reviewers[0].seconds.value == agreement.seconds.value == 5
        assert agreement.reviewers[1].seconds is None


class TestOracle:
    def test_fleiss_kappa_is_that_of_statsmodels(self):
        rng = np.random.default_rng(5)
        table = rng.multinomial(4, (0.5, 0.3, 0.2), 60)
        letters = ["".join(letter * count for letter, count in zip("cwu", row, strict=True)) for row in table]
        agreement = agree(votes_of(*letters, people=("A", "B", "C", "D")), overlap=4)
        assert agreement.measures[0].fleiss.value == pytest.approx(fleiss_kappa(table))

    def test_measures_do_not_depend_on_who_voted(self):
        """Three of five people vote on each item: Fleiss' kappa needs as many votes, not the same people."""
        rng = np.random.default_rng(6)
        rows = rng.choice(list("cwu"), (40, 3), p=(0.6, 0.3, 0.1))
        same = agree(votes_of(*("".join(row) for row in rows)))
        chosen = [rng.permutation(5)[:3] for _ in rows]
        moved = agree(
            [PanelVote(i, str(p), a) for i, (row, who) in enumerate(zip(rows, chosen, strict=True))
             for a, p in zip(row, who, strict=True)]
        )  # fmt: skip
        assert moved.measures == same.measures
        assert len(moved.reviewers) == 5


class TestUndefined:
    def test_one_person(self):
        agreement = agree(votes_of("c", "w"), overlap=1)
        (measures,) = agreement.measures
        assert (measures.equal, measures.fleiss, measures.krippendorff) == (None, None, None)
        assert measures.undefined == ("no item has the votes of two people yet",)
        assert agreement.reviewers[0].with_others is None
        assert "–" in str(agreement) and "two people" in str(agreement)
        assert "Ada: the others" in str(agreement.reviewer_table())

    def test_no_votes(self):
        assert agree([]).reviewers == () and "two people" in str(agree([]))

    def test_unanimous_votes(self):
        (measures,) = agree(votes_of("ccc", "ccc", "ccc")).measures
        assert measures.equal.value == 1 and measures.equal.low < 1
        assert measures.fleiss is None and measures.krippendorff is None
        assert [reason.split(":")[0] for reason in measures.undefined] == [
            "no Fleiss' kappa",
            "no Krippendorff's alpha",
        ]

    def test_missing_votes(self):
        """Kappa has one item with all votes; the rest counts for alpha and equal answers."""
        (measures,) = agree(votes_of("ccw", "cc.", "cw.", "c..")).measures
        assert measures.fleiss is None and measures.undefined == (
            "no Fleiss' kappa: fewer than two items have all votes",
        )
        assert measures.krippendorff.n == measures.equal.n == 3

    def test_one_item(self):
        (measures,) = agree(votes_of("ccw")).measures
        assert measures.equal is None and measures.krippendorff is None and len(measures.undefined) == 3

    def test_tied_others(self):
        agreement = agree(votes_of("ccw", "ccw"))
        assert [reviewer.with_others is None for reviewer in agreement.reviewers] == [True, True, False]
        assert agreement.as_dict()["reviewers"][0]["with_others"] is None


letters = st.text("cwu.", min_size=3, max_size=3)


@given(st.lists(letters, min_size=1, max_size=12))
def test_reviewer_agreement_matches_a_slow_reference(items):
    people = reviewers(agree(votes_of(*items)))
    for place, person in enumerate(PEOPLE):
        agrees = []
        for votes in items:
            rest = [letter for n, letter in enumerate(votes) if n != place and letter != "."]
            if votes[place] != "." and rest and not (len(rest) == 2 and rest[0] != rest[1]):
                agrees.append(votes[place] == rest[0])
        got = people[person].with_others if person in people else None
        assert got == (proportion(sum(agrees), len(agrees)) if agrees else None)


@given(st.lists(letters, min_size=2, max_size=12), st.randoms())
def test_names_and_order_do_not_matter(items, random):
    votes = votes_of(*items)
    shuffled = random.sample(votes, len(votes))
    renamed = [PanelVote(100 - vote.item, vote.person, vote.answer * 2) for vote in shuffled]
    original, changed = agree(votes), agree(renamed)
    assert original.reviewers == changed.reviewers
    for name in ("equal", "fleiss", "krippendorff"):
        before, after = getattr(original.measures[0], name), getattr(changed.measures[0], name)
        assert (before is None) == (after is None)
        if before is not None:
            assert before.value == pytest.approx(after.value)
