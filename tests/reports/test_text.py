"""Tables as CSV, Markdown and LaTeX, with arbitrary content."""

import csv
import html
import io
import re

import pytest
from hostile_markdown import HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from regrade.core import Column, Estimate, Table
from regrade.display import to_csv, to_latex, to_markdown

ESTIMATE = Estimate(0.5, 0.25, 0.75, 40, "exact 95%")
TABLE = Table(
    "accuracy, in %",
    (Column("model", "model"), Column("top1", "top-1"), Column("novel", "novel"), Column("p", "p", False, 3)),
    (("a|b_c", ESTIMATE, 1234, 1e-9), ("100% & more", None, None, 0.25)),
    ("first note", "second note"),
)
EMPTY = Table("nothing", (Column("a", "a"), Column("b", "b")), ())


class TestCsv:
    def test_estimate_has_one_column_per_number(self):
        assert to_csv(TABLE) == (
            "model,top1,top1_low,top1_high,top1_n,top1_method,novel,p\n"
            "a|b_c,0.5,0.25,0.75,40,exact 95%,1234,1e-09\n100% & more,,,,,,,0.25\n"
        )

    def test_empty_table_keeps_its_heading(self):
        assert to_csv(EMPTY) == "a,b\n"

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")), min_size=1))
    def test_any_text_round_trips(self, texts):
        table = Table("t", (Column("x", "x"), Column("y", "y")), tuple((text, 1) for text in texts))
        rows = list(csv.reader(io.StringIO(to_csv(table), newline="")))
        assert rows == [["x", "y"], *([text, "1"] for text in texts)]


class TestMarkdown:
    def test_numbers_are_right_aligned_and_pipes_escaped(self):
        assert to_markdown(TABLE) == (
            "**accuracy, in %**\n\n"
            "| model | top-1 | novel | p |\n"
            "| --- | ---: | ---: | ---: |\n"
            "| a\\|b_c | 50.0 [25.0, 75.0] | 1,234 | 1e-09 |\n"
            "| 100% & more | – | – | 0.250 |\n"
            "\nfirst note  \nsecond note  \n"
        )

    @pytest.mark.parametrize("hostile", [*HOSTILE, "@team", "__a__", "_b_", "#1", "www.example.org", "me@example.org"])
    def test_hostile_texts_stay_text(self, hostile):
        table = Table(f"accuracy of {hostile}", (Column("model", hostile),), ((hostile,),), (hostile,))
        page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(to_markdown(table))
        assert set(re.findall(r"<(\w+)", page)) <= {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "br"}
        shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in hostile)
        text = html.unescape(re.sub("<[^>]+>", "", page)).replace("\u200b", "")
        assert text.count(shown) == 4  # title, heading, cell and note
        assert not re.search(r"(?<!\w)@\w|https?://|www\.", to_markdown(table))  # no mention, no link without brackets

    @pytest.mark.parametrize(
        "name", ["vit_base_patch16_224", "resnet50-s1 (a & b)", "real@1", "größe 7%", "70% to 80%"]
    )
    def test_plain_names_are_written_as_they_are(self, name):
        assert f"\n| {name} |\n" in to_markdown(Table(name, (Column("model", "model"),), ((name,),), (name,)))

    def test_an_empty_table(self):
        assert "| a | b |\n| --- | --- |\n" in to_markdown(EMPTY)


class TestLatex:
    def test_a_booktabs_table(self):
        text = to_latex(TABLE)
        assert "\\begin{tabular}{lrrr}" in text
        assert "    a|b\\_c & 50.0 [25.0, 75.0] & 1,234 & 1e-09 \\\\\n" in text
        assert "    100\\% \\& more & -- & -- & 0.250 \\\\\n" in text
        assert "\\caption{accuracy, in \\%. first note. second note}" in text

    def test_every_special_character_is_escaped(self):
        table = Table("t", (Column("x", "#"),), (("\\ { } $ & # ^ _ ~ %",),))
        cell = to_latex(table).split("\\midrule\n    ")[1].split(" \\\\\n")[0]
        assert cell == ("\\textbackslash{} \\{ \\} \\$ \\& \\# \\textasciicircum{} \\_ \\textasciitilde{} \\%")
        assert "    \\# \\\\\n" in to_latex(table)

    @given(st.text("ab\\{}$&#^_~%| ", max_size=20))
    def test_braces_always_balance(self, text):
        body = to_latex(Table("t", (Column("x", "x"),), ((text,),)))
        plain = body.replace("\\{", "").replace("\\}", "")
        assert plain.count("{") == plain.count("}")
