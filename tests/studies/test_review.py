"""Reviews of novel predictions: random samples, and unbiased estimates."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade import studies
from regrade.core import (
    ClassSpace,
    InputError,
    LabelSet,
    LabelState,
    NovelSample,
    Predictions,
    StratifyBy,
    TestSet,
    Unlisted,
)
from regrade.metrics import MultilabelRule
from regrade.studies import MultilabelScoring, Novel, ReviewedLabels, Scoring, novel_predictions
from regrade.studies.compare.analysis import compare
from regrade.studies.grade.analysis import grade

IMAGES, CLASSES, MODELS = 200, 12, 5
SPACE = ClassSpace("dozen", tuple("abcdefghijkl"))


def draw_review(novel: Novel, *, size: int, by: StratifyBy, rng: np.random.Generator) -> NovelSample:
    """A review of which the first ``size`` pairs were drawn."""
    return replace(studies.draw_review(novel, by=by, rng=rng), drawn=size)


class World:
    """Models on images with known truth for every class, only part of which is in the labels."""

    def __init__(self) -> None:
        rng = np.random.default_rng(11)
        self.originals = rng.integers(0, CLASSES, IMAGES).astype(np.int32)
        states = [LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG]
        self.truth = rng.choice(states, (IMAGES, CLASSES), p=(0.4, 0.2, 0.4))
        judged = rng.random((IMAGES, CLASSES)) < 0.4
        self.test_set = TestSet("set", SPACE, tuple(f"i{n}" for n in range(IMAGES)), self.originals)
        examples, classes = np.nonzero(judged)
        self.labels = LabelSet(
            "judged", 1, "set", CLASSES, examples, classes, self.truth[judged].astype(np.int8),
            np.ones(IMAGES, dtype=bool), ("",) * IMAGES, Unlisted.NOVEL,
        )  # fmt: skip
        popular = rng.integers(0, CLASSES, IMAGES)
        self.best = [
            np.where(rng.random(IMAGES) < 0.6, popular, rng.integers(0, CLASSES, IMAGES)) for _ in range(MODELS)
        ]
        self.predictions = [
            Predictions(f"m{m}", "set", "dozen", best[:, None].astype(np.int32), rng.random((IMAGES, 1)))
            for m, best in enumerate(self.best)
        ]

    def novel(self) -> Novel:
        return novel_predictions(self.test_set, self.predictions, MultilabelScoring(self.labels))

    def judged(self, frame: NovelSample, upto: int | None = None) -> NovelSample:
        """The frame with true decisions on the first pairs of its sample."""
        states = frame.states.copy()
        rows = frame.given_out(0, frame.drawn if upto is None else upto)
        states[rows] = self.truth[frame.examples[rows], frame.classes[rows]]
        return NovelSample(**{**vars_of(frame), "states": states})

    def grade(self, rule: MultilabelRule, frame: NovelSample | None):
        labels = ReviewedLabels(MultilabelScoring(self.labels, rule), frame)
        scored = [(p, Scoring(self.test_set)) for p in self.predictions]
        return {row.model: row for row in grade(self.test_set, scored, labels=labels).rows}

    def compare(self, frame: NovelSample | None, predictions: list[Predictions] | None = None):
        labels = ReviewedLabels(MultilabelScoring(self.labels), frame)
        scored = [(p, Scoring(self.test_set)) for p in predictions or self.predictions]
        return compare(self.test_set, scored, labels=labels)

    def true_accuracy(self, model: int, rule: MultilabelRule) -> float:
        right = np.isin(self.truth[np.arange(IMAGES), self.best[model]], rule.accepted)
        if rule is MultilabelRule.IMAGES:
            return float(right.mean())
        return float(np.mean([right[self.originals == c].mean() for c in np.unique(self.originals)]))


def vars_of(frame: NovelSample) -> dict:
    return {name: getattr(frame, name) for name in NovelSample.__dataclass_fields__}


@pytest.fixture(scope="module")
def world() -> World:
    return World()


class TestNovel:
    def test_novel_predictions_match_a_slow_reference(self, world):
        novel = world.novel()
        judged = set(zip(world.labels.examples.tolist(), world.labels.classes.tolist(), strict=True))
        votes: dict[tuple[int, int], int] = {}
        best: dict[tuple[int, int], float] = {}
        for predictions in world.predictions:
            for image, (answer,) in enumerate(predictions.classes.tolist()):
                if (image, answer) not in judged:
                    votes[image, answer] = votes.get((image, answer), 0) + 1
                    best[image, answer] = max(best.get((image, answer), 0.0), float(predictions.scores[image, 0]))
        pairs = list(zip(novel.examples.tolist(), novel.classes.tolist(), strict=True))
        assert dict(zip(pairs, novel.votes.tolist(), strict=True)) == votes
        assert dict(zip(pairs, novel.scores.tolist(), strict=True)) == best
        assert novel.models == MODELS
        assert (np.diff(novel.votes) <= 0).all()

    def test_a_table_with_the_names_of_classes(self, world):
        novel = world.novel()
        table = novel.table()
        assert novel.as_dict()["novel"] == table.records() and novel.as_dict()["test_set"] == world.test_set.name
        first = (f"i{novel.examples[0]}", SPACE.ids[novel.classes[0]])
        assert table.rows[0][:2] == first
        assert len(table.rows) == len(novel.votes)

    def test_complete_labels_leave_nothing_novel(self, world):
        complete = LabelSet(
            "all", 1, "set", CLASSES, world.labels.examples, world.labels.classes, world.labels.states,
            world.labels.covered, world.labels.reasons, Unlisted.WRONG,
        )  # fmt: skip
        novel = novel_predictions(world.test_set, world.predictions, MultilabelScoring(complete))
        assert len(novel.votes) == 0
        with pytest.raises(InputError, match="no novel prediction"):
            draw_review(novel, size=1, by=StratifyBy.NOTHING, rng=np.random.default_rng(0))


class TestDraw:
    @given(st.data(), st.sampled_from(StratifyBy), st.integers(0, 1000))
    def test_sample_is_proportional_to_the_strata(self, data, by, seed):
        novel = World().novel()
        size = data.draw(st.integers(1, len(novel.votes)))
        frame = draw_review(novel, size=size, by=by, rng=np.random.default_rng(seed))
        assert sorted(frame.turns) == list(range(len(novel.votes)))
        sizes = np.bincount(frame.strata)
        drawn = np.bincount(frame.strata[frame.given_out(0, size)], minlength=len(sizes))
        assert (drawn <= sizes).all()
        if size >= 2 * len(sizes):
            assert (drawn >= np.minimum(sizes, 2)).all()
            fair = size * sizes / sizes.sum()
            assert (np.abs(drawn - fair) < 2 + len(sizes)).all()
        assert not frame.judged.any()

    def test_strata_by_votes_and_by_score(self, world):
        novel = world.novel()
        rng = np.random.default_rng(0)
        votes = draw_review(novel, size=10, by=StratifyBy.VOTES, rng=rng)
        assert votes.strata.tolist() == [int(np.log2(v)) for v in novel.votes]
        score = draw_review(novel, size=10, by=StratifyBy.SCORE, rng=rng)
        assert np.ptp(np.bincount(score.strata)) <= 1 and len(np.bincount(score.strata)) == 4
        assert novel.scores[score.strata == 0].max() <= novel.scores[score.strata == 3].min()
        assert draw_review(novel, size=10, by=StratifyBy.NOTHING, rng=rng).strata.max() == 0

    def test_every_pair_of_a_stratum_has_the_same_chance(self, world):
        novel = world.novel()
        draws = 1000
        counts = np.zeros(len(novel.votes))
        for seed in range(draws):
            frame = draw_review(novel, size=60, by=StratifyBy.VOTES, rng=np.random.default_rng(seed))
            counts[frame.given_out(0, 60)] += 1
        for stratum in np.unique(frame.strata):
            inside = frame.strata == stratum
            share = counts[inside].mean() / draws
            spread = np.sqrt(share * (1 - share) / draws)
            assert (np.abs(counts[inside] / draws - share) < 5 * spread + 1e-9).all()

    def test_continuing_keeps_the_order(self, world):
        frame = draw_review(world.novel(), size=0, by=StratifyBy.VOTES, rng=np.random.default_rng(0))
        first, more = frame.given_out(0, 30), frame.given_out(30, 50)
        assert not set(first) & set(more)
        assert [*first, *more] == frame.given_out(0, 50).tolist()

    def test_scores_are_needed_to_stratify_by_them(self, world):
        bare = [Predictions(p.model, "set", "dozen", p.classes) for p in world.predictions]
        novel = novel_predictions(world.test_set, bare, MultilabelScoring(world.labels))
        with pytest.raises(InputError, match="stratify by votes"):
            draw_review(novel, size=5, by=StratifyBy.SCORE, rng=np.random.default_rng(0))


class TestEstimate:
    @pytest.mark.parametrize("rule", MultilabelRule)
    def test_judging_everything_gives_the_truth(self, world, rule):
        novel = world.novel()
        frame = draw_review(novel, size=len(novel.votes), by=StratifyBy.VOTES, rng=np.random.default_rng(0))
        rows = world.grade(rule, world.judged(frame))
        for m in range(MODELS):
            row = rows[f"m{m}"]
            truth = pytest.approx(world.true_accuracy(m, rule), abs=1e-12)
            assert (row.reviewed.value, row.multilabel.value, row.multilabel_upper.value) == (truth,) * 3
            assert row.novel == 0

    @pytest.mark.parametrize("rule", MultilabelRule)
    @pytest.mark.parametrize("by", StratifyBy)
    def test_estimate_is_unbiased(self, world, rule, by):
        """Its interval, which also covers the sampling of images, contains the truth of these images almost always."""
        draws = 150
        novel = world.novel()
        values, held = np.empty((draws, MODELS)), 0
        for seed in range(draws):
            frame = draw_review(novel, size=90, by=by, rng=np.random.default_rng(seed))
            rows = world.grade(rule, world.judged(frame))
            for m in range(MODELS):
                row = rows[f"m{m}"]
                values[seed, m] = row.reviewed.value
                held += row.reviewed.low <= world.true_accuracy(m, rule) <= row.reviewed.high
        truth = [world.true_accuracy(m, rule) for m in range(MODELS)]
        errors = values.mean(axis=0) - truth
        assert (np.abs(errors) < 4 * values.std(axis=0) / np.sqrt(draws) + 5e-4).all(), errors
        assert held / (draws * MODELS) > 0.95

    def test_stopping_early_is_unbiased(self, world):
        draws, m = 200, 2
        values = []
        for seed in range(draws):
            frame = draw_review(world.novel(), size=120, by=StratifyBy.VOTES, rng=np.random.default_rng(seed))
            values.append(world.grade(MultilabelRule.IMAGES, world.judged(frame, upto=60))[f"m{m}"].reviewed.value)
        error = np.mean(values) - world.true_accuracy(m, MultilabelRule.IMAGES)
        assert abs(error) < 4 * np.std(values) / np.sqrt(draws) + 5e-4

    @pytest.mark.parametrize("rule", MultilabelRule)
    def test_anytime_interval_covers_at_all_looks_and_converges(self, world, rule):
        novel = world.novel()
        looks, missed, runs = (20, 60, 120, len(novel.votes)), 0, 6
        for seed in range(runs):
            frame = draw_review(novel, size=len(novel.votes), by=StratifyBy.VOTES, rng=np.random.default_rng(seed))
            grades = [world.grade(rule, world.judged(frame, upto=look)) for look in looks]
            for m in range(MODELS):
                truth = world.true_accuracy(m, rule)
                estimates = [rows[f"m{m}"].anytime for rows in grades]
                missed += any(not e.low - 1e-9 <= truth <= e.high + 1e-9 for e in estimates)
                assert (estimates[-1].low, estimates[-1].high) == pytest.approx((truth, truth))
        assert missed <= 5  # of 30 sequences, five of which share a review

    def test_anytime_interval_is_labeled_in_table_and_json(self, world):
        frame = draw_review(world.novel(), size=40, by=StratifyBy.VOTES, rng=np.random.default_rng(0))
        labels = ReviewedLabels(MultilabelScoring(world.labels), world.judged(frame))
        result = grade(world.test_set, [(p, Scoring(world.test_set)) for p in world.predictions], labels=labels)
        headings = [column.heading for column in result.table().columns]
        assert "these images, valid at any stopping point" in headings
        assert any(note.startswith("valid at any stopping point") for note in result.notes)
        assert result.as_dict()["rows"][0]["anytime"]["method"] == "confidence sequence 95%"

    def test_anytime_differences_cover_at_all_looks_and_converge(self, world):
        novel = world.novel()
        looks, runs = (20, 60, 120, len(novel.votes)), 6
        missed, narrowed = 0, 0
        for seed in range(runs):
            frame = draw_review(novel, size=len(novel.votes), by=StratifyBy.VOTES, rng=np.random.default_rng(seed))
            for pairs in zip(*(world.compare(world.judged(frame, upto=look)).pairs for look in looks), strict=True):
                accuracies = [
                    world.true_accuracy(int(name[1:]), MultilabelRule.IMAGES)
                    for name in (pairs[0].first, pairs[0].second)
                ]
                truth = accuracies[0] - accuracies[1]
                estimates = [pair.anytime for pair in pairs]
                missed += any(not e.low - 1e-9 <= truth <= e.high + 1e-9 for e in estimates)
                assert (estimates[-1].low, estimates[-1].high) == pytest.approx((truth, truth))
                narrowed += pairs[2].anytime.half_width < (pairs[2].highest - pairs[2].lowest) / 2
        assert missed <= 10  # of 60 sequences, ten of which share a review
        assert narrowed > 30  # narrower than what is possible

    def test_anytime_difference_is_labeled_in_table_and_json(self, world):
        frame = draw_review(world.novel(), size=40, by=StratifyBy.VOTES, rng=np.random.default_rng(0))
        result = world.compare(world.judged(frame))
        table = result.pair_table()
        assert "difference on these images, valid at any stopping point" in [c.heading for c in table.columns]
        assert any(note.startswith("valid at any stopping point") for note in table.notes)
        assert result.as_dict()["pairs"][0]["anytime"]["method"] == "confidence sequence 95%"

    def test_anytime_difference_of_equal_models_is_zero(self, world):
        frame = draw_review(world.novel(), size=40, by=StratifyBy.VOTES, rng=np.random.default_rng(0))
        same = replace(world.predictions[0], model="copy")
        pair = world.compare(world.judged(frame), [world.predictions[0], same]).pairs[0]
        assert (pair.anytime.low, pair.anytime.value, pair.anytime.high) == (0, 0, 0)

    def test_anytime_difference_needs_a_decision_and_no_problematic_image(self, world):
        frame = draw_review(world.novel(), size=40, by=StratifyBy.VOTES, rng=np.random.default_rng(0))
        assert all(pair.anytime is None for pair in world.compare(frame).pairs)
        assert all(pair.anytime is None for pair in world.compare(None).pairs)
        states = world.judged(frame).states.copy()
        states[frame.given_out(0, 1)] = LabelState.PROBLEMATIC
        result = world.compare(replace(frame, states=states))
        assert all(pair.anytime is None for pair in result.pairs)
        for table in (result.table(), result.pair_table()):
            assert sum(note.startswith("no difference is valid at any stopping point") for note in table.notes) == 1
        without = world.compare(world.judged(frame)).pair_table().notes
        assert not any(note.startswith("no difference is valid") for note in without)

    def test_counting_novel_predictions_wrong_is_far_from_the_truth(self, world):
        """The reason for the estimate: the bounds are far apart."""
        row = world.grade(MultilabelRule.IMAGES, None)["m0"]
        assert row.multilabel_upper.value - row.multilabel.value > 0.3
        assert row.reviewed is None

    def test_no_estimate_without_decisions(self, world):
        frame = draw_review(world.novel(), size=20, by=StratifyBy.VOTES, rng=np.random.default_rng(0))
        assert all(row.reviewed is None for row in world.grade(MultilabelRule.IMAGES, frame).values())

    def test_no_estimate_for_predictions_outside_the_frame(self, world):
        novel = novel_predictions(world.test_set, world.predictions[:4], MultilabelScoring(world.labels))
        frame = draw_review(novel, size=len(novel.votes), by=StratifyBy.VOTES, rng=np.random.default_rng(0))
        rows = world.grade(MultilabelRule.IMAGES, world.judged(frame))
        assert rows["m4"].reviewed is None and rows["m4"].novel > 0
        assert all(rows[f"m{m}"].reviewed for m in range(4))


class Flawed(World):
    """The same world, in which some images are problematic for every class."""

    def __init__(self) -> None:
        super().__init__()
        self.bad = np.random.default_rng(5).random(IMAGES) < 0.15
        self.truth[self.bad] = LabelState.PROBLEMATIC
        listed = np.isin(np.arange(IMAGES), self.novel().examples)
        self.bad &= listed  # a problematic image that was never shown stays unknown

    def true_accuracy(self, model: int, rule: MultilabelRule) -> float:
        listed_states = np.zeros((IMAGES, CLASSES), dtype=np.int8)
        listed_states[self.labels.examples, self.labels.classes] = self.labels.states
        answers = np.arange(IMAGES), self.best[model]
        states = np.where(listed_states[answers] > 0, listed_states[answers], self.truth[answers])
        right = np.isin(states, rule.accepted) & ~self.bad
        if rule is MultilabelRule.IMAGES:
            return float(right[~self.bad].mean())
        own = self.originals
        return float(np.mean([right[~self.bad & (own == c)].mean() for c in np.unique(own[~self.bad])]))


@pytest.fixture(scope="module")
def flawed() -> Flawed:
    return Flawed()


class TestProblematic:
    @pytest.mark.parametrize("rule", MultilabelRule)
    def test_judging_everything_gives_the_truth(self, flawed, rule):
        novel = flawed.novel()
        frame = draw_review(novel, size=len(novel.votes), by=StratifyBy.VOTES, rng=np.random.default_rng(0))
        rows = flawed.grade(rule, flawed.judged(frame))
        assert flawed.bad.sum() > 15
        for m in range(MODELS):
            row = rows[f"m{m}"]
            truth = pytest.approx(flawed.true_accuracy(m, rule), abs=1e-12)
            assert (row.reviewed.value, row.multilabel.value, row.multilabel_upper.value) == (truth,) * 3
            assert (row.novel, row.multilabel.n, row.reviewed.n) == (0, *[IMAGES - flawed.bad.sum()] * 2)

    @pytest.mark.parametrize("rule", MultilabelRule)
    def test_estimate_is_unbiased(self, flawed, rule):
        draws = 150
        novel = flawed.novel()
        values, held = np.empty((draws, MODELS)), 0
        for seed in range(draws):
            frame = draw_review(novel, size=90, by=StratifyBy.VOTES, rng=np.random.default_rng(seed))
            rows = flawed.grade(rule, flawed.judged(frame))
            for m in range(MODELS):
                values[seed, m] = rows[f"m{m}"].reviewed.value
                held += rows[f"m{m}"].reviewed.low <= flawed.true_accuracy(m, rule) <= rows[f"m{m}"].reviewed.high
        errors = values.mean(axis=0) - [flawed.true_accuracy(m, rule) for m in range(MODELS)]
        assert (np.abs(errors) < 4 * values.std(axis=0) / np.sqrt(draws) + 2e-3).all(), errors
        assert held / (draws * MODELS) > 0.95

    def test_problematic_image_is_excluded_for_all_models(self, flawed):
        novel = flawed.novel()
        frame = draw_review(novel, size=5, by=StratifyBy.NOTHING, rng=np.random.default_rng(0))
        states = frame.states.copy()
        (row,) = frame.given_out(0, 1)
        states[row] = LabelState.PROBLEMATIC
        image = frame.examples[row]
        frame = replace(frame, states=states, reasons={int(row): "a drawing"})
        assert frame.problematic.tolist() == [image]
        scoring = MultilabelScoring(flawed.labels)
        for predictions in flawed.predictions:
            now = studies.apply_review(
                predictions, scoring.judge(predictions, flawed.test_set), frame, MultilabelRule.IMAGES
            )
            assert not (now.scored[image] or now.right[image] or now.novel[image])
            assert now.scored.sum() == IMAGES - 1
        assert image not in novel.without_judged(frame).examples
        labels = ReviewedLabels(scoring, frame)
        scored = [(p, Scoring(flawed.test_set)) for p in flawed.predictions]
        note = "left out, as the review finds them problematic: 1 image (a drawing 1)"
        graded = grade(flawed.test_set, scored, labels=labels)
        assert note in graded.notes and any(f"{IMAGES - 1} images" in text for text in graded.notes)
        compared = compare(flawed.test_set, scored, labels=labels)
        assert compared.basis.images == IMAGES - 1 and note in compared.basis.notes

    def test_inconsistent_decisions_on_problematic_images(self, flawed):
        """An image is problematic if any decision says so; judging everything still gives the exact result."""
        novel = flawed.novel()
        frame = draw_review(novel, size=len(novel.votes), by=StratifyBy.VOTES, rng=np.random.default_rng(0))
        frame = flawed.judged(frame)
        several = np.flatnonzero(np.bincount(frame.examples, minlength=IMAGES) > 1)
        chosen = next(image for image in several if flawed.bad[image])
        states = frame.states.copy()
        states[np.flatnonzero(frame.examples == chosen)[:1]] = LabelState.CORRECT
        rows = flawed.grade(MultilabelRule.IMAGES, replace(frame, states=states))
        for m in range(MODELS):
            assert rows[f"m{m}"].reviewed.value == pytest.approx(flawed.true_accuracy(m, MultilabelRule.IMAGES))

    def test_all_judged_are_problematic(self, flawed):
        frame = draw_review(flawed.novel(), size=30, by=StratifyBy.NOTHING, rng=np.random.default_rng(0))
        states = frame.states.copy()
        states[frame.given_out(0, 30)] = LabelState.PROBLEMATIC
        for row in flawed.grade(MultilabelRule.CLASSES, replace(frame, states=states)).values():
            assert row.reviewed is not None and row.multilabel.n < IMAGES  # images outside the review are left


def test_review_with_only_problematic_images_gives_bounds_only():
    space = ClassSpace("two", ("a", "b"))
    test_set = TestSet("s", space, ("x", "y", "z"), np.array([0, 0, 0]))
    labels = LabelSet(
        "l", 1, "s", 2, np.array([0, 1, 2]), np.array([0, 0, 0]), np.full(3, LabelState.CORRECT, dtype=np.int8),
        np.ones(3, dtype=bool), ("",) * 3, Unlisted.NOVEL,
    )  # fmt: skip
    answers = Predictions("m", "s", "two", np.array([[1], [1], [1]]))
    scoring = MultilabelScoring(labels)
    frame = studies.draw_review(
        novel_predictions(test_set, [answers], scoring), by=StratifyBy.NOTHING, rng=np.random.default_rng(0)
    )
    states = np.array([LabelState.PROBLEMATIC, LabelState.PROBLEMATIC, LabelState.UNJUDGED], dtype=np.int8)
    frame = replace(frame, states=states, drawn=2)
    (row,) = grade(test_set, [(answers, Scoring(test_set))], labels=ReviewedLabels(scoring, frame)).rows
    assert row.reviewed is None and (row.multilabel.value, row.multilabel_upper.value, row.multilabel.n) == (0, 1, 1)
