"""The downloader against a server on this machine that serves well, drops, truncates, corrupts, and worse."""

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

from regrade.core import DownloadError, InputError, WriteError
from regrade.testsets.catalog import Download
from regrade.testsets.download import RetryPolicy, download, shown

module = importlib.import_module("regrade.testsets.download")  # the package may show the function under this name

BODY = random.Random(0).randbytes(1 << 20)
OTHER = BODY[::-1]
SHA256 = f"sha256:{hashlib.sha256(BODY).hexdigest()}"
MD5 = f"md5:{hashlib.md5(BODY).hexdigest()}"
HALF = len(BODY) // 2
QUICK = RetryPolicy(tries=3, first_wait=0.01, longest_wait=0.02, timeout=5)


@dataclass
class Site:
    """What the server serves, how it misbehaves on each request in turn, and what it was asked."""

    body: bytes = BODY
    tag: str = '"one"'
    changed: str = ""
    follows_ranges: bool = True
    faults: list = field(default_factory=list)
    asked: list[dict] = field(default_factory=list)
    address: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    def item(self, path="file.bin", **fields):
        return Download(f"{self.address}/{path}", **fields)

    @property
    def ranges(self):
        return [headers.get("Range") for headers in self.asked]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        site = self.server.site
        site.asked.append(dict(self.headers))
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
        """The heading of a proper answer; returns the bytes that should follow."""
        wanted = self.headers.get("Range")
        same = self.headers.get("If-Range") in (None, site.tag, site.changed)
        if not (wanted and same and site.follows_ranges):
            self.head(200, len(site.body))
            return site.body
        first = int(wanted.removeprefix("bytes=").rstrip("-"))
        if first >= len(site.body):
            self.head(416, 0, Content_Range=f"bytes */{len(site.body)}")
            return b""
        rest = site.body[first:]
        self.head(206, len(rest), Content_Range=f"bytes {first}-{len(site.body) - 1}/{len(site.body)}")
        return rest


def serve(handler, site):
    handler.wfile.write(handler.start(site))


def drop(handler, site):
    """Send half of what is left, then cut the connection."""
    rest = handler.start(site)
    handler.wfile.write(rest[: len(rest) // 2])


def stall(handler, site):
    """Send half of what is left, then nothing more."""
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
def test_a_file_arrives_whole_and_alone(site, tmp_path, fields):
    path = download(site.item(**fields), tmp_path / "new" / "folder", retries=QUICK)
    assert path == tmp_path / "new" / "folder" / "file.bin"
    assert path.read_bytes() == BODY
    assert left_in(path.parent) == ["file.bin"]
    assert site.ranges == [None]


def test_progress_runs_from_nothing_to_all(site, tmp_path):
    seen = []
    download(site.item(), tmp_path, progress=lambda *so_far: seen.append(so_far), retries=QUICK)
    assert seen[0] == (0, len(BODY)) and seen[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_an_error_of_the_progress_display_is_not_taken_for_the_connection_s(site, tmp_path):
    def broken(_done, _total):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        download(site.item(), tmp_path, progress=broken, retries=QUICK)
    assert len(site.asked) == 1


def test_an_empty_file_is_a_file(site, tmp_path):
    site.body = b""
    assert download(site.item(size=0), tmp_path, retries=QUICK).read_bytes() == b""
    assert left_in(tmp_path) == ["file.bin"]


@pytest.mark.parametrize("fields", [{"checksum": SHA256}, {"size": len(BODY)}, {}])
def test_a_file_that_is_there_is_not_fetched_again(site, tmp_path, fields):
    (tmp_path / "file.bin").write_bytes(BODY)
    assert download(site.item(**fields), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.asked == []


@pytest.mark.parametrize("fields", [{"checksum": SHA256}, {"size": len(BODY)}])
def test_a_file_that_is_there_but_not_right_is_replaced_once_the_right_one_is_here(site, tmp_path, fields):
    (tmp_path / "file.bin").write_bytes(b"short")
    site.faults = [status(404)]
    with pytest.raises(DownloadError):
        download(site.item(**fields), tmp_path, retries=QUICK)
    assert (tmp_path / "file.bin").read_bytes() == b"short"
    assert download(site.item(**fields), tmp_path, retries=QUICK).read_bytes() == BODY


@pytest.mark.parametrize("fields", [{"checksum": SHA256}, {"size": len(BODY)}, {}])
def test_a_dropped_connection_is_taken_up_where_it_broke(site, tmp_path, fields):
    site.faults = [drop, drop]
    assert download(site.item(**fields), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None, f"bytes={HALF}-", f"bytes={HALF + HALF // 2}-"]
    assert [headers.get("If-Range") for headers in site.asked] == [None, site.tag, site.tag]


def test_without_a_strong_tag_the_time_of_the_last_change_is_the_condition(site, tmp_path):
    site.tag, site.changed = 'W/"weak"', "Wed, 21 Oct 2015 07:28:00 GMT"
    site.faults = [drop]
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.asked[1]["If-Range"] == site.changed


def test_with_nothing_to_tell_the_file_by_only_a_checksum_allows_going_on(site, tmp_path):
    site.tag = ""
    site.faults = [drop, serve]
    download(site.item(checksum=SHA256), tmp_path / "checked", retries=QUICK)
    assert site.ranges == [None, f"bytes={HALF}-"]
    site.faults, site.asked = [drop], []
    with pytest.raises(DownloadError):
        download(site.item(), tmp_path, retries=RetryPolicy(tries=1))
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None, None]


def test_patience_ends_and_what_came_is_kept_for_the_next_call(site, tmp_path):
    site.faults = [drop, hang_up, hang_up]
    with pytest.raises(DownloadError, match=rf"\(3 tries\); {HALF:,} bytes are kept: run the command again"):
        download(site.item(checksum=SHA256), tmp_path, retries=QUICK)
    assert left_in(tmp_path) == ["file.bin.part", "file.bin.part.json"]
    site.asked.clear()
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [f"bytes={HALF}-"]
    assert left_in(tmp_path) == ["file.bin"]


def test_truncation_without_a_break_is_seen_by_the_length(site, tmp_path):
    site.faults = [lambda handler, site: handler.wfile.write(handler.start(site)[:100])] * 3
    with pytest.raises(DownloadError, match=r"lost after 300 of 1,048,576 bytes"):
        download(site.item(), tmp_path, retries=QUICK)


def test_corrupted_bytes_are_removed_and_told(site, tmp_path):
    site.faults = [corrupt]
    with pytest.raises(DownloadError, match=r"file\.bin is not the expected file: its sha256 is [0-9a-f]{64}"):
        download(site.item(checksum=SHA256), tmp_path, retries=QUICK)
    assert left_in(tmp_path) == []
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY


def test_bytes_that_rot_in_the_part_are_found_when_it_is_resumed(site, tmp_path):
    site.faults = [drop]
    with pytest.raises(DownloadError):
        download(site.item(checksum=SHA256), tmp_path, retries=RetryPolicy(tries=1))
    with (tmp_path / "file.bin.part").open("r+b") as part:
        part.write(b"rot")
    with pytest.raises(DownloadError, match="not the expected file"):
        download(site.item(checksum=SHA256), tmp_path, retries=QUICK)
    assert left_in(tmp_path) == []


def test_a_server_that_ignores_ranges_starts_us_afresh(site, tmp_path):
    site.follows_ranges = False
    site.faults = [drop]
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None, f"bytes={HALF}-"]


@pytest.mark.parametrize("fields", [{}, {"checksum": f"sha256:{hashlib.sha256(OTHER).hexdigest()}"}])
def test_a_file_that_changes_between_tries_is_never_mixed(site, tmp_path, fields):
    site.faults = [drop, change_then(serve)]
    assert download(site.item(**fields), tmp_path, retries=QUICK).read_bytes() == OTHER


def test_a_changed_file_is_seen_even_if_the_server_ignores_the_condition(site, tmp_path):
    def careless(handler, site):
        del handler.headers["If-Range"]
        serve(handler, site)

    site.faults = [drop, change_then(careless)]
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == OTHER
    assert site.ranges == [None, f"bytes={HALF}-", None]


def test_another_piece_than_asked_for_is_not_appended(site, tmp_path):
    def wrong_piece(handler, site):
        handler.head(206, 10, Content_Range=f"bytes 0-9/{len(BODY)}")
        handler.wfile.write(site.body[:10])

    site.faults = [drop, wrong_piece]
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY


@pytest.mark.parametrize(
    ("total", "ranges"),
    [(len(BODY), []), (None, [f"bytes={len(BODY)}-"])],  # the latter is answered with 416 and the length
)
def test_a_part_that_was_whole_already_only_needs_its_name(site, tmp_path, total, ranges):
    (tmp_path / "file.bin.part").write_bytes(BODY)
    (tmp_path / "file.bin.part.json").write_text(notes_of(site, total))
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == ranges
    assert left_in(tmp_path) == ["file.bin"]


def test_a_part_that_is_longer_than_the_file_is_given_up(site, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(BODY + b"more")
    (tmp_path / "file.bin.part.json").write_text(notes_of(site, None))
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [f"bytes={len(BODY) + 4}-", None]


@pytest.mark.parametrize(
    "notes", ["", "{", "[]", '{"address": "of another file", "validator": "\\"one\\"", "total": 9}']
)
def test_a_part_of_unknown_origin_is_not_built_upon(site, tmp_path, notes):
    (tmp_path / "file.bin.part").write_bytes(OTHER[:100])
    (tmp_path / "file.bin.part.json").write_text(notes)
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None]


@pytest.mark.parametrize("code", [500, 503, 429])
def test_a_passing_trouble_of_the_server_is_waited_out(site, tmp_path, code):
    site.faults = [status(code)] * 2
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    site.faults = [status(code)] * 3
    with pytest.raises(DownloadError, match=rf"the server responded {code} .*\(3 tries\)"):
        download(site.item("other.bin"), tmp_path, retries=QUICK)


@pytest.mark.parametrize(("code", "words"), [(404, "404 Not Found"), (403, "403 Forbidden"), (410, "410 Gone")])
def test_a_refusal_of_the_server_is_final(site, tmp_path, code, words):
    site.faults = [status(code)]
    with pytest.raises(DownloadError, match=rf"cannot download http://127.*/file\.bin: the server responded {words}$"):
        download(site.item(), tmp_path, retries=QUICK)
    assert len(site.asked) == 1
    assert left_in(tmp_path) == []


def test_an_answer_without_a_file_is_told(site, tmp_path):
    site.faults = [status(204)]
    with pytest.raises(DownloadError, match="responded 204"):
        download(site.item(), tmp_path, retries=QUICK)


def test_a_range_refused_at_the_very_start_is_final(site, tmp_path):
    site.faults = [status(416)]
    with pytest.raises(DownloadError, match="416"):
        download(site.item(), tmp_path, retries=QUICK)


def test_redirects_are_followed_and_the_name_stays(site, tmp_path):
    site.faults = [send_to("/elsewhere/blob-123"), drop, send_to("/elsewhere/blob-123")]
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK) == tmp_path / "file.bin"
    assert site.ranges == [None, None, f"bytes={HALF}-", f"bytes={HALF}-"]


def test_redirects_in_a_circle_end(site, tmp_path):
    site.faults = [send_to("/file.bin")] * 50
    with pytest.raises(DownloadError, match="302"):
        download(site.item(), tmp_path, retries=QUICK)
    assert len(site.asked) < 15


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://example.org/x", "http://me:secret@127.0.0.1/x"])
def test_redirects_stay_on_the_web(site, tmp_path, target):
    site.faults = [send_to(target)]
    with pytest.raises(DownloadError) as caught:
        download(site.item(), tmp_path, retries=QUICK)
    assert "secret" not in str(caught.value)
    assert left_in(tmp_path) == []


def test_a_redirect_does_not_leave_https():
    request = module.Request("https://example.org/a?token=secret")
    with pytest.raises(DownloadError, match=r"https://example\.org/a redirects from https to http"):
        module._Redirects().redirect_request(
            request, io.BytesIO(), 302, "Found", {}, "http://example.org/a?token=secret"
        )


@pytest.mark.parametrize("fault", [hang, stall])
def test_a_server_that_falls_silent_is_not_waited_for_longer_than_said(site, tmp_path, fault):
    site.faults = [fault] * 2
    retries = RetryPolicy(tries=2, first_wait=0.01, timeout=0.2)
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"did not respond in time \(2 tries\)"):
        download(site.item(), tmp_path, retries=retries)
    assert time.monotonic() - start < 5


def test_a_silence_in_the_middle_is_survived(site, tmp_path):
    site.faults = [stall]
    retries = RetryPolicy(tries=2, first_wait=0.01, timeout=0.3)
    assert download(site.item(), tmp_path, retries=retries).read_bytes() == BODY
    assert site.ranges == [None, f"bytes={HALF}-"]


def test_no_server_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(DownloadError, match=r"the connection was refused \(2 tries\)"):
        download(Download("http://127.0.0.1:1/file.bin"), tmp_path, retries=RetryPolicy(tries=2, first_wait=0.01))
    assert left_in(tmp_path) == []


def test_a_chunked_answer_is_whole_only_with_its_last_chunk(site, tmp_path):
    site.faults = [chunked([BODY[:HALF]], ends=False), chunked([BODY[:HALF], BODY[HALF:]], ends=True)]
    site.follows_ranges = False
    assert download(site.item(), tmp_path, retries=QUICK).read_bytes() == BODY
    assert len(site.asked) == 2


def test_an_answer_of_unknown_length_must_be_verifiable(site, tmp_path):
    site.faults = [without_length(BODY)]
    with pytest.raises(DownloadError, match="does not report the size"):
        download(site.item(), tmp_path, retries=QUICK)
    assert left_in(tmp_path) == []
    site.faults = [without_length(BODY)]
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY


def test_an_endless_answer_is_cut_at_the_size_expected(site, tmp_path):
    site.faults = [without_length(BODY * 40)]
    seen = []
    with pytest.raises(DownloadError, match="not the expected file: it has"):
        download(site.item(size=100), tmp_path, progress=lambda done, _: seen.append(done), retries=QUICK)
    assert max(seen) <= 100 + module._CHUNK
    assert left_in(tmp_path) == []


def test_another_size_than_expected_is_told_before_anything_is_fetched(site, tmp_path):
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


def test_a_kill_in_the_middle_costs_only_what_was_under_way(site, tmp_path):
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


def test_two_at_once_do_not_write_into_each_other(site, tmp_path):
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


def test_a_disk_that_takes_no_more_is_one_line_and_the_download_goes_on_later(site, tmp_path):
    with files_no_longer_than(HALF), pytest.raises(WriteError, match=r"file\.bin\.part: the file is larger than"):
        download(site.item(checksum=SHA256), tmp_path, retries=QUICK)
    assert len(site.asked) == 1
    assert download(site.item(checksum=SHA256), tmp_path, retries=QUICK).read_bytes() == BODY
    assert site.ranges == [None, f"bytes={HALF}-"]


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "the disk is read-only")]
)
def test_refusals_of_the_disk_are_told_in_words(site, tmp_path, monkeypatch, number, words):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module.os, "fsync", refuse)
    with pytest.raises(WriteError, match=rf"cannot write to .*file\.bin: {words}; run the command again"):
        download(site.item(), tmp_path, retries=QUICK)


def test_a_folder_that_cannot_be_made(site, tmp_path):
    (tmp_path / "in the way").touch()
    with pytest.raises(WriteError, match="cannot write to"):
        download(site.item(), tmp_path / "in the way" / "folder", retries=QUICK)
    assert site.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/file", "file:///etc/passwd", "/etc/passwd", "https:///file", "https://example.org/",
        "https://example.org", "https://example.org/..", "https://example.org/%2e%2e", "https://example.org/a b",
        "https://example.org/a%5Cb", "https://example.org/a%00b", "https://example.org:99999/a", "https://[::1/a",
        "https://example.org/naïve", "https://me:secret@example.org/a?token=secret",
    ],
)  # fmt: skip
def test_addresses_that_are_not_fetched(tmp_path, url):
    with pytest.raises(InputError) as caught:
        download(Download(url), tmp_path, retries=QUICK)
    assert "secret" not in str(caught.value) and "\n" not in str(caught.value)
    assert left_in(tmp_path) == []


def test_a_name_with_escaped_slashes_stays_in_the_folder(site, tmp_path):
    assert download(site.item("a%2F..%2F..%2Fb.bin"), tmp_path, retries=QUICK) == tmp_path / "b.bin"


@pytest.mark.parametrize("checksum", ["sha1:" + "0" * 40, "sha256:", "sha256:xyz", "md5:" + "0" * 31, "0" * 64, "md5"])
def test_a_checksum_must_be_one(site, tmp_path, checksum):
    with pytest.raises(InputError, match="a checksum must be sha256: or md5:"):
        download(site.item(checksum=checksum), tmp_path, retries=QUICK)
    assert site.asked == []


def test_a_checksum_in_capitals_is_the_same(site, tmp_path):
    assert download(site.item(checksum=SHA256.upper()), tmp_path, retries=QUICK).read_bytes() == BODY


def test_secrets_of_the_address_are_neither_told_nor_stored(site, tmp_path):
    site.faults = [drop, hang_up, hang_up]
    with pytest.raises(DownloadError) as caught:
        download(site.item("file.bin?token=secret"), tmp_path, retries=QUICK)
    assert "secret" not in str(caught.value)
    assert "secret" not in (tmp_path / "file.bin.part.json").read_text()
    assert caught.value.__cause__ is None


def test_an_address_for_people():
    assert shown("https://a:b@example.org/x/y.tar?q#f") == "https://example.org/x/y.tar"
