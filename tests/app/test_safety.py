"""Security: headers, large bodies, path traversal, hostile names, and invalid values."""

import json
import re

import pytest

from regrade.app.forms import StrictForm
from regrade.app.images import decode_opaque_id, encode_opaque_id
from regrade.app.responses import MAX_BODY_BYTES
from regrade.ledger import Role

KEY = bytes(range(32))


def test_responses_have_a_content_security_policy(visitor):
    client = visitor("Olga")
    for path in ("/", "/team", "/no-such-page", "/static/app.css", "/api/openapi.json", "/sign-in"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


def test_cache_headers_of_pages_and_images(visitor, app):
    client = visitor("Rita")
    assert client.get("/").headers["cache-control"] == "no-store"
    image = client.get(app.state.site.images.address("digits", 3))
    assert image.status_code == 200
    assert "private" in image.headers["cache-control"]


def test_templates_have_no_inline_scripts_or_styles():
    from regrade.app.pages import HERE

    for template in HERE.glob("templates/**/*.html"):
        text = template.read_text()
        assert " style=" not in text, template
        assert " onclick=" not in text and "javascript:" not in text, template
        assert ("|safe" not in text and "| safe" not in text) or template.name.startswith("guide"), template


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/images/..%2f..%2fregrade.toml",
        "/static//etc/passwd",
    ],
)
def test_static_files_reject_path_traversal(visitor, path):
    answer = visitor("Olga").get(path)
    assert answer.status_code in (404, 405)


@pytest.mark.parametrize("declared", [True, False])
def test_too_large_body_is_refused(visitor, judge_queue, declared):
    client = visitor("Rita")
    body = json.dumps({"reason": "x" * (MAX_BODY_BYTES + 1)}).encode()
    content = body if declared else iter([body[:1000], body[1000:]])
    answer = client.post(
        f"/api/queues/{judge_queue.id}/votes", content=content, headers={"X-Regrade-Token": client.token}
    )
    assert answer.status_code == 413


HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'; DROP TABLE vote; --", "{{ 7 * 7 }}", "a\x00b",
    "\u202eevil",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_escaped(visitor, workspace, name):
    olga = visitor("Olga")
    answer = olga.submit("/team/people", name=name, role="reviewer")
    shown = olga.get("/team").text
    assert answer.status_code in (200, 400, 422)
    assert "<script>alert" not in shown and "<img" not in shown
    assert workspace.ledger.people.named("Rita").role is Role.REVIEWER
    if answer.status_code == 200:
        assert workspace.ledger.people.named(name).name == name


def test_invalid_votes_are_refused(visitor, judge_queue):
    client = visitor("Rita")
    address = f"/api/queues/{judge_queue.id}/votes"
    good = {"item": 1, "key": "12345678", "answer": "correct"}
    for bad in (
        {"answer": "perhaps"}, {"answer": ""}, {"item": 0}, {"item": 10**9}, {"item": 2**40}, {"key": "short"},
        {"key": "a b c d e f"}, {"seconds": -1}, {"seconds": "NaN"}, {"extra": 1}, {"severity": "major"},
    ):  # fmt: skip
        assert client.write(address, **{**good, **bad}).status_code in (400, 404, 422), bad
    assert client.write(address, **good).status_code == 200


@pytest.mark.parametrize("reason", [{}, {"reason": ""}, {"reason": " "}, {"reason": "\u200b"}])
def test_problematic_vote_without_a_reason_is_refused(visitor, workspace, judge_queue, reason):
    client, address = visitor("Rita"), f"/api/queues/{judge_queue.id}/votes"
    vote = {"item": 1, "key": "12345678", "answer": "problematic"}
    refused = client.write(address, **vote, **reason)
    assert refused.status_code == 400
    assert refused.json() == {"error": "this vote needs a reason: say why the answer is 'problematic'"}
    assert workspace.ledger.queues.progress(judge_queue).by_person == {}
    assert client.write(address, **vote, reason="drawing").status_code == 200


def test_duplicate_json_key_in_a_vote_is_refused(visitor, workspace, judge_queue):
    rita = visitor("Rita")
    body = '{"item": 1, "key": "12345678", "answer": "wrong", "answer": "correct"}'
    headers = {"X-Regrade-Token": rita.token, "Content-Type": "application/json"}
    refused = rita.post(f"/api/queues/{judge_queue.id}/votes", content=body, headers=headers)
    message = "the body of the request has the key 'answer' twice in one object: keep one of them"
    assert (refused.status_code, refused.json()) == (422, {"error": message})
    assert workspace.ledger.queues.progress(judge_queue).by_person == {}


def test_json_routes_reject_duplicate_keys(app, visitor):
    rita = visitor("Rita")
    headers = {"X-Regrade-Token": rita.token, "Content-Type": "application/json"}
    posts = {path: methods["post"] for path, methods in app.openapi()["paths"].items() if "post" in methods}
    forms = {
        path: re.search(r"schemas/(\w+)", str(post["requestBody"]))
        for path, post in posts.items()
        if "requestBody" in post
    }
    assert {form[1] for form in forms.values()} <= {form.__name__ for form in StrictForm.__subclasses__()}
    assert len(forms) >= 11
    for path in forms:
        refused = rita.post(re.sub(r"{\w+}", "1", path), content='{"item": 1, "item": 2}', headers=headers)
        assert refused.status_code == 422 and "'item' twice in one object" in refused.json()["error"], path


@pytest.mark.parametrize("body", [b'{"item": 1', b"\xff", b'{"item": NaN}', b'{"key": "\\ud800"}', b"[" * 10_000])
def test_invalid_json_body_is_refused_in_one_line(visitor, judge_queue, body):
    rita = visitor("Rita")
    headers = {"X-Regrade-Token": rita.token, "Content-Type": "application/json"}
    refused = rita.post(f"/api/queues/{judge_queue.id}/votes", content=body, headers=headers)
    assert refused.status_code == 422 and refused.json()["error"].startswith("the body of the request ")


def test_vote_sent_twice_counts_once(visitor, workspace, judge_queue):
    client = visitor("Rita")
    vote = {"item": 1, "key": "12345678", "answer": "correct"}
    first, again = (client.write(f"/api/queues/{judge_queue.id}/votes", **vote) for _ in range(2))
    assert first.json() == again.json()
    assert workspace.ledger.queues.progress(judge_queue).by_person == {"Rita": 1}
    stolen = visitor("Rob").write(f"/api/queues/{judge_queue.id}/votes", **vote)
    assert stolen.status_code == 409


def test_item_of_another_queue_is_404(visitor, workspace, judge_queue):
    from regrade.ledger import NewItem, Question

    second_queue = workspace.ledger.queues.create("second", Question.JUDGE, test_set="digits", labels="multi")
    workspace.ledger.items.add(second_queue, [NewItem(workspace.store.test_set("digits").ids[0], "1")])
    vote = {"item": 13, "key": "12345678", "answer": "correct"}
    assert visitor("Rita").write(f"/api/queues/{judge_queue.id}/votes", **vote).status_code == 404
    assert visitor("Rita").write(f"/api/queues/{second_queue.id}/votes", **vote).status_code == 200


class TestOpaqueIds:
    def test_opaque_ids_round_trip(self):
        for kind, number in ((0, 0), (1, 2), (2**32 - 1, 2**32 - 1)):
            assert decode_opaque_id(KEY, encode_opaque_id(KEY, kind, number)) == (kind, number)

    def test_opaque_ids_of_adjacent_numbers_differ(self):
        ids = {encode_opaque_id(KEY, 1, number) for number in range(1000)}
        assert len({opaque_id[:4] for opaque_id in ids}) > 990

    @pytest.mark.parametrize("opaque_id", ["", "a", "a" * 22, "é" * 22, "../../etc/passwd......", "a" * 23])
    def test_invalid_opaque_id_is_none(self, opaque_id):
        assert decode_opaque_id(KEY, opaque_id) is None

    def test_opaque_id_of_another_key_is_none(self):
        assert decode_opaque_id(bytes(32), encode_opaque_id(KEY, 1, 2)) is None

    def test_image_url_reveals_no_set_class_or_file(self, app, workspace):
        target = workspace.store.test_set("digits")
        address = app.state.site.images.address("digits", 7)
        assert address is not None
        assert "digits" not in address and target.ids[7] not in address
        headers = str(app.state.site.images.get(address.rsplit("/", 1)[1], None).content[:200])
        assert target.ids[7] not in headers
