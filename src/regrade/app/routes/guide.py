"""Guide: one page per class, written by reviewers, with the full edit history; and the API about classes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Header, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from regrade.app.access import Labeler, Reviewer, SiteDep
from regrade.app.forms import MAX_ROW_ID, FormId, StrictForm, StrictRoute, is_visible
from regrade.app.guide_views import (
    VARIANT,
    breadcrumbs,
    changes,
    confusable_classes,
    entries_with_names,
    example_images,
    example_lines,
    hidden_examples,
    neighbors,
    other_images,
    parse_examples,
    render_markdown,
    with_examples,
    without_examples,
)
from regrade.app.pages import page
from regrade.app.site import Site
from regrade.app.views import class_view
from regrade.core import AlreadyStored, ClassSpace, InputError
from regrade.ledger import GuideEntry, GuideText, Person, Role

router = APIRouter(prefix="/guide", include_in_schema=False)

MAX_TEXT_LENGTH = 20_000
"""Longest text of an entry, in characters."""

_MAX_LINES = 100  # traits, examples or classes of an entry
_Long = Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]
_Why = Annotated[str, Field(max_length=1000)]


@dataclass(frozen=True)
class GuideClass:
    """The class of a guide page."""

    space: ClassSpace
    index: int

    @property
    def id(self) -> str:
        """The class id."""
        return self.space.ids[self.index]

    @property
    def address(self) -> str:
        """The URL of its page."""
        return f"/guide/{quote(self.space.name, safe='')}/{quote(self.id)}"

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """Render a page about the class."""
        shown = class_view(self.space, self.index)
        return page(
            request, template, status=status, space=self.space.name, shown=shown, address=self.address, **values
        )


def guide_class(class_space: str, class_id: str, site: SiteDep, _: Labeler) -> GuideClass:
    """The class in the URL of a page."""
    space = site.class_space(class_space)
    return GuideClass(space, space.index(class_id))


GuideClassDep = Annotated[GuideClass, Depends(guide_class)]


class EntryForm(BaseModel):
    """A submitted entry; ``replaces`` is the id of the revision it edits, empty if there was none."""

    text: _Long = ""
    traits: _Long = ""
    examples: _Long = ""
    alike: _Long = ""
    why: _Why = ""
    replaces: Annotated[str, Field(max_length=9, pattern=r"^\d*$")] = ""


class RestoreForm(BaseModel):
    """The revision to restore, and the current revision when it was chosen."""

    revision: FormId
    replaces: FormId


@router.get("")
def guide(
    request: Request, site: SiteDep, _: Labeler, space: Annotated[str | None, Query(max_length=80)] = None
) -> Response:
    """All entries of a class space, and a search for any class."""
    spaces = _spaces(site)
    shown = space if space is not None else next(iter(spaces), None)
    entries = entries_with_names(site, shown) if shown is not None else []
    return page(request, "guide.html", spaces=spaces, space=shown, entries=entries)


@router.get("/{class_space}/{class_id:path}/edit")
def edit(about: GuideClassDep, request: Request, site: SiteDep, session: Reviewer) -> Response:
    """The form of an entry; examples hidden from the writer are not in it, but are kept."""
    entry = site.guide.entry(about.space.name, about.id)
    hidden = frozenset() if entry is None else _hidden(site, session.person, entry.content)
    return _form(request, site, about, _typed(entry, hidden))


@router.post("/{class_space}/{class_id:path}/edit")
def write(
    about: GuideClassDep, request: Request, site: SiteDep, session: Reviewer, form: Annotated[EntryForm, Form()]
) -> Response:
    """Save an entry; if it was changed meanwhile, show both versions."""
    before = int(form.replaces) if form.replaces else None
    why = form.why if is_visible(form.why) else ""
    try:
        text = _with_hidden(site, about, _parse_form(site, about.space, form), before, session.person)
        site.guide.write(about.space.name, about.id, text, session.person, replaces=before, why=why)
    except AlreadyStored:
        return _conflict(request, site, about, form, session.person)
    except InputError as error:
        return _form(request, site, about, form, error_text=str(error), status=400)
    return RedirectResponse(about.address, 303)


@router.get("/{class_space}/{class_id:path}/history")
def history(about: GuideClassDep, request: Request, site: SiteDep, session: Labeler) -> Response:
    """The edit history of an entry: who changed what, when and why."""
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
def restore(about: GuideClassDep, site: SiteDep, session: Reviewer, form: Annotated[RestoreForm, Form()]) -> Response:
    """Restore an earlier revision of an entry."""
    old = site.guide.revision(about.space.name, about.id, form.revision)
    why = f"as {old.by} had it on {old.at:%Y-%m-%d at %H:%M} UTC"
    site.guide.write(about.space.name, about.id, old.content, session.person, replaces=form.replaces, why=why)
    return RedirectResponse(f"{about.address}/history", 303)


@router.get("/{class_space}/{class_id:path}")
def guide_page(about: GuideClassDep, request: Request, site: SiteDep, session: Labeler) -> Response:
    """The guide page of a class."""
    entry = site.guide.entry(about.space.name, about.id)
    text = GuideText() if entry is None else entry.content
    examined = site.examined()
    return about.page(
        request,
        "guide_class.html",
        entry=entry,
        text=text,
        html=render_markdown(text.text),
        above=breadcrumbs(about.space, about.index),
        alike=confusable_classes(about.space, about.index, text.alike),
        neighbors=neighbors(about.space, about.index, excluded=text.alike),
        variant=", ".join(option.value for option in VARIANT),
        examples=example_images(site, text.examples, session.person, excluded=examined),
        unseen=sum(test_set in examined for test_set, _ in text.examples),
        images=other_images(site, about.space, about.index, session.person),
        reviews=session.person.role is not Role.LABELER,
    )


def _form(
    request: Request, site: Site, about: GuideClass, typed: EntryForm, *, status: int = 200, **more: Any
) -> Response:
    """Render the form with the typed values; ``more`` describes what went wrong."""
    names, examined = site.readable_test_sets(), site.examined()
    sets = [name for name in names if name not in examined and site.space_of(name) == about.space.name]
    values = {"error_text": "", "theirs": None, "differs": {}, **more}
    return about.page(
        request, "guide_edit.html", status=status, typed=typed, longest=MAX_TEXT_LENGTH, sets=sets, **values
    )


def _conflict(request: Request, site: Site, about: GuideClass, form: EntryForm, person: Person) -> Response:
    """Render the form with the typed values next to the version that was saved meanwhile."""
    theirs = site.guide.entry(about.space.name, about.id)
    typed = form.model_copy(update={"replaces": "" if theirs is None else str(theirs.id)})
    if theirs is None:
        return _form(request, site, about, typed, status=409, error_text="the entry that you edited no longer exists")
    shown = without_examples(theirs.content, _hidden(site, person, theirs.content))
    differs = changes(about.space, shown, _parse_form(site, about.space, form), examples=True)
    return _form(request, site, about, typed, status=409, theirs=theirs, differs=differs)


def _parse_form(site: Site, space: ClassSpace, form: EntryForm) -> GuideText:
    """Parse a submitted entry; unknown examples and classes raise."""
    return GuideText(
        form.text.replace("\r\n", "\n").strip(),
        _lines(form.traits),
        parse_examples(site, _lines(form.examples)),
        tuple(space.ids[space.index(line)] for line in _lines(form.alike)),
    )


def _hidden(site: Site, person: Person, *texts: GuideText) -> frozenset[tuple[str, str]]:
    """The examples of some texts that are hidden from a person."""
    examples = dict.fromkeys(example for text in texts for example in text.examples)
    return hidden_examples(site, examples, site.hidden_from(person)) if examples else frozenset()


def _with_hidden(site: Site, about: GuideClass, text: GuideText, before: int | None, person: Person) -> GuideText:
    """The submitted text with the examples of the previous revision that were hidden in the form."""
    entry = site.guide.entry(about.space.name, about.id)
    if entry is None or entry.id != before:
        return text
    return with_examples(text, entry.content, _hidden(site, person, entry.content))


def _typed(entry: GuideEntry | None, hidden: frozenset[tuple[str, str]]) -> EntryForm:
    """The form values of an entry, without the examples that are hidden from its writer."""
    if entry is None:
        return EntryForm()
    text = without_examples(entry.content, hidden)
    return EntryForm.model_construct(
        text=text.text,
        traits="\n".join(text.traits),
        examples=example_lines(text.examples),
        alike="\n".join(text.alike),
        why="",
        replaces=str(entry.id),
    )


def _lines(text: str) -> tuple[str, ...]:
    lines = tuple(dict.fromkeys(line for line in map(str.strip, text.replace("\t", " ").splitlines()) if line))
    if len(lines) > _MAX_LINES:
        raise InputError(f"at most {_MAX_LINES} lines of traits, examples or classes, got {len(lines)}")
    return lines


def _spaces(site: Site) -> dict[str, int]:
    """The class spaces of the test sets with their numbers of entries, most first."""
    counts = Counter(entry.class_space for entry in site.guide.entries())
    names = dict.fromkeys(site.space_of(name) for name in site.readable_test_sets())
    return dict(sorted(((name, counts[name]) for name in names), key=lambda pair: -pair[1]))


api = APIRouter(prefix="/api", route_class=StrictRoute)


@api.get("/classes/{class_space}", tags=["classes"])
def classes(
    class_space: str, site: SiteDep, _: Labeler, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """Every class with its synonyms and definition, and the class tree; status 304 if the ETag matches."""
    index = site.class_index(class_space)
    headers = {"ETag": index.tag, "Cache-Control": "private, no-cache"}
    if if_none_match is not None and index.tag in (tag.strip().removeprefix("W/") for tag in if_none_match.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(index.content, media_type="application/json", headers=headers)


class ConfusableClassView(BaseModel):
    """A class that another is confused with, and their hierarchy distance."""

    id: str
    name: str
    distance: int | None


class EntryView(BaseModel):
    """The entry of a class with its text as safe HTML; ``written`` says whether the entry exists."""

    written: bool
    html: str
    traits: list[str]
    examples: list[str]
    alike: list[ConfusableClassView]


class Draft(StrictForm):
    """The text to preview."""

    text: Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]


class Preview(BaseModel):
    """The text as safe HTML."""

    html: str


@api.post("/guide/preview", tags=["guide"])
def preview(form: Draft, _: Reviewer) -> Preview:
    """Render a text as HTML."""
    return Preview(html=render_markdown(form.text))


@api.get("/guide/{class_space}/{class_id:path}", tags=["guide"])
def entry(
    class_space: str,
    class_id: str,
    site: SiteDep,
    session: Labeler,
    queue: Annotated[int | None, Query(ge=1, le=MAX_ROW_ID)] = None,
) -> EntryView:
    """The guide entry of a class, without images of test sets used by the queue or by an examination."""
    space = site.class_space(class_space)
    index = space.index(class_id)
    queue_sets = () if queue is None else site.hiding.test_sets([site.queue(queue, session.person)])
    stored = site.guide.entry(class_space, class_id)
    text = GuideText() if stored is None else stored.content
    return EntryView(
        written=stored is not None,
        html=render_markdown(text.text),
        traits=list(text.traits),
        examples=example_images(site, text.examples, session.person, excluded=site.examined().union(queue_sets)),
        alike=[
            ConfusableClassView(id=confusable.id, name=confusable.name, distance=confusable.distance)
            for confusable in confusable_classes(space, index, text.alike)
        ],
    )
