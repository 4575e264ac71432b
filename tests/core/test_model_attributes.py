"""Attributes of models: later ones complete and replace earlier ones, and base models never form a cycle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import DescribedModels, InputError, ModelAttributes, ModelSpec, described_models, model_attributes
from regrade.core.names import model_pattern

ATTRIBUTES = st.builds(
    ModelAttributes,
    family=st.sampled_from(["", "vgg", "resnet"]),
    parameters=st.none() | st.integers(1, 9),
    year=st.none() | st.integers(2012, 2015),
)


@given(ATTRIBUTES, ATTRIBUTES, ATTRIBUTES)
def test_later_attributes_win_and_updates_are_associative(first, second, third):
    assert first.updated(second).stated == {**first.stated, **second.stated}
    assert first.updated(second).updated(third) == first.updated(second.updated(third))
    assert first.updated(first) == first and not first.differing(first)


def test_described_spec_keeps_what_is_not_stated():
    spec = ModelSpec("m", "digits", training_data="own", year=2014).described(ModelAttributes(year=2015))
    assert (spec.name, spec.training_data, spec.year, spec.parameters) == ("m", "own", 2015, None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"parameters": 0}, "parameters must be at least 1, got 0"),
        ({"training_images": -5}, "training_images must be at least 1, got -5"),
        ({"year": 1949}, "year must be between 1950 and 2100, got 1949"),
        ({"year": 20155}, "got 20155"),
    ],
)
def test_attributes_out_of_range_are_rejected(values, message):
    with pytest.raises(InputError, match=message):
        ModelAttributes(**values)


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        ({"a": "a"}, "a is its own base model"),
        ({"a": "b", "b": "a"}, "form a cycle: a -> b -> a"),
        ({"x": "a", "a": "b", "b": "c", "c": "a"}, "form a cycle: a -> b -> c -> a"),
    ],
)
def test_base_models_in_a_cycle_are_rejected(bases, message):
    with pytest.raises(InputError, match=message):
        DescribedModels({name: ModelAttributes(base_model=base) for name, base in bases.items()})


def test_own_name_wins_over_pattern_and_training():
    described = DescribedModels(
        {
            "trained:dro/seed-1": ModelAttributes(year=2021),
            "trained:*/seed-*": ModelAttributes(family="small", year=2019),
            "dro": ModelAttributes(year=2020, parameters=7),
        }
    )
    assert described.of("trained:dro/seed-1").stated == {"family": "small", "parameters": 7, "year": 2021}
    assert described.of("trained:plain/seed-1").stated == {"family": "small", "year": 2019}
    assert described.of("dro").stated == {"parameters": 7, "year": 2020}
    assert not described.of("elsewhere").stated


NAMES = st.text(st.sampled_from("a:/*"), max_size=3).map(lambda text: text.replace("/", "/seed-"))


@given(st.lists(NAMES.filter(bool), unique=True), st.tuples(st.sampled_from(["", "trained:"]), NAMES).map("".join))
def test_attributes_are_those_of_every_matching_pattern_in_order(names, model):
    described = DescribedModels({name: ModelAttributes(year=2000 + year) for year, name in enumerate(names)})
    several = [name for name in names if "*" in name or ":" not in name]
    matching = [name for name in several if model_pattern(name).fullmatch(model)]
    last = model if model in names else matching[-1] if matching else None
    assert described.of(model).year == (None if last is None else 2000 + names.index(last))


def test_attributes_of_many_models_compile_no_pattern_for_each(monkeypatch):
    monkeypatch.setattr(model_attributes, "model_pattern", None)
    described = DescribedModels({f"m{number}": ModelAttributes(year=2000 + number) for number in range(9)})
    assert [described.of(f"trained:m{number}/seed-0").year for number in range(9)] == list(range(2000, 2009))


def test_rows_of_one_model_complete_each_other_or_are_rejected():
    rows = [("m", ModelAttributes(year=2015)), ("m", ModelAttributes(family="vgg", year=2015))]
    assert described_models(rows).by_name == {"m": ModelAttributes(family="vgg", year=2015)}
    with pytest.raises(InputError, match="two rows of m differ in year: 2015 and 2016; keep one of them"):
        described_models([*rows, ("m", ModelAttributes(year=2016))])


@given(ATTRIBUTES, ATTRIBUTES, ATTRIBUTES)
def test_derived_attributes_fill_gaps_only_and_the_first_source_counts(stated, first, second):
    described = DescribedModels({"m": stated}, {"m": {"a": first, "b": second}})
    assert described.derived_of("m").stated == {**second.stated, **first.stated}
    completed = ModelSpec("m", "digits").described(described.of("m"), described.derived_of("m"))
    expected = {**second.stated, **first.stated, **stated.stated}
    assert all(getattr(completed, name) == value for name, value in expected.items())
    sources = {**dict.fromkeys(second.stated, "b"), **dict.fromkeys(first.stated, "a")}
    assert described.sources_of("m") == {key: sources[key] for key in sources if key not in stated.stated}


def test_the_manifest_wins_over_what_is_derived():
    spec = ModelSpec("m", "digits", year=2014)
    assert spec.described(ModelAttributes(), ModelAttributes(family="vgg", year=2015)).year == 2014
