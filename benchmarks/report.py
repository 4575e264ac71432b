"""The report on 67 models and four test sets: time to write it, and time until a browser shows it."""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from benchmarks.measure import command
from benchmarks.result import Result
from benchmarks.studies import DATA, pack_workspace

_ROUNDS = 2
_OPENED = 5
_SEEN = "() => performance.getEntriesByName('first-contentful-paint').length"
_PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
_LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"
_DRAWN = "document.querySelector('.chart[data-drawn]') ? performance.now() / 1000 : 0"


def run() -> Iterator[Result]:
    """Run the command twice; open the page several times, each time in a new browser."""
    if not DATA.is_dir():
        print(f"  skipped: the data pack is not at {DATA}")
        return
    regrade = Path(sys.executable).with_name("regrade")
    with tempfile.TemporaryDirectory() as folder:
        workspace = pack_workspace(regrade, Path(folder))
        before = _processor()
        rounds = [command([regrade, "report", "bench", "--force", "-w", workspace]) for _ in range(_ROUNDS)]
        worked = (_processor() - before) / _ROUNDS
        page = workspace / "reports" / "bench" / "index.html"
        yield Result("report", "67 models x 4 sets", "s", min(done.seconds for done in rounds), aim_most=20)
        yield Result("report", "67 models x 4 sets, processor", "s", worked)
        yield Result("report", "peak memory of its largest process", "GB", max(done.gigabytes for done in rounds))
        yield Result("report", "the page", "MB", page.stat().st_size / 1e6, aim_most=2)
        yield from _opening(page)


def _processor() -> float:
    """CPU seconds of all commands so far, including the processes that draw figures."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _opening(page: Path) -> Iterator[Result]:
    """Minimum seconds until first paint, until loaded, and until a figure is drawn."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("  not opened: chromium is not installed")
        return
    sync_playwright = import_module("playwright.sync_api").sync_playwright  # a development dependency
    seen: list[tuple[float, float, float]] = []
    with sync_playwright() as driver:
        for _ in range(_OPENED):
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            tab = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True).new_page()
            tab.goto(page.as_uri())
            tab.wait_for_function(_SEEN)
            painted, loaded = tab.evaluate(_PAINTED), tab.evaluate(_LOADED)
            tab.evaluate("document.querySelector('figure').scrollIntoView({behavior: 'instant'})")
            tab.wait_for_selector(".chart[data-drawn]")
            seen.append((painted, loaded, tab.evaluate(_DRAWN)))
            browser.close()
    painted, loaded, drawn = (min(column) for column in zip(*seen, strict=True))
    yield Result("report", "opened in Chromium, first paint", "s", painted, aim_most=1)
    yield Result("report", "opened in Chromium, loaded", "s", loaded, aim_most=1)
    yield Result("report", "opened in Chromium, a figure scrolled to and drawn", "s", drawn)
