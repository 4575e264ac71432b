"""No GET route reveals the label, predictions or votes of an image that the person still has to answer about."""

import itertools
import re
import shutil
from collections import deque
from dataclasses import dataclass
from html import unescape

import pytest
from leak_workspace import (
    CLASSES,
    MODELS,
    NAMES,
    PERSON,
    add_person_rows,
    ask_about,
    create_workspace,
    explore_address,
    names_of,
)
from starlette.routing import Route

import regrade
from regrade.app.routes import ROUTERS
from regrade.build.files import AnswerBatch, AnswerCollection, TaskCollection
from regrade.build.frequencies import Assignment
from regrade.ledger import GuideText, Mode, NewItem, Question, Queue, VoteContent

_keys = itertools.count()
PENDING = (0, 1)
"""The pending images."""

QUESTIONS = re.compile(r"^/(api/panel|panel)/\d+/\d+|^/api/queues/\d+/(next|last|items)")
"""Routes that ask a question: they may name the judged class, but never the image."""

NOT_WALKED = ("/images", "/tiles", "/enter", "/join", "/work/")


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    root = tmp_path_factory.mktemp("hiding")
    create_workspace(root).ledger.engine.dispose()
    return root / "W"


@pytest.fixture
def workspace(template, tmp_path):
    """Two classes have pending images as examples in the guide, right ones and wrong ones."""
    shutil.copytree(template, tmp_path / "W")
    workspace = regrade.open(tmp_path / "W")
    examples = tuple((test_set, NAMES[test_set].format(number)) for test_set in NAMES for number in PENDING)
    for label in CLASSES[:2]:
        author = workspace.ledger.people.named("Rob")
        workspace.ledger.guide.write("fauna", label, GuideText("x", (), examples), author, replaces=None)
    yield workspace
    workspace.ledger.engine.dispose()


@dataclass(frozen=True)
class Case:
    """A queue, an answer to its items, and the test sets in which its images must be recognized."""

    queue: Queue
    answer: str
    hidden_in: tuple[str, ...]


def exam(workspace, mode=Mode.EXAMINATION):
    queue = workspace.ledger.queues.create("asking", Question.LABEL, test_set="main", overlap=4, mode=mode)
    ask_about(workspace, queue, *PENDING)
    return Case(queue, CLASSES[0], ("main", "hard", "copy"))


def training(workspace):
    return exam(workspace, Mode.TRAINING)


def mixed(workspace):
    """An examination of images of two test sets."""
    queue = workspace.ledger.queues.create("asking", Question.LABEL, test_set="reference", overlap=4)
    marked = [NewItem(f"secret{number}.png", "main") for number in PENDING]
    workspace.ledger.items.add(queue, [NewItem("ref0-0.png"), *marked])
    return Case(queue, CLASSES[0], ("main", "hard", "copy"))


def judging(workspace):
    queue = workspace.ledger.queues.create("asking", Question.JUDGE, test_set="main", labels="multi", overlap=3)
    ask_about(workspace, queue, *PENDING, shift=1)
    return Case(queue, "wrong", ("main", "hard", "copy"))


def people(workspace):
    """Answers of a person and of a model, judged blind."""
    add_person_rows(workspace, workspace.store.root)
    queue = workspace.ledger.queues.create("asking", Question.JUDGE, test_set="main", labels="multi", overlap=1)
    for shift in (1, 2):
        ask_about(workspace, queue, *PENDING, shift=shift)
    return Case(queue, "wrong", ("main", "hard", "copy"))


def mistakes(workspace):
    options = {"test_set": "main", "labels": "multi", "overlap": 3, "model": MODELS[1]}
    queue = workspace.ledger.queues.create("asking", Question.MISTAKE, **options)
    ask_about(workspace, queue, *PENDING, shift=1)
    return Case(queue, "fine-grained", ("main", "hard", "copy"))


def reviewing(workspace):
    """The images of a build, to be kept or flagged."""
    build = workspace.build
    build.tasks("asking", "main", "reference", workers=1, positives=0, negatives=0)
    answers = [
        Assignment(task.id, "collector", frozenset(tile.image for tile in task.tiles))
        for task in TaskCollection(workspace.store.root).read("asking").tasks
    ]
    AnswerCollection(workspace.store.root).add(AnswerBatch("asking", tuple(answers)), None)
    build.sample("asking", "top", per_class=1, min_answers=1)
    build.review("asking")
    return Case(workspace.ledger.queues.named("asking review"), "keep", ("main", "hard", "copy"))


def addresses(queue, workspace):
    """Every GET route with valid values, and the filters of Explore."""
    yield from ("/", "/guide", "/api/openapi.json", "/api/classes/fauna", "/sign-in", "/team", "/team/export.json")
    yield from ("/work", "/builds", "/builds/shapes")
    yield from (f"/{place}/{queue.id}" for place in ("judge", "label", "mistake", "pair", "panel", "review", "select"))
    yield f"/training/{queue.id}"
    yield from (f"/api/queues/{queue.id}/{what}" for what in ("next", "last", "items/1", "items/1/comments", "task"))
    yield from (f"/api/queues/{queue.id}/items/{number}/causes" for number in range(1, 5))
    yield f"/panel/{queue.id}?show=decided"
    yield "/team/proposals"
    yield f"/api/queues/{queue.id}/items/1/proposals"
    yield from public_addresses(workspace)
    for number in range(1, 5):
        yield from (f"{place}/{queue.id}/{number}" for place in ("/panel", "/api/panel"))
        yield from (f"/panel/{queue.id}/{number}/{way}" for way in ("next", "previous"))
    for label in CLASSES:
        yield f"/api/queues/{queue.id}/references?class_id={label}"
        yield f"/review/{queue.id}/{label}"
        yield from (f"/{place}/fauna/{label}" for place in ("guide", "api/guide"))
        yield from (f"/guide/fauna/{label}/{part}" for part in ("edit", "history"))
        yield f"/api/guide/fauna/{label}?queue={queue.id}"
    for name in workspace.store.test_sets.names():
        yield from (f"/explore{page}?set={name}" for page in ("", "/images"))
        yield from (f"/explore/class?set={name}&class={label}" for label in CLASSES)
        yield from (f"/explore/images?set={name}&label={label}&order=hardest" for label in CLASSES)
        yield from (f"/explore/image?set={name}&image={position}" for position in range(len(CLASSES)))
        for model, outcome in itertools.product(MODELS, ("right", "wrong")):
            yield f"/explore/images?set={name}&model={model}&outcome={outcome}&order=confident"


def public_addresses(workspace):
    """The pages for visitors, through a link that is older than any examination."""
    queue = workspace.ledger.queues.create("proposals all", Question.JUDGE, test_set="main", labels="multi")
    token = workspace.ledger.proposals.new_link(queue)
    yield from (f"/propose/{token}{path}" for path in ("", "?page=2", "/classes", "/image/none", "/images/none"))


def walked(client, start):
    """Pages by address: the given ones, and those linked from them."""
    pages = {}
    waiting = deque((address, True) for address in dict.fromkeys(start))
    while waiting:
        address, follow = waiting.popleft()
        if address in pages or address.startswith(("/static", "/images")):
            continue
        answer = client.get(address)
        assert answer.status_code < 500, address
        pages[address] = answer.text
        if follow:
            links = dict.fromkeys(re.findall(r'href="(/[^"#]*)', answer.text))
            waiting.extend((unescape(link), False) for link in links)
    return pages


def routes_not_walked(addresses):
    """The GET routes that no address covers."""
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, Route)]
    paths = [route.path for route in routes if "GET" in route.methods and not route.path.startswith(NOT_WALKED)]
    pattern_of = {path: re.compile(re.sub(r"{[^}]*}", "[^?]+", path) + "$") for path in paths}
    pages = [address.partition("?")[0] for address in addresses]
    return [path for path in paths if not any(pattern_of[path].match(page) for page in pages)]


def leaks(pages, words):
    """The pages that contain one of the words, without the export, which is for owners and contains everything."""
    shown = {address: page for address, page in pages.items() if not address.startswith("/team/export")}
    return [(address, word) for address, word in itertools.product(shown, words) if word in shown[address]]


def page_of_image(client, test_set, number):
    return client.get("/explore/image", params={"set": test_set, "id": NAMES[test_set].format(number)})


def answer_all(workspace, case, name):
    person = workspace.ledger.people.named(name)
    severity = "minor" if case.queue.question is Question.MISTAKE else None
    while (item := workspace.ledger.items.next(case.queue, person)) is not None:
        workspace.ledger.votes.cast(item.id, person, VoteContent(f"leak-key-{next(_keys)}", case.answer, severity))


@pytest.mark.parametrize(
    ("make", "name"),
    [(exam, "Rita"), (exam, "Leo"), (exam, "Olga"), (mixed, "Rita"), (mixed, "Leo"), (training, "Rita"),
     (training, "Leo"), (judging, "Rita"),
     (judging, "Olga"), (people, "Rita"), (mistakes, "Rita"), (reviewing, "Rita"), (reviewing, "Leo")],
)  # fmt: skip
def test_get_routes_reveal_nothing_before_the_answer(app, workspace, visitor, make, name):
    case, client = make(workspace), visitor(name)
    pages = walked(client, addresses(case.queue, workspace))
    missing = routes_not_walked(pages)
    assert not missing, f"no address of {missing} is tested for leaks: add one to addresses() above"
    names = [NAMES[test_set].format(number) for test_set in case.hidden_in for number in PENDING]
    shown = [explore_address(app, workspace, test_set, number) for test_set in case.hidden_in for number in PENDING]
    assert leaks(pages, [*names, *shown]) == []
    if make is people:
        assert (
            leaks({address: page for address, page in pages.items() if QUESTIONS.match(address)}, [PERSON, *MODELS])
            == []
        )
    if name == "Leo":
        return
    for test_set, number in itertools.product(case.hidden_in, PENDING):
        page = page_of_image(client, test_set, number)
        assert page.status_code == 200 and "asking" in page.text
        assert not [word for word in (*CLASSES, *MODELS, PERSON, "/images/") if word in page.text]


@pytest.mark.parametrize("make", [exam, training, judging, people, mistakes, reviewing])
def test_explore_shows_an_image_after_the_answer(app, workspace, visitor, make):
    case, client = make(workspace), visitor("Rita")
    answer_all(workspace, case, "Rita")
    for test_set, number in itertools.product(NAMES, PENDING):
        page = page_of_image(client, test_set, number).text
        assert CLASSES[number] in page and MODELS[0] in page
        listed = client.get(f"/explore/images?set={test_set}").text
        assert NAMES[test_set].format(number) in listed
        assert explore_address(app, workspace, test_set, number) in listed


def test_leak_scanner_finds_images_outside_queues(app, workspace, visitor):
    """The scanner itself works: without a queue it finds every name."""
    queue = workspace.ledger.queues.create("asking", Question.JUDGE, test_set="main", labels="multi")
    pages = walked(visitor("Rita"), addresses(queue, workspace))
    for number in PENDING:
        shown = [explore_address(app, workspace, test_set, number) for test_set in NAMES]
        words = [*names_of(number), *shown]
        assert {word for _, word in leaks(pages, words)} == set(words)
