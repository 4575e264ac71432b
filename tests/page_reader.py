"""Parses a page of the app into text, links, images and table rows."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit


@dataclass
class ParsedPage(HTMLParser):
    """A parsed page: ``links`` as (text, address) in order, and the ``rows`` of tables as texts."""

    html: str
    links: list[tuple[str, str]] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)
        self._link: list[str] | None = None
        self._cell = False
        self.feed(self.html)
        self.text = " ".join(self.text.split())
        self.rows = [[" ".join(cell.split()) for cell in row] for row in self.rows]

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "a":
            self._link = [values.get("href", ""), ""]
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self._cell = True
        elif tag == "img":
            self.images.append(values["src"])

    def handle_endtag(self, tag):
        if tag == "a" and self._link is not None:
            self.links.append((" ".join(self._link[1].split()), self._link[0]))
            self._link = None
        elif tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data):
        self.text += data
        if self._link is not None:
            self._link[1] += data
        if self._cell:
            self.rows[-1][-1] += data

    def to(self, path: str, **query: str) -> list[str]:
        """The addresses of links to a path with these query values."""
        addresses = []
        for _, address in self.links:
            parts = urlsplit(address)
            values = {name: listed[0] for name, listed in parse_qs(parts.query).items()}
            if parts.path == path and all(values.get(name, "") == value for name, value in query.items()):
                addresses.append(address)
        return addresses

    def row(self, name: str) -> list[str]:
        """The row of a table that begins with a name."""
        return next(row for row in self.rows if row and row[0] == name)


def parse_page(response) -> ParsedPage:
    """Parse a successful response."""
    assert response.status_code == 200, response.text
    return ParsedPage(response.text)
