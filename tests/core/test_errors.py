import inspect
import re

import pytest

from regrade.core import InputError, MissingExtra, RegradeError, StoreError, UnknownName, errors

ALL = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, RegradeError)]


def drawn_tree():
    """The tree in the module's docstring as {class: parent}, by indentation."""
    parents, above = {}, {}
    for line in inspect.getdoc(errors).splitlines():
        if match := re.match(r"^([│ ├└─]*)([A-Z]\w+)(?: \(\w+\))? {2,}", line):
            depth = len(match[1])
            above[depth] = match[2]
            parents[match[2]] = above[max((d for d in above if d < depth), default=depth)]
    return parents


def test_module_docstring_shows_the_class_hierarchy():
    tree = drawn_tree()
    assert set(tree) == {cls.__name__ for cls in ALL}
    for cls in ALL:
        if cls is not RegradeError:
            assert tree[cls.__name__] == cls.__bases__[0].__name__


def test_only_input_errors_are_value_errors():
    assert issubclass(InputError, ValueError)
    assert not issubclass(StoreError, ValueError)


@pytest.mark.parametrize(
    ("name", "candidates", "message"),
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
def test_unknown_name_suggests_similar_names(name, candidates, message):
    assert str(UnknownName("model", name, candidates)) == message


def test_unknown_name_has_kind_and_name():
    error = UnknownName("model", "x", [], hint=" (a hint)")
    assert (error.kind, error.name) == ("model", "x")
    assert str(error).endswith("(a hint)")


def test_missing_extra_names_the_package():
    assert "pip install 'regrade[torch]'" in str(MissingExtra("predicting", "torch"))
