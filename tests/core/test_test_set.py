import hashlib
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import UNLABELED, ClassSpace, InputError, MismatchError, PackedTexts, SliceSet, TestSet, UnknownName

PETS = ClassSpace("pets", ("cat", "dog", "carp"), groups={"furry": (0, 1)})
HERE = {"region": ("Africa", "Europe", "Africa", "Asia")}
POSE, SHAPE = np.array([True, False, True, False]), np.array([False, False, False, True])
FACTORS = SliceSet("x", "images", 4, {"x:pose": POSE, "x:shape": SHAPE})
HARD = SliceSet("hard", "images", 4, {"hard": SHAPE})
PLACES = SliceSet("geo", "images", 4, columns={"geo:region": ("n", "s", "n", "s")})


def images(ids=("w", "x", "y", "z"), labels=(0, 1, UNLABELED, 2), space=PETS, **groups):
    return TestSet("images", space, ids, np.array(labels), groups or HERE)


def test_an_example_has_its_id_label_and_groups():
    example = images().example(1)
    assert (example.id, example.label, example.groups) == ("x", "dog", {"region": "Europe"})


def test_an_example_may_have_no_label():
    assert images().example(2).label is None
    assert images().labeled.tolist() == [True, True, False, True]


def test_positions_follow_the_order_of_the_ids():
    assert images().position_of == {"w": 0, "x": 1, "y": 2, "z": 3}
    assert images().position("y") == 2
    with pytest.raises(UnknownName, match="unknown image of images 'v'"):
        images().position("v")


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("region=Africa", [True, False, True, False]),
        ("furry", [True, True, False, False]),
        ("carp", [False, False, False, True]),
    ],
)
def test_a_slice_is_a_group_value_or_a_group_of_classes(name, inside):
    assert images().slice(name).tolist() == inside


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("country=Mali", "group column of images 'country'"),
        ("region=Afrika", "region of images 'Afrika'; did you mean Africa"),
        ("scaly", "slice of images 'scaly'"),
    ],
)
def test_an_unknown_slice_raises(name, message):
    with pytest.raises(UnknownName, match=message):
        images().slice(name)


def test_test_set_rejects_fields_of_another_length():
    with pytest.raises(MismatchError, match="4 ids but 3 labels"):
        images(labels=(0, 1, 2))
    with pytest.raises(MismatchError, match="4 ids but 1 income"):
        images(income=("low",))


def test_test_set_rejects_repeated_ids():
    with pytest.raises(InputError, match="an example id occurs twice"):
        images(ids=("w", "x", "y", "w"))


def test_test_set_rejects_repeated_packed_ids():
    with pytest.raises(InputError, match="an example id occurs twice"):
        images(ids=PackedTexts.of(["w", "x", "y", "w"]))


def test_ids_with_equal_hashes_are_accepted():
    class Alike(str):
        def __hash__(self):
            return 1

    assert len(images(ids=tuple(map(Alike, "wxyz")))) == 4


@pytest.mark.parametrize("label", [3, -2])
def test_test_set_rejects_labels_out_of_range(label):
    with pytest.raises(InputError, match="a label is not a class of 'pets'"):
        images(labels=(0, 1, label, 2))


def test_digest_depends_on_ids_labels_groups_and_classes():
    variants = [
        images(ids=("w", "x", "z", "y")),
        images(labels=(0, 1, 2, 2)),
        images(region=("Africa", "Europe", "Africa", "Africa")),
        images(space=ClassSpace("pets", ("dog", "cat", "carp"))),
    ]
    digests = {test_set.digest for test_set in [images(), *variants]}
    assert len(digests) == 5
    assert images().digest == images(labels=np.array([0, 1, -1, 2], dtype=np.int8)).digest


@pytest.mark.parametrize("form", [tuple, PackedTexts.of])
@pytest.mark.parametrize("size", [1, 1024, 2500])
def test_digest_does_not_depend_on_the_type_of_ids(form, size):
    ids = [f"Käfer {number}.png" for number in range(size)]
    labels = np.zeros(size, dtype="<i4")
    expected = hashlib.sha256(PETS.digest.encode() + "\n".join(ids).encode() + labels.tobytes()).hexdigest()
    assert TestSet("images", PETS, form(ids), labels).digest == expected


def sliced(*slice_sets: SliceSet) -> TestSet:
    return TestSet(
        "images", PETS, ("w", "x", "y", "z"), np.array([0, 1, -1, 2]), {"light": ("dim", "dim", "dim", "lit")},
        slice_sets,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("x:pose", [True, False, True, False]),
        ("hard", [False, False, False, True]),
        ("geo:region=s", [False, True, False, True]),
        ("light=lit", [False, False, False, True]),
        ("furry", [True, True, False, False]),
    ],
)
def test_added_slices_are_found(name, inside):
    assert sliced(FACTORS, HARD, PLACES).slice(name).tolist() == inside


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("not x:pose", [False, True, False, True]),
        ("not furry", [False, False, False, True]),  # the third image has no label: it belongs to neither
        ("without furry", [False, False, False, True]),
        ("not carp", [True, True, False, False]),
        ("not light=lit", [True, True, True, False]),
        ("not not furry", [True, True, False, False]),
        ("not not x:pose", [True, False, True, False]),
    ],
)
def test_a_complement_contains_the_examples_that_are_known_not_to_belong(name, inside):
    assert sliced(FACTORS, HARD, PLACES).slice(name).tolist() == inside


def test_an_example_without_a_value_belongs_neither_to_a_group_nor_to_its_complement():
    places = images(country=("Mali", "", "Peru", ""))
    assert places.slice("not country=Mali").tolist() == [False, False, True, False]
    assert places.slice("not not country=Mali").tolist() == places.slice("country=Mali").tolist()


def test_a_slice_that_is_named_like_a_complement_takes_precedence():
    named = SliceSet("not furry", "images", 4, {"not furry": np.array([True, False, False, True])})
    assert sliced(named).slice("not furry").tolist() == [True, False, False, True]
    assert sliced(named).slice("not not furry").tolist() == [False, True, True, False]
    column = SliceSet("not new", "images", 4, {}, {"not new": ("yes", "no", "no", "no")})
    assert sliced(column).slice("not new=yes").tolist() == [True, False, False, False]
    assert sliced(column).slice("not not new=yes").tolist() == [False, True, True, True]


@given(st.lists(st.integers(-1, 2), min_size=1, max_size=12))
def test_a_slice_and_its_complement_divide_the_labeled_examples(labels):
    test_set = TestSet("images", PETS, tuple(f"{number}" for number in range(len(labels))), np.array(labels))
    for name in ("furry", "carp"):
        inside, outside = test_set.slice(name), test_set.slice(f"not {name}")
        assert not (inside & outside).any()
        assert ((inside | outside) == test_set.labeled).all()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("not fury", "slice of images 'fury'; did you mean furry"),
        ("not light", "'light' is a group column: .*light=dim"),
        ("not x", "'x' is a set of slices: .*x:pose"),
        ("not hue=red", "group column of images 'hue'"),
        ("not", "slice of images 'not'"),
    ],
)
def test_a_complement_of_no_slice_raises(name, message):
    with pytest.raises(InputError, match=message):
        sliced(FACTORS).slice(name)


@pytest.mark.parametrize(("name", "base"), [("not hard", "hard"), ("not not hard", "hard"), ("furry", "furry")])
def test_base_slice_is_what_a_complement_is_about(name, base):
    assert sliced(HARD).base_slice(name) == base


@pytest.mark.parametrize(
    ("name", "slices"),
    [
        ("x", ("x:pose", "x:shape")),
        ("x:pose", ("x:pose",)),
        ("hard", ("hard",)),
        ("geo", ("geo:region=n", "geo:region=s")),
        ("geo:region", ("geo:region=n", "geo:region=s")),
        ("light", ("light=dim", "light=lit")),
        ("furry", ("furry",)),
        ("nothing", ("nothing",)),
    ],
)
def test_slices_of_expands_sets_and_columns(name, slices):
    assert sliced(FACTORS, HARD, PLACES).slices_of(name) == slices


@pytest.mark.parametrize(
    ("name", "message"),
    [("x", "a set of slices: .*x:pose"), ("geo:region", "a group column: .*geo:region=n"), ("light", "light=dim")],
)
def test_slice_rejects_names_of_several_slices(name, message):
    with pytest.raises(InputError, match=message):
        sliced(FACTORS, PLACES).slice(name)


def test_unknown_slice_suggests_added_slices():
    with pytest.raises(UnknownName, match="'x:poze'; did you mean x:pose"):
        sliced(FACTORS).slice("x:poze")


def test_slices_do_not_change_the_digest_of_the_test_set():
    plain = sliced()
    assert sliced(FACTORS, HARD, PLACES).digest == plain.digest
    assert sliced(PLACES).groups == plain.groups
    assert sliced(PLACES).group_columns == {**plain.groups, "geo:region": ("n", "s", "n", "s")}
    assert sliced(PLACES).example(1).groups == {"light": "dim", "geo:region": "s"}


def test_digest_depends_on_content_not_order():
    turned = SliceSet("x", "images", 4, {"x:shape": SHAPE, "x:pose": POSE}, origin="elsewhere")
    assert turned.digest == FACTORS.digest
    variants = [
        HARD,
        PLACES,
        SliceSet("x", "images", 4, {"x:pose": SHAPE, "x:shape": POSE}),
        SliceSet("x", "images", 4, {"x:pose": POSE}),
        SliceSet("x", "images", 5, {"x:pose": np.append(POSE, False), "x:shape": np.append(SHAPE, False)}),
        SliceSet("geo", "images", 4, columns={"geo:region": ("n", "s", "n", "n")}),
    ]
    assert len({slices.digest for slices in [FACTORS, *variants]}) == 7


def test_slices_require_one_value_per_example():
    with pytest.raises(MismatchError, match="'x:pose': 4 values for 5 examples"):
        SliceSet("x", "images", 5, {"x:pose": POSE})
    with pytest.raises(MismatchError, match="4 ids but 2 entries of x"):
        sliced(SliceSet("x", "images", 2, {"x": POSE[:2]}))


def test_slice_names_begin_with_their_set():
    with pytest.raises(InputError, match="'pose' must be x or begin with x:"):
        SliceSet("x", "images", 4, {"pose": POSE})
    with pytest.raises(InputError, match="has no slices"):
        SliceSet("x", "images", 4)


TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6)).map(tuple)
BOUND = st.none() | st.integers(-12, 12)


def test_texts_are_concatenated():
    packed = PackedTexts.of(["ab", "", "ä"])
    assert packed.data == b"ab\xc3\xa4"
    assert packed.bounds.tolist() == [0, 2, 2, 4]


@given(TEXTS)
def test_packed_texts_behave_like_a_tuple(texts):
    packed = PackedTexts.of(texts)
    assert len(packed) == len(texts)
    assert list(packed) == list(texts)
    assert list(reversed(packed)) == list(reversed(texts))
    assert [packed[i] for i in range(-len(texts), len(texts))] == [*texts, *texts]
    assert all(text in packed and packed.index(text) == texts.index(text) for text in texts)


@given(TEXTS, BOUND, BOUND, st.none() | st.integers(-3, 3).filter(bool))
def test_slice_is_packed(texts, start, stop, step):
    part = PackedTexts.of(texts)[start:stop:step]
    assert isinstance(part, PackedTexts)
    assert part == texts[start:stop:step]


def test_slice_does_not_keep_the_rest():
    assert PackedTexts.of(["a" * 1000, "b", "c"])[1:].data == b"bc"


@given(TEXTS, TEXTS)
def test_packed_texts_equal_only_their_tuple(texts, different):
    packed = PackedTexts.of(texts)
    assert packed == texts and texts == packed
    assert hash(packed) == hash(texts)
    assert (packed == different) == (texts == different) == (packed == PackedTexts.of(different))
    assert (packed != different) == (texts != different)
    assert packed != list(texts)


def test_equal_bytes_with_other_bounds_differ():
    assert PackedTexts.of(["ab", "c"]) != PackedTexts.of(["a", "bc"])


def test_iteration_over_several_blocks():
    texts = tuple(f"{number}.jpg" for number in range(3000))
    assert tuple(PackedTexts.of(texts)) == texts


def test_numpy_integers_are_valid_positions():
    assert PackedTexts.of(["a", "b"])[np.int32(1)] == "b"


@pytest.mark.parametrize("position", [2, -3])
def test_a_position_outside_raises(position):
    with pytest.raises(IndexError):
        PackedTexts.of(["a", "b"])[position]


def test_packed_texts_can_be_pickled():
    packed = PackedTexts.of(["a", "bc"])
    assert pickle.loads(pickle.dumps(packed)) == packed


def test_packed_texts_take_little_memory():
    texts = [f"n01440764/ILSVRC2012_val_{number:08d}.JPEG" for number in range(1000)]
    packed = PackedTexts.of(texts)
    assert sys.getsizeof(packed.data) + packed.bounds.nbytes < 0.55 * sum(map(sys.getsizeof, texts))


def test_subset_keeps_the_given_order_with_labels_and_groups():
    space = ClassSpace("two", ("a", "b"))
    whole = TestSet("w", space, ("x", "y", "z"), np.array([0, 1, UNLABELED]), {"region": ("n", "s", "e")})
    part = whole.subset("p", [2, 0])
    assert (part.name, tuple(part.ids), part.labels.tolist()) == ("p", ("z", "x"), [UNLABELED, 0])
    assert part.groups == {"region": ("e", "n")}
    assert len(whole.subset("none", [])) == 0
