"""A small workspace with real images, people with accounts, and a server that can be killed and started again."""

import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import numpy as np
import pytest
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from browser import new_window
from databases import without_disk_sync
from grid_world import make_grids
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page
from unsteady_network import Unsteady, UnsteadyNetwork
from work_page import PASSWORD

import regrade
from regrade.app import create_app
from regrade.app.sessions import Sessions
from regrade.ledger import NewItem, Question, Queue, Role
from regrade.workspace import Workspace

PEOPLE = {
    "Olga": Role.OWNER, "Rita": Role.REVIEWER, "Rob": Role.REVIEWER, "Rose": Role.REVIEWER, "Leo": Role.LABELER,
    "Wes": Role.WORKER,
}  # fmt: skip
"""Everyone in the ledger, by role."""

MODELS = ("alpha", "beta", "gamma")


@pytest.fixture(scope="session", autouse=True)
def _without_disk_sync():
    with without_disk_sync():
        yield


@pytest.fixture(scope="session")
def digits_template(tmp_path_factory) -> Path:
    """60 digits to ask about, 120 for reference, three models, a label set with one class per image, and people."""
    from sklearn.datasets import load_digits

    root = tmp_path_factory.mktemp("digits")
    workspace = regrade.init(root / "W")
    digits = load_digits()
    for name, rows in (("digits", slice(0, 60)), ("reference", slice(100, 220))):
        _write_images(root / name, digits.images[rows], digits.target[rows])
        workspace.testsets.add(name, root / name, classes="digits")
    target = workspace.store.test_set("digits")
    rng = np.random.default_rng(0)
    for number, model in enumerate(MODELS):
        scores = rng.random((len(target), 10)) + (1.2 - 0.3 * number) * np.eye(10)[target.labels]
        workspace.models.add_predictions(model, scores / scores.sum(axis=1, keepdims=True), test_set="digits")
    lines = [
        f"{example},{target.class_space.ids[label]}" for example, label in zip(target.ids, target.labels, strict=True)
    ]
    (root / "multi.csv").write_text("image,class\n" + "\n".join(lines) + "\n")
    workspace.labels.import_file(root / "multi.csv", test_set="digits", name="multi")
    accounts = workspace.ledger.accounts
    for name, role in PEOPLE.items():
        accounts.accept(accounts.invite(workspace.ledger.people.add(name, role)), PASSWORD)
    workspace.ledger.engine.dispose()
    return root / "W"


def _write_images(folder: Path, images, labels) -> None:
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        place = folder / str(label)
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray((image * 15.9).astype(np.uint8)).save(place / f"{number:04d}.png")


@pytest.fixture(scope="session")
def grid_template(tmp_path_factory) -> Path:
    """A workspace with the build ``shapes``, an owner, a reviewer and two workers."""
    root = tmp_path_factory.mktemp("grids")
    make_grids(root).ledger.engine.dispose()
    return root / "W"


@pytest.fixture
def workspace(digits_template: Path, tmp_path: Path) -> Workspace:
    """The workspace for one test, with everyone in `PEOPLE`; all have the same password."""
    shutil.copytree(digits_template, tmp_path / "W")
    return regrade.open(tmp_path / "W")


@pytest.fixture
def judge_queue(workspace: Workspace):
    """Twelve predictions of digits to judge, by three people each."""
    return open_judge_queue(workspace)


def open_judge_queue(workspace: Workspace) -> Queue:
    queue = workspace.ledger.queues.create("novel", Question.JUDGE, test_set="digits", labels="multi", overlap=3)
    target = workspace.store.test_set("digits")
    pairs = [NewItem(target.ids[n], str((int(target.labels[n]) + 1) % 10)) for n in range(12)]
    workspace.ledger.items.add(queue, pairs)
    return queue


class SingleCallTransport(httpx2.BaseTransport):
    """Sends a request with one call into the event loop; Starlette's client makes eight, which is slower."""

    def __init__(self, app, event_loop_thread: BlockingPortal) -> None:
        self._app = httpx2.ASGITransport(app, client=("testclient", 50_000))
        self._event_loop_thread = event_loop_thread

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        return self._event_loop_thread.call(self._respond, request)

    async def _respond(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._app.handle_async_request(request)
        body = b"".join([part async for part in response.stream])
        return httpx2.Response(response.status_code, headers=response.headers, stream=httpx2.ByteStream(body))


class Visitor(httpx2.Client):
    """A client of the app without a browser; ``write`` sends JSON and ``submit`` a form, with the session's token."""

    token = ""

    def __init__(self, app, event_loop_thread: BlockingPortal) -> None:
        super().__init__(transport=SingleCallTransport(app, event_loop_thread), base_url="http://testserver")
        self.app = app

    def write(self, address: str, **values):
        return self.post(address, json=values, headers={"X-Regrade-Token": self.token})

    def submit(self, address: str, **values):
        return self.post(address, data={"token": self.token, **values})


@pytest.fixture
def app(workspace: Workspace):
    """The app with accounts."""
    return create_app(workspace, local=False)


@pytest.fixture(scope="session")
def event_loop_thread():
    """One event loop that answers all requests of visitors, as in a server."""
    with start_blocking_portal() as portal:
        yield portal


def visitors(app, workspace: Workspace, event_loop_thread: BlockingPortal):
    """Return a function that creates visitors of an app."""
    sessions = Sessions(workspace.ledger.accounts)

    def create_visitor(name: str | None = None) -> Visitor:
        client = Visitor(app, event_loop_thread)
        if name is not None:
            cookie = sessions.cookie_for(workspace.ledger.people.named(name))
            client.cookies.set(sessions.cookie_name, cookie)
            session = sessions.session_of(cookie)
            assert session is not None
            client.token = session.token
        return client

    return create_visitor


@pytest.fixture(scope="session")
def visitors_of(event_loop_thread: BlockingPortal):
    """Creates visitors of any app and its workspace, for fixtures that several tests share."""
    return lambda app, workspace: visitors(app, workspace, event_loop_thread)


@pytest.fixture
def visitor(app, workspace: Workspace, event_loop_thread: BlockingPortal):
    """Creates visitors: ``visitor("Rita")`` is signed in, ``visitor()`` is not."""
    return visitors(app, workspace, event_loop_thread)


@pytest.fixture(scope="module")
def bystander(digits_template: Path, tmp_path_factory, event_loop_thread: BlockingPortal):
    """Creates visitors of one app with `judge_queue`, shared by a test file whose tests change nothing."""
    root = tmp_path_factory.mktemp("shared") / "W"
    shutil.copytree(digits_template, root)
    workspace = regrade.open(root)
    open_judge_queue(workspace)

    def state():
        members = workspace.ledger.accounts.members()
        return workspace.ledger.rows(), [(member.person, member.state) for member in members]

    before = state()
    yield visitors(create_app(workspace, local=False), workspace, event_loop_thread)
    assert state() == before
    workspace.ledger.engine.dispose()


@dataclass
class Server:
    """A server of the app."""

    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(app):
    """Serve an app from a thread of this process; yields the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        server.force_exit = True
        thread.join()


@pytest.fixture
def serve_app():
    """Serves an app until the test ends; returns the address."""
    with ExitStack() as running:
        yield lambda app: f"http://127.0.0.1:{running.enter_context(serving(app))}"


@pytest.fixture
def server(workspace: Workspace):
    """The app with accounts, served from a thread of this process."""
    app = create_app(regrade.open(workspace.store.root), local=False)
    with serving(app) as port:
        yield Server(port)
    app.state.site.ledger.engine.dispose()


@dataclass
class Process(Server):
    """`regrade serve --accounts` in a process of its own, which can be killed and started again."""

    root: Path
    process: subprocess.Popen | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "regrade", "serve", "--accounts", "--port", str(self.port), "-w", self.root]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), "the server has stopped"

    def kill(self) -> None:
        """Kill the process, as a power failure would."""
        assert self.process is not None and self.process.stdout is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def process(workspace: Workspace):
    """A server of the workspace that can be killed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Process(port, workspace.store.root)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def context_of(browser: Browser, workspace: Workspace):
    """Creates browser windows in which a person is signed in."""
    sessions = Sessions(workspace.ledger.accounts)
    contexts: list[BrowserContext] = []

    def opened(server: Server, name: str, *, width: int = 1280, height: int = 800) -> BrowserContext:
        context = new_window(browser, viewport={"width": width, "height": height}, base_url=server.address)
        cookie = sessions.cookie_for(workspace.ledger.people.named(name))
        context.add_cookies([{"name": sessions.cookie_name, "value": cookie, "url": server.address, "httpOnly": True}])
        contexts.append(context)
        return context

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def page_of(context_of):
    """Creates pages on which a person is signed in; script errors fail the test."""
    script_errors: list[str] = []

    def opened(server: Server, name: str, **how) -> Page:
        page = context_of(server, name, **how).new_page()
        page.on("pageerror", lambda error: script_errors.append(str(error)))
        return page

    yield opened
    assert script_errors == []


@pytest.fixture(scope="session")
def unsteady_server(digits_template: Path, tmp_path_factory, browser: Browser):
    """One workspace and one server behind an unsteady network, shared by tests with their own queues."""
    root = tmp_path_factory.mktemp("unsteady") / "W"
    shutil.copytree(digits_template, root)
    app = create_app(regrade.open(root), local=False)
    network = UnsteadyNetwork(app)
    with serving(network) as port:
        yield Unsteady(regrade.open(root), f"http://127.0.0.1:{port}", network, browser)
    app.state.site.ledger.engine.dispose()


@pytest.fixture
def unsteady(unsteady_server: Unsteady):
    """The server behind an unsteady network, steady at first; script errors fail the test."""
    unsteady_server.network.steady()
    unsteady_server.script_errors.clear()
    yield unsteady_server
    for context in unsteady_server.contexts:
        context.close()
    unsteady_server.contexts.clear()
    ledger = unsteady_server.workspace.ledger
    for queue in ledger.queues.all():  # images that are pending in the queues of one test would be hidden in the next
        ledger.queues.assign(queue, [ledger.people.named("Olga")])
    assert unsteady_server.script_errors == []
