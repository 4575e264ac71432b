"""Take the screenshots of docs/tutorials/reviewer.md: the browser app on a workspace of the demo, in Chromium.

    python scripts/app_screenshots.py --workspace regrade-demo

The workspace must be a fresh one: the script answers nothing, but signs in.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import PIL.Image
from playwright.sync_api import sync_playwright

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures" / "tutorial"
SIZE = {"width": 1000, "height": 640}


def main() -> int:
    """Serve the workspace, open its pages, and save what they look like."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspace", type=Path, required=True, help="the workspace of a fresh run of regrade demo")
    command = [sys.executable, "-m", "regrade", "serve", "--port", "8799", "-w", str(parser.parse_args().workspace)]
    environment = os.environ | {"LOGNAME": "Rita"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        take(sign_in_link(server))
    finally:
        server.terminate()
        server.wait()
    return 0


def sign_in_link(server: subprocess.Popen[str]) -> str:
    """The link that the server prints."""
    assert server.stdout is not None
    for line in server.stdout:
        if matched := re.search(r"http://\S+", line):
            return matched[0]
    raise SystemExit("regrade serve has printed no link")


def take(link: str) -> None:
    """Open the home page and the first item, and save both."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium-headless-shell"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.goto(link)
        page.wait_for_load_state("networkidle")
        save(page.screenshot(), "home")
        page.locator("a:has-text('Begin'), button:has-text('Begin')").first.click()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)
        save(page.screenshot(), "judge")
        browser.close()


def save(screenshot: bytes, name: str) -> None:
    """Save a screenshot as a small WebP."""
    PIL.Image.open(io.BytesIO(screenshot)).convert("RGB").save(FIGURES / f"{name}.webp", quality=80, method=6)


if __name__ == "__main__":
    sys.exit(main())
