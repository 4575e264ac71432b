"""regrade doctor: versions, optional parts, devices and the workspace; broken is what cannot work."""

import json
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from running import run, run_well

from regrade.cli.doctor import EXTRAS

INSTALLED = {"regrade": "0.1.0", "numpy": "2.4", "torch": "2.13.0+cpu", "simplejpeg": "1.9"}
REQUIRES = [
    "numpy>=1.26",
    "torch>=2.5; extra == 'torch'",
    "simplejpeg>=1.7.6; extra == 'torch'",
    "regrade[torch]; extra == 'timm'",
    "timm>=1.0; extra == 'timm'",
]


@pytest.fixture
def installed(monkeypatch):
    """An environment with these versions."""
    versions = dict(INSTALLED)

    def version(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "requires", lambda _: REQUIRES)
    return versions


def statuses(out):
    return {(entry["part"], entry["name"]): entry["status"] for entry in json.loads(out)["findings"]}


def test_doctor_describes_every_extra_of_the_project():
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert EXTRAS.keys() == pyproject["project"]["optional-dependencies"].keys() - {"all", "dev", "docs"}


def test_doctor_tells_which_parts_are_installed(installed, tmp_path):
    by_name = statuses(run_well("doctor", "-w", tmp_path, "--json").out)
    assert by_name["version", "numpy"] == by_name["optional part", "torch"] == "ok"
    assert by_name["optional part", "timm"] == "not installed"
    assert by_name["workspace", str(tmp_path)] == "none"
    installed["timm"] = "1.0.25"
    assert statuses(run_well("doctor", "-w", tmp_path, "--json").out)["optional part", "timm"] == "ok"


def test_doctor_fails_with_an_old_or_missing_dependency(installed, tmp_path):
    installed["numpy"] = "1.25.9"
    assert run("doctor", "-w", tmp_path).err == "error: version numpy: numpy 1.25.9 is older than 1.26\n"
    del installed["numpy"]
    ran = run("doctor", "-w", tmp_path)
    assert ran.code == 1 and ran.err == "error: version numpy: numpy is missing\n"


def test_doctor_verifies_the_workspace(pets):
    assert statuses(run_well("doctor", "-w", pets, "--json").out)["workspace", str(pets)] == "ok"
    next(pets.glob("predictions/**/topk.parquet")).write_bytes(b"x")
    ran = run("doctor", "-w", pets)
    assert ran.code == 1 and "topk.parquet" in ran.err and len(ran.err.splitlines()) == 2
