"""regrade models: list and check."""

import json

from running import run, run_well


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
