"""What the converters of published files share: the rows they give, and how they read and refuse.

Knows no format; medmcqa.py, medqa.py and pubmedqa.py each know one. Which rows are kept is for corpus.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexapla.protocol.lines import LineError, parse_object


class CorpusError(ValueError):
    """A source file, row or folder that cannot be used: one line that says where and why."""


@dataclass(frozen=True)
class Row:
    """One question of a source file.

    id: unique over all sources. stem: what duplicates are told by. question: the stem, then a line per
    option. answer: None if the row gives no explanation. where: file and line, for messages.
    """

    id: str
    stem: str
    question: str
    answer: str | None
    where: str


def objects(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON Lines file with `file:line` of each, read as strictly as record files are."""
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            where = f"{file}:{number}"
            try:
                yield where, parse_object(line)
            except LineError as error:
                raise CorpusError(f"{where}: {error}") from None


def text(row: dict[str, Any], key: str, where: str) -> str:
    """The string under `key`; CorpusError if it is absent, of another type or blank."""
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise CorpusError(f"{where}: {key} must be a text that is not blank, found {value!r:.60}")
    return value


def option(row: dict[str, Any], key: str, where: str) -> str:
    """The string under `key`, which may be blank: a question with an empty option is still a question."""
    value = row.get(key)
    if not isinstance(value, str):
        raise CorpusError(f"{where}: {key} must be a text, found {value!r:.60}")
    return value


def explanation(row: dict[str, Any], key: str, where: str) -> str | None:
    """The string under `key`, or None if it is absent, null or blank; CorpusError for another type."""
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise CorpusError(f"{where}: {key} must be a text or null, found {value!r:.60}")
    return value if value.strip() else None


def with_options(stem: str, options: list[tuple[str, str]]) -> str:
    """The stem, then one line per option: `A) …`."""
    return "\n".join([stem, *(f"{letter}) {option}" for letter, option in options)])
