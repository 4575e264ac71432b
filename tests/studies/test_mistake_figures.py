"""Figures of the mistakes study: what they draw, and which are left out without data."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from mistake_world import REVIEW_A, REVIEW_B, TEST_SET, A, predictions, studied, verdicts
from PIL import Image

from regrade.core import SliceSet
from regrade.studies.image_slice import image_slice
from regrade.studies.mistakes.figure_files import mistake_figures
from regrade.studies.mistakes.flow_figure import flow_figure
from regrade.studies.mistakes.gallery import mistake_gallery
from regrade.studies.mistakes.pair_figure import pair_figure
from regrade.studies.mistakes.slice_figure import slice_figure


def values_of(spec):
    """All inline data of a figure, as one list of rows."""
    data = list(spec.get("datasets", {}).values())
    stack = [spec]
    while stack:
        part = stack.pop()
        rows = part.get("data", {}).get("values") if isinstance(part.get("data"), dict) else None
        data += [rows] if rows else []
        stack += [child for key in ("layer", "vconcat", "hconcat") for child in part.get(key, ())]
    return [row for rows in data for row in rows]


class TestFlow:
    def test_heights_are_the_counts(self):
        figure = flow_figure(studied(predictions("a", A), frame=verdicts()))
        heights = {row["name"]: row["high"] - row["low"] for row in values_of(figure.spec) if "x2" in row}
        assert heights == pytest.approx({
            "novel": 3, "judged wrong before": 2, "now correct": 1, "not judged yet": 1, "mistake": 3,
            "fine-grained": 1, "spurious correlation": 1, "non-prototypical": 1,
        })  # fmt: skip
        assert "5 mistakes under the first labels, 3 in the end" in figure.alt

    def test_bands_fill_their_nodes(self):
        """At either end of a node, the bands add up to its height, without overlap."""
        rows = values_of(flow_figure(studied(predictions("a", A), frame=verdicts())).spec)
        nodes = {(round(row["x2"], 4), row["name"]): row for row in rows if "x2" in row}
        starts = {}
        for row in (row for row in rows if "link" in row):
            starts.setdefault(row["link"], row)
        leaving = {}
        for row in starts.values():
            leaving.setdefault((row["x"], row["way"].split(", ")[0]), []).append((row["low"], row["high"]))
        for place, bands in leaving.items():
            node, edges = nodes[place], sorted(bands)
            assert edges[0][0] == pytest.approx(node["low"], abs=0.01)
            assert edges[-1][1] == pytest.approx(node["high"], abs=0.01)
            assert [high for _, high in edges[:-1]] == pytest.approx([low for low, _ in edges[1:]], abs=0.01)

    def test_model_without_mistakes_is_passed_over(self):
        right = [TEST_SET.class_space.ids[label] for label in TEST_SET.labels]
        assert flow_figure(studied(predictions("right", right))) is None

    def test_major_mistakes_are_named(self):
        labels = [row["label"] for row in values_of(flow_figure(studied(frame=verdicts())).spec) if "label" in row]
        assert "non-prototypical: 1 (1 major)" in labels


class TestPairs:
    def test_bars_and_tail_add_up(self):
        result = studied()
        rows = values_of(pair_figure(result).spec)
        bars = {row["key"]: row["count"] for row in rows if "pair" in row}
        assert sum(bars.values()) == result.pairs.total
        tail = [row for row in rows if "rank" in row and "count" in row]
        assert tail[0] == {"rank": 1, "count": int(result.pairs.counts.max())}
        assert tail[-1] == {"rank": len(result.pairs), "count": int(result.pairs.counts.min())}

    def test_names_with_quotes_are_escaped(self):
        result = studied()
        space = replace(result.pairs.space, names=tuple(f"{name}'s \\ own" for name in result.pairs.space.ids))
        figure = pair_figure(replace(result, pairs=replace(result.pairs, space=space)))
        axis = figure.spec["vconcat"][0]["layer"][0]["encoding"]["y"]["axis"]["labelExpr"]
        assert re.findall(r"(?<!\\)'", axis) and "\\'s" in axis

    def test_no_pair_no_figure(self):
        assert pair_figure(studied(predictions("c", [None] * 12), reviews=())) is None


class TestSlice:
    @pytest.fixture
    def result(self):
        inside = np.isin(np.arange(12), (2, 4, 9))
        slices = SliceSet("grave", "dozen", 12, {"grave": inside}, chosen_hard=True, chosen_by=("a",))
        test_set = replace(TEST_SET, slice_sets=(slices,))
        return studied(test_set=test_set, within=image_slice(test_set, "grave"))

    def test_points(self, result):
        points = {row["model"]: row for row in values_of(slice_figure(result).spec) if "group" in row}
        assert (points["b"]["right"], points["b"]["images"], points["b"]["value"]) == (1, 3, 33.33)
        assert (points["a"]["novel"], points["a"]["value"], points["a"]["most"]) == (1, 0, 33.33)
        assert points["a"]["group"] == "took part in choosing the slice"
        assert points["b"]["top1"] == round(100 * 9 / 12, 2)

    def test_caution_is_in_the_heading(self, result):
        subtitle = " ".join(slice_figure(result).spec["title"]["subtitle"])
        assert "Caution: grave of dozen was chosen" in subtitle

    def test_title_claims_only_what_is_judged(self, result):
        """Two predictions on the slice are novel and may be right."""
        assert slice_figure(result).alt == "No model is judged right on more than 1 of 3 images of grave."
        judged = tuple(replace(row, novel=0) for row in result.severities)
        assert slice_figure(replace(result, severities=judged)).alt.startswith("No model is right on more than 1 of 3")

    def test_no_slice_no_figure(self):
        assert slice_figure(studied()) is None


def test_figures_are_drawn(tmp_path):
    """Every figure is valid: it can be rendered."""
    figures = mistake_figures(studied(frame=verdicts(), within=image_slice(TEST_SET, "felines")))
    assert list(figures) == ["flow", "kinds", "pairs", "slice"]
    for name, figure in figures.items():
        assert b"<svg" in figure.save(tmp_path / f"{name}.svg").read_bytes()[:200], name


def test_no_predictions_leave_kinds_and_pairs():
    result = studied(predictions("x", [None] * 12), by_review=("a",))
    assert "kinds" in mistake_figures(replace(result, paths=(), severities=()))


class TestGallery:
    def page(self, shown=12):
        buffer = io.BytesIO()
        Image.new("RGB", (8, 8)).save(buffer, format="JPEG")
        return mistake_gallery(
            studied(), TEST_SET, lambda position: buffer.getvalue() if position else None, shown=shown
        )

    def test_mistake_of_both_models_is_shown_once(self):
        page = self.page()
        assert page.count("<li>") == len(REVIEW_A) + len(REVIEW_B) - 1
        assert "<span>a, b</span>" in page

    def test_headings_name_category_and_severity(self):
        headings = re.findall("<h2>(.*?)</h2>", self.page())
        assert headings == [
            "fine-grained, major: 1 mistake", "fine-grained, borderline: 1 mistake",
            "fine-grained, out of vocabulary, major: 1 mistake", "spurious correlation, minor: 1 mistake",
            "non-prototypical, major: 1 mistake",
        ]  # fmt: skip

    def test_long_lists_are_cut(self):
        assert "0 of 1 mistake" in self.page(shown=0)
