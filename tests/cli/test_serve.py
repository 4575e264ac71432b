"""regrade serve and regrade team: the link that lets the owner in, and accounts for everyone else."""

import json
import re
import socket
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar

import pytest
from running import run, run_well


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
def started(workspace, port):
    """Starts a server and gives what it printed first."""
    running = []

    def start(*options):
        command = [sys.executable, "-m", "regrade", "serve", "--port", str(port), "-w", str(workspace), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        return process.stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_link_lets_its_owner_in_and_needs_no_account(started, port):
    link = started()
    assert link.startswith(f"http://127.0.0.1:{port}/enter/")
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    assert "Hello, " in browser.open(link).read().decode()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.build_opener().open(link)


def test_an_address_that_others_reach_needs_an_owner(workspace):
    for options in (("--host", "0.0.0.0"), ("--accounts",)):
        done = run("serve", *options, "-w", workspace)
        assert done.code == 1
        assert done.err.startswith("error: people need accounts") and "regrade team add" in done.err


def test_a_port_that_is_taken_is_told(workspace, port):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        done = run("serve", "--port", port, "-w", workspace)
    assert done.code == 1
    assert done.err == f"error: port {port} of 127.0.0.1 cannot be used: Address already in use\n"


def test_people_are_added_invited_and_closed(workspace):
    added = run_well("team", "add", "Ada Lovelace", "--role", "owner", "-w", workspace)
    assert re.fullmatch(r"http://127\.0\.0\.1:8765/join/[\w-]{32}\n", added.out)
    again = run_well("team", "invite", "Ada Lovelace", "--address", "https://grades.example/", "-w", workspace)
    assert again.out.startswith("https://grades.example/join/")
    run_well("team", "add", "Bob", "-w", workspace)
    run_well("team", "close", "Bob", "-w", workspace)
    people = json.loads(run_well("team", "list", "--json", "-w", workspace).out)["people"]
    assert [(one["name"], one["role"], one["account"]) for one in people] == [
        ("Ada Lovelace", "owner", "open"),
        ("Bob", "reviewer", "closed"),
    ]


@pytest.mark.parametrize(
    "command, said",
    [
        (("team", "add", "Ada"), "someone is called 'Ada' already"),
        (("team", "add", "  "), "a person has a name"),
        (("team", "invite", "Adda"), "unknown person 'Adda'; did you mean Ada?"),
        (("team", "close", "Adda"), "unknown person 'Adda'; did you mean Ada?"),
    ],
)
def test_bad_names_are_one_line(workspace, command, said):
    run_well("team", "add", "Ada", "-w", workspace)
    done = run(*command, "-w", workspace)
    assert (done.code, done.err.splitlines()[0].removeprefix("error: ")) == (1, said)
