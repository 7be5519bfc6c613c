"""Records of a JSON Lines file. Separate from rendering: it knows lines and keys, no tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hexapla_native_trainer.refusal import At, Refusal
from hexapla_native_trainer.strict_json import parse


@dataclass(frozen=True)
class Record:
    """One question; `system` is None where the key is absent."""

    id: str
    system: str | None
    question: str
    answer: str


def read_records(path: str) -> Iterator[Record]:
    """The records of a file in its order. Raises Refusal `record` (file:line) and `io`."""
    with At(path):
        data = Path(path).read_bytes()
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        try:
            record = _record(parse(line))
        except ValueError as error:
            raise Refusal("record", f"{where}: {error}", where) from None
        if record.id in seen:
            raise Refusal("record", f"{where}: id {record.id!r:.80} appears twice", where)
        seen.add(record.id)
        yield record


def _record(value: object) -> Record:
    if not isinstance(value, dict):
        raise ValueError("a record must be an object")
    for key in ("id", "question", "answer"):
        if key not in value:
            raise ValueError(f"{key}: missing")
    for key in ("id", "system", "question", "answer"):
        if key in value and not isinstance(value[key], str):
            raise ValueError(f"{key}: must be a string")
    return Record(value["id"], value.get("system"), value["question"], value["answer"])
