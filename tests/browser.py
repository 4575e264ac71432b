"""A real browser for pages: Debian's Chromium, with the network off and everything else refused and noted."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect, sync_playwright
from running import HANG_LIMIT
from skipping import skip

expect.set_options(timeout=1000 * HANG_LIMIT)


def _once_wired(act: Callable[..., Any], page_of: Callable[[Any], Page]) -> Callable[..., Any]:
    """An act of a user that waits until the page's scripts have run: what comes before has no one who listens."""

    @wraps(act)
    def patient(*arguments: Any, **options: Any) -> Any:
        page_of(arguments).wait_for_load_state("domcontentloaded")
        return act(*arguments, **options)

    return patient


for _name in ("click", "press", "fill", "check", "select_option"):
    setattr(Locator, _name, _once_wired(getattr(Locator, _name), lambda arguments: arguments[0].page))

CONTRASTS = """() => {
  const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = color => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([red, green, blue]) => 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = numbers(getComputedStyle(element).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || ["SCRIPT", "STYLE", "OPTION"].includes(element.tagName) || !element.checkVisibility()) continue;
    if (element.closest(".role-mark")) continue;
    const style = getComputedStyle(element), svg = element.closest("svg");
    const [one, other] = [luminance(numbers(svg ? style.fill : style.color)), luminance(behind(svg || element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    found.push({text: text.slice(0, 40), ratio, needed: large ? 3 : 4.5});
  }
  return found;
}"""
"""Every text that is seen, with its contrast and what WCAG AA asks for."""


@dataclass
class Opened:
    """A page that is open, what its console said, and what it asked of others."""

    page: Page
    console: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser without a window, which opens pages for less, or the full one; where there is neither: skipped."""
    executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if executable is None:
        skip("there is no Chromium here (apt-get install chromium-headless-shell fonts-liberation)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def new_window(browser: Browser, **options: Any) -> BrowserContext:
    """A window with cookies of its own, in which nothing fails because the machine is slow."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * HANG_LIMIT)
    context.on("page", _type_once_wired)
    return context


def _type_once_wired(page: Page) -> None:
    keyboard: Any = page.keyboard
    for name in ("press", "type"):
        setattr(keyboard, name, _once_wired(getattr(keyboard, name), lambda _: page))


@contextmanager
def opened(browser: Browser, path: Path, *, width: int, height: int = 800, script: bool = True) -> Iterator[Opened]:
    """A page from a file, in a window of its own."""
    context = new_window(browser, viewport={"width": width, "height": height}, offline=True, java_script_enabled=script)
    shown = Opened(context.new_page())

    def watch(route: Route) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            shown.asked.append(route.request.url)
            route.abort()

    context.route("**/*", watch)
    shown.page.on("console", lambda message: shown.console.append(message.text))
    shown.page.on("pageerror", lambda error: shown.console.append(str(error)))
    shown.page.on("dialog", lambda dialog: (shown.console.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    shown.page.goto(path.as_uri())
    yield shown
    context.close()
