"""Names of models and sets are converted to file names that are valid on every file system, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError
from regrade.store.layout import file_name, original_name

ODD = ["a/b", "..", ".", ".hidden", "a\\b", "100%", "%2F", "модель 🐈", "CON", "a:b", 'say "hi"', "~", "*?", " a "]


@pytest.mark.parametrize("name", ODD)
def test_file_name_of_odd_names_is_one_safe_path_part(name):
    quoted = file_name(name)
    assert original_name(quoted) == name
    assert quoted not in (".", "..") and not quoted.startswith(".")
    assert not set(quoted) & set('/\\\0\n*?"<>|')


@given(st.text(min_size=1, max_size=30).filter(lambda text: text.strip() and text.isprintable()))
def test_file_name_round_trips(name):
    assert original_name(file_name(name)) == name


@given(st.lists(st.text("ab./%A ", min_size=1, max_size=4).filter(str.strip), min_size=2, unique=True))
def test_file_name_is_unique(names):
    assert len({file_name(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", ["a\nb", "a\0b", "\x1b[31mred", "a\rb"])
def test_file_name_rejects_control_characters(name):
    with pytest.raises(InputError, match="control character"):
        file_name(name)


@pytest.mark.parametrize("name", ["", " ", "\t"])
def test_file_name_rejects_empty_names(name):
    with pytest.raises(InputError, match="must not be empty"):
        file_name(name)


def test_file_name_rejects_long_names():
    assert file_name("m" * 200)
    with pytest.raises(InputError, match="too long: 201"):
        file_name("m" * 201)


def test_file_name_rejects_surrogates():
    with pytest.raises(InputError, match="not valid text"):
        file_name("a\ud800")
