"""Guide: a page a class, written by reviewers, with every edit kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from regrade.app.access import Labeler, Reviewer, SiteHere
from regrade.app.guide_views import (
    VARIANT,
    alike,
    breadcrumbs,
    changes,
    example_images,
    example_lines,
    examples_from,
    hidden_examples,
    neighbors,
    other_images,
    standing,
    with_examples,
    without_examples,
)
from regrade.app.markdown import formatted
from regrade.app.number_parsing import Number
from regrade.app.pages import page
from regrade.app.plain_text import is_visible
from regrade.app.site import Site
from regrade.app.views import class_view
from regrade.core import AlreadyStored, ClassSpace, InputError
from regrade.ledger import GuideEntry, GuideText, Person, Role

router = APIRouter(prefix="/guide", include_in_schema=False)

LONGEST = 20_000
"""The most letters of an entry's text."""

_MOST_LINES = 100  # traits, examples or classes of an entry
_Long = Annotated[str, Field(max_length=LONGEST)]
_Why = Annotated[str, Field(max_length=1000)]


@dataclass(frozen=True)
class ClassAsked:
    """The class that a page is about."""

    space: ClassSpace
    index: int

    @property
    def id(self) -> str:
        """Its id."""
        return self.space.ids[self.index]

    @property
    def address(self) -> str:
        """Where its page is."""
        return f"/guide/{quote(self.space.name, safe='')}/{quote(self.id)}"

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page about the class."""
        shown = class_view(self.space, self.index)
        return page(request, template, status=status, space=self.space.name, shown=shown, here=self.address, **values)


def class_asked(class_space: str, class_id: str, site: SiteHere, _: Labeler) -> ClassAsked:
    """The class that a page's address names."""
    space = site.class_space(class_space)
    return ClassAsked(space, space.index(class_id))


AboutClass = Annotated[ClassAsked, Depends(class_asked)]


class EntryForm(BaseModel):
    """An entry as it is typed; ``replaces`` is the one that was read, empty where there was none."""

    text: _Long = ""
    traits: _Long = ""
    examples: _Long = ""
    alike: _Long = ""
    why: _Why = ""
    replaces: Annotated[str, Field(max_length=9, pattern=r"^\d*$")] = ""


class RestoreForm(BaseModel):
    """Which revision to write again, and the one that stood when it was chosen."""

    revision: Number
    replaces: Number


@router.get("")
def guide(
    request: Request, site: SiteHere, _: Labeler, space: Annotated[str | None, Query(max_length=80)] = None
) -> Response:
    """All entries of a class space, and the search for any class."""
    known = _spaces(site)
    shown = space if space is not None else next(iter(known), None)
    entries = standing(site, shown) if shown is not None else []
    return page(request, "guide.html", spaces=known, space=shown, entries=entries)


@router.get("/{class_space}/{class_id:path}/edit")
def edit(about: AboutClass, request: Request, site: SiteHere, session: Reviewer) -> Response:
    """The form in which an entry is written; examples that someone still has to answer are not in it, and are kept."""
    entry = site.guide.entry(about.space.name, about.id)
    hidden = frozenset() if entry is None else _hidden(site, session.person, entry.content)
    return _form(request, site, about, _typed(entry, hidden))


@router.post("/{class_space}/{class_id:path}/edit")
def write(
    about: AboutClass, request: Request, site: SiteHere, session: Reviewer, form: Annotated[EntryForm, Form()]
) -> Response:
    """Save an entry; where someone else was faster, show both, and lose neither."""
    before = int(form.replaces) if form.replaces else None
    why = form.why if is_visible(form.why) else ""
    try:
        said = _with_hidden(site, about, _said(site, about.space, form), before, session.person)
        site.guide.write(about.space.name, about.id, said, session.person, replaces=before, why=why)
    except AlreadyStored:
        return _conflict(request, site, about, form, session.person)
    except InputError as error:
        return _form(request, site, about, form, trouble=str(error), status=400)
    return RedirectResponse(about.address, 303)


@router.get("/{class_space}/{class_id:path}/history")
def history(about: AboutClass, request: Request, site: SiteHere, session: Labeler) -> Response:
    """Who changed an entry, when, why and how."""
    reviews = session.person.role is not Role.LABELER
    entries = site.guide.history(about.space.name, about.id)
    hidden = _hidden(site, session.person, *(entry.content for entry in entries)) if reviews else frozenset()
    texts = [*(without_examples(entry.content, hidden) for entry in entries), GuideText()]
    edits = [
        (entry, changes(about.space, old, new, examples=reviews))
        for entry, new, old in zip(entries, texts, texts[1:], strict=False)
    ]
    return about.page(request, "guide_history.html", edits=edits, reviews=reviews)


@router.post("/{class_space}/{class_id:path}/restore")
def restore(about: AboutClass, site: SiteHere, session: Reviewer, form: Annotated[RestoreForm, Form()]) -> Response:
    """Write an entry again as it once was."""
    old = site.guide.revision(about.space.name, about.id, form.revision)
    why = f"as {old.by} had it on {old.at:%Y-%m-%d at %H:%M} UTC"
    site.guide.write(about.space.name, about.id, old.content, session.person, replaces=form.replaces, why=why)
    return RedirectResponse(f"{about.address}/history", 303)


@router.get("/{class_space}/{class_id:path}")
def entry(about: AboutClass, request: Request, site: SiteHere, session: Labeler) -> Response:
    """The page of a class."""
    found = site.guide.entry(about.space.name, about.id)
    said = GuideText() if found is None else found.content
    examined = site.examined()
    return about.page(
        request,
        "guide_class.html",
        entry=found,
        said=said,
        html=formatted(said.text),
        above=breadcrumbs(about.space, about.index),
        alike=alike(about.space, about.index, said.alike),
        neighbors=neighbors(about.space, about.index, but=said.alike),
        variant=", ".join(one.value for one in VARIANT),
        examples=example_images(site, said.examples, session.person, excluded=examined),
        unseen=sum(test_set in examined for test_set, _ in said.examples),
        images=other_images(site, about.space, about.index, session.person),
        reviews=session.person.role is not Role.LABELER,
    )


def _form(
    request: Request, site: Site, about: ClassAsked, typed: EntryForm, *, status: int = 200, **more: Any
) -> Response:
    """The form with what is typed; ``more`` is what went wrong with it."""
    names, examined = site.readable_test_sets(), site.examined()
    sets = [name for name in names if name not in examined and site.space_of(name) == about.space.name]
    values = {"trouble": "", "theirs": None, "differs": {}, **more}
    return about.page(request, "guide_edit.html", status=status, typed=typed, longest=LONGEST, sets=sets, **values)


def _conflict(request: Request, site: Site, about: ClassAsked, form: EntryForm, person: Person) -> Response:
    """The form with what was typed, beside what someone else has written meanwhile."""
    theirs = site.guide.entry(about.space.name, about.id)
    typed = form.model_copy(update={"replaces": "" if theirs is None else str(theirs.id)})
    if theirs is None:
        return _form(request, site, about, typed, status=409, trouble="the entry that you read is not there")
    shown = without_examples(theirs.content, _hidden(site, person, theirs.content))
    differs = changes(about.space, shown, _said(site, about.space, form), examples=True)
    return _form(request, site, about, typed, status=409, theirs=theirs, differs=differs)


def _said(site: Site, space: ClassSpace, form: EntryForm) -> GuideText:
    """What was typed as an entry; examples and classes that are not there raise."""
    return GuideText(
        form.text.replace("\r\n", "\n").strip(),
        _lines(form.traits),
        examples_from(site, _lines(form.examples)),
        tuple(space.ids[space.index(one)] for one in _lines(form.alike)),
    )


def _hidden(site: Site, person: Person, *texts: GuideText) -> frozenset[tuple[str, str]]:
    """The examples of some texts that someone still has to answer."""
    examples = dict.fromkeys(example for text in texts for example in text.examples)
    return hidden_examples(site, examples, site.hidden_from(person)) if examples else frozenset()


def _with_hidden(site: Site, about: ClassAsked, text: GuideText, before: int | None, person: Person) -> GuideText:
    """What was typed, with the examples of the entry before it that were not in the form."""
    entry = site.guide.entry(about.space.name, about.id)
    if entry is None or entry.id != before:
        return text
    return with_examples(text, entry.content, _hidden(site, person, entry.content))


def _typed(entry: GuideEntry | None, hidden: frozenset[tuple[str, str]]) -> EntryForm:
    """An entry as it stands in the form, without the examples that are hidden from its writer."""
    if entry is None:
        return EntryForm()
    said = without_examples(entry.content, hidden)
    return EntryForm.model_construct(
        text=said.text,
        traits="\n".join(said.traits),
        examples=example_lines(said.examples),
        alike="\n".join(said.alike),
        why="",
        replaces=str(entry.id),
    )


def _lines(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(line for line in map(str.strip, text.replace("\t", " ").splitlines()) if line))
    if len(found) > _MOST_LINES:
        raise InputError(f"at most {_MOST_LINES} lines of traits, examples or classes, got {len(found)}")
    return found


def _spaces(site: Site) -> dict[str, int]:
    """The class spaces of the test sets, and how many entries each has, most first."""
    counts = Counter(one.class_space for one in site.guide.entries())
    names = dict.fromkeys(site.space_of(name) for name in site.readable_test_sets())
    return dict(sorted(((name, counts[name]) for name in names), key=lambda pair: -pair[1]))
