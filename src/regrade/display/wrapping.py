"""Text wrapped at words: a word that is wider than the line gets a line of its own, so that it can be copied."""

from __future__ import annotations

from rich.cells import cell_len


def wrapped_lines(text: str, width: int) -> list[str]:
    """The lines of a text; spaces at its start and within a line are kept.

    >>> wrapped_lines("  two short lines", 10)
    ['  two', 'short', 'lines']
    """
    lines, room = [""], width
    for number, word in enumerate(text.split(" ")):
        length = cell_len(word)
        if number and lines[-1].strip() and length + 1 > room:
            lines.append(word)
            room = width - length
        else:
            lines[-1] += f" {word}" if number else word
            room -= length + bool(number)
    return lines
