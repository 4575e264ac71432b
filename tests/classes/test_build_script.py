from pathlib import Path

import pytest
from loaded_script import loaded_script
from skipping import skip

from regrade.classes import imagenet_1k

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "src/regrade/classes/data/imagenet-1k.json"
WORDNET = Path("/usr/share/wordnet")


@pytest.fixture(scope="module")
def script():
    with loaded_script("build_imagenet_classes") as module:
        yield module


@pytest.fixture
def timm_info(tmp_path):
    """The committed classes in the format of timm's tables."""
    space = imagenet_1k()
    (tmp_path / "imagenet_synsets.txt").write_text("\n".join(space.ids))
    for subset in ("imagenet-a", "imagenet-r"):
        stem, members = subset.replace("-", "_"), space.groups[subset]
        (tmp_path / f"{stem}_indices.txt").write_text("\n".join(str(index) for index in members))
        (tmp_path / f"{stem}_synsets.txt").write_text("\n".join(space.ids[index] for index in members))
    return tmp_path


@pytest.fixture
def wordnet():
    if not (WORDNET / "data.noun").is_file():
        skip(f"WordNet is not at {WORDNET} (Debian: wordnet-base)")
    return WORDNET


def build(script, timm_info, wordnet):
    output = timm_info / "built.json"
    status = script.main(["--timm-info", str(timm_info), "--wordnet", str(wordnet), "--output", str(output)])
    return status, output


def test_committed_file_equals_the_output_of_the_script(script, timm_info, wordnet):
    status, output = build(script, timm_info, wordnet)
    assert status == 0
    assert output.read_text() == COMMITTED.read_text()


def test_committed_file_is_small_with_one_synset_per_line():
    assert COMMITTED.stat().st_size < 250_000
    assert '\n"n02084071": [["n02083346","n01317541"],["dog","domestic dog","Canis familiaris"]],\n' in (
        COMMITTED.read_text()
    )


def spoil_subset(folder):
    path = folder / "imagenet_a_indices.txt"
    path.write_text(path.read_text().replace("6\n", "7\n", 1))


def drop_class(folder):
    path = folder / "imagenet_synsets.txt"
    path.write_text("\n".join(path.read_text().split()[1:]))


def turn_around(folder):
    path = folder / "imagenet_synsets.txt"
    path.write_text("\n".join(reversed(path.read_text().split())))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_subset, "imagenet_a_indices.txt and imagenet_a_synsets.txt do not name the same classes"),
        (drop_class, "expected 1000 classes, found 999"),
        (turn_around, "imagenet_synsets.txt is not sorted"),
        (lambda folder: (folder / "imagenet_r_indices.txt").unlink(), "No such file"),
    ],
)
def test_script_rejects_inconsistent_sources(script, timm_info, wordnet, spoil, message):
    spoil(timm_info)
    with pytest.raises((script.BuildError, OSError), match=message):
        script.build(timm_info, wordnet)


def test_script_errors_are_one_line_and_write_nothing(script, timm_info, wordnet, capsys):
    drop_class(timm_info)
    status, output = build(script, timm_info, wordnet)
    assert (status, output.exists()) == (1, False)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(": expected 1000 classes, found 999")


def test_script_rejects_families_of_another_size(script, timm_info, wordnet, capsys, monkeypatch):
    monkeypatch.setitem(script.FAMILIES, "dogs", ("n02084071", 120))
    assert build(script, timm_info, wordnet)[0] == 1
    assert "expected 120 dogs, found 118" in capsys.readouterr().err


def test_script_rejects_another_wordnet_version(script, timm_info, tmp_path, capsys):
    (tmp_path / "data.noun").write_text("  1 This is not WordNet 3.0\n")
    assert build(script, timm_info, tmp_path)[0] == 1
    assert "it must be WordNet 3.0" in capsys.readouterr().err


def named(script, **synsets):
    """Display names of the classes among ``name=(words, parent)``; a parent without words is a root."""
    table = {
        name: script.Synset(tuple(words), (parent,) if parent else ()) for name, (words, parent) in synsets.items()
    }
    ids = [name for name, synset in table.items() if synset.parents]
    script.CLASS_COUNT = len(ids)
    return list(script.display_names(ids, table).values())


@pytest.fixture(autouse=True)
def class_count(script, monkeypatch):
    monkeypatch.setattr(script, "CLASS_COUNT", script.CLASS_COUNT)


BIRD, TOOL = (["bird"], None), (["tool"], None)


def test_unique_names_are_not_extended(script):
    names = named(script, a=(["wren"], "bird"), b=(["saw"], "tool"), bird=BIRD, tool=TOOL)
    assert names == ["wren", "saw"]


@pytest.mark.parametrize("second_word", ["crane", "Crane", "cranes"])
def test_repeated_names_are_extended_by_their_parents(script, second_word):
    names = named(script, a=(["crane"], "bird"), b=([second_word], "tool"), bird=BIRD, tool=TOOL)
    assert names == ["crane (bird)", f"{second_word} (tool)"]


def test_repeated_names_are_extended_by_a_second_word(script):
    names = named(script, a=(["crane"], "bird"), b=(["hoist", "crane"], "tool"), bird=BIRD, tool=TOOL)
    assert names == ["crane (bird)", "hoist (tool)"]


def test_shared_parents_fall_back_to_another_word(script):
    names = named(script, a=(["tub", "vat"], "tool"), b=(["bathtub", "tub"], "tool"), tool=TOOL)
    assert names == ["tub (vat)", "bathtub"]


def test_script_rejects_names_that_cannot_be_distinguished(script):
    with pytest.raises(script.BuildError, match="no word distinguishes a"):
        named(script, a=(["tub"], "tool"), b=(["tub"], "tool"), tool=TOOL)
