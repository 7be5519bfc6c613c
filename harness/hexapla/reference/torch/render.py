"""From record text to token ids and label flags.

Separate because this is the stage where chat templates silently differ. Record text is plain text:
the tokenizer used here has no added tokens, and control tokens are placed by id. It must not know
about batches or the model.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .failure import Failure
from .records import Record, read_records

END_OF_THINKING = "</think>"


@dataclass(frozen=True)
class Example:
    """A rendered record after the cut: `ids` and one flag (0 or 1) for each."""

    record: str
    ids: list[int]
    labels: list[int]


@dataclass
class Rendered:
    """A whole file: what was accepted, in file order, and what was counted on the way."""

    accepted: list[Example] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    markers: int = 0


class TextEncoder:
    """The tokenizer of a folder: `encode` for plain text, `special` for ids of control tokens."""

    def __init__(self, folder: str) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415 - the process must start without it

        path = Path(folder) / "tokenizer.json"
        try:
            content = json.loads(path.read_bytes().decode("utf-8"))
            added = content["added_tokens"]
            self._special = {token["content"]: token["id"] for token in added}
            normalizer = content["normalizer"]
            content["added_tokens"] = []
            self._tokenizer = Tokenizer.from_str(json.dumps(content, ensure_ascii=False))
        except OSError as error:
            raise Failure("io", f"cannot read the tokenizer: {error.strerror}", str(path)) from None
        except Exception as error:  # the library raises bare Exception for a file it cannot use
            message = f"not a usable tokenizer.json: {type(error).__name__}: {error}"
            raise Failure("tokenizer", message, str(path)) from None
        if not _is_nfc(normalizer):
            message = f"the normalizer must be NFC, not {json.dumps(normalizer)}"
            raise Failure("tokenizer", message, f"{path}: normalizer")
        self._path = path
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.added_texts = [text for text in self._special if text]
        self.encode_fixed = functools.cache(self.encode)

    def encode(self, text: str) -> list[int]:
        """E(text): NFC, split, BPE; no added token is recognised."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def special(self, text: str) -> int:
        """The id of a control token, from the file's added tokens."""
        if text not in self._special:
            where = f"{self._path}: added_tokens"
            raise Failure("tokenizer", f"the tokenizer has no added token {text}", where)
        token: int = self._special[text]
        return token


def _is_nfc(normalizer: Any) -> bool:
    if isinstance(normalizer, dict) and normalizer.get("type") == "Sequence":
        return [part.get("type") for part in normalizer.get("normalizers", [])] == ["NFC"]
    return isinstance(normalizer, dict) and normalizer.get("type") == "NFC"


def render_record(encoder: TextEncoder, record: Record, template: str, length: int) -> Example | str:
    """Return the example, or the reason for which the record is rejected."""
    start, end = encoder.special("<|im_start|>"), encoder.special("<|im_end|>")
    newline = encoder.encode_fixed("\n")
    ids: list[int] = []
    if record.system is not None:
        ids += [start, *encoder.encode("system\n" + record.system), end, *newline]
    ids += [start, *encoder.encode("user\n" + record.question), end, *newline, start]
    prefix_text = "assistant\n"
    if template == "qwen3":
        think, end_of_thinking = encoder.special("<think>"), encoder.special(END_OF_THINKING)
        ids += [*encoder.encode_fixed("assistant\n"), think, *encoder.encode_fixed("\n\n"), end_of_thinking]
        prefix_text = "\n\n"
    if END_OF_THINKING in record.answer:
        return "think"
    answer = record.answer.lstrip("\n")
    if not answer:
        return "empty"
    prefix, piece = encoder.encode_fixed(prefix_text), encoder.encode(prefix_text + answer)
    if piece[: len(prefix)] != prefix:
        return "joined"
    learned = [*piece[len(prefix) :], end]
    labels = [0] * (len(ids) + len(prefix)) + [1] * len(learned) + [0] * len(newline)
    ids += [*prefix, *learned, *newline]
    if 1 not in labels[:length]:
        return "no_label"
    return Example(record.id, ids[:length], labels[:length])


def render_file(
    encoder: TextEncoder, path: str, template: str, length: int, rendered: Rendered
) -> Iterator[tuple[Record, Example | str]]:
    """Yield each record of the file with its example or reason, adding it to `rendered`."""
    for record in read_records(path):
        texts = (record.system or "", record.question, record.answer)
        rendered.markers += any(added in text for added in encoder.added_texts for text in texts)
        result = render_record(encoder, record, template, length)
        if isinstance(result, str):
            rendered.rejected[result] += 1
        else:
            rendered.accepted.append(result)
        yield record, result


def render_accepted(encoder: TextEncoder, path: str, template: str, length: int) -> Rendered:
    """Render a whole file; raise `Failure` (`record`) if no record is accepted."""
    rendered = Rendered()
    for _ in render_file(encoder, path, template, length, rendered):
        pass
    if not rendered.accepted:
        counts = ", ".join(f"{reason} {count}" for reason, count in sorted(rendered.rejected.items()))
        raise Failure("record", f"no record is accepted (rejected: {counts or 'none'})", path)
    return rendered
