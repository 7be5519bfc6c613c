"""Records to ids and labels (SPEC "Rendering"), and the `render` request. Separate from batches: a
record's ids follow from the record, the template and the length alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from hexapla_native import Tokenizer
from numpy.typing import NDArray

from hexapla_native_trainer.events import Events
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.records import Record, read_records
from hexapla_native_trainer.refusal import At, Refusal
from hexapla_native_trainer.spec import TEMPLATES

Ids = NDArray[np.int32]
Flags = NDArray[np.uint8]


@dataclass(frozen=True)
class Rendered:
    """An accepted record: ids and a flag each, after the cut."""

    id: str
    ids: Ids
    flags: Flags

    @property
    def labels(self) -> int:
        return int(self.flags.sum())


@dataclass
class Rendering:
    """What became of a file's records, in its order."""

    accepted: list[Rendered] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    markers: int = 0


class Renderer:
    """One tokenizer, template and length."""

    def __init__(self, tokenizer: Tokenizer, template: str, length: int) -> None:
        self._tokenizer = tokenizer
        self._length = length
        self._markers = [text for text, _, _ in tokenizer.added() if text]
        self._start = self._token("<|im_start|>")
        self._end = self._token("<|im_end|>")
        self._newline = tokenizer.encode("\n")
        if template == "qwen3":
            think = [self._token("<think>"), tokenizer.encode("\n\n"), self._token("</think>")]
            self._opening = [tokenizer.encode("assistant\n"), *think]
            self._prefix_text = "\n\n"
        else:
            self._opening = []
            self._prefix_text = "assistant\n"
        self._prefix = tokenizer.encode(self._prefix_text)

    def has_marker(self, record: Record) -> bool:
        texts = (record.system or "", record.question, record.answer)
        return any(marker in text for text in texts for marker in self._markers)

    def render(self, record: Record) -> Rendered | str:
        """The rendered record, or why it is rejected."""
        if "</think>" in record.answer:
            return "think"
        answer = record.answer.lstrip("\n")
        if not answer:
            return "empty"
        piece = self._tokenizer.encode(self._prefix_text + answer)
        prefix = len(self._prefix)
        if not np.array_equal(piece[:prefix], self._prefix):
            return "joined"
        parts: list[Ids] = []
        if record.system is not None:
            parts += self._block("system\n" + record.system)
        parts += self._block("user\n" + record.question)
        parts += [self._start, *self._opening]
        before = sum(len(part) for part in parts) + prefix
        ids = np.concatenate([*parts, piece, self._end, self._newline])
        flags = np.zeros(len(ids), np.uint8)
        flags[before : before + len(piece) - prefix + 1] = 1
        ids, flags = ids[: self._length], flags[: self._length]
        return Rendered(record.id, ids, flags) if flags.any() else "no_label"

    def _block(self, text: str) -> list[Ids]:
        return [self._start, self._tokenizer.encode(text), self._end, self._newline]

    def _token(self, text: str) -> Ids:
        return np.array([self._tokenizer.id(text)], np.int32)


def open_renderer(folder: str, template: str, length: int) -> tuple[Tokenizer, Renderer]:
    """The tokenizer, to be closed by the caller, and its renderer."""
    with At(folder):
        tokenizer = Tokenizer(folder)
        try:
            return tokenizer, Renderer(tokenizer, template, length)
        except BaseException:
            tokenizer.close()
            raise


def render_file(renderer: Renderer, path: str) -> Rendering:
    """A whole file; refused when no record of it is accepted."""
    rendering = Rendering()
    for record in read_records(path):
        rendering.markers += renderer.has_marker(record)
        rendered = renderer.render(record)
        if isinstance(rendered, str):
            rendering.rejected[rendered] += 1
        else:
            rendering.accepted.append(rendered)
    if not rendering.accepted:
        raise Refusal("record", f"{path}: no record is accepted", path)
    return rendering


def answer_render(fields: Fields, events: Events) -> None:
    """The `render` request."""
    folder, path = fields.string("tokenizer"), fields.string("records")
    template, length = fields.choice("template", TEMPLATES), fields.integer("length", 2)
    fields.end()
    tokenizer, renderer = open_renderer(folder, template, length)
    rejected: Counter[str] = Counter()
    accepted = markers = 0
    with tokenizer:
        for record in list(read_records(path)):  # a file that is refused is refused before its first event
            markers += renderer.has_marker(record)
            rendered = renderer.render(record)
            if isinstance(rendered, str):
                rejected[rendered] += 1
                events.send("record", record=record.id, rejected=rendered)
            else:
                accepted += 1
                labels = (rendered.flags + ord("0")).tobytes().decode("ascii")
                events.send("record", record=record.id, ids=rendered.ids.tolist(), labels=labels)
    events.send("done", accepted=accepted, rejected=dict(rejected), markers=markers)
