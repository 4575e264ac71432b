"""Tests of the comparison of JSON output: which differences count, and that every command has a case."""

from pathlib import Path

import pytest
from loaded_script import loaded_script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    with loaded_script("compare_json") as module:
        yield module


@pytest.fixture(scope="module")
def difference_count(script):
    def count(before, after, **intended):
        names = {name: frozenset(intended.get(name, ())) for name in ("added", "text", "ignored", "unordered")}
        return len(list(script.differences(before, after, script.Intended(intended.get("renames", {}), **names))))

    return count


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 1}, {"a": 1.0}),
        ({"a": 0.1}, {"a": 0.1 + 1e-17 * 10}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": [1, 2]}, {"a": [1]}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": "one"}, {"a": "One"}),
        ({"a": None}, {"a": 0}),
        ({"exit code": 0, "json": {}}, {"exit code": 1, "json": {}}),
        ({"exit code": 2, "failed": "error: x"}, {"exit code": 2, "failed": "error: x"}),
    ],
)
def test_differences_reports_every_change(difference_count, before, after):
    assert difference_count(before, after)


def test_differences_accepts_equal_output(difference_count):
    output = {"rows": [{"value": float("nan"), "text": "1 image"}, None], "exit code": 0}
    assert not difference_count(output, {"rows": [{"value": float("nan"), "text": "1 image"}, None], "exit code": 0})


def test_differences_applies_renames_to_whole_words(difference_count):
    renames = {"photo": "image"}
    before = {"photo_of": ["the photo", "photos"]}
    assert not difference_count(before, {"image_of": ["the image", "photos"]}, renames=renames)
    assert difference_count(before, {"image_of": ["the image", "images"]}, renames=renames) == 1
    assert not difference_count(before, before, renames=renames)  # the name of a model is not renamed


def test_differences_accepts_what_was_named_as_intended(difference_count):
    assert not difference_count({"a": 1}, {"new": 3, "a": 1}, added=["new"])
    assert difference_count({"a": 1, "new": 2}, {"a": 1, "new": 3}, added=["new"]) == 1
    assert not difference_count({"seconds": 1.5}, {"seconds": 2.5}, ignored=["seconds"])
    assert not difference_count(
        {"parts": [{"n": "a"}, {"n": "b"}]}, {"parts": [{"n": "b"}, {"n": "a"}]}, unordered=["parts"]
    )


def test_differences_compares_the_numbers_of_reworded_text(difference_count):
    before = {"notes": ["12 of 1,000 images are left out"]}
    assert not difference_count(before, {"notes": ["left out: 12 of 1,000 images"]}, text=["notes"])
    assert difference_count(before, {"notes": ["left out: 13 of 1,000 images"]}, text=["notes"]) == 1
    assert difference_count(before, {"notes": [12]}, text=["notes"])


def test_every_command_with_json_output_has_a_case(script, tmp_path):
    version = script.Version(ROOT, tmp_path, tmp_path, {}, {}, {})
    cases = [(workspace, case) for workspace, cases in script.CASES.items() for case in cases]
    assert not script.commands_without_case(version, cases)
    assert {"grade", "review publish"} < set(script.commands_without_case(version, [("demo", "testsets list")]))
