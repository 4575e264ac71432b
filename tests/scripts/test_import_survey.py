"""The files of the survey of imports that the libraries of the tests write; the other tools are not installed here."""

from pathlib import Path

import pytest
from loaded_script import SCRIPTS, loaded_script

PAGE = SCRIPTS.parent / "docs" / "import-survey.md"


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """The script, a world of images, and the files to import."""
    with loaded_script("import_survey_files") as files, loaded_script("import_survey") as script:
        predicted = list(files.SPACE.ids[100 : 100 + files.IMAGES])
        world = files.make_world(tmp_path_factory.mktemp("survey"), lambda _: predicted)
        yield script, world, list(files.array_cases(world))


def test_page_lists_the_outcome_of_each_file(survey, tmp_path: Path):
    script, world, cases = survey
    page = PAGE.read_text()
    assert len(cases) > 20
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        tool = case.tool.partition(" ")[0]
        rows = [row for row in page.splitlines() if row.startswith(f"| {tool} ") and f"| `{case.options}` |" in row]
        assert [row.split(" | ")[-1] for row in rows] == [f"{script.outcome(world, case, folder)} |"] * len(rows)
        assert rows, f"{case} is missing on the page"


def test_survey_rejects_a_file_whose_accuracy_differs(survey, tmp_path):
    script, world, cases = survey
    world.logits[0] = -world.logits[0]
    try:
        with pytest.raises(AssertionError, match=r"top-1 accuracy 70\.8 %"):
            script.outcome(world, cases[0], tmp_path)
    finally:
        world.logits[0] = -world.logits[0]
