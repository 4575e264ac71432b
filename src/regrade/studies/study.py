"""A study: one question about stored data, with its options, its analysis, and how its result is shown.

The registry lists the studies; the command line, the workspace, the report and the docs are derived from these records.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from operator import attrgetter
from typing import Any, Generic, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from regrade.core import InputError, Table, Tabular
from regrade.core.finite import finite
from regrade.core.names import member, refuse_text
from regrade.core.test_set import SLICE_NAMES
from regrade.display import Figure, Finding
from regrade.studies.report_data import ReportData

P = ParamSpec("P")
R = TypeVar("R", bound=Tabular)
O = TypeVar("O", bound="StudyOptions")  # noqa: E741 - the options of a study

STORE = attrgetter("store")
"""The data of most studies: the store of a workspace."""

ProgressCallback = Callable[[Sequence[str]], Iterable[str]]
"""Iterates over names and shows progress."""


@dataclass(frozen=True)
class Flag:
    """How an option is written on the command line; by default, its name and its type give both.

    ``names`` are the flags, ``kind`` is the type that the command line reads and ``parse`` turns that into the value of
    the option. ``percent`` is for fractions that the command line takes in percent, and a ``positive`` number must be
    above 0. An ``argument`` has no flag.
    ``says`` is printed with the value after the run, for files written by it.
    """

    help: str
    names: tuple[str, ...] = ()
    metavar: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    percent: bool = False
    positive: bool = False
    kind: Any = None
    parse: Callable[[Any], Any] | None = None
    is_argument: bool = False
    says: str = ""

    def written(self, name: str) -> str:
        """How the option of this name is written on the command line, for messages."""
        return name if self.is_argument else self.names[0] if self.names else f"--{name.replace('_', '-')}"


def option(help: str, default: Any = MISSING, **flag: Any) -> Any:
    """A field of `StudyOptions` with its help text; ``flag`` holds the further fields of `Flag`."""
    return field(default=default, metadata={"flag": Flag(help, **flag)})


@dataclass(frozen=True)
class StudyOptions:
    """The base of a study's options: a frozen dataclass whose fields are made by `option`.

    Lists become tuples, a text in place of a list raises, and values of an enum become its members. NaN and infinity
    raise. Fields without a flag, such as ``progress``, exist in Python only.
    """

    progress: ProgressCallback = field(default=iter, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Normalize the values."""
        for name, hint in hints_of(type(self)).items():
            object.__setattr__(self, name, _normalized(name, getattr(self, name), hint))
        for name, flag in self.flags().items():
            _check_numbers(flag.written(name), getattr(self, name), flag)

    @classmethod
    def flags(cls) -> Mapping[str, Flag]:
        """The fields that are options of the command, by name; those of a keyword only come last, as in Python."""
        ordered = sorted(fields(cls), key=lambda field: bool(field.kw_only))
        return {field.name: field.metadata["flag"] for field in ordered if "flag" in field.metadata}


def hints_of(options: type[StudyOptions]) -> Mapping[str, Any]:
    """The type of every field."""
    return get_type_hints(options)


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types of a union, without None; a type that is not a union is its only alternative."""
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return tuple(part for part in parts if part is not type(None))


def enum_of(hint: Any) -> type[Enum] | None:
    """The enum among the alternatives of a type."""
    return next((part for part in alternatives(hint) if isinstance(part, type) and issubclass(part, Enum)), None)


def items_of(hint: Any) -> Any | None:
    """The type of the items if a sequence is among the alternatives of a type."""
    return next((get_args(part)[0] for part in alternatives(hint) if get_origin(part) is Sequence), None)


def _normalized(name: str, value: Any, hint: Any) -> Any:
    if value is None:
        return None
    if (items := items_of(hint)) is not None:
        refuse_text(value, name)
        return tuple(_normalized(name, item, items) for item in value)
    kind = enum_of(hint)
    return value if kind is None else member(kind, value)


def _check_numbers(written: str, value: Any, flag: Flag) -> None:
    """Raise if a number among the values of an option is not finite, or not positive if it must be."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, float):
            finite(written, number)
        if flag.positive and number is not None and not number > 0:
            raise InputError(f"{written} must be above 0, got {100 * number if flag.percent else number:g}")


def _one_table(result: Tabular) -> Sequence[Table]:
    return (result.table(),)


def _no_figures(_: Tabular) -> Sequence[Figure]:
    return ()


@dataclass(frozen=True)
class Chapter:
    """A run of a study for a report: what it is about and with which options, its tables and its further figures.

    ``kind`` and ``question`` default to the name and the question of the study. ``all_models`` is true if the study may
    use models that the other chapters of the report leave out.
    """

    about: str
    options: StudyOptions
    tables: Callable[[Any], Sequence[Table]] = _one_table
    more_figures: Callable[[Any], Sequence[Figure]] = _no_figures
    kind: str = ""
    question: str = ""
    all_models: bool = False


def parts_of(*parts: Enum) -> Callable[[Any], Sequence[Table]]:
    """For a chapter: these tables of a result with several, as far as it has them."""
    return lambda result: [result.part(part) for part in parts if part in result.parts]


@dataclass(frozen=True)
class Parts(Generic[O]):
    """The tables of a result that has several, with ``parts`` and ``part``: ``--show`` selects one by its value.

    ``chosen`` names the table that the options and the result ask for; by default it is that of ``table``.
    """

    kind: type[Enum]
    help: str
    chosen: Callable[[O, Any], Enum | None] = lambda _options, _result: None


@dataclass(frozen=True)
class Output(Generic[R]):
    """A further option of a study's command that writes or stores something of its result.

    ``write`` gets the store, the result and the value of the option, and returns the line to print.
    """

    flag: str
    metavar: str
    help: str
    write: Callable[[Any, R, str], str]


def _no_findings(_: Any) -> tuple[Finding, ...]:
    return ()


def _no_chapters(_: ReportData) -> Iterator[Chapter]:
    return iter(())


def _no_verdicts(_: Any) -> frozenset[Enum]:
    return frozenset()


@dataclass(frozen=True)
class Study(Generic[P, O, R]):
    """One question: its options, the function that loads the data and runs the analysis, and what follows from it.

    ``requires`` says which data a workspace needs for the question, for the report's list of open questions.
    ``chapters`` yields the runs that a report shows without being asked. ``verdicts`` are those that the tables print.
    ``head`` limits the rows on a terminal, ``most`` those in every format but CSV. ``run`` gets the ``data`` of the
    workspace, by default its store; None if the options do not need it (``needs_data``), and for a study of files
    outside a workspace (``in_workspace`` false). A result that is not ``sound`` ends the command with exit code 3.
    With ``exit_code``, the exit code of the command is a verdict, from the result; every error then exits with 3.
    """

    name: str
    question: str
    summary: str
    options: Callable[P, O]
    result: type[R]
    run: Callable[[Any, O], R]
    figure: Callable[[R], Figure] | None = None
    findings: Callable[[R], tuple[Finding, ...]] = _no_findings
    verdicts: Callable[[R], frozenset[Enum]] = _no_verdicts
    parts: Parts[O] | None = None
    outputs: tuple[Output[R], ...] = ()
    chapters: Callable[[ReportData], Iterator[Chapter]] = _no_chapters
    requires: str = ""
    head: int | None = 24
    most: int | None = None
    in_workspace: bool = True
    sound: Callable[[R], bool] = lambda _: True
    exit_code: Callable[[R], int] | None = None
    data: Callable[[Any], Any] = STORE
    needs_data: Callable[[O], bool] = lambda _: True

    def __post_init__(self) -> None:
        """Results draw themselves with the figure of the study."""
        if self.figure is not None:
            self.result.draw_with(self.figure)

    def result_of(self, data: Any, options: O) -> R:
        """Run the study; every table of the result says which models have predictions on some of the images only."""
        from regrade.store import Store  # imports pyarrow, which the help of a command does not need

        store = data if isinstance(data, Store) else getattr(data, "store", None)
        if not isinstance(store, Store):
            return self.run(data, options)
        with store.predictions.watch_partial() as reads:
            result = self.run(data, options)
        return result.with_coverage(reads.notes) if reads.notes else result

    @property
    def command(self) -> str:
        """The name of its command: that of the study, with hyphens."""
        return self.name.replace("_", "-")

    @property
    def option_class(self) -> type[O]:
        """The class of the options."""
        assert isinstance(self.options, type)
        return self.options


def test_set_option() -> Any:
    """The option ``test_set``."""
    return option("Name of the test set.", names=("--test-set", "-t"))


def models_option(help: str = "Use only this model. May be repeated (default: all).") -> Any:
    """The option ``models``."""
    return option(help, (), names=("--model",))


def slice_option() -> Any:
    """The option ``slice``."""
    return option(f"Use only the images of this slice: {SLICE_NAMES}.", None)


def slices_option() -> Any:
    """The option ``slices``, of slices besides all images."""
    help = f"Also compare on this slice: {SLICE_NAMES}, COLUMN for all its values. May be repeated."
    return option(help, (), names=("--slice",))


def labels_option(help: str = "Score against this label set: NAME or NAME@VERSION.", default: Any = None) -> Any:
    """The option ``labels``."""
    return option(help, default, names=("--labels", "-l"))


def rule_option() -> Any:
    """The option ``rule``, of multi-label accuracy."""
    return option(
        "images: correct labels count, mean over images (default). classes: also unclear, mean over classes.", None
    )


def collapsed_option() -> Any:
    """The option ``collapsed``."""
    return option("Also accept classes that people cannot distinguish from the label (imagenet-1k).", False)


def within_option() -> Any:
    """The option ``within``."""
    return option("Restrict predictions to the classes of this class space, e.g. imagenet-a (200-way accuracy).", None)


def class_map_option(*names: str) -> Any:
    """The option ``class_map``."""
    help = "CSV or JSON map from label classes to predicted classes (default: the test set's own map)."
    return option(help, None, names=names)


def seed_option(of: str) -> Any:
    """The option ``seed``."""
    return option(f"Random seed of {of}.", 0, minimum=0)
