import numpy as np
import pytest

from regrade.core import ClassSpace, InputError, MismatchError, SliceSet, TestSet, UnknownName

PETS = ClassSpace("pets", ("cat", "dog", "carp"), groups={"furry": (0, 1)})
POSE, SHAPE = np.array([True, False, True, False]), np.array([False, False, False, True])
FACTORS = SliceSet("x", "images", 4, {"x:pose": POSE, "x:shape": SHAPE})
HARD = SliceSet("hard", "images", 4, {"hard": SHAPE})
PLACES = SliceSet("geo", "images", 4, columns={"geo:region": ("n", "s", "n", "s")})


def images(*slice_sets: SliceSet) -> TestSet:
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
    assert images(FACTORS, HARD, PLACES).slice(name).tolist() == inside


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
    assert images(FACTORS, HARD, PLACES).slices_of(name) == slices


@pytest.mark.parametrize(
    ("name", "message"),
    [("x", "a set of slices: .*x:pose"), ("geo:region", "a group column: .*geo:region=n"), ("light", "light=dim")],
)
def test_slice_rejects_names_of_several_slices(name, message):
    with pytest.raises(InputError, match=message):
        images(FACTORS, PLACES).slice(name)


def test_unknown_slice_suggests_added_slices():
    with pytest.raises(UnknownName, match="'x:poze'; did you mean x:pose"):
        images(FACTORS).slice("x:poze")


def test_slices_do_not_change_the_digest_of_the_test_set():
    plain = images()
    assert images(FACTORS, HARD, PLACES).digest == plain.digest
    assert images(PLACES).groups == plain.groups
    assert images(PLACES).group_columns == {**plain.groups, "geo:region": ("n", "s", "n", "s")}
    assert images(PLACES).example(1).groups == {"light": "dim", "geo:region": "s"}


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
        images(SliceSet("x", "images", 2, {"x": POSE[:2]}))


def test_slice_names_begin_with_their_set():
    with pytest.raises(InputError, match="'pose' must be x or begin with x:"):
        SliceSet("x", "images", 4, {"pose": POSE})
    with pytest.raises(InputError, match="has no slices"):
        SliceSet("x", "images", 4)
