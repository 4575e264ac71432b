"""Every kind of figure in Chromium: nothing cut or touching, readable on a phone, with contrast in light and dark."""

import re
import sys
from pathlib import Path
from unittest import mock

import pytest
from browser import opened
from every_figure import every_figure

import regrade
from regrade.display.figure import VEGA_LITE, Figure, converter, page, without_title
from regrade.display.style import COLORS, GRAY, INK, PALE

PHONE, WIDE = 328, 900  # pixels: the room for a figure on a phone with 360, and on a screen
PALETTE = [color[1:] for color in (INK, GRAY, PALE, *COLORS)]
AUDIT = """async ([spec, room, scheme, palette]) => {
  const target = document.getElementById("chart");
  target.style.width = room + "px";
  const view = await drawFitted(target, spec, room);
  hideTouching(target);
  const svg = target.querySelector("svg"), frame = svg.getBoundingClientRect();
  const scale = frame.width / svg.width.baseVal.value;
  const numbers = color => color.match(/[\\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
  const seen = color => {
    const inverted = color.map(value => value + (255 - 2 * value) * 0.93);
    const twice = 2 * (0.213 * inverted[0] + 0.715 * inverted[1] + 0.072 * inverted[2]);
    return inverted.map(value => Math.min(255, Math.max(0, twice - value)));
  };
  const page = [20, 23, 27];  // which figures are blended with: the lighter of both is shown
  const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const luminance = color => color.map(channel).reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const shown = color => scheme === "light" ? color : seen(color).map((value, at) => Math.max(value, page[at]));
  const contrast = (first, second) => {
    const [low, high] = [luminance(shown(first)), luminance(shown(second))].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const over = (color, opacity, back) => back.map((value, at) => color[at] * opacity + value * (1 - opacity));
  const painted = (element, name) => {
    const style = getComputedStyle(element), color = numbers(style[name]);
    const opacity = style[name] === "none" ? 0 : (color[3] ?? 1) * style.opacity * style[name + "Opacity"];
    return {color: color.slice(0, 3), opacity};
  };
  const white = [255, 255, 255], texts = [];
  for (const text of svg.querySelectorAll("text")) {
    if (!text.textContent.trim() || !text.checkVisibility() || !painted(text, "fill").opacity) continue;
    if (text.getAttribute("stroke")) continue;  // it is the outline of another text
    const outline = painted(text, "stroke"), below = getComputedStyle(text).paintOrder.startsWith("stroke");
    const box = text.getBoundingClientRect(), turned = text.getCTM().b !== 0;
    let back = white;
    for (const element of document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2).reverse()) {
      if (!element.closest("svg") || element.closest("text") === text) continue;
      if (element.closest("text")) back = painted(element.closest("text"), "stroke").opacity ? white : back;
      else if (element.closest(".role-mark, .background")) {
        const fill = painted(element, "fill");
        back = over(fill.color, fill.opacity, back);
      }
    }
    const fill = outline.opacity && !below ? outline : painted(text, "fill");
    if (outline.opacity && below) back = outline.color;
    texts.push({name: text.textContent, box, turned, size: parseFloat(getComputedStyle(text).fontSize) * scale,
      ratio: contrast(over(fill.color, fill.opacity, back), back)});
  }
  const cut = texts.filter(({box}) => box.left < frame.left - 1 || box.right > frame.right + 1
    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
  const straight = texts.filter(text => !text.turned), touching = [];
  straight.forEach(({name, box}, at) => straight.slice(at + 1).forEach(next => {
    const across = Math.min(box.right, next.box.right) - Math.max(box.left, next.box.left);
    const down = Math.min(box.bottom, next.box.bottom) - Math.max(box.top, next.box.top);
    const outlines = name === next.name && Math.abs(box.left - next.box.left) < 3;  // an outline and its text
    if (across > 2 && down > 4 && !outlines) touching.push(`${name} | ${next.name}`);
  }));
  const pale = new Set();
  for (const mark of svg.querySelectorAll(".role-mark > *")) {
    if (!mark.parentNode.matches(".mark-symbol, .mark-rule, .mark-line, .mark-rect")) continue;
    const paints = ["fill", "stroke"].map(name => painted(mark, name)).filter(({color, opacity}) =>
      opacity > 0.5 && palette.includes(color.map(value => value.toString(16).padStart(2, "0")).join("")));
    const best = Math.max(...paints.map(({color, opacity}) => contrast(over(color, opacity, white), white)));
    if (paints.length && best < 3) pale.add(`${mark.parentNode.getAttribute("class")} ${best}`);
  }
  view.finalize();
  return {
    scale, overflow: target.scrollWidth - target.clientWidth, smallest: Math.min(...texts.map(text => text.size)),
    cut: cut.map(text => text.name), touching, pale: [...pale],
    unreadable: texts.filter(text => text.ratio < 4.5).map(text => `${text.name}: ${text.ratio.toFixed(1)}`),
  };
}"""


@pytest.fixture(scope="module")
def figures(written, tmp_path_factory):
    return every_figure(written, tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="module")
def chart_page(browser, figures, tmp_path_factory):
    """A page that can draw any figure, as the pages of the package do."""
    file = tmp_path_factory.mktemp("chart") / "page.html"
    first = next(iter(figures.values()))
    file.write_text(page(first.spec, scripts=converter().javascript_bundle(vl_version=VEGA_LITE)))
    with opened(browser, file, width=1000, height=6000) as opened_page:
        opened_page.page.add_style_tag(content="svg * { pointer-events: all !important; }")
        opened_page.page.locator("#chart svg").wait_for()
        yield opened_page.page


def test_every_module_that_draws_is_covered(written, tmp_path):
    drew = set()

    def noted(*arguments, **options):
        drew.add(Path(sys._getframe(1).f_code.co_filename))
        return original(*arguments, **options)

    original = Figure.__init__
    with mock.patch.object(Figure, "__init__", noted):
        every_figure(written, tmp_path)
    source = Path(regrade.__file__).parent
    modules = {path for path in source.rglob("*.py") if re.search(r"return Figure\(", path.read_text())}
    assert len(modules) > 20
    assert modules - drew == set()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("room", [PHONE, WIDE])
def test_every_figure_is_readable(figures, chart_page, room, scheme):
    defects = {}
    chart_page.emulate_media(color_scheme=scheme)
    for name, figure in figures.items():
        audit = chart_page.evaluate(AUDIT, [without_title(figure.spec), room, scheme, PALETTE])
        assert audit["overflow"] <= 0, name
        if audit["smallest"] < 8 or audit["scale"] < (0.7 if room == PHONE else 1):
            defects[name, "small"] = audit["smallest"], audit["scale"]
        defects |= {
            (name, defect): audit[defect] for defect in ("cut", "touching", "pale", "unreadable") if audit[defect]
        }
    assert defects == {}
