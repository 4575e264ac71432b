"""regrade study similarity, and the figures of grade and compare, on the published predictions and on little."""

import csv
import io
import json

import numpy as np
import pytest
from running import assert_one_line, run, run_on_terminal, run_well

import regrade
from regrade.metrics import error_consistency
from regrade.studies import figure

STUDY = ("study", "similarity", "-t", "imagenet-val", "-w")


@pytest.fixture(scope="module")
def studied(pack):
    return json.loads(run_well(*STUDY, pack, "--json").out)


def test_help_lists_every_figure_format():
    shown = " ".join(run_well("study", "similarity", "--help").out.split())
    for ending in (".html", ".svg", ".png", ".pdf", ".json"):
        assert ending in shown


class TestPublished:
    def test_all_pairs_of_67_models(self, studied):
        assert (studied["images"], len(studied["models"]), len(studied["pairs"])) == (50_000, 67, 67 * 66 // 2)
        for values in studied["matrices"].values():
            assert np.shape(values) == (67, 67)
            np.testing.assert_allclose(values, np.transpose(values), atol=1e-12)
        for pair in studied["pairs"]:
            assert pair["kappa"]["low"] < pair["kappa"]["value"] < pair["kappa"]["high"]
            assert pair["excess"]["high"] < 0  # every pair shares errors

    def test_variants_are_most_similar_and_families_are_clusters(self, studied):
        """Two ports of one network are the most similar pair; Fisher vectors form their own cluster."""
        assert {studied["pairs"][0][name] for name in ("first", "second")} == {"resnet_v1_101_tf", "cafferesnet101"}
        clusters = {}
        for row in studied["models"]:
            clusters.setdefault(row["cluster"], set()).add(row["model"])
        assert {"fv_4k", "fv_16k", "fv_64k"} in clusters.values()
        assert {"alexnet", "squeezenet1_0", "squeezenet1_1"} in clusters.values()
        assert len(clusters) == 4

    def test_values_equal_the_metric(self, pack, studied):
        workspace = regrade.open(pack)
        names = ["alexnet", "resnet50", "vgg16"]
        labels = workspace.store.test_set("imagenet-val").labels
        test_set = workspace.store.test_set("imagenet-val")
        correct = np.stack([workspace.store.predictions.read(test_set, name).top1 == labels for name in names])
        expected = error_consistency(correct)
        places = [[row["model"] for row in studied["models"]].index(name) for name in names]
        assert np.array(studied["matrices"]["kappa"])[np.ix_(places, places)] == pytest.approx(expected)

    def test_a_slice_and_other_labels(self, pack):
        chosen = ("--model", "alexnet", "--model", "resnet50")
        data = json.loads(run_well(*STUDY, pack, *chosen, "--slice", "dogs", "--labels", "real", "--json").out)
        assert (data["labels"], data["slice"], data["images"]) == ("real", "dogs", 5_380)
        compared = json.loads(
            run_well(
                "compare",
                "resnet50",
                "alexnet",
                "-t",
                "imagenet-val",
                "-w",
                pack,
                "-l",
                "real",
                "--slice",
                "dogs",
                "--json",
            ).out
        )
        (pair,), (tested,) = data["pairs"], compared["pairs"]
        assert pair["dominance"]["value"] == pytest.approx(tested["only_second"] / 5_380)

    def test_terminal_shows_the_first_pairs_and_files_all(self, pack):
        shown = run_on_terminal(*STUDY, pack).out
        assert "the first 20 of 2,211 rows; use --csv or --json, or write to a file, for all of them" in shown
        piped = run_well(*STUDY, pack).out
        assert "the first 20" not in piped and len(piped.splitlines()) > 2_211
        assert all(line == line.rstrip() for line in piped.splitlines())
        assert "0.90 [0.89, 0.90]" in shown
        table = list(csv.DictReader(io.StringIO(run_well(*STUDY, pack, "--csv").out)))
        assert len(table) == 2_211
        assert float(table[0]["kappa_low"]) < float(table[0]["kappa"]) < float(table[0]["kappa_high"])

    def test_figure_of_all_models(self, pack, tmp_path):
        ran = run_well(*STUDY, pack, "--figure", tmp_path / "f.svg")
        assert ran.err == f"figure: {tmp_path / 'f.svg'}\n"
        drawn = (tmp_path / "f.svg").read_text()
        assert drawn.count(">pnasnet_large_tf</text>") == 1
        assert "All 2,211 pairs of models share errors" in drawn

    def test_figures_of_grade_and_compare(self, pack, tmp_path):
        chosen = ("--model", "alexnet", "--model", "resnet50", "--slice", "dogs")
        run_well("grade", "-t", "imagenet-val", *chosen, "-w", pack, "--figure", tmp_path / "g.html")
        assert "resnet50 has the highest accuracy of 2 models on imagenet-val" in (tmp_path / "g.html").read_text()
        run_well("compare", "-t", "imagenet-val", "-w", pack, "--figure", tmp_path / "c.svg")
        assert "4 of 67 models may be the best" in (tmp_path / "c.svg").read_text()

    def test_from_python(self, pack, studied):
        result = regrade.open(pack).study.similarity("imagenet-val")
        assert json.loads(json.dumps(result.as_dict())) == studied
        assert figure(result)._repr_mimebundle_()["text/plain"].startswith("All 2,211 pairs of models share errors")


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ((), ("at least two models, got 1",)),
            (("--model", "frist"), ("unknown model on pets 'frist'", "did you mean first?")),
            (("--slice", "horses"), ("horses",)),
            (("--labels", "none"), ("none",)),
        ],
    )
    def test_invalid_options_are_one_line(self, pets, options, words):
        assert_one_line(run("study", "similarity", "-t", "pets", *options, "-w", pets), *words)

    def test_unknown_figure_format(self, pack, tmp_path):
        ran = run("compare", "alexnet", "vgg16", "-t", "imagenet-val", "-w", pack, "--figure", tmp_path / "f.doc")
        assert_one_line(ran, "cannot be saved as 'f.doc'", ".html, .svg, .png, .pdf, .json")

    def test_figure_in_a_missing_folder(self, pack, tmp_path):
        path = tmp_path / "none" / "f.svg"
        ran = run("compare", "alexnet", "vgg16", "-t", "imagenet-val", "-w", pack, "--figure", path)
        assert ran.code == 1 and ran.err.startswith("error: ") and ran.err.count("\n") == 1

    def test_corruptions_have_no_figure(self, pets, tmp_path):
        ran = run("study", "corruptions", "-t", "pets", "--figure", tmp_path / "f.svg", "-w", pets)
        assert ran.code == 2 and "--figure" in ran.err
