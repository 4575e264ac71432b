"""Households in grade, compare, gate, and the studies that have no other tests of the command."""

import json

import numpy as np
import pytest
from clustered_oracle import korn_graubard
from hypothesis import given
from hypothesis import strategies as st
from running import run, run_well

import regrade
from regrade.core import InputError, UnknownName
from regrade.core import TestSet as ImageSet
from regrade.stats import Scale, clustered_share
from regrade.studies.image_clusters import ImageClusters, clusters_of_sets, image_clusters, random_half, share_of

MODELS = {"good": 0.9, "fair": 0.8, "weak": 0.6}


def images(**columns):
    space = regrade.classes.cifar_10()
    return ImageSet("homes", space, tuple("abcd"), np.zeros(4, dtype=np.int32), columns)


class TestClusters:
    def test_default_is_the_household_in_any_case(self):
        clusters = image_clusters(images(Household=("x", "", "x", " ")), None)
        assert clusters.column == "Household" and clusters.alone.tolist() == [False, True, False, True]
        assert clusters.numbers[0] == clusters.numbers[2] and len(set(clusters.numbers)) == 3
        assert clusters.notes(np.ones(4, dtype=bool)) == (
            "intervals are over 3 clusters of images, by column Household",
            "2 images without Household: each a cluster of its own",
        )

    def test_none_means_independent_unless_it_is_a_column(self):
        assert image_clusters(images(household=tuple("xxyy")), "none") is None
        assert image_clusters(images(none=tuple("xxyy")), "none").column == "none"
        assert image_clusters(images(region=tuple("xxyy")), None) is None

    def test_unknown_column_names_the_columns(self):
        with pytest.raises(UnknownName, match="photographer"):
            image_clusters(images(photographer=tuple("xxyy")), "photografer")

    @given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.integers(0, 99))
    def test_random_half_keeps_clusters_together(self, homes, seed):
        numbers = np.array(homes)
        clusters = ImageClusters("household", numbers, np.zeros(len(numbers), dtype=bool))
        half = random_half(len(numbers), clusters, np.random.default_rng(seed))
        assert len(set(zip(homes, half.tolist(), strict=True))) == len(set(homes))
        assert 0 <= half.sum() - len(numbers) / 2 < np.bincount(numbers).max()

    @given(st.permutations(range(21)), st.integers(0, 99))
    def test_random_half_of_single_images_is_that_of_images(self, homes, seed):
        clusters = ImageClusters("household", np.array(homes), np.zeros(21, dtype=bool))
        halves = [random_half(21, part, np.random.default_rng(seed)) for part in (clusters, None)]
        assert (halves[0] == halves[1]).all() and halves[0].sum() == 11
        assert (halves[1] == (np.random.default_rng(seed).permutation(21) < 10.5)).all()

    def test_random_half_is_random(self):
        """Each of 10 households is inside in half of the draws, and with each other one in two ninths."""
        homes = np.repeat(np.arange(10), 3)
        clusters = ImageClusters("household", homes, np.zeros(30, dtype=bool))
        rng = np.random.default_rng(0)
        inside = np.array([random_half(30, clusters, rng)[::3] for _ in range(2000)])
        assert inside.mean(axis=0) == pytest.approx(np.full(10, 0.5), abs=0.05)
        together = (inside.T.astype(int) @ inside)[~np.eye(10, dtype=bool)] / 2000
        assert together == pytest.approx(np.full(90, 5 / 10 * 4 / 9), abs=0.05)

    def test_share_of_no_image_is_undefined(self):
        assert share_of(np.ones(3, dtype=bool), np.zeros(3, dtype=bool), None, confidence=0.95) is None


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A workspace with 60 households of four images, on which models are right together."""
    workspace = regrade.init(tmp_path_factory.mktemp("homes") / "study")
    space, rng = regrade.classes.cifar_10(), np.random.default_rng(5)
    homes, labels = np.arange(240) // 4, np.arange(240, dtype=np.int32) % 10
    columns = {"household": tuple(f"h{home}" for home in homes), "region": tuple("NS"[home % 2] for home in homes)}
    ids = tuple(f"i{place:03}" for place in range(240))
    for name, groups in (("homes", columns), ("plain", {"region": columns["region"]})):
        workspace.store.add_test_set(ImageSet(name, space, ids, labels, groups))
    for model, accuracy in MODELS.items():
        right = rng.random(60)[homes] * 0.7 + rng.random(240) * 0.3 < accuracy
        scores = np.full((240, 10), 0.05)
        scores[np.arange(240), np.where(right, labels, (labels + 1) % 10)] = 0.55
        for name in ("homes", "plain"):
            workspace.models.add_predictions(model, scores, test_set=name)
    return workspace


def right_of(study, model):
    predictions = study.store.predictions.read(study.store.test_set("homes"), model)
    return predictions.top1 == study.store.test_set("homes").labels


class TestGrade:
    def test_top1_is_over_households(self, study):
        oracle = korn_graubard(right_of(study, "fair"), np.arange(240) // 4)
        graded = study.grade("homes")
        top1 = graded["fair"].top1
        assert (top1.value, top1.low, top1.high) == pytest.approx(oracle)
        assert "intervals are over 60 clusters of images, by column household" in graded.notes

    def test_slices_are_over_their_households(self, study):
        north = np.arange(240) // 4 % 2 == 0
        rows = study.grade("homes", slices=["region"], models=["fair"]).rows
        oracle = clustered_share(right_of(study, "fair")[north], np.arange(240)[north] // 4, confidence=0.975)
        assert (rows[1].top1.low, rows[1].top1.high) == pytest.approx((oracle.low, oracle.high))

    def test_metrics_are_named_as_not_over_clusters(self, study):
        notes = study.grade("homes", metrics=["balanced-accuracy"]).notes
        assert "not over clusters, but as if images were independent: intervals of calibration error, metrics" in notes

    def test_multilabel_accuracy_is_over_households(self, study):
        study.labels.create("homes", name="own")
        row = study.grade("homes", labels="own")["fair"]
        assert row.multilabel.method == "clustered korn-graubard 95%"
        assert row.multilabel.low == pytest.approx(row.top1.low)
        by_class = study.grade("homes", labels="own", rule="classes")
        assert any("multi-label over classes" in note for note in by_class.notes)

    def test_replicates_are_over_households(self, study):
        wide, narrow = (
            study.grade("homes", replicates=["*"], clusters=column).rows[0].top1 for column in (None, "none")
        )
        assert wide.method == "t over models and clusters 95%" and wide.high - wide.low > narrow.high - narrow.low

    def test_without_households_nothing_changes(self, study):
        plain, none = study.grade("plain").as_dict(), study.grade("homes", clusters="none").as_dict()
        assert {**none, "test_set": "plain"} == plain
        assert "clusters" not in json.dumps(study.compare("plain").as_dict())


class TestMultilabel:
    def test_all_intervals_are_over_households(self, study, tmp_path):
        ids, space = study.store.test_set("homes").ids, study.store.test_set("homes").class_space
        rows = [f"{image},{space.ids[place % 10]}" for place, image in enumerate(ids)]
        rows += [f"{image},{space.ids[(place + 1) % 10]}" for place, image in enumerate(ids) if place // 4 % 3 == 0]
        (tmp_path / "two.csv").write_text("\n".join(["image,class", *rows]) + "\n")
        study.labels.import_file(tmp_path / "two.csv", test_set="homes", name="two")
        wide, narrow = (study.study.multilabel("homes", "two", clusters=column) for column in (None, "none"))
        two = np.arange(240) // 4 % 3 == 0
        share, low, high = korn_graubard(two, np.arange(240) // 4)
        assert (wide.several.value, wide.several.low, wide.several.high) == pytest.approx((share, low, high))
        for row, plain in zip(wide.rows, narrow.rows, strict=True):
            assert row.multilabel.value == plain.multilabel.value
            for clustered, independent in ((row.multilabel, plain.multilabel), (row.top1, plain.top1)):
                assert clustered.high - clustered.low > independent.high - independent.low
            assert row.change.method == "clustered paired score, 3 together 95%"
        assert wide.change.method.startswith("median of models, clustered normal")
        assert {kind.share.method.split(",")[0] for kind in wide.kinds} == {"clustered korn-graubard"}
        assert {row.share.method.split(",")[0] for row in wide.ambiguous.classes} == {"clustered korn-graubard"}
        assert "intervals are over 60 clusters of images, by column household" in wide.notes
        assert not any("cluster" in note for note in narrow.notes)


class TestGeneralization:
    @pytest.mark.parametrize("options", [{}, {"slice": "region=N"}, {"labels": ["judged"]}])
    def test_every_measure_is_over_households(self, study, options):
        if "labels" in options:
            for name in ("homes", "plain"):
                study.labels.create(name, name="judged")
        wide, narrow = (study.study.generalization("plain", ["homes"], clusters=c, **options) for c in (None, "none"))
        for row, plain in zip(wide.rows, narrow.rows, strict=True):
            assert row.original == plain.original and row.new.value == plain.new.value
            for key in ("new", "gap", "robustness"):
                clustered, independent = getattr(row, key), getattr(plain, key)
                assert clustered.high - clustered.low > independent.high - independent.low
                assert clustered.method.startswith("clustered") and not independent.method.startswith("clustered")
        (shift,), (plain,) = wide.shifts, narrow.shifts
        for clustered, independent in (
            (shift.mean_change, plain.mean_change),
            (shift.losses.sampling, plain.losses.sampling),
        ):
            assert clustered.high - clustered.low > independent.high - independent.low
        assert shift.line(Scale.LINEAR).reliability == plain.line(Scale.LINEAR).reliability  # noise of the original
        assert "t over models and clusters" in shift.mean_change.method
        count = 30 if "slice" in options else 60
        assert f"homes: intervals are over {count} clusters of images, by column household" in wide.notes
        assert not any("treat the images" in note or "clusters" in note for note in narrow.notes)

    def test_top5_is_over_households(self, study):
        row = study.study.generalization("plain", ["homes"]).rows[0]
        assert row.new_top5.method.startswith("clustered") and not row.original_top5.method.startswith("clustered")
        assert study.study.generalization("plain", ["homes"], top=2).rows[0].new.method == "clustered korn-graubard 95%"

    def test_households_of_both_sets_with_one_name_are_named(self, study):
        test_set = study.store.test_set("homes")
        columns = {"household": tuple(f"h{place // 4 + 50}" for place in range(240))}
        study.store.add_test_set(ImageSet("moved", test_set.class_space, test_set.ids, test_set.labels, columns))
        for model in MODELS:
            scores = study.store.predictions.read(test_set, model).full_scores
            study.models.add_predictions(model, np.asarray(scores, dtype=np.float64), test_set="moved")
        notes = study.study.generalization("homes", ["moved"]).notes
        assert "10 clusters of homes and moved have the same name: intervals take them as different ones" in notes


class TestModels:
    @pytest.fixture(scope="class")
    @classmethod
    def trends(cls, study, tmp_path_factory):
        """Over households of the test set, and as if images were independent; the original has no households."""
        file = tmp_path_factory.mktemp("described") / "models.csv"
        rng, names = np.random.default_rng(3), [*MODELS, "fourth", "fifth", "sixth"]
        file.write_text("model,year\n" + "".join(f"{name},{2012 + place}\n" for place, name in enumerate(names)))
        homes = study.store.test_set("homes")
        for name, columns in (("trend", homes.group_columns), ("before", {"region": homes.group_columns["region"]})):
            study.store.add_test_set(ImageSet(name, homes.class_space, homes.ids, homes.labels, columns))
        for place, name in enumerate(names):
            right = (
                right_of(study, name) if name in MODELS else rng.random(60)[np.arange(240) // 4] < 0.35 + 0.1 * place
            )
            scores = np.full((240, 10), 0.05)
            scores[np.arange(240), np.where(right, homes.labels, (homes.labels + 1) % 10)] = 0.55
            for test_set in ("trend", "before"):
                study.models.add_predictions(name, scores, test_set=test_set)
        study.models.describe(file)
        options = {"original": "before", "disparity_by": "region"}
        return [study.study.models("trend", clusters=column, **options) for column in (None, "none")]

    def test_accuracies_drops_and_trends_are_over_households(self, study, trends):
        wide, narrow = trends
        for row, plain in zip(wide.models, narrow.models, strict=True):
            assert row.original == plain.original and row.accuracy.value == plain.accuracy.value
            for key in ("accuracy", "drop", "robustness", "disparity"):
                clustered, independent = getattr(row, key), getattr(plain, key)
                assert clustered.high - clustered.low > independent.high - independent.low
        fair = next(row.accuracy for row in wide.models if row.model == "fair")
        oracle = korn_graubard(right_of(study, "fair"), np.arange(240) // 4)
        assert (fair.value, fair.low, fair.high) == pytest.approx(oracle)
        methods = {trend.measure.value: trend.slope.method for trend in wide.trends}
        assert "models and clusters of images" in methods["accuracy"] and "models and clusters" in methods["drop"]
        assert "images" not in methods["disparity"]
        assert "trend: intervals are over 60 clusters of images, by column household" in wide.notes
        assert not any("clusters of images" in note or "treat the images" in note for note in narrow.notes)


class TestGeography:
    def test_original_and_standard_sets_are_over_their_households(self, study):
        test_set, ids = study.store.test_set("homes"), tuple(f"far {place}" for place in range(240))
        columns = {"region": tuple("NS"[place % 2] for place in range(240)), "household": test_set.groups["household"]}
        for name in ("far", "standard"):
            study.store.add_test_set(ImageSet(name, test_set.class_space, ids, test_set.labels, columns))
            for model in MODELS:
                scores = study.store.predictions.read(test_set, model).full_scores
                study.models.add_predictions(model, np.asarray(scores, dtype=np.float64), test_set=name)
        wide, narrow = (
            study.study.geography("far", "region", original="homes", standard=["standard"], clusters=column)
            for column in (None, "none")
        )
        for row, plain in zip(wide.rows, narrow.rows, strict=True):
            oracle = korn_graubard(right_of(study, row.model), np.arange(240) // 4)
            assert (row.original.value, row.original.low, row.original.high) == pytest.approx(oracle)
            assert plain.original.low > row.original.low
        for name in ("homes", "standard"):
            assert f"{name}: intervals are over 60 clusters of images, by column household" in wide.notes
            assert any(note.startswith(f"60 clusters of far and {name} have the same name") for note in wide.notes)
        assert not any("clusters" in note for note in narrow.notes)
        rates = [{rate.benchmark: rate.rate for rate in result.progress.rates}["standard"] for result in (wide, narrow)]
        assert rates[0].low < rates[1].low and rates[0].value == pytest.approx(rates[1].value)

    def test_a_column_that_only_the_original_set_has(self, study):
        result = study.study.geography("plain", "region", original="homes", clusters="household")
        assert result.clusters is None and result.rows[0].original.method == "clustered korn-graubard 95%"


class TestFrequency:
    def test_bins_changes_and_models_are_over_households(self, study):
        space, ids = regrade.classes.cifar_10(), study.store.test_set("homes").ids
        labels, homes = study.store.test_set("homes").labels, tuple(f"h{n // 4}" for n in range(240))
        frequencies = tuple(f"{0.3 + 0.5 * (n // 4 % 2):.1f}" for n in range(240))
        for name in ("asked", "asked again"):
            columns = {"household": homes, "selection_frequency": frequencies}
            study.store.add_test_set(ImageSet(name, space, tuple(f"{name} {i}" for i in ids), labels, columns))
            for model in MODELS:
                scores = study.store.predictions.read(study.store.test_set("homes"), model).full_scores
                study.models.add_predictions(model, np.asarray(scores, dtype=np.float64), test_set=name)
        names = ["asked", "asked again"]
        wide, narrow = (study.study.frequency(names, clusters=column) for column in (None, "none"))
        pairs = [(row.accuracy, plain.accuracy) for row, plain in zip(wide.bins, narrow.bins, strict=True)]
        pairs += [(row.accuracy, plain.accuracy) for row, plain in zip(wide.by_model, narrow.by_model, strict=True)]
        pairs += [(row.overall, plain.overall) for row, plain in zip(wide.changes, narrow.changes, strict=True)]
        pairs = [pair for pair in pairs if pair[0] is not None]
        assert len(pairs) >= 10
        for clustered, plain in pairs:
            assert clustered.value == pytest.approx(plain.value)
            assert clustered.high - clustered.low > plain.high - plain.low
            assert clustered.method.startswith("clustered") and not plain.method.startswith("clustered")
        assert "asked: intervals are over 60 clusters of images, by column household" in wide.notes

    def test_a_column_of_one_of_the_sets_is_enough(self):
        homes, plain = images(owner=tuple("xxyy")), images(region=tuple("xxyy"))
        first, second = clusters_of_sets([homes, plain], "owner")
        assert first.column == "owner" and second is None
        with pytest.raises(UnknownName, match="ownre"):
            clusters_of_sets([homes, plain], "ownre")


class TestLabelChange:
    def test_differences_and_accuracies_are_over_households(self, study, tmp_path):
        test_set = study.store.test_set("homes")
        ids, classes = test_set.ids, test_set.class_space.ids
        rng = np.random.default_rng(2)
        for name, moved in (("first", np.zeros(60)), ("second", rng.random(60) < 0.3)):
            rows = [f"{image},{classes[(place + int(moved[place // 4])) % 10]}" for place, image in enumerate(ids)]
            (tmp_path / f"{name}.csv").write_text("\n".join(["image,class", *rows]) + "\n")
            study.labels.import_file(tmp_path / f"{name}.csv", test_set="homes", name=name)
        wide, narrow = (study.study.label_change("first", "second", "homes", clusters=c) for c in (None, "none"))
        for row in wide.models:
            plain = next(model for model in narrow.models if model.model == row.model)
            assert row.difference.value == plain.difference.value and row.before.value == plain.before.value
            assert row.difference.high - row.difference.low > plain.difference.high - plain.difference.low
            assert row.before.high - row.before.low > plain.before.high - plain.before.low
            right = right_of(study, row.model)
            assert (row.before.value, row.before.low, row.before.high) == pytest.approx(
                korn_graubard(right, np.arange(240) // 4)
            )
        assert wide.models[0].difference.method == "clustered paired score, 3 together 95%"
        assert narrow.models[0].difference.method == "paired score, 3 together 95%"
        assert "intervals are over 60 clusters of images, by column household" in wide.notes


class TestCompare:
    def test_intervals_and_tests_are_over_households(self, study):
        clustered, plain = study.compare("homes"), study.compare("homes", clusters="none")
        for first, second in (("good", "fair"), ("fair", "weak")):
            wide, narrow = clustered[first, second], plain[first, second]
            assert wide.difference.value == narrow.difference.value
            assert wide.p_values.exact > narrow.p_values.exact
            assert wide.difference.high - wide.difference.low > narrow.difference.high - narrow.difference.low
            assert wide.images_needed > narrow.images_needed
        assert clustered.best().low < plain.best().low
        assert clustered.as_dict()["clusters"] == "household"

    def test_interval_excludes_zero_exactly_if_the_test_does(self, study):
        for pair in study.compare("homes").pairs:
            assert (pair.holm <= 0.05) == (pair.difference.low > 0 or pair.difference.high < 0)

    def test_equivalence_is_harder_to_show(self, study):
        wide, narrow = (
            study.compare("homes", ["good", "fair"], equivalence=0.2, clusters=column).pairs[0].equivalence
            for column in (None, "none")
        )
        assert wide > narrow

    def test_one_image_per_cluster_is_the_plain_comparison(self, study):
        test_set = study.store.test_set("homes")
        alone = ImageSet("alone", test_set.class_space, test_set.ids, test_set.labels, {"household": test_set.ids})
        study.store.add_test_set(alone)
        for model in MODELS:
            stored = study.store.predictions.read(test_set, model)
            study.models.add_predictions(model, np.asarray(stored.full_scores, dtype=np.float64), test_set="alone")
        single, plain = study.compare("alone").pairs, study.compare("homes", clusters="none").pairs
        for pair, expected in zip(single, plain, strict=True):
            assert pair.p_values.exact == pytest.approx(expected.p_values.exact)
            assert pair.difference.low == pytest.approx(expected.difference.low)


class TestGate:
    def test_bounds_are_over_households(self, study):
        rules = {"margin": 0.02, "floors": 0.5, "max_negative_flips": 0.3}
        wide, narrow = (study.gate("good", ["homes"], baseline="fair", clusters=c, **rules) for c in (None, "none"))
        for row, plain in zip(wide.rows, narrow.rows, strict=True):
            assert row.measured.value == plain.measured.value
            assert row.measured.low < plain.measured.low and row.measured.high > plain.measured.high
        assert "homes: intervals are over 60 clusters of images, by column household" in wide.notes

    def test_more_images_are_needed(self, study):
        wide, narrow = (study.gate("fair", ["homes"], floors=0.7, clusters=c).rows[0] for c in (None, "none"))
        assert wide.images_needed is None or wide.images_needed > (narrow.images_needed or 0)

    def test_file_names_the_column(self, study, tmp_path):
        path = tmp_path / "gate.toml"
        path.write_text('candidate = "good"\nfloors = 50\nclusters = "region"\n[test_set.homes]\nclusters = "none"\n')
        result = study.gate(config=path)
        assert not any("clusters of images" in note for note in result.notes)

    def test_ladder_has_its_own_rule(self, study):
        with pytest.raises(InputError, match="leave out --clusters"):
            study.gate("good", ["homes"], ladder=True, baseline="fair", clusters="region")
        result = study.gate("good", ["homes"], ladder=True, baseline="weak")
        assert any(note.startswith("images of one household are counted as dependent") for note in result.notes)


@pytest.mark.parametrize("command", ["study classes", "study similarity", "plan rank", "plan accuracy --half-width 2"])
def test_studies_are_over_households(study, command):
    words = (*command.split(), "-w", study.store.root, "--json")
    outputs = [run_well(*words, "-t", *name).out for name in (["homes"], ["plain"], ["homes", "--clusters", "none"])]
    assert ["over 60 clusters of images, by column household" in out for out in outputs] == [True, False, False]


def test_study_of_mistakes_is_over_households(study, tmp_path):
    test_set = study.store.test_set("homes")
    rows = [
        f"{image},{test_set.class_space.ids[label]}" for image, label in zip(test_set.ids, test_set.labels, strict=True)
    ]
    (tmp_path / "own.csv").write_text("\n".join(["image,class", *rows]) + "\n")
    study.labels.import_file(tmp_path / "own.csv", test_set="homes", name="own")
    wide, narrow = (study.study.mistakes("homes", "own", clusters=column) for column in (None, "none"))
    for row, plain in zip(wide.severities, narrow.severities, strict=True):
        assert row.right.value == plain.right.value and row.right.half_width > 1.1 * plain.right.half_width
    for part in wide.parts:
        assert "intervals are over 60 clusters of images, by column household" in wide.part(part).notes
        assert not any("clusters" in note for note in narrow.part(part).notes)


def test_unknown_column_is_one_line(study):
    ran = run("grade", "-t", "homes", "--clusters", "hous", "-w", study.store.root)
    assert ran.code != 0 and "'hous'" in ran.err and "household" in ran.err and len(ran.err.splitlines()) == 1
