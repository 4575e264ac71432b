"""Methods and functions that run a study with the fields of its options as arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from regrade.core import Tabular
from regrade.studies.study import O, Study

if TYPE_CHECKING:
    from regrade.store import Store

P = ParamSpec("P")
R = TypeVar("R", bound=Tabular)

AnyStudy: TypeAlias = Study[..., Any, Any]


class HasStore(Protocol):
    """An object with a store."""

    store: Store


def study_method(
    study: Study[P, O, R], *, data: Callable[[Any], Any] = attrgetter("store")
) -> Callable[Concatenate[HasStore, P], R]:
    """A method that runs a study with the fields of its options as arguments, on the ``data`` of the object."""

    def method(self: HasStore, /, *arguments: P.args, **named: P.kwargs) -> R:
        return study.result_of(data(self), study.options(*arguments, **named))

    method.__name__ = method.__qualname__ = study.name
    method.__doc__ = study.run.__doc__
    method.study = study  # type: ignore[attr-defined]
    own = list(inspect.signature(method).parameters.values())[:1]
    method.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*own, *inspect.signature(study.options).parameters.values()]
    )
    return method


def study_function(study: Study[P, O, R]) -> Callable[P, R]:
    """A function that runs a study of files outside a workspace."""

    def run(*arguments: P.args, **named: P.kwargs) -> R:
        return study.result_of(None, study.options(*arguments, **named))

    run.__name__ = run.__qualname__ = study.name
    run.__doc__ = study.summary
    run.__signature__ = inspect.signature(study.options)  # type: ignore[attr-defined]
    return run


def studies_of(group: type) -> tuple[AnyStudy, ...]:
    """The studies that are methods of a class, in their order."""
    return tuple(method.study for method in vars(group).values() if hasattr(method, "study"))
