"""The registry of studies: what is derived from each record, and the study of docs/add-a-study.md as a package."""

import json
import math
import re
import subprocess
import sys
from dataclasses import MISSING, fields, replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from running import assert_one_line, run, run_well

import regrade
from regrade.build import BUILD_STEPS
from regrade.build.steps.sample import _overrides
from regrade.cli.study import SUMMARIES, TOP_LEVEL, StudyGroup, study_command
from regrade.core import InputError
from regrade.studies import AGREEMENT, NEIGHBORS_COMMAND, PLANS, STUDIES, StudyOptions, offered, registry
from regrade.studies.methods import studies_of
from regrade.studies.study import alternatives, enum_of, hints_of, items_of

PAGE = Path(__file__).parents[2] / "docs" / "add-a-study.md"
CHAPTERS = [*STUDIES, NEIGHBORS_COMMAND]
RECORDS = [*CHAPTERS, *PLANS, AGREEMENT]


@pytest.fixture
def pets(tmp_path):
    (tmp_path / "pets.csv").write_text("image,label,a,b,c\n1,cat,cat,cat,dog\n2,dog,dog,cat,dog\n3,dog,dog,dog,dog\n")
    (tmp_path / "classes.csv").write_text("id,name\ncat,cat\ndog,dog\n")
    workspace = regrade.init(tmp_path / "study")
    workspace.models.import_predictions(tmp_path / "pets.csv", test_set="pets", classes=tmp_path / "classes.csv")
    return workspace


@pytest.mark.parametrize("study", CHAPTERS, ids=lambda study: study.name)
def test_folder_of_a_study_has_its_parts(study):
    folder = Path(sys.modules[study.run.__module__].__file__).parent
    missing = {"__init__.py", "study.py", "analysis.py", "findings.py"} - {path.name for path in folder.iterdir()}
    assert not missing, f"the folder of {study.name} has no {missing}: see docs/add-a-study.md"
    assert (folder / "figure.py").exists() == (study.figure is not None), "figure.py and figure= belong together"


@pytest.mark.parametrize("study", RECORDS, ids=lambda study: study.name)
class TestRecord:
    def test_every_option_has_a_help_text(self, study):
        assert all(flag.help.endswith(".") for flag in study.option_class.flags().values())
        assert (study.question.endswith("?") and study.run.__doc__ is None) or study.run.__doc__

    def test_command_has_every_option(self, study):
        parameters = study_command(study).__signature__.parameters
        assert set(study.option_class.flags()) <= set(parameters)
        assert ("figure" in parameters) == (study.figure is not None)
        assert ("show" in parameters) == (study.parts is not None)

    def test_options_without_a_default_are_required(self, study):
        parameters = study_command(study).__signature__.parameters
        required = {field.name for field in fields(study.option_class) if field.default is MISSING}
        assert required == {name for name, parameter in parameters.items() if parameter.default is parameter.empty}

    def test_types_of_options_can_be_resolved(self, study):
        assert set(hints_of(study.option_class)) == {field.name for field in fields(study.option_class)}


def test_study_of_a_result_is_its_own():
    results = [study.result for study in STUDIES]
    assert len(set(results)) == len(results)
    assert registry.study_of(object()) is None


def test_workspace_has_a_method_per_study(pets):
    methods = [name for name in vars(registry.Studies) if hasattr(pets.study, name)
        and hasattr(getattr(pets.study, name), "study")]  # fmt: skip
    assert [study.name for study in STUDIES] == methods, "the name of a study is that of its method in registry.py"
    assert pets.study.grade("pets").as_dict() == pets.grade("pets").as_dict()


def test_commands_of_the_registry_are_listed_without_importing_it():
    assert {*SUMMARIES, *TOP_LEVEL} == {study.name for study in STUDIES}
    assert list(SUMMARIES) == sorted(SUMMARIES)
    assert studies_of(registry.Plans) == PLANS


def test_command_of_a_study_has_hyphens(monkeypatch):
    named = replace(STUDIES[-2], name="two_words")
    monkeypatch.setattr(offered, "offered_studies", lambda _: (named,))
    group = StudyGroup()
    assert group.list_commands(None) == ["two-words"]
    assert group.get_command(None, "two-words").name == "two-words"


def test_lists_become_tuples_and_texts_are_rejected(pets):
    options = STUDIES[0].option_class("pets", models=["a", "b"], rule=None)
    assert options.models == ("a", "b")
    with pytest.raises(InputError, match=r"models must be a list of names: \['a'\]"):
        pets.grade("pets", models="a")


def _float_options():
    for study in (*STUDIES, NEIGHBORS_COMMAND, *PLANS, *BUILD_STEPS):
        for name, hint in hints_of(study.option_class).items():
            if float in alternatives(hint) or items_of(hint) is float:
                yield pytest.param(study, name, items_of(hint) is float, id=f"{study.name}-{name}")


def _placeholder(hint):
    enum = enum_of(hint)
    return next(iter(enum)) if enum else [] if items_of(hint) else 0.5 if float in alternatives(hint) else "x"


@pytest.mark.parametrize(("study", "name", "is_list"), list(_float_options()))
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_options_reject_numbers_that_are_not_finite(study, name, is_list, value):
    hints = hints_of(study.option_class)
    required = {field.name: _placeholder(hints[field.name]) for field in fields(study.option_class)
                if field.default is MISSING}  # fmt: skip
    written = study.option_class.flags()[name].written(name)
    with pytest.raises(InputError, match=f"^{written} must be a finite number, got"):
        study.option_class(**{**required, name: [value] if is_list else value})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["grade", "-t", "pets", "--half-width", "nan"], "--half-width must be a finite number, got nan"),
        (["grade", "-t", "pets", "--half-width", "inf"], "--half-width must be a finite number, got inf"),
        (["grade", "-t", "pets", "--half-width", "0"], "--half-width must be above 0, got 0"),
        (["grade", "-t", "pets", "--half-width", "-1"], "--half-width must be above 0, got -1"),
        (["study", "confusion", "-t", "pets", "--above", "nan"], "--above must be a finite number, got nan"),
        (["compare", "-t", "pets", "--equivalence", "nan"], "--equivalence must be a finite number, got nan"),
        (["study", "leakage", "-t", "pets", "--near", "phash=nan"], "--near must be a finite number, got nan"),
    ],
)
@pytest.mark.usefixtures("pets")
def test_commands_reject_numbers_without_a_meaning(tmp_path, arguments, message):
    assert_one_line(run(*arguments, "-w", tmp_path / "study"), message)


def test_override_of_a_class_rejects_a_number_that_is_not_finite():
    with pytest.raises(InputError, match="--override n1 must be a finite number, got nan"):
        _overrides(["n1=nan"])


def test_options_are_equal_if_only_the_progress_differs():
    first, second = StudyOptions(), StudyOptions(progress=list)
    assert first == second and hash(first) == hash(second)


class TestOfferedStudy:
    """The page's code as an installed package, in a process of its own."""

    @pytest.fixture
    def site(self, tmp_path):
        (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
        (entry_points,) = re.findall(r"```toml\n\[project\.entry-points\.\"(.*?)```", PAGE.read_text(), flags=re.DOTALL)
        site = tmp_path / "site"
        about = site / "majority-1.0.dist-info"
        about.mkdir(parents=True)
        (site / "majority.py").write_text(code)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: majority\nVersion: 1.0\n")
        group, _, lines = entry_points.partition('"]')
        (about / "entry_points.txt").write_text(f"[{group}]{lines}".replace('"', ""))
        return site

    def run(self, site, *arguments):
        code = f"import sys; sys.path.insert(0, {str(site)!r}); from regrade.cli import main; main()"
        command = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_command_prints_the_table(self, site, pets):
        ran = self.run(site, "study", "majority", "-t", "pets", "--json", "-w", pets.store.root)
        assert ran.returncode == 0, ran.stderr
        rows = json.loads(ran.stdout)["rows"]
        assert {row["model"]: row["agreement"]["value"] for row in rows} == pytest.approx(
            {"a": 1.0, "b": 2 / 3, "c": 2 / 3}
        )
        assert "majority" in self.run(site, "study", "--help").stdout
        assert "--least" in self.run(site, "study", "majority", "--help").stdout

    def test_errors_are_one_line(self, site, pets):
        ran = self.run(site, "study", "majority", "-t", "pets", "--least", "4", "-w", pets.store.root)
        assert (ran.returncode, ran.stderr) == (1, "error: no image has a class that 4 models predict: lower --least\n")

    def test_report_has_its_chapter(self, site, pets, tmp_path):
        ran = self.run(site, "report", "-w", pets.store.root, "--out", tmp_path / "report")
        assert ran.returncode == 0, ran.stderr
        sections = json.loads((tmp_path / "report" / "results.json").read_text())["sections"]
        section = next(section for section in sections if section["anchor"] == "majority-pets")
        assert section["question"] == "Which models think alike?"
        assert section["findings"][0]["headline"] == "a is closest to the majority"

    def test_python_runs_the_record(self, site, pets, monkeypatch):
        monkeypatch.syspath_prepend(str(site))
        record = __import__("majority").MAJORITY
        result = pets.study.run(record, "pets", least=3)
        assert [row.agreement.n for row in result.rows] == [1, 1, 1]
        assert "agreement with the majority on pets" in str(result)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_package:STUDY", "cannot be loaded: No module named 'no_such_package'"),
        ("numpy:pi", "must be a Study"),
        ("regrade.studies.grade.study:GRADE", "has the name of a study of regrade: grade"),
    ],
)
def test_bad_entry_points_raise_one_line(monkeypatch, value, message):
    entry = EntryPoint("mine", value, offered.GROUP)
    monkeypatch.setattr(offered, "entry_points", lambda *, group: [entry] if group == offered.GROUP else [])
    offered.offered_studies.cache_clear()
    try:
        with pytest.raises(InputError, match=re.escape(message)):
            registry.all_studies()
    finally:
        offered.offered_studies.cache_clear()


def test_compare_without_names_compares_all_models(pets):
    data = json.loads(run_well("compare", "-t", "pets", "--json", "-w", pets.store.root).out)
    assert {pair["first"] for pair in data["pairs"]} | {pair["second"] for pair in data["pairs"]} == {"a", "b", "c"}
    assert np.isfinite([pair["difference"]["value"] for pair in data["pairs"]]).all()
