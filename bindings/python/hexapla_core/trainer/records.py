"""Records: JSON Lines of questions and answers, read strictly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexapla_core.trainer.failure import Failure, located
from hexapla_core.trainer.strict_json import JsonError, parse_line


@dataclass(frozen=True)
class Record:
    """One question and its answer, raw."""

    id: str
    system: str | None
    question: str
    answer: str


def read_records(path: str) -> list[Record]:
    """All records of a file, in its order. Raises Failure that names file and line."""
    with located(path):
        content = Path(path).read_bytes()
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    records, first_line = [], dict[str, int]()
    for line_number, line in enumerate(lines, start=1):
        where = f"{path}:{line_number}"
        try:
            record = _record(parse_line(line), where)
        except JsonError as error:
            raise Failure("record", f"line {line_number}: {error}", where) from None
        if record.id in first_line:
            raise Failure(
                "record", f"duplicate id {record.id!r}, first in line {first_line[record.id]}", where
            )
        first_line[record.id] = line_number
        records.append(record)
    return records


def _record(value: Any, where: str) -> Record:
    if not isinstance(value, dict):
        raise Failure("record", "is not an object", where)
    for key in ("id", "question", "answer"):
        if key not in value:
            raise Failure("record", f"missing key {key}", where)
    for key in ("id", "system", "question", "answer"):
        if key in value and not isinstance(value[key], str):
            raise Failure("record", f"{key} is {value[key]!r:.60}, must be a string", where)
    return Record(value["id"], value.get("system"), value["question"], value["answer"])
