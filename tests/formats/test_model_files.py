"""Files that describe models: a table of attributes, and timm's results."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regrade.core import InputError, ModelAttributes
from regrade.formats import ModelFormat, read_model_file


def read(path, text, form=ModelFormat.TABLE, **options):
    path.write_text(text)
    return read_model_file(path, form, **options).by_name


def test_table_states_only_filled_cells(tmp_path):
    text = 'model,family,parameters,training_images,base_model\na,vgg,"143,678,248",1.28e6,\nb, ,,,a\n'
    assert read(tmp_path / "m.csv", text) == {
        "a": ModelAttributes(family="vgg", parameters=143_678_248, training_images=1_280_000),
        "b": ModelAttributes(base_model="a"),
    }


def test_parquet_numbers_with_empty_cells_are_whole(tmp_path):
    pq.write_table(pa.table({"model": ["a", "b"], "year": [2015.0, None]}), tmp_path / "m.parquet")
    models = read_model_file(tmp_path / "m.parquet", ModelFormat.TABLE, prefix="hub")
    assert models.by_name == {"hub:a": ModelAttributes(year=2015), "hub:b": ModelAttributes()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,yaer\na,1\n", "unknown column 'yaer'; did you mean year?"),
        ("model,param_count,top1\na,1,2\n", r"add --format timm"),
        ("name,year\na,2000\n", "unknown column 'name'; there are model, family"),
        ("year\n2000\n", "there is no column model; it has year"),
        ("model\na\n", "only the column model: add any of family"),
        ("model,year\n,2000\n", "a row has no model"),
        ("model,year\nperson:ada,2000\n", "person:ada is a person"),
        ("model,year\na,20155\n", "m.csv: a: year must be between"),
        ("model,parameters\na,-3\n", "a: parameters must be at least 1, got -3"),
        ("model,parameters\na,25.6M\n", "a: parameters is '25.6M', expected a whole number"),
        ("model,parameters\na,2.5\n", "expected a whole number"),
        ("model,parameters\na,inf\n", "expected a whole number"),
        ("model,base_model\na,a\n", "m.csv: a is its own base model"),
        ("model,year\na,2001\na,2002\n", "two rows of a differ in year"),
        ("", "is empty"),
        ("model,year\n", "contains no rows"),
    ],
)
def test_bad_table_is_rejected(tmp_path, text, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        read(tmp_path / "m.csv", text)


def test_timm_rows_of_several_sizes_are_one_model(tmp_path):
    text = 'model,img_size,top1,param_count\nbig.in1k,224,80,"1,013.01"\nbig.in1k,288,81,"1,013.01"\n'
    models = read(tmp_path / "t.csv", text, ModelFormat.TIMM, prefix="timm")
    assert models == {"timm:big.in1k": ModelAttributes(parameters=1_013_010_000)}


@pytest.mark.parametrize("cell", ["", "-2", "many", "0"])
def test_timm_rejects_bad_parameter_counts(tmp_path, cell):
    with pytest.raises(InputError, match=r"a: param_count is .* expected millions"):
        read(tmp_path / "t.csv", f"model,param_count\na,{cell}\n", ModelFormat.TIMM)


def test_all_results_of_timm_are_read(published):
    path = published / "timm" / "results-imagenet.csv"
    models = read_model_file(path, ModelFormat.TIMM, prefix="timm").by_name
    assert models["timm:resnet50.a1_in1k"] == ModelAttributes(parameters=25_560_000)
    assert len(models) > 1000 and not any(attributes.family for attributes in models.values())
