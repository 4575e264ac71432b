"""Candidate images for the tests of pools: different ones, copies and near duplicates, in files and on a server."""

import contextlib
import http.server
import io
import threading
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from PIL import Image


def texture(seed: int, side: int = 64) -> Image.Image:
    """A random texture; two of different seeds are not similar by any distance."""
    pixels = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, form: str = "PNG", **options) -> bytes:
    """The file of an image."""
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def png(seed: int) -> bytes:
    """A texture as PNG."""
    return encoded(texture(seed))


def near_duplicate(seed: int) -> bytes:
    """The same texture as a JPEG, and somewhat smaller."""
    return encoded(texture(seed).resize((56, 56)), "JPEG", quality=80)


HTML = b"<!DOCTYPE html>\n<html><body>This photo is no longer available</body></html>"


@dataclass
class ImageServer:
    """Serves ``files`` by path; ``failures`` are the numbers of requests that are first refused with 503."""

    files: dict[str, bytes] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    requests: list[str] = field(default_factory=list)
    address: str = ""

    def url(self, name: str) -> str:
        """The URL of a file."""
        return f"{self.address}/{name}"


class _Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        site: ImageServer = self.server.site
        name = self.path.lstrip("/")
        site.requests.append(name)
        if site.failures[name]:
            site.failures[name] -= 1
            self.send_error(503)
        elif name not in site.files:
            self.send_error(404)
        else:
            body = site.files[name]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


@contextlib.contextmanager
def image_server():
    """A server on this machine, until the end of the block."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.site = ImageServer(address=f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
