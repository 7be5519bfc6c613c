"""Reads a record file: JSON Lines of `id`, `system`?, `question`, `answer`.

Apart from rendering because a file is refused as a whole, by line, before any text is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .failure import Failure, read_bytes
from .strict_json import parse


@dataclass(frozen=True)
class Record:
    """One line of a record file, its texts as they were written."""

    id: str
    system: str | None
    question: str
    answer: str


def read_records(path: Path) -> list[Record]:
    """Read all records in file order; raises Failure (`record`, where = file:line, or `io`)."""
    lines = read_bytes(path).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    records: list[Record] = []
    line_of: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = _record(line)
            if record.id in line_of:
                raise ValueError(f"the id {record.id!r} stands in line {line_of[record.id]} too")
        except ValueError as error:
            where = f"{path}:{number}"
            raise Failure("record", f"{where}: {error}", where) from error
        line_of[record.id] = number
        records.append(record)
    return records


def _record(line: bytes) -> Record:
    found = parse(line)
    if not isinstance(found, dict):
        raise ValueError("a record must be an object")
    texts: dict[str, str | None] = {"system": None}
    for key in ("id", "system", "question", "answer"):
        if key not in found:
            if key != "system":
                raise ValueError(f"the key {key} is missing")
            continue
        value = found[key]
        if not isinstance(value, str):
            raise ValueError(f"{key} must be a string")
        texts[key] = value
    return Record(**texts)  # type: ignore[arg-type]
