"""Every result of a report: its records, data frame, figure and display in a notebook."""

import pickle
import subprocess
import sys

import pytest
from report_world import make_world

from regrade.core import InputError, Tabular, UndefinedError, UnknownName
from regrade.display import Figure
from regrade.studies import ReportData
from regrade.workspace.chapters import ReportMaterial


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of all chapters with a study, by the study's name."""
    store = make_world(tmp_path_factory.mktemp("results")).store
    chapters = [chapter for chapter in ReportMaterial(ReportData(store, ())).chapters if chapter.study]
    return [(chapter.study, chapter.compute()) for chapter in chapters]


def test_world_has_many_kinds_of_results(results):
    assert {"grade", "compare", "generalization", "mistakes", "similarity"} <= {study.name for study, _ in results}


def test_every_result_has_records_and_a_data_frame(results):
    for _, result in results:
        assert isinstance(result, Tabular)
        records = list(result)
        assert len(result) == len(records) > 0 and result[0] == records[0]
        assert len(result.to_pandas()) == len(result.table().rows)
        assert result._repr_html_().startswith("<table>") and "Tabular" not in repr(result)


def test_every_result_draws_the_figure_of_its_study(results):
    drawn = 0
    for study, result in results:
        if study.figure is None:
            with pytest.raises(UndefinedError, match=f"a {type(result).__name__} has no figure"):
                result.figure()
            continue
        figure = result.figure()
        assert isinstance(figure, Figure) and figure.spec == study.figure(result).spec
        drawn += 1
    assert drawn >= 5


def test_a_result_draws_itself_where_only_its_analysis_has_been_imported(results):
    """Also a result that another process made."""
    pickled = pickle.dumps(next(result for study, result in results if study.name == "grade"))
    code = "import pickle, sys; print(type(pickle.load(sys.stdin.buffer).figure()).__name__)"
    drawn = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, check=True)
    assert drawn.stdout == b"Figure\n"


def test_kinds_of_findings_are_complete_at_once():
    code = """
from regrade.studies import finding_kinds
first = set(finding_kinds())
from regrade.studies import registry
assert len(first) > 20 and first == set(finding_kinds())
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_records_are_found_by_model(results):
    by_name = {study.name: result for study, result in results}
    grade, comparison = by_name["grade"], by_name["compare"]
    model = comparison.ranks[1].model
    assert model in grade and grade[model].model == model and comparison[model].model == model
    for pair in comparison.pairs:
        assert comparison[pair.first, pair.second] == pair
        mirrored = comparison[pair.second, pair.first]
        assert (mirrored.first, mirrored.only_first) == (pair.second, pair.only_second)
        own, opposite = pair.difference, mirrored.difference
        assert (opposite.value, opposite.low, opposite.high) == (-own.value, -own.high, -own.low)
        assert mirrored.in_words(0.05).split("power")[-1] == pair.in_words(0.05).split("power")[-1]
        assert mirrored.reversed() == pair
    with pytest.raises(InputError, match="a pair is two different models"):
        comparison[model, model]
    with pytest.raises(UnknownName, match="unknown row 'nobody'"):
        comparison[model, "nobody"]
