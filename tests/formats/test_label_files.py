"""Label files with ambiguous content are rejected, or a note says how they were read."""

import json
from pathlib import Path

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import ClassSpace, FormatError, InputError, LabelState, MismatchError, TestSet, UnknownName
from regrade.formats import LabelFile, LabelFormat, read_decision_file, read_label_file
from regrade.tables import Columns, Reading

PETS = TestSet("pets", class_space("cifar-10"), ("p0", "p1", "p2"), np.array([3, 5, 2]))
STATES = {"correct": LabelState.CORRECT, "unclear": LabelState.UNCLEAR, "wrong": LabelState.WRONG}


@pytest.fixture
def read(tmp_path: Path):
    def of(content: object, form: str = "plain", test_set: TestSet = PETS, **options) -> LabelFile:
        text = isinstance(content, str)
        path = tmp_path / ("l.csv" if text else "l.json")
        path.write_text(content if text else json.dumps(content))
        return read_label_file(path, test_set, form=LabelFormat(form), name="own", version=1, **options)

    return of


def judged(file: LabelFile) -> dict[tuple[str, str], str]:
    names = {state: name for name, state in STATES.items()}
    rows = zip(file.labels.examples, file.labels.classes, file.labels.states, strict=True)
    return {(PETS.ids[e], PETS.class_space.ids[c]): names[LabelState(s)] for e, c, s in rows}


class TestJson:
    @pytest.mark.parametrize("key", ["corect", "Correct", "corrects", "correct_labels"])
    def test_read_label_file_refuses_a_misspelled_state(self, read, key):
        """A regression test: it was imported as no judgment at all."""
        with pytest.raises(InputError, match=rf"{key}"):
            read({"p0": {key: ["cat"]}})
        with pytest.raises(UnknownName, match="did you mean correct"):
            read({"initial_annots": {"p0": {key: ["cat"], "wrong": []}}}, "multilabel-v3")

    def test_read_label_file_refuses_an_unknown_state(self, read):
        with pytest.raises(FormatError, match="image 'p0': unknown state 'right': it must be one of correct, unclear"):
            read({"p0": {"right": ["cat"]}})

    def test_read_label_file_names_the_format_of_a_list(self, tmp_path):
        for text, end in (("[[1], [0]]", "; the published list of ReaL is read with --format real"), ('"cat"', "")):
            (tmp_path / "labels.json").write_text(text)
            with pytest.raises(FormatError, match=f"maps images to classes{end}$"):
                read_label_file(tmp_path / "labels.json", PETS, form=LabelFormat.PLAIN, name="own", version=1)

    def test_read_label_file_names_other_keys(self, read):
        file = read({"p0": {"correct": ["cat"], "annotator": "Ann"}, "p1": {"wrong": ["cat"], "seconds": 3}})
        assert file.notes == ("ignored the keys annotator, seconds",)
        assert judged(file) == {("p0", "cat"): "correct", ("p1", "cat"): "wrong"}

    @pytest.mark.parametrize(
        "text", ['{"p0": ["cat"], "p0": ["dog"]}', '{"p0": {"correct": ["cat"], "correct": ["dog"]}}']
    )
    def test_read_label_file_refuses_a_key_that_stands_twice(self, tmp_path, text):
        (tmp_path / "twice.json").write_text(text)
        with pytest.raises(FormatError, match="twice in one object"):
            read_label_file(tmp_path / "twice.json", PETS, form=LabelFormat.PLAIN, name="own", version=1)

    def test_read_label_file_counts_images_without_a_judgment(self, read):
        file = read({"p0": {"correct": ["cat"]}, "p1": {}, "p2": {"correct": []}})
        assert file.notes == ("2 images listed without a judgment",)
        assert file.labels.covered.tolist() == [True, True, True]

    def test_read_label_file_counts_repeated_judgments(self, read):
        file = read({"p0": {"correct": ["cat", "cat", 3]}})
        assert file.notes == ("2 judgments repeated and counted once",)
        assert judged(file) == {("p0", "cat"): "correct"}

    def test_read_label_file_notes_classes_in_two_lists_and_unknown_images(self, read):
        lists = {"p0": {"correct": ["cat"], "wrong": ["cat"]}, "q": {"correct": ["cat"]}}
        file = read({"initial_annots": lists, "imagenet_m": ["p0", "r"], "version": 3}, "multilabel-v3")
        assert file.notes == (
            "2 images not in pets passed over",
            "1 judgment dropped, since a kinder list of the image has the class too",
            "ignored the key version",
        )
        assert judged(file) == {("p0", "cat"): "correct"}

    def test_read_label_file_refuses_a_misspelled_part(self, read):
        with pytest.raises(UnknownName, match="unknown key 'imagenet-m'; did you mean imagenet_m"):
            read({"initial_annots": {"p0": {"correct": ["cat"]}}, "imagenet-m": ["p0"]}, "multilabel-v3")

    def test_read_label_file_reads_numbers_as_ids_on_request(self, read):
        shifted = TestSet("s", ClassSpace("shifted", ("1", "2", "0")), ("p0",), np.array([0]))
        with pytest.raises(InputError, match="--class-numbers"):
            read({"p0": [1]}, test_set=shifted)
        assert read({"p0": [1]}, test_set=shifted, columns=Columns(reading=Reading.IDS)).labels.classes == [0]
        assert read({"p0": [1]}, test_set=shifted, columns=Columns(reading=Reading.INDICES)).labels.classes == [1]


class TestTables:
    def test_read_label_file_finds_the_state_in_any_case(self, read):
        """A regression test: a column State was ignored, and every class read as correct."""
        file = read("Image,Class,State\np0,cat,wrong\n")
        assert judged(file) == {("p0", "cat"): "wrong"}
        assert file.notes == ()

    @pytest.mark.parametrize("column", ["stat", "states", "state_of_class"])
    def test_read_label_file_refuses_a_misspelled_state_column(self, read, column):
        with pytest.raises(UnknownName, match=f"unknown column '{column}'; did you mean state"):
            read(f"image,class,{column}\np0,cat,wrong\n")

    @pytest.mark.parametrize("column", ["status", "verdict", "Judgment", "judgement"])
    def test_read_label_file_refuses_another_name_of_the_state_column(self, read, column):
        with pytest.raises(UnknownName, match=f"unknown column '{column}': rename it to state"):
            read(f"image,class,{column}\np0,cat,wrong\n")
        file = read(f"image,class,{column},state\np0,cat,done,wrong\n")
        assert judged(file) == {("p0", "cat"): "wrong"} and file.notes == (f"ignored the column {column}",)

    def test_read_label_file_refuses_two_columns_of_labels_that_disagree(self, read):
        text = "image,class,label,state\np0,cat,cat,correct\np1,dog,cat,correct\n"
        with pytest.raises(MismatchError, match=r"class and label contain different labels in row 2: .*--label-column"):
            read(text)
        assert judged(read(text, columns=Columns(label="label"))) == {
            ("p0", "cat"): "correct",
            ("p1", "cat"): "correct",
        }
        assert len(judged(read(text.replace("dog,cat", "dog,dog")))) == 2

    def test_read_label_file_says_that_classes_are_taken_as_correct(self, read):
        notes = read("image,class,split\np0,cat,a\n").notes
        assert notes == ("ignored the column split", "there is no column state: every class is taken as correct")

    def test_read_label_file_counts_repeated_rows(self, read):
        notes = read("image,class,state\np0,cat,wrong\np0,cat,wrong\np1,,\n").notes
        assert notes == ("1 image listed without a judgment", "1 judgment repeated and counted once")


class TestProblematic:
    @pytest.mark.parametrize("word", ["False", "false", "no", "0", "", " "])
    def test_read_label_file_reads_not_problematic(self, read, word):
        """A regression test: the text False was read as a reason not to score the image."""
        file = read(f"image,class,state,problematic\np0,cat,correct,{word}\np1,dog,correct,blurred\n")
        assert file.labels.reasons == ("", "blurred", "")

    @pytest.mark.parametrize("word", [True, "yes", "true", 1])
    def test_read_label_file_reads_booleans_as_problematic(self, read, word):
        assert read({"p0": {"correct": ["cat"], "problematic": word}}).labels.reasons[0] == "problematic"
        table = f"image,class,state,problematic\np0,cat,correct,{word}\n"
        assert read(table).labels.reasons[0] == "problematic"

    @pytest.mark.parametrize("value", [["blurred"], {"why": "blurred"}, 0.5])
    def test_read_label_file_rejects_invalid_reasons(self, read, value):
        with pytest.raises(FormatError, match="image 'p0': problematic must be a reason"):
            read({"p0": {"correct": ["cat"], "problematic": value}})

    @pytest.mark.parametrize("words", [("true", "false"), ("no", "blurred"), ("0", "1")])
    def test_read_label_file_rejects_contradicting_problematic(self, read, words):
        rows = "".join(f"p0,{name},wrong,{word}\n" for name, word in zip(("cat", "dog"), words, strict=True))
        with pytest.raises(FormatError, match=r"'p0' is problematic .* in one row and not problematic in another"):
            read("image,class,state,problematic\n" + rows)

    def test_read_label_file_ignores_empty_problematic_cells(self, read):
        rows = "p0,cat,correct,\np0,dog,wrong,blurred\np1,dog,correct,false\np1,cat,wrong,\n"
        assert read("image,class,state,problematic\n" + rows).labels.reasons == ("blurred", "", "")

    def test_read_decision_file_notes_images_that_are_problematic_in_one_row_only(self, tmp_path):
        path = tmp_path / "v.csv"
        path.write_text("image,class,verdict,reason\np0,dog,problematic,blurred\np0,bird,wrong,\np1,cat,wrong,\n")
        (note,) = read_decision_file(path, PETS, Columns()).notes
        assert note == "1 image problematic in one row and with another decision in another, such as 'p0'"

    def test_read_label_file_rejects_two_reasons(self, read):
        rows = "p0,cat,correct,blurred\np0,dog,wrong,a drawing\n"
        with pytest.raises(FormatError, match="problematic for two reasons, 'blurred' and 'a drawing'"):
            read("image,class,state,problematic\n" + rows)
