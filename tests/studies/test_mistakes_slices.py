"""The mistakes study on a slice: parts add up to the whole, and what has no image says so."""

import numpy as np
import pytest
from mistake_world import SPACE, TEST_SET, studied

from regrade.core import InputError
from regrade.studies import MistakePart
from regrade.studies.image_slice import ImageSlice, image_slice, image_slices

FELINES = image_slice(TEST_SET, "felines")
REST = ImageSlice("rest", ~FELINES.inside)


def flow_counts(result, model):
    (flow,) = [flow for flow in result.flows if flow.model == model]
    return np.array([flow.images, flow.mistakes, flow.novel, flow.remaining, flow.open])


def kind_counts(result, model):
    return np.array(next(row.counts for row in result.triage if row.model == model))


class TestSlices:
    @pytest.mark.parametrize("model", ["a", "b"])
    def test_parts_add_up(self, model):
        parts, whole = [studied(within=part) for part in (FELINES, REST)], studied()
        assert (sum(flow_counts(part, model) for part in parts) == flow_counts(whole, model)).all()
        first, second, both = (kind_counts(result, model) for result in (*parts, whole))
        assert (first + second == both).all()
        assert sum(part.pairs.total for part in parts) == whole.pairs.total

    def test_flow_by_hand(self):
        """Of the felines (images 0, 1, 6), model a has only image 1 wrong."""
        result = studied(within=FELINES)
        assert flow_counts(result, "a").tolist() == [3, 1, 1, 1, 1]
        assert result.flows[-1].before.over_images.n == 3

    def test_reviews_are_restricted(self):
        result = studied(within=FELINES)
        totals = {count.review: count.mistakes for count in result.categories.counts if count.category is None}
        assert totals == {"a": 1, "b": 0}
        assert not (result.major.inside & ~FELINES.inside).any()

    def test_stored_slice_of_major_mistakes_names_the_slice(self):
        slices = studied(within=REST, least_major=1).major.as_slices("grave")
        assert slices.origin == "major mistakes of at least 1 of a, b in rest"

    def test_titles_and_json_name_the_slice(self):
        result = studied(within=FELINES)
        assert "dozen, slice felines" in result.table().title
        assert "dozen, slice felines" in result.part(MistakePart.CATEGORIES).title
        assert result.as_dict()["slice"] == "felines"
        assert "slice" not in studied().as_dict()

    def test_slice_without_scored_images_raises(self):
        outside = ImageSlice("outside", np.arange(12) == 8)
        with pytest.raises(InputError, match="judged@1 scores none of the 1 image of slice 'outside'"):
            studied(within=outside)


def test_image_slice_of_classes_without_images_raises():
    with pytest.raises(InputError, match="slice 'wolf' of dozen contains no images"):
        image_slice(TEST_SET, "wolf")
    assert "wolf" in SPACE.ids


def test_image_slices_names_each_slice_once():
    assert [part.name for part in image_slices(TEST_SET, ["felines", "cat", "felines"])] == ["felines", "cat"]
