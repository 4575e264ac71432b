"""Names say what they hold, and each concept has one term: vague names and retired words are rejected."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THIS = Path(__file__).name

VAGUE = frozenset(
    (
        "one",
        "found",
        "told",
        "said",
        "there",
        "known",
        "wanted",
        "asked",
        "whose",
        "but",
        "here",
        "made",
        "some",
        "other",
        "others",
        "thing",
        "things",
        "stuff",
    )
)
"""Names that do not say what they hold."""

RETIRED = (
    r"neighbour|judgement|colour|\bgrey(?!hound)|\bcentre|catalogue|\blabell(?:ed|ing|er)s?\b|favour|behaviour|licence|learnt",
    r"\w*(?:normal|recogn|vector|student|maxim|minim|linear|organ|summar)is(?:e|ed|es|ing|ation)\b",
    r"\bpictures?\b",
    r"\brecipes?\b",
    r"\btwins?\b",
    r"\bballots?\b",
    r"\bmended\b",
    r"\bunless (?:told|given)\b",
    r"\bif left\b",
    r"\bheld against\b|\b(?:hold|holds|holding) (?:\S+ ){1,5}?against\b",
    r"\bone an? (?:core|line|model|file|class|row|image)\b",
    r"\bthe (?:best|hardest|first) so many\b",
    r"\bnothing new is no change\b",
    r"\bstands? behind\b",
    r"\bwhom\b",
    r"\bspeaks? of\b",
)
"""British spellings, and words and phrases with a plainer term of the field."""

ALLOWED: dict[str, tuple[str, ...]] = {
    "CHANGELOG.md": ("neighbour", "catalogue", "recipe", "pictures", "licence", "judgement"),  # what was renamed
    "src/regrade/cli/testsets.py": ("recipe",),  # a key of the JSON output
    "src/regrade/models/open_clip_model.py": ("picture",),  # the published prompts
    "src/regrade/formats/architectures.py": ("twins",),  # the name of an architecture
    "src/regrade/formats/label_files.py": ("judgement",),  # columns of other people's files
    "src/regrade/store/upgrade.py": ("pictures", "neighbour"),  # folders of older workspaces
    "tests/cli/test_verify.py": ("pictures", "neighbour"),
    "tests/formats/test_label_files.py": ("judgement",),
    "tests/store/test_upgrade.py": ("pictures", "neighbour"),
}
"""Retired words that a file needs."""

STORED_NAMES = {("src/regrade/store/predictions.py", "asked")}
"""Vague names that are keys of stored files."""

RIDDLES = frozenset(
    (
        "peopling",
        "likening",
        "mistaking",
        "confusing",
        "behind",
        "second_look",
        "whole_text",
        "dear",
        "leaking",
        "signing",
    )
)
"""Module names that do not say what the module does."""


def python_files() -> Iterator[Path]:
    for folder in ("src", "tests", "benchmarks", "scripts"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def texts() -> Iterator[Path]:
    yield from python_files()
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "src/**/*.html", "src/**/*.js", "src/**/*.css"):
        yield from sorted(ROOT.glob(pattern))


def assigned_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that is assigned, every parameter and every bind parameter, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "bindparam":
            yield from ((first.value, node.lineno) for first in node.args[:1] if isinstance(first, ast.Constant))


def retired_words(text: str) -> Iterator[tuple[str, int]]:
    pattern = re.compile("|".join(f"(?:{words})" for words in RETIRED), re.IGNORECASE)
    for number, line in enumerate(text.splitlines(), start=1):
        yield from ((match.group(), number) for match in pattern.finditer(line))


def test_names_say_what_they_hold():
    vague = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in python_files()
        for name, line in assigned_names(ast.parse(path.read_text(encoding="utf-8")))
        if name.strip("_") in VAGUE and (path.relative_to(ROOT).as_posix(), name) not in STORED_NAMES
    ]
    assert vague == []


def test_retired_words_are_not_used():
    used = []
    for path in texts():
        name = path.relative_to(ROOT).as_posix()
        if path.name == THIS or "/migrations/" in name:
            continue
        allowed = ALLOWED.get(name, ())
        words = retired_words(path.read_text(encoding="utf-8"))
        used += [f"{name}:{line} {word}" for word, line in words if word.lower() not in allowed]
    assert used == []


def test_modules_are_named_for_what_they_do():
    assert [path.stem for path in python_files() if path.stem in RIDDLES] == []


def test_public_class_names_are_unique():
    classes = Counter(
        node.name
        for path in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in classes.items() if count > 1] == []


def test_vague_names_are_detected():
    tree = ast.parse("def f(found, /, *, row):\n    one = bindparam('whose')\n    for other, name in row: pass\n")
    assert {name for name, _ in assigned_names(tree)} & VAGUE == {"found", "one", "whose", "other"}


def test_retired_words_are_detected():
    text = "Hold models against people.\nThe Neighbour of a picture, normalised.\nA greyhound promised otherwise."
    assert [word for word, _ in retired_words(text)] == ["Hold models against", "Neighbour", "picture", "normalised"]
