"""Sections and the findings that a report tells first."""

import pytest

from regrade.core import Column, Table, Tabular, UndefinedError
from regrade.report import Finding, FindingKind, Provenance, Report, Section, anchor_of, figure, findings, section_of

KIND = FindingKind("plain: so", "Looked at.", claims=True)
TABLE = Table("numbers", (Column("a", "a"),), ((1,),), ("a note",))


class Plain(Tabular):
    def table(self):
        return TABLE


class Undrawable(Plain):
    pass


@figure.register
def _(_: Undrawable):
    raise UndefinedError("there is nothing to draw")


@findings.register
def _(_: Undrawable):
    return (Finding(KIND, "It is so", "Really.", 0.5),)


def section(anchor, question, *weights):
    told = tuple(Finding(KIND, f"{anchor} {weight}", "Text.", weight) for weight in weights)
    return Section(anchor, question, findings=told)


def key_findings(*sections):
    report = Report("title", "", "", sections, (), Provenance())
    return [one.finding.headline for one in report.key_findings]


class TestKeyFindings:
    def test_the_weightiest_come_first(self):
        assert key_findings(section("a", "A?", 0.3, 0.9), section("b", "B?", 0.5)) == ["a 0.9", "b 0.5", "a 0.3"]

    def test_equal_ones_stay_in_order(self):
        assert key_findings(section("a", "A?", 0.5), section("b", "B?", 0.5)) == ["a 0.5", "b 0.5"]

    def test_there_are_at_most_seven(self):
        assert len(key_findings(*(section(f"s{n}", f"{n}?", 0.5) for n in range(9)))) == 7

    def test_one_question_asked_of_many_sets_does_not_drown_the_others(self):
        many = [section(f"set{n}", "Who is ahead?", 0.5 + n / 16) for n in range(9)]
        found = key_findings(*many, section("lost", "Does it hold?", 0.2))
        assert found[0] == "set8 1.0"
        assert "lost 0.2" in found
        assert len(found) == 7

    def test_one_section_does_not_either(self):
        found = key_findings(section("a", "A?", *(0.9 - n / 100 for n in range(9))), section("b", "B?", 0.1))
        assert found[:2] == ["a 0.9", "a 0.89"]
        assert "b 0.1" in found

    def test_nothing_is_found_in_nothing(self):
        assert key_findings() == []


class TestSection:
    def test_a_result_without_a_figure_or_words_is_shown_as_a_table(self):
        found = section_of(Section("a", "A?"), Plain())
        assert found.tables[0].rows == TABLE.rows
        assert found.tables[0].notes == ("a note", "no figure: there is no figure of a Plain")
        assert (found.figures, found.findings) == ((), ())

    def test_a_figure_that_cannot_be_drawn_says_why(self):
        found = section_of(Section("a", "A?"), Undrawable())
        assert found.tables[0].notes[-1] == "no figure: there is nothing to draw"
        assert found.findings[0].headline == "It is so"

    def test_tables_may_be_chosen(self):
        other = Table("others", (Column("b", "b"),), ((2,),))
        assert [table.title for table in section_of(Section("a", "A?"), Plain(), tables=(other, TABLE)).tables] == [
            "others",
            "numbers",
        ]

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
