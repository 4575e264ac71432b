"""The types of columns in a ledger: values of another type, as SQLite may store them, raise when they are read."""

from __future__ import annotations

from datetime import UTC, datetime
from reprlib import repr as brief
from typing import Any

from sqlalchemy import Dialect, Float, Integer, String, Text, TypeDecorator

from regrade.core import LedgerDamaged, UnknownName
from regrade.ledger.questions import QUESTIONS, question_named


def _damage(value: Any, expected: str) -> LedgerDamaged:
    return LedgerDamaged(f"the ledger is damaged: found {brief(value)} instead of {expected}")


class TextColumn(TypeDecorator[str]):
    """Text of limited length; reading a value of another type raises `LedgerDamaged`.

    SQLite stores values of any type in any column; regrade never writes another type.
    """

    impl = String
    cache_ok = True

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The text."""
        if value is not None and not isinstance(value, str):
            raise _damage(value, "text")
        return value


class LongTextColumn(TextColumn):
    """Text of any length."""

    impl = Text
    cache_ok = True


class IntegerColumn(TypeDecorator[int]):
    """An integer; reading a value of another type raises `LedgerDamaged`."""

    impl = Integer
    cache_ok = True

    def process_result_value(self, value: Any | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """The number."""
        if value is not None and not isinstance(value, int):
            raise _damage(value, "an integer")
        return value


class FloatColumn(TypeDecorator[float]):
    """A float; reading a value of another type raises `LedgerDamaged`.

    The value returned by an insert equals the one that is read later, which the hash chain relies on: SQLite stores no
    negative zero, and returns integral values as integers.
    """

    impl = Float
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:  # noqa: ARG002
        """A float, zero without a sign."""
        return None if value is None else value + 0.0

    def process_result_value(self, value: Any | None, dialect: Dialect) -> float | None:  # noqa: ARG002
        """The number."""
        if value is not None and not isinstance(value, int | float):
            raise _damage(value, "a number")
        return None if value is None else float(value)


class TimestampColumn(TypeDecorator[datetime]):
    """A time in UTC as sortable text, the same in every database."""

    impl = String(27)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """To text."""
        return None if value is None else f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """From text; an invalid value raises `LedgerDamaged`."""
        try:
            return None if value is None else datetime.fromisoformat(value)
        except (TypeError, ValueError):
            raise _damage(value, "a time") from None


class EnumColumn(TypeDecorator[str]):
    """One of a fixed set of strings; reading any other value raises `LedgerDamaged`."""

    impl = String
    cache_ok = True

    def __init__(self, length: int, *values: str) -> None:
        super().__init__(length)
        self.values = values

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The value."""
        if value is not None and value not in self.values:
            raise _damage(value, f"{', '.join(self.values[:-1])} or {self.values[-1]}")
        return value


class QuestionColumn(TypeDecorator[str]):
    """The name of a question; reading one that is neither registered nor installed raises `LedgerDamaged`."""

    impl = String(40)
    cache_ok = True

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The name."""
        try:
            return None if value is None else question_named(value).name
        except UnknownName:
            names = list(QUESTIONS)
            raise _damage(value, f"{', '.join(names[:-1])} or {names[-1]}") from None
