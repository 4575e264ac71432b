"""Every error that regrade raises on purpose.

::

    RegradeError                 expected trouble: one clear line, no traceback
    ├── InputError (ValueError)  what was given cannot be used
    │   ├── UnknownName          nothing has this name; the nearest names are suggested
    │   ├── FormatError          a file is not in the form it should have
    │   │   └── DamagedFile      a stored file is not as it was written
    │   ├── MismatchError        two things that must belong together do not
    │   ├── UndefinedError       the quantity has no value for this input
    │   ├── ReasonNeeded         a vote changes after the reveal, and no reason was given
    │   ├── UnreadableImage    a image is not there, is none, or is damaged
    │   └── ImageSourceError     the images of a test set are gone, or too many of them are unreadable
    ├── StoreError               the workspace cannot do what was asked
    │   ├── AlreadyStored        other content is stored under this name
    │   ├── VersionError         the workspace was written by a newer regrade
    │   ├── WriteError           the disk refused (full, read-only, no permission)
    │   │   └── LedgerRefused    the ledger's database takes no writes: its disk is full or read-only
    │   ├── LedgerUnavailable    the ledger's database does not answer: stopped, restarting, or locked for too long
    │   └── LedgerDamaged        the ledger's file is damaged, or is not a ledger
    ├── ModelError               a model cannot be loaded, or fails on its input
    ├── ExecutorError            the machines that should do the work cannot, or are lost
    ├── DownloadError            a file could not be fetched whole, or is not the one expected
    └── MissingExtra             an optional dependency is not installed
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable

_ALIKE = 0.6  # of difflib's ratio, from which a name is suggested
_TELLING = 3  # letters that a name within another needs to tell anything
_SHOWN = 3
_FEW = 12  # names that are all listed


class RegradeError(Exception):
    """The root: anything below it is expected trouble, told in one line."""

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), str(self), vars(self))  # subclasses take other arguments than a message


class InputError(RegradeError, ValueError):
    """What was given cannot be used."""


class UnknownName(InputError):
    """Nothing has this name; the message suggests the nearest of those that are known, if they may be told.

    ``first`` is the command that adds the first one, for where there are none.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str] | None, *, hint: str = "", first: str = "") -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"unknown {kind} {name!r}{_suggestion(name, known, first)}{hint}")


class FormatError(InputError):
    """A file is not in the form it should have."""


class DamagedFile(FormatError):
    """A stored file is not as it was written; it is never used."""


class MismatchError(InputError):
    """Two things that must belong together do not."""


class UndefinedError(InputError):
    """The quantity has no value for this input."""


class ReasonNeeded(InputError):
    """A vote changes after the other votes were shown, and no reason was given."""


class UnreadableImage(InputError):
    """A image is not there, is no image, or is damaged; the message is the reason."""


class ImageSourceError(InputError):
    """The images of a test set are gone, or too many of them cannot be read."""


class StoreError(RegradeError):
    """The workspace cannot do what was asked."""


class AlreadyStored(StoreError):
    """Other content is stored under this name already."""


class VersionError(StoreError):
    """The workspace was written by a newer regrade than this one."""


class WriteError(StoreError):
    """The disk refused a write; nothing half-written is left."""


class LedgerRefused(WriteError):
    """The ledger's database takes no writes: its disk is full or read-only, or permission is denied."""


class LedgerUnavailable(StoreError):
    """The ledger's database does not answer now; the same request may succeed later."""


class LedgerDamaged(StoreError):
    """The ledger's file is damaged, or is not a ledger: a backup is needed."""


class ModelError(RegradeError):
    """A model cannot be loaded, or fails on its input."""


class ExecutorError(RegradeError):
    """The machines that should do the work cannot, or are lost."""


class DownloadError(RegradeError):
    """A file could not be fetched whole, or is not the one expected."""


class MissingExtra(RegradeError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'regrade[{extra}]'")


_REFUSALS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file is larger than this system allows",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
}


def refusal(error: OSError) -> str:
    """Why a disk refuses, in words."""
    return _REFUSALS.get(error.errno or 0) or error.strerror or str(error)


def _restored(kind: type[RegradeError], message: str, fields: dict[str, object]) -> RegradeError:
    error = kind.__new__(kind, message)
    vars(error).update(fields)
    return error


def _suggestion(name: str, known: Iterable[str] | None, first: str) -> str:
    if known is None:
        return ""
    candidates = list(known)
    if near := _nearest(name, candidates):
        return f"; did you mean {', '.join(near)}?"
    if len(candidates) > _FEW:
        return f"; there are {len(candidates):,}: {', '.join(candidates[:_SHOWN])}, ..."
    if candidates:
        return f"; there {'is' if len(candidates) == 1 else 'are'} {', '.join(candidates)}"
    return f"; there are none yet: add one with {first}" if first else "; there are none yet"


def _nearest(name: str, candidates: list[str]) -> list[str]:
    """The names most like a name, those first that hold it or are held in it; case and separators do not count."""
    plain = _plain(name)
    matcher = difflib.SequenceMatcher(b=plain)
    near = []
    for place, candidate in enumerate(candidates):
        other = _plain(candidate)
        holds = min(len(plain), len(other)) >= _TELLING and (plain in other or other in plain)
        matcher.set_seq1(other)
        if holds or (matcher.real_quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE):
            near.append((not holds, -matcher.ratio(), place))
    return [candidates[place] for *_, place in sorted(near)[:_SHOWN]]


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))
