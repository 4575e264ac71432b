"""Multi-label accuracy end to end, compared with a slow reference implementation of both rules."""

import json
import shutil
from pathlib import Path

import pytest
from annotations import MODELS, Images, read_images, write_annotations, write_images
from running import run, run_on_terminal, run_well

from regrade.classes import class_space

SPACE = class_space("imagenet-1k")


def make(folder: Path, source: Path) -> tuple[Path, Images, dict]:
    write_images(source, folder / "images.parquet")
    images = read_images(folder / "images.parquet")
    content = write_annotations(images, folder / "human_accuracy_v3.0.0.json")
    workspace = folder / "W"
    run_well("init", workspace)
    new = ("--test-set", "imagenet-val", "--classes", "imagenet-1k", "-w", workspace)
    run_well("import", "predictions", folder / "images.parquet", *new)
    labels = ("import", "labels", folder / "human_accuracy_v3.0.0.json", "--format", "multilabel-v3")
    run_well(*labels, "--test-set", "imagenet-val", "--name", "multilabel-v3", "-w", workspace)
    return workspace, images, content


@pytest.fixture(scope="module")
def annotated(published: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Images, dict]:
    return make(tmp_path_factory.mktemp("v3"), published / "recht2019" / "imagenet-val.top5.parquet")


def graded(workspace: Path, *options: str) -> dict[str, dict]:
    command = ("grade", "--test-set", "imagenet-val", "--labels", "multilabel-v3", *options, "-w", workspace, "--json")
    grade = json.loads(run_well(*command).out)
    assert (grade["labels"], grade["labels_version"]) == ("multilabel-v3", 1)
    return {row["model"]: row for row in grade["rows"]}


def restated(images: Images, content: dict, model: str, *, rule: str, collapsed: bool) -> tuple[float, float, int, int]:
    """Lower bound, upper bound, novel predictions and images, one image after another."""
    accepted = ("correct", "unclear") if rule == "classes" else ("correct",)
    by_class: dict[str, list[tuple[bool, bool]]] = {}
    for image, label, answer in zip(images.names, images.labels, images.best[model], strict=True):
        lists = content["initial_annots"].get(image)
        if lists is None or image in content["problematic_images"]:
            continue
        right = any(answer in lists.get(state, []) for state in accepted)
        if collapsed:
            also = SPACE.collapsed.get(SPACE.index(label), ())
            right = right or SPACE.index(answer) in also
        judged = any(answer in lists.get(state, []) for state in ("correct", "wrong", "unclear"))
        by_class.setdefault(label, []).append((right, not judged and not right))
    means = []
    for novel_right in (False, True):
        outcomes = [[right or (novel and novel_right) for right, novel in rows] for rows in by_class.values()]
        if rule == "classes":
            means.append(sum(sum(rows) / len(rows) for rows in outcomes) / len(outcomes))
        else:
            means.append(sum(map(sum, outcomes)) / sum(map(len, outcomes)))
    novel = sum(novel for rows in by_class.values() for _, novel in rows)
    return means[0], means[1], novel, sum(map(len, by_class.values()))


@pytest.mark.parametrize("rule", ["images", "classes"])
@pytest.mark.parametrize("collapsed", [False, True])
def test_both_rules_equal_a_plain_computation(annotated, rule, collapsed):
    workspace, images, content = annotated
    rows = graded(workspace, "--rule", rule, *(["--collapsed"] if collapsed else []))
    assert rows.keys() == set(MODELS)
    for model, row in rows.items():
        lower, upper, novel, n = restated(images, content, model, rule=rule, collapsed=collapsed)
        assert row["multilabel"]["value"] == pytest.approx(lower, abs=1e-12)
        assert row["multilabel_upper"]["value"] == pytest.approx(upper, abs=1e-12)
        assert row["novel"] == novel > 20
        assert row["multilabel"]["n"] == n
        for bound in ("multilabel", "multilabel_upper"):
            assert row[bound]["low"] < row[bound]["value"] < row[bound]["high"]
        assert row["reviewed"] is None


def test_rules_and_collapsed_classes_differ(annotated):
    workspace, *_ = annotated
    values = {
        (rule, *flags): graded(workspace, "--rule", rule, *flags)["alexnet"]["multilabel"]["value"]
        for rule in ("images", "classes")
        for flags in ((), ("--collapsed",))
    }
    assert len(set(values.values())) == 4
    assert values["images",] < values["images", "--collapsed"]


def test_the_default_rule_is_by_images(annotated):
    workspace, *_ = annotated
    assert graded(workspace) == graded(workspace, "--rule", "images")


def test_top_1_counts_every_image_annotated_or_not(annotated):
    workspace, images, _ = annotated
    row = graded(workspace)["resnet50"]
    right = [a == b for a, b in zip(images.best["resnet50"], images.labels, strict=True)]
    assert row["top1"]["value"] == pytest.approx(sum(right) / 2000)
    assert row["top1"]["n"] == 2000


def test_slices_of_multilabel_accuracy(annotated):
    workspace, images, content = annotated
    command = ("grade", "--test-set", "imagenet-val", "--labels", "multilabel-v3", "--slice", "dogs", "--json")
    rows = json.loads(run_well(*command, "-w", workspace).out)["rows"]
    row = next(r for r in rows if (r["model"], r["slice"]) == ("vgg16", "dogs"))
    dogs = {SPACE.ids[i] for i in SPACE.group("dogs")}
    inside = [i for i, label in enumerate(images.labels) if label in dogs]
    part = Images(
        [images.names[i] for i in inside],
        [images.labels[i] for i in inside],
        {m: [best[i] for i in inside] for m, best in images.best.items()},
    )
    lower, upper, novel, n = restated(part, content, "vgg16", rule="images", collapsed=False)
    assert (row["novel"], row["multilabel"]["n"]) == (novel, n)
    assert row["multilabel"]["value"] == pytest.approx(lower)
    assert row["multilabel_upper"]["value"] == pytest.approx(upper)


def test_import_prints_counts(annotated):
    workspace, images, content = annotated
    (row,) = json.loads(run_well("labels", "list", "-w", workspace, "--json").out)["label_sets"]
    own = set(images.names)
    annotations = {i: lists for i, lists in content["initial_annots"].items() if i in own}
    assert row["images"] == len(annotations.keys() | (content["problematic_images"].keys() & own))
    assert row["judgments"] == sum(len(v) for lists in annotations.values() for v in lists.values())
    assert row["problematic"] == len(content["problematic_images"].keys() & own) > 50


def test_novel_predictions_are_listed_with_their_models(annotated):
    workspace, images, content = annotated
    command = ("labels", "novel", "-t", "imagenet-val", "-l", "multilabel-v3", "-w", workspace)
    data = json.loads(run_well(*command, "--json").out)["novel"]
    expected: dict[tuple[str, str], int] = {}
    for position, image in enumerate(images.names):
        lists = content["initial_annots"].get(image)
        if lists is None or image in content["problematic_images"]:
            continue
        for model in MODELS:
            answer = images.best[model][position]
            if not any(answer in classes for classes in lists.values()):
                expected[image, answer] = expected.get((image, answer), 0) + 1
    assert {(row["image"], row["class"]): row["models"] for row in data} == expected
    assert [row["models"] for row in data] == sorted((row["models"] for row in data), reverse=True)
    people = run_on_terminal(*command).out
    assert f"the first 20 of {len(expected):,}" in people


def test_compare_counts_novel_predictions_as_wrong(annotated):
    workspace, images, content = annotated
    pair = ("compare", "resnet50", "alexnet", "-t", "imagenet-val", "-l", "multilabel-v3", "-w", workspace, "--json")
    result = json.loads(run_well(*pair).out)
    for side, model in (("first_accuracy", "resnet50"), ("second_accuracy", "alexnet")):
        lower, _, _, n = restated(images, content, model, rule="images", collapsed=False)
        assert result["pairs"][0][side]["value"] == pytest.approx(lower)
        assert result["images"] == n


class TestVersions:
    @pytest.fixture
    def own(self, annotated, tmp_path) -> tuple[Path, dict]:
        workspace, _, content = annotated
        return Path(shutil.copytree(workspace, tmp_path / "W")), json.loads(json.dumps(content))

    def test_new_version_keeps_the_old_one(self, own, tmp_path):
        workspace, content = own
        before = graded(workspace)["resnet50"]
        image = next(i for i, lists in content["initial_annots"].items() if lists.get("correct"))
        content["problematic_images"][image] = "heavily edited"
        (tmp_path / "new.json").write_text(json.dumps(content))
        command = ("import", "labels", tmp_path / "new.json", "--format", "multilabel-v3", "-t", "imagenet-val")
        command = (*command, "--name", "multilabel-v3", "-w", workspace)
        refused = run(*command)
        assert refused.code == 1 and "--new-version" in refused.err
        assert "multilabel-v3@2" in run_well(*command, "--new-version").err
        assert "unchanged" in run_well(*command, "--new-version").err
        grade = ("grade", "-t", "imagenet-val", "-w", workspace, "--json", "--model", "resnet50", "--labels")
        old, new = (json.loads(run_well(*grade, name).out) for name in ("multilabel-v3@1", "multilabel-v3"))
        assert (old["labels"], new["labels"]) == ("multilabel-v3", "multilabel-v3")
        assert (old["labels_version"], new["labels_version"]) == (1, 2)
        assert old["rows"][0] == before
        assert new["rows"][0]["multilabel"]["n"] == before["multilabel"]["n"] - 1

    def test_file_of_other_images_is_rejected(self, own, tmp_path):
        workspace, _ = own
        (tmp_path / "v2.json").write_text(json.dumps({"initial_annots": {"0a1b2c.jpeg": {"correct": ["n01440764"]}}}))
        command = ("import", "labels", tmp_path / "v2.json", "--format", "multilabel-v3", "-t", "imagenet-val")
        refused = run(*command, "--name", "v2", "-w", workspace)
        assert refused.code == 1 and "no image of test set imagenet-val" in refused.err


def test_class_in_two_lists_has_the_best_state(pets, tmp_path):
    """A class in the correct list is correct, even if it is in another list too."""
    content = {"initial_annots": {"p0": {"correct": ["cat"], "wrong": ["cat"], "unclear": ["dog"]}}}
    (tmp_path / "v3.json").write_text(json.dumps(content))
    command = ("import", "labels", tmp_path / "v3.json", "--format", "multilabel-v3", "-t", "pets", "--name", "v3")
    assert "2 judgments" in run_well(*command, "-w", pets).err
