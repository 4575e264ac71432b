from itertools import chain

import pyarrow.parquet
import pytest

import regrade.classes
from regrade.classes import BUILT_IN, cifar_10, class_space, digits, imagenet_1k, imagenet_a, imagenet_r
from regrade.core import UnknownName, subset_map

SPACE = imagenet_1k()


def test_a_thousand_classes_in_the_order_of_their_wnids():
    assert len(SPACE) == 1000
    assert list(SPACE.ids) == sorted(SPACE.ids)
    assert (SPACE.ids[0], SPACE.ids[999]) == ("n01440764", "n15075141")


def test_the_indices_are_those_of_published_predictions(published):
    """The best model of Recht et al. is right on 82.9% of the validation images by these indices."""
    table = pyarrow.parquet.read_table(
        published / "recht2019/imagenet-val.top5.parquet", columns=["wnid", "pnasnet_large_tf"]
    )
    labels = [SPACE.index(wnid) for wnid in table["wnid"].to_pylist()]
    best = [top5[0] for top5 in table["pnasnet_large_tf"].to_pylist()]
    right = sum(label == answer for label, answer in zip(labels, best, strict=True))
    assert right / len(labels) == pytest.approx(0.829, abs=0.0005)


@pytest.mark.parametrize(
    ("group", "size"),
    [("dogs", 118), ("organisms", 410), ("objects", 590), ("imagenet-a", 200), ("imagenet-r", 200)],
)
def test_groups_have_their_published_sizes(group, size):
    assert len(SPACE.group(group)) == size


def test_organisms_and_objects_partition_all_classes():
    assert sorted(chain(SPACE.group("organisms"), SPACE.group("objects"))) == list(range(1000))


@pytest.mark.parametrize(
    ("group", "concept"), [("dogs", "n02084071"), ("terriers", "n02092468"), ("vehicles", "n04524313")]
)
def test_groups_equal_the_classes_below_their_concept(group, concept):
    assert SPACE.group(group).tolist() == SPACE.group(concept).tolist()


def test_entity_is_an_ancestor_of_every_class():
    assert all("n00001740" in SPACE.hierarchy.ancestors(wnid) for wnid in SPACE.ids)


def test_every_ancestor_has_words():
    assert set(chain.from_iterable(SPACE.hierarchy.parents.values())) <= set(SPACE.hierarchy.parents)
    assert all(SPACE.hierarchy.lemmas[concept] for concept in SPACE.hierarchy.parents)


@pytest.mark.parametrize(
    ("index", "name"),
    [
        (134, "crane (wading bird)"),
        (517, "crane (lifting device)"),
        (638, "maillot (tights)"),
        (639, "maillot (swimsuit)"),
        (657, "missile (rocket)"),
        (744, "projectile (weapon)"),
        (836, "sunglass (converging lens)"),
        (837, "sunglasses (spectacles)"),
        (876, "tub (vat)"),
        (435, "bathtub"),
        (0, "tench"),
    ],
)
def test_ambiguous_names_are_extended(index, name):
    assert SPACE.names[index] == name


def test_names_are_unique_ignoring_case():
    assert len({name.casefold() for name in SPACE.names}) == 1000


def test_a_name_begins_with_the_first_of_the_words():
    assert all(name.startswith(words[0]) for name, words in zip(SPACE.names, SPACE.lemmas, strict=True))
    assert SPACE.lemmas[0] == ("tench", "Tinca tinca")


@pytest.mark.parametrize(
    ("label", "accepted"),
    [
        ("Siberian husky", ["Eskimo dog"]),
        ("coffee mug", ["cup"]),
        ("African elephant", ["tusker"]),
        ("weasel", ["mink", "polecat (fitch)", "black-footed ferret"]),
        ("monitor", ["screen"]),
        ("screen", ["monitor"]),
    ],
)
def test_collapsed_classes_are_those_of_the_paper(label, accepted):
    assert [SPACE.names[i] for i in SPACE.collapsed[SPACE.names.index(label)]] == accepted


def test_collapsed_classes_are_not_symmetric():
    assert SPACE.names.index("Eskimo dog") not in SPACE.collapsed
    assert len(SPACE.collapsed) == 21


@pytest.mark.parametrize(("subset", "name"), [(imagenet_a(), "imagenet-a"), (imagenet_r(), "imagenet-r")])
def test_the_subsets_are_two_hundred_of_the_classes(subset, name):
    assert (subset.name, len(subset)) == (name, 200)
    assert subset_map(SPACE, subset).mapped.tolist() == SPACE.group(name).tolist()
    assert 0 < len(subset.group("dogs")) < 118


def test_imagenet_1k_is_cached():
    assert imagenet_1k() is SPACE


def test_cifar_10_has_its_labels_in_order():
    space = cifar_10()
    assert space.ids == (
        *("airplane", "automobile", "bird", "cat", "deer"),
        *("dog", "frog", "horse", "ship", "truck"),
    )


def test_cifar_10_is_animals_and_vehicles():
    space = cifar_10()
    assert [space.ids[i] for i in space.group("vehicles")] == ["airplane", "automobile", "ship", "truck"]
    assert sorted([*space.group("animals"), *space.group("vehicles")]) == list(range(10))


def test_a_digit_is_at_its_own_index():
    assert [digits().index(str(i)) for i in range(10)] == list(range(10))


@pytest.mark.parametrize(
    ("name", "size"),
    [("imagenet-1k", 1000), ("imagenet-a", 200), ("imagenet-r", 200), ("cifar-10", 10), ("digits", 10)],
)
def test_class_space_by_name(name, size):
    space = class_space(name)
    assert (space.name, len(space)) == (name, size)


def test_built_in_names():
    assert BUILT_IN == ("imagenet-1k", "imagenet-a", "imagenet-r", "cifar-10", "digits")


def test_class_space_suggests_similar_names():
    with pytest.raises(UnknownName, match="unknown class space 'imagenet1k'; did you mean imagenet-1k"):
        class_space("imagenet1k")


def test_public_names_are_sorted_and_exist():
    names = regrade.classes.__all__
    assert names == sorted(names)
    assert all(hasattr(regrade.classes, name) for name in names)
