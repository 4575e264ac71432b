"""Download a file over HTTP: resume interrupted downloads, and verify size and checksum."""

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

from regrade.core import DownloadError, DownloadInterrupted, InputError, WriteError, refusal
from regrade.testsets.catalog import Download

Progress = Callable[[int, int | None], None]
"""Called with the number of bytes received and the total number, if known."""

_CHUNK = 1 << 18
_HEX_DIGITS = {"sha256": 64, "md5": 32}
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long to retry a failed request."""

    tries: int = 6
    """Number of requests, including the first."""
    first_wait: float = 1.0
    """Seconds before the second request; each further wait is twice as long."""
    longest_wait: float = 30.0
    timeout: float = 30.0
    """Seconds to wait for a connection, and for the next bytes."""

    def wait(self, tried: int) -> float:
        """Seconds to wait after this many tries.

        >>> [RetryPolicy().wait(tried) for tried in (1, 2, 3, 10)]
        [1.0, 2.0, 4.0, 30.0]
        """
        return min(self.first_wait * 2.0 ** (tried - 1), self.longest_wait)


def _no_progress(_done: int, _total: int | None) -> None:
    pass


def download(
    item: Download,
    folder: Path,
    *,
    name: str | None = None,
    progress: Progress = _no_progress,
    retries: RetryPolicy | None = None,
) -> Path:
    """Download a file into a folder and return its path; a file that exists and verifies is not downloaded again.

    ``name`` is the name of the file in the folder (default: that in the URL).

    The data is written to ``NAME.part``, with the server's metadata in ``NAME.part.json``, and renamed once size and
    checksum are verified. An interrupted download is resumed, within the same call or by a later one; it raises
    `DownloadInterrupted` if all tries fail. A file that does not verify is removed and raises `DownloadError`; a failed
    write raises `WriteError`.
    """
    _check_address(item.url)
    retries = retries or RetryPolicy()
    final = folder / (name or _file_name(item.url))
    with _write_errors(final):
        folder.mkdir(parents=True, exist_ok=True)
    if _verifies(final, item):
        return final
    with _opened(final, item) as part:
        _fetch(part, item, progress, retries)
        part.verify(item)
        part.place(final)
    return final


def shown(url: str) -> str:
    """A URL for messages: without user, password, query and fragment, which may contain secrets.

    >>> shown("https://me:word@example.org:8080/a/file.tar?token=x#y")
    'https://example.org:8080/a/file.tar'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class _TemporaryError(Exception):
    """An error after which the request is tried again."""


class _Checksum:
    """The expected checksum, and the running checksum of the received bytes."""

    def __init__(self, expected: str) -> None:
        self.algorithm, _, self.expected = expected.lower().partition(":")
        if expected and not re.fullmatch(rf"[0-9a-f]{{{_HEX_DIGITS.get(self.algorithm, 0)}}}", self.expected or "-"):
            raise InputError(f"a checksum must be sha256: or md5: followed by its hexadecimal digits, got {expected!r}")
        self.reset()

    def __bool__(self) -> bool:
        return bool(self.expected)

    def reset(self) -> None:
        self._running = hashlib.new(self.algorithm, usedforsecurity=False) if self else None

    def update(self, data: bytes) -> None:
        if self._running is not None:
            self._running.update(data)

    @property
    def value(self) -> str:
        return "" if self._running is None else self._running.hexdigest()

    def read(self, file: FileIO) -> None:
        """Update the checksum with the whole content of a file."""
        file.seek(0)
        while self and (data := file.read(_CHUNK)):
            self.update(data)


@dataclass(frozen=True)
class _Metadata:
    """The server's metadata of a partial file."""

    address: str
    """A digest of the URL, which itself may contain a secret."""
    validator: str = ""
    """A strong ETag, or the Last-Modified header."""
    total: int | None = None

    @classmethod
    def of(cls, url: str, headers: Message, total: int | None) -> _Metadata:
        etag = str(headers.get("ETag", ""))
        strong = etag.startswith('"')
        return cls(_digest(url), etag if strong else str(headers.get("Last-Modified", "")), total)

    @classmethod
    def read(cls, path: Path, url: str) -> _Metadata | None:
        """Read the metadata of a partial file; None if it is missing, damaged or belongs to another URL."""
        try:
            content = json.loads(path.read_bytes())
            metadata = cls(str(content["address"]), str(content["validator"]), content["total"])
        except (OSError, ValueError, TypeError, KeyError):
            return None
        is_valid = metadata.total is None or isinstance(metadata.total, int)
        return metadata if is_valid and metadata.address == _digest(url) else None


class _Part:
    """The partial file on disk, with its running checksum."""

    def __init__(self, file: FileIO, path: Path, item: Download) -> None:
        self.path = path
        self.checksum = _Checksum(item.checksum)
        self._file = file
        self._metadata_path = path.with_name(f"{path.name}.json")
        self.metadata = _Metadata.read(self._metadata_path, item.url)
        self.length = 0
        if self.metadata is None or not (self.metadata.validator or self.checksum):
            self.clear()  # it could not be checked that the rest belongs to these bytes
        else:
            with _write_errors(path):
                self.checksum.read(file)
                self.length = file.seek(0, os.SEEK_END)

    @property
    def whole(self) -> bool:
        return bool(self.metadata and self.metadata.total is not None and 0 < self.length == self.metadata.total)

    def clear(self) -> None:
        with _write_errors(self.path):
            self._file.truncate(0)
            self._file.seek(0)
        self.length, self.metadata = 0, None
        self.checksum.reset()

    def begin(self, metadata: _Metadata) -> None:
        """Start over; the metadata is written after the old bytes are deleted, so that it never describes them."""
        self.clear()
        with _write_errors(self.path):
            staged = self._metadata_path.with_name(f"{self._metadata_path.name}.{os.getpid()}")
            staged.write_text(json.dumps(asdict(metadata)), encoding="utf-8")
            staged.replace(self._metadata_path)
        self.metadata = metadata

    def append(self, data: bytes) -> None:
        with _write_errors(self.path):
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        self.checksum.update(data)
        self.length += len(data)

    def verify(self, item: Download) -> None:
        """Raise and delete the file unless size and checksum are the expected ones."""
        if item.size is not None and self.length != item.size:
            self._refuse(item, f"it has {self.length:,} bytes, expected {item.size:,}")
        if self.checksum.value != self.checksum.expected:
            check = self.checksum
            self._refuse(item, f"its {check.algorithm} is {check.value}, expected {check.expected}")

    def place(self, final: Path) -> None:
        with _write_errors(final):
            os.fsync(self._file.fileno())
            self.path.replace(final)
            self._metadata_path.unlink(missing_ok=True)
            _sync_folder(final.parent)

    def discard(self) -> None:
        with _write_errors(self.path):
            self.path.unlink(missing_ok=True)
            self._metadata_path.unlink(missing_ok=True)

    def _refuse(self, item: Download, reason: str) -> None:
        self.discard()
        raise DownloadError(
            f"{shown(item.url)} is not the expected file: {reason}; it was removed: try again; if the error persists, "
            "the file on the server has changed"
        )


@contextmanager
def _opened(final: Path, item: Download) -> Iterator[_Part]:
    """Open the partial file of a download, locked for this process."""
    path = final.with_name(f"{final.name}.part")
    with _write_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    with FileIO(handle, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = path.exists() and path.stat().st_ino == os.fstat(handle).st_ino
        except BlockingIOError:
            ours = False
        except OSError:
            ours = True  # some network file systems do not support locks
        if not ours:
            raise DownloadInterrupted(
                f"{final} is being downloaded by another process: wait for it, and run the command again"
            )
        part = _Part(file, path, item)
        try:
            yield part
        finally:
            if not part.length:
                part.discard()


def _fetch(part: _Part, item: Download, progress: Progress, retries: RetryPolicy) -> None:
    """Download the rest of a partial file, with retries."""
    opener = build_opener(_Redirects())
    for tried in range(1, retries.tries + 1):
        if part.whole:
            break
        try:
            _continue(part, item, opener, progress, retries.timeout)
            break
        except _TemporaryError as error:
            if tried == retries.tries:
                raise DownloadInterrupted(
                    f"cannot download {shown(item.url)}: {error} ({tried} {'try' if tried == 1 else 'tries'}); "
                    f"{part.length:,} bytes are kept: run the command again to resume"
                ) from None
            time.sleep(retries.wait(tried))


def _continue(part: _Part, item: Download, opener: OpenerDirector, progress: Progress, timeout: float) -> None:
    """Request the missing bytes and append them."""
    try:
        response = _request(part, item, opener, timeout)
    except HTTPError as error:
        with error:
            _handle_http_error(part, item, error)
        return
    with response:
        total = _prepare_part(part, item, response)
        limit = item.size if total is None else total
        progress(part.length, total)
        while data := _next_bytes(response, item):
            part.append(data)
            progress(part.length, total)
            if limit is not None and part.length > limit:
                break  # the file is too long: `verify` rejects it
    if total is not None and part.length < total:
        raise _TemporaryError(f"the connection was lost after {part.length:,} of {total:,} bytes")


def _next_bytes(response: http.client.HTTPResponse, item: Download) -> bytes:
    with _connection_errors(item):
        return response.read1(_CHUNK)


def _request(part: _Part, item: Download, opener: OpenerDirector, timeout: float) -> http.client.HTTPResponse:
    request = Request(item.url, headers={"User-Agent": "regrade", "Accept-Encoding": "identity"})
    if part.length and part.metadata:
        request.add_header("Range", f"bytes={part.length}-")
        if part.metadata.validator:
            request.add_header("If-Range", part.metadata.validator)
    with _connection_errors(item):
        response: http.client.HTTPResponse = opener.open(request, timeout=timeout)
    return response


def _prepare_part(part: _Part, item: Download, response: http.client.HTTPResponse) -> int | None:
    """Prepare a partial file for the body of a response; return the length of the whole file, if known."""
    if response.status == 206:
        start, total = _content_range(response.headers)
        metadata = _Metadata.of(item.url, response.headers, total)
        if start != part.length or part.metadata is None or _contradicts(metadata, part.metadata):
            part.clear()
            raise _TemporaryError("the file on the server changed during the download")
        total = part.metadata.total if total is None else total
    elif response.status == 200:
        total = response.length
        part.begin(_Metadata.of(item.url, response.headers, total))
    else:
        raise DownloadError(f"cannot download {shown(item.url)}: the server responded {response.status} without a file")
    if total is not None and item.size is not None and total != item.size:
        part.discard()
        raise DownloadError(
            f"{shown(item.url)} has {total:,} bytes, expected {item.size:,}: the file on the server has changed"
        )
    if total is None and item.size is None and not response.chunked and not part.checksum:
        part.discard()
        raise DownloadError(
            f"{shown(item.url)}: the server does not report the size of the file, so it cannot be verified"
        )
    return total


def _contradicts(new: _Metadata, old: _Metadata) -> bool:
    return any(a and b and a != b for a, b in ((new.validator, old.validator), (new.total, old.total)))


def _handle_http_error(part: _Part, item: Download, error: HTTPError) -> None:
    """Return if the partial file is already complete; raise otherwise."""
    if error.code == 416 and part.length:
        if _content_range(error.headers)[1] == part.length:
            return
        part.clear()
        raise _TemporaryError("the downloaded part does not belong to the file any more")
    if error.code in _TEMPORARY:
        raise _TemporaryError(f"the server responded {error.code} {http.client.responses.get(error.code, '')}".rstrip())
    reason = http.client.responses.get(error.code, "")
    raise DownloadError(
        f"cannot download {shown(item.url)}: the server responded {error.code} {reason}".rstrip()
    ) from None


def _content_range(headers: Message) -> tuple[int | None, int | None]:
    """The start and the total length in Content-Range: ``bytes 5-9/10``, or ``bytes */10`` in an error response."""
    match = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", str(headers.get("Content-Range", "")).strip())
    if match is None:
        return None, None
    start, total = match.groups()
    return (None if start is None else int(start)), (None if total == "*" else int(total))


class _Redirects(HTTPRedirectHandler):
    """Follow redirects to http and https only, and never from https to http."""

    def redirect_request(  # noqa: PLR0917 - the signature of the base class
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        try:
            _check_address(newurl)
        except InputError as error:
            fp.close()
            raise DownloadError(f"{shown(req.full_url)} redirects to an address that is not allowed: {error}") from None
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            fp.close()
            raise DownloadError(f"{shown(req.full_url)} redirects from https to http: {shown(newurl)}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InputError("the URL is invalid: expected https://host/file") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InputError(f"a URL must begin with https:// or http://, got {shown(url)}")
    if parts.username is not None or parts.password is not None:
        raise InputError(f"a URL must not contain a user name or password: {shown(url)}")
    if not re.fullmatch(r"[!-~]+", url):
        raise InputError(f"a URL must consist of ASCII characters without spaces (use %20): {shown(url)!r}")


def _file_name(url: str) -> str:
    name = unquote(urlsplit(url).path).rpartition("/")[2]
    if name in ("", ".", "..") or not name.isprintable() or "\\" in name:
        raise InputError(f"the URL does not end with a file name: {shown(url)}")
    return name


def _verifies(path: Path, item: Download) -> bool:
    checksum = _Checksum(item.checksum)
    if not path.is_file() or (item.size is not None and path.stat().st_size != item.size):
        return False
    with _write_errors(path), path.open("rb", buffering=0) as file:
        checksum.read(file)
    return checksum.value == checksum.expected


@contextmanager
def _connection_errors(item: Download) -> Iterator[None]:
    """Convert connection errors to `_TemporaryError` or `DownloadError`; HTTP errors pass unchanged."""
    try:
        yield
    except HTTPError:
        raise
    except (OSError, http.client.HTTPException) as error:
        cause = error.reason if isinstance(error, URLError) else error
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise DownloadError(f"cannot download {shown(item.url)}: its certificate is not trusted") from None
        raise _TemporaryError(_reason(cause)) from None


def _reason(cause: object) -> str:
    """A message without the URL, which the messages of libraries contain."""
    if isinstance(cause, TimeoutError):
        return "the server did not respond in time"
    if isinstance(cause, ConnectionRefusedError):
        return "the connection was refused"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror[0].lower() + cause.strerror[1:]
    return "the connection was lost"


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Convert an OSError to a `WriteError` with one line."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"cannot write to {path}: {refusal(error)}; run the command again to resume") from None


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
