"""Record files: JSON Lines, split at line feeds only, read strictly.

Separate from rendering because its errors name a line and rendering's outcomes name a record. It
must not change a text in any way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .config import shown
from .failure import Failure
from .strict_json import LineError, parse_line


@dataclass(frozen=True)
class Record:
    """One record as it stands in the file; `system` is None when the key is absent."""

    id: str
    system: str | None
    question: str
    answer: str


def read_records(path: str) -> Iterator[Record]:
    """Yield the records of `path`; raise `Failure` (`record`, where = file:line) at the first bad line."""
    first_lines: dict[str, int] = {}
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - binary lines end at \n and nowhere else
            for number, line in enumerate(file, start=1):
                record = _read_record(line, f"{path}:{number}")
                if record.id in first_lines:
                    message = f"id {shown(record.id)} already stands in line {first_lines[record.id]}"
                    raise Failure("record", message, f"{path}:{number}")
                first_lines[record.id] = number
                yield record
    except OSError as error:
        raise Failure("io", f"cannot read the records: {error.strerror}", path) from None


def _read_record(line: bytes, where: str) -> Record:
    try:
        value = parse_line(line)
    except LineError as error:
        raise Failure("record", str(error), where) from None
    if not isinstance(value, dict):
        raise Failure("record", f"a record must be an object, not {shown(value)}", where)
    for key in ("id", "question", "answer"):
        if key not in value:
            raise Failure("record", f"the record lacks the key {shown(key)}", where)
    for key in ("id", "system", "question", "answer"):
        if key in value and not isinstance(value[key], str):
            raise Failure("record", f"{key} must be a string, not {shown(value[key])}", where)
    return Record(value["id"], value.get("system"), value["question"], value["answer"])
