"""regrade build compare: the command, its tables and its figure."""

import json

import pytest
from build_world import make_build
from running import assert_one_line, run, run_well

from regrade.build.steps.compare import BUILD_COMPARE, ComparePart
from regrade.core import InputError, UndefinedError


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return make_build(tmp_path_factory.mktemp("compare"))


def test_compare_states_a_conclusion_per_property(workspace):
    result = workspace.build.compare("pool", "reference")
    assert {row.name for row in result.properties} == {
        "taken", "uploaded", "width", "height", "file bytes", "images per author", "license", "keyword", "class"
    }  # fmt: skip
    conclusions = {row.name: row.conclusion.value for row in result.properties}
    assert conclusions["license"] == "not enough data to tell"  # seven authors
    assert conclusions["keyword"] == "no difference detected"
    assert "taken: not compared: pool and reference have no column taken" in result.table().notes
    widths = [row for row in result.part(ComparePart.VALUES).rows if row[0] == "width"]
    assert [row[2] for row in widths] == [8] * 5


def test_compare_counts_unreadable_images_and_can_leave_sizes_out(tmp_path):
    workspace = make_build(tmp_path)
    (tmp_path / "pool" / "000.png").write_bytes(b"nothing")
    read = []

    def progress(items, total):
        read.append(total)
        return items

    result = workspace.build.compare("pool", "reference", image_progress=progress)
    assert "pool: 1 image cannot be read" in result.notes
    assert read == [120, 72]
    quick = workspace.build.compare("pool", "reference", sizes=False)
    assert next(row for row in quick.properties if row.name == "width").note == (
        "the images of pool and reference were not read"
    )


def test_compare_depends_on_the_seed_alone(workspace):
    first, again, differently = (workspace.build.compare("pool", "reference", seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != differently


def test_compare_on_the_command_line(workspace, tmp_path):
    arguments = ("build", "compare", "pool", "--reference", "reference", "--workspace", workspace.store.root)
    page = tmp_path / "page.html"
    shown = run_well(*arguments, "--figure", page)
    assert "not enough data to tell" in shown.out
    text = page.read_text()
    assert "No difference between pool and reference was detected" in text
    assert "src=" not in text.split("<script>")[0]  # nothing is loaded from elsewhere
    values = run_well(*arguments, "--show", "values", "--csv").out
    assert "license,CC0,48,0.4," in values
    content = json.loads(run_well(*arguments, "--json").out)
    assert content["properties"][0]["conclusion"] == "not compared"


def test_compare_rejects_a_set_compared_with_itself_and_unknown_sets(workspace):
    with pytest.raises(InputError, match="must differ from pool"):
        workspace.build.compare("pool", "pool")
    ran = run("build", "compare", "pool", "--reference", "none", "--workspace", workspace.store.root)
    assert_one_line(ran, "unknown test set 'none'")


def test_a_figure_needs_something_to_draw(workspace, tmp_path):
    for name in ("a", "b"):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"id,label\n{name}1,n01\n{name}2,n02\n")
        workspace.testsets.add(name, path, classes="three")
    result = workspace.build.compare("a", "b")
    with pytest.raises(UndefinedError, match="nothing to draw"):
        BUILD_COMPARE.figure(result)
