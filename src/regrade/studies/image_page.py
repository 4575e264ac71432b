"""An offline page of images in sections, each with a caption."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regrade.display.style import color_schemes
from regrade.studies.thumbnails import ThumbnailLoader, image_element

_STYLE = """
  body { margin: 0 auto; padding: 16px; max-width: 1120px; background: var(--paper); color: var(--ink);
         font: 16px/1.45 var(--font); }
  h1 { font-size: 22px; line-height: 1.25; margin: 0 0 4px; }
  h2 { font-size: 18px; margin: 24px 0 8px; }
  .about { color: var(--gray); margin: 0; }
  ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 12px;
       grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); }
  li { border: 1px solid var(--faint); border-radius: 6px; padding: 8px; break-inside: avoid; min-width: 0; }
  img, .gone { width: 100%; height: 132px; object-fit: contain; background: var(--wash); display: block; }
  .gone { display: grid; place-items: center; color: var(--gray); }
  p.caption { font-size: 13px; margin: 6px 0 0; overflow-wrap: anywhere; }
  .caption span { color: var(--gray); display: block; }
"""


@dataclass(frozen=True)
class CaptionedImage:
    """The image at a position of a test set: its name, and a caption of a first line and further ones."""

    position: int
    name: str
    caption: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImageSection:
    """Images under a heading."""

    heading: str
    images: Sequence[CaptionedImage]


def image_page(title: str, about: str, sections: Iterable[ImageSection], load: ThumbnailLoader) -> str:
    """A self-contained page with all images as thumbnails."""
    body = "".join(_section(section, load) for section in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{color_schemes()}{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{html.escape(title)}</h1>\n<p class="about">{html.escape(about)}</p>\n<main>\n{body}</main>\n'
        "</body>\n</html>\n"
    )


def _section(section: ImageSection, load: ThumbnailLoader) -> str:
    images = "".join(_captioned(image, load) for image in section.images)
    return f"<section>\n<h2>{html.escape(section.heading)}</h2>\n<ul>\n{images}</ul>\n</section>\n"


def _captioned(image: CaptionedImage, load: ThumbnailLoader) -> str:
    details = "".join(f"<span>{html.escape(line)}</span>" for line in image.details)
    return (
        f'<li>{image_element(load(image.position), image.name)}<p class="caption">'
        f"<strong>{html.escape(image.caption)}</strong>{details}</p></li>\n"
    )
