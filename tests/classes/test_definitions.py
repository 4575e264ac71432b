from importlib.machinery import ModuleSpec

import pytest

from regrade.classes import definition, definition_source, definitions

DOG = "n02084071"
DOG_LINE = '02084071 05 n 02 dog 0 domestic_dog 0 001 @ 02083346 n 0000 | a member of Canis; "the dog barked"\n'
PUG = "n02084100"


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch):
    """No WordNet and no timm on this machine, but for what a test puts there."""
    monkeypatch.setattr(definitions, "_SYSTEM_WORDNET", definitions.Path("/nowhere"))
    monkeypatch.setattr(definitions, "find_spec", lambda _: None)
    monkeypatch.delenv("REGRADE_WORDNET", raising=False)
    monkeypatch.delenv("WNHOME", raising=False)


@pytest.fixture
def wordnet(tmp_path):
    """A WordNet of one synset at its right place, and one of another offset beside it."""
    folder = tmp_path / "dict"
    folder.mkdir()
    (folder / "data.noun").write_bytes(b" " * 2084071 + DOG_LINE.encode())
    return folder


@pytest.fixture
def timm(tmp_path, monkeypatch):
    table = tmp_path / "timm/data/_info/imagenet_synset_to_definition.txt"
    table.parent.mkdir(parents=True)
    table.write_text(f"{DOG}\ta dog, says timm\n{PUG}\ta pug, says timm\nno tab\n")
    spec = ModuleSpec("timm", None, is_package=True)
    spec.submodule_search_locations.append(str(tmp_path / "timm"))
    monkeypatch.setattr(definitions, "find_spec", {"timm": spec}.get)
    return table


def test_without_a_source_there_is_no_definition():
    assert definition(DOG) is None
    assert definition_source() is None


def test_wordnet_is_read_at_the_byte_the_wnid_names(wordnet, monkeypatch):
    monkeypatch.setenv("REGRADE_WORDNET", str(wordnet))
    assert definition(DOG) == "a member of Canis"
    assert definition_source() == str(wordnet)


def test_wnhome_names_the_folder_above(wordnet, monkeypatch):
    monkeypatch.setenv("WNHOME", str(wordnet.parent))
    assert definition(DOG) == "a member of Canis"


def test_an_own_folder_comes_before_the_systems(wordnet, tmp_path, monkeypatch):
    monkeypatch.setattr(definitions, "_SYSTEM_WORDNET", wordnet)
    assert definition_source() == str(wordnet)
    own = tmp_path / "own"
    wordnet.rename(own)
    monkeypatch.setenv("REGRADE_WORDNET", str(own))
    assert definition_source() == str(own)


@pytest.mark.parametrize("wnid", ["n02084072", "n99999999", "dog", "", "n-2084071", "n020840711", "v02084071"])
def test_what_is_no_synset_has_no_definition(wnid, wordnet, monkeypatch):
    monkeypatch.setenv("REGRADE_WORDNET", str(wordnet))
    assert definition(wnid) is None


def test_timm_tells_where_there_is_no_wordnet(timm):
    assert definition(DOG) == "a dog, says timm"
    assert definition("n00000000") is None
    assert definition_source() == str(timm)


@pytest.mark.usefixtures("timm")
def test_timm_tells_what_wordnet_does_not(wordnet, monkeypatch):
    monkeypatch.setenv("REGRADE_WORDNET", str(wordnet))
    assert definition(DOG) == "a member of Canis"
    assert definition(PUG) == "a pug, says timm"
    assert definition_source() == str(wordnet)


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"\xff\x00 not WordNet at all",
        b" " * 2084071 + DOG_LINE.encode()[:60],  # cut off in the middle of a line
        b" " * 2084071 + DOG_LINE.encode().replace(b"dog", b"cat"),  # another version: other offsets
    ],
    ids=["no data.noun", "empty", "garbage", "cut off", "another version"],
)
def test_a_broken_folder_is_passed_over(content, timm, tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    broken.mkdir()
    if content is not None:
        (broken / "data.noun").write_bytes(content)
    monkeypatch.setenv("REGRADE_WORDNET", str(broken))
    assert definition(DOG) == "a dog, says timm"
    assert definition_source() == str(timm)


@pytest.mark.parametrize(
    ("gloss", "text"),
    [
        ("a lobe; an ear", "a lobe; an ear"),
        ('a drink; "he had a beer"; "cheers"\n', "a drink"),
        ('the mark called "quote" in print', 'the mark called "quote" in print'),
    ],
)
def test_examples_are_cut_off_and_quoted_words_stay(gloss, text):
    assert definitions._without_examples(gloss) == text
