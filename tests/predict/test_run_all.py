"""Many models on many test sets: one that fails does not stop the others."""

import pytest
from predicting import Toy, linear, noise, noisy

from regrade.core import AlreadyStored, ExecutorError, InputError, ModelError, StoreError
from regrade.models import Settings
from regrade.predict import EngineOptions, Failure, NamedModel, predict_all, run_all
from regrade.workspace import Workspace

HOW = EngineOptions(batch=8)


def broken(_):
    raise RuntimeError("no such\nthing")


@pytest.fixture
def store(tmp_path):
    """Two test sets: ``noise`` and ``more``."""
    store = noisy(tmp_path)
    images = noise(tmp_path / "more", 12)
    Workspace(store).add_test_set("more", images, classes="cifar-10", layout="index")
    return store


@pytest.fixture
def models(monkeypatch):
    """Models by name; an error in place of one is raised as it is loaded."""
    known = {}

    def load(name, settings):  # noqa: ARG001
        if isinstance(known[name], Exception):
            raise known[name]
        return Toy(known[name], name=name)

    monkeypatch.setattr(run_all, "load_model", load)
    return known


def run(store, names, test_sets=("noise", "more"), **options):
    named = [NamedModel(name, Settings()) for name in names]
    return predict_all(store, named, [store.test_set(name) for name in test_sets], HOW, **options)


def test_every_model_on_every_test_set_in_order(store, models):
    models.update(a=linear, b=linear)
    told = []
    done = run(store, "ab", watch=lambda what, left: told.append((what, left)) or (lambda _: None))
    assert [(pair.model, pair.test_set, pair.examples) for pair in done.pairs] == [
        ("a", "noise", 40), ("a", "more", 12), ("b", "noise", 40), ("b", "more", 12)
    ]  # fmt: skip
    assert told == [("a on noise", 40), ("a on more", 12), ("b on noise", 40), ("b on more", 12)]
    assert done.failures == ()


def test_settings_are_handed_on(store, monkeypatch):
    seen = []
    monkeypatch.setattr(run_all, "load_model", lambda *given: seen.append(given) or Toy())
    settings = Settings(threads=3)
    predict_all(store, [NamedModel("x:y", settings)], [store.test_set("noise")], HOW)
    assert seen == [("x:y", settings)]


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (broken, "b failed on the 8 examples 'x000.png' to 'x031.png': RuntimeError: no such"),
        (lambda batch: linear(batch)[:, :9], "b returned float32 of shape (8, 9)"),
        (InputError("b does not say"), "b does not say"),
        (ModelError("b cannot"), "b cannot"),
    ],
)
@pytest.mark.parametrize("order", ["abc", "bac", "acb"])
def test_one_that_fails_does_not_stop_the_others(store, models, trouble, reason, order):
    models.update(a=linear, b=trouble, c=linear)
    done = run(store, order)
    assert [pair.model for pair in done.pairs] == ["a", "a", "c", "c"]
    (failure,) = done.failures
    assert failure.model == "b" and failure.reason.startswith(reason) and "\n" not in failure.reason
    assert store.model_names("noise") == store.model_names("more") == ("a", "c")


def test_what_a_model_did_before_it_failed_is_told_too(store, models):
    models.update(a=linear, b=lambda batch: broken(batch) if len(batch) < 8 else linear(batch))
    done = run(store, "ab")
    assert [(pair.model, pair.test_set) for pair in done.pairs] == [("a", "noise"), ("a", "more"), ("b", "noise")]
    assert [failure.model for failure in done.failures] == ["b"]
    assert store.model_names("noise") == ("a", "b") and store.model_names("more") == ("a",)


def test_all_of_several_may_fail(store, models):
    models.update(a=broken, b=InputError("no"))
    done = run(store, "ab")
    assert done.pairs == () and [failure.model for failure in done.failures] == ["a", "b"]
    assert done.failures[1] == Failure("b", "no")


@pytest.mark.parametrize(("trouble", "kind"), [(broken, ModelError), (InputError("no"), InputError)])
def test_one_alone_is_told_at_once(store, models, trouble, kind):
    models.update(a=trouble)
    with pytest.raises(kind):
        run(store, "a")


@pytest.mark.parametrize(
    "error", [StoreError("full"), AlreadyStored("other"), ExecutorError("gone"), KeyboardInterrupt()]
)
def test_a_disk_or_a_cluster_that_is_gone_ends_the_run(store, monkeypatch, error):
    loaded = []

    def load(name, _):
        loaded.append(name)
        raise error

    monkeypatch.setattr(run_all, "load_model", load)
    with pytest.raises(type(error)):
        run(store, "ab")
    assert loaded == ["a"]


def test_a_defect_of_our_own_is_not_hidden(store, models):
    models.update(a=ZeroDivisionError(), b=linear)
    with pytest.raises(ZeroDivisionError):
        run(store, "ab")


def test_on_a_cluster_the_models_are_loaded_there(store, monkeypatch):
    seen = []
    monkeypatch.setattr(run_all, "load_model", lambda *_: pytest.fail("it is loaded here"))
    monkeypatch.setattr(run_all, "predict_on", lambda *given, **_: seen.append((*given[:2], given[3].name)) or "pair")
    done = run(store, "ab", cluster="machines")
    a, b = (NamedModel(name, Settings()) for name in "ab")
    assert seen == [
        ("machines", a, "noise"),
        ("machines", a, "more"),
        ("machines", b, "noise"),
        ("machines", b, "more"),
    ]
    assert done.pairs == ("pair",) * 4
