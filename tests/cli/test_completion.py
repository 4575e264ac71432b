"""Shell completion: commands, and the names of test sets, models and label sets of the workspace."""

import pytest
from running import run_process

import regrade


@pytest.fixture
def complete(pets, monkeypatch):
    """The completions of a line that bash would show in the workspace `pets`."""
    monkeypatch.setenv("REGRADE_WORKSPACE", str(pets))

    def completions(line, shell="bash"):
        words = line.split(" ")
        monkeypatch.setenv("_REGRADE_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        return [name for name in run_process().out.splitlines() if name]

    return completions


def test_completion_lists_names_of_the_workspace(complete):
    assert complete("regrade grade -t ") == ["pets"]
    assert complete("regrade compare -t pets fi") == ["first"]
    assert complete("regrade labels export x y -t p") == ["pets"]
    assert complete("regrade grade -w /nowhere -t ") == []


def test_completion_lists_commands_and_studies(complete):
    assert complete("regrade gr") == ["grade"]
    assert complete("regrade study gen") == ["generalization"]
    assert complete("regrade labels ex") == ["export"]


def test_completion_lists_label_sets(complete, pets):
    test_set = regrade.open(pets).store.test_set("pets")
    (pets / "labels.csv").write_text("image,class\n" + "".join(f"{name},cat\n" for name in test_set.ids))
    regrade.open(pets).labels.import_file(pets / "labels.csv", test_set="pets", name="ours")
    assert complete("regrade grade -t pets --labels o") == ["ours@1"]


def test_completion_escapes_names_for_bash(complete, pets):
    regrade.open(pets).models.import_predictions({"my net": ["cat"] * 6}, test_set="pets")
    assert complete("regrade compare -t pets my") == ["my\\ net"]
