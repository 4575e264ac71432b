"""Search over the 1,000 classes of ImageNet, as the browser does it."""

import pytest

from regrade.app.class_index import class_index
from regrade.app.pages import HERE
from regrade.classes import imagenet_1k

SEARCH = """async (queries) => {
  const { loadClasses } = await import("/static/classes.js");
  const classes = await loadClasses("imagenet-1k");
  const among = classes.families.get("insects");
  return [
    queries.map((query) => classes.search(query).map((one) => one.name)),
    classes.search("tiger", { among }).map((one) => one.name),
    classes.within(among).length,
  ];
}"""

FIRST = {
    "tiger": "tiger",  # the whole name before names that begin with it, such as tiger beetle
    "TIGER": "tiger",
    "tigers": "tiger",
    "corgi": "Cardigan (corgi)",
    "pembroke welsh corgi": "Pembroke",
    "welsh corgis": "Pembroke",  # a word of other names, in the plural
    "tshirt": "jersey",
    "t-shirt": "jersey",
    "T shirt": "jersey",
    "jack o lantern": "jack-o'-lantern",
    "jackolantern": "jack-o'-lantern",
    "potters wheel": "potter's wheel",
    "german shep": "German shepherd",
    "golden retr": "golden retriever",
    "foxes": "kit fox",  # of equally long names the first
    "n02113023": "Pembroke",
    "chihuahau": "Chihuahua",  # letters swapped
    "labordor": "Labrador retriever",
    "laptop computer": "laptop",
    "canis dingo": "dingo",
}


OTHERS = ("crane", "fox", "terriers", "dog", "bow", "straight-legged", "xylographer", "", " - ", "a", "zz")


@pytest.fixture(scope="module")
def found(browser):
    """What each query finds, by the script and the index that the app sends."""
    index = class_index(imagenet_1k())
    page = browser.new_page(base_url="http://regrade.test")

    def answer(route):
        name = route.request.url.removeprefix("http://regrade.test/")
        if name.startswith("static/"):
            route.fulfill(body=(HERE / name).read_text(), content_type="text/javascript")
        else:
            route.fulfill(body=index.content if name.startswith("api/classes/") else b"", content_type="text/html")

    page.route("**/*", answer)
    page.goto("/")
    queries = [*FIRST, *OTHERS]
    names, among, size = page.evaluate(SEARCH, queries)
    yield dict(zip(queries, names, strict=True), among=among, size=size)
    page.close()


@pytest.mark.parametrize(("query", "name"), FIRST.items())
def test_the_likeliest_class_comes_first(found, query, name):
    assert found[query][:1] == [name]


def test_both_classes_of_one_word_are_found_first(found):
    assert set(found["crane"][:2]) == {"crane (lifting device)", "crane (wading bird)"}


def test_a_whole_word_comes_before_the_beginning_of_one(found):
    """Foxes of all kinds, then fox squirrels, then foxhounds."""
    names = found["fox"]
    whole = [place for place, name in enumerate(names) if "fox" in name.replace("-", " ").split()]
    begun = [place for place, name in enumerate(names) if name.split()[-1].startswith("foxhound")]
    assert len(whole) >= 4
    assert begun
    assert max(whole) < min(begun)


def test_a_plural_finds_every_class_of_the_word(found):
    space = imagenet_1k()
    terriers = {
        name for name, own in zip(space.names, space.lemmas, strict=True) if any("terrier" in one for one in own)
    }
    assert len(terriers) >= 20
    assert set(found["terriers"][: len(terriers)]) == terriers


def test_a_name_comes_before_the_middle_of_a_word(found):
    """Bow, then what begins with it; elbow and rainbow are no beginnings."""
    assert found["bow"][0] == "bow"
    begun = [place for place, name in enumerate(found["bow"]) if name.startswith("bow")]
    inside = [place for place, name in enumerate(found["bow"]) if "bow" in name and " bow" not in f" {name}"]
    assert not inside or max(begun) < min(inside)


def test_a_definition_is_found_where_no_name_is(found):
    assert "Pembroke" in found["straight-legged"]


def test_nothing_is_found_where_there_is_nothing(found):
    assert found["xylographer"] == found[""] == found[" - "] == found["zz"] == []


def test_a_single_letter_finds_beginnings_only(found):
    assert 0 < len(found["a"]) <= 60
    assert "abacus" in found["a"]


def test_a_search_can_keep_to_a_family(found):
    assert found["among"] == ["tiger beetle"]
    assert found["size"] == len(imagenet_1k().group("insects"))
