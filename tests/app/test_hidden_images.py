"""What is hidden from people who still have to answer: references, URLs, lists, the guide, other questions."""

import itertools
import re

import numpy as np
import pytest
from judging import item_of, queue_of, vote
from page_reader import parse_page
from PIL import Image

from regrade.app import hidden_images
from regrade.app.explore import selection
from regrade.ledger import GuideText, Mode, NewItem, Question

_keys = itertools.count()


def add_copy(workspace, folder, name, numbers, *, rename="copy{}.bmp", shrink=False):
    """A test set of images of the reference set, in another lossless format or smaller ones, with their labels."""
    target = workspace.store.test_set("reference")
    source = workspace.store.images.read(target)
    for number in numbers:
        image = Image.open(f"{source.root}/{source.locations[number]}").convert("RGB")
        path = folder / name / str(target.labels[number]) / rename.format(target.ids[number])
        path.parent.mkdir(parents=True, exist_ok=True)
        (image.resize((4, 4)) if shrink else image).save(path)
    workspace.testsets.add(name, folder / name, classes="digits")
    return workspace.store.test_set(name)


def of_class(workspace, test_set, label):
    return np.flatnonzero(workspace.store.test_set(test_set).labels == label).tolist()


def addresses_of(app, test_set, positions):
    return {app.state.site.images.address(test_set, position) for position in positions}


def label_queue(workspace, test_set, numbers, *, mode=Mode.EXAMINATION, name="asking", overlap=9):
    """A queue as in older ledgers, without the contents of its images."""
    queue = workspace.ledger.queues.create(name, Question.LABEL, test_set=test_set, mode=mode, overlap=overlap)
    ids = workspace.store.test_set(test_set).ids
    workspace.ledger.items.add(queue, [NewItem(ids[number]) for number in numbers])
    return queue


def answer(client, queue, item, value):
    key = f"hidden-key-{next(_keys)}"
    return client.write(f"/api/queues/{queue.id}/votes", item=item, key=key, answer=value)


def references(client, queue, label):
    return set(client.get(f"/api/queues/{queue.id}/references?class_id={label}").json())


class TestReferences:
    """A queue asks about images of class 3 of the reference set; other sets contain the same images."""

    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.parametrize(
        "how", [{}, {"rename": "{}", "shrink": True}], ids=["copy under other names", "smaller under the same ids"]
    )
    def test_references_exclude_images_of_the_queue_in_other_sets(self, app, workspace, visitor, tmp_path, mode, how):  # noqa: PLR0917
        threes = of_class(workspace, "reference", 3)
        copy = add_copy(workspace, tmp_path, "copy", threes, **how)
        queue = label_queue(workspace, "reference", threes[:4], mode=mode)
        shown = references(visitor("Leo"), queue, 3)
        assert shown & addresses_of(app, "copy", range(len(copy))) == addresses_of(app, "copy", range(4, len(copy)))
        assert shown >= addresses_of(app, "digits", of_class(workspace, "digits", 3))

    def test_references_never_include_images_of_the_queue_even_if_answered(self, app, workspace, visitor, tmp_path):
        threes = of_class(workspace, "reference", 3)
        add_copy(workspace, tmp_path, "copy", threes)
        queue = label_queue(workspace, "reference", threes[:2], mode=Mode.TRAINING)
        leo, rita, both = visitor("Leo"), visitor("Rita"), addresses_of(app, "copy", [0, 1])
        item = item_of(workspace.ledger, queue, workspace.store.test_set("reference").ids[threes[0]])
        answer(leo, queue, item, "3")
        assert references(leo, queue, 3) & both == references(rita, queue, 3) & both == set()
        assert references(leo, queue, 3) >= addresses_of(app, "copy", range(2, len(threes)))

    def test_references_exclude_examined_images_for_everyone(self, app, workspace, visitor, tmp_path, judge_queue):
        threes = of_class(workspace, "reference", 3)
        add_copy(workspace, tmp_path, "copy", threes)
        exam = label_queue(workspace, "reference", threes[:2], overlap=1)
        workspace.ledger.queues.assign(exam, [workspace.ledger.people.named("Leo")])
        shown = references(visitor("Rita"), judge_queue, 3)
        assert shown == addresses_of(app, "copy", range(2, len(threes)))
        leo = visitor("Leo")
        for _ in range(2):
            answer(leo, exam, leo.get(f"/api/queues/{exam.id}/next").json()["item"]["id"], "3")
        assert references(visitor("Rita"), judge_queue, 3) == shown
        assert references(leo, exam, 3) & addresses_of(app, "copy", [0, 1]) == set()

    def test_references_keep_images_with_equal_ids_by_chance(self, app, workspace, visitor):
        """Both sets number their files from zero, and so share ids and nothing else."""
        queue = label_queue(workspace, "digits", range(60))
        assert references(visitor("Leo"), queue, 3) == addresses_of(
            app, "reference", of_class(workspace, "reference", 3)
        )

    def test_guide_pages_exclude_images_the_labeler_has_to_answer(self, app, workspace, visitor):
        threes = of_class(workspace, "reference", 3)
        label_queue(workspace, "reference", threes[:3], mode=Mode.TRAINING)
        ids = workspace.store.test_set("reference").ids
        examples = tuple(("reference", ids[number]) for number in threes[2:4])
        author = workspace.ledger.people.named("Rita")
        workspace.ledger.guide.write("digits", "3", GuideText("x", (), examples), author, replaces=None)
        for page in (visitor("Leo").get("/guide/digits/3").text, visitor("Leo").get("/api/guide/digits/3").text):
            assert not [address for address in addresses_of(app, "reference", threes[:3]) if address in page]
            assert app.state.site.images.address("reference", threes[3]) in page

    def test_contents_of_an_older_queue_are_read_once_and_stored(self, workspace, visitor):
        queue = label_queue(workspace, "reference", [0, 1])
        assert {image.content for image in workspace.ledger.items.images(queue)} == {None}
        references(visitor("Leo"), queue, 3)
        contents = {image.content for image in workspace.ledger.items.images(queue)}
        assert len(contents) == 2 and None not in contents


class TestAddresses:
    def test_image_url_differs_between_queues_and_explore(self, app, workspace, visitor):
        first, second = (label_queue(workspace, "reference", [5], name=name) for name in ("one", "two"))
        leo = visitor("Leo")
        shown = [leo.get(f"/api/queues/{queue.id}/next").json()["item"]["image"] for queue in (first, second)]
        assert len({*shown, app.state.site.images.address("reference", 5)}) == 3
        assert leo.get(f"/api/queues/{first.id}/next").json()["item"]["image"] == shown[0]
        images = [leo.get(address) for address in shown]
        assert [image.status_code for image in images] == [200, 200]
        assert images[0].content == images[1].content
        assert "immutable" in images[0].headers["cache-control"]

    def test_image_url_of_a_queue_needs_access_to_the_queue(self, app, workspace, visitor):
        queue = label_queue(workspace, "reference", [5])
        address = app.state.site.images.address_in_queue("reference", 5, queue.id)
        workspace.ledger.queues.assign(queue, [workspace.ledger.people.named("Leo")])
        assert visitor("Leo").get(f"{address}?side=160").status_code == 200
        assert visitor("Leo").get(f"{address}?side=161").status_code == 400
        assert visitor("Rita").get(address).status_code == 404
        assert visitor().get(address).status_code == 401

    def test_image_url_is_invalid_in_another_queue(self, app, workspace, visitor):
        first, second = (label_queue(workspace, "reference", [5], name=name) for name in ("one", "two"))
        images, leo = app.state.site.images, visitor("Leo")
        opaque_id = images.address_in_queue("reference", 5, first.id).rpartition("/")[2]
        plain = images.address("reference", 5).rpartition("/")[2]
        for address in (f"/images/{opaque_id}", f"/images/{second.id}/{opaque_id}", f"/images/{first.id}/{plain}"):
            assert leo.get(address).status_code == 404

    def test_next_image_keeps_its_url_when_prefetched(self, workspace, visitor):
        queue = label_queue(workspace, "reference", range(6))
        leo = visitor("Leo")
        current = leo.get(f"/api/queues/{queue.id}/next").json()["item"]
        ahead = leo.get(f"/api/queues/{queue.id}/next?after={current['id']}").json()["item"]
        answer(leo, queue, current["id"], "3")
        assert leo.get(f"/api/queues/{queue.id}/next").json()["item"] == ahead

    @pytest.mark.parametrize("place", ["/panel/{queue}", "/panel/{queue}/{item}"])
    def test_panel_shows_images_by_the_url_of_its_queue(self, app, workspace, visitor, judge_queue, place):
        target = workspace.store.test_set("digits")
        pair = (target.ids[0], str((int(target.labels[0]) + 1) % 10))
        for name, vote_answer in (("Rita", "correct"), ("Rob", "wrong"), ("Rose", "wrong")):
            vote(workspace.ledger, judge_queue, workspace.ledger.people.named(name), pair, vote_answer)
        item = item_of(workspace.ledger, judge_queue, *pair)
        page = visitor("Rita").get(place.format(queue=judge_queue.id, item=item)).text
        assert app.state.site.images.address_in_queue("digits", 0, judge_queue.id) in page
        assert app.state.site.images.address("digits", 0) not in page


def positions_in(links):
    """The positions of the images that pages of images are linked by, each once."""
    return list(dict.fromkeys(int(re.search(r"image=(\d+)", address).group(1)) for address in links))


def shown_images(client, **query):
    """The positions of the images that a page of Explore lists."""
    page = parse_page(client.get("/explore/images", params={"set": "digits", **query}))
    return positions_in(page.to("/explore/image"))


class TestExplore:
    def test_lists_skip_pending_images_and_count_them(self, visitor, judge_queue):
        assert judge_queue.overlap == 3
        rita = visitor("Rita")
        assert shown_images(rita) == list(range(12, 60))
        page = parse_page(rita.get("/explore/images?set=digits")).text
        assert "48 images of 60" in page
        assert "12 images that you still have to answer are not shown." in page
        assert (
            "12 images that you still have to answer are included in these numbers"
            in parse_page(rita.get("/explore?set=digits")).text
        )
        assert "still have to answer" not in parse_page(rita.get("/explore/images?set=reference")).text

    @pytest.mark.usefixtures("judge_queue")
    def test_hidden_images_are_counted_whatever_the_filters_are(self, workspace, visitor):
        """A count that depends on filters would reveal the class of a hidden image."""
        rita, target = visitor("Rita"), workspace.store.test_set("digits")
        for query in ({"label": "3"}, {"label": "4"}, {"find": target.ids[0]}, {"model": "alpha", "outcome": "right"}):
            page = rita.get("/explore/images", params={"set": "digits", **query}).text
            assert "12 images that you still have to answer are not shown." in page
        assert [shown_images(rita, find=target.ids[0], label=str(label)) for label in range(10)] == [[]] * 10

    @pytest.mark.usefixtures("judge_queue")
    def test_class_pages_do_not_count_pending_images(self, workspace, visitor):
        target = workspace.store.test_set("digits")
        top = {name: workspace.store.predictions.read(target, name).top1 for name in ("alpha", "beta", "gamma")}
        label = int(target.labels[11])
        visible = [number for number in range(12, 60) if target.labels[number] == label]
        page = parse_page(visitor("Rita").get(f"/explore/class?set=digits&class={label}"))
        assert 0 < len(visible) < (target.labels == label).sum()
        assert f"{len(visible)} image" in page.text
        for model, answers in top.items():
            missed = [number for number in visible if answers[number] != label]
            assert page.row(model)[3:] == [str(len(missed)), str(len(visible))]
        assert set(positions_in(page.to("/explore/image", set="digits"))) <= set(visible)
        emptied = parse_page(visitor("Rita").get(f"/explore/class?set=digits&class={target.labels[0]}")).text
        assert "0 images of digits" in emptied and "No image of this class is scored" in emptied

    @pytest.mark.usefixtures("judge_queue")
    def test_images_before_and_after_are_never_pending(self, workspace, visitor):
        """The images are stored class by class, and the last pending one is of the class of the first visible one."""
        labels = workspace.store.test_set("digits").labels
        assert labels[11] == labels[12]
        page = parse_page(visitor("Rita").get(f"/explore/image?set=digits&label={labels[12]}&image=12"))
        assert not [address for text, address in page.links if text == "← previous"]
        assert [address for text, address in page.links if text == "next →"]

    @pytest.mark.usefixtures("judge_queue")
    def test_neighbors_are_never_pending(self, workspace, visitor):
        workspace.study.leakage("digits", by=["phash"])
        neighbors = set()
        for number in range(12, 60):
            page = visitor("Rita").get(f"/explore/image?set=digits&image={number}").text
            neighbors |= {int(near) for near in re.findall(r"image=(\d+)", page.partition("Similar images")[2])}
        assert neighbors and min(neighbors) >= 12

    def test_pending_image_page_names_the_queue_and_shows_nothing_else(self, workspace, visitor, judge_queue):
        target = workspace.store.test_set("digits")
        for query in ("image=0", f"id={target.ids[0]}", "image=0&model=alpha&outcome=right&near=alpha"):
            response = visitor("Rita").get(f"/explore/image?set=digits&{query}")
            page = parse_page(response)
            assert "You are asked about this image in novel: it is shown once you have answered." in page.text
            assert page.to(f"/judge/{judge_queue.id}")
            assert page.images == [] and target.ids[0] not in response.text

    def test_owner_sees_everything_once_a_queue_is_assigned_to_others(self, workspace, visitor, judge_queue):
        olga = visitor("Olga")
        assert shown_images(olga) == list(range(12, 60))
        assert "hides nothing from you" in parse_page(olga.get("/explore/images?set=digits")).text
        workspace.ledger.queues.assign(
            judge_queue, [workspace.ledger.people.named(name) for name in ("Rita", "Rob", "Rose")]
        )
        assert shown_images(olga) == list(range(60))
        assert shown_images(visitor("Rita")) == list(range(12, 60))
        workspace.ledger.queues.assign(judge_queue, [workspace.ledger.people.named("Olga")])
        assert shown_images(olga) == list(range(12, 60))

    def test_examined_image_stays_hidden_though_all_votes_are_in(self, workspace, visitor):
        queue = label_queue(workspace, "digits", [0, 1], overlap=1)
        rita, rob = visitor("Rita"), visitor("Rob")
        answer(rob, queue, item_of(workspace.ledger, queue, workspace.store.test_set("digits").ids[0]), "3")
        assert shown_images(rita) == list(range(2, 60))
        assert shown_images(rob) == [0, *range(2, 60)]

    def test_training_image_is_shown_once_no_vote_is_missing(self, workspace, visitor):
        queue = label_queue(workspace, "digits", [0, 1], overlap=1, mode=Mode.TRAINING)
        answer(visitor("Rob"), queue, item_of(workspace.ledger, queue, workspace.store.test_set("digits").ids[0]), "3")
        assert shown_images(visitor("Rita")) == [0, *range(2, 60)]

    def test_image_judged_blind_stays_hidden_until_all_have_voted(self, workspace, visitor, tmp_path):
        target = workspace.store.test_set("digits")
        (tmp_path / "people.csv").write_text(f"person,image,class\nAda,{target.ids[0]},7\n")
        workspace.models.import_people(tmp_path / "people.csv", test_set="digits")
        pair = (target.ids[0], "7")
        options = {"test_set": "digits", "labels": "multi", "overlap": 2}
        queue = queue_of(workspace.ledger, "people", [pair], **options)
        address, people = (
            "/explore/image?set=digits&image=0",
            [workspace.ledger.people.named(name) for name in ("Rita", "Rob")],
        )
        vote(workspace.ledger, queue, people[0], pair, "wrong")
        page = parse_page(visitor("Rita").get(address)).text
        assert "it is shown once all have voted, so that the source of the answer stays unknown" in page
        assert "Ada" not in page and "alpha" not in page
        assert (
            "1 image that you or others still have to answer is not shown"
            in parse_page(visitor("Rita").get("/explore/images?set=digits")).text
        )
        vote(workspace.ledger, queue, people[1], pair, "wrong")
        for name in ("Rita", "Rob", "Rose"):
            assert "Ada" in parse_page(visitor(name).get(address)).text


class TestCopies:
    """Copies under other names are found by their content when they are about to be shown."""

    @pytest.fixture
    def copied(self, workspace, tmp_path):
        """Fifteen images of which the first ten are examined, copied in the same order."""
        copy = add_copy(workspace, tmp_path, "copy", range(15))
        label_queue(workspace, "reference", range(10))
        return [copy.position(f"copy{workspace.store.test_set('reference').ids[number]}.bmp") for number in range(15)]

    def listed(self, client, copies, pages=5):
        """The numbers of the images on the pages of the list, and the count that the last page gives."""
        shown = []
        for number in range(1, pages + 1):
            page = parse_page(client.get(f"/explore/images?set=copy&page={number}"))
            shown += [copies.index(position) for position in positions_in(page.to("/explore/image"))]
        return set(shown), re.search(r"(\d+) images? of 15", page.text).group(1)

    def test_list_pages_are_full_and_their_counts_exact(self, visitor, copied, monkeypatch):
        monkeypatch.setattr(selection, "PAGE_SIZE", 4)
        assert self.listed(visitor("Rita"), copied) == (set(range(10, 15)), "5")

    def test_list_pages_exclude_copies_beyond_the_pass_limit(self, visitor, copied, monkeypatch):
        monkeypatch.setattr(selection, "PAGE_SIZE", 4)
        monkeypatch.setattr(hidden_images, "_MAX_PASSES", 1)
        shown, _ = self.listed(visitor("Rita"), copied)
        assert shown <= set(range(10, 15))

    def test_filter_matching_only_a_copy_counts_zero(self, workspace, visitor, copied):
        name = workspace.store.test_set("copy").ids[copied[3]]
        for label in range(10):
            page = parse_page(visitor("Rita").get(f"/explore/images?set=copy&find={name}&label={label}"))
            assert "0 images of 15" in page.text

    def test_copies_are_shown_after_the_answer(self, workspace, visitor, copied):
        queue, ids = workspace.ledger.queues.named("asking"), workspace.store.test_set("reference").ids
        rita = visitor("Rita")
        address = f"/explore/image?set=copy&image={copied[3]}"
        assert "Not shown yet" in parse_page(rita.get(address)).text
        answer(rita, queue, item_of(workspace.ledger, queue, ids[3]), "3")
        assert "Not shown yet" not in parse_page(rita.get(address)).text


class TestOtherQuestions:
    @pytest.fixture(params=list(Mode), ids=lambda mode: mode.value)
    def both(self, workspace, judge_queue, request):
        """An examination or a training on the image of the first item that is judged."""
        exam = label_queue(workspace, "digits", [0], mode=request.param)
        target = workspace.store.test_set("digits")
        pair = (target.ids[0], str((int(target.labels[0]) + 1) % 10))
        return exam, judge_queue, item_of(workspace.ledger, judge_queue, *pair), pair

    def labels_shown(self, client, queue, item):
        client.write(f"/api/queues/{queue.id}/votes", item=item, key=f"hidden-key-{next(_keys)}", answer="correct")
        return client.write(f"/api/queues/{queue.id}/undo", key=f"hidden-key-{next(_keys)}", item=item).json()["item"]

    @pytest.mark.parametrize("both", [Mode.TRAINING], indirect=True)  # an examination holds the image back
    def test_judge_withholds_labels_of_an_image_that_is_still_to_be_labeled(self, workspace, visitor, both):
        exam, judged, item, _ = both
        rita, own = visitor("Rita"), workspace.store.test_set("digits").labels[0]
        shown = self.labels_shown(rita, judged, item)
        assert shown["id"] == item
        assert shown["labels"]["correct"] == [] and "once you have labeled" in shown["labels"]["withheld"]
        answer(rita, exam, item_of(workspace.ledger, exam, workspace.store.test_set("digits").ids[0]), "3")
        shown = self.labels_shown(rita, judged, item)
        assert shown["labels"]["correct"] == [str(own)] and "withheld" not in shown["labels"]

    def test_judge_and_panel_withhold_labels_of_a_copy_that_is_still_to_be_labeled(self, workspace, visitor, tmp_path):
        copy = add_copy(workspace, tmp_path, "copy", [0])
        label_queue(workspace, "reference", [0], mode=Mode.TRAINING)
        class_id = str((int(copy.labels[0]) + 1) % 10)
        judged = queue_of(workspace.ledger, "judged", [(copy.ids[0], class_id)], test_set="copy")
        item = item_of(workspace.ledger, judged, copy.ids[0], class_id)
        rita = visitor("Rita")
        assert "withheld" in rita.get(f"/api/queues/{judged.id}/items/{item}").json()["item"]["labels"]
        assert rita.get(f"/panel/{judged.id}/{item}").status_code == 403

    def test_training_withholds_labels_pending_in_another_queue(self, workspace, visitor):
        training = label_queue(workspace, "digits", [0], mode=Mode.TRAINING)
        asking = label_queue(workspace, "digits", [0], mode=Mode.TRAINING, name="asking too")
        rita, example = visitor("Rita"), workspace.store.test_set("digits").ids[0]
        item = item_of(workspace.ledger, training, example)
        assert answer(rita, training, item, "3").json()["feedback"] == {"outcome": "withheld", "right": []}
        answer(rita, asking, item_of(workspace.ledger, asking, example), "3")
        rita.write(f"/api/queues/{training.id}/undo", key=f"hidden-key-{next(_keys)}", item=item)
        assert answer(rita, training, item, "3").json()["feedback"]["right"] != []

    @pytest.fixture(params=[Question.JUDGE, Question.MISTAKE], ids=lambda question: question.name)
    def elsewhere(self, workspace, judge_queue, request):
        """A judged and disputed item whose image is also asked about in a second queue, of one vote per item."""
        target = workspace.store.test_set("digits")
        pairs = [(target.ids[n], str((int(target.labels[n]) + 1) % 10)) for n in range(3)]
        for name, vote_answer in (("Rita", "correct"), ("Rob", "wrong"), ("Rose", "wrong")):
            for pair in pairs:
                vote(workspace.ledger, judge_queue, workspace.ledger.people.named(name), pair, vote_answer)
        options = {"model": "gamma"} if request.param is Question.MISTAKE else {}
        second = workspace.ledger.queues.create(
            "second", request.param, test_set="digits", labels="multi", overlap=3, **options
        )
        workspace.ledger.items.add(second, [NewItem(pairs[1][0], str((int(target.labels[1]) + 2) % 10))])
        return judge_queue, [item_of(workspace.ledger, judge_queue, *pair) for pair in pairs], second

    def answer_second(self, client, second):
        item = client.get(f"/api/queues/{second.id}/next").json()["item"]["id"]
        severity = {"severity": "minor"} if second.question is Question.MISTAKE else {}
        value = "fine-grained" if second.question is Question.MISTAKE else "wrong"
        key = f"hidden-key-{next(_keys)}"
        return client.write(f"/api/queues/{second.id}/votes", item=item, key=key, answer=value, **severity)

    def test_panel_shows_no_votes_on_an_image_that_is_pending_in_another_queue(self, visitor, elsewhere):
        judged, items, second = elsewhere
        rita = visitor("Rita")
        for address in (f"/panel/{judged.id}/{items[1]}", f"/api/panel/{judged.id}/{items[1]}"):
            refused = rita.get(address)
            assert refused.status_code == 403
            assert "you still have to answer about this image in" in refused.text and "second" in refused.text
        listed = parse_page(rita.get(f"/panel/{judged.id}"))
        assert [bool(listed.to(f"/panel/{judged.id}/{item}")) for item in items] == [True, False, True]
        assert rita.get(f"/panel/{judged.id}/{items[0]}/next").headers["location"] == f"/panel/{judged.id}/{items[2]}"
        assert (
            rita.get(f"/panel/{judged.id}/{items[2]}/previous").headers["location"] == f"/panel/{judged.id}/{items[0]}"
        )
        assert self.answer_second(rita, second).status_code == 200
        assert rita.get(f"/panel/{judged.id}/{items[1]}").status_code == 200
        assert parse_page(rita.get(f"/panel/{judged.id}")).to(f"/panel/{judged.id}/{items[1]}")

    def test_panel_counts_only_what_the_person_sees(self, workspace, visitor, elsewhere):
        judged, items, second = elsewhere
        workspace.ledger.decisions.lock(items[2], workspace.ledger.people.named("Rob"), why="enough")
        rita = visitor("Rita")

        def counts():
            page = rita.get(f"/panel/{judged.id}").text
            tabs = re.findall(r'(To discuss|Decided) <span class="number">(\d+)', page)
            classes = re.findall(r'<option value="(\w+)"[^>]*>[^<]* \((\d+)\)', page)
            (matching,) = re.findall(r'role="status">(\d+) item', page)
            home = re.findall(rf'href="/panel/{judged.id}(?:\?show=decided)?">(\d+)', rita.get("/").text)
            return dict(tabs), sum(int(count) for _, count in classes), matching, home

        assert counts() == ({"To discuss": "1", "Decided": "1"}, 1, "1", ["1", "1"])
        assert self.answer_second(rita, second).status_code == 200
        assert counts() == ({"To discuss": "2", "Decided": "1"}, 2, "2", ["1", "2"])

    def test_panel_pages_are_filled_with_what_the_person_sees(self, monkeypatch, visitor, elsewhere):
        monkeypatch.setattr("regrade.app.routes.panel.PAGE_SIZE", 2)
        judged, items, second = elsewhere
        rita = visitor("Rita")
        page = parse_page(rita.get(f"/panel/{judged.id}"))
        assert [bool(page.to(f"/panel/{judged.id}/{item}")) for item in items] == [True, False, True]
        assert "Page 1 of" not in rita.get(f"/panel/{judged.id}").text
        assert self.answer_second(rita, second).status_code == 200
        assert "Page 1 of 2" in rita.get(f"/panel/{judged.id}").text

    def test_panel_shows_no_votes_on_an_image_with_another_class_to_judge(self, workspace, visitor):
        example = workspace.store.test_set("digits").ids[0]
        queue = queue_of(workspace.ledger, "judged", [(example, "3"), (example, "4")], test_set="digits", overlap=2)
        first, second = (item_of(workspace.ledger, queue, example, class_id) for class_id in "34")
        for name, vote_answer in (("Rita", "correct"), ("Rob", "wrong")):
            vote(workspace.ledger, queue, workspace.ledger.people.named(name), (example, "3"), vote_answer)
        rita = visitor("Rita")
        assert [rita.get(f"/panel/{queue.id}/{item}").status_code for item in (first, second)] == [403, 200]
        answer(rita, queue, second, "wrong")
        assert [rita.get(f"/panel/{queue.id}/{item}").status_code for item in (first, second)] == [200, 200]

    def test_panel_shows_no_votes_on_a_copy_of_a_pending_image(self, workspace, visitor, tmp_path, elsewhere):
        _, _, second = elsewhere
        target = workspace.store.test_set("digits")
        source, pending = workspace.store.images.read(target), 1
        place = tmp_path / "renamed" / str(target.labels[pending]) / "other-name.bmp"
        place.parent.mkdir(parents=True)
        Image.open(f"{source.root}/{source.locations[pending]}").convert("RGB").save(place)
        workspace.testsets.add("renamed", tmp_path / "renamed", classes="digits")
        (example,) = workspace.store.test_set("renamed").ids
        judged = queue_of(workspace.ledger, "judged copy", [(example, "0")], test_set="renamed", overlap=3)
        for name, vote_answer in (("Rob", "correct"), ("Rose", "wrong"), ("Olga", "wrong")):
            vote(workspace.ledger, judged, workspace.ledger.people.named(name), (example, "0"), vote_answer)
        address = f"/panel/{judged.id}/{item_of(workspace.ledger, judged, example, '0')}"
        rita = visitor("Rita")
        assert rita.get(address).status_code == 403
        assert rita.get("/explore/image?set=renamed&image=0").text.count("Not shown yet")
        self.answer_second(rita, second)
        assert rita.get(address).status_code == 200

    @pytest.mark.parametrize("question", [Question.JUDGE, Question.MISTAKE])
    def test_training_withholds_labels_pending_in_a_panels_queue(self, workspace, visitor, question):
        training = label_queue(workspace, "digits", [0], mode=Mode.TRAINING)
        asking = workspace.ledger.queues.create("panel", question, test_set="digits", labels="multi", overlap=3)
        rita, example = visitor("Rita"), workspace.store.test_set("digits").ids[0]
        workspace.ledger.items.add(asking, [NewItem(example, "7")])
        item = item_of(workspace.ledger, training, example)
        assert answer(rita, training, item, "3").json()["feedback"] == {"outcome": "withheld", "right": []}

    def test_panel_refuses_an_image_that_is_still_to_be_labeled(self, workspace, visitor, both):
        exam, judged, item, pair = both
        for name, vote_answer in (("Rita", "correct"), ("Rob", "wrong"), ("Rose", "wrong")):
            vote(workspace.ledger, judged, workspace.ledger.people.named(name), pair, vote_answer)
        rita = visitor("Rita")
        for address in (f"/panel/{judged.id}/{item}", f"/api/panel/{judged.id}/{item}"):
            refused = rita.get(address)
            assert refused.status_code == 403
            assert "you still have to label this image in" in refused.text
        assert not parse_page(rita.get(f"/panel/{judged.id}")).to(f"/panel/{judged.id}/{item}")
        answer(rita, exam, item_of(workspace.ledger, exam, pair[0]), "3")
        assert rita.get(f"/panel/{judged.id}/{item}").status_code == 200
        assert parse_page(rita.get(f"/panel/{judged.id}")).to(f"/panel/{judged.id}/{item}")


class TestGuideExamples:
    THREE = "/guide/digits/3"

    @pytest.fixture
    def entry(self, workspace, judge_queue):  # noqa: ARG002
        """An entry whose middle example is pending for Rita."""
        target = workspace.store.test_set("digits")
        examples = tuple(("digits", target.ids[number]) for number in (20, 0, 21))
        author = workspace.ledger.people.named("Rob")
        return workspace.ledger.guide.write("digits", "3", GuideText("x", (), examples), author, replaces=None)

    def test_form_and_history_do_not_name_a_pending_image(self, visitor, entry):
        shown, pending, _ = (example for _, example in entry.content.examples)
        for part in ("edit", "history"):
            page = visitor("Rita").get(f"{self.THREE}/{part}").text
            assert shown in page and pending not in page

    def test_saving_keeps_the_examples_that_the_form_did_not_show(self, workspace, visitor, entry):
        examples = entry.content.examples
        shown = [f"digits/{example}" for _, example in examples if example != examples[1][1]]
        form = {"examples": "\n".join(shown), "replaces": str(entry.id), "why": "more words"}
        assert visitor("Rita").submit(f"{self.THREE}/edit", text="y", **form).status_code == 303
        saved = workspace.ledger.guide.entry("digits", "3").content
        assert saved == GuideText("y", (), entry.content.examples)

    def test_saving_unchanged_text_is_no_change(self, visitor, entry):
        shown = [
            f"digits/{example}" for _, example in entry.content.examples if example != entry.content.examples[1][1]
        ]
        form = {"examples": "\n".join(shown), "replaces": str(entry.id), "why": "nothing"}
        refused = visitor("Rita").submit(f"{self.THREE}/edit", text="x", **form)
        assert refused.status_code == 400 and "nothing has changed" in refused.text

    def test_conflict_does_not_name_a_pending_image(self, visitor, entry):
        conflict = visitor("Rita").submit(f"{self.THREE}/edit", text="mine", replaces="")
        assert conflict.status_code == 409
        assert entry.content.examples[1][1] not in conflict.text and entry.content.examples[0][1] in conflict.text
