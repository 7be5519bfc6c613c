"""Rendering: a record to ids and labels, or to the reason why it is rejected (docs/spec.md)."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hexapla_core.safe import Tokenizer
from hexapla_core.trainer.failure import Failure, located
from hexapla_core.trainer.records import Record, read_records


@dataclass(frozen=True)
class Rendered:
    """An accepted record: ids and one flag (0 or 1) an id, both after the cut."""

    id: str
    ids: array[int]
    flags: bytes

    @property
    def labels(self) -> int:
        """How many ids are to be learnt."""
        return self.flags.count(1)


@dataclass(frozen=True)
class Rejected:
    """A record that is left out, and why."""

    id: str
    reason: str


class Renderer:
    """Renders by one template and length. It only borrows the tokenizer."""

    def __init__(self, tokenizer: Tokenizer, template: str, length: int) -> None:
        """Raises core's NotFound when the tokenizer lacks a token of the template."""
        self._tokenizer, self._length = tokenizer, length
        self._added = [token.text for token in tokenizer.added_tokens()]
        self._start, self._end = tokenizer.id("<|im_start|>"), tokenizer.id("<|im_end|>")
        self._newline = tokenizer.encode("\n")
        if template == "qwen3":
            think, think_end = tokenizer.id("<think>"), tokenizer.id("</think>")
            opening = [*tokenizer.encode("assistant\n"), think, *tokenizer.encode("\n\n"), think_end]
            self._prefix = "\n\n"
        else:
            opening, self._prefix = [], "assistant\n"
        self._opening = [self._start, *opening]
        self._prefix_ids = tokenizer.encode(self._prefix)

    def render(self, record: Record) -> Rendered | Rejected:
        """Ids and flags of one record; the first reason that applies when it is rejected."""
        if "</think>" in record.answer:
            return Rejected(record.id, "think")
        answer = record.answer.lstrip("\n")
        if not answer:
            return Rejected(record.id, "empty")
        encode, prefix = self._tokenizer.encode, self._prefix_ids
        piece = encode(self._prefix + answer)
        if piece[: len(prefix)] != prefix:
            return Rejected(record.id, "joined")
        ids = array("i")
        if record.system is not None:
            ids.extend([self._start, *encode("system\n" + record.system), self._end, *self._newline])
        ids.extend([self._start, *encode("user\n" + record.question), self._end, *self._newline])
        ids.extend([*self._opening, *prefix])
        flags = bytes(len(ids))
        ids.extend([*piece[len(prefix) :], self._end])
        flags += b"\1" * (len(ids) - len(flags))
        ids.extend(self._newline)
        flags += bytes(len(self._newline))
        if 1 not in flags[: self._length]:
            return Rejected(record.id, "no_label")
        return Rendered(record.id, ids[: self._length], flags[: self._length])

    def marked(self, record: Record) -> bool:
        """Whether a raw text of the record contains the text of an added token."""
        texts = [text for text in (record.system, record.question, record.answer) if text is not None]
        return any(token in text for token in self._added for text in texts)


@dataclass(frozen=True)
class Corpus:
    """A file, rendered whole."""

    results: Sequence[Rendered | Rejected]
    markers: int

    @property
    def accepted(self) -> list[Rendered]:
        """The records that training sees, in file order."""
        return [result for result in self.results if isinstance(result, Rendered)]


def render_file(renderer: Renderer, path: str) -> Corpus:
    """Render all records of a file. Raises Failure."""
    records = read_records(path)
    with located(path):
        results = [renderer.render(record) for record in records]
    return Corpus(results, sum(1 for record in records if renderer.marked(record)))


def rejections(corpora: Iterable[Corpus]) -> dict[str, int]:
    """Rejected records by reason; reasons without a record are left out."""
    results = (result for corpus in corpora for result in corpus.results)
    return dict(Counter(result.reason for result in results if isinstance(result, Rejected)))


def require_accepted(corpus: Corpus, path: str) -> list[Rendered]:
    """The accepted records; a file with none is refused."""
    if not corpus.accepted:
        raise Failure("record", f"no accepted record among {len(corpus.results)}", path)
    return corpus.accepted
