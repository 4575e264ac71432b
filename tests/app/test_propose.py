"""The public page for proposals: what visitors see and may send, and everything that they must not."""

import re
from datetime import timedelta

import pytest
from page_reader import parse_page
from panel_votes import cast_votes
from PIL import Image
from playwright.sync_api import expect
from work_page import faint_texts, item_numbers, ready

from regrade.app.routes import propose
from regrade.core import InputError, UnknownName
from regrade.ledger import NewItem, Question, Rate, VoteContent
from regrade.ledger.schema import proposal_link

FORM = {"claim": "missing", "reason": "I see it", "name": "Vera"}


@pytest.fixture
def token(workspace):
    return workspace.review.propose_link("val", test_set="digits", labels="multi").token


@pytest.fixture
def queue(workspace, token):  # noqa: ARG001
    return workspace.ledger.queues.named("proposals val")


@pytest.fixture
def guest(visitor):
    return visitor()


def image_of(guest, token, example):
    """The opaque id of an image, found by its id."""
    response = guest.get(f"/propose/{token}", params={"find": example})
    assert response.status_code == 303
    return response.headers["location"].rsplit("/", 1)[1]


def send(guest, token, opaque_id, **form):
    headers = form.pop("headers", {})
    return guest.post(f"/propose/{token}/image/{opaque_id}", data={**FORM, **form}, headers=headers)


@pytest.fixture
def target(workspace):
    return workspace.store.test_set("digits")


@pytest.fixture
def first(guest, token, target):
    """The opaque id of the first image."""
    return image_of(guest, token, target.ids[0])


def missing_class(target, position=0):
    return str((int(target.labels[position]) + 4) % 10)


class TestWhatVisitorsSee:
    def test_nothing_exists_without_a_link(self, *, workspace, guest):
        for path in ("", "/image/x", "/images/x", "/classes"):
            assert guest.get(f"/propose/anything{path}").status_code == 404
        assert workspace.review.propose_links() == ()

    def test_gallery_shows_scored_images_without_ids_and_labels(self, *, guest, token, target):
        page = parse_page(guest.get(f"/propose/{token}"))
        assert len(page.images) == 24
        assert not [example for example in target.ids if example in page.html]
        again = parse_page(guest.get(f"/propose/{token}"))
        assert page.images == again.images, "the order is fixed"
        assert guest.get(page.images[0]).headers["content-type"] in ("image/png", "image/jpeg")
        pages = [parse_page(guest.get(f"/propose/{token}?page={number}")).images for number in (1, 2, 3)]
        assert len({image for images in pages for image in images}) == len(target)

    def test_image_page_shows_labels(self, *, guest, token, target, first):
        page = guest.get(f"/propose/{token}/image/{first}")
        assert target.ids[0] in page.text
        assert f"<dd>{target.class_space.names[int(target.labels[0])]}</dd>" in page.text

    def test_pages_are_not_for_robots_caches_or_frames(self, *, guest, token, first):
        for path in ("", f"/image/{first}", f"/images/{first}", "/classes"):
            headers = guest.get(f"/propose/{token}{path}").headers
            assert headers["x-robots-tag"] == "noindex, nofollow"
            assert "public" not in headers["cache-control"]
            assert headers["x-frame-options"] == "DENY" and headers["referrer-policy"] == "no-referrer"
        assert '<meta name="robots" content="noindex, nofollow">' in guest.get(f"/propose/{token}").text

    def test_nothing_about_people_votes_or_models_is_shown(self, *, workspace, guest, token, first, judge_queue):
        cast_votes(workspace, item_numbers(workspace, judge_queue)[0], Rita="wrong", Rob="wrong", Rose="wrong")
        texts = [guest.get(f"/propose/{token}{path}").text for path in ("", f"/image/{first}", "/classes")]
        for word in ("Rita", "Olga", "alpha", "novel", judge_queue.name, "vote"):
            assert not [text for text in texts if word in text], word

    def test_session_of_a_visitor_is_not_used(self, *, visitor, token):
        page = visitor("Olga").get(f"/propose/{token}")
        assert "Olga" not in page.text and 'name="token"' not in page.text

    def test_link_gives_access_to_nothing_else(self, *, guest, token, first):
        page = guest.get(f"/propose/{token}/image/{first}").text
        assert not re.search(r'href="/(explore|panel|guide|team|judge)', page)
        for path in ("/explore?set=digits", "/api/classes/digits", f"/images/{first}", "/team", "/panel/1"):
            assert guest.get(path).status_code in (303, 401)

    def test_image_ids_of_another_page_do_not_work(self, *, workspace, visitor, guest, token, first):
        second = workspace.review.propose_link("two", test_set="digits", labels="multi").token
        assert guest.get(f"/propose/{second}/images/{first}").status_code == 404
        shown = re.search(r"/images/([\w-]{22})", visitor("Olga").get("/explore/image?set=digits&image=0").text)
        assert guest.get(f"/propose/{token}/images/{shown[1]}").status_code == 404


class TestWhatStaysHidden:
    def hidden(self, guest, token, target, position, opaque_id):
        """Whether an image is on no page of the link."""
        example = target.ids[position]
        pages = [guest.get(f"/propose/{token}?page={number}").text for number in (1, 2, 3)]
        addresses = [f"/propose/{token}/image/{opaque_id}", f"/propose/{token}/images/{opaque_id}"]
        return (
            not any(opaque_id in page for page in pages)
            and guest.get(f"/propose/{token}", params={"find": example}).status_code == 404
            and all(guest.get(address).status_code == 404 for address in addresses)
            and send(guest, token, opaque_id, typed=missing_class(target)).status_code == 404
        )

    def test_visible_image_is_shown(self, *, guest, token, target, first):
        assert not self.hidden(guest, token, target, 0, first)

    @pytest.mark.parametrize("question", [Question.JUDGE, Question.MISTAKE, Question.REVIEW])
    def test_image_with_missing_votes_is_hidden(self, *, workspace, guest, token, target, first, question):
        queue = workspace.ledger.queues.create("asking", question, test_set="digits", labels="multi", overlap=2)
        workspace.ledger.items.add(queue, [NewItem(target.ids[0], "3")])
        workspace.ledger.queues.assign(queue, [workspace.ledger.people.named("Rita")])
        assert self.hidden(guest, token, target, 0, first)
        if question is Question.JUDGE:
            cast_votes(workspace, item_numbers(workspace, queue)[0], Rita="correct", Rob="correct")
            assert not self.hidden(guest, token, target, 0, first)

    def test_training_hides_its_images_until_all_have_answered(self, *, workspace, guest, token, target, first):
        workspace.review.queue_labels("digits", mode="training", overlap=1)
        assert self.hidden(guest, token, target, 0, first)

    def test_examination_hides_its_whole_test_set(self, *, workspace, guest, token, target, first):
        workspace.review.queue_labels("digits", size=1, name="exam", overlap=1)
        assert self.hidden(guest, token, target, 0, first)
        assert "No images can be shown at the moment" in guest.get(f"/propose/{token}").text
        with pytest.raises(InputError, match="labeled in the examination 'exam'"):
            workspace.review.propose_link("another", test_set="digits", labels="multi")

    def test_examination_of_several_sets_hides_each_of_them(self, *, workspace, guest, token, target, first):
        folder = workspace.store.root.parent / "second" / "0"
        folder.mkdir(parents=True)
        Image.new("RGB", (8, 8), "purple").save(folder / "purple.png")
        workspace.testsets.add("second", folder.parent, classes="digits")
        workspace.review.queue_labels(["second", "digits"], name="exam", overlap=1)
        assert self.hidden(guest, token, target, 0, first)
        with pytest.raises(InputError, match="labeled in the examination 'exam'"):
            workspace.review.propose_link("another", test_set="digits", labels="multi")

    def test_copy_of_an_examined_image_is_hidden(self, *, workspace, guest, token, target, first):
        """The same pixels under another id in another test set."""
        folder = workspace.store.root.parent / "copy" / "0"
        folder.mkdir(parents=True)
        shown = guest.get(f"/propose/{token}/images/{first}").content
        (folder / "renamed.png").write_bytes(shown)
        workspace.testsets.add("copy", folder.parent, classes="digits")
        workspace.review.queue_labels("copy", name="exam", overlap=1)
        assert self.hidden(guest, token, target, 0, first)

    def test_problematic_image_is_not_shown(self, *, workspace, guest, token, target, first, judge_queue):
        item = item_numbers(workspace, judge_queue)[0]
        people = [workspace.ledger.people.named(name) for name in ("Rita", "Rob", "Rose")]
        for person in people:
            content = VoteContent(f"key {person.name}", "problematic", reason="drawing")
            workspace.ledger.votes.cast(item, person, content)
        workspace.review.publish("novel")
        assert self.hidden(guest, token, target, 0, first)

    def test_labels_are_withheld_while_a_proposal_is_checked(self, *, guest, token, target, first):
        assert send(guest, token, first, typed=missing_class(target)).status_code == 303
        page = guest.get(f"/propose/{token}/image/{first}").text
        assert "its labels are not shown" in page and target.ids[0] not in page and "<dt>Labels</dt>" not in page
        label = str(int(target.labels[0]))
        assert send(guest, token, first, claim="missing", typed=label).status_code == 303, "no answer tells a label"

    def test_reviewer_is_not_told_by_the_page(self, *, guest, token, target, first):
        """A proposal that contradicts the labels is refused only if the labels are shown."""
        label = str(int(target.labels[0]))
        refused = send(guest, token, first, claim="missing", typed=label)
        assert refused.status_code == 400 and f"{label} is a label of this image already" in refused.text


class TestProposing:
    def test_proposal_becomes_an_item(self, *, workspace, queue, guest, token, target, first):
        response = send(guest, token, first, typed=missing_class(target))
        assert response.status_code == 303 and "Thank you" in guest.get(response.headers["location"]).text
        assert workspace.ledger.items.pairs(queue) == ((target.ids[0], missing_class(target)),)
        [proposal] = workspace.ledger.proposals.of_item(item_numbers(workspace, queue)[0])
        assert (proposal.person, proposal.visitor, proposal.reason) == (None, "Vera", "I see it")
        assert workspace.ledger.problems() == ()

    def test_second_proposal_is_merged(self, *, workspace, queue, guest, token, target, first):
        send(guest, token, first, typed=missing_class(target))
        send(guest, token, first, typed=missing_class(target), reason="so do I", name="")
        assert workspace.ledger.queues.progress(queue).items == 1
        assert workspace.ledger.proposals.count(queue) == 2

    def test_wrong_label_and_problematic_image_are_one_item(self, *, workspace, queue, guest, token, target, first):
        label = str(int(target.labels[0]))
        send(guest, token, first, claim="wrong", label=label)
        send(guest, token, first, claim="problematic", problem="drawing", reason="")
        assert workspace.ledger.items.pairs(queue) == ((target.ids[0], label),)
        stored = workspace.ledger.proposals.of_item(item_numbers(workspace, queue)[0])
        assert [(row.claim.value, row.reason) for row in stored] == [("wrong", "I see it"), ("problematic", "drawing")]

    def test_decided_proposal_is_published(self, *, workspace, queue, guest, token, target, first):
        send(guest, token, first, claim="wrong", label=str(int(target.labels[0])))
        cast_votes(workspace, item_numbers(workspace, queue)[0], Rita="wrong", Rob="wrong", Rose="wrong")
        assert workspace.review.publish("proposals val").changes == {"correct now wrong": 1}
        assert "<dt>Labels</dt><dd>none</dd>" in guest.get(f"/propose/{token}/image/{first}").text

    @pytest.mark.parametrize(
        ("form", "message"),
        [
            ({"typed": ""}, "Choose a class"),
            ({"typed": "dragon"}, "There is no class"),
            ({"class_id": "dragon"}, "There is no class"),
            ({"claim": "wrong", "label": "9"}, "is no label of this image"),
            ({"claim": "problematic", "problem": "<b>"}, "Choose why"),
            ({"typed": "5", "reason": " \u200b "}, "Give a reason"),
            ({"typed": "5", "name": "\u202eareV"}, "name"),
        ],
    )
    def test_incomplete_proposal_is_one_clear_line(self, *, workspace, queue, guest, token, first, form, message):
        response = send(guest, token, first, **form)
        assert response.status_code == 400
        assert message.lower() in response.text.lower()
        assert workspace.ledger.proposals.count(queue) == 0

    @pytest.mark.parametrize(
        "form", [{"claim": "none"}, {"reason": "x" * 1001}, {"name": "x" * 81}, {"typed": "a\0b"}, {"claim": ""}]
    )
    def test_invalid_form_is_refused(self, *, workspace, queue, guest, token, first, form):
        assert send(guest, token, first, **{"typed": "5", **form}).status_code == 422
        assert workspace.ledger.proposals.count(queue) == 0

    def test_invalid_text_is_one_clear_line(self, *, guest, token, first):
        long, unstorable = (send(guest, token, first, reason=text).text for text in ("x" * 1001, "a\0b"))
        assert "reason: a text of at most 1,000 characters is expected, got 1,001" in long
        assert "reason: the text contains a NUL character" in unstorable

    def test_oversized_body_is_refused(self, *, guest, token, first):
        assert send(guest, token, first, reason="x" * 300_000).status_code == 413

    def test_text_is_escaped_everywhere(self, *, workspace, queue, guest, token, target, first, visitor):
        attack = "<script>alert(1)</script>"
        entered = send(guest, token, first, typed="", reason=attack, name=attack)
        assert entered.status_code == 400 and attack not in entered.text and "&lt;script&gt;" in entered.text
        assert send(guest, token, first, typed=missing_class(target), reason=attack, name="<b>").status_code == 303
        searched = guest.get(f"/propose/{token}", params={"find": attack})
        assert searched.status_code == 404 and attack not in searched.text
        item = item_numbers(workspace, queue)[0]
        cast_votes(workspace, item, Rita="correct")
        for path in (f"/panel/{queue.id}/{item}", "/team/proposals"):
            assert attack not in visitor("Olga").get(path).text
        reply = visitor("Rita").get(f"/api/queues/{queue.id}/items/{item}/proposals")
        assert reply.headers["content-type"] == "application/json" and reply.json()[0]["reason"] == attack

    def test_forms_of_other_sites_are_refused(self, *, workspace, queue, guest, token, target, first):
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            response = send(guest, token, first, typed=missing_class(target), headers=headers)
            assert response.status_code == 403
        assert workspace.ledger.proposals.count(queue) == 0


class TestLimits:
    def test_flood_of_one_address_is_refused_and_not_stored(self, *, workspace, queue, guest, token, target):
        opaque_ids = [image_of(guest, token, example) for example in target.ids[:40]]
        statuses = []
        for number in range(1_000):
            if number % 40 == 0:
                guest.app.state.site.views = type(guest.app.state.site.views)()
            response = send(guest, token, opaque_ids[number % 40], typed="5", reason=f"reason {number}")
            statuses.append(response.status_code)
            if response.status_code == 429:
                assert 0 < int(response.headers["retry-after"]) <= 180
        assert statuses.count(429) == 980 and statuses[:20].count(429) == 0
        assert workspace.ledger.proposals.count(queue) <= 20

    def test_flood_of_many_addresses_is_limited_per_link(self, *, workspace, queue, guest, token, target, monkeypatch):
        monkeypatch.setattr(propose, "PER_LINK", Rate(3, timedelta(hours=1)))
        addresses = iter(range(1_000))
        monkeypatch.setattr(propose, "client_network", lambda _: f"10.0.0.{next(addresses)}")
        opaque_ids = [image_of(guest, token, example) for example in target.ids[:10]]
        statuses = [send(guest, token, opaque_id, typed="5").status_code for opaque_id in opaque_ids]
        assert statuses.count(429) == 7
        assert workspace.ledger.proposals.count(queue) <= 3

    def test_full_queue_is_refused(self, *, workspace, queue, guest, token, target, first, monkeypatch):
        monkeypatch.setattr("regrade.ledger.proposals.MAX_OPEN", 0)
        response = send(guest, token, first, typed=missing_class(target))
        assert (response.status_code, response.headers["retry-after"]) == (429, "3600")
        assert workspace.ledger.proposals.count(queue) == 0

    def test_views_are_limited_per_address(self, *, guest, token, monkeypatch):
        monkeypatch.setattr("regrade.app.view_limits.VIEWS", Rate(3, timedelta(seconds=60)))
        statuses = [guest.get(f"/propose/{token}").status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]

    def test_guessed_links_store_nothing(self, *, workspace, guest, token):
        before = workspace.ledger.rows()
        for guess in (token[:-1], token + "x", token.swapcase(), "", "%00", "a" * 5_000):
            assert guest.get(f"/propose/{guess}").status_code in (404, 422)
            assert send(guest, guess, "x").status_code in (404, 422)
        assert workspace.ledger.rows() == before


class TestLinks:
    def test_ended_link_does_not_work(self, *, workspace, guest, token, target, first):
        assert workspace.review.end_propose_link("val")
        for path in ("", f"/image/{first}", f"/images/{first}", "/classes"):
            assert guest.get(f"/propose/{token}{path}").status_code == 404
        assert send(guest, token, first, typed=missing_class(target)).status_code == 404

    def test_new_link_ends_the_earlier_one(self, *, workspace, guest, token):
        second = workspace.review.propose_link("val", test_set="digits", labels="multi").token
        assert guest.get(f"/propose/{token}").status_code == 404
        assert guest.get(f"/propose/{second}").status_code == 200

    def test_token_is_stored_as_a_digest(self, *, workspace, token):
        with workspace.ledger.engine.connect() as connection:
            assert token not in repr(connection.execute(proposal_link.select()).all())
        assert token not in repr(workspace.ledger.rows())

    @pytest.mark.parametrize(
        ("values", "error"),
        [
            ({"test_set": "nothing"}, UnknownName), ({"labels": "nothing"}, UnknownName),
            ({"name": " "}, InputError), ({"name": "x" * 90}, InputError),
        ],
    )  # fmt: skip
    def test_bad_input_is_one_clear_line(self, *, workspace, values, error):
        chosen = {"name": "val", "test_set": "digits", "labels": "multi"} | values
        with pytest.raises(error) as raised:
            workspace.review.propose_link(chosen.pop("name"), **chosen)
        assert "\n" not in str(raised.value)

    def test_owner_creates_and_ends_a_link_on_the_team_page(self, *, workspace, visitor, guest):
        olga = visitor("Olga")
        created = olga.submit("/team/proposals", name="val", test_set="digits", labels="multi")
        link = re.search(r'value="http://testserver(/propose/[\w-]+)"', created.text)[1]
        assert guest.get(link).status_code == 200
        assert link not in olga.get("/team/proposals").text
        queue = workspace.ledger.queues.named("proposals val")
        assert parse_page(olga.get("/team/proposals")).row("val")[3:5] == ["0", "0 items of val"]
        assert olga.submit(f"/team/proposals/{queue.id}/end").status_code == 303
        assert guest.get(link).status_code == 404
        refused = olga.submit("/team/proposals", name="val", test_set="digits", labels="nope")
        assert refused.status_code == 400 and "nope" in refused.text


class TestReviewing:
    def test_proposals_are_shown_after_the_own_vote(self, *, workspace, queue, guest, token, target, first, visitor):
        send(guest, token, first, typed=missing_class(target), reason="look at its claws")
        item = item_numbers(workspace, queue)[0]
        rita, address = visitor("Rita"), f"/api/queues/{queue.id}/items/{item}/proposals"
        assert rita.get(address).json() == []
        for path in (f"/api/queues/{queue.id}/next", f"/panel/{queue.id}/{item}", f"/api/panel/{queue.id}/{item}"):
            assert "claws" not in rita.get(path).text
        cast_votes(workspace, item, Rita="wrong")
        assert rita.get(address).json() == [{"by": "visitor Vera", "claim": "missing", "reason": "look at its claws"}]
        assert visitor("Rob").get(address).json() == []

    def test_reviewer_sees_the_text_after_judging(self, *, queue, guest, token, target, first, server, page_of):
        send(guest, token, first, typed=missing_class(target), reason="look at its <i>claws</i>")
        page = page_of(server, "Rita")
        page.goto(f"/judge/{queue.id}")
        ready(page)
        assert "claws" not in page.content()
        page.keyboard.press("c")
        expect(page.locator("#done .proposed")).to_contain_text("You judged")
        page.goto(f"/panel/{queue.id}/1")
        expect(page.locator(".proposed")).to_contain_text(
            "visitor Vera: the class is missing. “look at its <i>claws</i>”"
        )


class TestInABrowser:
    @pytest.fixture
    def window(self, browser, server):
        from browser import new_window

        context = new_window(browser, viewport={"width": 360, "height": 740}, base_url=server.address)
        yield context.new_page()
        context.close()

    def test_visitor_proposes_by_mouse_and_keyboard(self, *, workspace, queue, token, target, window):
        window.goto(f"/propose/{token}")
        assert faint_texts(window) == []
        window.get_by_label("Image id").fill(target.ids[0])
        window.keyboard.press("Enter")
        expect(window.get_by_role("heading", level=1)).to_contain_text(target.ids[0])
        window.get_by_label("What do you see?").fill("a digit")
        window.get_by_role("combobox", name="Class").fill(missing_class(target))
        window.keyboard.press("Enter")
        expect(window.locator("#class-results")).to_be_hidden()
        window.get_by_role("button", name="Propose").click()
        expect(window.get_by_role("status").filter(has_text="Thank you")).to_be_visible()
        assert workspace.ledger.items.pairs(queue) == ((target.ids[0], missing_class(target)),)
        assert faint_texts(window) == []
        assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def test_tiny_images_have_sharp_pixels(self, *, token, first, window):
        """Those of the test set have 28 pixels per side."""
        for path, images in (("", ".grid img"), (f"/image/{first}", ".proposed-image")):
            window.goto(f"/propose/{token}{path}")
            image = window.locator(images).first
            expect(image).to_have_class(re.compile("tiny"))
            expect(image).to_have_css("image-rendering", "pixelated")

    def test_form_shows_the_fields_of_the_claim(self, *, token, first, window):
        window.goto(f"/propose/{token}/image/{first}")
        expect(window.get_by_role("combobox", name="Class")).to_be_visible()
        expect(window.get_by_role("combobox", name="Label")).to_be_hidden()
        window.get_by_label("A label is wrong").check()
        expect(window.get_by_role("combobox", name="Label")).to_be_visible()
        expect(window.locator("#typed")).to_be_hidden()
        window.get_by_label("The image should not be used").check()
        window.get_by_label("Why not").select_option("drawing")
        window.get_by_role("button", name="Propose").click()
        expect(window.get_by_role("status").filter(has_text="Thank you")).to_be_visible()
