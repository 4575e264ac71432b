from importlib.machinery import ModuleSpec

import pytest

from regrade.classes import definition, definitions

DOG = "n02084071"
DOG_LINE = '02084071 05 n 02 dog 0 domestic_dog 0 001 @ 02083346 n 0000 | a member of Canis; "the dog barked"\n'
PUG = "n02084100"


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch):
    """Hide the WordNet and timm of this machine; tests install their own."""
    monkeypatch.setattr(definitions, "_SYSTEM_WORDNET", definitions.Path("/nowhere"))
    monkeypatch.setattr(definitions, "find_spec", lambda _: None)
    monkeypatch.delenv("REGRADE_WORDNET", raising=False)
    monkeypatch.delenv("WNHOME", raising=False)


@pytest.fixture
def wordnet(tmp_path):
    """A WordNet folder with one synset at its offset."""
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


def test_definition_is_none_without_a_source():
    assert definition(DOG) is None


def test_definition_reads_wordnet_at_the_offset_of_the_wnid(wordnet, monkeypatch):
    monkeypatch.setenv("REGRADE_WORDNET", str(wordnet))
    assert definition(DOG) == "a member of Canis"


def test_wnhome_is_the_parent_of_the_wordnet_folder(wordnet, monkeypatch):
    monkeypatch.setenv("WNHOME", str(wordnet.parent))
    assert definition(DOG) == "a member of Canis"


def test_regrade_wordnet_takes_precedence_over_the_system(wordnet, tmp_path, monkeypatch):
    monkeypatch.setattr(definitions, "_SYSTEM_WORDNET", wordnet)
    assert definition(DOG) == "a member of Canis"
    own = tmp_path / "own"
    own.mkdir()
    (own / "data.noun").write_bytes((wordnet / "data.noun").read_bytes().replace(b"Canis", b"a pack"))
    monkeypatch.setenv("REGRADE_WORDNET", str(own))
    assert definition(DOG) == "a member of a pack"


@pytest.mark.parametrize("wnid", ["n02084072", "n99999999", "dog", "", "n-2084071", "n020840711", "v02084071"])
def test_definition_of_an_invalid_wnid_is_none(wnid, wordnet, monkeypatch):
    monkeypatch.setenv("REGRADE_WORDNET", str(wordnet))
    assert definition(wnid) is None


@pytest.mark.usefixtures("timm")
def test_definition_reads_timm_without_wordnet():
    assert definition(DOG) == "a dog, says timm"
    assert definition("n00000000") is None


@pytest.mark.usefixtures("timm")
def test_definition_falls_back_to_timm(wordnet, monkeypatch):
    monkeypatch.setenv("REGRADE_WORDNET", str(wordnet))
    assert definition(DOG) == "a member of Canis"
    assert definition(PUG) == "a pug, says timm"


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"\xff\x00 not WordNet at all",
        b" " * 2084071 + DOG_LINE.encode()[:60],  # truncated in the middle of a line
        b" " * 2084071 + DOG_LINE.encode().replace(b"dog", b"cat"),  # another version: other offsets
    ],
    ids=["no data.noun", "empty", "garbage", "cut off", "another version"],
)
@pytest.mark.usefixtures("timm")
def test_definition_skips_invalid_wordnet_folders(content, tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    broken.mkdir()
    if content is not None:
        (broken / "data.noun").write_bytes(content)
    monkeypatch.setenv("REGRADE_WORDNET", str(broken))
    assert definition(DOG) == "a dog, says timm"


@pytest.mark.parametrize(
    ("gloss", "text"),
    [
        ("a lobe; an ear", "a lobe; an ear"),
        ('a drink; "he had a beer"; "cheers"\n', "a drink"),
        ('the mark called "quote" in print', 'the mark called "quote" in print'),
    ],
)
def test_without_examples_keeps_quoted_words(gloss, text):
    assert definitions._without_examples(gloss) == text
