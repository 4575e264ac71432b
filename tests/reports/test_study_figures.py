"""The figures of grades, comparisons and similarity, for few and for many models."""

from dataclasses import replace

import numpy as np
import pytest

from regrade.core import ClassSpace, Predictions, TestSet, UndefinedError
from regrade.studies import Basis, Scoring, compare_correctness, figure
from regrade.studies.grade.analysis import grade
from regrade.studies.similarity.analysis import similarity

SPACE = ClassSpace("two", ("a", "b"))


def predictions_of(count, images=200, seed=0):
    """``count`` models of increasing accuracy on a set with two classes, with the set."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=images)
    parts = tuple(f"part {i % 12}" for i in range(images))
    test_set = TestSet("toys", SPACE, tuple(f"i{i}" for i in range(images)), labels, {"part": parts})
    scoring = Scoring(test_set)
    for i in range(count):
        wrong = rng.random(images) < 0.5 - 0.45 * i / count
        rows = np.where(wrong, 1 - labels, labels)[:, None]
        yield test_set, (Predictions(f"model's {i}", "toys", "two", rows), scoring)


def loaded(count, **options):
    pairs = list(predictions_of(count, **options))
    return pairs[0][0], [scored for _, scored in pairs]


def rows(drawn, key):
    """The rows of a figure's data that have a key."""
    return [row for data in drawn.spec["datasets"].values() for row in data if key in row]


def text(title):
    return " ".join(title["text"]), " ".join(title["subtitle"])


class TestGrade:
    def test_each_model_has_a_point_with_interval_best_first(self, tmp_path):
        test_set, scored = loaded(5)
        result = grade(test_set, scored)
        drawn = figure(result)
        points = rows(drawn, "value")
        assert [p["model"] for p in points] == [row.model for row in result.rows]
        for point, row in zip(points, result.rows, strict=True):
            assert point["value_low"] < point["value"] < point["value_high"]
            assert point["value"] == round(100 * row.top1.value, 2)
            assert (
                point["shown"] == f"{100 * row.top1.value:.1f}% [{100 * row.top1.low:.1f}, {100 * row.top1.high:.1f}]"
            )
        title, subtitle = text(drawn.spec["title"])
        assert title == f"{result.rows[0].model} has the highest accuracy of 5 models on toys"
        assert "clopper-pearson 95%" in subtitle
        assert drawn.save(tmp_path / "f.svg").stat().st_size > 1000

    def test_slices_have_colors(self):
        test_set, scored = loaded(3, images=240)
        drawn = figure(grade(test_set, scored, slices=["part=part 1", "part=part 2"]))
        assert {p["kind"] for p in rows(drawn, "value")} == {"all", "part=part 1", "part=part 2"}
        assert "layer" in drawn.spec and "facet" not in drawn.spec

    def test_more_slices_than_colors_are_panels(self, tmp_path):
        test_set, scored = loaded(2, images=240)
        drawn = figure(grade(test_set, scored, slices=["part"]))
        assert drawn.spec["facet"]["field"] == "kind"
        assert len(rows(drawn, "value")) == 2 * 13
        svg = drawn.save(tmp_path / "f.svg").read_text()
        assert svg.count('aria-roledescription="point"') == 2 * 13  # each point in its own panel only

    def test_slices_with_fewer_than_20_images_are_not_drawn(self):
        test_set, scored = loaded(2, images=239)  # 20 images in every slice but the last
        result = grade(test_set, scored, slices=["part"])
        drawn = figure(result)
        assert {p["kind"] for p in rows(drawn, "value")} == {"all", *(f"part=part {i}" for i in range(11))}
        assert "1 slice with fewer than 20 images not drawn" in text(drawn.spec["title"])[1]
        assert [row.images for row in result.rows if row.slice == "part=part 11"] == [19, 19]

    def test_tied_models_are_called_tied(self):
        test_set, (first, _, last) = loaded(3)
        second = replace(last[0], model="second"), last[1]
        assert text(figure(grade(test_set, [last, second])).spec["title"])[0] == (
            "All 2 models have the same accuracy on toys"
        )
        assert text(figure(grade(test_set, [first, last, second])).spec["title"])[0] == (
            "model's 2 and second have the same accuracy, the highest of 3 models, on toys"
        )

    def test_of_many_models_only_the_best_are_drawn(self):
        test_set, scored = loaded(130)
        drawn = figure(grade(test_set, scored))
        assert len(rows(drawn, "value")) == 120
        assert "the best 120 of 130" in text(drawn.spec["title"])[1]

    def test_figure_without_labels_raises(self):
        test_set = TestSet("bare", SPACE, ("1",), np.array([-1]))
        scored = [(Predictions("m", "bare", "two", np.array([[0]])), Scoring(test_set))]
        with pytest.raises(UndefinedError, match="nothing to draw"):
            figure(grade(test_set, scored))


class TestComparison:
    CORRECT = np.random.default_rng(0).random((5, 300)) < np.array([[0.95], [0.7], [0.69], [0.68], [0.2]])

    def compared(self, correct):
        names = tuple(f"m{i}" for i in range(len(correct)))
        return compare_correctness(names, correct, basis=Basis("toys", correct.shape[1]))

    def test_ranks_with_their_ranges(self, tmp_path):
        result = self.compared(self.CORRECT)
        drawn = figure(result)
        ranks = rows(drawn, "rank")
        assert [(r["model"], r["rank"], r["low"], r["high"]) for r in ranks] == [
            (r.model, r.rank, r.low, r.high) for r in result.ranks
        ]
        assert all(r["start"] < r["low"] <= r["high"] < r["end"] for r in ranks)
        assert text(drawn.spec["title"])[0] == "m0 is ahead of the other 4 models"
        assert drawn.save(tmp_path / "f.svg").stat().st_size > 1000

    def test_models_without_a_detected_difference(self):
        drawn = figure(self.compared(self.CORRECT[1:4]))
        assert text(drawn.spec["title"])[0] == "Any of the 3 models may be the best"

    def test_pair_is_drawn_as_a_difference(self, tmp_path):
        result = self.compared(self.CORRECT[:2])
        drawn = figure(result)
        (point,) = rows(drawn, "value")
        assert point["pair"] == "m0 − m1"
        assert point["value_low"] < point["value"] == round(100 * result.pairs[0].difference.value, 2)
        assert text(drawn.spec["title"])[0].startswith("m0 is ahead of m1 by")
        assert drawn.save(tmp_path / "f.svg").stat().st_size > 1000


class TestSimilarity:
    def test_few_models_have_numbers_and_names(self, tmp_path):
        test_set, scored = loaded(6)
        result = similarity(test_set, scored)
        drawn = figure(result)
        cells = rows(drawn, "kappa")
        assert len(cells) == 36
        for cell in cells:
            i, j = cell["row"], cell["column"]
            assert (cell["first"], cell["second"]) == (result.models[i], result.models[j])
            assert cell["kappa"] == round(result.kappa.value[i, j], 3)
            assert cell["shown"].startswith(f"{result.kappa.value[i, j]:.2f} [")
        points = rows(drawn, "observed")
        assert {p["stronger"] for p in points} <= set(result.models)
        assert all(p["low"] <= p["observed"] <= p["high"] for p in points)
        svg = drawn.save(tmp_path / "f.svg").read_text()
        for model in result.models:
            assert svg.count(f">{model}</text>") == 2  # on both axes
        assert svg.count(">1.00</text>") == 6

    def test_each_name_of_67_models_occurs_once(self, tmp_path):
        test_set, scored = loaded(67)
        svg = figure(similarity(test_set, scored)).save(tmp_path / "f.svg").read_text()
        assert sum(svg.count(f">model's {i}</text>") for i in range(67)) == 67

    def test_neighbors_of_very_many_models_share_a_cell(self):
        test_set, scored = loaded(150, images=60)
        result = similarity(test_set, scored)
        drawn = figure(result)
        cells = rows(drawn, "kappa")
        assert len(cells) == 120 * 120
        pair = next(
            cell for cell in cells if "…" in cell["first"] and "…" in cell["second"] and cell["row"] != cell["column"]
        )
        places = [[result.models.index(name) for name in cell.split(" … ")] for cell in (pair["first"], pair["second"])]
        block = result.kappa.value[np.ix_(*places)]
        assert pair["kappa"] == pytest.approx(block.mean(), abs=1e-3)
        assert len({(p["stronger"], p["weaker"]) for p in rows(drawn, "observed")}) == 3_725
        assert "one in 3 of all 11,175" in text(drawn.spec["vconcat"][1]["title"])[1]

    def test_clusters_have_frames(self):
        rng = np.random.default_rng(1)
        labels = np.zeros(400, dtype=np.int64)
        test_set = TestSet("toys", SPACE, tuple(str(i) for i in range(400)), labels)
        groups = [np.where(rng.random(400) < share, 1, 0) for share in (0.2, 0.2, 0.5)]
        scored = []
        for name, group in (("a1", 0), ("a2", 0), ("b1", 1), ("b2", 1), ("c", 2)):
            noisy = np.where(rng.random(400) < 0.02, 1 - groups[group], groups[group])
            scored.append((Predictions(name, "toys", "two", noisy[:, None]), Scoring(test_set)))
        result = similarity(test_set, scored)
        frames = [row for row in rows(figure(result), "high") if "observed" not in row]
        assert sorted(frame["high"] - frame["low"] for frame in frames) == [2, 2]
        assert text(figure(result).spec["title"])[0] == (
            "2 of 10 pairs of models share errors more often than independent models would"
        )

    def test_two_models_that_are_always_right(self, tmp_path):
        test_set, _ = loaded(1)
        rows_ = test_set.labels[:, None]
        scored = [(Predictions(m, "toys", "two", rows_), Scoring(test_set)) for m in ("x", "y")]
        drawn = figure(similarity(test_set, scored))
        assert all(cell["kappa"] is None for cell in rows(drawn, "kappa"))
        assert drawn.save(tmp_path / "f.svg").stat().st_size > 1000
