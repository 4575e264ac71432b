"""A real browser for tests: Debian's Chromium, offline, with all other requests refused and recorded."""

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


def _after_load(act: Callable[..., Any], page_of: Callable[[Any], Page]) -> Callable[..., Any]:
    """Wrap an action so that it waits until the page's scripts have run and listen to events."""

    @wraps(act)
    def waiting(*arguments: Any, **options: Any) -> Any:
        page_of(arguments).wait_for_load_state("domcontentloaded")
        return act(*arguments, **options)

    return waiting


for _name in ("click", "press", "fill", "check", "select_option"):
    setattr(Locator, _name, _after_load(getattr(Locator, _name), lambda arguments: arguments[0].page))

CONTRASTS = """() => {
  const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = color => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([red, green, blue]) => 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
  const backgroundOf = element => {
    for (; element; element = element.parentElement) {
      const color = numbers(getComputedStyle(element).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const filtered = (svg, color) => {  // the color after the filter of the dark scheme; filter effects of CSS, part 1
    const parts = svg && getComputedStyle(svg).filter.match(/^invert\\(([\\d.]+)\\) hue-rotate\\(180deg\\)$/);
    if (!parts) return color;
    const [red, green, blue] = color.slice(0, 3).map(value => value + (255 - 2 * value) * parts[1]);
    const twice = 2 * (0.213 * red + 0.715 * green + 0.072 * blue);
    return [red, green, blue].map(value => Math.min(255, Math.max(0, twice - value)));
  };
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || ["SCRIPT", "STYLE", "OPTION"].includes(element.tagName) || !element.checkVisibility()) continue;
    if (element.closest(".role-mark")) continue;
    const style = getComputedStyle(element), svg = element.closest("svg");
    const front = luminance(filtered(svg, numbers(svg ? style.fill : style.color)));
    const back = luminance(backgroundOf(svg?.parentElement ?? element));
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    texts.push({text: text.slice(0, 40), ratio, needed: large ? 3 : 4.5});
  }
  return texts;
}"""
"""Every visible text with its contrast ratio and the ratio that WCAG AA requires."""


@dataclass
class Opened:
    """An open page, its console messages, and the requests to other sites."""

    page: Page
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Headless Chromium, or the full one; skips the test if neither is installed."""
    executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if executable is None:
        skip("there is no Chromium here (apt-get install chromium-headless-shell fonts-liberation)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def new_window(browser: Browser, **options: Any) -> BrowserContext:
    """A browser window with its own cookies and a long timeout."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * HANG_LIMIT)
    context.on("page", _patch_keyboard)
    return context


def _patch_keyboard(page: Page) -> None:
    keyboard: Any = page.keyboard
    for name in ("press", "type"):
        setattr(keyboard, name, _after_load(getattr(keyboard, name), lambda _: page))


@contextmanager
def opened(browser: Browser, path: Path, *, width: int, height: int = 800, script: bool = True) -> Iterator[Opened]:
    """Open a file in its own browser window."""
    context = new_window(browser, viewport={"width": width, "height": height}, offline=True, java_script_enabled=script)
    shown = Opened(context.new_page())

    def refuse_network(route: Route) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            shown.requests.append(route.request.url)
            route.abort()

    context.route("**/*", refuse_network)
    shown.page.on("console", lambda message: shown.console.append(message.text))
    shown.page.on("pageerror", lambda error: shown.console.append(str(error)))
    shown.page.on("dialog", lambda dialog: (shown.console.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    shown.page.goto(path.as_uri())
    yield shown
    context.close()
