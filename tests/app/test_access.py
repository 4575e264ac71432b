"""Access control: every route for every role, and writes without a token or with another person's token."""

import pytest
from starlette.routing import Mount, Route

from regrade.app.routes import ROUTERS

ANONYMOUS, WORKER, LABELER, REVIEWER, OWNER = range(5)
WHO = {ANONYMOUS: None, WORKER: "Wes", LABELER: "Leo", REVIEWER: "Rita", OWNER: "Olga"}

REQUIRED_ROLE = {
    "GET /enter/{key}": ANONYMOUS,
    "GET /sign-in": ANONYMOUS,
    "POST /sign-in": ANONYMOUS,
    "GET /join/{key}": ANONYMOUS,
    "POST /join/{key}": ANONYMOUS,
    "GET /api/openapi.json": ANONYMOUS,
    "GET /static": ANONYMOUS,
    "GET /work/{token}": ANONYMOUS,
    "GET /propose/{token}": ANONYMOUS,
    "GET /propose/{token}/image/{opaque_id}": ANONYMOUS,
    "POST /propose/{token}/image/{opaque_id}": ANONYMOUS,
    "GET /propose/{token}/images/{opaque_id}": ANONYMOUS,
    "GET /propose/{token}/classes": ANONYMOUS,
    "POST /sign-out": WORKER,
    "GET /": WORKER,
    "GET /work": WORKER,
    "GET /select/{queue_id}": WORKER,
    "POST /select/{queue_id}/consent": WORKER,
    "GET /tiles/{queue_id}/{opaque_id}": WORKER,
    "GET /api/queues/{queue_id}/task": WORKER,
    "POST /api/queues/{queue_id}/selections": WORKER,
    "POST /api/queues/{queue_id}/return": WORKER,
    "POST /api/queues/{queue_id}/take-back": WORKER,
    "GET /images/{opaque_id}": LABELER,
    "GET /images/{queue_id}/{opaque_id}": LABELER,
    "GET /label/{queue_id}": LABELER,
    "GET /review/{queue_id}": LABELER,
    "GET /review/{queue_id}/{class_id}": LABELER,
    "POST /api/queues/{queue_id}/class-votes": LABELER,
    "GET /pair/{queue_id}": LABELER,
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
    "GET /api/queues/{queue_id}/items/{item_id}/causes": REVIEWER,
    "POST /api/queues/{queue_id}/skip": LABELER,
    "POST /api/queues/{queue_id}/return-skipped": LABELER,
    "POST /api/queues/{queue_id}/reports": LABELER,
    "GET /api/queues/{queue_id}/references": LABELER,
    "GET /judge/{queue_id}": REVIEWER,
    "POST /api/queues/{queue_id}/classes": REVIEWER,
    "GET /api/queues/{queue_id}/items/{item_id}/proposals": REVIEWER,
    "GET /mistake/{queue_id}": REVIEWER,
    "GET /panel/{queue_id}": REVIEWER,
    "GET /panel/{queue_id}/{item_id}": REVIEWER,
    "GET /panel/{queue_id}/{item_id}/next": REVIEWER,
    "GET /panel/{queue_id}/{item_id}/previous": REVIEWER,
    "GET /api/panel/{queue_id}/{item_id}": REVIEWER,
    "POST /api/panel/{queue_id}/{item_id}/comments": REVIEWER,
    "GET /training/{queue_id}": LABELER,
    "GET /api/queues/{queue_id}/items/{item_id}/comments": LABELER,
    "POST /api/queues/{queue_id}/items/{item_id}/comments": LABELER,
    "POST /api/panel/{queue_id}/{item_id}/lock": REVIEWER,
    "POST /api/panel/{queue_id}/{item_id}/ask": REVIEWER,
    "POST /api/panel/{queue_id}/{item_id}/reopen": REVIEWER,
    "POST /api/panel/{queue_id}/{item_id}/again": REVIEWER,
    "GET /explore": REVIEWER,
    "GET /explore/images": REVIEWER,
    "GET /explore/image": REVIEWER,
    "GET /explore/class": REVIEWER,
    "GET /team": OWNER,
    "GET /team/proposals": OWNER,
    "POST /team/proposals": OWNER,
    "POST /team/proposals/{queue_id}/end": OWNER,
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
    "GET /builds": OWNER,
    "GET /builds/{name}": OWNER,
    "POST /builds/{name}": OWNER,
}
"""The lowest role that each route admits."""


def routes(app):
    """Every route of the app and of its routers."""
    for route in [*app.routes, *(route for router in ROUTERS for route in router.routes)]:
        if isinstance(route, Mount):
            yield f"GET {route.path}"
        elif isinstance(route, Route):
            path = route.path.replace(":path}", "}")
            yield from (f"{method} {path}" for method in sorted(route.methods - {"HEAD"}))


def test_routes_have_a_required_role(app):
    missing, outdated = set(routes(app)) - set(REQUIRED_ROLE), set(REQUIRED_ROLE) - set(routes(app))
    assert not missing, f"add {sorted(missing)} to REQUIRED_ROLE above, with the lowest role that they admit"
    assert not outdated, f"{sorted(outdated)} of REQUIRED_ROLE are no routes (is their router in ROUTERS?)"
    assert len(list(routes(app))) == len(REQUIRED_ROLE)


def send(client, route, *, token):
    """Send a request to a route, with placeholder values."""
    method, path = route.split(" ")
    values = {
        "queue_id": "1", "item_id": "1", "person_id": "1", "key": "key", "opaque_id": "id", "class_space": "digits",
        "class_id": "1", "form": "csv", "number": "1", "report_id": "1", "name": "shapes",
    }  # fmt: skip
    headers = {"X-Regrade-Token": token} if token is not None else {}
    return client.request(method, path.format(**values), headers=headers, **({"json": {}} if method == "POST" else {}))


GUARDED = [route for route, role in REQUIRED_ROLE.items() if role > ANONYMOUS]
REFUSED = [(route, who) for who in WHO for route in GUARDED if who < REQUIRED_ROLE[route]]
ADMITTED = [(route, who) for who in WHO for route in GUARDED if who >= REQUIRED_ROLE[route]]


@pytest.mark.parametrize(("route", "who"), REFUSED)
def test_route_refuses_lower_roles(bystander, route, who):
    client = bystander(WHO[who])
    response = send(client, route, token=client.token)
    if who == ANONYMOUS:
        location = response.headers.get("location", "").partition("?")[0]
        assert (response.status_code, location) in [(303, "/sign-in"), (401, "")]
    else:
        assert response.status_code == 403


@pytest.mark.parametrize(("route", "who"), [(route, who) for route, who in ADMITTED if route.startswith("GET")])
def test_get_route_admits_its_role_and_higher_ones(bystander, route, who):
    client = bystander(WHO[who])
    assert send(client, route, token=client.token).status_code not in (401, 403, 500)


@pytest.mark.parametrize(("route", "who"), [(route, who) for route, who in ADMITTED if route.startswith("POST")])
@pytest.mark.usefixtures("judge_queue")
def test_post_route_admits_its_role_and_higher_ones(visitor, route, who):
    client = visitor(WHO[who])
    assert send(client, route, token=client.token).status_code not in (401, 403, 500)


@pytest.mark.parametrize("route", [route for route in GUARDED if "POST" in route])
def test_write_needs_the_token_of_its_session(bystander, route):
    client, second_client = bystander("Olga"), bystander("Rita")
    for token in (None, "", "0" * 64, second_client.token):
        assert send(client, route, token=token).status_code == 403
    assert client.token != second_client.token


def test_session_rejects_changed_cookies(app, visitor):
    client = visitor("Olga")
    name = app.state.site.sessions.cookie_name
    cookie = client.cookies[name]
    for changed in (cookie[:-1], "x" + cookie, cookie.swapcase(), "", "a.b.c", "é"):
        stranger = visitor()
        assert stranger.get("/", headers={"Cookie": f"{name}={changed}".encode()}).status_code == 303


def test_closing_an_account_ends_its_sessions(app, visitor, workspace):
    client = visitor("Rita")
    assert client.get("/").status_code == 200
    app.state.site.accounts.close(workspace.ledger.people.named("Rita"))
    assert client.get("/").status_code == 303


def test_labeler_sees_only_labeling_queues(visitor, judge_queue):
    leo = visitor("Leo")
    assert "novel" not in leo.get("/").text
    assert leo.get(f"/api/queues/{judge_queue.id}/next").status_code == 404
    vote = {"item": 1, "key": "12345678", "answer": "correct"}
    assert leo.write(f"/api/queues/{judge_queue.id}/votes", **vote).status_code == 404


def test_queue_assigned_to_others_is_not_found(visitor, judge_queue, workspace):
    workspace.ledger.queues.assign(judge_queue, [workspace.ledger.people.named("Rita")])
    assert visitor("Rita").get(f"/judge/{judge_queue.id}").status_code == 200
    assert visitor("Rob").get(f"/judge/{judge_queue.id}").status_code == 404
    assert visitor("Rob").get(f"/api/queues/{judge_queue.id}/next").status_code == 404


@pytest.mark.parametrize("address", ["/team/export.json", "/images/1/abc", "/api/queues/1/next"])
def test_data_without_a_session_is_refused_with_401(visitor, address):
    response = visitor().get(address)
    assert (response.status_code, response.headers.get("location")) == (401, None)
