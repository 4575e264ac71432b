"""regrade build revisions: the table, the difference of two revisions, and the convergence curve."""

import json

import pytest
from build_world import make_build
from running import run, run_well

from regrade.build.steps.revisions import BUILD_REVISIONS, RevisionPart
from regrade.core import InputError, UndefinedError, UnknownName


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Revision 0, revision 1 without two of its images, and revision 2 with too many images per class."""
    folder = tmp_path_factory.mktemp("revisions")
    workspace = make_build(folder)
    first = workspace.build.sample("new", "matched-frequency", per_class=6)
    assert not first.problems
    result = workspace.build.revisions("new")
    assert result.compared is None
    assert RevisionPart.CHANGES not in result.parts
    with pytest.raises(UndefinedError, match="needs two"):
        BUILD_REVISIONS.figure(result)
    return workspace


@pytest.fixture(scope="module")
def removed(workspace, tmp_path_factory):
    """The two images that revision 1 leaves out."""
    from regrade.build.files import RevisionCollection

    drawn = RevisionCollection(workspace.store.root).read("new", 0).sample.examples
    images = sorted(image for image, _ in drawn)[:2]
    path = tmp_path_factory.mktemp("lists") / "blacklist.txt"
    path.write_text("\n".join(images))
    workspace.build.sample("new", "matched-frequency", per_class=6, blacklist=path, continue_from=0, seed=1)
    workspace.build.sample("new", "threshold", per_class=39, min_answers=5)
    return images


@pytest.mark.usefixtures("removed")
def test_revisions_has_a_row_per_revision(workspace):
    first, second, third = workspace.build.revisions("new").revisions
    assert (first.images, first.added, first.removed, first.problems) == (18, None, None, ())
    assert (second.images, second.added, second.removed, second.seed) == (18, 2, 2, 1)
    assert second.excluded["blacklisted"] == 2
    assert third.excluded["below_threshold"] > 0
    assert any("needed" in problem for problem in third.problems)


def test_revisions_shows_the_difference_of_two(workspace, removed):
    result = workspace.build.revisions("new", first=0, second=1)
    assert result.compared == (0, 1)
    rows = result.part(RevisionPart.CHANGES).rows
    assert sorted(image for kind, _, image, _ in rows if kind == "removed") == removed
    assert sum(kind == "added" for kind, *_ in rows) == 2
    backwards = workspace.build.revisions("new", first=1, second=0).part(RevisionPart.CHANGES).rows
    assert {(kind, image) for kind, _, image, _ in backwards} == {
        ({"added": "removed", "removed": "added"}[kind], image) for kind, _, image, _ in rows
    }
    assert workspace.build.revisions("new").compared == (1, 2)
    assert workspace.build.revisions("new", first=1, second=1).part(RevisionPart.CHANGES).rows == ()


def test_revisions_command_prints_each_table(workspace, removed, tmp_path):
    root = workspace.store.root
    figure = tmp_path / "curve.json"
    done = run_well("build", "revisions", "new", "-w", root, "--figure", figure)
    assert "threshold" in done.out
    assert json.loads(figure.read_text())["description"].endswith("Added per revision: 2, "
        f"{workspace.build.revisions('new').revisions[2].added}.")  # fmt: skip
    changes = run_well("build", "revisions", "new", "--show", "changes", "--from", "0", "--to", "1", "-w", root)
    assert all(image in changes.out for image in removed)
    assert "needed" in run_well("build", "revisions", "new", "--show", "problems", "-w", root).out
    data = json.loads(run_well("build", "revisions", "new", "--from", "0", "--to", "1", "--json", "-w", root).out)
    assert [image for image, _ in data["removed"]] == removed
    assert len(data["revisions"]) == 3


@pytest.mark.usefixtures("removed")
def test_revisions_rejects_unknown_builds_and_numbers(workspace, tmp_path):
    with pytest.raises(UnknownName, match="unknown build 'neu'"):
        workspace.build.revisions("neu")
    with pytest.raises(InputError, match="build new has no revision 7: the last ones are 0, 1, 2"):
        workspace.build.revisions("new", first=7)
    bare = make_build(tmp_path)
    with pytest.raises(InputError, match="no revisions yet: draw one with regrade build sample new"):
        bare.build.revisions("new")
    assert run("build", "revisions", "new", "--from", "-1", "-w", workspace.store.root).code != 0
