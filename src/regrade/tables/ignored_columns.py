"""Notes on columns, keys and files that were not used; names that look misspelled raise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import pyarrow as pa

from regrade.core import UnknownName
from regrade.core.amounts import amount
from regrade.core.names import near_miss

_SHOWN = 12


def ignored_columns(table: pa.Table, used: Collection[str], *, optional: Iterable[str] = ()) -> tuple[str, ...]:
    """A note with the columns that were not used, if any; raise if one looks like a misspelled optional column.

    ``used`` are the names of the columns that were used, ``optional`` those that are used if the table has them.
    """
    return ignored_names(table.column_names, used, optional=optional, noun="column")


def ignored_names(
    names: Iterable[str], used: Collection[str], *, optional: Iterable[str] = (), noun: str, where: str = ""
) -> tuple[str, ...]:
    """Like `ignored_columns`, for other names, such as the keys of an object or the arrays of a file."""
    ignored = [name for name in names if name and name not in used]
    lacking = {name.casefold() for name in optional}.difference(name.casefold() for name in used)
    for name in ignored:
        if name not in lacking and (near := near_miss(name, sorted(lacking))):
            raise UnknownName(noun, name, [near], hint=f"{where} (rename it, or remove it if it is something else)")
    if not ignored:
        return ()
    more = f", ... ({len(ignored):,} in all)" if len(ignored) > _SHOWN else ""
    plural = "s" if len(ignored) > 1 else ""
    return (f"ignored the {noun}{plural} {', '.join(ignored[:_SHOWN])}{more}",)


def skipped_files(kinds: Iterable[str], *, expected: str) -> tuple[str, ...]:
    """A note with the number of skipped files by suffix, if any; ``kinds`` are the suffixes of the files.

    >>> skipped_files([".txt", ".txt", ""], expected="arrays")
    ('passed over 3 files that are not arrays: 2 .txt, 1 without a suffix',)
    """
    counts = Counter(kinds)
    if not counts:
        return ()
    by_kind = [
        f"{number:,} {ascii(kind)[1:-1] if kind else 'without a suffix'}" for kind, number in counts.most_common()
    ]
    more = ", ..." if len(by_kind) > _SHOWN else ""
    verb = "is" if counts.total() == 1 else "are"
    files = f"{amount(counts.total(), 'file')} that {verb} not {expected}"
    return (f"passed over {files}: {', '.join(by_kind[:_SHOWN])}{more}",)
