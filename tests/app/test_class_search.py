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
    queries.map((query) => classes.search(query).map(({ name }) => name)),
    classes.search("tiger", { among }).map(({ name }) => name),
    classes.within(among).length,
  ];
}"""

FIRST = {
    "tiger": "tiger",  # the whole name before names that begin with it, such as tiger beetle
    "TIGER": "tiger",
    "tigers": "tiger",
    "corgi": "Cardigan (corgi)",
    "pembroke welsh corgi": "Pembroke",
    "welsh corgis": "Pembroke",  # a word of a synonym, in the plural
    "tshirt": "jersey",
    "t-shirt": "jersey",
    "T shirt": "jersey",
    "jack o lantern": "jack-o'-lantern",
    "jackolantern": "jack-o'-lantern",
    "potters wheel": "potter's wheel",
    "german shep": "German shepherd",
    "golden retr": "golden retriever",
    "foxes": "kit fox",  # the first of equally long names
    "n02113023": "Pembroke",
    "chihuahau": "Chihuahua",  # letters swapped
    "labordor": "Labrador retriever",
    "laptop computer": "laptop",
    "canis dingo": "dingo",
}


MORE_QUERIES = ("crane", "fox", "terriers", "dog", "bow", "straight-legged", "xylographer", "", " - ", "a", "zz")


@pytest.fixture(scope="module")
def results(browser):
    """The search results of each query, by the script and the class index of the app."""
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
    queries = [*FIRST, *MORE_QUERIES]
    names, among, size = page.evaluate(SEARCH, queries)
    yield dict(zip(queries, names, strict=True), among=among, size=size)
    page.close()


@pytest.mark.parametrize(("query", "name"), FIRST.items())
def test_search_ranks_the_best_match_first(results, query, name):
    assert results[query][:1] == [name]


def test_search_finds_all_classes_with_the_same_name(results):
    assert set(results["crane"][:2]) == {"crane (lifting device)", "crane (wading bird)"}


def test_search_ranks_whole_words_before_prefixes(results):
    """Foxes of all kinds, then fox squirrels, then foxhounds."""
    names = results["fox"]
    whole = [place for place, name in enumerate(names) if "fox" in name.replace("-", " ").split()]
    begun = [place for place, name in enumerate(names) if name.split()[-1].startswith("foxhound")]
    assert len(whole) >= 4
    assert begun
    assert max(whole) < min(begun)


def test_search_matches_plurals(results):
    space = imagenet_1k()
    terriers = {
        name for name, own in zip(space.names, space.lemmas, strict=True) if any("terrier" in word for word in own)
    }
    assert len(terriers) >= 20
    assert set(results["terriers"][: len(terriers)]) == terriers


def test_search_ranks_prefixes_before_substrings(results):
    """Bow and names that begin with it come before elbow and rainbow."""
    assert results["bow"][0] == "bow"
    begun = [place for place, name in enumerate(results["bow"]) if name.startswith("bow")]
    inside = [place for place, name in enumerate(results["bow"]) if "bow" in name and " bow" not in f" {name}"]
    assert not inside or max(begun) < min(inside)


def test_search_falls_back_to_definitions(results):
    assert "Pembroke" in results["straight-legged"]


def test_search_without_matches_is_empty(results):
    assert results["xylographer"] == results[""] == results[" - "] == results["zz"] == []


def test_search_by_one_letter_matches_prefixes_only(results):
    assert 0 < len(results["a"]) <= 60
    assert "abacus" in results["a"]


def test_search_can_be_restricted_to_a_family(results):
    assert results["among"] == ["tiger beetle"]
    assert results["size"] == len(imagenet_1k().group("insects"))
