"""The accuracy of an import is compared with chance and with shifted indices; unrelated columns are not models."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import regrade
from regrade.classes import class_space
from regrade.core import InputError, RegradeError, TestSet, UnknownName
from regrade.formats import FilePredictions
from regrade.tables import Columns
from regrade.workspace.import_checks import check_accuracy, check_columns

SPACE = class_space("cifar-10")


def labeled(labels) -> TestSet:
    return TestSet("set", SPACE, tuple(map(str, range(len(labels)))), np.asarray(labels, dtype=np.int32))


def test_check_accuracy_by_hand():
    """Labels 0, 0, 1, 2 and predictions 0, 1, 1, 1: 2 of 4 agree; by chance 1/4 x 1/2 + 3/4 x 1/4 = 5/16."""
    check = check_accuracy(np.array([0, 1, 1, 1]), labeled([0, 0, 1, 2]))
    assert (check.images, check.accuracy, check.chance, check.shift) == (4, 0.5, 5 / 16, 0)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=60))
def test_chance_is_the_mean_agreement_of_all_pairs(pairs):
    """Chance is the agreement of each prediction with the label of an image drawn at random."""
    predicted, labels = np.array(pairs).T
    check = check_accuracy(predicted, labeled(labels))
    assert check.chance == pytest.approx(np.mean(predicted[:, None] == labels[None, :]))


@given(st.integers(0, 2**32 - 1), st.sampled_from([-1, 1]))
def test_check_accuracy_finds_shifted_indices(seed, shift):
    labels = np.random.default_rng(seed).integers(1, 9, 60)
    check = check_accuracy(labels - shift, labeled(labels))
    assert (check.shift, check.shifted_accuracy) == (shift, 1.0)
    assert f"{shift:+d} is added to each class index" in check.hint


def test_unrelated_predictions_are_rarely_taken_for_a_model_and_never_for_a_shifted_one():
    """Of 2,000 unrelated columns at most 5 % are above chance, and at most 1 in 1,000 looks shifted."""
    draws = np.random.default_rng(0)
    checks = [check_accuracy(draws.integers(0, 10, 100), labeled(draws.integers(0, 10, 100))) for _ in range(2000)]
    assert np.mean([check.above_chance for check in checks]) < 0.05
    assert sum(check.shift != 0 for check in checks) <= 2
    assert all(check.hint for check in checks if not check.above_chance)


def test_a_test_set_without_labels_is_not_checked():
    assert check_accuracy(np.array([1, 2]), labeled([-1, -1])) is None


def ranked(labels, rng, rank):
    """Five classes per image of ten, none next to the label; the label is at the drawn rank, or missing at rank 5."""
    offsets = np.array([rng.permutation(np.arange(2, 9))[:5] for _ in labels])
    places = np.minimum(rng.geometric(rank, len(labels)) - 1, 5)
    inside = places < 5
    offsets[inside, places[inside]] = 0
    return (np.asarray(labels)[:, None] + offsets) % 10


def test_check_columns_hints_at_reversed_columns():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 400)
    classes = ranked(labels, rng, 0.6)
    check = check_columns(classes[:, ::-1], labeled(labels))
    assert check.last_column == np.mean(classes[:, 0] == labels) > 0.5
    assert "look reversed" in check.hint
    assert "--reversed" in check.hint
    assert check_columns(classes, labeled(labels)).last_column is None


def reversed_file(folder):
    """400 images of two models in columns of three classes; those of ``back`` have the best class last."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 10, 400)
    classes = ranked(labels, rng, 0.7)[:, :3]
    table = {
        "id": [f"x{row}" for row in range(400)],
        "label": labels.tolist(),
        "back": classes[:, ::-1].tolist(),
        "front": classes.tolist(),
    }
    pq.write_table(pa.table(table), folder / "file.parquet")
    return folder / "file.parquet"


def test_import_names_models_with_reversed_columns_and_changes_nothing(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    done = workspace.models.import_predictions(reversed_file(tmp_path), test_set="set", classes="cifar-10")
    (note,) = [note for note in done.notes if "look reversed" in note]
    assert note.startswith("back: top-1 accuracy is ")
    rows = {row.model: row.top1.value for row in workspace.grade("set").rows}
    assert rows["back"] < rows["front"] / 5


def test_import_reverses_the_columns_of_named_models(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    done = workspace.models.import_predictions(
        reversed_file(tmp_path), test_set="set", classes="cifar-10", prefix="a:", reversed_models=["a:back"]
    )
    assert "columns read from the last to the first: a:back" in done.notes
    assert not any("look reversed" in note for note in done.notes)
    rows = {row.model: row.top1 for row in workspace.grade("set").rows}
    assert rows["a:back"] == rows["a:front"]
    sources = {name: workspace.store.predictions.manifest("set", name).source.file for name in rows}
    assert sources == {"a:back": "file.parquet (columns reversed)", "a:front": "file.parquet"}


def test_import_rejects_unknown_models_and_scores_of_all_classes_to_reverse(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    with pytest.raises(UnknownName, match="unknown model in the file 'bakc'; did you mean back"):
        workspace.models.import_predictions(
            reversed_file(tmp_path), test_set="set", classes="cifar-10", reversed_models=["bakc"]
        )
    np.save(tmp_path / "scores.npy", np.random.default_rng(0).random((400, 10)))
    workspace.models.import_predictions(reversed_file(tmp_path), test_set="set", classes="cifar-10")
    with pytest.raises(InputError, match="no columns to reverse"):
        workspace.models.import_predictions(
            tmp_path / "scores.npy", test_set="set", model="net", reversed_models=["net"]
        )


def test_a_missing_class_stays_behind_the_others():
    rows = FilePredictions(np.array([[1, 2, -1], [4, 5, 6]]), np.array([[0.1, 0.2, np.nan], [0.1, 0.2, 0.3]]))
    turned = rows.with_columns_reversed()
    assert turned.classes.tolist() == [[2, 1, -1], [6, 5, 4]]
    assert turned.scores[0, :2].tolist() == [0.2, 0.1]


@pytest.fixture
def workspace(tmp_path):
    """A file with a model and the widths of the images, both integers."""
    workspace = regrade.init(tmp_path / "W")
    draws = np.random.default_rng(0)
    labels = draws.integers(0, 10, 50)
    model = np.where(draws.random(50) < 0.7, labels, draws.integers(0, 10, 50))
    rows = zip(range(50), labels, model, draws.integers(0, 10, 50), strict=True)
    (tmp_path / "f.csv").write_text("image,label,net,level\n" + "".join(f"i{a},{b},{c},{d}\n" for a, b, c, d in rows))
    return workspace


def imported(workspace, tmp_path, **columns):
    options = {"test_set": "set", "classes": "cifar-10", "columns": Columns(**columns)}
    return workspace.models.import_predictions(tmp_path / "f.csv", **options).models.new


def test_an_unrelated_column_of_integers_is_not_a_model(workspace, tmp_path):
    with pytest.raises(RegradeError, match=r"column 'level' agree .* name the models with --prediction-column"):
        imported(workspace, tmp_path)
    assert workspace.store.test_sets.names() == ()
    assert imported(workspace, tmp_path, predictions=("net",)) == ("net",)


def test_an_unrelated_column_can_be_named_as_a_model(workspace, tmp_path):
    assert imported(workspace, tmp_path, predictions=("net", "level")) == ("net", "level")


def test_an_unrelated_column_named_like_a_model_is_a_model_with_a_note(workspace, tmp_path):
    text = (tmp_path / "f.csv").read_text().replace("net,level", "net-1,net-20")
    (tmp_path / "f.csv").write_text(text)
    done = workspace.models.import_predictions(tmp_path / "f.csv", test_set="set", classes="cifar-10")
    assert done.models.new == ("net-1", "net-20")
    assert "no more often than by chance: net-20" in " ".join(done.notes)


def test_unrelated_columns_of_few_images_are_models_with_a_note(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    (tmp_path / "f.csv").write_text("image,label,net,level\na,1,1,3\nb,2,2,4\nc,3,3,5\n")
    done = workspace.models.import_predictions(tmp_path / "f.csv", test_set="set", classes="cifar-10")
    assert done.models.new == ("net", "level")
    assert done.notes == ("taken as models, although they agree with the labels no more often than by chance: level",)
