"""Turns records into token ids and label flags.

Apart from training because it is a level of its own: every implementation must see the same ids. Uses the
`tokenizers` library for NFC, splitting and BPE, with the added tokens taken out, so that record text stays
plain.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from .config import read_json
from .failure import Failure
from .records import Record, read_records


@dataclass(frozen=True)
class Rendered:
    """One accepted record: `ids` and `flags` (0 or 1) are of the same length, both after the cut."""

    id: str
    ids: list[int]
    flags: bytes

    @property
    def labels(self) -> int:
        """How many ids count in the loss."""
        return sum(self.flags)


@dataclass
class RenderedFile:
    """A record file after rendering: what is left, in file order, and what was said of the rest."""

    accepted: list[Rendered]
    rejected: Counter[str]
    markers: int


class Renderer:
    """A tokenizer.json and a template, `qwen3` or `chatml`."""

    def __init__(self, folder: Path, template: str) -> None:
        """Read `tokenizer.json`; raises Failure (`tokenizer`, `io`)."""
        path = folder / "tokenizer.json"
        found = read_json(path, "tokenizer")
        try:
            tokens: list[dict[str, Any]] = found["added_tokens"]  # type: ignore[assignment]
            self._added = {str(token["content"]): int(token["id"]) for token in tokens}
            plain = {**found, "added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
            self._tokenizer = Tokenizer.from_str(json.dumps(plain, ensure_ascii=False))
        except Exception as error:  # the library raises bare Exception for a file it cannot read
            raise Failure("tokenizer", f"{path}: {error}", str(path)) from error
        self._thinks = template == "qwen3"
        needed = ["<|im_start|>", "<|im_end|>"] + (["<think>", "</think>"] if self._thinks else [])
        for token in needed:
            if token not in self._added:
                raise Failure("tokenizer", f"{path}: the added token {token} is missing", token)

    def encode(self, text: str) -> list[int]:
        """The ids of plain text: no added token is recognised inside it."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def render(self, record: Record, length: int) -> Rendered | str:
        """The record's ids and flags, cut to `length`, or the reason why it is rejected."""
        if "</think>" in record.answer:
            return "think"
        answer = record.answer.lstrip("\n")
        if not answer:
            return "empty"
        start, end = self._added["<|im_start|>"], self._added["<|im_end|>"]
        newline = self.encode("\n")
        ids: list[int] = []
        if record.system is not None:
            ids += [start, *self.encode("system\n" + record.system), end, *newline]
        ids += [start, *self.encode("user\n" + record.question), end, *newline, start]
        prefix_text = "assistant\n"
        if self._thinks:
            ids += self.encode(prefix_text)
            ids += [self._added["<think>"], *self.encode("\n\n"), self._added["</think>"]]
            prefix_text = "\n\n"
        prefix, piece = self.encode(prefix_text), self.encode(prefix_text + answer)
        if piece[: len(prefix)] != prefix:
            return "joined"
        labels = len(piece) - len(prefix) + 1  # the end-of-turn id counts
        flags = bytes(len(ids) + len(prefix)) + b"\x01" * labels + bytes(len(newline))
        ids += [*piece, end, *newline]
        if 1 not in flags[:length]:
            return "no_label"
        return Rendered(record.id, ids[:length], flags[:length])

    def marked(self, record: Record) -> bool:
        """Whether a raw text of the record contains the text of any added token."""
        texts = (record.system or "", record.question, record.answer)
        return any(token in text for token in self._added for text in texts)

    def render_all(self, path: Path, length: int) -> Iterator[tuple[Record, Rendered | str]]:
        """Render a whole file in its order; a bad file is refused before its first record."""
        return ((record, self.render(record, length)) for record in read_records(path))

    def render_file(self, path: Path, length: int) -> RenderedFile:
        """Render for training or evaluation: a file with no accepted record is a Failure (`record`)."""
        made = RenderedFile([], Counter(), 0)
        for record, result in self.render_all(path, length):
            made.markers += self.marked(record)
            if isinstance(result, str):
                made.rejected[result] += 1
            else:
                made.accepted.append(result)
        if not made.accepted:
            reasons = (
                ", ".join(f"{name} {count}" for name, count in made.rejected.items()) or "the file is empty"
            )
            raise Failure("record", f"{path}: no record is accepted: {reasons}", str(path))
        return made


def refuse_foreign_ids(records: list[Rendered], vocab_size: int) -> None:
    """Refuse ids that the model's embedding does not have: tokenizer and model do not belong together."""
    for record in records:
        if max(record.ids) >= vocab_size:
            message = f"record {record.id}: id {max(record.ids)}, but the model's vocabulary has {vocab_size}"
            raise Failure("tokenizer", message, record.id)
