"""The page of a report: one offline HTML file, for screen, phone and print."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby

from regrade.core.amounts import amount
from regrade.display.figure import Figure, asset, heading_of, without_title
from regrade.display.finding import Finding
from regrade.display.style import color_schemes
from regrade.reports.drawing import DrawnFigure
from regrade.reports.report_table import packed, packed_text, script_hash, table_html
from regrade.reports.sections import Gallery, GalleryTile, KeyFinding, Report, Section
from regrade.studies import Methodology

_PACKAGE = "regrade.reports"  # has the style and the script of the page
_FIRST_FINDINGS = 2  # findings of a section that are shown first
_FIRST_TILES = 10  # images of a gallery that are shown first
_SMALL = 64  # images with fewer pixels per side are scaled without smoothing
_ARIA = re.compile(r' (?:aria-[a-z]+|role)="[^"]*"')
_OPEN, _PROVENANCE = "Open questions", "Provenance"
_escaped = html.escape


def report_page(report: Report, drawn: Callable[[Figure], DrawnFigure], *, scripts: str) -> str:
    """The whole page, from a report, its drawn figures and the scripts that make them interactive."""
    own = asset("fitting.js") + asset("report.js", _PACKAGE)
    names = frozenset(report.names)
    chapters = "".join(_chapter(question, parts, drawn, names) for question, parts in _grouped(report))
    options = "".join(f'<option value="{_escaped(name)}"></option>' for name in sorted(names, key=str.lower))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(own, scripts)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" '
        f'content="light dark">\n<title>{_escaped(report.title)}</title>\n<style>{_style()}</style>\n</head>\n<body>\n'
        '<a class="skip" href="#findings">Skip to the findings</a>\n'
        f"<header>\n<h1>{_escaped(report.title)}</h1>\n<p>{_escaped(report.subtitle)}</p>\n</header>\n"
        f'<div class="layout">\n{_contents(report)}<main>\n{_finder(options)}{_key_findings(report)}{chapters}'
        f"{_open(report)}{_provenance(report, names)}</main>\n</div>\n"
        f'<script type="text/plain" id="vega">{packed_text(scripts)}</script>\n'
        f'<script type="text/plain" id="names">{packed(sorted(names))}</script>\n'
        f"<script>{own}</script>\n</body>\n</html>\n"
    )


def _policy(own: str, scripts: str) -> str:
    """The Content-Security-Policy: only these scripts may run, and no requests are allowed."""
    allowed = " ".join(script_hash(script) for script in (own, scripts) if script)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _style() -> str:
    return f"{color_schemes()}{asset('report.css', _PACKAGE)}{asset('tooltip.css')}"


def _grouped(report: Report) -> Iterator[tuple[str, list[Section]]]:
    """The questions in their order, each with its sections, that with the most important finding first."""
    for question, sections in groupby(report.sections, key=lambda section: section.question):
        parts = list(sections)
        leading = max(parts, key=lambda section: _importance(section, report.hard))
        yield question, [leading, *(section for section in parts if section is not leading)]


def _importance(section: Section, hard: Collection[str]) -> float:
    """The highest weight of a finding; sections about sets that were chosen because they are hard come last."""
    return -1.0 if section.about in hard else max((finding.weight for finding in section.findings), default=0.0)


def _contents(report: Report) -> str:
    lines = []
    for question, sections in _grouped(report):
        below = "".join(f'<li><a href="#{s.anchor}">{_escaped(s.about)}</a></li>' for s in sections if s.about)
        inner = f"<ul>{below}</ul>" if len(sections) > 1 else ""
        lines.append(f'<li><a href="#{_chapter_anchor(sections)}">{_escaped(question)}</a>{inner}</li>')
    last = f'<li><a href="#open">{_OPEN}</a></li>' if report.open_questions else ""
    return (
        '<nav class="contents" aria-label="Contents">\n<h2>Contents</h2>\n<ol>'
        f'<li><a href="#findings">Key findings</a></li>{"".join(lines)}{last}'
        f'<li><a href="#behind">{_PROVENANCE}</a></li></ol>\n</nav>\n'
    )


def _chapter_anchor(sections: list[Section]) -> str:
    return f"about-{sections[0].anchor}"


def _finder(options: str) -> str:
    return (
        '<div class="finder" role="search"><label for="finder">Find a model</label>'
        '<input id="finder" type="search" list="names-list" autocomplete="off" spellcheck="false" '
        'placeholder="type a name, or click one"><button type="button" id="clear" hidden>Show all</button>'
        f'<output id="found" aria-live="polite"></output><datalist id="names-list">{options}</datalist></div>\n'
    )


def _key_findings(report: Report) -> str:
    items = "".join(_key_finding(key_finding) for key_finding in report.key_findings)
    body = f"<ol>{items}</ol>" if items else "<p>There are no findings yet: add models or test sets.</p>"
    level = report.provenance.settings.get("confidence", "")
    note = f'<p class="note">Ranges in brackets are {_escaped(level)} intervals.</p>' if level and items else ""
    notes = "".join(f'<p class="note">{_escaped(line)}</p>' for line in report.notes)
    return f'<section id="findings"><h2>Key findings</h2>{notes}{body}{_checks_line(report)}{note}</section>\n'


def _checks_line(report: Report) -> str:
    """How many methodology checks found something, with a link to all of them."""
    checked = [(section, section.result) for section in report.sections if isinstance(section.result, Methodology)]
    lines = (
        f'<p class="note">{len(result.found)} of {amount(len(result), "methodology check")} found a pitfall'
        f'{": " + ", ".join(result.found) if result.found else ""}. <a href="#{section.anchor}">See the checks</a></p>'
        for section, result in checked
    )
    return "".join(lines)


def _key_finding(key_finding: KeyFinding) -> str:
    finding, section = key_finding.finding, key_finding.section
    return (
        f"<li><h3>{_escaped(finding.headline)}</h3><p>{_escaped(finding.text)} "
        f'<a href="#{section.anchor}">See&nbsp;the&nbsp;evidence<span class="hidden"> for: '
        f"{_escaped(section.title)}</span></a></p></li>"
    )


def _chapter(
    question: str, sections: list[Section], drawn: Callable[[Figure], DrawnFigure], names: Collection[str]
) -> str:
    """A question: the answer for the first of its sections; the others are folded, below their main finding."""
    first, *further = sections
    about = f"<h3>{_escaped(first.about)}</h3>\n" if first.about else ""
    shown = f'<section class="part" id="{first.anchor}">{about}{_content(first, drawn, names)}</section>\n'
    folded = "".join(_folded_section(section, _content(section, drawn, names)) for section in further)
    anchor = _chapter_anchor(sections)
    return f'<section class="chapter" id="{anchor}"><h2>{_escaped(question)}</h2>\n{shown}{folded}</section>\n'


def _folded_section(section: Section, content: str) -> str:
    """A section that is opened by a click, by a link to it, by a search in the page, and by printing."""
    headline = f"<span>{_escaped(section.findings[0].headline)}</span>" if section.findings else ""
    return (
        f'<details class="fold"><summary><h3>{_escaped(section.about)}</h3>{headline}</summary>\n'
        f'<section class="part" id="{section.anchor}">{content}</section></details>\n'
    )


def _content(section: Section, drawn: Callable[[Figure], DrawnFigure], names: Collection[str]) -> str:
    """The findings and the first figure, gallery or table of a section; the rest is folded."""
    level = 4 if section.about else 3
    figures = [
        _figure(figure, drawn(figure), file_anchor(section, number), level)
        for number, figure in enumerate(section.figures)
    ]
    tables = [
        table_html(table, anchor=file_anchor(section, number), names=names, level=level)
        for number, table in enumerate(section.tables)
    ]
    gallery = [_gallery(section.gallery, level)] if section.gallery else []
    trouble = f'<p class="trouble">{_escaped(section.trouble)}</p>\n' if section.trouble else ""
    first, *rest = [*figures, *gallery, *tables] or [""]
    further = "".join([_bullets(section.findings[_FIRST_FINDINGS:]), *rest, _methods(section)])
    details = _folded(_details_title(section), further) if further else ""
    return f"{trouble}{_bullets(section.findings[:_FIRST_FINDINGS])}{first}{details}"


def _bullets(findings: Sequence[Finding]) -> str:
    return f'<ul class="bullets">{"".join(map(_finding, findings))}</ul>\n' if findings else ""


def _details_title(section: Section) -> str:
    """What the folded part of a section has, such as "1 more finding, 2 tables and notes"."""
    findings = len(section.findings) - _FIRST_FINDINGS
    figures = max(len(section.figures) - 1, 0)
    tables = len(section.tables) - (not section.figures and section.gallery is None)
    parts = [amount(findings, "more finding")] if findings > 0 else []
    parts += [amount(tables, "table")] if tables > 0 else []
    parts += [amount(figures, "more figure")] if figures else []
    parts += ["notes"] if _notes(section) else []
    title = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return title[:1].upper() + title[1:]


def _folded(title: str, content: str) -> str:
    return f'<details class="fold"><summary>{_escaped(title)}</summary>\n{content}</details>\n'


def _finding(finding: Finding) -> str:
    test = f'<span class="note">Test: {_escaped(finding.kind.test)}</span>' if finding.kind.test else ""
    return f"<li><strong>{_escaped(finding.headline)}.</strong> {_escaped(finding.text)} {test}</li>"


def file_anchor(section: Section, number: int) -> str:
    """The file name of a section's figure or table, by its number; the double dash occurs in no section's anchor."""
    return section.anchor if number == 0 else f"{section.anchor}--{number + 1}"


def _notes(section: Section) -> list[str]:
    notes = [note.strip() for table in section.tables for note in table.notes]
    return list(dict.fromkeys([*notes, *(section.gallery.notes if section.gallery else ())]))


def _methods(section: Section) -> str:
    lines = "".join(f"<li>{_escaped(note)}</li>" for note in _notes(section))
    return f'<ul class="methods">{lines}</ul>\n' if lines else ""


def _figure(figure: Figure, drawn: DrawnFigure, anchor: str, level: int) -> str:
    title, subtitle = heading_of(figure.spec)
    files = ", ".join(f'<a href="figures/{anchor}.{ending}">{ending.upper()}</a>' for ending in ("svg", "png", "pdf"))
    return (
        f'<figure id="figure-{anchor}">\n<figcaption><h{level}>{_escaped(title)}</h{level}><p>{_escaped(subtitle)}</p>'
        f'</figcaption>\n<div class="chart" role="img" aria-label="{_escaped(figure.alt)}">'
        f'<div class="still">{_still(drawn, anchor)}</div></div>\n<p class="more"><span class="files">Figure as {files}'
        f'</span></p>\n<script type="text/plain" class="data">{packed(without_title(figure.spec))}</script>\n'
        "</figure>\n"
    )


def _still(drawn: DrawnFigure, anchor: str) -> str:
    """The static figure: shown before or without scripts, and in print."""
    if drawn.page_png:
        return f'<img alt="" src="data:image/png;base64,{base64.b64encode(drawn.page_png).decode()}">'
    plain = _ARIA.sub("", drawn.page_svg)
    return re.sub(r'(id="|url\(#|href="#)', lambda match: f"{match[1]}{anchor}-", plain)


def _gallery(gallery: Gallery, level: int) -> str:
    tiles = [_tile(tile) for tile in gallery.tiles]
    first, rest = "".join(tiles[:_FIRST_TILES]), "".join(tiles[_FIRST_TILES:])
    further = _folded(f"{len(tiles) - _FIRST_TILES} more images", f"<ul>{rest}</ul>") if rest else ""
    return f'<div class="gallery"><h{level}>{_escaped(gallery.title)}</h{level}><ul>{first}</ul>{further}</div>\n'


def _tile(tile: GalleryTile) -> str:
    source = f"data:image/jpeg;base64,{base64.b64encode(tile.jpeg).decode()}"
    blocks = ' class="blocks"' if max(tile.size) < _SMALL else ""
    width, height = tile.size
    return (
        f'<li><img{blocks} src="{source}" width="{width}" height="{height}" loading="lazy" '
        f'alt="{_escaped(f"{tile.image}: {tile.label}")}"><p><strong>{_escaped(tile.label)}</strong>'
        f'<span>{_escaped(tile.predicted)}</span><span class="interval">{_escaped(tile.missed)}</span></p></li>'
    )


def _open(report: Report) -> str:
    if not report.open_questions:
        return ""
    items = "".join(
        f"<li><strong>{_escaped(question)}</strong> {_escaped(needed)}</li>"
        for question, needed in report.open_questions
    )
    return f'<section class="chapter" id="open"><h2>{_OPEN}</h2>\n<ul class="bullets part">{items}</ul></section>\n'


def _provenance(report: Report, names: Collection[str]) -> str:
    settings = "".join(
        f"<div><dt>{_escaped(name)}</dt><dd>{_escaped(value)}</dd></div>"
        for name, value in report.provenance.settings.items()
    )
    tables = "".join(
        table_html(table, anchor=provenance_anchor(number), names=names)
        for number, table in enumerate(report.provenance.tables)
    )
    return (
        f'<section class="chapter" id="behind"><h2>{_PROVENANCE}</h2>\n<dl>{settings}</dl>\n'
        f"{_folded('Test sets, labels, models and digests', tables) if tables else ''}"
        '<p class="note">Every number with its interval, count and method, and every digest in full, is in '
        '<a href="results.json">results.json</a>.</p></section>\n'
    )


def provenance_anchor(number: int) -> str:
    """The file name of a provenance table, by its number."""
    return f"behind-{number + 1}"
