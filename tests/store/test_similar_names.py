"""Models, people and test sets with confusingly similar names are rejected with an error that names both."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import assert_one_line, run

import regrade
from regrade.core import InputError
from regrade.core.names import check_distinct_names, comparable_name

ALIKE = ("ada", "A da", "Ada ", "Ada\u200b", "\xa0Ada", "\uff21da", "A\u2060da")


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "set.csv").write_text("image,label\na,0\nb,1\n")
    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("digits", tmp_path / "set.csv", classes="digits")
    return workspace


def people_file(folder, *names):
    path = folder / "people.csv"
    path.write_text("\n".join(["person,image,class", *(f"{name},a,0" for name in names)]) + "\n")
    return path


@pytest.mark.parametrize("name", ALIKE)
def test_import_people_rejects_similar_names_in_one_file(workspace, tmp_path, name):
    path = people_file(tmp_path, "Ada", name)
    ended = run("import", "people", path, "--test-set", "digits", "-w", workspace.store.root)
    assert_one_line(ended, "the person names", repr("Ada"), repr(name))
    assert workspace.store.predictions.people_names("digits") == ()


@pytest.mark.parametrize("name", ALIKE)
def test_import_people_refuses_a_name_like_a_stored_one(workspace, tmp_path, name):
    workspace.models.import_people(people_file(tmp_path, "Ada"), test_set="digits")
    with pytest.raises(InputError) as error:
        workspace.models.import_people(people_file(tmp_path, name), test_set="digits")
    assert repr("person:Ada") in str(error.value) and repr(f"person:{name}") in str(error.value)
    assert workspace.store.predictions.people_names("digits") == ("person:Ada",)


def test_import_people_takes_the_same_file_again_and_other_names(workspace, tmp_path):
    for names in (["Ada"], ["Ada"], ["Ada", "Zoe", "Zoë"]):
        workspace.models.import_people(people_file(tmp_path, *names), test_set="digits")
    assert len(workspace.store.predictions.people_names("digits")) == 3


def test_import_people_rejects_an_invisible_name(workspace, tmp_path):
    with pytest.raises(InputError, match="no visible character"):
        workspace.models.import_people(people_file(tmp_path, "\u200b"), test_set="digits")


def test_add_predictions_refuses_a_model_name_like_another(workspace):
    scores = np.eye(10)[:2]
    workspace.models.add_predictions("ResNet", scores, test_set="digits")
    with pytest.raises(InputError, match="'ResNet' and 'resnet' differ only in case"):
        workspace.models.add_predictions("resnet", scores, test_set="digits")
    assert workspace.store.predictions.model_names("digits") == ("ResNet",)


def test_partial_predictions_rejects_a_similar_model_name(workspace):
    workspace.models.add_predictions("ResNet", np.eye(10)[:2], test_set="digits")
    with pytest.raises(InputError, match="'ResNet' and 'resnet' differ only in case"):
        workspace.store.partial_predictions(workspace.store.test_set("digits"), "resnet", part_size=1, plan={})


def test_add_test_set_refuses_a_name_like_another(workspace, tmp_path):
    with pytest.raises(InputError, match="the test set names 'digits' and 'Digits' differ only in case"):
        workspace.testsets.add("Digits", tmp_path / "set.csv", classes="digits")
    assert workspace.store.test_sets.names() == ("digits",)


def test_stored_names_pass_although_similar():
    check_distinct_names("model", ["Ada", "ada"], ["Ada", "ada"])


@given(st.text("aBé0-", min_size=1), st.lists(st.tuples(st.integers(0, 9), st.sampled_from(" \u200b\u2060\xa0"))))
def test_comparable_name_ignores_case_and_invisible_characters(name, inserted):
    changed = name.swapcase()
    for place, letter in inserted:
        changed = changed[:place] + letter + changed[place:]
    assert comparable_name(changed) == comparable_name(name) == name.lower()
