"""Files of predictions as tools write them are read at once, or with the option that the error names.

The tables of timm are written as its script inference.py writes them: a pandas data frame with the columns filename,
index, label and prob or logit. `scripts/import_survey.py` makes the files with the tools themselves.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import regrade
from regrade.classes import class_space
from regrade.core import RegradeError
from regrade.tables import Columns

SPACE = class_space("imagenet-1k")
CLASSES = np.random.default_rng(0).choice([c for c in range(1000) if len(set(SPACE.lemmas[c])) > 1], 12, replace=False)
IDS = [f"{SPACE.ids[c]}/val_{i:05d}.JPEG" for i, c in enumerate(CLASSES)]
LOGITS = np.random.default_rng(1).normal(size=(12, 1000)).astype(np.float32)
LOGITS[np.arange(9), CLASSES[:9]] += 10  # 9 of 12 are correct
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
TOP = np.argsort(-PROBS, axis=1)[:, :5]
LABEL_TYPES = {
    "name": lambda c: SPACE.ids[c],
    "description": lambda c: ", ".join(SPACE.lemmas[c]),
    "detail": lambda c: f"{', '.join(SPACE.lemmas[c])}: a definition, with a comma: and a colon",
    "first word": lambda c: SPACE.lemmas[c][0].replace(" ", "_").upper(),
    "display name": lambda c: SPACE.names[c],
}


@pytest.fixture
def workspace(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    pd.DataFrame({"image": IDS, "label": [SPACE.ids[c] for c in CLASSES]}).to_csv(tmp_path / "set.csv", index=False)
    workspace.testsets.add("val", tmp_path / "set.csv", classes="imagenet-1k")
    return workspace


def timm_frame(k=1, label_type="description", *, index=False, separate=False, output="prob", fullname=False):
    """The data frame of timm's inference.py."""
    best = np.take_along_axis(PROBS if output == "prob" else LOGITS, TOP[:, :k], axis=1)
    named = np.vectorize(LABEL_TYPES[label_type], otypes=[object])(TOP[:, :k])
    parts = {"index": TOP[:, :k]} if index else {}
    parts |= {"label": named, output: best}
    frame = {"filename": IDS if fullname else [name.rpartition("/")[2] for name in IDS]}
    for name, values in parts.items():
        if separate and k > 1:
            frame |= {f"{name}_{rank}": values[:, rank] for rank in range(k)}
        else:
            frame[name] = list(values[:, 0]) if k == 1 else list(values)
    return pd.DataFrame(frame)


def save_as_timm(frame, path, form):
    match form:
        case "parquet":
            frame.set_index("filename").to_parquet(path)
        case "json":
            frame.set_index("filename").to_json(path, indent=4, orient="index")
        case "json-split":
            frame.to_json(path, indent=4, orient="split", index=False)
        case "csv" | "csv.gz":
            frame.to_csv(path, index=False)


def assert_imported(workspace, path, k, **options):
    workspace.models.import_predictions(path, test_set="val", model="m", **options)
    predictions = workspace.store.predictions.read(workspace.store.test_set("val"), "m")
    assert np.array_equal(predictions.classes, TOP[:, :k])
    return predictions


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet", "json", "json-split"])
@pytest.mark.parametrize("options", [{}, {"separate": True}, {"index": True}, {"index": True, "separate": True}])
@pytest.mark.parametrize("k", [1, 5])
def test_timm_files_are_read_in_every_form(workspace, tmp_path, form, k, options):
    path = tmp_path / f"m.{form.partition('-')[0]}"
    save_as_timm(timm_frame(k, **options), path, form)
    predictions = assert_imported(workspace, path, k)
    assert np.allclose(predictions.scores, np.take_along_axis(PROBS, TOP[:, :k], axis=1), rtol=1e-5)
    assert predictions.score_kind.value == "probabilities"


@pytest.mark.parametrize("label_type", LABEL_TYPES)
def test_timm_files_are_read_with_every_label_type(workspace, tmp_path, label_type):
    save_as_timm(timm_frame(1, label_type), tmp_path / "m.csv", "csv")
    assert_imported(workspace, tmp_path / "m.csv", 1)


def test_timm_logits_and_full_names_are_read(workspace, tmp_path):
    save_as_timm(timm_frame(5, output="logit", fullname=True), tmp_path / "m.csv", "csv")
    assert assert_imported(workspace, tmp_path / "m.csv", 5).score_kind.value == "logits"


@pytest.mark.parametrize("separate", [True, False])
def test_timm_scores_of_all_classes_are_read(workspace, tmp_path, separate):
    frame = pd.DataFrame({"filename": IDS})
    if separate:
        frame = pd.concat([frame, pd.DataFrame(PROBS, columns=[f"prob_{c}" for c in range(1000)])], axis=1)
    else:
        frame["prob"] = list(PROBS)
    frame.to_parquet(tmp_path / "m.parquet")
    assert assert_imported(workspace, tmp_path / "m.parquet", 5).full_scores.shape == (12, 1000)


def test_timm_index_that_disagrees_with_the_label_is_refused(workspace, tmp_path):
    frame = timm_frame(index=True)
    frame.loc[3, "index"] = (frame.loc[3, "index"] + 1) % 1000
    frame.to_csv(tmp_path / "m.csv", index=False)
    with pytest.raises(RegradeError, match="the columns index and label contain different classes in row 4"):
        workspace.models.import_predictions(tmp_path / "m.csv", test_set="val", model="m")


def test_row_numbers_named_index_are_not_predictions(workspace, tmp_path):
    frame = timm_frame().assign(index=np.arange(12))
    frame.to_csv(tmp_path / "m.csv", index=False)
    assert_imported(workspace, tmp_path / "m.csv", 1)


@pytest.mark.parametrize(
    ("rename", "option", "columns"),
    [
        ({"prob": "p"}, "--prediction-column label", Columns(predictions=("label",))),
        ({"label": "class"}, "--prediction-column class", Columns(predictions=("class",))),
        ({"filename": "photo"}, "--id-column", Columns(id="photo")),
    ],
)
def test_renamed_columns_are_read_with_the_option_that_the_error_names(workspace, tmp_path, rename, option, columns):
    timm_frame().rename(columns=rename).to_csv(tmp_path / "m.csv", index=False)
    with pytest.raises(RegradeError, match=option):
        workspace.models.import_predictions(tmp_path / "m.csv", test_set="val", model="m")
    assert_imported(workspace, tmp_path / "m.csv", 1, columns=columns)


@pytest.mark.parametrize("model", ["m", None])
def test_an_unknown_prediction_column_is_refused(workspace, tmp_path, model):
    timm_frame().to_csv(tmp_path / "m.csv", index=False)
    columns = Columns(predictions=("lable",))
    with pytest.raises(RegradeError, match="unknown prediction column 'lable'; did you mean label"):
        workspace.models.import_predictions(tmp_path / "m.csv", test_set="val", model=model, columns=columns)


def test_labels_alone_are_not_taken_for_predictions(workspace, tmp_path):
    timm_frame()[["filename", "label"]].to_csv(tmp_path / "m.csv", index=False)
    with pytest.raises(RegradeError, match="if label contains them, give --prediction-column label"):
        workspace.models.import_predictions(tmp_path / "m.csv", test_set="val", model="m")


def test_a_label_with_a_list_of_all_scores_is_the_label(workspace, tmp_path):
    pd.DataFrame({"filename": IDS, "label": CLASSES, "prob": list(PROBS)}).to_parquet(tmp_path / "m.parquet")
    assert_imported(workspace, tmp_path / "m.parquet", 5)
    pd.DataFrame({"filename": IDS, "label": CLASSES[::-1], "prob": list(PROBS)}).to_parquet(tmp_path / "n.parquet")
    with pytest.raises(RegradeError, match="the labels differ from those of test set val"):
        workspace.models.import_predictions(tmp_path / "n.parquet", test_set="val", model="n")


def test_ambiguous_class_names_are_refused_with_the_candidates(workspace, tmp_path):
    pd.DataFrame({"image": IDS, "prediction": ["crane"] * 12}).to_csv(tmp_path / "m.csv", index=False)
    with pytest.raises(RegradeError, match=r"'crane' could be n02012849 \(crane .*, n03126707 \(crane"):
        workspace.models.import_predictions(tmp_path / "m.csv", test_set="val", model="m")


def test_predictions_next_to_scores_must_agree(workspace, tmp_path):
    frame = pd.DataFrame({"image": IDS, "pred": TOP[:, 0], "logits": list(LOGITS)})
    frame.to_parquet(tmp_path / "m.parquet")
    assert_imported(workspace, tmp_path / "m.parquet", 5)
    frame.assign(logits=list(np.roll(LOGITS, 1, axis=1))).to_parquet(tmp_path / "n.parquet")
    with pytest.raises(RegradeError, match="are the scores in the order of imagenet-1k"):
        workspace.models.import_predictions(tmp_path / "n.parquet", test_set="val", model="n")


def test_pipeline_results_of_transformers_are_read(workspace, tmp_path):
    """A pipeline returns one list of objects with label and score per image."""
    results = {
        image: [{"label": ", ".join(SPACE.lemmas[c]), "score": float(p[c])} for c in top]
        for image, top, p in zip(IDS, TOP, PROBS, strict=True)
    }
    pd.Series(results).to_json(tmp_path / "m.json")
    assert assert_imported(workspace, tmp_path / "m.json", 5).score_kind.value == "probabilities"


def test_a_table_without_ids_is_read_in_order_if_its_labels_match(workspace, tmp_path):
    frame = pd.DataFrame({"label": CLASSES, "prediction": TOP[:, 0]})
    frame.to_csv(tmp_path / "m.csv", index=False)
    assert_imported(workspace, tmp_path / "m.csv", 1)
    frame[["prediction"]].to_csv(tmp_path / "n.csv", index=False)
    with pytest.raises(RegradeError, match="there is no column with the example ids"):
        workspace.models.import_predictions(tmp_path / "n.csv", test_set="val", model="n")


def test_archives_that_cannot_be_read_say_what_to_do(workspace, tmp_path):
    np.savez(tmp_path / "two.npz", first=LOGITS, second=LOGITS)
    np.savez(tmp_path / "objects.npz", scores=LOGITS, ids=np.array(IDS, dtype=object))
    with pytest.raises(RegradeError, match="one model at a time, with --prediction-column first --model NAME"):
        workspace.models.import_predictions(tmp_path / "two.npz", test_set="val")
    with pytest.raises(RegradeError, match=r"save text, ids=ids.astype\(str\)"):
        workspace.models.import_predictions(tmp_path / "objects.npz", test_set="val")
    with pytest.raises(RegradeError, match=r"'vall' is new: give its classes .*, or name a stored one: val"):
        workspace.models.import_predictions(tmp_path / "two.npz", test_set="vall")


@pytest.mark.parametrize("key", ["label_ids", "y", "targets", "y_test"])
def test_labels_of_an_archive_are_compared(workspace, tmp_path, key):
    np.savez(tmp_path / "m.npz", predictions=LOGITS, **{key: CLASSES})
    assert_imported(workspace, tmp_path / "m.npz", 5)
    order = np.random.default_rng(0).permutation(12)
    np.savez(tmp_path / "n.npz", predictions=LOGITS[order], **{key: CLASSES[order]})
    with pytest.raises(RegradeError, match="the labels differ from those of test set val"):
        workspace.models.import_predictions(tmp_path / "n.npz", test_set="val", model="n")


def test_best_classes_with_their_scores_are_read_from_an_archive(workspace, tmp_path):
    np.savez(tmp_path / "m.npz", indices=TOP, probs=np.take_along_axis(PROBS, TOP, axis=1))
    assert assert_imported(workspace, tmp_path / "m.npz", 5).scores is not None


def test_classes_next_to_scores_in_an_archive_must_agree(workspace, tmp_path):
    np.savez(tmp_path / "m.npz", logits=LOGITS, preds=TOP[:, 0])
    assert_imported(workspace, tmp_path / "m.npz", 5)
    np.savez(tmp_path / "n.npz", logits=LOGITS, preds=TOP[:, 1])
    with pytest.raises(RegradeError, match="choose one of them with --prediction-column"):
        workspace.models.import_predictions(tmp_path / "n.npz", test_set="val", model="n")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"model": ["a"], "top1": [80.0], "top1_err": [20.0], "top5": [95.0]}, "timm's validate.py .* --published"),
        ({"dataset": ["cars"], "model": ["ViT-B-32"], "metrics": [{"acc1": 0.5}]}, "CLIP_benchmark"),
        ({"epoch": [0, 1], "train_loss": [1.0, 0.5], "eval_top1": [10.0, 20.0]}, "the losses of a training"),
        ({"eval_accuracy": [0.5], "eval_loss": [0.7]}, "one row of eval_accuracy, eval_loss"),
    ],
)
def test_figures_are_refused_by_name(workspace, tmp_path, content, words):
    frame = pd.DataFrame(content)
    frame.to_json(tmp_path / "m.json", orient="records")
    pa.parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "m.parquet")
    for name in ("m.json", "m.parquet"):
        with pytest.raises(RegradeError, match=words) as error:
            workspace.models.import_predictions(tmp_path / name, test_set="val", model="m")
        assert "no prediction per image" in str(error.value)
