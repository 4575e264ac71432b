"""A strict JSON parser: unlike `json.loads`, it rejects repeated keys, NaN, infinity and lone surrogates."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from regrade.core.errors import FormatError

_FAULTS = {
    "Expecting value": "a value is missing",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting property name": "a key in double quotes is missing",
    "Illegal trailing comma": "there is a comma before a closing bracket",
    "Unterminated string": "a text is not closed",
    "Invalid control character": "a text contains a control character, such as a line break: write it as \\n",
    "Invalid \\": "a backslash begins no known escape: write it twice",
    "Extra data": "there is more data after its end",
}


def parse_json(text: str) -> Any:
    """Parse JSON; error messages are worded to follow the name of a file.

    >>> parse_json('{"cat": [1, 2]}')
    {'cat': [1, 2]}
    """
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except FormatError:
        raise
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text else f"column {error.colno}"
        raise FormatError(f"is not valid JSON: {_fault(error.msg)} ({place})") from None
    except RecursionError:
        raise FormatError("is not valid JSON: it is nested too deeply") from None
    except ValueError:
        raise FormatError("is not valid JSON: a whole number has thousands of digits") from None
    if "\\ud" in text.lower():
        _refuse_surrogates(content)
    return content


def _fault(message: str) -> str:
    """A description of a syntax error, by the beginning of the parser's message."""
    return next((words for start, words in _FAULTS.items() if message.startswith(start)), "it cannot be understood")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; raise if a key is repeated."""
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise FormatError(f"has the key {key!a} twice in one object: keep one of them")
        content[key] = value
    return content


def _refuse_constant(name: str) -> NoReturn:
    raise FormatError(f"contains {name}, which is not valid JSON: write null, or a number")


def _refuse_surrogates(content: Any) -> None:
    """Raise if a string contains a lone surrogate, which cannot be encoded in UTF-8."""
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start : error.end])
        raise FormatError(f"contains an invalid character, {half}: half of a surrogate pair") from None
