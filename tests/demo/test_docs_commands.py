"""The tutorials and the gallery: every command runs on the workspace of the demo and prints what the page shows."""

import shutil

import pytest
from loaded_script import loaded_script

pytest.importorskip("sklearn")
pytest.importorskip("mlxtend")
pytest.importorskip("vl_convert")

with loaded_script("run_docs") as run_docs:
    PAGES = run_docs.PAGES


@pytest.fixture(scope="module")
def folder(shown, tmp_path_factory):
    """A folder with a copy of the workspace of the demo."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(shown[0], folder / run_docs.DEMO)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_the_page_print_what_it_shows(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert [(shown.command, printed) for shown, printed in run_docs.differences(page)] == []


def test_other_output_is_noticed():
    shown = run_docs.Shown("regrade grade", "model  top-1\na  75.0\n")
    assert shown.agrees("model top-1\na 75.0\n") and not shown.agrees("model top-1\na 76.0\n")
    beginning = run_docs.Shown("regrade grade", "model  top-1\n...\n")
    assert beginning.agrees("model top-1\na 75.0\n") and not beginning.agrees("name top-1\n")


def test_every_figure_of_the_gallery_has_its_command():
    text = run_docs.GALLERY.read_text()
    drawn = {shown.command.partition("--figure ")[2].split()[0] for shown in run_docs.commands_of(text)}
    stored = {path.name for path in (run_docs.DOCS / "figures" / "gallery").iterdir()}
    assert drawn == stored and all(f"](figures/gallery/{name})" in text for name in stored)
