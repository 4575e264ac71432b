"""Sections of a report, and its key findings."""

import altair
import pytest

from regrade.core import Column, Table, Tabular, UndefinedError
from regrade.display import Figure, Finding, FindingKind
from regrade.display.figure import heading_of
from regrade.display.parts import heading
from regrade.reports import Provenance, Report, Section, anchor_of, section_of
from regrade.reports.sections import figure_parts
from regrade.studies import Study, StudyOptions

KIND = FindingKind("plain: so", "Looked at.", claims=True)
TABLE = Table("numbers", (Column("a", "a"),), ((1,),), ("a note",))


class Plain(Tabular):
    def table(self):
        return TABLE


def study(**fields):
    return Study("plain", "Is it so?", "Look.", StudyOptions, Plain, lambda *_: Plain(), **fields)


def undrawable(_):
    raise UndefinedError("there is nothing to draw")


PLAIN = study()
UNDRAWABLE = study(figure=undrawable, findings=lambda _: (Finding(KIND, "It is so", "Really.", 0.5),))


def section(anchor, question, *weights):
    weighted = tuple(Finding(KIND, f"{anchor} {weight}", "Text.", weight) for weight in weights)
    return Section(anchor, question, findings=weighted)


def key_findings(*sections, hard=()):
    report = Report("title", "", "", sections, (), Provenance(), hard=hard)
    return [key_finding.finding.headline for key_finding in report.key_findings]


class TestKeyFindings:
    def test_findings_are_ordered_by_weight(self):
        assert key_findings(section("a", "A?", 0.3, 0.9), section("b", "B?", 0.5)) == ["a 0.9", "b 0.5", "a 0.3"]

    def test_ties_keep_the_order_of_sections(self):
        assert key_findings(section("a", "A?", 0.5), section("b", "B?", 0.5)) == ["a 0.5", "b 0.5"]

    def test_at_most_seven_findings(self):
        assert len(key_findings(*(section(f"s{n}", f"{n}?", 0.5) for n in range(9)))) == 7

    def test_one_question_on_many_sets_does_not_crowd_out_others(self):
        many = [section(f"set{n}", "Who is ahead?", 0.5 + n / 16) for n in range(9)]
        headlines = key_findings(*many, section("lost", "Does it hold?", 0.2))
        assert headlines == ["set8 1.0", "lost 0.2"]

    def test_one_section_does_not_crowd_out_others(self):
        headlines = key_findings(section("a", "A?", *(0.9 - n / 100 for n in range(9))), section("b", "B?", 0.1))
        assert headlines == ["a 0.9", "a 0.89", "b 0.1"]

    def test_findings_about_images_chosen_to_be_hard_are_left_out(self):
        sections = section("val-hard", "A?", 0.9), section("val", "A?", 0.5), section("val-hardest", "B?", 0.4)
        assert key_findings(*sections, hard=("val-hard",)) == ["val 0.5", "val-hardest 0.4"]

    def test_no_sections_give_no_findings(self):
        assert key_findings() == []


class TestSection:
    def test_result_without_figure_and_findings_has_a_table(self):
        filled = section_of(Section("a", "A?"), PLAIN, Plain())
        assert filled.tables[0].rows == TABLE.rows
        assert filled.tables[0].notes == ("a note",)
        assert (filled.figures, filled.findings) == ((), ())

    def test_undrawable_figure_adds_a_note(self):
        filled = section_of(Section("a", "A?"), UNDRAWABLE, Plain())
        assert filled.tables[0].notes[-1] == "no figure: there is nothing to draw"
        assert filled.findings[0].headline == "It is so"

    def test_tables_can_be_given(self):
        second = Table("others", (Column("b", "b"),), ((2,),))
        filled = section_of(Section("a", "A?"), PLAIN, Plain(), tables=(second, TABLE))
        assert [table.title for table in filled.tables] == ["others", "numbers"]

    @pytest.mark.parametrize(
        ("names", "anchor"),
        [
            (("grade", "imagenet-val against real@1"), "grade-imagenet-val-against-real-1"),
            (("grade", "../../etc"), "grade-etc"),
            (("", "<script>"), "script"),
            (("", "字"), "section"),
        ],
    )
    def test_anchors_are_safe_in_links_and_files(self, names, anchor):
        assert anchor_of(*names) == anchor


def stacked(*heights, shared=False):
    panels = [
        altair.Chart(altair.InlineData([{"x": i}])).mark_point().encode(x="x:Q").properties(height=height)
        for i, height in enumerate(heights)
    ]
    chart = altair.vconcat(*panels).properties(title=heading("Title", "subtitle"))
    return Figure("f", "alt", chart.resolve_scale(x="shared") if shared else chart)


def test_tall_figure_is_divided_after_what_fits_on_a_screen():
    first, second = figure_parts(stacked(100, 100, 400))
    assert [len(part.spec["vconcat"]) for part in (first, second)] == [2, 1]
    assert heading_of(first.spec) == ("Title", "subtitle")
    assert heading_of(second.spec) == ("Title (continued)", "")
    assert [panel["height"] for panel in (*first.spec["vconcat"], *second.spec["vconcat"])] == [100, 100, 400]


@pytest.mark.parametrize("figure", [stacked(100, 200), stacked(900), stacked(400, 400, shared=True)])
def test_figures_that_fit_or_share_an_axis_stay_whole(figure):
    assert figure_parts(figure) == (figure,)
