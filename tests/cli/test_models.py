"""regrade models: list, describe and check."""

import json

import pytest
from running import assert_one_line, run, run_well


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
