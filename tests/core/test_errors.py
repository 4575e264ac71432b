import inspect
import re

import pytest

from regrade.core import InputError, MissingExtra, RegradeError, StoreError, UnknownName, errors

ALL = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, RegradeError)]


def drawn_tree():
    """The tree in the module's docstring as {class: parent}, told by how far each is indented."""
    parents, above = {}, {}
    for line in inspect.getdoc(errors).splitlines():
        if match := re.match(r"^([│ ├└─]*)([A-Z]\w+)(?: \(\w+\))? {2,}", line):
            depth = len(match[1])
            above[depth] = match[2]
            parents[match[2]] = above[max((d for d in above if d < depth), default=depth)]
    return parents


def test_the_docstring_draws_every_error_below_its_parent():
    tree = drawn_tree()
    assert set(tree) == {cls.__name__ for cls in ALL}
    for cls in ALL:
        if cls is not RegradeError:
            assert tree[cls.__name__] == cls.__bases__[0].__name__


def test_wrong_input_is_a_value_error_and_trouble_with_the_store_is_not():
    assert issubclass(InputError, ValueError)
    assert not issubclass(StoreError, ValueError)


@pytest.mark.parametrize(
    ("name", "known", "message"),
    [
        ("resnet5", ["resnet50", "vit"], "unknown model 'resnet5'; did you mean resnet50?"),
        ("x", ["resnet50", "vit"], "unknown model 'x'; there are resnet50, vit"),
        ("x", ["vit"], "unknown model 'x'; there is vit"),
        ("x", [], "unknown model 'x'; there are none yet"),
        ("x", None, "unknown model 'x'"),
        (
            "x",
            [f"model {i}" for i in range(1200)],
            "unknown model 'x'; there are 1,200: model 0, model 1, model 2, ...",
        ),
        ("ResNet-50", ["vit", "resnet50"], "unknown model 'ResNet-50'; did you mean resnet50?"),
        ("soups", ["vit3b", "greedy_soups"], "unknown model 'soups'; did you mean greedy_soups?"),
        (
            "imagenetv2",
            ["imagenet-val", "imagenetv2-threshold-0.7", "imagenetv2-matched-frequency", "imagenetv2-top-images"],
            "unknown model 'imagenetv2'; did you mean imagenetv2-top-images, imagenetv2-threshold-0.7, "
            "imagenetv2-matched-frequency?",
        ),
        ("resnet50.v2", ["alexnet", "resnet50"], "unknown model 'resnet50.v2'; did you mean resnet50?"),
        ("", ["alexnet", "vit"], "unknown model ''; there are alexnet, vit"),
        ("v2", [f"v2-{i}" for i in range(13)], "unknown model 'v2'; did you mean v2-0, v2-1, v2-2?"),
    ],
)
def test_an_unknown_name_is_told_with_its_neighbors(name, known, message):
    assert str(UnknownName("model", name, known)) == message


def test_an_unknown_name_remembers_what_was_asked():
    error = UnknownName("model", "x", [], hint=" (a hint)")
    assert (error.kind, error.name) == ("model", "x")
    assert str(error).endswith("(a hint)")


def test_a_missing_extra_says_what_to_install():
    assert "pip install 'regrade[torch]'" in str(MissingExtra("predicting", "torch"))
