"""The readers of this folder for another process: JSON in, JSON out. Nothing here keeps anything."""

import base64
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from damascus.domain.ports import Case
from damascus.stacks import WrittenFile, WrittenTest
from damascus.stacks import tests_in as read_tests
from damascus.stacks.counts import Counts
from damascus.stacks.reports import Reading
from damascus.stacks.reports import read_run as read_reports
from damascus.stacks.told import ReportedCall, ReportedTest


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


def tests_in(path: str, source: str) -> dict[str, Any]:
    return asdict(read_tests(base64.b64decode(source), path))


def file_of(value: Mapping[str, Any]) -> WrittenFile:
    tests = {name: WrittenTest(**test) for name, test in value["tests"].items()}
    return WrittenFile(tests, value["skips"], value["unread"])


def read_run(files: Mapping[str, str], output: str) -> dict[str, Any]:
    reading = read_reports({name: base64.b64decode(data) for name, data in files.items()}, output)
    counts = reading.counts
    return {
        "calls": [asdict(call) for call in reading.calls],
        "counts": counts
        and [[case.model_dump() for case in counts.cases], counts.passed, counts.failed, counts.skipped],
        "summary": reading.summary,
    }


def reading_of(value: Mapping[str, Any]) -> Reading:
    calls = tuple(
        ReportedCall(**{**call, "tests": [ReportedTest(**told) for told in call["tests"]]}) for call in value["calls"]
    )
    if value["counts"] is None:
        return Reading(None, calls, value["summary"])
    cases, passed, failed, skipped = value["counts"]
    return Reading(Counts(tuple(Case(**case) for case in cases), passed, failed, skipped), calls, value["summary"])
