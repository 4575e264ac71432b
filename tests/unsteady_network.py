"""The app behind an unsteady network: requests are delayed, fail, or get half a response."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from browser import new_window
from playwright.sync_api import BrowserContext, Page, Route, expect

from regrade.app.sessions import Sessions
from regrade.core import MistakeCategory
from regrade.ledger import Mode, NewItem, Question, Queue
from regrade.workspace import Workspace

LATENCY = 0.4
"""Seconds added to every vote, undo and next item in tests with latency."""

_WORK = re.compile(r"/api/queues/\d+/(votes|undo|next|last|items)|/api/panel/")
_numbers = count(1)


@dataclass
class Failure:
    """What matching requests get: a status with headers, or half of the real response."""

    path: str
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    halved: bool = False


class UnsteadyNetwork:
    """An ASGI app around another; tests set ``latency`` and ``failures``."""

    def __init__(self, app) -> None:
        self.app = app
        self.steady()

    def steady(self) -> None:
        self.latency = 0.0
        self.failures: list[Failure] = []

    async def __call__(self, scope, receive, send) -> None:
        path = scope.get("path", "")
        if self.latency and _WORK.search(path):
            await asyncio.sleep(self.latency)
        failure = next((each for each in self.failures if re.search(each.path, path)), None)
        if failure is None:
            await self.app(scope, receive, send)
        elif failure.halved:
            await self._halved(scope, receive, send)
        else:
            headers = [(name.encode(), value.encode()) for name, value in failure.headers.items()]
            await send({"type": "http.response.start", "status": failure.status, "headers": headers})
            await send({"type": "http.response.body", "body": b"Internal Server Error"})

    async def _halved(self, scope, receive, send) -> None:
        """Send the headers and half of the body: the server then closes the connection."""

        async def half(message) -> None:
            if message["type"] == "http.response.body":
                body = message["body"]
                message = {**message, "body": body[: len(body) // 2]}
            await send(message)

        await self.app(scope, receive, half)


@dataclass
class Unsteady:
    """A workspace, its server behind an unsteady network, and the browser windows of people."""

    workspace: Workspace
    address: str
    network: UnsteadyNetwork
    browser: object
    contexts: list[BrowserContext] = field(default_factory=list)
    script_errors: list[str] = field(default_factory=list)

    def context(self, name: str, **options) -> BrowserContext:
        """A browser window in which a person is signed in."""
        context = new_window(
            self.browser, **{"viewport": {"width": 1280, "height": 800}, **options}, base_url=self.address
        )
        sessions = Sessions(self.workspace.ledger.accounts)
        cookie = sessions.cookie_for(self.workspace.ledger.people.named(name))
        context.add_cookies([{"name": sessions.cookie_name, "value": cookie, "url": self.address, "httpOnly": True}])
        context.on("weberror", lambda error: self.script_errors.append(str(error.error)))
        self.contexts.append(context)
        return context

    def queue(self, question: Question, *, items: int = 3, overlap: int = 3, mode: Mode = Mode.EXAMINATION) -> Queue:
        """A new queue."""
        ledger, target = self.workspace.ledger, self.workspace.store.test_set("digits")
        labels = "" if question is Question.LABEL else "multi"
        queue = ledger.queues.create(
            f"queue {next(_numbers)}", question, test_set="digits", labels=labels, overlap=overlap, mode=mode
        )
        classes = ["" if question is Question.LABEL else str((int(target.labels[n]) + 1) % 10) for n in range(items)]
        ledger.items.add(queue, [NewItem(target.ids[n], class_id) for n, class_id in enumerate(classes)])
        if question is Question.LABEL:  # people who have to label an image may not see it on the panel
            ledger.queues.assign(queue, [ledger.people.named("Leo")])
        return queue

    def votes(self, queue: Queue, name: str) -> list[dict]:
        """A person's votes in a queue as ledger rows, oldest first."""
        rows = self.workspace.ledger.rows()
        return [row for row in rows if (row["kind"], row.get("queue"), row.get("person")) == ("vote", queue.name, name)]

    def standing(self, queue: Queue, name: str) -> list[str]:
        """A person's current answers in a queue, by image."""
        last = {row["example"]: row["answer"] for row in self.votes(queue, name)}
        return [last[image] for image in sorted(last) if last[image] is not None]


@dataclass(frozen=True)
class Station:
    """A work page: its question, the person, and the keys of two different answers."""

    name: str
    question: Question
    person: str
    answers: tuple[str, str]
    keys: tuple[tuple[str, ...], tuple[str, ...]]
    mode: Mode = Mode.EXAMINATION

    def open(self, unsteady: Unsteady, queue: Queue, *, context: BrowserContext | None = None) -> Page:
        """Open the page of a queue."""
        page = (context or unsteady.context(self.person)).new_page()
        page.goto(f"/{self.question.name}/{queue.id}")
        return page

    def answer(self, page: Page, which: int) -> None:
        """Give one of the two answers to the shown image, by keyboard."""
        for key in self.keys[which]:
            page.keyboard.press(key)
            if key == "Enter" and page.locator("#chosen").is_hidden():
                break


_KINDS = [kind.value for kind in MistakeCategory]
JUDGE = Station("judge", Question.JUDGE, "Rita", ("correct", "wrong"), (("c",), ("w",)))
MISTAKE = Station("mistake", Question.MISTAKE, "Rita", (_KINDS[0], _KINDS[1]), (("1", "a"), ("2", "i")))
_LABELS = (("/", "3", "Enter", "Enter"), ("/", "5", "Enter", "Enter"))
EXAMINATION = Station("examination", Question.LABEL, "Leo", ("3", "5"), _LABELS)
TRAINING = Station("training", Question.LABEL, "Leo", ("3", "5"), _LABELS, Mode.TRAINING)
STATIONS = (JUDGE, MISTAKE, EXAMINATION, TRAINING)


@contextmanager
def losing(page: Page, what: str, *, answered: bool) -> Iterator[None]:
    """Lose a request before the server gets it, or its response if ``answered``.

    Retries of the same request are lost too until the page shows its notice, so that timing does not matter. No other
    request is lost.
    """
    lost: list[tuple[str, str | None]] = []

    def lose(route: Route) -> None:
        if answered and not lost:
            route.fetch()
        lost.append((route.request.url, route.request.post_data))
        route.abort()

    page.route(f"**/{what}", lose)
    yield
    expect(page.locator("#notice")).to_contain_text("No connection")
    page.unroute(f"**/{what}", lose)
    assert len(set(lost)) == 1, lost
    hurry(page)


@contextmanager
def holding(page: Page, what: str) -> Iterator[None]:
    """Delay one request until the block ends and the page has sent it."""
    held: list[Route] = []
    over = False

    def hold(route: Route) -> None:
        if over:
            route.continue_()
        else:
            held.append(route)

    page.route(f"**/{what}", hold, times=1)
    with page.expect_request(f"**/{what}"):
        yield
    over = True
    for route in held:
        route.continue_()


def hurry(page: Page) -> None:
    """Let a page retry at once, as when the connection is back, instead of after its pause."""
    page.evaluate("() => window.dispatchEvent(new Event('online'))")
