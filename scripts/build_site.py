"""Build the documentation site from docs/*.md, the code and the notebooks; no page needs a network.

Run `python scripts/build_site.py` (as `make docs` does). Pages are collected in build/pages, and the site is written to
build/site: open build/site/index.html.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from api_pages import api_pages

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
ELSEWHERE = {
    "CHANGELOG.md": "changes.md",
    "benchmarks/README.md": "benchmarks.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Pages outside docs/, and their places in the site."""

FOREIGN_WORKER = "https://unpkg.com/iframe-worker/shim"
STUDIES = "studies.md"
CARDS = "study-cards.md"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
HIDDEN_OUTPUT = re.compile(r"^(\$ .*\n)\.\.\.\n", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)


class SiteError(Exception):
    """The site cannot be built, or a page of it is faulty."""


@dataclass(frozen=True)
class Page:
    """A page: where its text comes from, relative to the project, and its place in the site."""

    source: str
    place: str
    text: str


def main() -> int:
    """Build the site; the exit code is 1 if something is wrong with it."""
    site = ROOT / "build" / "site"
    try:
        complaints = build_site(ROOT / "build")
    except SiteError as error:
        complaints = [str(error)]
    for complaint in complaints:
        print(complaint)
    print(f"site: {site / 'index.html'}, {len(complaints)} complaints")
    return min(len(complaints), 1)


def build_site(folder: Path) -> list[str]:
    """Build ``site`` in a folder from all pages; returns complaints about what was built."""
    folder.mkdir(exist_ok=True)
    pages = all_pages()
    write_pages(pages, folder / "pages")
    write_config(pages, folder / "zensical.toml")
    generate(folder / "zensical.toml")
    replace_worker(folder / "site")
    return list(faults(folder / "site"))


def all_pages() -> list[Page]:
    """Every page of the site, with links between places in the site."""
    pages = [
        Page(f"docs/{path.relative_to(DOCS)}", str(path.relative_to(DOCS)), path.read_text()) for path in markdown()
    ]
    pages += [Page(source, place, (ROOT / source).read_text()) for source, place in ELSEWHERE.items()]
    pages += study_pages((DOCS / STUDIES).read_text(), (DOCS / CARDS).read_text(), (DOCS / "cli.md").read_text())
    pages += [Page(f"docs/api/{name}.md", f"api/{name}.md", text) for name, text in api_pages().items()]
    pages += list(notebook_pages())
    return [Page(page.source, page.place, linked(page, pages)) for page in pages]


def markdown() -> list[Path]:
    """The files of docs/ that become pages as they are."""
    return [path for path in sorted(DOCS.rglob("*.md")) if path.name not in {STUDIES, CARDS}]


# Studies: one page per section of docs/studies.md


def study_pages(studies: str, cards: str, commands: str) -> list[Page]:
    """The index of the studies, one page for each, and one for every further section."""
    introduction, *parts = re.split(r"^(?=## )", studies, flags=re.MULTILINE)
    sections = {title_of(part): part for part in parts}
    facts = {title_of(part): part.partition("\n")[2].strip() for part in re.split(r"^(?=## )", cards, flags=re.M)[1:]}
    studied = [title for title in sections if title.startswith("`")]
    if set(studied) != set(facts):
        differing = ", ".join(sorted(set(studied) ^ set(facts)))
        raise SiteError(
            f"docs/{CARDS} and docs/{STUDIES} must have the same sections of studies; in one only: {differing}"
        )
    pages = [study_page(title, sections[title], facts[title], commands) for title in studied]
    further_titles = [title for title in sections if not title.startswith("`")]
    pages += [further_page(title, sections[title]) for title in further_titles]
    return [Page(f"docs/{STUDIES}", "studies/index.md", study_index(introduction, facts, further_titles)), *pages]


def title_of(section: str) -> str:
    """The title of a section, from its first line."""
    return section.partition("\n")[0].lstrip("# ").strip()


def study_page(title: str, section: str, card: str, commands: str) -> Page:
    """The page of a study: what to know first, its method, and its options."""
    name = title.strip("`")
    body = section.partition("\n")[2]
    text = f"# {title}\n\n{card}\n\n## Method and results\n{body}\n{options_of(name, commands)}"
    return Page(f"docs/{STUDIES}", f"studies/{slug(name)}.md", text)


def further_page(title: str, section: str) -> Page:
    """The page of a section that describes no single study."""
    return Page(f"docs/{STUDIES}", f"studies/{slug(title)}.md", re.sub(r"^#(#+ )", r"\1", section, flags=re.MULTILINE))


def options_of(name: str, commands: str) -> str:
    """The options of a study's command, from the reference of the command line."""
    paths = (f"regrade study {name.replace('_', '-')}", f"regrade {name.replace('_', '-')}")
    for path in paths:
        matched = re.search(rf"^## `{re.escape(path)}`\n(.*?)(?=^## |\Z)", commands, re.DOTALL | re.MULTILINE)
        if matched:
            return f"## Options of `{path}`\n\n{matched[1].strip()}\n"
    return ""


def study_index(introduction: str, cards: dict[str, str], further_titles: list[str]) -> str:
    """The page that leads to every study."""
    rows = [f"| [{title}]({STUDIES}#{slug(title)}) | {question_of(card)} |" for title, card in cards.items()]
    further = [f"- [{title}]({STUDIES}#{slug(title)})" for title in further_titles]
    table = "\n".join(["| study | question |", "|---|---|", *rows])
    return introduction.replace("# `regrade.studies`: from records to results", "# Studies\n\n" + table, 1) + "\n".join(
        further
    )


def question_of(card: str) -> str:
    """The question of a study, from its card."""
    matched = re.search(r"^\*\*Question\.\*\* (.*?)(?=\n\n|\Z)", card, re.DOTALL | re.MULTILINE)
    if matched is None:
        raise SiteError(f"a section of docs/{CARDS} has no question: it must start with **Question.**")
    return " ".join(matched[1].split())


# Notebooks


def notebook_pages() -> Iterator[Page]:
    """The notebooks with their stored outputs; figures are drawn as SVG."""
    for path in sorted((DOCS / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        text = "\n\n".join(part for cell in cells for part in cell_parts(cell))
        yield Page(f"docs/notebooks/{path.stem}.md", f"notebooks/{path.stem}.md", text + "\n")


def cell_parts(cell: dict[str, object]) -> Iterator[str]:
    """A cell of a notebook as Markdown: its source, and what it printed, showed or drew."""
    source = "".join(cell["source"])  # type: ignore[arg-type]
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:  # type: ignore[attr-defined]
        yield shown(output)


def shown(output: dict[str, object]) -> str:
    """An output: SVG, a table, or text."""
    data = {kind: "".join(value) for kind, value in output.get("data", {}).items() if isinstance(value, (str, list))}  # type: ignore[attr-defined]
    if "image/svg+xml" in data:
        return f'<div class="figure">{" ".join(data["image/svg+xml"].split())}</div>'
    if "text/html" in data:
        return f'<div class="result">{" ".join(data["text/html"].split())}</div>'
    return "```text\n" + (data.get("text/plain") or "".join(output.get("text", "")).rstrip()) + "\n```"  # type: ignore[arg-type]


# Links between pages


def linked(page: Page, pages: list[Page]) -> str:
    """The text of a page with every link pointing to a place in the site."""
    places = {target_page.source: target_page.place for target_page in pages}

    def replaced(match: re.Match[str]) -> str:
        mark, text, target, anchor = match[1], match[2], match[3], match[4] or ""
        if not target:
            return f"[{text}]({relative(page, place_of_anchor(anchor, pages))}{anchor})" if moved(page) else match[0]
        source = os.path.normpath(str(PurePosixPath(page.source).parent / target))
        if source == f"docs/{STUDIES}":
            place = place_of_anchor(anchor, pages) if anchor else "studies/index.md"
            return f"{mark}[{text}]({relative(page, place)}{anchor})"
        if source in places:
            return f"{mark}[{text}]({relative(page, places[source])}{anchor})"
        if source.startswith("docs/") and (ROOT / source).is_file():
            return f"{mark}[{text}]({relative(page, source.removeprefix('docs/'))})"
        if not (ROOT / source).exists():
            raise SiteError(f"{page.source} links to {target}, which does not exist")
        return f"{text} (`{source}`)" if source not in text else text

    return HIDDEN_OUTPUT.sub(r"\1", outside_code(page.text, lambda text: LINK.sub(replaced, text)))


def moved(page: Page) -> bool:
    """Whether a page is a part of docs/studies.md."""
    return page.source == f"docs/{STUDIES}"


def place_of_anchor(anchor: str, pages: list[Page]) -> str:
    """The page with a heading of docs/studies.md."""
    for page in pages:
        if moved(page) and page.place != "studies/index.md":
            headings = HEADING.findall(FENCE.sub("", page.text))
            if anchor.removeprefix("#") in {slug(heading) for _, heading in headings}:
                return page.place
    raise SiteError(f"docs/{STUDIES} has no heading {anchor}")


def relative(page: Page, place: str) -> str:
    """The link from a page to a place."""
    return os.path.relpath(place, PurePosixPath(page.place).parent)


def slug(heading: str) -> str:
    """The anchor of a heading, as the site generator makes it."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change a text, except its blocks of code."""
    parts: list[str] = []
    end = 0
    for block in FENCE.finditer(text):
        parts += [change(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, change(text[end:])])


# Building


def write_pages(pages: list[Page], folder: Path) -> None:
    """Write every page, and copy figures, data and styles."""
    shutil.rmtree(folder, ignore_errors=True)
    for page in pages:
        path = folder / page.place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.text)
    for name in ("figures", "data"):
        shutil.copytree(DOCS / name, folder / name)
    shutil.copy(DOCS / "site" / "site.css", folder / "site.css")


def write_config(pages: list[Page], path: Path) -> None:
    """Write the settings of the site: those of docs/site/zensical.toml, and the navigation."""
    navigation = (DOCS / "site" / "navigation.toml").read_text()
    studies = [page.place for page in pages if page.place.startswith("studies/") and page.place != "studies/index.md"]
    listed = navigation.replace('"@studies"', ", ".join(f'"{place}"' for place in studies))
    placed = set(re.findall(r'"([^"]+\.md)"', listed))
    places = {page.place for page in pages}
    if placed != places:
        differing = ", ".join(sorted(placed ^ places))
        raise SiteError(f"docs/site/navigation.toml must list every page once; missing or too many: {differing}")
    settings = (DOCS / "site" / "zensical.toml").read_text()
    path.write_text(settings.replace('nav = "@navigation"', listed.rstrip()))


def generate(config: Path) -> None:
    """Run the site generator strictly; it resolves paths from the folder of its settings."""
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", config.name]
    environment = os.environ | {"NO_COLOR": "1"}
    done = subprocess.run(command, cwd=config.parent, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SiteError(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr))


def replace_worker(site: Path) -> None:
    """Use our own script for workers in pages opened from a file: the generator loads one from another host."""
    (source,) = site.glob("assets/javascripts/workers/*.js")
    worker = f"const WORKER_SOURCE = {json.dumps(source.read_text())};\n" + (DOCS / "site" / "worker.js").read_text()
    (site / "worker.js").write_text(worker)
    for path in site.rglob("*.html"):
        script = os.path.relpath(site / "worker.js", path.parent)
        path.write_text(path.read_text().replace(FOREIGN_WORKER, script))


# Checking


class Resources(HTMLParser):
    """What a page loads, where it links to, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses of an element."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        loads = ("src", "srcset", "data", "poster") if tag != "link" else ("href",)
        self.loaded += [values[name] for name in loads if name in values and not is_canonical(tag, values)]


def is_canonical(tag: str, values: dict[str, str]) -> bool:
    """Whether an element names an address that a browser does not load."""
    return tag == "link" and values.get("rel") in {"canonical", "prev", "next", "alternate"}


def faults(site: Path) -> Iterator[str]:
    """Pages that load something from elsewhere, and links to pages or headings that do not exist."""
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        yield from (f"{name} loads {url}" for url in page.loaded if urlsplit(url).netloc)
        for link in page.links:
            if urlsplit(link).scheme or urlsplit(link).netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(urlsplit(link).path)).resolve() if urlsplit(link).path else path
            if not target.exists():
                yield f"{name} links to {link}, which does not exist"
            elif (
                (anchor := unquote(urlsplit(link).fragment)) and target in pages and anchor not in pages[target].anchors
            ):
                yield f"{name} links to {link}, and the page has no such heading"
    for path in site.rglob("*.css"):
        for url in re.findall(r"(?:url\(|@import\s+)['\"]?(https?://[^'\")]+|//[^'\")]+)", path.read_text()):
            yield f"{path.relative_to(site)} loads {url}"


def read(path: Path) -> Resources:
    """The resources of a page."""
    resources = Resources()
    resources.feed(path.read_text())
    return resources


if __name__ == "__main__":
    sys.exit(main())
