"""A new test set from end to end in a real browser: grids, frequencies, pairs, reviews, release, and a line of models.

The images are real: CIFAR-10 test images are the reference set, CIFAR-10 training images the pool.
"""

import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image, ImageEnhance
from playwright.sync_api import expect
from running import run_well
from work_page import answered, ready, saved

import regrade
from regrade.build.files import RevisionCollection
from regrade.build.grid_work import GridWork
from regrade.build.tasks import TileRole
from regrade.ledger import Role, WorkerEvent
from regrade.workspace import Workspace

BUILD = "pets"
CLASSES = {3: "cat", 5: "dog"}
CARELESS = "worker-0005"
WORKERS = ("worker-0001", "worker-0002", "worker-0003", "worker-0004", CARELESS)
DRAW = {"per_class": 6, "min_answers": 3, "min_references": 5}
SIZES = (2, 4, 8, 16)
"""Simple classifiers compare images that are reduced to so many pixels per side."""


@pytest.fixture
def workspace(published, tmp_path) -> Workspace:
    """Both sets, predictions of a published model on the reference set, an owner, a reviewer and five workers."""
    workspace = regrade.init(tmp_path / "W")
    test, train = (pq.read_table(published / "cifar10" / f"{name}.parquet") for name in ("test", "train-5000"))
    write_images(tmp_path / "reference", test, 40)
    write_images(tmp_path / "pool", train, 38)
    brighten(tmp_path / "reference" / "cat", tmp_path / "pool" / "cat" / "99990.jpg")
    brighten(tmp_path / "pool" / "cat", tmp_path / "pool" / "cat" / "99991.jpg")
    for name in ("reference", "pool"):
        workspace.testsets.add(name, tmp_path / name, classes="cifar-10", layout="name")
    vgg = pq.read_table(published / "recht2019" / "cifar10.test.top1.parquet")["vgg_15_BN_64"].to_pylist()
    predicted = [vgg[int(Path(image).stem)] for image in workspace.store.test_set("reference").ids]
    workspace.models.add_predictions("vgg", np.eye(10)[predicted], test_set="reference")
    for name, role in (("Olga", Role.OWNER), ("Rita", Role.REVIEWER)):
        workspace.ledger.people.add(name, role)
    workspace.ledger.workers.add(len(WORKERS))
    yield workspace
    workspace.ledger.engine.dispose()


def write_images(folder, table, count):
    """The first images of each class, named by their row."""
    labels = np.array(table["label"].to_pylist())
    for label, name in CLASSES.items():
        (folder / name).mkdir(parents=True)
        for row in np.flatnonzero(labels == label)[:count].tolist():
            (folder / name / f"{row:05}.jpg").write_bytes(table["jpeg"][row].as_py())


def brighten(folder, copy):
    """Write a slightly brighter copy of an image of a folder."""
    original = Image.open(io.BytesIO(sorted(folder.iterdir())[7].read_bytes()))
    ImageEnhance.Brightness(original).enhance(1.04).save(copy, quality=95)


def test_a_test_set_is_built_released_and_used(workspace, server, page_of, tmp_path):
    select_images(workspace, server, page_of, tmp_path)
    draw_and_clean(workspace, server, page_of)
    review_and_draw_again(workspace, server, page_of)
    release = tmp_path / "release"
    workspace.build.freeze(BUILD, "new-pets", out=release)
    assert "sound" in run_well("build", "verify", release).out
    use_the_set(workspace)


def select_images(workspace, server, page_of, folder):
    """Five workers answer the grids; the careless one is excluded by the controls."""
    root = workspace.store.root
    run_well(
        "build", "tasks", BUILD, "--pool", "pool", "--reference", "reference", "--confused-by", "vgg",
        "--workers", 4, "--annotated", 10, "-w", root,
    )  # fmt: skip
    (folder / "consent.txt").write_text("You may stop at any time.")
    run_well("build", "open", BUILD, "--consent", folder / "consent.txt", "-w", root)
    for name in (CARELESS, *WORKERS[:-1]):
        answer_all_tasks(workspace, page_of(server, name), name)
    work = GridWork.load(workspace.store, workspace.ledger, BUILD)
    assert list(work.excluded()) == [CARELESS]
    events = {(event.worker, event.event) for event in workspace.ledger.workers.events(work.queue)}
    assert (CARELESS, WorkerEvent.EXCLUDED) in events
    owner = page_of(server, "Olga")
    owner.goto(f"/builds/{BUILD}")
    expect(owner.get_by_role("row", name=CARELESS)).to_contain_text("excluded")
    run_well("review", "publish", f"{BUILD} tasks", "-w", root)
    frequencies = workspace.build.frequencies(BUILD, min_answers=3)
    candidates, references, negatives = (group.mean.value for group in frequencies.groups)
    assert min(candidates, references) > 0.75 and negatives < 0.2


def answer_all_tasks(workspace, page, name):
    """Consent, qualify, and answer every task by mouse; the careless worker selects at random after qualifying."""
    rng = np.random.default_rng(int(name[-1]))
    page.goto("/")
    page.get_by_role("link", name="Begin").click()
    page.get_by_role("button", name="I agree").click()
    work = GridWork.load(workspace.store, workspace.ledger, BUILD)
    while page.locator("body[data-ready], .work-state").first.get_attribute("data-ready"):
        task = work.task_of(int(ready(page)))
        qualifying = page.locator("#kind").is_visible()
        for number, tile in enumerate(task.order_for(name)):
            if rng.random() < chance(tile.role, careless=name == CARELESS and not qualifying):
                page.locator(".tile").nth(number).click()
        submit(page, qualifying)


def chance(role, *, careless):
    """How likely a worker selects an image."""
    if careless:
        return 0.5
    return 0.02 if role is TileRole.NEGATIVE else 0.93


def submit(page, qualifying):
    before = ready(page)
    page.get_by_role("button", name="Submit").click()
    if qualifying:
        page.get_by_role("button", name="Continue").click()
    page.locator(f'body[data-ready="{before}"]').wait_for(state="detached")
    page.locator("body[data-ready], .work-state, #message[open]").first.wait_for()
    if page.locator("#message").is_visible():  # the careless worker is warned first
        page.locator("#message").get_by_role("button", name="Continue").click()
        page.locator("body[data-ready], .work-state").first.wait_for()
    saved(page)


def draw_and_clean(workspace, server, page_of):
    """A matched set, then the decision that the planted copies are duplicates; they are not drawn again."""
    workspace.build.sample(BUILD, "matched-frequency", **DRAW)
    cleaned = workspace.build.clean(BUILD, candidates=True, min_answers=3)
    assert cleaned.queued >= 2
    page = page_of(server, "Rita")
    page.goto("/")
    page.get_by_role("link", name=f"Begin with {BUILD} pairs").click()
    while page.locator("#done").is_hidden():
        ready(page)
        answered(page, "d")
    saved(page)
    run_well("review", "publish", f"{BUILD} pairs", "-w", workspace.store.root)
    drawn = workspace.build.sample(BUILD, "matched-frequency", continue_from=0, **DRAW)
    assert drawn.excluded["near_duplicate"] >= 2 and drawn.images == 12


def review_and_draw_again(workspace, server, page_of):
    """One image is flagged; the next revision replaces it, and everything is reviewed."""
    workspace.build.review(BUILD)
    page = page_of(server, "Rita", width=820)
    page.goto("/")
    page.get_by_role("link", name=f"Begin with {BUILD} review").click()
    flagged = review_classes(page, flag=True)
    root = workspace.store.root
    run_well("review", "publish", f"{BUILD} review", "-w", root)
    workspace.build.sample(BUILD, "matched-frequency", continue_from=1, **DRAW)
    before, after = (set(RevisionCollection(root).read(BUILD, number).sample.examples) for number in (1, 2))
    assert flagged == 1 and len(before - after) == len(after - before) == 1
    workspace.build.clean(BUILD)
    assert workspace.build.review(BUILD).total("open") == 1
    page.goto("/")
    page.get_by_role("link", name=f"Continue with {BUILD} review").click()
    review_classes(page, flag=False)
    run_well("review", "publish", f"{BUILD} review", "-w", root)


def review_classes(page, *, flag):
    """Submit every class with open images; the first image of the first class is flagged if ``flag`` is set."""
    flagged = 0
    page.locator("#next").click()
    while True:
        page.locator("body[data-ready]").wait_for(state="attached")
        page.wait_for_load_state("networkidle")
        address = page.url
        for number in range(page.locator(".tile").count()):
            page.locator(".tile").nth(number).scroll_into_view_if_needed()
        if flag and not flagged:
            page.locator(".tile").first.click()
            page.get_by_role("button", name="Drawing").click()
            flagged += 1
        page.get_by_role("button", name="Submit class").click()
        page.wait_for_url(lambda url, address=address: url != address)
        saved(page)
        if page.locator("#review").count() == 0:
            return flagged


def use_the_set(workspace):
    """Models predict both sets, are graded by selection frequency, and lie on a line."""
    folder = workspace.store.root.parent
    (folder / "nearest.py").write_text(NEAREST.format(folder=str(folder)))
    names = [f"python:{folder}/nearest.py:by_{size}" for size in SIZES]
    run = workspace.predict(names, test_sets=["reference", "new-pets"], classes="cifar-10", workers=1)
    assert not run.failures
    assert len(workspace.grade("new-pets", slices=["selection_frequency"]).rows) > len(names)
    line = workspace.study.generalization(original="reference", new=["new-pets"])
    assert len(line.of("new-pets")) == len(names) and line.shifts[0].lines


NEAREST = '''
"""The class whose mean image, reduced to a few pixels, is the nearest one."""
from pathlib import Path
import numpy as np
from PIL import Image
from regrade.core import Preprocessing

FOLDER = Path("{folder}")


def reduced(pixels, size):
    return np.asarray(Image.fromarray(pixels).resize((size, size)), dtype=np.float32).ravel()


def classifier(size):
    means = dict()
    for label, name in ((3, "cat"), (5, "dog")):
        files = sorted((FOLDER / "pool" / name).iterdir())
        means[label] = np.mean([reduced(np.asarray(Image.open(file).convert("RGB")), size) for file in files], axis=0)

    def scores(batch):
        pixels = (np.moveaxis(batch, 1, 3) * 255).round().astype(np.uint8)
        output = np.full((len(batch), 10), -1e6, dtype=np.float32)
        for row, image in enumerate(pixels):
            for label, mean in means.items():
                output[row, label] = -np.square(reduced(image, size) - mean).mean()
        return output

    scores.preprocessing = Preprocessing(32, 32, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    return scores


by_2, by_4, by_8, by_16 = map(classifier, (2, 4, 8, 16))
'''
