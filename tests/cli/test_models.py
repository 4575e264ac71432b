"""regrade models: list, describe and check."""

import csv
import json

import pytest
from running import assert_one_line, run, run_well

import regrade


def test_models_check(pack, tmp_path):
    """The pack has no timm names, so our own CSV lists two of its models, one with a wrong accuracy."""
    path = tmp_path / "figures.csv"
    path.write_text("model,top1\nresnet50,76.13\nalexnet,60.0\n")
    command = ("models", "check", "-t", "imagenet-val", "--published", path, "--prefix", "", "-w", pack)
    ran = run(*command, "--json")
    assert ran.code == 3
    data = json.loads(ran.out)
    assert [row["model"] for row in data["models"]] == ["resnet50", "alexnet"]
    assert len(data["warnings"]) == 1 and "alexnet" in data["warnings"][0]
    path.write_text("model,top1\nresnet50,76.13\n")
    assert "76.1" in run_well(*command).out


def test_models_list(pets):
    data = json.loads(run_well("models", "list", "-w", pets, "--json").out)
    assert data == {"models": [{"model": "first", "test_sets": ["pets"]}], "errors": []}


@pytest.fixture
def described(pets, tmp_path):
    """A workspace, and a file of attributes."""
    (tmp_path / "models.csv").write_text("model,year,base_model\nfirst,2015,\nlater,2016,first\n")
    return pets, tmp_path / "models.csv"


def test_models_describe_is_idempotent_and_says_what_it_replaces(described):
    workspace, path = described
    done = json.loads(run_well("models", "describe", path, "-w", workspace, "--json").out)
    assert (done["new"], done["not_stored"], done["missing_base_models"]) == (["first", "later"], ["later"], [])
    again = json.loads(run_well("models", "describe", path, "-w", workspace, "--json").out)
    assert (again["unchanged"], again["changes"]) == (["first", "later"], [])
    path.write_text("model,year,base_model\nfirst,2014,gone\n")
    ran = run_well("models", "describe", path, "-w", workspace)
    assert "1 value replaced: year of first from 2015 to 2014" in ran.err
    assert "1 base model without predictions here: gone" in ran.err
    assert run_well("verify", "-w", workspace).code == 0


def test_models_list_shows_stated_attributes(described):
    workspace, path = described
    run_well("models", "describe", path, "-w", workspace)
    data = json.loads(run_well("models", "list", "-w", workspace, "--json").out)
    assert data["models"] == [{"model": "first", "test_sets": ["pets"], "year": 2015}]
    assert run_well("models", "list", "-w", workspace, "--csv").out == "model,test_sets,year\nfirst,pets,2015\n"


def test_models_describe_rejects_a_cycle_with_stored_models_in_one_line(described):
    workspace, path = described
    run_well("models", "describe", path, "-w", workspace)
    path.write_text("model,base_model\nfirst,later\n")
    assert_one_line(
        run("models", "describe", path, "-w", workspace), "base models form a cycle: first -> later -> first"
    )


@pytest.fixture
def zoo_models(pets, tmp_path):
    """A workspace with predictions of three models of zoos, two of them fine-tunings, and one of no zoo."""
    store = regrade.open(pets).store
    names = ("timm:vit_tiny.in21k", "timm:vit_tiny.in21k_ft_in1k", "open_clip:RN50/openai", "own")
    test_set = store.test_set("pets")
    labels = test_set.labels
    path = tmp_path / "more.csv"
    with path.open("w", newline="") as file:
        rows = [[name, *[int(label)] * len(names)] for name, label in zip(test_set.ids, labels, strict=True)]
        csv.writer(file).writerows([("id", *names), *rows])
    run_well("import", "predictions", path, "-t", "pets", "-w", pets)
    return pets, tmp_path


def listed_models(workspace):
    data = json.loads(run_well("models", "list", "-w", workspace, "--json").out)
    return {row["model"]: row for row in data["models"]}


def test_models_describe_from_zoo_records_sources_and_is_idempotent(zoo_models):
    workspace, _ = zoo_models
    done = json.loads(run_well("models", "describe", "--from-zoo", "-w", workspace, "--json").out)
    assert len(done["new"]) == 3 and done["described"]["family"] == 3 and done["described"]["parameters"] == 0
    assert done["unknown"]["year"] == [] and set(done["left_out"]) == {"first", "own"}
    again = json.loads(run_well("models", "describe", "--from-zoo", "-w", workspace, "--json").out)
    assert (again["new"], again["updated"], len(again["unchanged"])) == ([], [], 3)
    tuned = listed_models(workspace)["timm:vit_tiny.in21k_ft_in1k"]
    assert (tuned["family"], tuned["year"], tuned["training_images"]) == ("vit", 2020, 14_197_122)
    assert tuned["base_model"] == "timm:vit_tiny.in21k" and set(tuned["sources"].values()) == {"name in timm"}
    assert "sources" not in listed_models(workspace)["own"]
    table = run_well("models", "list", "-w", workspace).out
    assert "derived from name in open_clip: family, training data, training images, year" in table
    assert run_well("verify", "-w", workspace).code == 0


@pytest.mark.parametrize("stated_first", [True, False])
def test_models_describe_from_zoo_never_replaces_what_is_stated(zoo_models, stated_first):
    workspace, folder = zoo_models
    (folder / "own.csv").write_text("model,family,year\ntimm:*,mine,1999\n")
    commands = [("models", "describe", folder / "own.csv"), ("models", "describe", "--from-zoo")]
    for command in commands if stated_first else reversed(commands):
        run_well(*command, "-w", workspace)
    row = listed_models(workspace)["timm:vit_tiny.in21k"]
    assert (row["family"], row["year"], row["training_data"]) == ("mine", 1999, "ImageNet-21k")
    assert set(row["sources"]) == {"training_data", "training_images"}


def test_timm_results_derive_what_names_state(zoo_models):
    workspace, folder = zoo_models
    (folder / "results.csv").write_text("model,top1,param_count\nvit_tiny.in21k,70.0,5.72\n")
    run_well("models", "describe", folder / "results.csv", "--format", "timm", "-w", workspace)
    row = listed_models(workspace)["timm:vit_tiny.in21k"]
    assert (row["parameters"], row["family"], row["year"]) == (5_720_000, "vit", 2020)
    assert "parameters" not in row["sources"] and row["sources"]["family"] == "name in timm"


def test_derived_attributes_follow_a_renamed_model(zoo_models):
    workspace, _ = zoo_models
    run_well("models", "describe", "--from-zoo", "-w", workspace)
    run_well("models", "rename", "timm:vit_tiny.in21k", "tiny", "-w", workspace)
    rows = listed_models(workspace)
    assert rows["tiny"]["sources"]["family"] == "name in timm"
    assert rows["timm:vit_tiny.in21k_ft_in1k"]["base_model"] == "tiny"


def test_a_derived_base_model_is_an_intervention(zoo_models):
    workspace, _ = zoo_models
    run_well("models", "describe", "--from-zoo", "-w", workspace)
    data = json.loads(run_well("study", "remedies", "-t", "pets", "-w", workspace, "--json").out)
    assert "timm:vit_tiny.in21k_ft_in1k" in json.dumps(data)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "give a file"),
        (("--zoo", "timm"), "--zoo needs --from-zoo"),
        (("a.csv", "--from-zoo"), "--from-zoo reads no file"),
        (("--from-zoo", "--format", "timm"), "--from-zoo reads no file"),
        (("--from-zoo",), "no name of 1 model begins with the prefix of a zoo"),
    ],
)
def test_models_describe_rejects_in_one_line(pets, arguments, message):
    assert_one_line(run("models", "describe", *arguments, "-w", pets), message)


def test_models_describe_from_zoo_of_an_empty_workspace(tmp_path):
    run_well("init", tmp_path / "W")
    assert_one_line(run("models", "describe", "--from-zoo", "-w", tmp_path / "W"), "no predictions of models")


def test_models_without_a_prefix_are_of_the_zoo_that_is_named(pets):
    done = json.loads(run_well("models", "describe", "--from-zoo", "--zoo", "timm", "-w", pets, "--json").out)
    assert done["unknown"]["family"] == ["first"]
