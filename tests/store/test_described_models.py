"""Stored attributes of models: read back as stated, replaced one by one, merged into specs, missed when lost."""

import pytest

import regrade
from regrade.core import DamagedFile, DescribedModels, ModelAttributes
from regrade.store import described_models
from regrade.store.checked_files import read_parquet, write_parquet


@pytest.fixture
def store(tmp_path):
    return regrade.init(tmp_path / "W").store


FIRST = DescribedModels({"m": ModelAttributes(family="vgg", year=2014), "n": ModelAttributes(base_model="m")})


def test_attributes_are_read_back_and_replaced_one_by_one(store):
    assert store.described_models.read() == DescribedModels()
    store.described_models.update(FIRST)
    assert store.described_models.read() == FIRST
    later = DescribedModels({"m": ModelAttributes(year=2015, parameters=10**12)})
    before, after = store.described_models.update(later)
    assert before == FIRST and store.described_models.read() == after
    assert after.by_name["m"] == ModelAttributes(family="vgg", year=2015, parameters=10**12)
    assert [str(change) for change in before.changed(later)] == ["year of m from 2014 to 2015"]


def test_same_attributes_again_write_nothing(store):
    store.described_models.update(FIRST)
    path = store.described_models.path("attributes")
    written = path.stat().st_mtime_ns, path.stat().st_ino
    store.described_models.update(DescribedModels({"n": ModelAttributes(base_model="m")}))
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == written


def test_damaged_and_removed_files_are_detected_and_described_anew(store):
    store.described_models.update(FIRST)
    path = store.described_models.path("attributes")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"vgg", b"vgh"))
    with pytest.raises(DamagedFile):
        store.described_models.read()
    path.unlink()
    with pytest.raises(DamagedFile, match=r"missing although contents\.json lists it"):
        store.described_models.read()
    store.described_models.update(FIRST)
    assert store.described_models.read() == FIRST


def test_stated_attributes_win_over_the_manifest(store, tmp_path):
    (tmp_path / "pets.csv").write_text("id,label\na,1\nb,2\n")
    workspace = regrade.open(store.root)
    workspace.testsets.add("pets", tmp_path / "pets.csv", classes="digits")
    workspace.models.add_predictions("m", [[0.0] * 10] * 2, test_set="pets")
    assert store.model_specs("pets", ["m"])["m"].family == ""
    store.described_models.update(FIRST)
    spec = store.model_specs("pets", ["m"])["m"]
    assert (spec.family, spec.class_space) == ("vgg", "digits")
    assert store.predictions.manifest("pets", "m").model.family == ""


def test_derived_attributes_are_read_back_with_their_sources_and_fill_gaps(store, tmp_path):
    (tmp_path / "pets.csv").write_text("id,label\na,1\nb,2\n")
    workspace = regrade.open(store.root)
    workspace.testsets.add("pets", tmp_path / "pets.csv", classes="digits")
    workspace.models.add_predictions("m", [[0.0] * 10] * 2, test_set="pets")
    rows = {"m": {"name in timm": ModelAttributes(family="resnet", year=2016), "timm": ModelAttributes(parameters=7)}}
    store.described_models.update(DescribedModels(derived=rows))
    assert store.described_models.read() == DescribedModels(derived=rows)
    store.described_models.update(FIRST)
    assert store.described_models.read() == DescribedModels(FIRST.by_name, rows)
    spec = store.model_specs("pets", ["m"])["m"]
    assert (spec.family, spec.year, spec.parameters) == ("vgg", 2014, 7)
    assert store.described_models.read().sources_of("m") == {"parameters": "timm"}


def test_files_without_sources_are_statements(store):
    store.described_models.update(FIRST)
    path = store.described_models.path("attributes")
    content, meta = read_parquet(path)
    path.unlink()
    with path.open("wb") as file:
        write_parquet(content.drop_columns(["source"]), meta, file)
    assert store.described_models.read() == FIRST


def test_attributes_are_read_once_for_all_models(store, tmp_path, monkeypatch):
    (tmp_path / "pets.csv").write_text("id,label\na,1\nb,2\n")
    workspace = regrade.open(store.root)
    workspace.testsets.add("pets", tmp_path / "pets.csv", classes="digits")
    names = [f"m{number}" for number in range(5)]
    for name in names:
        workspace.models.add_predictions(name, [[0.0] * 10] * 2, test_set="pets")
    store.described_models.update(DescribedModels({name: ModelAttributes(family="vgg") for name in names}))
    reads, read_table = [], described_models.read_parquet
    monkeypatch.setattr(described_models, "read_parquet", lambda path: reads.append(path) or read_table(path))
    assert {spec.family for spec in store.model_specs("pets", names).values()} == {"vgg"}
    assert len(reads) == 1
