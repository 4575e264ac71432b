"""The prefix of a model's name selects its adapter; every error is one line."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from regrade.classes import digits
from regrade.core import InputError, ModelSpec, ScoreKind, UnknownName
from regrade.models import Model, load_model, prefixes, registry


class Constant(Model):
    def __init__(self, rest, settings):
        self.spec = ModelSpec(f"constant:{rest}", "digits")
        self.class_space = digits()
        self.preprocessing = settings.preprocessing
        self.score_kind = ScoreKind.LOGITS
        self.runtime = "by hand"

    def scores(self, batch):
        return np.zeros((len(batch), 10))


def offer(monkeypatch, *points):
    monkeypatch.setattr(registry, "entry_points", lambda group: list(points) if group == "regrade.models" else [])


def test_prefixes_are_sorted():
    expected = "head lite onnx open_clip python timm torch torchvision trained transformers"
    assert prefixes() == tuple(expected.split())


def test_load_model_suggests_a_similar_prefix(settings):
    with pytest.raises(UnknownName, match=r"unknown model prefix 'tim'; did you mean timm"):
        load_model("tim:resnet50", settings)


@pytest.mark.parametrize("name", ["resnet50", "timm:", ""])
def test_load_model_rejects_a_name_without_prefix_or_rest(name, settings):
    with pytest.raises(InputError, match=r"is not a model name: write PREFIX:NAME, .* one of head, lite"):
        load_model(name, settings)


def test_load_model_uses_third_party_adapters(monkeypatch, settings):
    point = EntryPoint("constant", "somewhere:Constant", "regrade.models")
    monkeypatch.setattr(EntryPoint, "load", lambda _: Constant)
    offer(monkeypatch, point)
    assert load_model("constant:a:b", settings).spec.name == "constant:a:b"
    assert "constant" in prefixes()


def test_load_model_names_an_adapter_that_cannot_be_imported(monkeypatch, settings):
    offer(monkeypatch, EntryPoint("mine", "no_such_package_here:load", "regrade.models"))
    with pytest.raises(InputError, match=r"the adapter of 'mine' \(no_such_package_here:load\) cannot be loaded"):
        load_model("mine:x", settings)


def test_load_model_rejects_an_adapter_that_returns_no_model(monkeypatch, settings):
    monkeypatch.setattr(EntryPoint, "load", lambda _: lambda *_: 5)
    offer(monkeypatch, EntryPoint("mine", "somewhere:load", "regrade.models"))
    with pytest.raises(InputError, match="returned a int for mine:x, not a Model"):
        load_model("mine:x", settings)


def test_load_model_reports_an_adapter_that_fails(monkeypatch, settings):
    def load(*_):
        raise SystemExit(0)

    monkeypatch.setattr(EntryPoint, "load", lambda _: load)
    offer(monkeypatch, EntryPoint("mine", "somewhere:load", "regrade.models"))
    with pytest.raises(InputError, match=r"^mine:x cannot be loaded: SystemExit: 0$"):
        load_model("mine:x", settings)


def test_load_model_reports_a_model_without_its_fields(monkeypatch, settings):
    class Bare(Model):
        def scores(self, batch):
            return batch

    monkeypatch.setattr(EntryPoint, "load", lambda _: lambda *_: Bare())
    offer(monkeypatch, EntryPoint("mine", "somewhere:load", "regrade.models"))
    with pytest.raises(InputError, match=r"^mine:x cannot be loaded: AttributeError: .*'spec'"):
        load_model("mine:x", settings)
