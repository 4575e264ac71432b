"""One file from the web: resumed where it broke off, and verified before it gets its name."""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import json
import os
import re
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from email.message import Message
from io import FileIO
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from regrade.core import DownloadError, InputError, WriteError, refusal
from regrade.testsets.catalog import Download

Progress = Callable[[int, int | None], None]
"""Called with the bytes there are and the bytes there will be, if that is known."""

_CHUNK = 1 << 18
_HEX_DIGITS = {"sha256": 64, "md5": 32}
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class RetryPolicy:
    """How much of a poor connection to put up with."""

    tries: int = 6
    """Requests in all, the first included."""
    first_wait: float = 1.0
    """Seconds before the second try; each further wait is twice as long."""
    longest_wait: float = 30.0
    timeout: float = 30.0
    """Seconds to wait for a connection, and for each next byte."""

    def wait(self, tried: int) -> float:
        """Seconds to wait after so many tries.

        >>> [Patience().wait(tried) for tried in (1, 2, 3, 10)]
        [1.0, 2.0, 4.0, 30.0]
        """
        return min(self.first_wait * 2.0 ** (tried - 1), self.longest_wait)


def _unseen(_done: int, _total: int | None) -> None:
    pass


def download(
    item: Download, folder: Path, *, progress: Progress = _unseen, patience: RetryPolicy | None = None
) -> Path:
    """Fetch a file into a folder and return its path; a file that is there and verifies is not fetched again.

    It grows as ``NAME.part``, with what the server said of it in ``NAME.part.json``, and gets its name in one step
    once size and checksum are right. A broken connection is taken up again, within one call or by a later one.
    What is not the file expected is removed and raises `DownloadError`; a disk that refuses raises `WriteError`.
    """
    _check_address(item.url)
    patience = patience or RetryPolicy()
    final = folder / _file_name(item.url)
    with _telling_refusals(final):
        folder.mkdir(parents=True, exist_ok=True)
    if _verifies(final, item):
        return final
    with _opened(final, item) as part:
        _fetch(part, item, progress, patience)
        part.verify(item)
        part.place(final)
    return final


def shown(url: str) -> str:
    """An address for people: without user, password, query and fragment, which may hold secrets.

    >>> shown("https://me:word@example.org:8080/a/file.tar?token=x#y")
    'https://example.org:8080/a/file.tar'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class _Passing(Exception):
    """A trouble that may be over at the next try."""


class _Checksum:
    """A checksum to be met, and the running one of what has come so far."""

    def __init__(self, expected: str) -> None:
        self.algorithm, _, self.expected = expected.lower().partition(":")
        if expected and not re.fullmatch(rf"[0-9a-f]{{{_HEX_DIGITS.get(self.algorithm, 0)}}}", self.expected or "-"):
            raise InputError(f"a checksum is sha256: or md5: and its hexadecimal digits, got {expected!r}")
        self.reset()

    def __bool__(self) -> bool:
        return bool(self.expected)

    def reset(self) -> None:
        self._running = hashlib.new(self.algorithm, usedforsecurity=False) if self else None

    def update(self, data: bytes) -> None:
        if self._running is not None:
            self._running.update(data)

    @property
    def found(self) -> str:
        return "" if self._running is None else self._running.hexdigest()

    def read(self, file: FileIO) -> None:
        """Take in a file from its beginning."""
        file.seek(0)
        while self and (data := file.read(_CHUNK)):
            self.update(data)


@dataclass(frozen=True)
class _Notes:
    """What the server said of the file that a part is of."""

    address: str
    """A digest: the address itself may hold a secret."""
    validator: str = ""
    """A strong ETag, or the time of the last change."""
    total: int | None = None

    @classmethod
    def of(cls, url: str, headers: Message, total: int | None) -> _Notes:
        etag = str(headers.get("ETag", ""))
        strong = etag.startswith('"')
        return cls(_digest(url), etag if strong else str(headers.get("Last-Modified", "")), total)

    @classmethod
    def read(cls, path: Path, url: str) -> _Notes | None:
        """The notes beside a part, unless they are missing, damaged or about another address."""
        try:
            content = json.loads(path.read_bytes())
            notes = cls(str(content["address"]), str(content["validator"]), content["total"])
        except (OSError, ValueError, TypeError, KeyError):
            return None
        sound = notes.total is None or isinstance(notes.total, int)
        return notes if sound and notes.address == _digest(url) else None


class _Part:
    """The bytes that have come so far, on the disk, with their running checksum."""

    def __init__(self, file: FileIO, path: Path, item: Download) -> None:
        self.path = path
        self.checksum = _Checksum(item.checksum)
        self._file = file
        self._notes_path = path.with_name(f"{path.name}.json")
        self.notes = _Notes.read(self._notes_path, item.url)
        self.length = 0
        if self.notes is None or not (self.notes.validator or self.checksum):
            self.clear()  # nothing would tell whether the rest belongs to these bytes
        else:
            with _telling_refusals(path):
                self.checksum.read(file)
                self.length = file.seek(0, os.SEEK_END)

    @property
    def whole(self) -> bool:
        return bool(self.notes and self.notes.total is not None and 0 < self.length == self.notes.total)

    def clear(self) -> None:
        with _telling_refusals(self.path):
            self._file.truncate(0)
            self._file.seek(0)
        self.length, self.notes = 0, None
        self.checksum.reset()

    def begin(self, notes: _Notes) -> None:
        """Start afresh; the notes are written after the old bytes are gone, so that they never speak of them."""
        self.clear()
        with _telling_refusals(self.path):
            staged = self._notes_path.with_name(f"{self._notes_path.name}.{os.getpid()}")
            staged.write_text(json.dumps(asdict(notes)), encoding="utf-8")
            staged.replace(self._notes_path)
        self.notes = notes

    def append(self, data: bytes) -> None:
        with _telling_refusals(self.path):
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        self.checksum.update(data)
        self.length += len(data)

    def verify(self, item: Download) -> None:
        """Raise, and keep nothing, unless size and checksum are what they should be."""
        if item.size is not None and self.length != item.size:
            self._refuse(item, f"it has {self.length:,} bytes, {item.size:,} are expected")
        if self.checksum.found != self.checksum.expected:
            check = self.checksum
            self._refuse(item, f"its {check.algorithm} is {check.found}, {check.expected} is expected")

    def place(self, final: Path) -> None:
        with _telling_refusals(final):
            os.fsync(self._file.fileno())
            self.path.replace(final)
            self._notes_path.unlink(missing_ok=True)
            _sync_folder(final.parent)

    def discard(self) -> None:
        with _telling_refusals(self.path):
            self.path.unlink(missing_ok=True)
            self._notes_path.unlink(missing_ok=True)

    def _refuse(self, item: Download, reason: str) -> None:
        self.discard()
        raise DownloadError(
            f"{shown(item.url)} is not the file expected: {reason}; it was removed: try once more, "
            "and if this stays, the file was changed at its address"
        )


@contextmanager
def _opened(final: Path, item: Download) -> Iterator[_Part]:
    """The part of a file, for this process alone."""
    path = final.with_name(f"{final.name}.part")
    with _telling_refusals(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    with FileIO(handle, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = path.exists() and path.stat().st_ino == os.fstat(handle).st_ino
        except BlockingIOError:
            ours = False
        except OSError:
            ours = True  # some network disks know no locks
        if not ours:
            raise DownloadError(f"{final} is being fetched by another process: wait for it, and run the command again")
        part = _Part(file, path, item)
        try:
            yield part
        finally:
            if not part.length:
                part.discard()


def _fetch(part: _Part, item: Download, progress: Progress, patience: RetryPolicy) -> None:
    """Bring a part to its full length, in as many tries as patience allows."""
    opener = build_opener(_Redirects())
    for tried in range(1, patience.tries + 1):
        if part.whole:
            break
        try:
            _continue(part, item, opener, progress, patience.timeout)
            break
        except _Passing as trouble:
            if tried == patience.tries:
                raise DownloadError(
                    f"cannot fetch {shown(item.url)}: {trouble} ({tried} {'try' if tried == 1 else 'tries'}); "
                    f"{part.length:,} bytes are kept: run the command again to go on from there"
                ) from None
            time.sleep(patience.wait(tried))


def _continue(part: _Part, item: Download, opener: OpenerDirector, progress: Progress, timeout: float) -> None:
    """Ask for what is missing, and take in what comes."""
    try:
        answer = _asked(part, item, opener, timeout)
    except HTTPError as error:
        with error:
            _answered_with_error(part, item, error)
        return
    with answer:
        total = _taken_up(part, item, answer)
        limit = item.size if total is None else total
        progress(part.length, total)
        while data := _next_bytes(answer, item):
            part.append(data)
            progress(part.length, total)
            if limit is not None and part.length > limit:
                break  # more than announced is refused when it is verified, not written on for ever
    if total is not None and part.length < total:
        raise _Passing(f"the connection broke off at {part.length:,} of {total:,} bytes")


def _next_bytes(answer: http.client.HTTPResponse, item: Download) -> bytes:
    with _telling_breaks(item):
        return answer.read1(_CHUNK)


def _asked(part: _Part, item: Download, opener: OpenerDirector, timeout: float) -> http.client.HTTPResponse:
    request = Request(item.url, headers={"User-Agent": "regrade", "Accept-Encoding": "identity"})
    if part.length and part.notes:
        request.add_header("Range", f"bytes={part.length}-")
        if part.notes.validator:
            request.add_header("If-Range", part.notes.validator)
    with _telling_breaks(item):
        answer: http.client.HTTPResponse = opener.open(request, timeout=timeout)
    return answer


def _taken_up(part: _Part, item: Download, answer: http.client.HTTPResponse) -> int | None:
    """Make a part ready for the body that follows; the length the whole will have, if known."""
    if answer.status == 206:
        start, total = _content_range(answer.headers)
        notes = _Notes.of(item.url, answer.headers, total)
        if start != part.length or part.notes is None or _contradicts(notes, part.notes):
            part.clear()
            raise _Passing("the file was changed at its address while it was fetched")
        total = part.notes.total if total is None else total
    elif answer.status == 200:
        total = answer.length
        part.begin(_Notes.of(item.url, answer.headers, total))
    else:
        raise DownloadError(f"cannot fetch {shown(item.url)}: the server answers {answer.status}, which is no file")
    if total is not None and item.size is not None and total != item.size:
        part.discard()
        raise DownloadError(
            f"{shown(item.url)} has {total:,} bytes, {item.size:,} are expected: the file was changed at its address"
        )
    if total is None and item.size is None and not answer.chunked and not part.checksum:
        part.discard()
        raise DownloadError(
            f"{shown(item.url)}: the server does not say how long the file is, so it cannot be verified"
        )
    return total


def _contradicts(new: _Notes, old: _Notes) -> bool:
    return any(a and b and a != b for a, b in ((new.validator, old.validator), (new.total, old.total)))


def _answered_with_error(part: _Part, item: Download, error: HTTPError) -> None:
    """Return if the part turns out to be whole; raise otherwise."""
    if error.code == 416 and part.length:
        if _content_range(error.headers)[1] == part.length:
            return
        part.clear()
        raise _Passing("what was fetched before is not part of the file any more")
    if error.code in _PASSING:
        raise _Passing(f"the server answers {error.code} {http.client.responses.get(error.code, '')}".rstrip())
    reason = http.client.responses.get(error.code, "")
    raise DownloadError(f"cannot fetch {shown(item.url)}: the server answers {error.code} {reason}".rstrip()) from None


def _content_range(headers: Message) -> tuple[int | None, int | None]:
    """Where a piece starts, and how long the whole is: ``bytes 5-9/10`` or, with a refusal, ``bytes */10``."""
    found = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", str(headers.get("Content-Range", "")).strip())
    if found is None:
        return None, None
    start, total = found.groups()
    return (None if start is None else int(start)), (None if total == "*" else int(total))


class _Redirects(HTTPRedirectHandler):
    """Follow the web to the web only, and never from https down to http."""

    def redirect_request(  # noqa: PLR0917 - the signature of the base class
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        try:
            _check_address(newurl)
        except InputError as error:
            fp.close()
            raise DownloadError(f"{shown(req.full_url)} sends on to an address that is not followed: {error}") from None
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            fp.close()
            raise DownloadError(f"{shown(req.full_url)} sends on to an unprotected address: {shown(newurl)}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InputError("an address that cannot be read: expected https://host/file") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InputError(f"expected an address that begins with https:// or http://, got {shown(url)}")
    if parts.username is not None or parts.password is not None:
        raise InputError(f"an address must not hold a user name or password: {shown(url)}")
    if not re.fullmatch(r"[!-~]+", url):
        raise InputError(f"an address must be plain characters without spaces (%20): {shown(url)!r}")


def _file_name(url: str) -> str:
    name = unquote(urlsplit(url).path).rpartition("/")[2]
    if name in ("", ".", "..") or not name.isprintable() or "\\" in name:
        raise InputError(f"the address does not end in the name of a file: {shown(url)}")
    return name


def _verifies(path: Path, item: Download) -> bool:
    checksum = _Checksum(item.checksum)
    if not path.is_file() or (item.size is not None and path.stat().st_size != item.size):
        return False
    with _telling_refusals(path), path.open("rb", buffering=0) as file:
        checksum.read(file)
    return checksum.found == checksum.expected


@contextmanager
def _telling_breaks(item: Download) -> Iterator[None]:
    """Turn trouble with the connection into a reason to try again, or to give up; an answer with an error passes."""
    try:
        yield
    except HTTPError:
        raise
    except (OSError, http.client.HTTPException) as error:
        cause = error.reason if isinstance(error, URLError) else error
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise DownloadError(f"cannot fetch {shown(item.url)}: its certificate is not trusted") from None
        raise _Passing(_reason(cause)) from None


def _reason(cause: object) -> str:
    """What went wrong, without the words of libraries, which repeat the address."""
    if isinstance(cause, TimeoutError):
        return "the server does not answer in time"
    if isinstance(cause, ConnectionRefusedError):
        return "the connection is refused"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror[0].lower() + cause.strerror[1:]
    return "the connection broke off"


@contextmanager
def _telling_refusals(where: Path) -> Iterator[None]:
    """Turn a refusal of the disk into one clear line."""
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"cannot write to {where}: {refusal(error)}; run the command again to go on from what is there"
        ) from None


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
