"""Who may do what: every route, for everyone; writes without a token, and with someone else's."""

import pytest
from starlette.routing import Mount, Route

from regrade.app.routes import ROUTERS

NO_ONE, LABELER, REVIEWER, OWNER = range(4)
WHO = {NO_ONE: None, LABELER: "Leo", REVIEWER: "Rita", OWNER: "Olga"}

LEAST = {
    "GET /enter/{word}": NO_ONE,
    "GET /sign-in": NO_ONE,
    "POST /sign-in": NO_ONE,
    "GET /join/{word}": NO_ONE,
    "POST /join/{word}": NO_ONE,
    "GET /api/openapi.json": NO_ONE,
    "GET /static": NO_ONE,
    "POST /sign-out": LABELER,
    "GET /": LABELER,
    "GET /images/{word}": LABELER,
    "GET /images/{queue_id}/{word}": LABELER,
    "GET /label/{queue_id}": LABELER,
    "GET /guide": LABELER,
    "GET /guide/{class_space}/{class_id}": LABELER,
    "GET /guide/{class_space}/{class_id}/history": LABELER,
    "GET /guide/{class_space}/{class_id}/edit": REVIEWER,
    "POST /guide/{class_space}/{class_id}/edit": REVIEWER,
    "POST /guide/{class_space}/{class_id}/restore": REVIEWER,
    "GET /api/guide/{class_space}/{class_id}": LABELER,
    "POST /api/guide/preview": REVIEWER,
    "GET /api/classes/{class_space}": LABELER,
    "GET /api/queues/{queue_id}/next": LABELER,
    "POST /api/queues/{queue_id}/votes": LABELER,
    "POST /api/queues/{queue_id}/undo": LABELER,
    "GET /api/queues/{queue_id}/last": LABELER,
    "GET /api/queues/{queue_id}/items/{item_id}": LABELER,
    "POST /api/queues/{queue_id}/skip": LABELER,
    "POST /api/queues/{queue_id}/return-skipped": LABELER,
    "POST /api/queues/{queue_id}/reports": LABELER,
    "GET /api/queues/{queue_id}/references": LABELER,
    "GET /judge/{queue_id}": REVIEWER,
    "GET /mistake/{queue_id}": REVIEWER,
    "GET /panel/{queue_id}": REVIEWER,
    "GET /panel/{queue_id}/{item_id}": REVIEWER,
    "GET /panel/{queue_id}/{item_id}/next": REVIEWER,
    "GET /panel/{queue_id}/{item_id}/previous": REVIEWER,
    "GET /api/panel/{queue_id}/{item_id}": REVIEWER,
    "POST /api/panel/{queue_id}/{item_id}/comments": REVIEWER,
    "POST /api/panel/{queue_id}/{item_id}/lock": REVIEWER,
    "POST /api/panel/{queue_id}/{item_id}/reopen": REVIEWER,
    "POST /api/panel/{queue_id}/{item_id}/again": REVIEWER,
    "GET /explore": REVIEWER,
    "GET /explore/images": REVIEWER,
    "GET /explore/image": REVIEWER,
    "GET /explore/class": REVIEWER,
    "GET /team": OWNER,
    "POST /team/people": OWNER,
    "POST /team/people/{person_id}/invite": OWNER,
    "POST /team/people/{person_id}/role": OWNER,
    "POST /team/people/{person_id}/close": OWNER,
    "POST /team/people/{person_id}/sign-out": OWNER,
    "POST /team/queues/{queue_id}": OWNER,
    "POST /team/queues/{queue_id}/overlap": OWNER,
    "POST /team/queues/{queue_id}/publish": OWNER,
    "POST /team/reports/{report_id}/clear": OWNER,
    "GET /team/export.{form}": OWNER,
}
"""The least that someone must be for each route."""


def routes(app):
    """Every route of the app: those of its routers, and the few that it has itself."""
    for route in [*app.routes, *(route for router in ROUTERS for route in router.routes)]:
        if isinstance(route, Mount):
            yield f"GET {route.path}"
        elif isinstance(route, Route):
            path = route.path.replace(":path}", "}")
            yield from (f"{method} {path}" for method in sorted(route.methods - {"HEAD"}))


def test_every_route_says_who_may_use_it(app):
    assert sorted(routes(app)) == sorted(LEAST)


def asked(client, route, *, token):
    """A request to a route, with some values where it wants any."""
    method, path = route.split(" ")
    values = {
        "queue_id": "1", "item_id": "1", "person_id": "1", "word": "word", "class_space": "digits", "class_id": "1",
        "form": "csv", "number": "1", "report_id": "1",
    }  # fmt: skip
    headers = {"X-Regrade-Token": token} if token is not None else {}
    return client.request(method, path.format(**values), headers=headers, **({"json": {}} if method == "POST" else {}))


GUARDED = [route for route, least in LEAST.items() if least > NO_ONE]
REFUSED = [(route, who) for who in WHO for route in GUARDED if who < LEAST[route]]
ADMITTED = [(route, who) for who in WHO for route in GUARDED if who >= LEAST[route]]


@pytest.mark.parametrize(("route", "who"), REFUSED)
def test_a_route_refuses_those_below_its_role(bystander, route, who):
    client = bystander(WHO[who])
    answer = asked(client, route, token=client.token)
    if who == NO_ONE:
        location = answer.headers.get("location", "").partition("?")[0]
        assert (answer.status_code, location) in [(303, "/sign-in"), (401, "")]
    else:
        assert answer.status_code == 403


@pytest.mark.parametrize(("route", "who"), [(route, who) for route, who in ADMITTED if route.startswith("GET")])
def test_a_route_that_reads_lets_in_its_role_and_those_above(bystander, route, who):
    client = bystander(WHO[who])
    assert asked(client, route, token=client.token).status_code not in (401, 403, 500)


@pytest.mark.parametrize(("route", "who"), [(route, who) for route, who in ADMITTED if route.startswith("POST")])
@pytest.mark.usefixtures("judge_queue")
def test_a_route_that_writes_lets_in_its_role_and_those_above(visitor, route, who):
    client = visitor(WHO[who])
    assert asked(client, route, token=client.token).status_code not in (401, 403, 500)


@pytest.mark.parametrize("route", [route for route in GUARDED if "POST" in route])
def test_a_write_needs_the_token_of_its_own_session(bystander, route):
    client, other = bystander("Olga"), bystander("Rita")
    for token in (None, "", "0" * 64, other.token):
        assert asked(client, route, token=token).status_code == 403
    assert client.token != other.token


def test_a_cookie_that_was_changed_is_no_cookie(app, visitor):
    client = visitor("Olga")
    name = app.state.site.sessions.cookie_name
    cookie = client.cookies[name]
    for changed in (cookie[:-1], "x" + cookie, cookie.swapcase(), "", "a.b.c", "é"):
        stranger = visitor()
        assert stranger.get("/", headers={"Cookie": f"{name}={changed}".encode()}).status_code == 303


def test_a_closed_account_ends_its_sessions_at_once(app, visitor, workspace):
    client = visitor("Rita")
    assert client.get("/").status_code == 200
    app.state.site.accounts.close(workspace.ledger.person("Rita"))
    assert client.get("/").status_code == 303


def test_a_labeler_sees_only_queues_of_labels(visitor, judge_queue):
    leo = visitor("Leo")
    assert "novel" not in leo.get("/").text
    assert leo.get(f"/api/queues/{judge_queue.id}/next").status_code == 404
    vote = {"item": 1, "key": "12345678", "answer": "correct"}
    assert leo.write(f"/api/queues/{judge_queue.id}/votes", **vote).status_code == 404


def test_a_queue_that_was_given_to_others_is_not_there(visitor, judge_queue, workspace):
    workspace.ledger.assign(judge_queue, [workspace.ledger.person("Rita")])
    assert visitor("Rita").get(f"/judge/{judge_queue.id}").status_code == 200
    assert visitor("Rob").get(f"/judge/{judge_queue.id}").status_code == 404
    assert visitor("Rob").get(f"/api/queues/{judge_queue.id}/next").status_code == 404


@pytest.mark.parametrize("address", ["/team/export.json", "/images/1/abc", "/api/queues/1/next"])
def test_data_without_a_session_is_refused_and_no_page(visitor, address):
    answer = visitor().get(address)
    assert (answer.status_code, answer.headers.get("location")) == (401, None)
