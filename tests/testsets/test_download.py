"""The downloader, tested with a local server that drops connections, truncates and corrupts files."""

import contextlib
import errno
import hashlib
import http.server
import importlib
import io
import json
import os
import random
import resource
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import pytest

from regrade.core import DownloadError, DownloadInterrupted, InputError, WriteError
from regrade.testsets.catalog import Download
from regrade.testsets.download import RetryPolicy, download, shown

module = importlib.import_module("regrade.testsets.download")  # the package exports the function under this name

BODY = random.Random(0).randbytes(1 << 20)
OTHER = BODY[::-1]
SHA256 = f"sha256:{hashlib.sha256(BODY).hexdigest()}"
MD5 = f"md5:{hashlib.md5(BODY).hexdigest()}"
HALF = len(BODY) // 2
QUICK = RetryPolicy(tries=3, first_wait=0.01, longest_wait=0.02, timeout=5)


@dataclass
class Site:
    """The content of the server, its fault on each request in turn, and the requests that it received."""

    body: bytes = BODY
    tag: str = '"one"'
    changed: str = ""
    follows_ranges: bool = True
    faults: list = field(default_factory=list)
    requests: list[dict] = field(default_factory=list)
    address: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    def item(self, path="file.bin", **fields):
        return Download(f"{self.address}/{path}", **fields)

    @property
    def ranges(self):
        return [headers.get("Range") for headers in self.requests]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        site = self.server.site
        site.requests.append(dict(self.headers))
        fault = site.faults.pop(0) if site.faults else serve
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            fault(self, site)
        if fault is not serve:
            self.close_connection = True

    def head(self, status, length=None, **headers):
        self.send_response(status)
        site = self.server.site
        for name, value in (("ETag", site.tag), ("Last-Modified", site.changed), ("Content-Length", length)):
            if value not in (None, ""):
                self.send_header(name, str(value))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def start(self, site):
        """Send the headers of a correct response, and return the bytes of its body."""
        requested = self.headers.get("Range")
        same = self.headers.get("If-Range") in (None, site.tag, site.changed)
        if not (requested and same and site.follows_ranges):
            self.head(200, len(site.body))
            return site.body
        first = int(requested.removeprefix("bytes=").rstrip("-"))
        if first >= len(site.body):
            self.head(416, 0, Content_Range=f"bytes */{len(site.body)}")
            return b""
        rest = site.body[first:]
        self.head(206, len(rest), Content_Range=f"bytes {first}-{len(site.body) - 1}/{len(site.body)}")
        return rest


def serve(handler, site):
    handler.wfile.write(handler.start(site))


def drop(handler, site):
    """Send half of the remaining bytes, then close the connection."""
    rest = handler.start(site)
    handler.wfile.write(rest[: len(rest) // 2])


def stall(handler, site):
    """Send half of the remaining bytes, then nothing more."""
    drop(handler, site)
    handler.wfile.flush()
    site.ended.wait(20)


def hang(_handler, site):
    site.ended.wait(20)


def hang_up(_handler, _site):
    pass


def corrupt(handler, site):
    rest = handler.start(site)
    handler.wfile.write(rest[:-1] + bytes([rest[-1] ^ 1]))


def status(code):
    return lambda handler, _site: handler.head(code, 0)


def send_to(target):
    return lambda handler, _site: handler.head(302, 0, Location=target)


def change_then(fault):
    def changed(handler, site):
        site.body, site.tag = OTHER, '"two"'
        fault(handler, site)

    return changed


def chunked(pieces, *, ends):
    def send(handler, _site):
        handler.head(200, Transfer_Encoding="chunked")
        for piece in pieces:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        handler.wfile.write(b"0\r\n\r\n" if ends else b"")

    return send


def without_length(body):
    def send(handler, _site):
        handler.head(200, Connection="close")
        handler.wfile.write(body)

    return send


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.site = Site(address=f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.site
    server.site.ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


def notes_of(site, total):
    address = hashlib.sha256(site.item().url.encode()).hexdigest()
    return json.dumps({"address": address, "validator": site.tag, "total": total})


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("fields", [{"checksum": SHA256}, {"checksum": MD5}, {"size": len(BODY)}, {}])
def test_download_writes_only_the_file(site, tmp_path, fields):
    path = download(site.item(**fields), tmp_path / "new" / "folder", retries=QUICK)
    assert path == tmp_path / "new" / "folder" / "file.bin"
    assert path.read_bytes() == BODY
    assert left_in(path.parent) == ["file.bin"]
    assert site.ranges == [None]


def test_download_under_another_name(site, tmp_path):
    path = download(site.item("photo"), tmp_path, name="0123.jpg", retries=QUICK)
    assert (path, path.read_bytes()) == (tmp_path / "0123.jpg", BODY)
    site.faults = [status(404)]
    with pytest.raises(DownloadError) as refused:
        download(site.item("photo"), tmp_path, name="4567.jpg", retries=QUICK)
    assert not isinstance(refused.value, DownloadInterrupted)


def test_progress_goes_from_zero_to_the_total(site, tmp_path):
    seen = []
    download(site.item(), tmp_path, progress=lambda *so_far: seen.append(so_far), retries=QUICK)
    assert seen[0] == (0, len(BODY)) and seen[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_errors_of_the_progress_callback_are_raised(site, tmp_path):
    def broken(_done, _total):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        download(site.item(), tmp_path, progress=broken, retries=QUICK)
    assert len(site.requests) == 1


def test_download_of_an_empty_file(site, tmp_path):
    site.body = b""
    assert download(site.item(size=0), tmp_path, retries=QUICK).read_bytes() == b""
    assert left_in(tmp_path) == ["file.bin"]


@pytest.mark.parametrize("fields", [{"checksum": SHA256}, {"size": len(BODY)}, {}])
def test_download_skips_a_verified_file(site, tmp_path, fields):
    (tmp_path / "file.bin").write_bytes(BODY)
    assert download(site.item(**fields), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.requests == []


@pytest.mark.parametrize("fields", [{"checksum": SHA256}, {"size": len(BODY)}])
def test_download_replaces_a_wrong_file_only_when_complete(site, tmp_path, fields):
    (tmp_path / "file.bin").write_bytes(b"short")
    site.faults = [status(404)]
    with pytest.raises(DownloadError):
        download(site.item(**fields), tmp_path, retries=QUICK)
    assert (tmp_path / "file.bin").read_bytes() == b"short"
    assert download(site.item(**fields), tmp_path, retries=QUICK).read_bytes() == BODY


@pytest.mark.parametrize("fields", [{"checksum": SHA256}, {"size": len(BODY)}, {}])
def test_download_resumes_after_a_lost_connection(site, tmp_path, fields):
    site.faults = [drop, drop]
    assert download(site.item(**fields), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None, f"bytes={HALF}-", f"bytes={HALF + HALF // 2}-"]
    assert [headers.get("If-Range") for headers in site.requests] == [None, site.tag, site.tag]


def test_resume_uses_last_modified_without_a_strong_etag(site, tmp_path):
    site.tag, site.changed = 'W/"weak"', "Wed, 21 Oct 2015 07:28:00 GMT"
    site.faults = [drop]
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.requests[1]["If-Range"] == site.changed


def test_resume_without_a_validator_requires_a_checksum(site, tmp_path):
    site.tag = ""
    site.faults = [drop, serve]
    download(site.item(checksum=SHA256), tmp_path / "checked", retries=QUICK)
    assert site.ranges == [None, f"bytes={HALF}-"]
    site.faults, site.requests = [drop], []
    with pytest.raises(DownloadError):
        download(site.item(), tmp_path, retries=RetryPolicy(tries=1))
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None, None]


def test_download_keeps_the_part_after_the_last_retry(site, tmp_path):
    site.faults = [drop, hang_up, hang_up]
    with pytest.raises(DownloadInterrupted, match=rf"\(3 tries\); {HALF:,} bytes are kept: run the command again"):
        download(site.item(checksum=SHA256), tmp_path, retries=QUICK)
    assert left_in(tmp_path) == ["file.bin.part", "file.bin.part.json"]
    site.requests.clear()
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [f"bytes={HALF}-"]
    assert left_in(tmp_path) == ["file.bin"]


def test_truncated_responses_are_detected(site, tmp_path):
    site.faults = [lambda handler, site: handler.wfile.write(handler.start(site)[:100])] * 3
    with pytest.raises(DownloadError, match=r"lost after 300 of 1,048,576 bytes"):
        download(site.item(), tmp_path, retries=QUICK)


def test_wrong_checksum_removes_the_file(site, tmp_path):
    site.faults = [corrupt]
    with pytest.raises(DownloadError, match=r"file\.bin is not the expected file: its sha256 is [0-9a-f]{64}"):
        download(site.item(checksum=SHA256), tmp_path, retries=QUICK)
    assert left_in(tmp_path) == []
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY


def test_damaged_part_is_detected_on_resume(site, tmp_path):
    site.faults = [drop]
    with pytest.raises(DownloadError):
        download(site.item(checksum=SHA256), tmp_path, retries=RetryPolicy(tries=1))
    with (tmp_path / "file.bin.part").open("r+b") as part:
        part.write(b"rot")
    with pytest.raises(DownloadError, match="not the expected file"):
        download(site.item(checksum=SHA256), tmp_path, retries=QUICK)
    assert left_in(tmp_path) == []


def test_download_restarts_if_the_server_ignores_ranges(site, tmp_path):
    site.follows_ranges = False
    site.faults = [drop]
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None, f"bytes={HALF}-"]


@pytest.mark.parametrize("fields", [{}, {"checksum": f"sha256:{hashlib.sha256(OTHER).hexdigest()}"}])
def test_parts_of_different_versions_are_never_mixed(site, tmp_path, fields):
    site.faults = [drop, change_then(serve)]
    assert download(site.item(**fields), tmp_path, retries=QUICK).read_bytes() == OTHER


def test_changed_file_is_detected_without_if_range_support(site, tmp_path):
    def careless(handler, site):
        del handler.headers["If-Range"]
        serve(handler, site)

    site.faults = [drop, change_then(careless)]
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == OTHER
    assert site.ranges == [None, f"bytes={HALF}-", None]


def test_wrong_range_is_not_appended(site, tmp_path):
    def wrong_piece(handler, site):
        handler.head(206, 10, Content_Range=f"bytes 0-9/{len(BODY)}")
        handler.wfile.write(site.body[:10])

    site.faults = [drop, wrong_piece]
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY


@pytest.mark.parametrize(
    ("total", "ranges"),
    [(len(BODY), []), (None, [f"bytes={len(BODY)}-"])],  # the response to the latter is 416 with the length
)
def test_complete_part_is_renamed(site, tmp_path, total, ranges):
    (tmp_path / "file.bin.part").write_bytes(BODY)
    (tmp_path / "file.bin.part.json").write_text(notes_of(site, total))
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == ranges
    assert left_in(tmp_path) == ["file.bin"]


def test_too_long_part_is_discarded(site, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(BODY + b"more")
    (tmp_path / "file.bin.part.json").write_text(notes_of(site, None))
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [f"bytes={len(BODY) + 4}-", None]


@pytest.mark.parametrize(
    "notes", ["", "{", "[]", '{"address": "of another file", "validator": "\\"one\\"", "total": 9}']
)
def test_part_without_metadata_is_discarded(site, tmp_path, notes):
    (tmp_path / "file.bin.part").write_bytes(OTHER[:100])
    (tmp_path / "file.bin.part.json").write_text(notes)
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None]


@pytest.mark.parametrize("code", [500, 503, 429])
def test_temporary_http_errors_are_retried(site, tmp_path, code):
    site.faults = [status(code)] * 2
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    site.faults = [status(code)] * 3
    with pytest.raises(DownloadError, match=rf"the server responded {code} .*\(3 tries\)"):
        download(site.item("other.bin"), tmp_path, retries=QUICK)


@pytest.mark.parametrize(("code", "words"), [(404, "404 Not Found"), (403, "403 Forbidden"), (410, "410 Gone")])
def test_permanent_http_errors_are_not_retried(site, tmp_path, code, words):
    site.faults = [status(code)]
    with pytest.raises(DownloadError, match=rf"cannot download http://127.*/file\.bin: the server responded {words}$"):
        download(site.item(), tmp_path, retries=QUICK)
    assert len(site.requests) == 1
    assert left_in(tmp_path) == []


def test_response_without_a_file_is_an_error(site, tmp_path):
    site.faults = [status(204)]
    with pytest.raises(DownloadError, match="responded 204"):
        download(site.item(), tmp_path, retries=QUICK)


def test_status_416_on_the_first_request_is_an_error(site, tmp_path):
    site.faults = [status(416)]
    with pytest.raises(DownloadError, match="416"):
        download(site.item(), tmp_path, retries=QUICK)


def test_redirects_keep_the_file_name(site, tmp_path):
    site.faults = [send_to("/elsewhere/blob-123"), drop, send_to("/elsewhere/blob-123")]
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK) == tmp_path / "file.bin"
    assert site.ranges == [None, None, f"bytes={HALF}-", f"bytes={HALF}-"]


def test_redirect_loops_end(site, tmp_path):
    site.faults = [send_to("/file.bin")] * 50
    with pytest.raises(DownloadError, match="302"):
        download(site.item(), tmp_path, retries=QUICK)
    assert len(site.requests) < 15


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://example.org/x", "http://me:secret@127.0.0.1/x"])
def test_redirects_to_other_schemes_are_rejected(site, tmp_path, target):
    site.faults = [send_to(target)]
    with pytest.raises(DownloadError) as caught:
        download(site.item(), tmp_path, retries=QUICK)
    assert "secret" not in str(caught.value)
    assert left_in(tmp_path) == []


def test_redirects_from_https_to_http_are_rejected():
    request = module.Request("https://example.org/a?token=secret")
    with pytest.raises(DownloadError, match=r"https://example\.org/a redirects from https to http"):
        module._Redirects().redirect_request(
            request, io.BytesIO(), 302, "Found", {}, "http://example.org/a?token=secret"
        )


@pytest.mark.parametrize("fault", [hang, stall])
def test_timeout_of_a_silent_server(site, tmp_path, fault):
    site.faults = [fault] * 2
    retries = RetryPolicy(tries=2, first_wait=0.01, timeout=0.2)
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"did not respond in time \(2 tries\)"):
        download(site.item(), tmp_path, retries=retries)
    assert time.monotonic() - start < 5


def test_download_resumes_after_a_timeout(site, tmp_path):
    site.faults = [stall]
    retries = RetryPolicy(tries=2, first_wait=0.01, timeout=0.3)
    assert download(site.item(), tmp_path, retries=retries).read_bytes() == BODY
    assert site.ranges == [None, f"bytes={HALF}-"]


def test_refused_connection(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(DownloadError, match=r"the connection was refused \(2 tries\)"):
        download(Download("http://127.0.0.1:1/file.bin"), tmp_path, retries=RetryPolicy(tries=2, first_wait=0.01))
    assert left_in(tmp_path) == []


def test_chunked_response_needs_its_last_chunk(site, tmp_path):
    site.faults = [chunked([BODY[:HALF]], ends=False), chunked([BODY[:HALF], BODY[HALF:]], ends=True)]
    site.follows_ranges = False
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert len(site.requests) == 2


def test_response_of_unknown_length_requires_a_checksum(site, tmp_path):
    site.faults = [without_length(BODY)]
    with pytest.raises(DownloadError, match="does not report the size"):
        download(site.item(), tmp_path, retries=QUICK)
    assert left_in(tmp_path) == []
    site.faults = [without_length(BODY)]
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY


def test_endless_response_stops_at_the_expected_size(site, tmp_path):
    site.faults = [without_length(BODY * 40)]
    seen = []
    with pytest.raises(DownloadError, match="not the expected file: it has"):
        download(site.item(size=100), tmp_path, progress=lambda done, _: seen.append(done), retries=QUICK)
    assert max(seen) <= 100 + module._CHUNK
    assert left_in(tmp_path) == []


def test_wrong_content_length_is_rejected_before_the_download(site, tmp_path):
    with pytest.raises(DownloadError, match=r"has 1,048,576 bytes, expected 10"):
        download(site.item(size=10), tmp_path, retries=QUICK)
    assert left_in(tmp_path) == []


def wait_for_half(part):
    until = time.monotonic() + 20
    while not (part.is_file() and part.stat().st_size == HALF):
        assert time.monotonic() < until, "the first half did not come"
        time.sleep(0.01)


FETCH = """
import sys
from pathlib import Path
from regrade.testsets.catalog import Download
from regrade.testsets.download import download
download(Download(sys.argv[1], checksum=sys.argv[2]), Path(sys.argv[3]))
"""


def test_killed_download_can_be_resumed(site, tmp_path):
    site.faults = [stall]
    process = subprocess.Popen([sys.executable, "-c", FETCH, site.item().url, SHA256, str(tmp_path)])
    part = tmp_path / "file.bin.part"
    wait_for_half(part)
    process.kill()
    assert process.wait() == -9
    assert part.stat().st_size == HALF
    assert not (tmp_path / "file.bin").exists()
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None, f"bytes={HALF}-"]
    assert left_in(tmp_path) == ["file.bin"]


def test_concurrent_downloads_are_locked(site, tmp_path):
    site.faults = [stall]
    retries = RetryPolicy(tries=2, first_wait=0.01, timeout=20)
    first = threading.Thread(target=download, args=(site.item(), tmp_path), kwargs={"retries": retries})
    first.start()
    part = tmp_path / "file.bin.part"
    wait_for_half(part)
    with pytest.raises(DownloadError, match="being downloaded by another process"):
        download(site.item(), tmp_path, retries=QUICK)
    site.ended.set()
    first.join()
    assert (tmp_path / "file.bin").read_bytes() == BODY


@contextlib.contextmanager
def files_no_longer_than(limit):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk_is_reported_and_the_download_resumes(site, tmp_path):
    with files_no_longer_than(HALF), pytest.raises(WriteError, match=r"file\.bin\.part: the file is larger than"):
        download(site.item(checksum=SHA256), tmp_path, retries=QUICK)
    assert len(site.requests) == 1
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None, f"bytes={HALF}-"]


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "the disk is read-only")]
)
def test_write_errors_are_described(site, tmp_path, monkeypatch, number, words):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module.os, "fsync", refuse)
    with pytest.raises(WriteError, match=rf"cannot write to .*file\.bin: {words}; run the command again"):
        download(site.item(), tmp_path, retries=QUICK)


def test_folder_that_cannot_be_created(site, tmp_path):
    (tmp_path / "in the way").touch()
    with pytest.raises(WriteError, match="cannot write to"):
        download(site.item(), tmp_path / "in the way" / "folder", retries=QUICK)
    assert site.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/file", "file:///etc/passwd", "/etc/passwd", "https:///file", "https://example.org/",
        "https://example.org", "https://example.org/..", "https://example.org/%2e%2e", "https://example.org/a b",
        "https://example.org/a%5Cb", "https://example.org/a%00b", "https://example.org:99999/a", "https://[::1/a",
        "https://example.org/naïve", "https://me:secret@example.org/a?token=secret",
    ],
)  # fmt: skip
def test_download_rejects_invalid_urls(tmp_path, url):
    with pytest.raises(InputError) as caught:
        download(Download(url), tmp_path, retries=QUICK)
    assert "secret" not in str(caught.value) and "\n" not in str(caught.value)
    assert left_in(tmp_path) == []


def test_escaped_slashes_cannot_leave_the_folder(site, tmp_path):
    assert download(site.item("a%2F..%2F..%2Fb.bin"), tmp_path, retries=QUICK) == tmp_path / "b.bin"


@pytest.mark.parametrize("checksum", ["sha1:" + "0" * 40, "sha256:", "sha256:xyz", "md5:" + "0" * 31, "0" * 64, "md5"])
def test_download_rejects_invalid_checksums(site, tmp_path, checksum):
    with pytest.raises(InputError, match="a checksum must be sha256: or md5:"):
        download(site.item(checksum=checksum), tmp_path, retries=QUICK)
    assert site.requests == []


def test_checksums_ignore_case(site, tmp_path):
    assert download(site.item(checksum=SHA256.upper()), tmp_path, retries=QUICK).read_bytes() == BODY


def test_secrets_in_urls_are_neither_printed_nor_stored(site, tmp_path):
    site.faults = [drop, hang_up, hang_up]
    with pytest.raises(DownloadError) as caught:
        download(site.item("file.bin?token=secret"), tmp_path, retries=QUICK)
    assert "secret" not in str(caught.value)
    assert "secret" not in (tmp_path / "file.bin.part.json").read_text()
    assert caught.value.__cause__ is None


def test_shown_url_has_no_secrets():
    assert shown("https://a:b@example.org/x/y.tar?q#f") == "https://example.org/x/y.tar"
