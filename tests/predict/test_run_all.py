"""Many models on many test sets: one that fails does not stop the others."""

import pytest
from predicting import Toy, linear, noise, noisy, toys

from regrade.core import AlreadyStored, ExecutorError, InputError, ModelError, StoreError
from regrade.models import Settings
from regrade.predict import EngineOptions, Failure, NamedModel, predict_all, run_all
from regrade.workspace import Workspace

OPTIONS = EngineOptions(batch=8)


def broken(_):
    raise RuntimeError("no such\nlayer")


@pytest.fixture
def store(tmp_path):
    """Two test sets: ``noise`` and ``more``."""
    store = noisy(tmp_path)
    images = noise(tmp_path / "more", 12)
    Workspace(store).testsets.add("more", images, classes="cifar-10", layout="index")
    return store


@pytest.fixture
def models(monkeypatch):
    """Models by name; an error in place of a model is raised when it is loaded."""
    by_name = {}

    def load(name, settings):  # noqa: ARG001
        if isinstance(by_name[name], Exception):
            raise by_name[name]
        return Toy(by_name[name], name=name)

    monkeypatch.setattr(run_all, "load_model", load)
    return by_name


def run(store, names, test_sets=("noise", "more"), **options):
    named = [NamedModel(name, Settings()) for name in names]
    return predict_all(store, named, [store.test_set(name) for name in test_sets], OPTIONS, **options)


def test_predict_all_runs_every_model_on_every_test_set(store, models):
    models.update(a=linear, b=linear)
    calls = []
    done = run(store, "ab", progress=lambda what, left: calls.append((what, left)) or (lambda _: None))
    assert [(pair.model, pair.test_set, pair.examples) for pair in done.pairs] == [
        ("a", "noise", 40), ("a", "more", 12), ("b", "noise", 40), ("b", "more", 12)
    ]  # fmt: skip
    assert calls == [("a on noise", 40), ("a on more", 12), ("b on noise", 40), ("b on more", 12)]
    assert done.failures == ()


def test_predict_all_passes_the_settings_on(store, monkeypatch):
    seen = []
    monkeypatch.setattr(run_all, "load_model", lambda *given: seen.append(given) or Toy())
    settings = Settings(threads=3)
    predict_all(store, [NamedModel("x:y", settings)], [store.test_set("noise")], OPTIONS)
    assert seen == [("x:y", settings)]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (broken, "b failed on the 8 examples 'x000.png' to 'x031.png': RuntimeError: no such"),
        (lambda batch: linear(batch)[:, :9], "b returned float32 of shape (8, 9)"),
        (InputError("b has no classes"), "b has no classes"),
        (ModelError("b cannot"), "b cannot"),
    ],
)
@pytest.mark.parametrize("order", ["abc", "bac", "acb"])
def test_predict_all_continues_after_a_model_that_fails(store, models, error, reason, order):
    models.update(a=linear, b=error, c=linear)
    done = run(store, order)
    assert [pair.model for pair in done.pairs] == ["a", "a", "c", "c"]
    (failure,) = done.failures
    assert failure.model == "b" and failure.reason.startswith(reason) and "\n" not in failure.reason
    assert store.predictions.model_names("noise") == store.predictions.model_names("more") == ("a", "c")


def test_predict_all_reports_pairs_before_a_failure(store, models):
    models.update(a=linear, b=lambda batch: broken(batch) if len(batch) < 8 else linear(batch))
    done = run(store, "ab")
    assert [(pair.model, pair.test_set) for pair in done.pairs] == [("a", "noise"), ("a", "more"), ("b", "noise")]
    assert [failure.model for failure in done.failures] == ["b"]
    assert store.predictions.model_names("noise") == ("a", "b") and store.predictions.model_names("more") == ("a",)


def test_predict_all_reports_several_failures(store, models):
    models.update(a=broken, b=InputError("no"))
    done = run(store, "ab")
    assert done.pairs == () and [failure.model for failure in done.failures] == ["a", "b"]
    assert done.failures[1] == Failure("b", "no")


@pytest.mark.parametrize(("error", "kind"), [(broken, ModelError), (InputError("no"), InputError)])
def test_predict_all_raises_the_error_of_a_single_model(store, models, error, kind):
    models.update(a=error)
    with pytest.raises(kind):
        run(store, "a")


@pytest.mark.parametrize(
    "error", [StoreError("full"), AlreadyStored("other"), ExecutorError("gone"), KeyboardInterrupt()]
)
def test_predict_all_stops_at_errors_of_store_or_cluster(store, monkeypatch, error):
    loaded = []

    def load(name, _):
        loaded.append(name)
        raise error

    monkeypatch.setattr(run_all, "load_model", load)
    with pytest.raises(type(error)):
        run(store, "ab")
    assert loaded == ["a"]


def test_predict_all_does_not_hide_bugs(store, models):
    models.update(a=ZeroDivisionError(), b=linear)
    with pytest.raises(ZeroDivisionError):
        run(store, "ab")


def test_predict_all_on_a_cluster_loads_no_model_locally(store, monkeypatch):
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


class TestTogether:
    """Models that share one pass through each test set."""

    @pytest.fixture(autouse=True)
    def by_name(self, models):
        """Models a, b and c; one may be replaced by an error."""
        models.update({model.spec.name: model for model in toys()})
        return models

    @pytest.fixture(autouse=True)
    def loaded_as_they_are(self, by_name, monkeypatch):
        def load(name, settings):  # noqa: ARG001
            if isinstance(by_name[name], Exception):
                raise by_name[name]
            return by_name[name]

        monkeypatch.setattr(run_all, "load_model", load)

    def run(self, store, names="abc", **options):
        named = [NamedModel(name, Settings()) for name in names]
        test_sets = [store.test_set(name) for name in ("noise", "more")]
        return predict_all(store, named, test_sets, OPTIONS, together=True, **options)

    def test_all_models_run_on_every_test_set(self, store):
        calls = []
        done = self.run(store, progress=lambda what, left: calls.append((what, left)) or (lambda _: None))
        assert [(pair.model, pair.test_set) for pair in done.pairs] == [
            (name, test_set) for name in "abc" for test_set in ("noise", "more")
        ]
        assert calls == [("3 models on noise", 40), ("3 models on more", 12)]

    @pytest.mark.parametrize(
        ("cause", "advice"),
        [(None, ""), (MemoryError(), "; leave out --together, so that one model is in memory at a time")],
    )
    def test_a_model_that_cannot_be_loaded_is_left_out(self, store, by_name, cause, advice):
        by_name["b"] = InputError("b cannot be loaded")
        by_name["b"].__cause__ = cause
        done = self.run(store)
        assert [pair.model for pair in done.pairs] == ["a", "a", "c", "c"]
        assert done.failures == (Failure("b", f"b cannot be loaded{advice}"),)

    def test_a_model_that_fails_is_left_out_of_the_next_test_sets(self, store, by_name):
        by_name["b"].function = lambda batch: 1 / 0 if len(by_name["b"].batches) > 3 else linear(batch)
        done = self.run(store)
        assert [pair.model for pair in done.pairs] == ["a", "a", "c", "c"]
        assert [failure.model for failure in done.failures] == ["b"]
        assert len(by_name["b"].batches) == 4

    def test_a_test_set_without_images_is_skipped(self, store, tmp_path):
        (tmp_path / "images").rename(tmp_path / "elsewhere")
        done = self.run(store)
        assert [(pair.model, pair.test_set) for pair in done.pairs] == [(name, "more") for name in "abc"]
        assert len(done.failures) == 1 and "images" in done.failures[0].reason

    def test_stored_predictions_are_reported_without_images(self, store, tmp_path):
        self.run(store, "ab")
        (tmp_path / "images").rename(tmp_path / "elsewhere")
        done = self.run(store)
        expected = [("a", "noise"), ("a", "more"), ("b", "noise"), ("b", "more"), ("c", "more")]
        assert sorted((pair.model, pair.test_set) for pair in done.pairs) == sorted(expected)
        assert [pair.images_away for pair in done.pairs if pair.test_set == "noise"] == [True, True]
        assert len(done.failures) == 1

    def test_a_model_named_twice_runs_once(self, store):
        assert [pair.model for pair in self.run(store, "aba").pairs] == ["a", "a", "b", "b"]

    def test_one_model_raises_its_error(self, store, by_name):
        by_name["a"].function = lambda _: 1 / 0
        with pytest.raises(ModelError, match="a failed"):
            self.run(store, "a")

    def test_a_cluster_is_refused(self, store):
        with pytest.raises(InputError, match="--together is for models on this machine: leave it out with --on ray"):
            self.run(store, cluster="machines")
