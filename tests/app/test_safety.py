"""What strangers try: other origins, large bodies, paths upwards, hostile names, and values no form sends."""

import json
import re

import pytest

from regrade.app.forms import StrictForm
from regrade.app.limits import LARGEST
from regrade.app.opaque import conceal, reveal
from regrade.ledger import Role

KEY = bytes(range(32))


def test_every_answer_lets_only_our_own_files_run(visitor):
    client = visitor("Olga")
    for path in ("/", "/team", "/no-such-page", "/static/app.css", "/api/openapi.json", "/sign-in"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


def test_pages_are_not_kept_and_images_only_by_their_reader(visitor, app):
    client = visitor("Rita")
    assert client.get("/").headers["cache-control"] == "no-store"
    image = client.get(app.state.site.images.address("digits", 3))
    assert image.status_code == 200
    assert "private" in image.headers["cache-control"]


def test_no_template_has_a_script_or_style_in_it():
    from regrade.app.pages import HERE

    for template in HERE.glob("templates/**/*.html"):
        text = template.read_text()
        assert " style=" not in text, template
        assert " onclick=" not in text and "javascript:" not in text, template
        assert ("|safe" not in text and "| safe" not in text) or template.name.startswith("guide"), template


@pytest.mark.parametrize("way", ["/static/../serving.py", "/static/%2e%2e/serving.py", "/static/..%2fserving.py",
                                 "/images/..%2f..%2fregrade.toml", "/static//etc/passwd"])  # fmt: skip
def test_no_way_leads_out_of_the_folder(visitor, way):
    answer = visitor("Olga").get(way)
    assert answer.status_code in (404, 405)


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_that_is_too_large_is_refused(visitor, judge_queue, declared):
    client = visitor("Rita")
    body = json.dumps({"reason": "x" * (LARGEST + 1)}).encode()
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
def test_names_are_text_whatever_they_are(visitor, workspace, name):
    olga = visitor("Olga")
    answer = olga.submit("/team/people", name=name, role="reviewer")
    shown = olga.get("/team").text
    assert answer.status_code in (200, 400, 422)
    assert "<script>alert" not in shown and "<img" not in shown
    assert workspace.ledger.person("Rita").role is Role.REVIEWER
    if answer.status_code == 200:
        assert workspace.ledger.person(name).name == name


def test_a_vote_is_refused_that_no_page_would_send(visitor, judge_queue):
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
    ballot = {"item": 1, "key": "12345678", "answer": "problematic"}
    refused = client.write(address, **ballot, **reason)
    assert refused.status_code == 400
    assert refused.json() == {"error": "say why the image is problematic: this vote needs a reason"}
    assert workspace.ledger.progress(judge_queue).by_person == {}
    assert client.write(address, **ballot, reason="drawing").status_code == 200


def test_doubled_key_in_a_vote_is_refused(visitor, workspace, judge_queue):
    rita = visitor("Rita")
    body = '{"item": 1, "key": "12345678", "answer": "wrong", "answer": "correct"}'
    headers = {"X-Regrade-Token": rita.token, "Content-Type": "application/json"}
    refused = rita.post(f"/api/queues/{judge_queue.id}/votes", content=body, headers=headers)
    message = "the body of the request has the key 'answer' twice in one object: keep one of them"
    assert (refused.status_code, refused.json()) == (422, {"error": message})
    assert workspace.ledger.progress(judge_queue).by_person == {}


def test_every_route_with_a_json_body_refuses_doubled_keys(app, visitor):
    rita = visitor("Rita")
    headers = {"X-Regrade-Token": rita.token, "Content-Type": "application/json"}
    paths = [path for path, methods in app.openapi()["paths"].items() if "requestBody" in methods.get("post", {})]
    assert len(paths) == len(StrictForm.__subclasses__())
    for path in paths:
        refused = rita.post(re.sub(r"{\w+}", "1", path), content='{"item": 1, "item": 2}', headers=headers)
        assert refused.status_code == 422 and "'item' twice in one object" in refused.json()["error"], path


@pytest.mark.parametrize("body", [b'{"item": 1', b"\xff", b'{"item": NaN}', b'{"key": "\\ud800"}', b"[" * 10_000])
def test_body_that_is_not_json_is_refused_in_one_line(visitor, judge_queue, body):
    rita = visitor("Rita")
    headers = {"X-Regrade-Token": rita.token, "Content-Type": "application/json"}
    refused = rita.post(f"/api/queues/{judge_queue.id}/votes", content=body, headers=headers)
    assert refused.status_code == 422 and refused.json()["error"].startswith("the body of the request ")


def test_a_ballot_that_comes_twice_counts_once(visitor, workspace, judge_queue):
    client = visitor("Rita")
    ballot = {"item": 1, "key": "12345678", "answer": "correct"}
    first, again = (client.write(f"/api/queues/{judge_queue.id}/votes", **ballot) for _ in range(2))
    assert first.json() == again.json()
    assert workspace.ledger.progress(judge_queue).by_person == {"Rita": 1}
    stolen = visitor("Rob").write(f"/api/queues/{judge_queue.id}/votes", **ballot)
    assert stolen.status_code == 409


def test_an_item_of_another_queue_is_not_there(visitor, workspace, judge_queue):
    from regrade.ledger import NewItem, Question

    other = workspace.ledger.open_queue("other", Question.JUDGE, test_set="digits", labels="multi")
    workspace.ledger.add_items(other, [NewItem(workspace.store.test_set("digits").ids[0], "1")])
    ballot = {"item": 13, "key": "12345678", "answer": "correct"}
    assert visitor("Rita").write(f"/api/queues/{judge_queue.id}/votes", **ballot).status_code == 404
    assert visitor("Rita").write(f"/api/queues/{other.id}/votes", **ballot).status_code == 200


class TestOpaqueAddresses:
    def test_numbers_come_back(self):
        for kind, number in ((0, 0), (1, 2), (2**32 - 1, 2**32 - 1)):
            assert reveal(KEY, conceal(KEY, kind, number)) == (kind, number)

    def test_neighbors_do_not_look_alike(self):
        words = {conceal(KEY, 1, number) for number in range(1000)}
        assert len({word[:4] for word in words}) > 990

    @pytest.mark.parametrize("word", ["", "a", "a" * 22, "é" * 22, "../../etc/passwd......", "a" * 23])
    def test_a_word_that_was_not_made_here_is_none(self, word):
        assert reveal(KEY, word) is None

    def test_another_key_reads_nothing(self):
        assert reveal(bytes(32), conceal(KEY, 1, 2)) is None

    def test_an_address_tells_neither_set_nor_class_nor_file(self, app, workspace):
        target = workspace.store.test_set("digits")
        address = app.state.site.images.address("digits", 7)
        assert address is not None
        assert "digits" not in address and target.ids[7] not in address
        headers = str(app.state.site.images.shown(address.rsplit("/", 1)[1], None).content[:200])
        assert target.ids[7] not in headers
