"""Explore: the table of models, the images that match filters, one image, and one class."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from regrade.app.access import Reviewer, SiteDep
from regrade.app.explore.answers import KIND_WORDS, AnswerKind
from regrade.app.explore.explorer import Neighbor, View
from regrade.app.explore.models_page import AxisRange, accuracy_plot, available_axes, chosen_axes, models_table
from regrade.app.explore.reports import answers_on, class_report, position_of, slices_with, taken_for, versions_of
from regrade.app.explore.selection import (
    IMAGES,
    ORDERS,
    PAGE_SIZE,
    Choice,
    ChoiceQuery,
    class_named,
    form_options,
    kind_named,
    label_of,
    label_sets,
    redirect_submitted_form,
    resolve_choice,
    select_images,
    tiles,
)
from regrade.app.hidden_images import MIN_SLICE_SIZE, HiddenImages
from regrade.app.pages import page
from regrade.app.references import reference_images
from regrade.app.site import Site
from regrade.app.views import class_view
from regrade.core import UNLABELED
from regrade.ledger import Discussion, Person, Queue

router = APIRouter(include_in_schema=False)

_REFERENCES = 12  # images of a class in other test sets


@router.get("/explore")
def explore(request: Request, site: SiteDep, session: Reviewer, requested: ChoiceQuery) -> Response:
    """The table of models, and the plot of two accuracies."""
    if (redirect := redirect_submitted_form(request, requested)) is not None:
        return redirect
    if not site.workspace.testsets.names():
        return page(request, "explore_empty.html")
    choice, view = resolve_choice(site, requested)
    shown = form_options(site, choice, view)
    if not shown["rows"]:
        return page(request, "explore.html", table=None, withheld=None, left_out=view.answers.left_out, **shown)
    hidden = site.hidden_from(session.person)
    # the numbers of a complement, subtracted from those of all images, are the numbers of the slice itself
    parts = {choice.slice, view.test_set.base_slice(choice.slice)} - {""}
    if any(hidden.withhold_slice(view.test_set, site.explorer.inside(view, part)) for part in parts):
        return page(request, "explore.html", table=None, withheld=MIN_SLICE_SIZE, left_out={}, **shown)
    table = models_table(site.explorer, view, choice)
    x, y = chosen_axes(site.explorer, choice)
    names = {line.grade.model for line in table.lines} if choice.models else None
    listed = {line.grade.model for line in table.listed}
    plot = accuracy_plot(site.explorer, choice, x, y, names=names, listed=listed)
    return page(
        request, "explore.html", table=table, plot=plot, x=x, y=y,
        axes=available_axes(site.explorer), hidden=hidden.note(view.test_set), **shown,
    )  # fmt: skip


@router.get("/explore/images")
def images(request: Request, site: SiteDep, session: Reviewer, requested: ChoiceQuery) -> Response:
    """A page of the images that match the filters."""
    if (redirect := redirect_submitted_form(request, requested)) is not None:
        return redirect
    choice, view = resolve_choice(site, requested)
    hidden = site.hidden_from(session.person)
    selection = hidden.choose_visible(
        view.test_set,
        lambda mask: select_images(site.explorer, view, choice, mask),
        lambda selection: selection.on_page(choice.page),
    )
    number = min(choice.page, selection.pages)
    kinds = [kind for kind in AnswerKind if choice.labels or kind not in (AnswerKind.NOVEL, AnswerKind.MISSED)]
    return page(
        request, "explore_images.html", tiles=tiles(site, view, choice, selection.on_page(number), hidden),
        number=number, count=len(selection.positions), of=len(view.test_set), pages=selection.pages,
        hidden=hidden.note(view.test_set), begin=(number - 1) * PAGE_SIZE, chips=filter_chips(view, choice),
        kinds=kinds, kind_words=KIND_WORDS, orders=ORDERS, space=view.test_set.class_space,
        **form_options(site, choice, view),
    )  # fmt: skip


def filter_chips(view: View, choice: Choice) -> list[tuple[str, str]]:
    """Every active filter as text, with the URL that removes it."""
    space = view.test_set.class_space
    filters = []
    if choice.labels:
        filters.append((f"labels {choice.labels}", choice.replace(labels="")))
    if choice.slice:
        filters.append((f"slice {choice.slice}", choice.replace(slice="")))
    if choice.label:
        filters.append((f"labeled {space.names[class_named(space, choice.label)]}", choice.replace(label="")))
    if choice.model or choice.outcome:
        kind = f"{KIND_WORDS[kind_named(choice.outcome)]} for " if choice.outcome else "answers of "
        filters.append((f"{kind}{choice.model or 'any model'}", choice.replace(model="", outcome="", order="")))
    if choice.predicted:
        name = space.names[class_named(space, choice.predicted)]
        filters.append((f"predicted as {name}", choice.replace(predicted="")))
    if choice.other_model:
        kind = KIND_WORDS[kind_named(choice.other_outcome or "right")]
        filters.append((f"{kind} for {choice.other_model}", choice.replace(other_model="", other_outcome="")))
    if choice.find:
        filters.append((f"id contains “{choice.find}”", choice.replace(find="")))
    return [(words, without.address(IMAGES)) for words, without in filters]


@router.get("/explore/image")
def image(request: Request, site: SiteDep, session: Reviewer, requested: ChoiceQuery) -> Response:
    """The page of one image."""
    choice, view = resolve_choice(site, requested)
    test_set = view.test_set
    position = position_of(test_set, choice.image, choice.id)
    hidden = site.hidden_from(session.person)
    if asking := hidden.asking(test_set, position):
        return page(request, "explore_hidden.html", choice=choice.basis(), queues=asking)
    choice = choice.model_copy(update={"image": position, "id": ""})
    number, before, after = hidden.choose_visible(
        test_set,
        lambda mask: select_images(site.explorer, view, choice, mask).around(position),
        lambda around: [adjacent for adjacent in around[1:] if adjacent is not None],
    )
    label = int(test_set.labels[position])
    return page(
        request, "explore_image.html", choice=choice, id=test_set.ids[position], space=test_set.class_space,
        image=site.images.address(test_set.name, position), label=None if label == UNLABELED else label,
        answers=answers_on(view, position, by_name=choice.sort == "model"), taken=taken_for(view, position),
        versions=versions_of(site, test_set, position, choice.labels), slices=slices_with(test_set, position),
        number=number, before=before, after=after, position=position,
        discussions=discussions_of(site, test_set.name, test_set.ids[position], session.person),
        names={person.id: person.name for person in site.ledger.people.all()},
        with_features=[row.name for row in view.answers.rows if row.has_features],
        kinds=sorted({row.score_kind.value for row in view.answers.rows if row.score_kind}),
        label_sets=label_sets(site, choice), near_duplicates=near_duplicates(site, view, choice, hidden),
    )  # fmt: skip


def discussions_of(site: Site, test_set: str, example: str, viewer: Person) -> list[tuple[Queue, Discussion]]:
    """The discussions of an image with their queues, limited to what the viewer may see."""
    discussions = site.ledger.discussions
    queued = site.ledger.items.about_image(test_set, example)
    return [(entry.queue, discussions.seen_by(entry.item.id, viewer)) for entry in queued]


def near_duplicates(site: Site, view: View, choice: Choice, hidden: HiddenImages) -> list[dict[str, str | None]] | None:
    """The near duplicates of the image with their URLs, labels and distances; None if nothing is stored to find them.

    Hidden images are left out.
    """
    finder, test_set, position = site.explorer.near_duplicates, view.test_set, choice.image or 0
    if choice.near:
        neighbors: list[Neighbor] | None = finder.by_features(view.answers, choice.near, position)
    else:
        neighbors = finder.by_hash(test_set, position, hidden=hidden.mask(test_set))
    if neighbors is None:
        return None
    visible = set(hidden.visible(test_set, [neighbor.position for neighbor in neighbors]))
    return [
        {
            "image": site.images.address(test_set.name, neighbor.position),
            "address": choice.basis().image_page(neighbor.position),
            "id": test_set.ids[neighbor.position],
            "label": label_of(test_set, neighbor.position),
            "words": neighbor.words,
        }
        for neighbor in neighbors
        if neighbor.position in visible
    ]


@router.get("/explore/class")
def explore_class(request: Request, site: SiteDep, session: Reviewer, requested: ChoiceQuery) -> Response:
    """The page of one class."""
    choice, view = resolve_choice(site, requested)
    space = view.test_set.class_space
    index = class_named(space, choice.class_id)
    hidden, confidence = site.hidden_from(session.person), site.workspace.store.config.confidence
    report = hidden.choose_visible(
        view.test_set,
        lambda mask: class_report(view, index, confidence=confidence, hidden=mask),
        lambda report: report.hardest,
    )
    basis = Choice(set=choice.set, labels=choice.labels)
    hardest = tiles(site, view, basis.replace(label=space.ids[index], order="hardest"), report.hardest, hidden)
    other_sets = [name for name in site.workspace.testsets.names() if name != choice.set]
    elsewhere = reference_images(site, hidden, space, index, sets=other_sets, count=_REFERENCES)
    references = [
        (address, Choice(set=name).image_page(position))
        for name, position in elsewhere
        if (address := site.images.address(name, position)) is not None
    ]
    return page(
        request, "explore_class.html", choice=choice, basis=basis, space=space, index=index, report=report,
        shown=class_view(space, index), hardest=hardest, references=references,
        scale=AxisRange.over([model.accuracy for model in report.models]),
        guide=f"/guide/{quote(space.name, safe='')}/{quote(space.ids[index], safe='')}",
        label_sets=label_sets(site, choice), hidden=hidden.note(view.test_set), notes=view.answers.coverage_notes,
    )  # fmt: skip
