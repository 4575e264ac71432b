"""All errors that regrade raises on purpose.

::

    RegradeError                 an expected error: printed as one line, without a traceback
    ├── InputError (ValueError)  invalid input
    │   ├── UnknownName          unknown name; the message suggests similar names
    │   ├── FormatError          a file does not have the expected format
    │   │   └── DamagedFile      a stored file has changed since it was written
    │   ├── MismatchError        two inputs do not belong together
    │   ├── UndefinedError       the result is undefined for this input
    │   ├── TooManyImages        a plan would need more images than it is computed for
    │   ├── ReasonNeeded         a vote is changed after the reveal without a reason
    │   ├── UnreadableImage      an image is missing, damaged or not an image
    │   │   └── ChangedImage     an image is no longer the one that people were asked about
    │   └── ImageSourceError     the images of a test set are missing, or too many are unreadable
    ├── StoreError               an operation on the workspace failed
    │   ├── AlreadyStored        other content is stored under this name
    │   ├── VersionError         the workspace was written by a newer regrade
    │   ├── WriteError           a write failed (disk full, read-only, no permission)
    │   │   └── LedgerRefused    the ledger's database cannot be written: its disk is full or read-only
    │   ├── LedgerUnavailable    the ledger's database does not respond: stopped, restarting, or locked for too long
    │   └── LedgerDamaged        the ledger's file is damaged, or is not a ledger
    ├── ModelError               a model cannot be loaded, or fails on its input
    ├── ExecutorError            the machines of a cluster failed or are lost
    ├── DownloadError            a download failed, or the file is not the expected one
    │   └── DownloadInterrupted  a download is not finished; trying again later resumes it
    └── MissingExtra             an optional dependency is not installed
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable

_SIMILAR = 0.6  # minimum of difflib's ratio for a suggestion
_SHORTEST = 3  # minimum number of letters of a name that is contained in another
_SHOWN = 3  # number of suggestions
_FEW = 12  # up to this many names, all are listed


class RegradeError(Exception):
    """The base class of expected errors; the message is one line."""

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), str(self), vars(self))  # the constructors of subclasses have other parameters


class InputError(RegradeError, ValueError):
    """The input is invalid."""


class UnknownName(InputError):
    """The name is unknown; the message suggests similar names among ``candidates``, unless they are None.

    ``first`` is the command that adds the first candidate, for the message if there are none.
    """

    def __init__(
        self, kind: str, name: str, candidates: Iterable[str] | None, *, hint: str = "", first: str = ""
    ) -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"unknown {kind} {name!r}{_suggestion(name, candidates, first)}{hint}")


class FormatError(InputError):
    """A file does not have the expected format."""


class DamagedFile(FormatError):
    """A stored file has changed since it was written; it is never used."""


class MismatchError(InputError):
    """Two inputs do not belong together."""


class UndefinedError(InputError):
    """The result is undefined for this input."""


class TooManyImages(InputError):
    """A plan would need more images than the ``limit`` up to which it is computed."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit:,} images would be needed: relax the target")


class ReasonNeeded(InputError):
    """A vote is changed after the other votes were shown, without a reason."""


class UnreadableImage(InputError):
    """An image is missing, damaged or not an image; the message is the reason."""


class ChangedImage(UnreadableImage):
    """The file of an image now contains another image than the one that people were asked about."""


class ImageSourceError(InputError):
    """The images of a test set are missing, or too many of them cannot be read."""


class StoreError(RegradeError):
    """An operation on the workspace failed."""


class AlreadyStored(StoreError):
    """Other content is stored under this name already."""


class VersionError(StoreError):
    """The workspace was written by a newer regrade than this one."""


class WriteError(StoreError):
    """A write failed; no partial file is left."""


class LedgerRefused(WriteError):
    """The ledger's database cannot be written: its disk is full or read-only, or permission is denied."""


class LedgerUnavailable(StoreError):
    """The ledger's database does not respond; the same request may succeed later."""


class LedgerDamaged(StoreError):
    """The ledger's file is damaged, or is not a ledger: a backup is needed."""


class ModelError(RegradeError):
    """A model cannot be loaded, or fails on its input."""


class ExecutorError(RegradeError):
    """The machines of a cluster failed or are lost."""


class DownloadError(RegradeError):
    """A download failed, or the file is not the expected one."""


class DownloadInterrupted(DownloadError):
    """A download is not finished: the server or another process is busy, and trying again later resumes it."""


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
    """The reason of a failed write, in words."""
    return _REFUSALS.get(error.errno or 0) or error.strerror or str(error)


def not_utf8(error: UnicodeDecodeError) -> str:
    r"""A message with the position of the invalid byte, worded to follow the name of the file.

    >>> try:
    ...     b"cat\nd\xffg".decode()
    ... except UnicodeDecodeError as error:
    ...     not_utf8(error)
    'is not UTF-8 text (line 2, byte 5): save it in that encoding'
    """
    line = error.object.count(b"\n", 0, error.start) + 1
    return f"is not UTF-8 text (line {line:,}, byte {error.start:,}): save it in that encoding"


def _restored(kind: type[RegradeError], message: str, fields: dict[str, object]) -> RegradeError:
    error = kind.__new__(kind, message)
    vars(error).update(fields)
    return error


def _suggestion(name: str, candidates: Iterable[str] | None, first: str) -> str:
    if candidates is None:
        return ""
    names = list(candidates)
    if near := _nearest(name, names):
        return f"; did you mean {', '.join(near)}?"
    if len(names) > _FEW:
        return f"; there are {len(names):,}: {', '.join(names[:_SHOWN])}, ..."
    if names:
        return f"; there {'is' if len(names) == 1 else 'are'} {', '.join(names)}"
    return f"; there are none yet: add one with {first}" if first else "; there are none yet"


def _nearest(name: str, candidates: list[str]) -> list[str]:
    """The most similar names, first those that contain the name or are contained in it; ignores case and separators."""
    plain = _plain(name)
    matcher = difflib.SequenceMatcher(b=plain)
    near = []
    for place, candidate in enumerate(candidates):
        plain_candidate = _plain(candidate)
        shorter, longer = sorted((plain, plain_candidate), key=len)
        is_part = len(shorter) >= _SHORTEST and shorter in longer
        matcher.set_seq1(plain_candidate)
        if is_part or (matcher.real_quick_ratio() >= _SIMILAR and matcher.ratio() >= _SIMILAR):
            near.append((not is_part, -matcher.ratio(), place))
    return [candidates[place] for *_, place in sorted(near)[:_SHOWN]]


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))
