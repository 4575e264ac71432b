"""Errors under corruptions, mCE and relative mCE: by hand, against a plain loop, and simulated coverage."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from regrade.core import ClassSpace, InputError, MismatchError, Predictions, TestSet
from regrade.metrics import ALEXNET_CLEAN_ERROR, ALEXNET_ERRORS
from regrade.stats import clustered_share, proportion
from regrade.studies import CleanCorrectness, Scoring, corruption_frame, corruption_grade
from regrade.studies.image_clusters import ImageClusters

SPACE = ClassSpace("pair", ("right", "wrong"), ("right", "wrong"))
TWO = ("fog", "snow")
FIVE = ("1", "2", "3", "4", "5")


def corrupted_set(images, corruptions=TWO, severities=FIVE, *, column=True, order=None) -> TestSet:
    """Every image under every corruption and severity, all of class 0."""
    rows = [(c, s, i) for c in corruptions for s in severities for i in images]
    rows = rows if order is None else [rows[k] for k in order]
    groups = {"corruption": tuple(r[0] for r in rows), "severity": tuple(r[1] for r in rows)}
    if column:
        groups["image"] = tuple(r[2] for r in rows)
    return TestSet("c", SPACE, tuple("/".join(r) for r in rows), np.zeros(len(rows), dtype=np.int32), groups)


def answers(test_set: TestSet, wrong, model="m") -> tuple[Predictions, Scoring]:
    classes = np.asarray(wrong, dtype=np.int32).reshape(-1, 1)
    predictions = Predictions(model, test_set.name, SPACE.name, classes, np.ones(classes.shape, dtype=np.float32))
    return predictions, Scoring(test_set)


def random_wrong(rng, images: int, corruptions: int = 2) -> np.ndarray:
    """Shape (corruptions, 5, images): hard images are hard under every corruption."""
    hardness = rng.beta(0.6, 1.2, images)
    return rng.random((corruptions, 5, images)) < hardness


def by_corruption(grade, model="m") -> dict:
    return {row.corruption: row for row in grade.rows if row.model == model}


IMAGES = ("a", "b", "c", "d")


class TestExtremes:
    def test_the_most_robust_model_and_the_hardest_corruption(self):
        images = tuple(f"{n:03d}" for n in range(200))
        test_set, rng = corrupted_set(images), np.random.default_rng(0)
        base = random_wrong(rng, 200)
        base[1] |= rng.random((5, 200)) < 0.3  # snow is harder
        models = {"a": base, "b": base | (rng.random(base.shape) < 0.2), "c": base.copy()}
        grade = corruption_grade(test_set, [answers(test_set, wrong, name) for name, wrong in models.items()])
        assert (grade.most_robust.name, grade.most_robust.open) == ("a", ("c",)), "a and c are identical"
        assert grade.hardest.name == "snow" and grade.hardest.settled
        assert grade.as_dict()["hardest"] == {"name": "snow", "open": [], "settled": True}

    @pytest.mark.parametrize("wrong", [False, True])
    def test_no_extreme_if_all_predictions_are_right_or_wrong(self, wrong):
        test_set = corrupted_set(IMAGES)
        grade = corruption_grade(test_set, [answers(test_set, np.full(40, wrong), model) for model in "ab"])
        assert grade.most_robust.open == ("b",) and not grade.hardest.settled

    def test_one_model_and_one_corruption_have_no_extremes(self):
        test_set = corrupted_set(IMAGES, ("fog",))
        grade = corruption_grade(test_set, [answers(test_set, np.zeros(20))])
        assert grade.most_robust is None and grade.hardest is None


class TestValues:
    def test_values_by_hand(self):
        wrong = np.zeros((2, 5, 4), dtype=bool)
        wrong[0, 3:, 0] = wrong[0, 4, 1] = True  # fog: 3 of 20
        wrong[1] = True
        wrong[1, 0, :2] = False  # snow: 18 of 20
        test_set = corrupted_set(IMAGES)
        clean = CleanCorrectness(corrupted_set_clean(IMAGES), {"m": np.array([True, False, True, True])})
        rows = by_corruption(corruption_grade(test_set, [answers(test_set, wrong)], clean=clean))
        fog, snow = ALEXNET_ERRORS["fog"], ALEXNET_ERRORS["snow"]
        assert list(rows) == ["all", "snow", "fog"], "in the order of the paper"
        assert [rows[k].error.value for k in rows] == pytest.approx([21 / 40, 0.9, 0.15])
        assert [rows[k].ratio.value for k in rows] == pytest.approx(
            [(0.9 / snow + 0.15 / fog) / 2, 0.9 / snow, 0.15 / fog]
        )
        relative = (0.9 - 0.25) / (snow - 0.435), (0.15 - 0.25) / (fog - 0.435)
        assert [rows[k].relative.value for k in rows] == pytest.approx([sum(relative) / 2, *relative])
        assert rows["all"].clean == proportion(1, 4) and rows["fog"].clean is None

    def test_alexnet_has_an_mce_of_one(self):
        """10,000 images with AlexNet's number of errors."""
        images = tuple(f"{number:05d}" for number in range(10_000))
        test_set = corrupted_set(images, tuple(ALEXNET_ERRORS))
        shares = np.array(list(ALEXNET_ERRORS.values()))[:, None, None]
        wrong = np.broadcast_to(np.arange(10_000) < 10_000 * shares, (15, 5, 10_000))
        clean = CleanCorrectness(corrupted_set_clean(images), {"m": np.arange(10_000) >= 10_000 * ALEXNET_CLEAN_ERROR})
        grade = corruption_grade(test_set, [answers(test_set, wrong)], clean=clean)
        assert grade.rows[0].ratio.value == pytest.approx(1, abs=2e-4)
        assert grade.rows[0].relative.value == pytest.approx(1, abs=1e-3)
        assert len(grade.rows) == 16 and "mean over 15 of the 15 corruptions" in grade.notes[1]

    def test_the_order_of_examples_does_not_matter(self):
        rng = np.random.default_rng(0)
        wrong = random_wrong(rng, 4).ravel()
        order = rng.permutation(len(wrong))
        plain, mixed = corrupted_set(IMAGES), corrupted_set(IMAGES, order=order)
        first = corruption_grade(plain, [answers(plain, wrong)])
        assert corruption_grade(mixed, [answers(mixed, wrong[order])]).rows == first.rows

    def test_images_are_identified_by_id_without_an_image_column(self):
        wrong = random_wrong(np.random.default_rng(1), 4)
        by_column, by_id = corrupted_set(IMAGES), corrupted_set(IMAGES, column=False)
        first, second = (corruption_grade(s, [answers(s, wrong)]).rows for s in (by_column, by_id))
        assert first == second

    def test_the_most_robust_comes_first(self):
        test_set = corrupted_set(IMAGES)
        rng = np.random.default_rng(2)
        models = [answers(test_set, rng.random(40) < share, model=f"m{share}") for share in (0.9, 0.1, 0.5)]
        rows = corruption_grade(test_set, models).rows
        assert [row.model for row in rows] == ["m0.1"] * 3 + ["m0.5"] * 3 + ["m0.9"] * 3
        assert [row.corruption for row in rows[:3]] == ["all", "snow", "fog"]

    def test_images_without_a_label_are_left_out(self):
        test_set = corrupted_set(IMAGES)
        wrong = random_wrong(np.random.default_rng(3), 4)
        labels = np.where(np.array(test_set.groups["image"]) == "d", -1, 0).astype(np.int32)
        part = TestSet("c", SPACE, test_set.ids, labels, test_set.groups)
        three = corrupted_set(IMAGES[:3])
        got = corruption_grade(part, [answers(part, wrong)]).rows
        assert got == corruption_grade(three, [answers(three, wrong[..., :3])]).rows

    def test_missing_severities_have_no_reference(self):
        test_set = corrupted_set(IMAGES, severities=("1", "3"))
        wrong = np.random.default_rng(4).random(16) < 0.5
        clean = CleanCorrectness(corrupted_set_clean(IMAGES), {"m": np.ones(4, dtype=bool)})
        grade = corruption_grade(test_set, [answers(test_set, wrong)], clean=clean)
        assert all(row.ratio is None and row.relative is None for row in grade.rows)
        assert "no CE" in grade.notes[1]
        assert [column.key for column in grade.table().columns] == ["model", "corruption", "error", "clean"]

    def test_custom_corruptions_have_no_reference(self):
        test_set = corrupted_set(IMAGES, corruptions=("fog", "rain"))
        wrong = random_wrong(np.random.default_rng(5), 4)
        rows = by_corruption(corruption_grade(test_set, [answers(test_set, wrong)]))
        assert rows["rain"].ratio is None
        assert rows["all"].ratio.value == pytest.approx(rows["fog"].ratio.value)


def corrupted_set_clean(images) -> TestSet:
    return TestSet("clean", SPACE, tuple(images), np.zeros(len(images), dtype=np.int32))


class TestIntervals:
    def test_errors_are_clustered_by_image(self):
        test_set = corrupted_set(IMAGES)
        wrong = random_wrong(np.random.default_rng(6), 4)
        rows = by_corruption(corruption_grade(test_set, [answers(test_set, wrong)]))
        clusters = np.tile(np.arange(4), 10)
        assert astuple(rows["all"].error) == pytest.approx(astuple(clustered_share(wrong.ravel(), clusters)))
        snow = clustered_share(wrong[1].ravel(), clusters[:20], confidence=0.975)
        snow = replace(snow, method="clustered korn-graubard, 2 together 95%")
        assert astuple(rows["snow"].error) == pytest.approx(astuple(snow))
        assert rows["snow"].ratio.high == pytest.approx(snow.high / ALEXNET_ERRORS["snow"])

    def test_households_are_the_clusters(self):
        """Two images each, as one image whose error is their mean; tests of extremes are over households, too."""
        images = tuple(f"{n:03d}" for n in range(40))
        test_set, homes = corrupted_set(images), np.arange(40) // 2
        clusters = ImageClusters("home", np.tile(homes, 10), np.zeros(400, dtype=bool))
        base = np.repeat(random_wrong(np.random.default_rng(7), 20), 2, axis=2)
        harder = base | np.repeat(np.random.default_rng(8).random((2, 5, 20)) < 0.15, 2, axis=2)
        clean = CleanCorrectness(corrupted_set_clean(images), {"m": np.arange(40) >= 6, "n": np.arange(40) >= 6})
        rows = [answers(test_set, base), answers(test_set, harder, "n")]
        grade = corruption_grade(test_set, rows, clean=clean, clusters=clusters)
        half = corrupted_set(images[:20])
        once = CleanCorrectness(corrupted_set_clean(images[:20]), {name: np.arange(20) >= 3 for name in "mn"})
        single = [answers(half, wrong[:, :, ::2], name) for name, wrong in (("m", base), ("n", harder))]
        expected = corruption_grade(half, single, clean=once)
        for row, plain in zip(grade.rows, expected.rows, strict=True):
            means = [(row.relative, plain.relative), *([(row.ratio, plain.ratio)] if row.corruption == "all" else [])]
            for mean, once_each in means:
                numbers = [(part.value, part.low, part.high) for part in (mean, once_each)]
                assert numbers[0] == pytest.approx(numbers[1])
        assert (grade.most_robust, grade.hardest) == (expected.most_robust, expected.hardest)
        assert grade.rows[0].error == clustered_share(base.ravel(), np.tile(homes, 10))
        assert grade.rows[0].clean == clustered_share(np.arange(40) < 6, homes)
        assert "intervals are over 20 clusters of images, by column home" in grade.notes

    def test_copies_of_an_image_are_not_independent(self):
        """If an image is wrong under all corruptions or none, the interval equals that of the images alone."""
        images = tuple(f"{n:03d}" for n in range(100))
        test_set = corrupted_set(images)
        wrong = np.broadcast_to(np.arange(100) < 30, (2, 5, 100))
        error = corruption_grade(test_set, [answers(test_set, wrong)]).rows[0].error
        alone = proportion(30, 100)
        assert (error.low, error.high) == pytest.approx((alone.low, alone.high), abs=0.01)

    @pytest.mark.parametrize("share", [0, 1])
    def test_interval_has_a_width_if_all_are_right_or_wrong(self, share):
        test_set = corrupted_set(IMAGES)
        clean = CleanCorrectness(corrupted_set_clean(IMAGES), {"m": np.full(4, not share)})
        grade = corruption_grade(test_set, [answers(test_set, np.full(40, share))], clean=clean)
        bounds = proportion(4 * share, 4)
        most = np.mean([1 / ALEXNET_ERRORS[name] for name in TWO])
        ratio, relative = grade.rows[0].ratio, grade.rows[0].relative
        assert (ratio.low, ratio.high) == pytest.approx((bounds.low * most, bounds.high * most))
        assert relative.value == 0 and relative.low < -1 and relative.high > 1

    @pytest.mark.parametrize("images", [20, 200])
    def test_coverage(self, images):
        """How often the 95 % interval covers the value of a population of images."""
        rng = np.random.default_rng(images)
        hardness = rng.beta(0.6, 1.2, 20_000)
        reference = np.array([ALEXNET_ERRORS[name] for name in ("snow", "fog")])
        true_mce = float((hardness.mean() / reference).mean())
        clean_share = 0.5 * hardness
        true_relative = float(((hardness.mean() - clean_share.mean()) / (reference - 0.435)).mean())
        names = tuple(f"{n:03d}" for n in range(images))
        test_set, clean_set = corrupted_set(names), corrupted_set_clean(names)
        held = np.zeros(2)
        for _ in range(400):
            drawn = rng.choice(20_000, images)
            wrong = rng.random((2, 5, images)) < hardness[drawn]
            clean = CleanCorrectness(clean_set, {"m": rng.random(images) >= clean_share[drawn]})
            row = corruption_grade(test_set, [answers(test_set, wrong)], clean=clean).rows[0]
            held += (
                row.ratio.low <= true_mce <= row.ratio.high,
                row.relative.low <= true_relative <= row.relative.high,
            )
        assert (held / 400 > 0.92).all() and (held / 400 < 0.985).all()


class TestErrors:
    def test_missing_group_columns_raise(self):
        plain = corrupted_set_clean(IMAGES)
        with pytest.raises(InputError, match="test set clean has no group column 'corruption'"):
            corruption_frame(plain)

    def test_missing_combination_raises(self):
        whole = corrupted_set(IMAGES)
        part = corrupted_set(IMAGES, order=range(len(whole) - 1))
        with pytest.raises(InputError, match="lacks snow of severity 5 for image 'd': add the missing examples"):
            corruption_frame(part)

    def test_duplicate_image_raises(self):
        twice = corrupted_set(IMAGES)
        groups = {**twice.groups, "image": tuple("a" if i == "b" else i for i in twice.groups["image"])}
        odd = TestSet("c", SPACE, twice.ids, twice.labels, groups)
        with pytest.raises(InputError, match="has an image twice under the same corruption"):
            corruption_frame(odd)

    def test_unidentified_images_raise(self):
        plain = corrupted_set(IMAGES, column=False)
        numbered = TestSet("c", SPACE, tuple(map(str, range(len(plain)))), plain.labels, plain.groups)
        with pytest.raises(InputError, match="does not say which examples show the same image"):
            corruption_frame(numbered)

    def test_different_clean_images_raise(self):
        test_set = corrupted_set(IMAGES)
        clean = CleanCorrectness(corrupted_set_clean(("a", "b")), {"m": np.ones(2, dtype=bool)})
        with pytest.raises(MismatchError, match="2 of 4 images are not in clean, for instance 'c'"):
            corruption_grade(test_set, [answers(test_set, np.zeros(40))], clean=clean)

    def test_no_models_raise(self):
        with pytest.raises(InputError, match="no model has predictions on c yet"):
            corruption_grade(corrupted_set(IMAGES), [])


def test_as_dict():
    test_set = corrupted_set(IMAGES)
    grade = corruption_grade(test_set, [answers(test_set, random_wrong(np.random.default_rng(7), 4))])
    data = grade.as_dict()
    assert data["rows"][0]["ratio"]["value"] == grade.rows[0].ratio.value and data["rows"][0]["relative"] is None
    assert "CE (all: mCE)" in str(grade)
