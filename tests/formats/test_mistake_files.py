"""Reviews of mistakes: imported from files, stored once, read unchanged."""

import json

import mistake_world as world
import pytest

from regrade.core import AlreadyStored, FormatError, InputError, MismatchError, MistakeCategory, Severity, UnknownName
from regrade.formats import MistakeFormat, read_mistake_file
from regrade.store import Store
from regrade.tables import Columns
from regrade.workspace.imports import import_mistakes

ENTRIES = {
    "i1.JPEG": {"top_prediction": 1, "failure category": "Fine-grained error", "failure severity": "Major"},
    "i4": {"top_prediction": 5, "failure category": "Spurious Correlation", "failure severity": "Borderline"},
    "i9": {"top_prediction": 7, "failure category": "Fine-grained with OOV", "failure severity": "Minor"},
}
TABLE = "image,prediction,category,severity\ni1,lynx,fine-grained,major\ni4,road,spurious,minor\n"


def published(tmp_path, content=ENTRIES):
    (tmp_path / "m.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return tmp_path / "m.json"


def read(path, form="vasudevan2022", columns=None):
    return read_mistake_file(path, world.TEST_SET, form=MistakeFormat(form), model="m", columns=columns).review


def table(tmp_path, text=TABLE):
    (tmp_path / "m.csv").write_text(text)
    return tmp_path / "m.csv"


def test_published_format_is_read(tmp_path):
    review = read(published(tmp_path))
    assert review.examples.tolist() == [1, 4, 9] and review.classes.tolist() == [1, 5, 7]
    assert review.categories == (
        MistakeCategory.FINE_GRAINED, MistakeCategory.SPURIOUS, MistakeCategory.OUT_OF_VOCABULARY
    )  # fmt: skip
    assert review.severities == (Severity.MAJOR, Severity.BORDERLINE, Severity.MINOR)
    assert review.spellings == ("Fine-grained error", "Spurious Correlation", "Fine-grained with OOV")
    assert review.origin == "vasudevan2022: m.json"


def test_table_is_read(tmp_path):
    review = read(table(tmp_path), "table")
    assert review.classes.tolist() == [1, 5] and review.severities == (Severity.MAJOR, Severity.MINOR)


@pytest.mark.parametrize("form", ["table", "vasudevan2022"])
def test_read_mistake_file_notes_a_predicted_class_that_is_the_own_label(tmp_path, form):
    index = int(world.TEST_SET.labels[1])
    if form == "table":
        path = table(tmp_path, TABLE.replace("i1,lynx", f"i1,{world.TEST_SET.class_space.ids[index]}"))
    else:
        path = published(tmp_path, {**ENTRIES, "i1.JPEG": {**ENTRIES["i1.JPEG"], "top_prediction": index}})
    (note,) = read_mistake_file(path, world.TEST_SET, form=MistakeFormat(form), model="m").notes
    assert note.startswith("1 mistake with the image's own label as the predicted class, such as 'i1'")


def test_columns_can_be_named(tmp_path):
    text = TABLE.replace("image,prediction", "image,answer")
    review = read(table(tmp_path, text), "table", Columns(id="image", label="answer"))
    assert review.examples.tolist() == [1, 4]


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ([], FormatError, "expected a JSON object"),
        ({}, FormatError, "expected a JSON object"),
        ({"i1": {"top_prediction": 1}}, FormatError, "failure category"),
        ({"i1": {**ENTRIES["i4"], "top_prediction": "road"}}, FormatError, "top_prediction"),
        ({"i1": {**ENTRIES["i4"], "top_prediction": 8}}, FormatError, "class index 8 of 'i1' is outside eight"),
        ({"i1": {**ENTRIES["i4"], "failure category": "odd"}}, FormatError, "unknown category of a mistake 'odd'"),
        ({"i1": {**ENTRIES["i4"], "failure severity": "odd"}}, FormatError, "unknown severity of a mistake 'odd'"),
        ({"v2": ENTRIES["i4"]}, MismatchError, "contains 1 image not in test set dozen"),
        ({"i1": ENTRIES["i4"], "i1.JPEG": ENTRIES["i4"]}, FormatError, "an image occurs twice"),
        ("{", FormatError, "not valid JSON"),
    ],
)
def test_published_format_rejects_invalid_content(tmp_path, content, error, words):
    with pytest.raises(error, match=words) as caught:
        read(published(tmp_path, content))
    assert "m.json" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TABLE.replace("severity", "gravity"), "columns image, prediction, category and severity"),
        (TABLE.replace("lynx", "yeti"), "unknown class id of eight 'yeti'"),
        (TABLE.replace("spurious", "odd"), "unknown category"),
        (TABLE.replace("i4", "i1"), "occurs twice"),
    ],
)
def test_table_rejects_invalid_content(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read(table(tmp_path, text), "table")


def test_published_json_read_as_a_table_names_its_format(tmp_path):
    (tmp_path / "mistakes.json").write_text("{}")
    with pytest.raises(InputError, match="published JSON is read with --format vasudevan2022"):
        read(tmp_path / "mistakes.json", "table")


@pytest.fixture
def store(tmp_path):
    created = Store.create(tmp_path / "W")
    created.add_test_set(world.TEST_SET)
    return created


def imported(store, path, model="vit/3b", form="vasudevan2022"):
    return import_mistakes(store, path, test_set="dozen", model=model, form=MistakeFormat(form))


def test_mistake_review_round_trips(store, tmp_path):
    done = imported(store, published(tmp_path))
    assert done.new
    assert store.mistakes.names("dozen") == ("vit/3b",)
    back = store.mistakes.read(store.test_set("dozen"), "vit/3b")
    assert back.digest == done.review.digest
    assert (back.model, back.spellings, back.origin) == ("vit/3b", done.review.spellings, done.review.origin)
    assert back.severities == done.review.severities


def test_import_mistakes_is_idempotent_and_rejects_another_review(store, tmp_path):
    imported(store, published(tmp_path))
    assert not imported(store, published(tmp_path)).new
    changed_entries = {**ENTRIES, "i4": {**ENTRIES["i4"], "failure severity": "Major"}}
    with pytest.raises(AlreadyStored, match="another review of the mistakes of 'vit/3b'"):
        imported(store, published(tmp_path, changed_entries))
    assert imported(store, published(tmp_path, changed_entries), model="second").new


def test_mistake_review_rejects_another_version_of_the_test_set(store, tmp_path):
    from dataclasses import replace

    imported(store, published(tmp_path))
    changed = replace(world.TEST_SET, labels=world.TEST_SET.labels[::-1].copy())
    with pytest.raises(MismatchError, match="another version"):
        store.mistakes.read(changed, "vit/3b")


def test_names(store, tmp_path):
    with pytest.raises(InputError, match="needs the name"):
        imported(store, published(tmp_path), model=" ")
    with pytest.raises(UnknownName, match="review of mistakes on dozen 'vit'; there are none yet"):
        store.mistakes.read(store.test_set("dozen"), "vit")
