"""The table of models: the numbers of a grade, sorting and filters by URL, and plots of two accuracies."""

import re
from urllib.parse import quote

import numpy as np
import pytest
from page_reader import parse_page

from regrade.app.explore import models_page
from regrade.app.explore.models_page import AxisRange, ModelsTable
from regrade.app.explore.selection import Choice

SLICE = "third:third=yes"


def percent(estimate):
    return f"{100 * estimate.value:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def number_of(page):
    return int(re.search(r"([\d,]+) images?", page.text).group(1).replace(",", ""))


@pytest.fixture
def sliced(workspace, tmp_path):
    """A slice of every third digit."""
    target = workspace.store.test_set("digits")
    (tmp_path / "thirds.csv").write_text(
        "image,third\n"
        + "".join(f"{example},{'yes' if place % 3 == 0 else 'no'}\n" for place, example in enumerate(target.ids))
    )
    workspace.testsets.import_slices(tmp_path / "thirds.csv", test_set="digits", name="third")
    return workspace


def test_table_shows_the_grade(workspace, visitor):
    page = parse_page(visitor("Rita").get("/explore", params={"set": "digits", "labels": "multi"}))
    grade = workspace.grade("digits", labels="multi")
    for row in grade.rows:
        shown = page.row(row.model)
        assert percent(row.top1) in shown
        assert percent(row.top5) in shown
        assert shown.count(percent(row.multilabel)) >= 1
        assert str(row.novel) in shown
    assert [row[0] for row in page.rows[1:]] == [row.model for row in grade.rows]


def test_table_shows_the_grade_of_a_slice(sliced, visitor):
    page = parse_page(visitor("Rita").get("/explore", params={"set": "digits", "slice": SLICE}))
    graded = {row.model: row for row in sliced.grade("digits", slices=[SLICE]).rows if row.slice == SLICE}
    assert {name: page.row(name)[2] for name in graded} == {name: percent(row.top1) for name, row in graded.items()}
    assert page.row("alpha")[-1] == "20"


@pytest.mark.parametrize("labels", ["", "multi@1"])
@pytest.mark.parametrize("slice_name", ["", SLICE])
def test_links_list_as_many_images_as_the_number_says(sliced, visitor, labels, slice_name):
    rita = visitor("Rita")
    page = parse_page(rita.get("/explore", params={"set": "digits", "labels": labels, "slice": slice_name}))
    grade = {
        row.model: row
        for row in sliced.grade("digits", labels=labels or None, slices=[slice_name] if slice_name else []).rows
        if row.slice == (slice_name or "all")
    }
    for name, row in grade.items():
        number = next(place for place, title in enumerate(page.rows[0]) if title.startswith("wrong"))
        wrong = parse_page(rita.get(page.to("/explore/images", model=name, outcome="wrong", labels=labels)[-1]))
        assert number_of(wrong) == int(page.row(name)[number])
        by_own_label = parse_page(rita.get(page.to("/explore/images", model=name, outcome="wrong", labels="")[0]))
        assert number_of(by_own_label) == round(row.top1.n * (1 - row.top1.value))
        out_of_five = parse_page(rita.get(page.to("/explore/images", model=name, outcome="not-in-five")[0]))
        assert number_of(out_of_five) == round(row.top5.n * (1 - row.top5.value))
        if labels:
            novel = parse_page(rita.get(page.to("/explore/images", model=name, outcome="novel")[-1]))
            assert number_of(novel) == row.novel
            missed = parse_page(rita.get(page.to("/explore/images", model=name, outcome="missed")[0]))
            assert number_of(missed) == round(row.multilabel.n * (1 - row.multilabel.value))


def test_table_is_sorted_and_filtered_by_the_url(visitor):
    rita = visitor("Rita")

    def names(**query):
        return [row[0] for row in parse_page(rita.get("/explore", params={"set": "digits", **query})).rows[1:]]

    assert names(sort="model") == ["alpha", "beta", "gamma"]
    assert names(sort="-model") == ["gamma", "beta", "alpha"]
    assert names(sort="top1") == list(reversed(names(sort="-top1")))
    assert names(sort="wrong") == names(sort="-top1")
    assert names(models="a", sort="model") == ["alpha", "beta", "gamma"]
    assert names(models="ALP, gam", sort="model") == ["alpha", "gamma"]
    assert names(models="delta") == ["No model matches this filter."]
    assert rita.get("/explore", params={"set": "digits", "sort": "size"}).status_code == 404


def test_long_tables_have_pages(visitor, monkeypatch):
    monkeypatch.setattr(models_page, "PAGE_SIZE", 2)
    rita = visitor("Rita")
    first = parse_page(rita.get("/explore", params={"set": "digits", "sort": "-model"}))
    assert [row[0] for row in first.rows[1:]] == ["gamma", "beta"]
    assert "3 models" in first.text and "1–2, page 1 of 2" in first.text
    assert "3 models, 2 of them with 95% intervals on both axes: those on this page of the table" in first.text
    (following,) = first.to("/explore", page="2")
    second = rita.get(following)
    assert [row[0] for row in parse_page(second).rows[1:]] == ["alpha"]
    assert second.text.count('class="mark"') == 1 and second.text.count("h0") == 2
    assert '<input type="hidden" name="page" value="2">' in second.text
    (back,) = [address for text, address in parse_page(second).links if text == "← Previous"]
    assert [row[0] for row in parse_page(rita.get(back)).rows[1:]] == ["gamma", "beta"]
    beyond = parse_page(rita.get("/explore", params={"set": "digits", "page": 9, "models": "alpha"}))
    assert [row[0] for row in beyond.rows[1:]] == ["alpha"] and "page 1 of" not in beyond.text


def test_form_redirects_to_a_short_url_without_filters_of_other_sets(visitor):
    rita = visitor("Rita")
    sent = rita.get("/explore?was=digits&set=digits&labels=multi%401&slice=&models=")
    assert (sent.status_code, sent.headers["location"]) == (303, "/explore?set=digits&labels=multi%401")
    sent = rita.get("/explore?was=digits&set=reference&labels=multi%401&slice=x&models=al")
    assert sent.headers["location"] == "/explore?set=reference&models=al"


def test_new_predictions_and_labels_appear_without_a_restart(workspace, visitor, tmp_path):
    rita = visitor("Rita")
    assert "delta" not in rita.get("/explore?set=digits").text
    target = workspace.store.test_set("digits")
    workspace.models.add_predictions("delta", np.eye(10)[target.labels], test_set="digits")
    assert "100.0" in parse_page(rita.get("/explore?set=digits")).row("delta")[2]
    ids = [target.class_space.ids[(label + 1) % 10] for label in target.labels]
    lines = [f"{example},{class_id}" for example, class_id in zip(target.ids, ids, strict=True)]
    (tmp_path / "next.csv").write_text("image,class\n" + "\n".join(lines) + "\n")
    workspace.labels.import_file(tmp_path / "next.csv", test_set="digits", name="multi", new_version=True)
    newest = parse_page(rita.get("/explore?set=digits&labels=multi"))
    assert "multi@2" in newest.text
    assert newest.row("delta")[5].startswith("0.0")


def test_new_reviews_appear_without_a_restart(workspace, visitor, tmp_path):
    rita, before = visitor("Rita"), workspace.grade("digits", labels="multi").rows
    assert novel_counts(rita) == {row.model: row.novel for row in before}
    drawn = workspace.labels.draw_sample("digits", labels="multi", size=5)
    target = workspace.store.test_set("digits")
    pairs = zip(drawn.frame.examples[drawn.rows], drawn.frame.classes[drawn.rows], strict=True)
    lines = [f"{target.ids[image]},{target.class_space.ids[label]},correct\n" for image, label in pairs]
    (tmp_path / "verdicts.csv").write_text("image,class,verdict\n" + "".join(lines))
    workspace.labels.import_decisions(tmp_path / "verdicts.csv", test_set="digits", labels="multi")
    after = workspace.grade("digits", labels="multi").rows
    assert sum(row.novel for row in after) < sum(row.novel for row in before)
    assert novel_counts(rita) == {row.model: row.novel for row in after}


def novel_counts(visitor):
    page = parse_page(visitor.get("/explore?set=digits&labels=multi"))
    column = next(place for place, title in enumerate(page.rows[0]) if title.startswith("novel"))
    return {row[0]: int(row[column]) for row in page.rows[1:]}


def test_pages_explain_missing_predictions_and_labels(workspace, visitor, tmp_path):
    rita = visitor("Rita")
    assert "No model has predictions on reference yet" in parse_page(rita.get("/explore?set=reference")).text
    (tmp_path / "bare.csv").write_text("image\n" + "".join(f"bare-{n}\n" for n in range(5)))
    workspace.testsets.add("bare", tmp_path / "bare.csv", classes="digits")
    workspace.models.add_predictions("alpha", np.eye(10)[:5], test_set="bare")
    page = parse_page(rita.get("/explore?set=bare"))
    assert page.row("alpha")[-1] == "0"
    grid = parse_page(rita.get("/explore/images?set=bare&model=alpha"))
    assert "bare-3" in grid.text
    assert grid.images == []
    for outcome in ("wrong", "right", "not-in-five"):
        assert "0 images of 5" in parse_page(rita.get(f"/explore/images?set=bare&model=alpha&outcome={outcome}")).text
    assert "Labelnone" in parse_page(rita.get("/explore/image?set=bare&image=3")).text
    assert "No image of this class is scored" in parse_page(rita.get("/explore/class?set=bare&class=3")).text


def test_empty_workspace_page_says_what_to_do(tmp_path):
    from fastapi.testclient import TestClient

    import regrade
    from regrade.app import create_app
    from regrade.app.sessions import Sessions
    from regrade.ledger import Role

    workspace = regrade.init(tmp_path / "W")
    owner = workspace.ledger.people.add("Olga", Role.OWNER)
    client = TestClient(create_app(workspace, local=True))
    sessions = Sessions(workspace.ledger.accounts)
    client.cookies.set(sessions.cookie_name, sessions.cookie_for(owner))
    assert "regrade testsets add" in parse_page(client.get("/explore")).text
    assert client.get("/explore/images").status_code == 404


def test_plot_has_a_point_for_every_model_with_both_accuracies(visitor):
    rita = visitor("Rita")
    page = parse_page(rita.get("/explore?set=digits&labels=multi"))
    assert page.html.count('class="mark"') == 3
    two = rita.get("/explore", params={"set": "digits", "x": "top1:digits:", "y": "top5:digits:"})
    assert two.text.count('class="mark"') == 3
    assert "top-5 on digits, %" in two.text
    alone = rita.get("/explore", params={"set": "digits", "y": "top1:reference:"})
    assert "no model has predictions on reference yet" in alone.text
    bad = rita.get("/explore", params={"set": "digits", "y": "size:digits:"})
    assert bad.status_code == 400


def test_explore_refuses_labelers(visitor):
    for path in ("/explore", "/explore/images", "/explore/image?image=1", "/explore/class?class=1"):
        assert visitor("Leo").get(path).status_code == 403, path
        assert visitor().get(path).status_code == 303, path
        assert visitor("Olga").get(path).status_code == 200, path


@pytest.mark.parametrize(
    "address",
    ["/explore?set=none", "/explore/images?set=digits&model=none", "/explore/image?set=digits&image=60",
     "/explore/image?set=digits", "/explore/image?set=digits&id=none", "/explore/class?set=digits&class=none",
     "/explore/images?set=digits&labels=none", "/explore/images?set=digits&outcome=none", "/explore/class?set=digits",
     "/explore/images?set=digits&slice=none", "/explore/images?set=digits&order=none"],
)  # fmt: skip
def test_unknown_names_are_404_with_one_line(visitor, address):
    response = visitor("Rita").get(address)
    assert response.status_code == 404
    assert "unknown" in response.text
    assert "Traceback" not in response.text


def test_choice_url_escapes_every_character():
    name = "a/b?c#d%e&f=g <h> 'i' \"j\" +k é 数"
    address = Choice(set=name).images(model=name, outcome="wrong")
    assert quote(name, safe="") in address
    assert " " not in address and "<" not in address and "#" not in address


def test_pages_with_a_table_of_models_state_who_has_predictions_on_some_images_only(workspace, visitor, tmp_path):
    digits = workspace.store.test_set("digits")
    lines = [
        f"{example},{digits.class_space.ids[label]}" for example, label in zip(digits.ids, digits.labels, strict=True)
    ]
    (tmp_path / "part.csv").write_text("\n".join(["image,prediction", *lines[:12]]) + "\n")
    rita = visitor("Rita")
    note = "predictions on some of the images only: part 12 of 60 images of digits"
    pages = ("/explore?set=digits", "/explore/class?set=digits&class=3")
    assert not any(note in rita.get(page).text for page in pages)
    workspace.models.import_predictions(tmp_path / "part.csv", test_set="digits", model="part", partial=True)
    assert all(note in rita.get(page).text for page in pages)
    assert parse_page(rita.get(pages[0])).row("part")[-1] == "12"


def test_rows_are_searched_once_for_novel_answers():
    searches = []

    class Rows(tuple):
        def __iter__(self):
            searches.append(self)
            return super().__iter__()

    table = ModelsTable(Rows(), (), "model", False, None, AxisRange(0.0, 1.0), 0, ())
    assert [table.novel, table.novel, len(searches)] == [False, False, 1]
