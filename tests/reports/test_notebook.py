"""Results in a notebook: executed by a kernel, converted by nbconvert, and shown by Chromium without a network."""

import io
import os
from base64 import b64decode
from pathlib import Path

import nbformat
import PIL.Image
import pytest
from browser import chromium, opened
from loaded_script import loaded_script
from nbclient import NotebookClient
from nbconvert import HTMLExporter

import regrade
from regrade.display.style import COLORS

CELLS = (
    "import numpy as np, regrade\n"
    "rng = np.random.default_rng(0)\n"
    "y = rng.integers(0, 10, 300)\n"
    "models = {name: rng.normal(size=(300, 10)) + skill * np.eye(10)[y] for name, skill in "
    "[('small', 1.5), ('base', 2.0), ('large', 2.5)]}",
    "grade = regrade.grade(y, models)\ngrade",
    "grade.figure()",
    "regrade.compare(y, models).figure()",
    "import sys\nsys.modules['vl_convert'] = None\ngrade.figure()",
)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The executed notebook."""
    written = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    folder = tmp_path_factory.mktemp("notebook")
    source = str(Path(regrade.__file__).parents[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        NotebookClient(written, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return written


def outputs(notebook, cell):
    (output,) = notebook.cells[cell].outputs
    return output.data


def test_result_is_a_table(notebook):
    assert outputs(notebook, 1)["text/html"].startswith("<table>")
    assert outputs(notebook, 1)["text/plain"].startswith("test set, in %")


@pytest.mark.parametrize("cell", [2, 3])
def test_figure_is_vega_lite_svg_and_png(notebook, cell):
    data = outputs(notebook, cell)
    assert data["application/vnd.vegalite.v6+json"]["$schema"].endswith("vega-lite/v6.4.1.json")
    assert data["image/svg+xml"].startswith("<svg ") and "large" in data["image/svg+xml"]
    assert COLORS[0] in drawn_colors(b64decode(data["image/png"]))


def test_figure_without_the_extra_is_a_text(notebook):
    assert "pip install 'regrade[figures]'" in outputs(notebook, 4)["text/plain"]


@pytest.mark.parametrize("template", ["lab", "classic", "basic"])
def test_converted_page_shows_figures_without_a_network(notebook, template, tmp_path):
    page, _ = HTMLExporter(template_name=template).from_notebook_node(notebook)
    (tmp_path / "notebook.html").write_text(page, encoding="utf-8")
    with chromium() as browser, opened(browser, tmp_path / "notebook.html", width=1100, height=1600) as shown:
        figures = shown.page.locator("img[src^='data:image/svg+xml']")
        assert figures.count() == 2
        for number in range(2):
            colors = drawn_colors(figures.nth(number).screenshot())
            assert len(colors) > 20 and COLORS[0] in colors
        assert shown.page.get_by_text("not drawn").count() == 1
        shown.page.screenshot(path=tmp_path / "notebook.png", full_page=True)


def drawn_colors(screenshot):
    """The colors of a figure's pixels; an empty figure has one."""
    image = PIL.Image.open(io.BytesIO(screenshot)).convert("RGB")
    assert image.width > 300 and image.height > 60
    return {"#{:02x}{:02x}{:02x}".format(*color) for _, color in image.getcolors(maxcolors=image.width * image.height)}


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parents[2].glob("docs/notebooks/*.ipynb")), ids=lambda path: path.stem
)
def test_notebook_of_the_docs_shows_what_its_code_gives(path):
    with loaded_script("run_docs") as run_docs:
        notebook = run_docs.executed(path)
    assert texts(notebook) == texts(nbformat.read(path, as_version=4))


def texts(notebook):
    """What each cell shows as text."""
    return [output.data["text/plain"] for cell in notebook.cells for output in cell.get("outputs", [])]
