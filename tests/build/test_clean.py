"""regrade build clean: distances as Recht et al. 2019 define them, decisions, and what they exclude."""

import json
from dataclasses import replace

import numpy as np
import pytest
from build_world import make_build
from PIL import Image
from planted import brighter, reencoded, resized, textures
from running import assert_one_line, run, run_well
from skimage.metrics import structural_similarity

from regrade.build.files import RevisionCollection
from regrade.build.release import read_release
from regrade.core import InputError, MismatchError, PairSide, Predictions, SliceSet, UnknownName
from regrade.core.image_pairs import pair_key
from regrade.ledger import Question, Role, VoteContent
from regrade.store import PredictionSource, manifest_of

TARGETS = {"pixels": 1.2e8, "dssim": 0.2205}
DRAWN = 4  # images per class


def image_path(workspace, image):
    folder, number = image.split("-")
    return workspace.store.root.parent / folder / f"{number}.png"


def plant(workspace, image, pixels):
    """Replace the file of an image."""
    Image.fromarray(pixels).save(image_path(workspace, image))


@pytest.fixture(scope="module")
def planted_build(tmp_path_factory):
    """A build with revision 0, in which some drawn images are duplicates of each other or of reference images."""
    workspace = make_build(tmp_path_factory.mktemp("clean"))
    workspace.build.sample("new", "top", per_class=DRAWN)
    drawn = drawn_images(workspace)
    first, second, third, fourth = textures(4)
    plant(workspace, drawn[0], first)
    plant(workspace, drawn[1], reencoded(first))
    plant(workspace, drawn[2], second)
    plant(workspace, "reference-003", second)
    plant(workspace, drawn[3], brighter(third))
    plant(workspace, "reference-007", third)
    plant(workspace, drawn[4], fourth)
    plant(workspace, drawn[5], resized(fourth)[:, ::-1])
    ledger = workspace.ledger
    for name in ("Rita", "Rob"):
        ledger.people.add(name, Role.REVIEWER)
    return workspace


@pytest.fixture(scope="module")
def cleaned(planted_build):
    return planted_build, planted_build.build.clean("new")


def drawn_images(workspace, number=0):
    return [image for image, _ in RevisionCollection(workspace.store.root).read("new", number).sample.examples]


def pairs_of(result):
    return {frozenset((row.image, row.reference)): row for row in result.pairs}


def squares(workspace, images):
    """Images scaled to 256 x 256 by another route: bilinear by Pillow, from the files."""
    size = (256, 256)
    opened = {image: Image.open(image_path(workspace, image)).convert("RGB") for image in images}
    return {
        image: np.asarray(file.resize(size, Image.Resampling.BILINEAR), dtype=float) for image, file in opened.items()
    }


def slow_distances(first, second):
    """Both distances by the definition, with scikit-image's SSIM."""
    ssim = structural_similarity(first, second, win_size=35, channel_axis=2, data_range=255)
    return {"pixels": float(((first - second) ** 2).sum()), "dssim": (1 - ssim) / 2}


def test_pairs_are_all_those_within_the_targets_of_recht_2019(cleaned):
    workspace, result = cleaned
    drawn, references = drawn_images(workspace), list(workspace.store.test_set("reference").ids)
    pixels = squares(workspace, [*drawn, *references])
    expected = {}
    for place, image in enumerate(drawn):
        for near in [*drawn[place + 1 :], *references]:
            for flip in (False, True):
                first = pixels[image][:, ::-1] if flip else pixels[image]
                measured = slow_distances(first, pixels[near])
                inside = {name: value for name, value in measured.items() if value <= TARGETS[name]}
                for name, value in inside.items():
                    best = expected.setdefault(frozenset((image, near)), {})
                    best[name] = min(value, best.get(name, value))
    matches = pairs_of(result)
    assert set(matches) == set(expected)
    assert len(matches) == 4
    for key, row in matches.items():
        near = {name: value for name, value in row.distances.items() if name != "exact"}
        assert near == pytest.approx(expected[key], rel=1e-6, abs=1e-9)
    assert matches[frozenset((drawn[4], drawn[5]))].mirrored
    assert not matches[frozenset((drawn[0], drawn[1]))].mirrored


def test_distances_of_flat_images_match_values_worked_by_hand(tmp_path):
    workspace = make_build(tmp_path)
    workspace.build.sample("new", "top", per_class=DRAWN)
    first, second = drawn_images(workspace)[:2]
    plant(workspace, first, np.full((80, 100, 3), 100, dtype=np.uint8))
    plant(workspace, second, np.full((80, 100, 3), 110, dtype=np.uint8))
    [row] = workspace.build.clean("new").pairs
    # 10 gray levels at 256 * 256 * 3 places; SSIM of flat images is (2ab + C1) / (a^2 + b^2 + C1) with C1 = 2.55^2
    assert row.distances["pixels"] == 10**2 * 256 * 256 * 3 == 19_660_800
    assert row.distances["dssim"] == pytest.approx((1 - (22_000 + 6.5025) / (22_100 + 6.5025)) / 2, rel=1e-9)


def test_result_counts_pairs_by_distance_and_by_set(cleaned):
    workspace, result = cleaned
    assert (result.scope, result.images) == ("revision 0", 3 * DRAWN)
    by_name = {row.distance: row for row in result.distances}
    assert by_name["dssim"].target == 0.2205
    assert (by_name["dssim"].pairs, by_name["dssim"].exact, by_name["dssim"].undecided) == (4, 1, 3)
    smallest = min(row.distances["dssim"] for row in result.pairs if not row.relation)
    assert by_name["dssim"].smallest == smallest
    sets = {row.test_set: (row.pairs, row.exact, row.undecided) for row in result.sets}
    assert sets == {"pool (each other)": (2, 0, 2), "reference": (2, 1, 1)}
    assert (result.queue, result.queued) == ("new pairs", 3)
    queue = workspace.ledger.queues.named("new pairs")
    assert (queue.question, queue.test_set, queue.overlap, queue.build) == (Question.PAIR, "pool", 1, "new")
    assert len(workspace.ledger.items.pairs(queue)) == 3


def test_clean_again_adds_nothing_and_searches_nothing(cleaned, monkeypatch):
    workspace, result = cleaned
    files = sorted(path.name for path in (workspace.store.root / "pairs" / "pool").iterdir())
    monkeypatch.setattr("regrade.studies.leakage.pair_search.find_pairs", lambda *_: pytest.fail("searched again"))
    again = workspace.build.clean("new")
    assert again.queued == 0
    assert again.pairs == result.pairs
    assert sorted(path.name for path in (workspace.store.root / "pairs" / "pool").iterdir()) == files


def test_an_interrupted_clean_keeps_the_sets_that_were_compared(tmp_path, monkeypatch):
    workspace = make_build(tmp_path)
    workspace.build.sample("new", "top", per_class=DRAWN)
    from regrade.studies.leakage import pair_search

    usual, calls = pair_search.find_pairs, []

    def stops_at_the_second(first, second, search, progress):
        calls.append("within" if second is None else second.examples.name)
        if calls == ["within", "reference"]:
            raise KeyboardInterrupt
        return usual(first, second, search, progress)

    monkeypatch.setattr(pair_search, "find_pairs", stops_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        workspace.build.clean("new")
    workspace.build.clean("new")
    assert calls == ["within", "reference", "reference"]


def vote_on_pairs(workspace, relations):
    """Let Rita answer every item of the queue; ``relations`` are by key."""
    ledger = workspace.ledger
    queue, rita = ledger.queues.named("new pairs"), ledger.people.named("Rita")
    while (item := ledger.items.next(queue, rita)) is not None:
        ledger.votes.cast(item.id, rita, VoteContent(f"vote-{item.id:05}", relations[item.class_id]))


def key_of(first, second, against="pool"):
    return pair_key(PairSide("pool", first), PairSide(against, second))


def test_decisions_are_published_and_decide_what_is_drawn_and_frozen(planted_build, tmp_path):
    workspace = planted_build
    workspace.build.clean("new")
    first, second, third, fourth, fifth, sixth, *_ = drawn_images(workspace)
    with pytest.raises(
        InputError, match=r"revision 0 of new contains 1 near duplicate, .*'reference-003' of reference"
    ):
        workspace.build.freeze("new", "fresh")
    undecided = workspace.build.sample("new", "top", per_class=DRAWN, continue_from=0)
    assert undecided.excluded == {"near_duplicate": 1, "unreviewed": 5}
    assert not {first, second, third, fourth, fifth, sixth} & set(drawn_images(workspace, 1))
    relations = {
        key_of(first, second): "duplicate",
        key_of(fourth, "reference-007", "reference"): "duplicate",
        key_of(fifth, sixth): "different",
    }
    vote_on_pairs(workspace, relations)
    assert workspace.review.publish("new pairs", dry_run=True).changes == {"new duplicates": 2, "new different": 1}
    assert workspace.review.publish("new pairs").written
    assert not workspace.review.publish("new pairs").written
    counts = {row.distance: row for row in workspace.build.clean("new", revision=0).distances}["dssim"]
    assert (counts.duplicates, counts.different, counts.undecided, counts.smallest) == (3, 1, 0, None)

    sample = workspace.build.sample("new", "top", per_class=DRAWN, continue_from=0)
    drawn = drawn_images(workspace, 2)
    assert sample.excluded == {"near_duplicate": 3}
    assert {fifth, sixth} <= set(drawn)
    assert len({first, second} & set(drawn)) == 1
    assert not {third, fourth} & set(drawn)
    with pytest.raises(
        InputError, match=r"images of revision 2 of new were not compared with each other and reference"
    ):
        workspace.build.freeze("new", "fresh")
    workspace.build.clean("new")
    workspace.build.freeze("new", "fresh", out=tmp_path / "release")
    assert workspace.build.verify(tmp_path / "release").sound
    datasheet = (tmp_path / "release" / "datasheet.md").read_text()
    assert "compared with: each other, reference" in datasheet
    assert "equal pixels: 1; decided by people: 2 duplicate, 1 different" in datasheet
    assert "candidates excluded as near duplicates: 3" in datasheet
    assert read_release(tmp_path / "release").draw.duplicates.checked
    kept = next(image for image in drawn if image in (first, second))
    frequencies = {row.candidate.image: row.candidate for row in read_release(tmp_path / "release").candidates}
    best = max((first, second), key=lambda image: (frequencies[image].frequency, frequencies[image].assignments))
    assert frequencies[kept].frequency == frequencies[best].frequency


def test_freeze_refuses_an_undecided_pair_and_states_it_if_that_is_accepted(tmp_path):
    workspace = make_build(tmp_path)
    workspace.build.sample("new", "top", per_class=DRAWN)
    first, second = drawn_images(workspace)[:2]
    [texture] = textures(1)
    plant(workspace, first, texture)
    plant(workspace, second, reencoded(texture))
    with pytest.raises(
        InputError, match="were not compared with each other and reference: run regrade build clean new"
    ):
        workspace.build.freeze("new", "fresh")
    workspace.build.clean("new")
    assert_one_line(run("build", "clean", "new", "--overlap", "3", "-w", workspace.store.root), "need 1 votes each")
    done = run("build", "freeze", "new", "--as", "fresh", "-w", workspace.store.root)
    assert_one_line(done, "1 pair of near duplicates", repr(first), "regrade review publish 'new pairs'")
    run_well("build", "freeze", "new", "--as", "fresh", "--unchecked-duplicates", "-w", workspace.store.root)
    folder = workspace.store.root / "releases" / "fresh"
    assert workspace.build.verify(folder).sound
    datasheet = (folder / "datasheet.md").read_text()
    assert "NOT complete: 2 images have a near duplicate that nobody has decided about" in datasheet
    changed = json.loads((folder / "draw.json").read_text())
    changed["duplicates"]["targets"] = [1]
    (folder / "draw.json").write_text(json.dumps(changed))
    assert not workspace.build.verify(folder).sound


def test_a_set_that_was_never_compared_says_so(tmp_path):
    workspace = make_build(tmp_path)
    workspace.build.sample("new", "top", per_class=DRAWN)
    workspace.build.freeze("new", "fresh", unchecked_duplicates=True)
    datasheet = (workspace.store.root / "releases" / "fresh" / "datasheet.md").read_text()
    assert "The images were NOT compared with each other or with other sets" in datasheet


def test_a_withdrawn_decision_is_published_as_taken_back(tmp_path):
    workspace = make_build(tmp_path)
    workspace.ledger.people.add("Rita", Role.REVIEWER)
    workspace.build.sample("new", "top", per_class=DRAWN)
    first, second = drawn_images(workspace)[:2]
    [texture] = textures(1)
    plant(workspace, first, texture)
    plant(workspace, second, reencoded(texture))
    workspace.build.clean("new")
    vote_on_pairs(workspace, {key_of(first, second): "duplicate"})
    workspace.review.publish("new pairs")
    assert workspace.build.sample("new", "top", per_class=DRAWN).excluded == {"near_duplicate": 1}
    ledger = workspace.ledger
    [item] = ledger.items.about_image("pool", first) or ledger.items.about_image("pool", second)
    rita = ledger.people.named("Rita")
    ledger.votes.retract(item.item.id, rita, key="retract-1", why="wrong key")
    assert workspace.review.publish("new pairs").changes == {"taken back": 1}
    assert workspace.build.sample("new", "top", per_class=DRAWN).excluded == {"unreviewed": 2}


def test_candidates_are_compared_with_further_sets(planted_build):
    workspace = planted_build
    result = workspace.build.clean("new", candidates=True, against=["reference"], target={"dssim": 0.1})
    assert (result.scope, result.images) == ("the candidates", 120)
    assert {row.distance: row.target for row in result.distances} == {"pixels": 1.2e8, "dssim": 0.1}
    with pytest.raises(InputError, match="--against must differ from the pool"):
        workspace.build.clean("new", against=["pool"])


def test_pairs_of_the_same_source_are_skipped_unless_their_pixels_are_equal(tmp_path):
    workspace = make_build(tmp_path)
    workspace.build.sample("new", "top", per_class=DRAWN)
    first, second, third, fourth = drawn_images(workspace)[:4]
    texture, copied = textures(2)
    for image, pixels in ((first, texture), (second, reencoded(texture)), (third, copied), (fourth, copied)):
        plant(workspace, image, pixels)
    pool = workspace.store.test_set("pool")
    shared = {first: "shared", second: "shared", third: "again", fourth: "again"}
    column = tuple(shared.get(image, "unknown") for image in pool.ids)
    workspace.store.slices.add(SliceSet("source_id", "pool", len(pool), columns={"source_id": column}), pool)
    result = workspace.build.clean("new")
    assert [(row.relation, {row.image, row.reference}) for row in result.pairs] == [("duplicate", {third, fourth})]
    assert "skipped, since their source_id is the same: 1 pair" in result.notes


def store_embeddings(workspace, name, values):
    """Predictions of the model vgg with embeddings."""
    test_set = workspace.store.test_set(name)
    predicted = Predictions("vgg", name, "three", np.zeros((len(values), 1), np.int32), features=values)
    manifest = replace(manifest_of(predicted, test_set, test_set.class_space, PredictionSource()), features=True)
    workspace.store.add_predictions(test_set, [(predicted, manifest)], test_set.class_space)


@pytest.fixture(scope="module")
def with_embeddings(tmp_path_factory):
    workspace = make_build(tmp_path_factory.mktemp("embeddings"))
    workspace.build.sample("new", "top", per_class=DRAWN)
    generator = np.random.default_rng(0)
    vectors = {}
    for name in ("pool", "reference"):
        test_set = workspace.store.test_set(name)
        vectors[name] = generator.integers(-40, 40, (len(test_set), 12)).astype(np.float16)
    drawn = [workspace.store.test_set("pool").position(image) for image in drawn_images(workspace)]
    vectors["pool"][drawn[0]] = vectors["reference"][5] + 1
    vectors["pool"][drawn[1]] = vectors["pool"][drawn[2]] + 2
    for name, values in vectors.items():
        store_embeddings(workspace, name, values)
    return workspace


def test_embeddings_are_compared_by_squared_euclidean_distance(with_embeddings):
    result = with_embeddings.build.clean("new", by=["embeddings"], model="vgg", target={"embeddings": 100})
    matches = {frozenset((row.image, row.reference)): row.distances for row in result.pairs}
    drawn = drawn_images(with_embeddings)
    assert set(matches) == {frozenset((drawn[0], "reference-005")), frozenset(drawn[1:3])}
    assert matches[frozenset((drawn[0], "reference-005"))]["embeddings"] == 12 * 1**2
    assert matches[frozenset(drawn[1:3])]["embeddings"] == 12 * 2**2


def test_embeddings_need_a_target_and_a_model(with_embeddings):
    root = with_embeddings.store.root
    assert_one_line(run("build", "clean", "new", "--model", "vgg", "-w", root), "embeddings need a threshold")
    assert_one_line(run("build", "clean", "new", "--by", "embeddings", "-w", root), "requires a model")
    command = ("build", "clean", "new", "--by", "embeddings", "--target", "embeddings=9", "--model", "resnet")
    assert_one_line(run(*command, "-w", root), "unknown model on pool 'resnet'")


def test_clean_prints_tables_and_json(planted_build):
    root = planted_build.store.root
    out = run_well("build", "clean", "new", "--revision", "0", "--by", "l2,dssim", "--target", "l2=1e8", "-w", root).out
    assert "100,000,000" in out and "compared with each other and with reference" in out
    shown = run_well("build", "clean", "new", "--revision", "0", "--show", "pairs", "--json", "-w", root).out
    assert len(json.loads(shown)["pairs"]) == 4
    assert "reference" in run_well("build", "clean", "new", "--show", "sets", "-w", root).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent"], ["unknown build 'absent'"]),
        (["new", "--against", "absent"], ["unknown test set 'absent'"]),
        (["new", "--revision", "9"], ["unknown revision of new '9'"]),
        (["new", "--candidates", "--revision", "0"], ["either --revision or --candidates"]),
        (["new", "--by", "nothing"], ["nothing"]),
        (["new", "--by", "exact"], ["exact duplicates are always searched"]),
        (["new", "--target", "dssim"], ["--target takes DISTANCE=TARGET"]),
        (["new", "--target", "phash=3"], ["phash", "--by"]),
        (["new", "--target", "dssim=nan"], ["--target"]),
        (["new", "--candidates", "--min-answers", "500"], ["no candidate of new has 500 answers"]),
    ],
)
def test_bad_input_is_one_clear_line(planted_build, arguments, words):
    planted_build.build.clean("new", revision=0)
    assert_one_line(run("build", "clean", *arguments, "-w", planted_build.store.root), *words)


def test_clean_needs_a_revision_and_sets_with_images(tmp_path):
    workspace = make_build(tmp_path)
    with pytest.raises(InputError, match="build new has no revision yet: draw one with regrade build sample, or"):
        workspace.build.clean("new")
    workspace.build.sample("new", "top", per_class=DRAWN)
    (tmp_path / "train.csv").write_text("id,label\na,n01\n")
    workspace.testsets.add("train", tmp_path / "train.csv", classes="three")
    done = run("build", "clean", "new", "--against", "train", "-w", workspace.store.root)
    assert_one_line(done, "train")
    with pytest.raises(UnknownName):
        workspace.build.clean("other")


def test_unreadable_images_are_named_and_keep_the_set_from_being_frozen(tmp_path):
    workspace = make_build(tmp_path)
    workspace.build.sample("new", "top", per_class=DRAWN)
    broken = drawn_images(workspace)[0]
    image_path(workspace, broken).write_bytes(b"<html>404</html>")
    result = workspace.build.clean("new")
    assert f"not compared, since they cannot be read or have no embeddings: {broken}" in result.notes
    with pytest.raises(InputError, match="not compared with each other and reference"):
        workspace.build.freeze("new", "fresh")


def test_a_queue_of_another_kind_is_not_filled(tmp_path):
    workspace = make_build(tmp_path)
    workspace.build.sample("new", "top", per_class=DRAWN)
    first, second = drawn_images(workspace)[:2]
    [texture] = textures(1)
    plant(workspace, first, texture)
    plant(workspace, second, reencoded(texture))
    workspace.ledger.queues.create("new pairs", Question.LABEL, test_set="pool")
    with pytest.raises(MismatchError, match="queue 'new pairs' exists with another question or test set"):
        workspace.build.clean("new")
