"""Start-up time: commands import only the packages that they need."""

import subprocess
import sys

import pytest
import typer
from report_world import make_world
from running import run_well

from regrade.cli.app import app

NOT_FOR_A_RESULT = {
    "alembic", "altair", "faiss", "fastapi", "onnxruntime", "pandas", "ray", "rich.console", "sklearn", "sqlalchemy",
    "statsmodels", "timm", "torch", "uvicorn", "vl_convert",
}  # fmt: skip
SHOW_MODULES = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
"""
RUN = f"""
{SHOW_MODULES}
from regrade.cli import main
main()
"""
COMMANDS = (
    ("grade", "--test-set", "old", "--labels", "many"),
    ("compare", "--test-set", "old"),
    ("study", "generalization", "--original", "old", "--new", "new"),
    ("study", "similarity", "--test-set", "old"),
    ("study", "mistakes", "--test-set", "old", "--labels", "many"),
    ("study", "people", "--test-set", "old"),
)


def loaded_by(code, *arguments):
    """The modules loaded by a new process, from the last line that it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("start")).store.root


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_json_output_imports_few_packages(world, run_warm, command):
    ran = run_warm(*command, "--json", "-w", world, first=SHOW_MODULES)
    assert ran.code == 0, ran.err
    loaded = set(ran.err.splitlines()[-1].split())
    assert {"numpy", "pyarrow"} <= loaded
    assert not NOT_FOR_A_RESULT & loaded


@pytest.mark.parametrize("group", ["models", "testsets", "labels"])
def test_lists_import_no_analysis(world, group):
    loaded = loaded_by(RUN, group, "list", "--json", "-w", world)
    assert "regrade.store" in loaded
    assert ("PIL" in loaded) == (group == "testsets")
    assert not {"scipy", "regrade.workspace", "regrade.studies", "regrade.predict"} & loaded


@pytest.mark.parametrize("command", COMMANDS[:2], ids=lambda command: command[0])
def test_results_of_stored_data_import_no_rare_parts(world, command):
    loaded = loaded_by(RUN, *command, "--json", "-w", world)
    assert "regrade.studies" in loaded
    assert not {"scipy.stats", "scipy.sparse", "regrade.workspace", "regrade.build", "regrade.train"} & loaded


def test_imports_of_files_import_no_other_study(tmp_path):
    (tmp_path / "pets.csv").write_text("image,label,a,b,c\n1,cat,cat,cat,dog\n2,dog,dog,cat,dog\n")
    (tmp_path / "classes.csv").write_text("id,name\ncat,cat\ndog,dog\n")
    root, names = tmp_path / "W", ("--test-set", "pets", "-w", tmp_path / "W")
    created = loaded_by(RUN, "init", root)
    imported = loaded_by(
        RUN, "import", "predictions", tmp_path / "pets.csv", *names, "--classes", tmp_path / "classes.csv"
    )
    labels = loaded_by(RUN, "import", "labels", tmp_path / "pets.csv", *names, "--name", "own")
    assert "regrade.store.folder" in created & imported & labels
    assert not {"scipy.special", "regrade.studies", "regrade.workspace"} & created
    rare = {"regrade.studies.registry", "regrade.build.registry", "regrade.train.registry", "scipy.stats", "pandas"}
    assert not rare & (imported | labels)
    assert "regrade.studies.compare.study" not in imported | labels


def test_command_line_imports_no_heavy_packages():
    loaded = loaded_by(RUN, "--version")
    assert "typer" in loaded
    assert not {"pyarrow", "scipy", "PIL", *NOT_FOR_A_RESULT} & loaded


def test_help_imports_no_command():
    loaded = loaded_by(RUN, "--help")
    assert "rich" in loaded
    assert not {"numpy", "pyarrow", "scipy", "PIL", "regrade.core", "regrade.cli.predict", "regrade.cli.team"} & loaded


def commands_below(group, path=()):
    """Every command and group below a group: its names, and what the help of its group says about it."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield (*path, name), getattr(group, "commands", {}).get(name, command), command
        if hasattr(command, "list_commands"):
            yield from commands_below(command, (*path, name))


@pytest.mark.parametrize("command", ["grade", "compare", "study", "study people", "study similarity", "plan accuracy"])
def test_help_of_a_study_imports_neither_tables_nor_statistics(command):
    loaded = loaded_by(RUN, *command.split(), "--help")
    assert not {"pyarrow", "scipy.special", "regrade.studies.registry", *NOT_FOR_A_RESULT} - {"rich.console"} & loaded


def test_summaries_in_the_help_are_those_of_the_commands():
    summaries = {
        path: (listed.get_short_help_str(1000), command.get_short_help_str(1000))
        for path, listed, command in commands_below(typer.main.get_command(app))
    }
    assert {("grade",), ("labels", "diff"), ("team", "add"), ("study", "people")} <= summaries.keys()
    assert {path: pair for path, pair in summaries.items() if pair[0] != pair[1]} == {}


def test_package_imports_lazily():
    code = "import sys, regrade; print(*sys.modules, file=sys.stderr)"
    assert not {"numpy", "pyarrow", "pydantic", "typer"} & loaded_by(code)


@pytest.mark.parametrize("command", [(), ("grade",), ("study", "people"), ("labels", "diff"), ("team", "add")])
def test_h_is_help(command):
    assert run_well(*command, "-h") == run_well(*command, "--help")


def test_completion_of_commands_imports_none_of_them(monkeypatch):
    monkeypatch.setenv("_REGRADE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "regrade ")
    monkeypatch.setenv("COMP_CWORD", "1")
    loaded = loaded_by(f"import sys\nsys.argv[0] = 'regrade'\n{RUN}")
    assert not {"pyarrow", "scipy", "regrade.studies", "regrade.cli.predict"} & loaded


def test_doctor_imports_no_optional_part(tmp_path):
    loaded = loaded_by(RUN, "doctor", "-w", tmp_path)
    assert not {"torch", "timm", "altair", "vl_convert", "ray", "sqlalchemy", "scipy"} & loaded
