"""The built wheel installs into an empty environment, is light, and grades."""

import json
import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = "image,label,a,b\n1,cat,cat,dog\n2,dog,dog,dog\n3,ship,ship,truck\n4,frog,cat,frog\n"


def run(*command, **options):
    """Run a command; what it has to compile is kept, so that the next one finds it."""
    compiling = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    command = [str(part) for part in command]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=compiling, **options)


def requirements(distribution, extras=frozenset()):
    """What a distribution requires with some extras, and what that requires in turn, as it is installed here."""
    for requirement in map(Requirement, distribution.requires or ()):
        chosen = [{"extra": extra} for extra in extras or {""}]
        if requirement.marker is None or any(requirement.marker.evaluate(extra) for extra in chosen):
            required = metadata.distribution(requirement.name)
            yield required
            yield from requirements(required, requirement.extras)


def link(distribution, site_packages):
    """Put a distribution that is installed here into another environment."""
    for name in {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}:
        linked = site_packages / name
        if not linked.exists():
            linked.symlink_to(distribution.locate_file(name))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The bin folder of a fresh environment with nothing in it but the wheel and what the wheel requires."""
    folder = tmp_path_factory.mktemp("wheel")
    built = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    assert built.returncode == 0, built.stdout + built.stderr
    venv.create(folder / "env")
    binaries = folder / "env" / "bin"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", binaries / "python")
    done = run(*pip, "install", "--quiet", "--no-compile", "--no-deps", next(folder.glob("*.whl")))
    assert done.returncode == 0, done.stderr
    (site_packages,) = folder.glob("env/lib/python*/site-packages")
    (wheel,) = metadata.distributions(name="regrade", path=[str(site_packages)])
    for distribution in requirements(wheel):
        link(distribution, site_packages)
    checked = run(*pip, "check")
    assert checked.returncode == 0, checked.stdout
    return binaries


def test_the_bare_install_is_light(installed):
    pip = (sys.executable, "-m", "pip", "--python", installed / "python")
    listed = json.loads(run(*pip, "list", "--format", "json").stdout)
    names = {entry["name"].lower() for entry in listed}
    assert "regrade" in names
    assert not names & {"torch", "scikit-learn", "pandas", "statsmodels", "matplotlib", "timm", "onnxruntime"}


def test_the_bare_install_imports_grades_and_compares(installed, tmp_path):
    (tmp_path / "answers.csv").write_text(ANSWERS)
    regrade = installed / "regrade"
    for arguments in (
        ("init", "W"),
        ("import", "predictions", "answers.csv", "--test-set", "pets", "--classes", "cifar-10", "-w", "W"),
        ("compare", "a", "b", "--test-set", "pets", "-w", "W"),
    ):
        done = run(regrade, *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    graded = json.loads(run(regrade, "grade", "--test-set", "pets", "-w", "W", "--json", cwd=tmp_path).stdout)
    assert [(row["model"], row["top1"]["value"]) for row in graded["rows"]] == [("a", 0.75), ("b", 0.5)]


def test_the_bare_install_knows_imagenet_and_names_missing_extras(installed, tmp_path):
    code = "from regrade.classes import class_space; print(len(class_space('imagenet-1k').group('dogs')))"
    assert run(installed / "python", "-c", code).stdout == "118\n"
    done = run(installed / "regrade", "demo", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "error: the demo needs an optional part: pip install 'regrade[demo]'\n"
    (tmp_path / "answers.csv").write_text(ANSWERS)
    import_file = ("import", "predictions", "answers.csv", "--test-set", "pets", "--classes", "cifar-10", "-w", "W")
    for arguments in (("init", "W"), import_file):
        assert run(installed / "regrade", *arguments, cwd=tmp_path).returncode == 0
    for arguments in (("grade", "-t", "pets", "--figure", "x.svg", "-w", "W"), ("report", "-w", "W")):
        done = run(installed / "regrade", *arguments, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr == "error: saving figures needs an optional part: pip install 'regrade[figures]'\n"
