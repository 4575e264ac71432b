"""JUnit XML, which continuous-integration systems read as the results of tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class JUnitCase:
    """A test case: its class and name, a message, and the type and text of its failure, if it failed."""

    class_name: str
    name: str
    message: str
    failure: str | None = None
    text: str = ""


def junit_xml(suite: str, cases: Sequence[JUnitCase]) -> str:
    """The test cases as one suite; characters that XML cannot contain are escaped with a backslash."""
    failures = sum(case.failure is not None for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", counts)
    group = ElementTree.SubElement(root, "testsuite", {"name": _valid(suite), **counts})
    for case in cases:
        names = {"classname": _valid(case.class_name), "name": _valid(case.name)}
        element = ElementTree.SubElement(group, "testcase", names)
        if case.failure is None:
            ElementTree.SubElement(element, "system-out").text = _valid(case.message)
            continue
        attributes = {"type": case.failure, "message": _valid(f"{case.failure}: {case.message}")}
        ElementTree.SubElement(element, "failure", attributes).text = _valid(case.text)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _valid(text: str) -> str:
    return _NOT_XML.sub(lambda match: ascii(match[0])[1:-1], text)
