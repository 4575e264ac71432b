"""regrade serve and regrade team: one-time links, accounts, signals and proxies."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from contextlib import closing
from http.cookiejar import CookieJar

import pytest
from running import HANG_LIMIT, run, run_well


@pytest.fixture
def workspace(tmp_path):
    run_well("init", tmp_path / "W")
    return tmp_path / "W"


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def processes():
    """Servers that are stopped after the test."""
    running = []
    yield running
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def started(workspace, port, processes):
    """Starts a server and returns the first line it prints."""

    def start(*options):
        command = [sys.executable, "-m", "regrade", "serve", "--port", str(port), "-w", str(workspace), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        return process.stdout.readline().strip()

    return start


def new_browser():
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))


def test_links_sign_in_once_without_an_account(started, port, workspace):
    link = started()
    assert link.startswith(f"http://127.0.0.1:{port}/enter/")
    browser = new_browser()
    assert "Hello, " in browser.open(link).read().decode()
    assert "Hello, " in browser.open(link).read().decode()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        new_browser().open(link)
    another = run_well("team", "link", "--address", f"http://127.0.0.1:{port}/", "-w", workspace).out.strip()
    assert another.startswith(f"http://127.0.0.1:{port}/enter/")
    assert "Hello, " in new_browser().open(another).read().decode()


class TestStop:
    """A server stops on a signal, even with open connections, and closes its ledger."""

    @pytest.fixture
    def serving(self, started, processes, workspace, run_warm):
        """A running server with accounts."""
        assert run_warm("team", "add", "Ada", "--role", "owner", "-w", workspace).code == 0
        started("--accounts")
        return processes[-1]

    @pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
    def test_signals_stop_the_server_with_open_connections(self, serving, port, workspace, number, code):
        with closing(http.client.HTTPConnection("127.0.0.1", port)) as idle:
            idle.request("GET", "/sign-in")
            assert idle.getresponse().read()
            assert (workspace / "ledger.sqlite-wal").exists()
            serving.send_signal(number)
            _, err = serving.communicate(timeout=HANG_LIMIT)
        assert (serving.returncode, err) == (code, "")
        assert sorted(path.name for path in workspace.glob("ledger*")) == ["ledger.json", "ledger.sqlite"]

    def test_incomplete_request_does_not_block_the_stop(self, serving, port):
        with socket.create_connection(("127.0.0.1", port)) as line:
            head = "POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            line.sendall((head + "Content-Length: 10\r\nExpect: 100-continue\r\n\r\n").encode())
            assert line.recv(100).startswith(b"HTTP/1.1 100")  # the server waits for the body
            serving.send_signal(signal.SIGTERM)
            _, err = serving.communicate(timeout=HANG_LIMIT)
            assert serving.returncode == 0
            assert "Traceback" not in err
            assert line.recv(1000).startswith(b"HTTP/1.1 503")

    def test_leave_does_not_wait_for_threads(self):
        script = "import threading; from regrade.cli.serve import leave; "
        script += "threading.Thread(target=threading.Event().wait).start(); leave(7)"
        assert subprocess.run([sys.executable, "-c", script], timeout=HANG_LIMIT, check=False).returncode == 7


INTERRUPT = """
import builtins, os, signal, socket, sys
real_import, real_bind, where = builtins.__import__, socket.socket.bind, sys.argv.pop(1)

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

def import_(name, *rest):
    if name == where:
        interrupt()
    return real_import(name, *rest)

builtins.__import__ = import_
from regrade.cli import main

if where == "bind":
    class Socket(socket.socket):
        def bind(self, address):
            interrupt()
            super().bind(address)
    socket.socket = Socket
main()
"""


@pytest.mark.parametrize(
    "where",
    ["typer", "regrade.cli.options", "regrade.workspace", "sqlalchemy", "regrade.app", "uvicorn", "bind"],
)
def test_ctrl_c_during_the_start_prints_nothing(workspace, port, where):
    arguments = [where, "serve", "--port", str(port), "-w", str(workspace)]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT, *arguments], capture_output=True, text=True, timeout=HANG_LIMIT, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("proxy", ["nginx", "10.0.0.0/40"])
def test_proxy_must_be_an_address(workspace, proxy):
    done = run("serve", "--proxy", proxy, "-w", workspace)
    assert done.code == 1
    assert done.err.startswith(f"error: {proxy!r} is not a proxy address")


@pytest.mark.parametrize("options, secure", [((), True), (("--proxy", "10.0.0.0/8"), False)])
def test_headers_of_a_trusted_proxy_are_used(started, workspace, port, options, secure):
    link = run_well(
        "team", "add", "Ada", "--role", "owner", "--address", f"http://127.0.0.1:{port}", "-w", workspace
    ).out
    started("--accounts", *options)
    form = urllib.parse.urlencode({"password": "a long password", "again": "a long password"})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-Proto": "https"}
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as line:
        line.request("POST", urllib.parse.urlsplit(link.strip()).path, form, headers)
        answer = line.getresponse()
        assert answer.status == 303
        assert ("Secure" in answer.headers["set-cookie"]) is secure


def test_public_address_needs_an_owner_account(workspace):
    for options in (("--host", "0.0.0.0"), ("--accounts",)):
        done = run("serve", *options, "-w", workspace)
        assert done.code == 1
        assert done.err.startswith("error: no owner has an account") and "regrade team add" in done.err


def test_used_port_is_rejected(workspace, port):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        done = run("serve", "--port", port, "-w", workspace)
    assert done.code == 1
    assert done.err == f"error: cannot listen on port {port} of 127.0.0.1: Address already in use\n"


def test_team_adds_invites_and_closes_people(workspace):
    added = run_well("team", "add", "Ada Lovelace", "--role", "owner", "-w", workspace)
    assert re.fullmatch(r"http://127\.0\.0\.1:8765/join/[\w-]{32}\n", added.out)
    again = run_well("team", "invite", "Ada Lovelace", "--address", "https://grades.example/", "-w", workspace)
    assert again.out.startswith("https://grades.example/join/")
    run_well("team", "add", "Bob", "-w", workspace)
    run_well("team", "close", "Bob", "-w", workspace)
    people = json.loads(run_well("team", "list", "--json", "-w", workspace).out)["people"]
    assert [(person["name"], person["role"], person["account"]) for person in people] == [
        ("Ada Lovelace", "owner", "invited"),
        ("Bob", "reviewer", "closed"),
    ]
    table = run_well("team", "list", "--csv", "-w", workspace).out.splitlines()
    assert table[1:] == ['Ada Lovelace,owner,"invited just now, expires in 7 days",never', "Bob,reviewer,closed,never"]
    run_well("team", "sign-out", "Bob", "-w", workspace)


@pytest.mark.parametrize(
    "command, message",
    [
        (("team", "add", "Ada"), "there is a person 'Ada' already"),
        (("team", "add", "  "), "the name of a person must not be empty"),
        (("team", "invite", "Adda"), "unknown person 'Adda'; did you mean Ada?"),
        (("team", "close", "Adda"), "unknown person 'Adda'; did you mean Ada?"),
        (("team", "sign-out", "Adda"), "unknown person 'Adda'; did you mean Ada?"),
    ],
)
def test_team_rejects_bad_names(workspace, command, message):
    run_well("team", "add", "Ada", "-w", workspace)
    done = run(*command, "-w", workspace)
    assert (done.code, done.err.splitlines()[0].removeprefix("error: ")) == (1, message)
